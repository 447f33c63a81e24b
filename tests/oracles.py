"""Independent answers to compare with: generic solvers and plain formulas."""

import warnings

import clarabel
import numpy as np
import ot
import scipy.sparse as sp


def uniform_mass(n):
    """P(x_i) = 1/n."""
    return np.full(n, 1 / n)


def off_omega(V, mu, p=None):
    """Largest relative error of a row sum V mu = p, a column sum V'1 = mu, a sign."""
    p = uniform_mass(len(V)) if p is None else p
    rows = np.abs(V @ mu - p)[p > 0] / p[p > 0]
    columns = np.abs(V.sum(axis=0) - mu) / mu
    empty = np.abs(V[p == 0]).max(initial=0.0)
    return max(rows.max(), columns.max(), empty, -V.min())


def qp_projection(U, mu, p=None, *, weight=None, known=None, ease=0.0):
    """Project by an interior point solver that knows nothing of the structure.

    min sum_i q_i |V_i - U_i|^2 / 2 over V >= 0, V mu = p, sum_i q_i V_i = mu, where
    known rows have one entry. With ease > 0 the columns cost what they are off:
    |sum_i q_i V_i - mu|^2 / (2 ease).
    """
    n, k = U.shape
    p = uniform_mass(n) if p is None else p
    q = np.ones(n) if weight is None else weight
    known = np.full(n, -1) if known is None else known
    columns = sp.kron(q[None, :], sp.eye(k))
    rows = sp.kron(sp.eye(n), mu[None, :])
    shut = (known[:, None] >= 0) & (known[:, None] != np.arange(k))
    none = sp.eye(n * k, format="csr")[np.flatnonzero(shut.ravel())]
    P = sp.kron(sp.diags(q), sp.eye(k))
    c = -(q[:, None] * U).ravel()
    equal, goal = [rows, none], [p, np.zeros(shut.sum())]
    if ease > 0:
        P = P + columns.T @ columns / ease
        c = c - columns.T @ mu / ease
    else:
        equal, goal = [columns, *equal], [mu, *goal]
    A = sp.csc_matrix(sp.vstack([*equal, -sp.eye(n * k)]))
    b = np.concatenate([*goal, np.zeros(n * k)])
    zeros = len(b) - n * k
    cones = [clarabel.ZeroConeT(zeros), clarabel.NonnegativeConeT(n * k)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(sp.csc_matrix(sp.triu(P)), c, A, b, cones, options)
    return np.array(solver.solve().x).reshape(n, k)


def transport_projection(U):
    """Project for equal proportions as quadratic optimal transport, by POT.

    With P = V / sqrt(k): min <-U / sqrt(k), P> + |P|^2 / 2 over Pi(1/n, 1/k).
    """
    n, k = U.shape
    with warnings.catch_warnings():
        # POT hands options to scipy that newer versions of it do not want.
        warnings.simplefilter("ignore")
        plan = ot.smooth.smooth_ot_dual(
            uniform_mass(n),
            uniform_mass(k),
            -U / np.sqrt(k),
            reg=1.0,
            reg_type="l2",
            numItermax=5000,
            stopThr=1e-14,
        )
    return np.sqrt(k) * plan


def farthest_along(G, mu, p=None):
    """Return a Q in Omega(mu) with the largest <G, Q>: a transport problem."""
    p = uniform_mass(len(G)) if p is None else p
    cost = -G / mu
    cost /= max(np.abs(cost).max(), 1e-300)
    share = mu * mu
    plan = ot.emd(p / p.sum(), share / share.sum(), cost, numItermax=10**6)
    return plan / mu


def without_shifts(U, mu):
    """U less the parts 1 a' and b mu' that no projection sees."""
    U = U - U.mean(axis=0)
    return U - np.outer(U @ mu, mu)


def optimality_gap(U, V, mu, p=None):
    """max over Q of <U - V, Q - V>, in units of what rounding leaves unknown.

    The projection has 0, and |V - P(U)|^2 <= max_Q <U - V, Q - V> for feasible V.
    """
    G = without_shifts(U, mu) - V
    Q = farthest_along(G, mu, p)
    gap = float((G * (Q - V)).sum())
    size = float((np.abs(G) * (Q + V)).sum())
    rounding = np.finfo(float).eps * np.abs(U).max() / mu.min() * np.abs(G).sum()
    return gap / (1e-10 * size + 16 * rounding + 1e-300)


def step_residual(V, gradient, step, mu, p):
    """|V - P(V - step * gradient)| / |V|, by the exact projection."""
    from lordclust.solver.projection import project_omega

    moved = project_omega(V - step * gradient, mu, sample_weight=p)
    return float(np.linalg.norm(moved - V) / np.linalg.norm(V))
