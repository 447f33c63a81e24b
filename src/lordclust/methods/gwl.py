"""GWL: graph partition by Gromov-Wasserstein transport onto k isolated vertices."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from lordclust._core.typing import Affinity, ArrayLike, FloatArray, Graph, Seed
from lordclust._core.validation import (
    check_choice,
    check_positive,
    check_proportions,
    missing_extra,
)
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import labels_from
from lordclust.rounding.spectral import degrees, normalized_affinity

#: Largest number of samples for options that store a full n x n matrix.
MAX_DENSE = 5000
#: Tolerance on the relative error of the column sums of plans.
MARGINAL_TOL = 1e-9
#: Averages over neighbours that smooth a random start.
SMOOTH_STEPS = 50
#: Maximum number of Newton steps for one scaling; a few suffice.
SCALE_STEPS = 200


@dataclass(eq=False, repr=False)
class GWL(RestartClusterer):
    """Gromov-Wasserstein graph partition.

    Solves

        min sum_ijab (C_ij - D_ab)^2 T_ia T_jb   over   T >= 0,  T1 = 1/n,  T'1 = q

    with C the graph, D = diag(q) and q the shares of the clusters: the graph is
    matched with one of k isolated vertices. The marginals are fixed, so this is the
    same as max Tr(T'CT diag(q)). The problem and the proximal scheme are those of
    S-GWL, read in its authors' code [1]_; ``cost="heat"`` and
    ``solver="conditional_gradient"`` are those of SpecGWL, read in theirs [2]_. They
    derive nearly uniform marginals from the degrees; here these are 1/n and q. The
    recursive splitting of [1]_ is not implemented: it does not target a given k.

    Parameters
    ----------
    n_clusters
    proportions : array-like of shape (n_clusters,), optional
        Shares of the clusters, summing to 1; equal by default. The mean membership
        of cluster j is exactly ``proportions[j]``.
    affinity, metric, n_neighbors
    cost : {"adjacency", "heat"}, default="adjacency"
        C: S divided by its largest entry, or the heat kernel exp(-t L) of its
        normalised Laplacian (a full matrix: at most 5000 samples).
    heat_time : float, default=20
        t. The authors search from 5 to 50.
    solver : {"proximal", "conditional_gradient"}, default="proximal"
        "proximal": T <- argmin <grad/2, T'> + b KL(T' | T), sparse S stays sparse.
        "conditional_gradient": exact transport for the gradient and an exact step,
        by POT, on a full matrix (at most 5000 samples). It requires
        ``pip install "lordclust[ot]"``.
    beta : float, default=0.3
        b, in units of max_i (C1)_i max(q) / n. From 2 on every step lowers the
        objective; smaller is faster, and b is doubled if a step fails.
    n_init : int or "auto", default="auto"
        Random starts ("auto": 10); the one with the least objective is kept.
    max_iter : int, default=1000
        Maximum number of iterations of each start.
    tol : float, default=1e-4
        Tolerance. "proximal": on the mass that a step moves, in units of the mass that
        distinguishes T from the product of its marginals. "conditional_gradient": on
        the relative change of the objective.
    random_state, verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The most probable cluster of each sample, 0 to k-1. Clusters of equal share
        are ordered by decreasing size, others as in ``proportions``.
    sizes_
    membership_ : ndarray of shape (n, k)
        n T: rows sum to 1, column means are ``proportions``.
    plan_ : ndarray of shape (n, k)
        T.
    marginal_error_ : float
        Largest relative error of a row or column sum of T.
    objective_ : float
        The Gromov-Wasserstein loss.
    n_iter_, converged_, history_
        Of the kept start; ``history_`` never increases.
    all_objectives_, affinity_matrix_

    Notes
    -----
    The authors scale T by some Sinkhorn steps, which leave its sums inexact. Here rows
    are exact, and the k column sums are found by Newton's method on logarithms, so
    that nothing underflows. A step costs O(nnz(S) k + n k^2), memory is
    O(nnz(S) + nk). The authors start at the product of the marginals, which is a
    stationary point if these are uniform. Here starts are random, but smooth along
    the graph; their objectives vary, so more starts help.

    References
    ----------
    .. [1] Xu, Luo and Carin, "Scalable Gromov-Wasserstein learning for graph
       partitioning and matching", 2019. Code: HongtengXu/s-gwl.
    .. [2] Chowdhury and Needham, "Generalized spectral clustering via
       Gromov-Wasserstein learning", 2021.
       Code: trneedham/Spectral-Gromov-Wasserstein.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import GWL
    >>> model = GWL(3, random_state=0).fit(load_iris().data)
    >>> model.membership_.mean(axis=0).round(6)
    array([0.333333, 0.333333, 0.333333])
    """

    n_clusters: int = 8
    _: KW_ONLY
    proportions: ArrayLike | None = None
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    cost: str = "adjacency"
    heat_time: float = 20.0
    solver: str = "proximal"
    beta: float = 0.3
    n_init: int | str = "auto"
    max_iter: int = 1000
    tol: float = 1e-4
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.cost, ("adjacency", "heat"), "cost")
        check_choice(self.solver, ("proximal", "conditional_gradient"), "solver")
        check_positive(self.heat_time, "heat_time")
        check_positive(self.beta, "beta")
        check_proportions(self.proportions, self.n_clusters)

    def _check_size(self, n: int) -> None:
        full = {"cost": self.cost == "heat", "solver": self.solver != "proximal"}
        name = next((name for name, is_full in full.items() if is_full), None)
        if name is not None and n > MAX_DENSE:
            raise ValueError(
                f"{name}={getattr(self, name)!r} stores a full n x n matrix and "
                f"accepts at most {MAX_DENSE} samples, got {n}. Use cost='adjacency' "
                "with solver='proximal'."
            )

    def _shares(self, k: int) -> FloatArray:
        return check_proportions(self.proportions, k)

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        q = self._shares(k)
        C = heat_kernel(data, self.heat_time) if self.cost == "heat" else _unit(data)
        constant = loss_constant(C, q)
        for rng in rngs:
            start, limits = smooth_start(data, k, rng), (self.tol, self.max_iter)
            if self.solver == "proximal":
                T, converged, path = proximal(C, q, start, self.beta, *limits)
            else:
                T, converged, path = conditional_gradient(C, q, start, *limits)
            history = constant + path
            yield Run(
                labels_from(T), history[-1], len(history) - 1, converged, history,
                membership=T / T.sum(axis=1, keepdims=True), columns={"plan_": T},
                fitted={"marginal_error_": marginal_error(T, q)},
            )  # fmt: skip


class Plan(NamedTuple):
    """The result of one start; history is -2 Tr(T'CT diag(q)) at each iteration."""

    T: FloatArray
    converged: bool
    history: FloatArray


def proximal(
    C: Graph, q: FloatArray, start: FloatArray, beta: float = 0.3,
    tol: float = 1e-4, max_iter: int = 1000,
) -> Plan:  # fmt: skip
    """Minimise -2 Tr(T'CT diag(q)) by steps with a Kullback-Leibler penalty.

    C is symmetric; ``start`` holds logarithms of an initial T, up to factors of rows
    and columns.
    """
    unit = float(degrees(abs(C)).max()) * q.max() / C.shape[0]
    b = beta * unit if unit > 0 else 1.0
    logs, T = scaled_plan(start, q)
    CT = C @ T
    history = [_value(T, CT, q)]
    done = False
    for _ in range(max_iter):
        new_logs, new = scaled_plan(logs + (2 / b) * CT * q, q)
        new_CT = C @ new
        value = _value(new, new_CT, q)
        if value > history[-1] + 1e-12 * abs(history[-1]):
            b *= 2  # from 2 * unit on this cannot happen
            continue
        # Relative to how far T is from the product: steps near it are small.
        done = np.abs(new - T).sum() <= tol * np.abs(new - q / len(new)).sum()
        logs, T, CT = new_logs, new, new_CT
        history.append(value)
        if done:
            break
    return Plan(T, bool(done), np.minimum.accumulate(history))  # rounding may rise


def conditional_gradient(
    C: Graph, q: FloatArray, start: FloatArray, tol: float = 1e-4, max_iter: int = 1000
) -> Plan:
    """Minimise -2 Tr(T'CT diag(q)) by POT's conditional gradients."""
    try:
        gromov = import_module("ot.gromov")
    except ImportError as error:
        raise missing_extra("POT", "ot") from error
    n = C.shape[0]
    full = C.toarray() if sparse.issparse(C) else C
    _, T = scaled_plan(start, q)
    T, log = gromov.gromov_wasserstein(
        full, np.diag(q), np.full(n, 1 / n), q, "square_loss", symmetric=True, G0=T,
        log=True, max_iter=max_iter, tol_rel=tol, tol_abs=0.0,
    )  # fmt: skip
    T = np.asarray(T)
    path = np.array(log["loss"]) - loss_constant(full, q)
    path[-1] = _value(T, full @ T, q)
    return Plan(T, len(path) - 1 < max_iter, path)


def smooth_start(S: Graph, k: int, rng: np.random.Generator) -> FloatArray:
    """Return logarithms of a random T that varies slowly along the graph.

    Noise averaged over neighbours many times, each column of variance 1: objectives
    at the end are better than from the noise itself, and are reached sooner.
    """
    d = degrees(S)
    weight = (0.5 / np.where(d > 0, d, 1.0))[:, None]
    Z = rng.standard_normal((S.shape[0], k))
    for _ in range(SMOOTH_STEPS):
        Z = 0.5 * Z + weight * (S @ Z)
        Z -= Z.mean(axis=0)
    deviation = Z.std(axis=0)
    return np.asarray(Z / np.where(deviation > 0, deviation, 1.0))


def scaled_plan(logs: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale exp(logs) by rows and columns to the marginals 1/n and q.

    Newton's method for the k factors of the columns, in logarithms g; the rows are
    scaled exactly for any g. The dual q'g - mean_i log sum_a exp(logs_ia + g_a) is
    concave; if Newton's step does not raise it, Sinkhorn's does. Returns log(n T) and
    T.
    """
    g: FloatArray = np.zeros(len(q))
    dual, P = _dual(logs, g, q)
    for _ in range(SCALE_STEPS):
        columns = P.mean(axis=0)
        error = float(np.abs(columns / q - 1).max())
        if error <= MARGINAL_TOL:
            break
        H = np.diag(columns) - P.T @ P / len(P)
        # H is singular along 1, and nearly so if memberships are hard.
        H[np.diag_indices_from(H)] += q * min(1e-3, 1e-12 + 0.1 * error)
        step = np.linalg.solve(H, q - columns)
        slope = (q - columns) @ step
        for t in (1.0, 0.25, 0.0625, 2.0**-6):
            new = g + t * step
            value, P = _dual(logs, new, q)
            if value >= dual + 1e-4 * t * slope - 1e-15 * abs(dual):
                break
        else:
            new = g + np.log(q / np.maximum(columns, 1e-300))
            value, P = _dual(logs, new, q)
        g, dual = new, value
    logs = logs + g
    top = logs.max(axis=1, keepdims=True)
    return logs - top, P / len(P)


def _dual(logs: FloatArray, g: FloatArray, q: FloatArray) -> tuple[float, FloatArray]:
    """Return q'g - mean_i log sum_a exp(logs_ia + g_a), and the memberships."""
    P = logs + g
    top = P.max(axis=1, keepdims=True)
    P -= top
    np.exp(P, out=P)
    total = P.sum(axis=1, keepdims=True)
    P /= total
    return float(q @ g - (top + np.log(total)).mean()), P


def loss_constant(C: Graph, q: FloatArray) -> float:
    """Return the constant part of the loss, which the marginals determine."""
    squares = C.multiply(C) if sparse.issparse(C) else C * C
    return float(squares.sum() / C.shape[0] ** 2 + (q**4).sum())


def marginal_error(T: FloatArray, q: FloatArray) -> float:
    """Return the largest relative error of T1 = 1/n and T'1 = q."""
    rows = np.abs(len(T) * T.sum(axis=1) - 1).max()
    columns = np.abs(T.sum(axis=0) / q - 1).max()
    return float(max(rows, columns))


def heat_kernel(S: Graph, time: float) -> FloatArray:
    """Return exp(-t L) of the normalised Laplacian L = I - D^-1/2 S D^-1/2."""
    P = normalized_affinity(S)
    values, U = eigh(P.toarray() if sparse.issparse(P) else P)
    return np.asarray((U * np.exp(time * (values - 1))) @ U.T)


def _unit(S: Graph) -> Graph:
    """Return S in float64 with largest entry 1: its scale would dominate the loss."""
    S = S.astype(np.float64)
    largest = float(S.max())
    return S / largest if largest > 0 else S


def _value(T: FloatArray, CT: FloatArray, q: FloatArray) -> float:
    """Return -2 Tr(T'CT diag(q))."""
    return float(-2 * ((T * CT).sum(axis=0) @ q))
