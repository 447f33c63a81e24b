"""SDS: the nearest structured doubly stochastic matrix."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.linalg import eigh

from lordclust._core.typing import Affinity, FloatArray, Graph, Seed
from lordclust._core.validation import check_choice, check_nonnegative, check_positive
from lordclust.methods._solvers.birkhoff import DoublyStochastic, nearest_ds
from lordclust.methods._solvers.learned import Learned, PreparedClusterer, prepare
from lordclust.rounding.spectral import Eigen, leading_eigenvectors


@dataclass(eq=False, repr=False)
class SDS(PreparedClusterer):
    """Structured doubly stochastic matrix.

    Solves

        min ||Z - S||_F^2 + r ||Z||_F^2 + 2 lam (k - sum of the k largest
        eigenvalues of Z)   over   Z = Z',  Z >= 0,  Z1 = 1,  tr Z = k

    and clusters the k leading eigenvectors of Z by k-means. The last term is the sum
    of the k smallest eigenvalues of I - Z, zero if and only if Z has at least k blocks.

    A reconstruction. The constraints, the ridge r, the rank condition behind the last
    term, and the algorithm of ``variant="rank"`` were read in code published by the
    authors of [1]_; later work describes the method as a penalty on the k smallest
    eigenvalues. The paper itself could not be read, and the code sets no values:
    ``variant="kyfan"``, its algorithm and all defaults are ours.

    Parameters
    ----------
    n_clusters, affinity, metric, n_neighbors, normalize
    diagonal : {"auto", "one", "zero"}, default="auto"
        Self-similarity: as large as the largest similarity, or zero. "auto": "one"
        if S is normalised, "zero" if not. It only affects the degrees: with tr Z
        fixed, a multiple of I added to S changes nothing.
    variant : {"kyfan", "rank", "trace"}, default="kyfan"
        "kyfan": the problem above. "rank": the constraint rank(I - Z) = n - k in place
        of the penalty, by the authors' augmented Lagrangian; it is seldom satisfied.
        "trace": the exact projection without the penalty. The authors' convex form,
        with the nuclear norm of I - Z as penalty, is the same: that norm is always
        n - k.
    lam : float, default=1.0
        Weight of the penalty; for "kyfan".
    r : float, default=0.0
        Weight of the ridge.
    fix_trace : bool, default=True
        Whether tr Z = k.
    mu, rho : float, default=1.0 and 1.1
        Initial penalty of the augmented Lagrangian and its growth; for "rank".
    n_init
    max_iter : int, default=300
        Maximum number of steps.
    tol : float, default=1e-5
        Tolerance on the relative change of Z ("kyfan") or ``residual_`` ("rank").
    random_state, max_dense, verbose

    Attributes
    ----------
    labels_, sizes_
    affinity_matrix_ : ndarray of shape (n, n)
        Z; its constraints hold to 1e-10.
    embedding_
    blockness_ : float
        Sum of the k smallest eigenvalues of I - Z: 0 for k blocks or more.
    residual_ : float
        Last relative change of Z ("kyfan"), distance ||I - Z - L||_F / sqrt(n) from
        the L of rank n - k ("rank"), largest error of a constraint ("trace").
    objective_ : float
        The objective at Z; without the penalty for "rank" and "trace".
    history_ : ndarray
        The objective at each step; for "kyfan" it never rises.
    n_iter_, converged_
        Steps taken, and whether they converged.

    Notes
    -----
    "kyfan" alternates the k leading eigenvectors F of Z and the projection of
    (S + lam FF') / (1 + r), each of which lowers the objective. The penalty is
    concave, so another start than lam = 0 may give another solution. A step costs
    O(k n^2), one of "rank" O(n^3).

    References
    ----------
    .. [1] Wang, Nie, Huang, "Structured Doubly Stochastic Matrix for Graph Based
       Clustering", KDD 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import SDS
    >>> model = SDS(3, random_state=0).fit(load_iris().data)
    >>> round(float(model.affinity_matrix_.trace()), 6)
    3.0
    """

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    normalize: str | None = "sym"
    diagonal: str = "auto"
    variant: str = "kyfan"
    lam: float = 1.0
    r: float = 0.0
    fix_trace: bool = True
    mu: float = 1.0
    rho: float = 1.1
    n_init: int | str = "auto"
    max_iter: int = 300
    tol: float = 1e-5
    random_state: Seed = None
    max_dense: int = 5000
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.variant, ("kyfan", "rank", "trace"), "variant")
        for name in ("lam", "mu", "rho"):
            check_positive(getattr(self, name), name)
        check_nonnegative(self.r, "r")

    def _learn(self, S: Graph, k: int) -> Learned:
        A = prepare(S, self.normalize, self.diagonal)
        trace = k if self.fix_trace else None
        if self.variant == "trace":
            return fit_trace(A, k, self.r, trace)
        limits = self.tol, self.max_iter
        if self.variant == "kyfan":
            return fit_kyfan(A, k, self.lam, self.r, trace, *limits)
        return fit_rank(A, k, self.r, trace, self.mu, self.rho, *limits)


def closeness(Z: FloatArray, A: FloatArray, r: float) -> float:
    """Return ||Z - A||_F^2 + r ||Z||_F^2."""
    D = Z - A
    return float(np.vdot(D, D)) + r * float(np.vdot(Z, Z))


def blockness(top: Eigen) -> float:
    """Return the sum of the k smallest eigenvalues of I - Z."""
    return float((1 - top.values).sum())


def fit_trace(A: FloatArray, k: int, r: float, trace: float | None) -> Learned:
    """Project A / (1 + r)."""
    found = nearest_ds(A / (1 + r), trace=trace)
    top = leading_eigenvectors(found.Z, k)
    fitted = {"residual_": found.error, "blockness_": blockness(top)}
    objective = closeness(found.Z, A, r)
    return Learned(found.Z, objective, found.n_iter, found.converged, fitted)


def fit_kyfan(
    A: FloatArray, k: int, lam: float, r: float, trace: float | None,
    tol: float, max_iter: int,
) -> Learned:  # fmt: skip
    """Alternate the leading eigenvectors of Z and a projection, from lam = 0."""
    found = nearest_ds(A / (1 + r), trace=trace)
    top = leading_eigenvectors(found.Z, k)
    history, change = [closeness(found.Z, A, r) + 2 * lam * blockness(top)], np.inf
    while change > tol and len(history) <= max_iter:
        before, F = found.Z, top.vectors
        B = lam * (F @ F.T)
        B += A
        B /= 1 + r
        found = nearest_ds(B, trace=trace, u0=found.u)
        top = leading_eigenvectors(found.Z, k)
        history.append(closeness(found.Z, A, r) + 2 * lam * blockness(top))
        change = float(np.linalg.norm(found.Z - before) / np.linalg.norm(before))
    return _learned(found, top, history, change, tol)


def fit_rank(
    A: FloatArray, k: int, r: float, trace: float | None, mu: float, rho: float,
    tol: float, max_iter: int,
) -> Learned:  # fmt: skip
    """Follow the authors' augmented Lagrangian for Z = W, rank(I - W) = n - k.

    W is their I - L. They end the step for Z after ten sweeps of alternating
    projections; here it is exact.
    """
    found = nearest_ds(A / (1 + r), trace=trace)
    Lam = np.zeros_like(A)
    history, residual = [closeness(found.Z, A, r)], np.inf
    while residual > tol and len(history) <= max_iter:
        W = with_k_ones(found.Z - Lam / mu, k)
        V = (A + mu / 2 * W + Lam / 2) / (1 + r + mu / 2)
        found = nearest_ds(V, trace=trace, u0=found.u)
        gap = W - found.Z
        Lam += mu * gap
        mu = min(1e10, rho * mu)
        residual = float(np.linalg.norm(gap)) / np.sqrt(len(A))
        history.append(closeness(found.Z, A, r))
    return _learned(found, leading_eigenvectors(found.Z, k), history, residual, tol)


def _learned(
    found: DoublyStochastic, top: Eigen, history: list[float], change: float, tol: float
) -> Learned:
    """Return the result of the steps that ended at this projection."""
    fitted = {"residual_": change, "blockness_": blockness(top)}
    converged, path = change <= tol and found.converged, np.array(history)
    return Learned(found.Z, history[-1], len(history) - 1, converged, fitted, path)


def with_k_ones(G: FloatArray, k: int) -> FloatArray:
    """Return G with the k eigenvalues nearest to 1 set to 1: rank(I - G) = n - k."""
    values, Q = eigh(G, check_finite=False)
    nearest = np.argsort(np.abs(1 - values), kind="stable")[:k]
    F = Q[:, nearest]
    W = G + (F * (1 - values[nearest])) @ F.T
    return np.asarray((W + W.T) / 2)
