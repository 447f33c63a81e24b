"""k-means with exact cluster sizes."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.cluster import kmeans_plusplus

from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.validation import check_proportions
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.transport import check_sizes, priced_assignment, sizes_from


class BalancedKMeans(RestartClusterer):
    """k-means whose clusters have exactly the sizes asked for.

    Solves

        min sum_i ||x_i - c_(y_i)||^2   over centres c and labels y with
        exactly sizes[j] samples of label j

    by turns: centres are means, and labels are the partition of least total squared
    distance with these sizes. The problem and the scheme are those of [1]_, who find
    the labels by the Hungarian method, O(n^3); here an exact solver of our own works
    on n x k costs (``lordclust.rounding.transport``), and sizes may differ.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    sizes : array-like of int, shape (n_clusters,), optional
        How many samples cluster j gets; they sum to n.
    proportions : array-like of shape (n_clusters,), optional
        Shares of the clusters, summing to 1, rounded to whole sizes by largest
        remainders. Without it and ``sizes`` all sizes are equal, or differ by one.
    n_init : int, default=10
        Starts by k-means++; the least inertia is kept. If sizes differ, the centres
        drawn get them by the number of samples nearest to each in every other start,
        and at random in the rest.
    max_iter : int, default=300
        Limit of iterations of each start.
    tol : float, default=1e-6
        Relative fall of the inertia to stop at.
    random_state : int, RandomState or None, default=None
        For the starts.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Cluster of each sample, 0 to k-1. Clusters of equal size are numbered by
        their first sample, others have the places of ``sizes``.
    cluster_centers_ : ndarray of shape (k, d)
        Means of the clusters. A cluster of size 0 keeps the centre of its start.
    sizes_ : ndarray of int, shape (k,)
        The sizes, met exactly.
    inertia_, objective_ : float
        Sum of squared distances to the centres.
    n_iter_, converged_, history_
        Of the kept start; ``history_`` never increases.
    all_objectives_ : ndarray of shape (n_init,)
        Final inertia of every start.

    Notes
    -----
    An iteration costs O(ndk), and a shortest path among k clusters for every sample
    that must change its place; prices are carried over, so that later iterations
    need few. Memory is O(nd + nk). It ends at a partition that neither step
    improves, often not the best one.

    There is no ``predict``: where a sample belongs depends on all others.

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
    """

    takes_graph = False

    cluster_centers_: FloatArray

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        sizes: Any = None,
        proportions: Any = None,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.sizes = sizes
        self.proportions = proportions
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.sizes is not None and self.proportions is not None:
            raise ValueError(
                "sizes and proportions were both given, but one settles the other. "
                "Pass only one of them."
            )

    def _solve(self, data: Any, k: int, rngs: Rngs) -> Iterable[Run]:
        self.sizes_ = self._wanted(k, data.shape[0])
        X, origin = _centred(data)
        for start, rng in enumerate(rngs):
            C = _start(X, self.sizes_, rng, match=start % 2 == 0)
            labels, C, history, converged = balanced_lloyd(
                X, self.sizes_, C, tol=self.tol, max_iter=self.max_iter
            )
            columns = {"cluster_centers_": (C + origin).T}
            yield Run(
                labels, history[-1], len(history), converged, history, columns=columns
            )

    def _wanted(self, k: int, n: int) -> IntArray:
        """Return the sizes asked for."""
        if self.sizes is not None:
            return check_sizes(self.sizes, k, n)
        return sizes_from(check_proportions(self.proportions, k), n)

    def _shares(self, k: int) -> FloatArray:
        return np.asarray(self.sizes_ / self.sizes_.sum())

    def _keep(self, run: Run, k: int) -> Self:
        super()._keep(run, k)
        self.cluster_centers_ = np.ascontiguousarray(self.cluster_centers_.T)
        self.inertia_ = self.objective_
        return self


class Lloyd(NamedTuple):
    """Where one start ended."""

    labels: IntArray
    centers: FloatArray
    history: FloatArray
    converged: bool


def balanced_lloyd(
    X: Any, sizes: IntArray, C: FloatArray, *, tol: float = 1e-6, max_iter: int = 300
) -> Lloyd:
    """Follow one start until neither labels nor centres lower the inertia.

    Parameters
    ----------
    X : ndarray or sparse array, shape (n, d)
        Samples in float64; around 0, or digits are lost.
    sizes : ndarray of int, shape (k,)
        Sizes of the clusters.
    C : ndarray of shape (k, d)
        Centres to begin with.
    tol : float
        Relative fall of the inertia to stop at.
    max_iter : int
        Limit of iterations.

    Returns
    -------
    lloyd : Lloyd
    """
    square = float(X.multiply(X).sum() if sparse.issparse(X) else (X * X).sum())
    labels: IntArray = np.empty(0, dtype=np.int64)
    prices, inertia, history = None, np.inf, list[float]()
    converged = False
    while not converged and len(history) < max_iter:
        # Without ||x_i||^2, which is the same for all clusters.
        cost = (C * C).sum(axis=1) - 2 * (X @ C.T)
        found, prices = priced_assignment(cost, sizes, prices)
        means = _means(X, found, sizes, C)
        last = inertia
        inertia = max(0.0, square - float(sizes @ (means * means).sum(axis=1)))
        converged = not inertia < (1 - tol) * last
        if inertia < last:
            labels, C = found, means
            history.append(inertia)
    return Lloyd(labels, C, np.array(history), converged)


def _centred(X: Any) -> tuple[Any, FloatArray]:
    """Return X in float64 less its mean, and the mean; a sparse X stays as it is."""
    X = X.astype(np.float64)
    if sparse.issparse(X):
        return sparse.csr_array(X), np.zeros(X.shape[1])
    origin = X.mean(axis=0)
    return X - origin, origin


def _start(
    X: Any, sizes: IntArray, rng: np.random.Generator, *, match: bool
) -> FloatArray:
    """Return centres by k-means++, in an order for the sizes."""
    k = len(sizes)
    seed = int(rng.integers(np.iinfo(np.int32).max))
    C, _ = kmeans_plusplus(X, k, random_state=seed)
    C = np.asarray(C.toarray() if sparse.issparse(C) else C)
    if not match:
        return C  # k-means++ draws them in random order
    nearest = ((C * C).sum(axis=1) - 2 * (X @ C.T)).argmin(axis=1)
    order = np.empty(k, dtype=np.int64)
    order[np.argsort(sizes, kind="stable")] = np.argsort(
        np.bincount(nearest, minlength=k), kind="stable"
    )
    return C[order]


def _means(X: Any, labels: IntArray, sizes: IntArray, C: FloatArray) -> FloatArray:
    """Return the means of the clusters; an empty one keeps its centre."""
    n, k = len(labels), len(sizes)
    Y = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), (n, k))
    sums = Y.T @ X
    sums = sums.toarray() if sparse.issparse(sums) else sums
    means = sums / np.maximum(sizes, 1)[:, None]
    means[sizes == 0] = C[sizes == 0]
    return np.asarray(means)
