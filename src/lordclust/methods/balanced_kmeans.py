"""k-means with exact cluster sizes, or bounds on them."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from lordclust._core.typing import ArrayLike, FloatArray, Graph, IntArray, Seed
from lordclust._core.validation import check_not_both, check_proportions
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.methods._new_samples import SizedBatches
from lordclust.result import Run
from lordclust.rounding.transport import (
    Bounds,
    check_bounds,
    check_sizes,
    priced_assignment,
    sizes_from,
)

#: Every third start is new; the others move one centre of the best, twice.
FRESH = 3


@dataclass(eq=False, repr=False)
class BalancedKMeans(SizedBatches, RestartClusterer):
    """k-means whose clusters have exactly the given sizes, or sizes within bounds.

    Solves

        min sum_i ||x_i - c_(y_i)||^2   over centres c and labels y with
        exactly cluster_sizes[j] samples of label j, or size_min[j] to size_max[j]

    by alternation: centres are means, and labels are the partition of least total
    squared distance with these sizes. The problem and the scheme are those of [1]_,
    which finds the labels by the Hungarian method, O(n^3); here our own exact solver
    works on n x k costs (``lordclust.rounding.transport``), and sizes may differ. Where
    the alternation ends, labels are found once more with costs that foresee how the
    centres move with a sample, as Hartigan's method does; if these labels are better,
    it goes on from them.

    Parameters
    ----------
    n_clusters
    cluster_sizes : array-like of int, shape (n_clusters,), optional
        Number of samples in each cluster; they sum to n.
    proportions : array-like of shape (n_clusters,), optional
        Shares of the clusters, summing to 1, rounded to sizes by largest remainders.
        Without it, ``cluster_sizes`` and bounds all sizes are equal, or differ by one.
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on the sizes, instead of ``cluster_sizes``: numbers of samples, or shares
        of them if below 1; one for all clusters, or one for each. No cluster is empty.
    n_init : int or "auto", default="auto"
        Starts ("auto": 10); the one with the least inertia is kept. Every third one
        is drawn by k-means++. The others move one centre of the best result so far to
        a sample far from all centres, twice, and keep the better result. If sizes
        differ, every other draw and every other move assigns them to the centres by
        the number of nearest samples.
    max_iter : int, default=300
        Maximum number of iterations of each start.
    tol : float, default=1e-6
        Tolerance on the relative decrease of the inertia.
    random_state, verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Cluster of each sample, 0 to k-1. Clusters of equal size are ordered by their
        first sample, others as in ``cluster_sizes``; with bounds, clusters of equal
        bounds by their size first.
    cluster_centers_ : ndarray of shape (k, d)
        Means of the clusters. A cluster of size 0 keeps the centre of its start.
    sizes_ : ndarray of int, shape (k,)
        The sizes of the clusters.
    inertia_, objective_ : float
        Sum of squared distances to the centres.
    n_iter_, converged_, history_
        Of the kept start; ``history_`` never increases.
    all_objectives_ : ndarray of shape (n_init,)
        Final inertia of every start.

    Notes
    -----
    An iteration costs O(ndk), and a shortest path among k clusters for every sample
    that must move; prices are reused, so that later iterations need few. Memory is
    O(nd + nk). It ends at a local optimum, a partition that no step improves.

    References
    ----------
    .. [1] Malinen and Franti, "Balanced k-means for clustering", 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import BalancedKMeans
    >>> model = BalancedKMeans(3, random_state=0).fit(load_iris().data)
    >>> model.sizes_
    array([50, 50, 50])
    >>> bounded = BalancedKMeans(3, size_min=40, size_max=60, random_state=0)
    >>> bounded.fit(load_iris().data).sizes_
    array([60, 50, 40])
    """

    takes_graph = False

    cluster_centers_: FloatArray = field(init=False)

    n_clusters: int = 8
    _: KW_ONLY
    cluster_sizes: ArrayLike | None = None
    proportions: ArrayLike | None = None
    size_min: ArrayLike | None = None
    size_max: ArrayLike | None = None
    n_init: int | str = "auto"
    max_iter: int = 300
    tol: float = 1e-6
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.cluster_sizes is not None:
            check_not_both(self.proportions, "proportions", "cluster_sizes")
        for name in ("cluster_sizes", "proportions"):
            if getattr(self, name) is not None:
                check_not_both(self.size_min, "size_min", name)
                check_not_both(self.size_max, "size_max", name)

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        self._bounds = bounds = self._find_bounds(k, data.shape[0])
        X, origin = data.astype(np.float64), np.zeros(data.shape[1])
        if sparse.issparse(X):
            X = sparse.csr_array(X)
        else:
            origin = X.mean(axis=0)
            X = X - origin
        lloyd = partial(balanced_lloyd, X, bounds, tol=self.tol, max_iter=self.max_iter)
        best: Lloyd | None = None
        for start, rng in enumerate(rngs):
            if best is None or start % FRESH == 0:
                C = _drawn(X, k, rng)
                match = start % (2 * FRESH) == 0
                found = lloyd(_matched(X, C, bounds) if match else C)
            else:
                moved = [_moved(X, best.centers, rng) for _ in range(2)]
                tries = lloyd(_matched(X, moved[0], bounds)), lloyd(moved[1])
                found = min(tries, key=lambda one: one.history[-1])
            labels, C, history, converged = found
            if best is None or history[-1] < best.history[-1]:
                best = found
            yield Run(
                labels, history[-1], len(history), converged, history,
                columns={"cluster_centers_": (C + origin).T},
            )  # fmt: skip

    def predict(self, X: Graph) -> IntArray:
        """Return the cluster of the nearest centre, for each sample by itself.

        The sizes are not met: with exact sizes or bounds, a fitted sample may get
        another cluster than in ``labels_``.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d)
            Samples.

        Returns
        -------
        labels : ndarray of int, shape (m,)
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        return np.asarray(pairwise_distances_argmin(X, self.cluster_centers_))

    def _assignment_costs(self, X: Graph) -> FloatArray:
        check_is_fitted(self)
        return _costs(self._check_X(X, reset=False), self.cluster_centers_)

    def _find_bounds(self, k: int, n: int) -> Bounds:
        """Return the bounds on the sizes, which are equal if the sizes are given."""
        if self.size_min is not None or self.size_max is not None:
            return check_bounds(self.size_min, self.size_max, k, n, least=1)
        if self.cluster_sizes is not None:
            sizes = check_sizes(self.cluster_sizes, k, n, name="cluster_sizes")
        else:
            sizes = sizes_from(check_proportions(self.proportions, k), n)
        return Bounds(sizes, sizes)

    def _shares(self, k: int) -> FloatArray:
        return self._bounds.kinds()

    def _keep(self, run: Run, k: int) -> Self:
        super()._keep(run, k)
        del self._bounds
        self.cluster_centers_ = np.ascontiguousarray(self.cluster_centers_.T)
        self.inertia_ = self.objective_
        return self


