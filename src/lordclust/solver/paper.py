"""Algorithms 1 and 2 of the paper, misprints corrected, in vectorised NumPy.

Kept as a reference: plain projected gradient steps of length 1/L, each projected by
Dykstra's method. The corrections are explained in docs/errata.md.
"""

from collections.abc import Callable

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust.result import SolverResult


def project_affine(Y: FloatArray, mu: FloatArray, p: FloatArray) -> FloatArray:
    """Project onto V'1 = mu, V mu = p, by the paper's lemma with its ``+1``.

    For p = 1/n this is Y + ((1'Y mu + 1)/n) 1mu' - 11'Y/n - Y mu mu'.
    """
    n = len(Y)
    columns = (mu - Y.sum(axis=0)) / n
    rows = p - Y @ mu
    overlap = rows.mean()
    return np.asarray(Y + columns + np.outer(rows - overlap, mu))


def dykstra(
    U: FloatArray,
    mu: FloatArray,
    p: FloatArray,
    *,
    tol: float = 1e-5,
    max_iter: int = 1000,
    beta: float | None = None,
    early: bool = False,
) -> tuple[FloatArray, int]:
    """Project U onto Omega(mu) by Algorithm 2; return V and the number of iterations.

    With ``beta=None`` the relaxation grows from 1 towards 2 as in the paper's text,
    beta = 1 + (a_b - 1) / a_{b+1}; a number keeps it constant. Stops when V is
    nonnegative *and* on the affine set, both to ``tol`` in the paper's units; with
    ``early``, as printed, as soon as V is nonnegative. Growth towards 2 can diverge:
    then the projection is repeated with 1.5, which does not.
    """
    V, Z = U.copy(), np.zeros_like(U)
    alpha = 1.0
    limit = tol * min(mu.max(), p.max() / mu.min())
    Y, n_iter = V, 0
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        grown = 0.5 * (1 + np.sqrt(4 * alpha**2 + 1))
        relax = 1 + (alpha - 1) / grown if beta is None else beta
        alpha = grown
        Y = (1 - relax) * V + relax * np.maximum(V - Z, 0)
        Z = Y - V + Z
        V = (1 - relax) * Y + relax * project_affine(Y, mu, p)
        if -V.min() <= limit and (early or np.abs(V - Y).max() <= limit):
            break
    else:
        if beta is None and not np.abs(V - Y).max() <= 100 * limit:
            V, more = dykstra(
                U, mu, p, tol=tol, max_iter=max_iter, beta=1.5, early=early
            )
            return V, n_iter + more
    return np.maximum(V, 0), n_iter


def paper_descent(
    V: FloatArray,
    objective: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray], FloatArray],
    lipschitz: float,
    mu: FloatArray,
    p: FloatArray,
    *,
    tol: float = 1e-4,
    max_iter: int = 4000,
    early: bool = False,
) -> SolverResult:
    """Run Algorithm 1: V <- P(V - grad/L) until V moves by at most ``tol``.

    ``early`` ends projections by the printed rule, see :func:`dykstra`.
    """
    history = [objective(V)]
    residual, n_iter, converged, passes = np.inf, 0, False, 0
    while n_iter < max_iter and not converged:
        new, inner = dykstra(V - gradient(V) / lipschitz, mu, p, early=early)
        residual = float(np.linalg.norm(new - V) / np.linalg.norm(V))
        V = new
        n_iter, passes = n_iter + 1, passes + inner
        history.append(objective(V))
        converged = residual <= tol
    return SolverResult(
        V, history[-1], residual, n_iter, converged, np.array(history), passes
    )
