"""Global kernel k-means: one cluster more at a time, from every sample or the best."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.validation import check_choice, check_count
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.methods._kernel_steps import (
    MARGIN,
    Asking,
    Descent,
    KernelSteps,
    Partition,
    side_by_side,
    to_double,
)
from lordclust.result import Run

ALGORITHMS = ("auto", "full", "fast")
#: "auto" tries every sample up to this n^3 k: about a minute (2000 samples, k = 10).
FULL_WORK = 1e11
#: A smaller change of E, relative to its size, is rounding.
EQUAL = 1e-12
#: Rows of S that are dense at the same time.
BLOCK_ROWS = 256


class GKKM(RestartClusterer):
    """Global kernel k-means.

    Solves the problem of kernel k-means,

        min E = Tr(S) - sum_j (y_j' S y_j) / n_j,

    for 1, 2, ..., k clusters, where y_j is the indicator of cluster j and n_j its size
    [1]_. From the best m - 1 clusters, each sample in turn is made a cluster of its
    own and kernel k-means follows; the lowest E gives the best m clusters. Nothing is
    random.

    ``algorithm="full"`` is the published algorithm, checked against the authors'
    code. Unlike that code it always returns k clusters, does not try samples that
    are a cluster already, and fills clusters that get empty. ``"fast"`` tries only
    the sample with the largest guaranteed reduction; it is written from memory of the
    paper and of global k-means, where it is standard.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    affinity : {"self_tuning", "knn", "precomputed"}, KNNGraph or callable, \
default="self_tuning"
        How X becomes S: the full self-tuning kernel with diagonal 1, the graph of
        nearest neighbours, X itself, or ``f(X) -> S`` such as
        :func:`lordclust.graph.linear_kernel`. S may be any symmetric matrix, dense
        or sparse; entries may be negative.
    algorithm : {"auto", "full", "fast"}, default="auto"
        "full" tries every sample as a new cluster, "fast" one. "auto": "full" if
        n^3 k <= 1e11, otherwise "fast".
    n_candidates : int, optional
        How many samples to try, those with the largest guaranteed reduction of E.
        By default all or one, as ``algorithm`` says.
    max_iter : int, default=300
        Limit of steps of each kernel k-means.
    max_dense : int, default=10000
        Refuse more samples: S and the time for all its pairs grow too large.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Clusters 0 to k-1 by falling size, then by their first sample. None is empty.
    objective_ : float
        E.
    error_path_ : ndarray of shape (k,)
        E of the best 1, 2, ..., k clusters. It never rises if S is positive
        semidefinite.
    history_ : ndarray
        E of the kept kernel k-means with k clusters, after each of its steps.
    n_iter_ : int
        Steps of all kernel k-means together, shared ones counted once.
    converged_ : bool
        Whether all kept ones ended before ``max_iter``.
    all_objectives_ : ndarray of shape (1,)
        E.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S.

    Notes
    -----
    The first step from all samples is computed at once: making sample i a cluster
    changes the means of two clusters only, so n^2 numbers decide it for all i. Then
    kernel k-means is followed from each different partition that was reached; where
    it comes upon a partition that an earlier sample led to, it stops, because the end
    is known. The result is that of trying every sample by itself. Candidates with E
    equal to rounding count as equal: the first sample wins.

    With a narrow kernel, and the self-tuning one often is narrow, a sample as a mean
    attracts only the few with S_ip > 1/2 or so: new clusters start small, and
    :class:`KKM` with many starts then finds a lower E. A wider kernel, such as
    :func:`lordclust.graph.gaussian_kernel`, suits this method better.

    Steps that would raise E, as they can if S has negative eigenvalues, are treated
    as by ``KKM(psd_shift="auto")``.

    References
    ----------
    .. [1] Tzortzis, Likas, "The global kernel k-means algorithm for clustering in
       feature space", 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.graph import gaussian_kernel
    >>> from lordclust.methods import GKKM
    >>> model = GKKM(3, affinity=gaussian_kernel).fit(load_iris().data)
    >>> np.bincount(model.labels_)
    array([62, 50, 38])
    >>> model.error_path_.round(2)
    array([63.02, 22.05, 12.87])
    """

    nonnegative = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: Any = "self_tuning",
        algorithm: str = "auto",
        n_candidates: int | None = None,
        max_iter: int = 300,
        max_dense: int = 10_000,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.algorithm = algorithm
        self.n_candidates = n_candidates
        self.max_iter = max_iter
        self.max_dense = max_dense

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.algorithm, ALGORITHMS, "algorithm")
        if self.n_candidates is not None:
            check_count(self.n_candidates, "n_candidates")

    def _solve(self, data: Any, k: int, rngs: Rngs) -> Iterable[Run]:
        S = to_double(data)
        n = S.shape[0]
        steps = KernelSteps(np.ones(n), S.diagonal(), self.max_iter, EQUAL)
        one = steps.measure(np.zeros(n, dtype=np.int64), np.ones((1, n)) @ S)
        found = Descent(one, 0, True, [one.objective])
        path, n_iter, converged = [found], 0, True
        for _ in range(1, k):
            found, taken = add_cluster(steps, S, found.end, self._n_tried(n, k))
            path.append(found)
            n_iter += taken
            converged &= found.converged
        errors = np.array([each.end.objective for each in path])
        yield Run(
            found.end.labels, errors[-1], n_iter, converged, np.array(found.history),
            fitted={"error_path_": errors},
        )  # fmt: skip

    def _n_tried(self, n: int, k: int) -> int:
        """Return how many samples to try as a new cluster."""
        if self.n_candidates is not None:
            return min(self.n_candidates, n)
        full = self.algorithm == "full"
        if self.algorithm == "auto":
            full = float(n) ** 3 * k <= FULL_WORK
        return n if full else 1


def add_cluster(
    steps: KernelSteps, S: Graph, P: Partition, count: int
) -> tuple[Descent, int]:
    """Return the best descent with one cluster more, and the partitions passed."""
    best: Descent | None = None
    seen: set[bytes] = set()
    wider, margin = _with_empty_cluster(P), _margin(steps, P)
    for i, labels in first_steps(steps, S, P, candidates(steps, S, P, count)):
        (found,) = side_by_side([follow(steps, wider, i, labels, seen)], S)
        if found is None:
            continue
        if best is None or best.end.objective - found.end.objective > margin:
            best = found
    assert best is not None, "fewer clusters than samples"  # for mypy  # nosec B101
    return best, len(seen)


def follow(
    steps: KernelSteps, wider: Partition, i: int, first: IntArray, seen: set[bytes]
) -> Asking[Descent | None]:
    """Follow kernel k-means from sample i as a cluster, given the first step.

    None is returned where it comes upon a partition that was passed before.
    """
    k = len(wider.mass)
    key = first.tobytes()
    if key in seen:
        return None
    if np.bincount(first, minlength=k).all():
        Q = yield from steps.move(wider, first)
        if Q.objective <= _objective_without(steps, wider, i) + _margin(steps, Q):
            seen.add(key)
            return (yield from steps.descend(Q, seen))
    # A cluster got empty, or E rose: go the long way, which knows what to do.
    start = wider.labels.copy()
    start[i] = k - 1
    Q = yield from steps.move(wider, start)
    return (yield from steps.descend(Q, seen))


def first_steps(
    steps: KernelSteps, S: Graph, P: Partition, chosen: IntArray
) -> Iterator[tuple[int, IntArray]]:
    """Yield each chosen sample with the labels after its first step.

    Sample i becomes a cluster: of the old means only that of its cluster changes, so
    a sample goes to the best of the others, the changed one, or sample i.
    """
    C = steps.costs(P)
    k, n = C.shape
    samples = np.arange(n)
    best, second = _two_lowest(C)
    own, size = C[P.labels, samples], np.abs(C).max(axis=0)
    for i, rows in _row_blocks(S, chosen):
        c = P.labels[i][:, None]
        changed = _costs_without(steps, P, i, rows)
        new = steps.diagonal[i][:, None] - 2 * rows
        other = np.where(best.where == c, second.where, best.where)
        cost = np.where(best.where == c, second.cost, best.cost)
        labels = np.where(changed < cost, c, other)
        cost = np.minimum(cost, changed)
        labels = np.where(new < cost, k, labels)
        cost = np.minimum(cost, new)
        now = np.where(P.labels == c, changed, own)
        start = np.tile(P.labels, (len(i), 1))
        block = np.arange(len(i))
        start[block, i], now[block, i] = k, new[block, i]
        size_now = np.maximum(size, np.maximum(np.abs(changed), np.abs(new)))
        labels = np.where(now - cost > MARGIN * size_now, labels, start)
        yield from zip(i.tolist(), labels, strict=True)


def candidates(steps: KernelSteps, S: Graph, P: Partition, count: int) -> IntArray:
    """Return samples to try, in their order: those that promise most.

    Sample i as a cluster lowers E by at least b_i = sum_p max(d_p - d_pi, 0), where
    d_p is the squared distance of p to its mean and d_pi that to i. A sample that is
    a cluster already is left out.
    """
    pool = np.flatnonzero(P.mass[P.labels] > 1)
    if count >= len(pool):
        return pool
    own = steps.costs(P)[P.labels, np.arange(len(P.labels))]
    parts = [
        np.maximum(own - steps.diagonal[i][:, None] + 2 * rows, 0.0).sum(axis=1)
        for i, rows in _row_blocks(S, pool)
    ]
    b = np.concatenate(parts)
    # Two samples that attract only each other promise the same: the first wins.
    promise = np.round(b / (b.max() or 1.0), 12)
    return np.sort(pool[np.argsort(-promise, kind="stable")[:count]])


class _Lowest(NamedTuple):
    """The cost of the best cluster for each sample, and which it is."""

    cost: FloatArray
    where: IntArray


def _two_lowest(C: FloatArray) -> tuple[_Lowest, _Lowest]:
    """Return the lowest and second lowest entry of each column."""
    samples = np.arange(C.shape[1])
    first = C.argmin(axis=0)
    rest = C.copy()
    rest[first, samples] = np.inf
    second = rest.argmin(axis=0)
    return _Lowest(C[first, samples], first), _Lowest(rest[second, samples], second)


def _costs_without(
    steps: KernelSteps, P: Partition, i: IntArray, rows: FloatArray
) -> FloatArray:
    """Return the costs of the clusters of samples i when these have left them."""
    c, mass = P.labels[i], P.mass[P.labels[i]]
    inner = P.norms[c] * mass**2 - 2 * P.sums[c, i] + steps.diagonal[i]
    left = (mass - 1)[:, None]
    return np.asarray(inner[:, None] / left**2 - 2 * (P.sums[c] - rows) / left)


def _objective_without(steps: KernelSteps, P: Partition, i: int) -> float:
    """Return E after sample i has left its cluster to be one of its own."""
    c = P.labels[i]
    m = P.mass[c]
    distance = steps.diagonal[i] + P.norms[c] - 2 * P.sums[c, i] / m
    return float(P.objective - m / (m - 1) * distance)


def _with_empty_cluster(P: Partition) -> Partition:
    """Return the partition with one cluster more, still empty."""
    sums = np.vstack([P.sums, np.zeros(len(P.labels))])
    mass, norms = np.append(P.mass, 0.0), np.append(P.norms, 0.0)
    return Partition(P.labels, sums, mass, norms, P.objective)


def _margin(steps: KernelSteps, P: Partition) -> float:
    """Return the difference of E that counts as rounding."""
    return EQUAL * steps.scale(P)


def _row_blocks(S: Graph, chosen: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield some of the chosen samples with their rows of S, dense."""
    for first in range(0, len(chosen), BLOCK_ROWS):
        i = chosen[first : first + BLOCK_ROWS]
        rows = S[i]
        yield i, rows.toarray() if sparse.issparse(rows) else rows
