"""NLR: a nonnegative low-rank factor of the semidefinite relaxation of k-means."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from lordclust._core.typing import Affinity, FloatArray, Graph, Seed
from lordclust._core.validation import check_count, check_positive
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import kmeans_labels, labels_from
from lordclust.solver.spectrum import find_spectrum

#: Starts with more than this infeasibility rank behind all others.
FEASIBLE = 1e-3
#: k-means runs of the rounding.
KMEANS_INIT = 20
#: Residual at which the first multipliers are updated, and how fast it falls.
FIRST_TOL, SHARPER = 0.1, 0.3
#: Steps after which the multipliers are updated in any case.
INNER = 200
#: The penalty is doubled, up to HARDEST times the first one, after a dual step that
#: leaves more than this fraction of the infeasibility.
PROGRESS, HARDEST = 0.5, 1e4
#: A step must fall below the largest of the last MEMORY values, by this share of its
#: squared length.
MEMORY, DECREASE = 10, 1e-4
#: Bounds of the step length, for S of norm 1.
SHORTEST, LONGEST = 1e-10, 1e3


@dataclass(eq=False, repr=False)
class NLR(RestartClusterer):
    """Nonnegative low-rank semidefinite clustering.

    Solves

        max tr(U'SU)   over   U >= 0 (n x r),  ||U||_F^2 = k,  UU'1 = 1

    with r >= k: the semidefinite relaxation of kernel k-means (Z = UU' psd,
    nonnegative, tr Z = k, Z1 = 1) with Z written as a product, so that no n x n
    matrix is needed [1]_. The problem, the augmented Lagrangian with projected
    gradient steps, and the rounding are the authors', read in their code. The step
    lengths (spectral, with a line search), the penalty and the stopping rule are ours:
    theirs, a step of 1e-6 for 50,000 iterations, depend on the scale of the data.

    Parameters
    ----------
    n_clusters
    affinity : str, KNNGraph or callable, default="knn"
        How S is computed from X, as in :class:`lordclust.BLoRD`. S may be any symmetric
        matrix; a multiple of I added to it makes no difference.
    metric, n_neighbors
    rank : int, optional
        Columns r of U, at least k. By default 2k.
    penalty : float, default=10.0
        The penalty of ||UU'1 - 1||^2 starts at ``penalty / n`` for S scaled to norm
        1, and is doubled whenever it is too weak. Smaller values converge more slowly
        and to worse optima, larger ones need more iterations.
    n_init : int or "auto", default="auto"
        Random starts ("auto": 10); the one with the best objective is kept, among those
        with an infeasibility of at most 1e-3 if there are any.
    max_iter : int, default=5000
        Maximum number of gradient steps of each start.
    tol : float, default=1e-3
        Tolerance on the residual and the infeasibility.
    random_state : int, RandomState or None, default=None
        Seed for the starts and for k-means.
    verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Clusters by k-means on the k leading left singular vectors of U; with
        ``rank=n_clusters``, the largest entry of each row of U. Ordered by decreasing
        size.
    sizes_
    U_ : ndarray of shape (n, r)
        The factor. U >= 0 and ||U||_F^2 = k hold to rounding.
    objective_ : float
        tr(U'SU).
    infeasibility_ : float
        ||UU'1 - 1|| / sqrt(n), the error of the row sums of Z.
    residual_ : float
        ||P(U - G) - U||_F / sqrt(k) with G the gradient of the augmented Lagrangian
        along the sphere, for S of norm 1, and P the projection: 0 at a stationary
        point.
    n_iter_, converged_, history_
        Of the kept start; ``history_`` is not monotone: the iterates are infeasible.
    all_objectives_, affinity_matrix_

    Notes
    -----
    A step takes one or a few products SU, O(nnz(S) r + nr) operations, and memory
    for a few n x r arrays. The problem is not convex, and random starts reach optima
    of different quality; with r > k they are often close to the optimum of the
    semidefinite relaxation.

    References
    ----------
    .. [1] Zhuang, Chen, Yang and Zhang, "Statistically optimal K-means clustering
       via nonnegative low-rank semidefinite programming", ICLR 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import NLR
    >>> model = NLR(3, n_init=2, random_state=0).fit(load_iris().data)
    >>> float((model.U_**2).sum().round(6))
    3.0
    >>> model.infeasibility_ <= 1e-3
    True
    """

    maximises = True
    nonnegative = False

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    rank: int | None = None
    penalty: float = 10.0
    n_init: int | str = "auto"
    max_iter: int = 5000
    tol: float = 1e-3
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.penalty, "penalty")
        if self.rank is not None and check_count(self.rank, "rank") < self.n_clusters:
            raise ValueError(
                f"rank must be at least n_clusters={self.n_clusters}, got "
                f"{self.rank}. Pass None for twice n_clusters."
            )

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        problem = ScaledProblem.of(data, k)
        n = data.shape[0]
        r = 2 * k if self.rank is None else int(self.rank)
        for rng in rngs:
            U = project(np.abs(rng.standard_normal((n, r))), k)
            U, residual, off, converged, history = solve(
                problem, U, penalty=self.penalty, max_iter=self.max_iter, tol=self.tol
            )
            fitted = {"infeasibility_": off, "residual_": residual}
            if r == k:
                labels = labels_from(U)
            else:
                left = np.linalg.svd(U, full_matrices=False)[0][:, :k]
                labels = kmeans_labels(left, k, rng, n_init=KMEANS_INIT).labels
            yield Run(
                labels, float(history[-1]), len(history) - 1, converged,
                history, columns={"U_": U} if r == k else {},
                fitted=fitted if r == k else {"U_": U, **fitted},
            )  # fmt: skip

    def _merit(self, run: Run) -> tuple[float, ...]:
        """Return a key that ranks feasible runs before all others."""
        return run.fitted["infeasibility_"] <= FEASIBLE, run.objective


class ScaledProblem(NamedTuple):
    """S with a mean diagonal of 0 and a norm of 1, stored as (S - shift I) / scale."""

    S: Graph
    shift: float
    scale: float
    k: int

    @classmethod
    def of(cls, S: Graph, k: int) -> "ScaledProblem":
        """Return the problem of S: the same for S + cI, as tr(UU') = k."""
        shift = float(np.mean(S.diagonal()))
        ends = find_spectrum(S)
        scale = max(abs(ends.low - shift), abs(ends.high - shift)) or 1.0
        S = S.astype(np.float64, copy=False)
        return cls(S, shift, scale, k)

    def product(self, U: FloatArray) -> FloatArray:
        """Return SU, shifted and scaled."""
        return np.asarray((self.S @ U - self.shift * U) / self.scale)


class Dual(NamedTuple):
    """Multipliers of UU'1 = 1 and the penalty."""

    y: FloatArray
    beta: float


class Point(NamedTuple):
    """A U and the augmented Lagrangian at it."""

    U: FloatArray
    value: float
    G: FloatArray  # gradient along the sphere ||U||_F^2 = k
    excess: FloatArray  # UU'1 - 1
    fit: float  # tr(U'SU) of the shifted and scaled S


class End(NamedTuple):
    """The result of one start."""

    U: FloatArray
    residual: float
    infeasibility: float
    converged: bool
    history: FloatArray


def project(V: FloatArray, k: int) -> FloatArray:
    """Return the nearest U >= 0 with ||U||_F^2 = k."""
    U = np.maximum(V, 0)
    if not U.any():
        U.flat[V.argmax()] = 1.0
    return np.asarray(U * (np.sqrt(k) / np.linalg.norm(U)))


def lagrangian(problem: ScaledProblem, U: FloatArray, dual: Dual) -> Point:
    """Return -tr(U'SU) + y'e + beta/2 ||e||^2, e = UU'1 - 1, and its gradient.

    The gradient has no part along U, which the projection onto the sphere would
    remove: so a step cannot make all entries negative.
    """
    SU = problem.product(U)
    sums = U.sum(axis=0)
    e = U @ sums - 1
    w = dual.y + dual.beta * e
    fit = float(np.vdot(SU, U))
    value = -fit + float(dual.y @ e + dual.beta / 2 * (e @ e))
    G = np.multiply.outer(w, sums) + w @ U - 2 * SU
    G -= (np.vdot(G, U) / problem.k) * U
    return Point(U, value, G, e, fit)


def solve(
    problem: ScaledProblem, U: FloatArray, *, penalty: float, max_iter: int, tol: float
) -> End:
    """Return a stationary point, by gradient steps and updates of the multipliers.

    Multipliers are updated when the residual is below ``target``, which falls with
    each update, or after INNER steps.
    """
    n, k = U.shape[0], problem.k
    dual, hardest = Dual(np.zeros(n), penalty / n), HARDEST * penalty / n
    at = lagrangian(problem, U, dual)
    history, values = [at.fit], [at.value]
    t, target, last = 1.0, max(tol, FIRST_TOL), np.inf
    for _ in range(max_iter):
        residual, off = _errors(at, k)
        if max(residual, off) <= tol:
            break
        if residual <= target or len(values) > INNER:
            weak = residual <= target and off > max(tol, PROGRESS * last)
            target = max(tol, SHARPER * target) if residual <= target else target
            growth = 2 if weak and dual.beta < hardest else 1
            dual = Dual(dual.y + dual.beta * at.excess, dual.beta * growth)
            at, last = lagrangian(problem, at.U, dual), off
            values = [at.value]
        at, t = descend(problem, at, dual, t, max(values[-MEMORY:]))
        values.append(at.value)
        history.append(at.fit)
    residual, off = _errors(at, k)
    objectives = problem.scale * np.array(history) + problem.shift * k
    return End(at.U, residual, off, max(residual, off) <= tol, objectives)


def descend(
    problem: ScaledProblem, at: Point, dual: Dual, t: float, ceiling: float
) -> tuple[Point, float]:
    """Return the next point, and the step length of Barzilai and Borwein for it.

    The first step tried has length t; it is shortened until the value is below ceiling.
    """
    while True:
        new = lagrangian(problem, project(at.U - t * at.G, problem.k), dual)
        D = new.U - at.U
        length = float(np.vdot(D, D))
        if new.value <= ceiling - DECREASE * length / t or t <= SHORTEST:
            break
        t /= 3
    bend = float(np.vdot(D, new.G - at.G))
    t = length / bend if bend > length / LONGEST else LONGEST
    return new, t


def _errors(at: Point, k: int) -> tuple[float, float]:
    """Return the relative length of a projected step, and ||UU'1 - 1|| / sqrt(n)."""
    moved = np.linalg.norm(project(at.U - at.G, k) - at.U)
    off = np.linalg.norm(at.excess) / np.sqrt(len(at.excess))
    return float(moved / np.sqrt(k)), float(off)