class Lloyd(NamedTuple):
    """The result of one start."""

    labels: IntArray
    centers: FloatArray
    history: FloatArray
    converged: bool


def balanced_lloyd(
    X: Graph, bounds: Bounds, C: FloatArray, *, tol: float = 1e-6, max_iter: int = 300
) -> Lloyd:
    """Alternate labels and centres from C until no step lowers the inertia.

    X is in float64, dense or sparse, and centred, so that no digits are lost.
    """
    n, k = X.shape[0], len(C)
    squares = _squares(X)
    labels: IntArray = np.zeros(n, dtype=np.int64)
    members = sparse.csc_array((np.ones(n), labels, np.arange(n + 1)), (k, n))
    prices, inertia, history = None, np.inf, list[float]()
    settled = converged = False
    while not converged and len(history) < max_iter:
        cost = _costs(X, C)
        if settled:
            cost = _with_moving_centers(cost + squares[:, None], labels)
        found, prices = priced_assignment(cost, bounds, prices)
        sizes, members.indices[:] = np.bincount(found, minlength=k), found
        sums = members @ X
        sums = sums.toarray() if sparse.issparse(sums) else sums
        means = np.asarray(sums / np.maximum(sizes, 1)[:, None])
        means[sizes == 0] = C[sizes == 0]  # an empty cluster keeps its centre
        reached = max(0.0, float(squares.sum() - sizes @ (means * means).sum(axis=1)))
        stays = not reached < (1 - tol) * inertia
        if reached < inertia:
            labels, C, inertia = found, means, reached
            history.append(inertia)
        settled, converged = stays, settled and stays
    return Lloyd(labels, C, np.array(history), converged)


def _with_moving_centers(squares: FloatArray, labels: IntArray) -> FloatArray:
    """Return the change of the inertia if one sample leaves or joins a cluster.

    To leave a cluster of m samples saves m / (m - 1) times its squared distance, to
    join one costs m / (m + 1) times that. Several moves at once cost more or less.
    """
    sizes = np.bincount(labels, minlength=squares.shape[1])
    cost = squares * (sizes / (sizes + 1))
    own = np.arange(len(labels)), labels
    cost[own] = squares[own] * (sizes / np.maximum(sizes - 1, 1))[labels]
    return cost


def _moved(X: Graph, C: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return centres one of which is now a sample, drawn as k-means++ draws it."""
    C, j = C.copy(), int(rng.integers(len(C)))
    others = np.delete(C, j, axis=0)
    if len(others):
        nearest = np.maximum(0, _costs(X, others).min(axis=1) + _squares(X))
        if nearest.sum() > 0:
            far = X[[rng.choice(len(nearest), p=nearest / nearest.sum())]]
            C[j] = far.toarray() if sparse.issparse(far) else far
    return C


def _squares(X: Graph) -> FloatArray:
    """Return ||x_i||^2 of each sample."""
    return np.asarray((X.multiply(X) if sparse.issparse(X) else X * X).sum(axis=1))


def _costs(X: Graph, C: FloatArray) -> FloatArray:
    """Return squared distances without ||x_i||^2, the same for all clusters."""
    return np.asarray((C * C).sum(axis=1) - 2 * (X @ C.T))


def _drawn(X: Graph, k: int, rng: np.random.Generator) -> FloatArray:
    """Return centres by k-means++, in random order."""
    seed = int(rng.integers(np.iinfo(np.int32).max))
    C, _ = kmeans_plusplus(X, k, random_state=seed)
    return np.asarray(C.toarray() if sparse.issparse(C) else C)


def _matched(X: Graph, C: FloatArray, bounds: Bounds) -> FloatArray:
    """Return centres ordered for the sizes: by the number of nearest samples."""
    k, order = len(C), np.empty(len(C), dtype=np.int64)
    nearest = np.bincount(_costs(X, C).argmin(axis=1), minlength=k)
    order[np.argsort(bounds.low + bounds.high, kind="stable")] = np.argsort(
        nearest, kind="stable"
    )
    return C[order]
