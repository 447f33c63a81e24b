"""Global kernel k-means: add one cluster at a time, from every sample or the best."""

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse

from lordclust._core.typing import Affinity, FloatArray, Graph, IntArray, Seed
from lordclust._core.validation import check_choice, check_count
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.methods._solvers.kernel_kmeans import (
    MARGIN,
    Asking,
    Descent,
    KernelSteps,
    Partition,
    side_by_side,
)
from lordclust.result import Run

#: "auto" tries every sample up to this n^3 k: about a minute (2000 samples, k = 10).
FULL_WORK = 1e11
#: A smaller change of E, relative to its magnitude, is rounding error.
EQUAL = 1e-12
#: Rows of S that are dense at the same time.
BLOCK_ROWS = 256


@dataclass(eq=False, repr=False)
class GKKM(RestartClusterer):
    """Global kernel k-means.

    Solves the problem of kernel k-means,

        min E = Tr(S) - sum_j (y_j' S y_j) / n_j,

    for 1, 2, ..., k clusters, where y_j is the indicator of cluster j and n_j its size
    [1]_. From the best m - 1 clusters, each sample in turn becomes a cluster of its
    own and kernel k-means is run; the lowest E gives the best m clusters. The algorithm
    is deterministic.

    ``algorithm="full"`` is the published algorithm, checked against the authors'
    code. Unlike that code it always returns k clusters, does not try samples that
    already are a cluster, and fills clusters that become empty. ``"fast"`` tries only
    the sample with the largest guaranteed reduction; it is written from memory of the
    paper and of global k-means, where it is standard.

    Parameters
    ----------
    n_clusters
    affinity : str, KNNGraph or callable, default="self_tuning"
        How S is computed from X, as in :class:`lordclust.BLoRD`: by default the full
        self-tuning kernel with diagonal 1. S may be any symmetric matrix, dense or
        sparse; entries may be negative.
    metric : str, default="euclidean"
        Distance of the nearest neighbours, with ``affinity="knn"``.
    n_neighbors : int, optional
        Their number, with ``affinity="knn"``. By default floor(log2 n) + 1.
    algorithm : {"auto", "full", "fast"}, default="auto"
        "full" tries every sample as a new cluster, "fast" one. "auto": "full" if
        n^3 k <= 1e11, otherwise "fast".
    n_candidates : int, optional
        How many samples to try, those with the largest guaranteed reduction of E.
        By default all or one, depending on ``algorithm``.
    max_iter : int, default=300
        Maximum number of steps of each kernel k-means.
    max_dense : int, default=10000
        Largest number of samples: memory and time grow with the square.
    n_init : int or "auto", default="auto"
        Unused: the algorithm is deterministic.
    random_state : int, RandomState or None, default=None
        Unused: the algorithm is deterministic.
    verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Clusters 0 to k-1, ordered by decreasing size, then by their first sample.
        None is empty.
    sizes_
    objective_ : float
        E.
    error_path_ : ndarray of shape (k,)
        E of the best 1, 2, ..., k clusters. It never rises if S is positive
        semidefinite.
    history_ : ndarray
        E of the kept kernel k-means with k clusters, after each of its steps.
    n_iter_, converged_
        Steps of all kernel k-means runs, shared ones counted once, and whether all
        kept runs ended before ``max_iter``.
    all_objectives_ : ndarray of shape (1,)
        E.
    affinity_matrix_

    Notes
    -----
    The first step from all samples is computed at once: making sample i a cluster
    changes only two means, so n^2 numbers decide it for all i. Then kernel k-means is
    run from each different partition; it stops at a partition that an earlier sample
    led to, because the end is known. The result is that of trying every sample
    separately. Candidates with E equal to rounding are ties: the first sample wins.

    With a narrow kernel, as the self-tuning one often is, a sample as a mean attracts
    only the few with S_ip > 1/2 or so: new clusters start small, and :class:`KKM` with
    many starts finds a lower E. A wider kernel, such as
    :func:`lordclust.graph.gaussian_kernel`, suits this method better.

    Steps that would raise E, as they can if S has negative eigenvalues, are handled as
    in ``KKM(psd_shift="auto")``.

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

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "self_tuning"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    algorithm: str = "auto"
    n_candidates: int | None = None
    max_iter: int = 300
    max_dense: int = 10_000
    n_init: int | str = "auto"
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.algorithm, ("auto", "full", "fast"), "algorithm")
        if self.n_candidates is not None:
            check_count(self.n_candidates, "n_candidates")

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        S = data.astype(np.float64, copy=False)
        n = S.shape[0]
        count = 1
        if self.n_candidates is not None:
            count = min(self.n_candidates, n)
        elif self.algorithm == "full" or (
            self.algorithm == "auto" and float(n) ** 3 * k <= FULL_WORK
        ):
            count = n
        steps = KernelSteps(np.ones(n), S.diagonal(), self.max_iter, EQUAL)
        one = steps.measure(np.zeros(n, dtype=np.int64), np.ones((1, n)) @ S)
        found = Descent(one, 0, True, [one.objective])
        errors, n_iter, converged = [one.objective], 0, True
        for _ in range(1, k):
            found, taken = add_cluster(steps, S, found.end, count)
            errors.append(found.end.objective)
            n_iter += taken
            converged &= found.converged
        yield Run(
            found.end.labels, errors[-1], n_iter, converged, np.array(found.history),
            fitted={"error_path_": np.array(errors)},
        )  # fmt: skip


def add_cluster(
    steps: KernelSteps, S: Graph, P: Partition, count: int
) -> tuple[Descent, int]:
    """Return the best descent with one more cluster, and the partitions visited."""
    best: Descent | None = None
    seen: set[bytes] = set()
    wider, margin = _with_empty_cluster(P), EQUAL * steps.scale(P)
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
    """Run kernel k-means from sample i as a cluster, given the first step.

    Return None if it meets a partition that was visited before.
    """
    k = len(wider.mass)
    key = first.tobytes()
    if key in seen:
        return None
    if np.bincount(first, minlength=k).all():
        Q = yield from steps.move(wider, first)
        if Q.objective <= _objective_without(steps, wider, i) + EQUAL * steps.scale(Q):
            seen.add(key)
            return (yield from steps.descend(Q, seen))
    # A cluster became empty, or E rose: take the step again by the general rule.
    start = wider.labels.copy()
    start[i] = k - 1
    Q = yield from steps.move(wider, start)
    return (yield from steps.descend(Q, seen))


def first_steps(
    steps: KernelSteps, S: Graph, P: Partition, chosen: IntArray
) -> Iterator[tuple[int, IntArray]]:
    """Yield each chosen sample with the labels after its first step.

    When sample i becomes a cluster, only the mean of its old cluster changes: a sample
    goes to the best of the other means, the changed one, or sample i.
    """
    C = steps.costs(P)
    k, n = C.shape
    samples = np.arange(n)
    first, rest = C.argmin(axis=0), C.copy()
    rest[first, samples] = np.inf
    second = rest.argmin(axis=0)
    lowest, next_lowest = C[first, samples], rest[second, samples]
    own, size = C[P.labels, samples], np.abs(C).max(axis=0)
    for i, rows in _row_blocks(S, chosen):
        c = P.labels[i][:, None]
        # The costs of the cluster of sample i once it has left.
        mass = P.mass[P.labels[i]]
        left = (mass - 1)[:, None]
        inner = P.norms[P.labels[i]] * mass**2 - 2 * P.sums[P.labels[i], i]
        inner = (inner + steps.diagonal[i])[:, None]
        changed = inner / left**2 - 2 * (P.sums[P.labels[i]] - rows) / left
        new = steps.diagonal[i][:, None] - 2 * rows
        other = np.where(first == c, second, first)
        cost = np.where(first == c, next_lowest, lowest)
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
    """Return the most promising samples, in increasing order.

    Sample i as a cluster lowers E by at least b_i = sum_p max(d_p - d_pi, 0), where
    d_p is the squared distance of p to its mean and d_pi that to i. A sample that
    already is a cluster is left out.
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
    # Two samples that attract only each other have the same bound: take the first.
    promise = np.round(b / (b.max() or 1.0), 12)
    return np.sort(pool[np.argsort(-promise, kind="stable")[:count]])


def _objective_without(steps: KernelSteps, P: Partition, i: int) -> float:
    """Return E after sample i has become a cluster of its own."""
    c = P.labels[i]
    m = P.mass[c]
    distance = steps.diagonal[i] + P.norms[c] - 2 * P.sums[c, i] / m
    return float(P.objective - m / (m - 1) * distance)


def _with_empty_cluster(P: Partition) -> Partition:
    """Return the partition with one more cluster, still empty."""
    sums = np.vstack([P.sums, np.zeros(len(P.labels))])
    mass, norms = np.append(P.mass, 0.0), np.append(P.norms, 0.0)
    return Partition(P.labels, sums, mass, norms, P.objective)


def _row_blocks(S: Graph, chosen: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield some of the chosen samples with their rows of S, dense."""
    for first in range(0, len(chosen), BLOCK_ROWS):
        i = chosen[first : first + BLOCK_ROWS]
        rows = S[i]
        yield i, rows.toarray() if sparse.issparse(rows) else rows
