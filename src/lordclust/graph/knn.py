"""The self-tuning graph of nearest neighbours."""

import numbers
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from lordclust._core.collection import paused
from lordclust._core.fork import openmp
from lordclust._core.keys import sample_keys
from lordclust._core.scales import different_scales
from lordclust._core.threads import count_threads
from lordclust._core.typing import (
    ArrayLike,
    BoolArray,
    FloatArray,
    Graph,
    IntArray,
    Samples,
)
from lordclust._core.validation import check_count
from lordclust._core.warn import ScaleWarning, warn_user
from lordclust.graph import precomputed
from lordclust.graph.euclidean import SEARCH_SPACES
from lordclust.graph.gower import Columns
from lordclust.graph.kernel import (
    check_samples,
    local_scales,
    self_tuning_weights,
    typical_scale,
    unit_scale,
)

#: Additional neighbours to search; all are measured again exactly, so that rounding in
#: the search and its order of equal distances do not affect the result.
SPARE = 8
#: From this many samples on, our own search outweighs the time of its compilation.
LARGE = 5000
#: Above this dimension trees are slower than comparing all pairs.
TREE_DIM = 15
#: From this size on an approximate search is at least twice as fast, unless a tree is
#: faster: by far for 70,000 images of 784 pixels, with a recall of .988.
APPROXIMATE_FROM = 20_000
#: Recall of an approximate search by default: below, and from this many samples on.
RECALLS, MANY = (0.98, 0.95), 200_000
#: Up to this dimension a tree is fast for any number of samples.
QUICK_TREE_DIM = 8
#: The values of ``search``.
SEARCHES = ("auto", "exact", "cells")

_CHUNK_NUMBERS = 1 << 17  # differences that stay in the processor's cache

#: Called with the fraction of the work that is done, 0 to 1.
Progress: TypeAlias = Callable[[float], object]


@dataclass(eq=False, repr=False)
class KNNGraph(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Graph of q nearest neighbours with self-tuning weights [1]_.

        S_ij = exp(-d_ij^2 / (sigma_i sigma_j))

    if x_i is among the q nearest of x_j or x_j among those of x_i, and 0 otherwise;
    sigma_i is the distance from x_i to its 7th neighbour.

    It serves as the ``affinity`` of an estimator, and as a step of a pipeline before an
    estimator with ``affinity="precomputed"``.

    Parameters
    ----------
    n_neighbors : int, optional
        q, the neighbours of each sample. By default floor(log2 n) + 1.
    metric : str, default="euclidean"
        Any metric of ``sklearn.neighbors.NearestNeighbors``, or "inner_product":
        d_ij = sqrt(M^2 - x_i'x_j), where M is the largest length of a sample.
        "nan_euclidean": X may have missing values (NaN); distances are over the
        features that both samples have, as
        :func:`sklearn.metrics.pairwise.nan_euclidean_distances` defines them. "gower":
        numeric and categorical columns, see ``categorical``; the mean over columns of
        |x - y| / range, or of whether categories differ.
        "precomputed": X holds distances, for example the sparse graph of neighbours
        that another index found; see Notes.
    include_self : bool, default=False
        Count the sample itself among its q neighbours and set S_ii = 1.
        Otherwise S_ii = 0.
    scale_neighbor : int, default=7
        The neighbour, never counting the sample itself, that sets sigma_i; the
        last one if there are fewer.
    n_jobs : int or None, default=-1
        Threads of the search, -1 for all cores. None: one, unless a
        ``joblib.parallel_config`` context says otherwise. The graph does not depend on
        it.
    search : {"auto", "exact", "cells"}, default="auto"
        How neighbours are found. "auto": exactly below 20,000 samples, for at most 8
        features, and for sparse samples and metrics other than "euclidean", "cosine"
        and "inner_product"; otherwise by cells.
        "cells": approximately, by comparing samples with those of nearby cells, then
        neighbours of a sample with each other.
    recall : float, optional
        Share of the true neighbours that an approximate search should find. It
        determines how many cells are searched. By default 0.98, and 0.95 from 200,000
        samples on.
    categorical : array-like of int or str, optional
        Numbers or names of the categorical columns, with ``metric="gower"``. By default
        those that are not numbers. A missing category counts as one of its own.

    Attributes
    ----------
    recall_ : float
        Share of the true neighbours that the last search found, estimated on 500
        samples; 1 for an exact search.
    scales_ : ndarray of shape (n,)
        The local scales sigma of the last graph, in units of X up to a power of 2.
    columns_ : Columns
        With ``metric="gower"``: the range or the categories of each column.
    n_samples_fit_, n_features_in_ : int
        Shape of the fitted samples, after ``fit``.

    Notes
    -----
    The graph is exactly symmetric, and does not depend on the unit of X.
    sigma_i is at least 1e-3 of the median sigma, so copies of a sample are connected
    with weight 1. Weights below the smallest float are left out. Which of several
    neighbours at the same distance are taken does not depend on the order of the
    samples. An approximate search proposes neighbours; their distances are exact.

    Neighbours found by another index (faiss, hnswlib, pynndescent, annoy ...) are
    accepted in two forms: arrays of indices and distances, see :meth:`from_neighbors`,
    and a sparse matrix of shape (n, n) that stores the distance of each sample (row)
    to its neighbours (columns), with ``metric="precomputed"``. It need not be
    symmetric; a stored 0 on the diagonal is ignored, elsewhere it marks a copy.

    References
    ----------
    .. [1] Zelnik-Manor and Perona, "Self-tuning spectral clustering", 2004.

    Examples
    --------
    >>> S = KNNGraph(1).build([[0.0], [1.0], [5.0], [6.0]])
    >>> (S.toarray() > 0).astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 0]])

    Distances of neighbours from elsewhere:

    >>> from sklearn.neighbors import kneighbors_graph
    >>> D = kneighbors_graph([[0.0], [1.0], [5.0], [6.0]], 3, mode="distance")
    >>> (KNNGraph(1, metric="precomputed").build(D) != S).nnz
    0

    Numbers and categories:

    >>> mixed = [[1.0, "a"], [2.0, "a"], [9.0, "b"], [8.0, "b"]]
    >>> KNNGraph(1, metric="gower").build(mixed).nnz
    4

    In a pipeline:

    >>> from sklearn.pipeline import make_pipeline
    >>> from lordclust import BLoRD
    >>> model = make_pipeline(KNNGraph(2), BLoRD(2, affinity="precomputed"))
    >>> model.fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]).predict([[0.4], [7.6]])
    array([0, 1])
    """

    n_neighbors: int | None = None
    metric: str = "euclidean"
    include_self: bool = False
    _: KW_ONLY
    scale_neighbor: int = 7
    n_jobs: int | None = -1
    search: str = "auto"
    recall: float | None = None
    categorical: ArrayLike | None = None

    _extension: Any = field(init=False)  # an Extension, None for distances

    def build(self, X: Samples, *, callback: Progress | None = None) -> Graph:
        """Return the similarity graph of the samples in X.

        Parameters
        ----------
        X : array-like or sparse, shape (n, d)
            One sample per row; any real numbers, not NaN. float32 stays float32. With
            ``metric="precomputed"``, distances of shape (n, n): a sparse graph of
            neighbours, such as scikit-learn's ``kneighbors_graph(mode="distance")``,
            or all distances.
        callback : callable, optional
            Called with the fraction of the work that is done, 0 to 1, from time to
            time during a long search (many samples with many features).

        Returns
        -------
        S : scipy.sparse.csr_array of float64, shape (n, n)
        """
        self.recall_, metric = 1.0, self.metric
        if metric == "precomputed":
            return self._from_distances(precomputed.from_graph(X))
        if metric == "gower":
            self.columns_ = Columns.of(X, self.categorical)
            X, metric = self.columns_.encoded(X), "manhattan"
        X = check_samples(X, distinct=True, missing=metric == "nan_euclidean")
        n = X.shape[0]
        q = self.n_others(n)
        is_scaled = self.metric == "euclidean" and not sparse.issparse(X)
        if is_scaled and (scales := different_scales(X)) is not None:
            warn_user(
                f"The standard deviations of the features {scales.large} and "
                f"{scales.small} differ by a factor of {scales.factor:,.0f}: distances "
                "depend on few features. Scale them, for example with "
                "sklearn.preprocessing.StandardScaler.",
                ScaleWarning,
            )
        nth = min(check_count(self.scale_neighbor, "scale_neighbor"), n - 1)
        index, d, recall = find_nearest(
            X, max(q, nth), metric, self.n_jobs, callback,
            search=self.search, recall=self.recall,
        )  # fmt: skip
        if recall is not None:
            self.recall_ = recall
        sigma = d[:, nth - 1]
        if (crowd := d[:, q - 1] == 0).any() and metric != "nan_euclidean":
            index, d, sigma = self._beyond_copies(X, metric, crowd, q, nth, (index, d))
        sigma = self.scales_ = local_scales(sigma, typical_scale(sigma, d))
        index = index[:, :q]
        weights = self_tuning_weights(d[:, :q], sigma[:, None], sigma[index])
        fits = 2 * n * (q + 1) <= np.iinfo(np.int32).max  # both directions, a diagonal
        narrow = np.int32 if fits else np.int64
        indptr = np.arange(0, n * q + 1, q, dtype=narrow)
        parts = weights.ravel(), index.ravel().astype(narrow), indptr
        W = sparse.csr_array(parts, shape=(n, n))
        return _joined(W, diagonal=float(self.include_self))

    def _beyond_copies(
        self,
        X: Samples,
        metric: str,
        crowd: BoolArray,
        q: int,
        nth: int,
        near: tuple[IntArray, FloatArray],
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return neighbours, distances and scales of samples among many copies.

        A sample whose q nearest neighbours are copies of it would have no others. Half
        of them are replaced by its nearest neighbours that are different, and its scale
        is the distance of the nth of these.
        """
        index, d = near[0].copy(), near[1].copy()
        rows = X.toarray() if sparse.issparse(X) else X
        kinds, kind, copies = np.unique(
            rows, axis=0, return_inverse=True, return_counts=True
        )
        kind = kind.ravel()
        crowd = crowd & (copies[kind] > q)  # not if distances were rounded to 0
        count = min(max(q, nth), len(kinds) - 1)
        others, far, _ = find_nearest(kinds, count, metric, self.n_jobs)
        first = np.cumsum(copies) - copies
        place = np.argsort(kind, kind="stable")
        rank = np.empty(len(kind), dtype=np.int64)
        rank[place] = np.arange(len(kind)) - first[kind[place]]
        some = min(q - q // 2, count)
        of = others[kind[crowd], :some]
        # Each copy meets another copy of a neighbour.
        index[crowd, q - some : q] = place[first[of] + rank[crowd, None] % copies[of]]
        d[crowd, q - some : q] = far[kind[crowd], :some]
        sigma = d[:, nth - 1].copy()
        sigma[crowd] = far[kind[crowd], min(nth, count) - 1]
        return index, d, sigma

    def fit(self, X: Samples, y: object = None) -> Self:
        """Keep the samples, for ``transform``.

        Parameters
        ----------
        X : array-like or sparse, shape (n, d)
            Samples.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Samples, y: object = None) -> Graph:
        """Return the graph of the samples in X, as ``build``, and keep them.

        Parameters
        ----------
        X : array-like or sparse, shape (n, d)
            Samples.
        y : None
            Ignored.

        Returns
        -------
        S : scipy.sparse.csr_array of float64, shape (n, n)
        """
        S = self.build(X)
        validate_data(self, X, skip_check_array=True)
        self.n_samples_fit_ = S.shape[0]
        self._extension = None
        if self.metric != "precomputed":
            from lordclust.graph.extend import Extension  # it imports this module

            self._extension = Extension.of(self, self._checked(X))
        return S

    def transform(self, X: Samples) -> Graph:
        """Return the weights of new samples to their nearest fitted samples.

        A copy of fitted samples has a weight for these only.

        Parameters
        ----------
        X : array-like or sparse, shape (m, d)
            Samples.

        Returns
        -------
        W : scipy.sparse.csr_array of float64, shape (m, n)
            Rows sum to 1. An estimator with ``affinity="precomputed"`` accepts it in
            ``predict``.
        """
        check_is_fitted(self, "n_samples_fit_")
        if self._extension is None:
            raise ValueError(
                'KNNGraph(metric="precomputed") has no samples to compare new ones '
                "with. Fit it to samples with another metric."
            )
        validate_data(self, X, skip_check_array=True, reset=False)
        return self._extension.weights(self._checked(X))

    def _checked(self, X: Samples) -> Samples:
        """Return samples in the form in which they are compared."""
        if self.metric == "gower":
            return self.columns_.encoded(X)
        return check_samples(X, missing=self.metric == "nan_euclidean")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_samples_fit_)

    def from_neighbors(self, indices: ArrayLike, distances: ArrayLike) -> Graph:
        """Return the similarity graph of neighbours that are already known.

        Parameters
        ----------
        indices : array-like of int, shape (n, m)
            Neighbours of each sample; the sample itself and -1 (none) are left out.
        distances : array-like of shape (n, m)
            Their distances, in any unit. Take the square root if the index returns
            squared distances, as faiss does.

        Returns
        -------
        S : scipy.sparse.csr_array of float64, shape (n, n)
            By default all the neighbours are connected; with ``n_neighbors`` only
            the nearest of them.

        Examples
        --------
        >>> S = KNNGraph().from_neighbors([[1], [0], [1]], [[1.0], [1.0], [2.0]])
        >>> (S.toarray() > 0).astype(int)
        array([[0, 1, 0],
               [1, 0, 1],
               [0, 1, 0]])
        """
        self.recall_ = 1.0
        return self._from_distances(precomputed.from_lists(indices, distances))

    def _from_distances(self, D: Graph) -> Graph:
        """Return the similarity graph of a graph of distances."""
        nth = check_count(self.scale_neighbor, "scale_neighbor")
        q = None
        if self.n_neighbors is not None:
            q = check_count(self.n_neighbors, "n_neighbors") - int(self.include_self)
        near, sigma = precomputed.nearest_in(D, q, nth)
        sigma = self.scales_ = local_scales(sigma, typical_scale(sigma, near.data))
        i = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
        near.data = self_tuning_weights(near.data, sigma[i], sigma[near.indices])
        return _joined(near, diagonal=float(self.include_self))

    def n_others(self, n: int) -> int:
        """Return the number of neighbours of each of n samples, itself not counted."""
        own = int(self.include_self)
        if self.n_neighbors is None:
            return max(1, min(n - 1, n.bit_length() - own))  # floor(log2 n) + 1
        q = check_count(self.n_neighbors, "n_neighbors")
        if not 1 <= q - own <= n - 1:
            raise ValueError(
                f"n_neighbors must be from {1 + own} to {n - 1 + own} for {n} samples "
                f"with include_self={self.include_self}, got {q}. Pass None for "
                "floor(log2 n) + 1."
            )
        return q - own

    def __call__(self, X: Samples) -> Graph:
        """Return ``build(X)``, so that the object is itself an affinity."""
        return self.build(X)


def nearest(
    X: Samples,
    count: int,
    metric: str = "euclidean",
    n_jobs: int | None = -1,
    callback: Progress | None = None,
) -> tuple[IntArray, FloatArray]:
    """Return the ``count`` nearest others of each sample, and their distances.

    The metric is any of scikit-learn, or "inner_product". Euclidean distances are
    multiplied by a power of two, the same for all.
    """
    with paused():
        from sklearn.neighbors import NearestNeighbors

    if metric == "inner_product":
        return _largest_products(X, count, n_jobs)
    is_euclidean = metric == "euclidean"
    unit = unit_scale(X) if is_euclidean else 1.0
    centred = is_euclidean and not sparse.issparse(X)
    if centred and len(X) >= LARGE and X.shape[1] > TREE_DIM:
        from lordclust.graph import _brute  # import numba only if it pays off

        return _brute.nearest(X, count, SPARE, unit, n_jobs, callback)
    Z = X.astype(np.float64) * unit
    if centred:
        Z = Z - Z.mean(axis=0)  # a distant origin would lose precision
    wanted = min(count + SPARE, X.shape[0] - 1)
    # Only distances that are measured again below are the same for any n_jobs.
    quick = is_euclidean and X.shape[0] >= LARGE
    search = NearestNeighbors(
        n_neighbors=wanted, metric=metric, n_jobs=n_jobs if quick else None
    )
    # Blocks of 64 MB: scikit-learn's default of 1 GB has several copies at a time.
    missing = metric == "nan_euclidean"
    small = config_context(working_memory=64) if missing else nullcontext()
    with openmp(), small:
        d, index = search.fit(Z).kneighbors()
    d = _distances(X, index, unit) if is_euclidean else d.astype(np.float64)
    if missing and np.isnan(d).any():
        d[np.isnan(d)] = np.nanmax(d)  # no common feature: as far as any neighbour
    return nearest_of(index, d, count, X)


def find_nearest(
    X: Samples,
    count: int,
    metric: str = "euclidean",
    n_jobs: int | None = -1,
    callback: Progress | None = None,
    *,
    search: str = "auto",
    recall: float | None = None,
) -> tuple[IntArray, FloatArray, float | None]:
    """Return neighbours, their distances and the recall (None for an exact search).

    ``search`` and ``recall`` are those of :class:`KNNGraph`, the rest is as in
    :func:`nearest`.
    """
    if search not in SEARCHES:
        raise ValueError(
            f"search must be one of {', '.join(SEARCHES)}, got {search!r}. To use the "
            "neighbours of another index, pass them to KNNGraph().from_neighbors."
        )
    is_sparse = sparse.issparse(X)
    served = metric in SEARCH_SPACES and not is_sparse
    if search == "auto":
        large = X.shape[0] >= APPROXIMATE_FROM and X.shape[1] > QUICK_TREE_DIM
        search = "cells" if served and large else "exact"
    if search == "exact":
        return *nearest(X, count, metric, n_jobs, callback), None
    if not served:
        got = "sparse samples" if is_sparse else f"metric={metric!r}"
        raise ValueError(
            f"search={search!r} needs dense samples and one of the metrics "
            f'{", ".join(SEARCH_SPACES)}, got {got}. Use search="exact".'
        )
    if recall is None:
        recall = RECALLS[X.shape[0] >= MANY]
    is_number = isinstance(recall, numbers.Real) and not isinstance(recall, bool)
    if not is_number or not 0 < recall <= 1:
        raise ValueError(
            f"recall must be a number above 0 and up to 1, got {recall!r}. Try 0.98, "
            'or search="exact".'
        )
    from lordclust.graph import _cells

    index, d, found = _cells.nearest(
        SEARCH_SPACES[metric](X), count, SPARE, target=float(recall),
        n_threads=count_threads(n_jobs), callback=callback,
    )  # fmt: skip
    if found < recall:
        warn_user(
            f"The approximate search found {found:.1%} of the nearest neighbours in a "
            f"test, less than recall={recall:g}. Pass a KNNGraph with "
            'search="exact", or with a lower recall.',
            UserWarning,
        )
    return index, d, found


def _largest_products(
    X: Samples, count: int, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    """Return the samples with the largest inner products with each sample."""
    from sklearn.neighbors import NearestNeighbors

    if sparse.issparse(X):
        raise ValueError(
            'metric="inner_product" needs dense samples, got sparse ones. Use '
            'metric="cosine", or X.toarray() if that fits in memory.'
        )
    space, own = SEARCH_SPACES["inner_product"](X), np.arange(len(X))
    wanted = min(count + SPARE + 1, len(X))  # one may be the sample itself
    search = NearestNeighbors(n_neighbors=wanted, n_jobs=n_jobs).fit(space.base)
    with openmp():
        index = search.kneighbors(space.queries(own), return_distance=False)
    d = space.measure(own, index)
    d[index == own[:, None]] = np.inf
    return nearest_of(index, d, count, X)


def _distances(X: Samples, index: IntArray, unit: float) -> FloatArray:
    """Return ||x_i - x_j|| * unit by differences: exact zeros for copies."""
    n, count = index.shape
    rows = max(1, _CHUNK_NUMBERS // (count * X.shape[1]))
    d = np.empty(index.shape)
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        if sparse.issparse(X):
            i = np.repeat(np.arange(n)[part], count)
            others = X[index[part].ravel()].astype(np.float64) * unit
            gap = X[i].astype(np.float64) * unit - others
            d[part] = np.sqrt(np.asarray((gap * gap).sum(axis=1))).reshape(-1, count)
        else:
            others = X[index[part]].astype(np.float64) * unit
            gap = X[part, None, :].astype(np.float64) * unit - others
            d[part] = np.sqrt(np.einsum("ijk,ijk->ij", gap, gap))
    return d


def nearest_of(
    index: IntArray, d: FloatArray, count: int, X: Samples | None = None
) -> tuple[IntArray, FloatArray]:
    """Return the nearest candidates; ties are broken by their order in X.

    If X is given, ties are broken by the features, so that the order of the samples
    does not matter, except where they are copies of each other.
    """
    order = np.lexsort((index, d), axis=1)
    index, d = np.take_along_axis(index, order, 1), np.take_along_axis(d, order, 1)
    if X is not None:
        near = d[:, : count + 1]
        tied = ((near[:, 1:] == near[:, :-1]) & (near[:, 1:] > 0)).any(axis=1)
        others, apart = index[tied], d[tied]
        keys = sample_keys(X[others.ravel()]).reshape(others.shape)
        order = np.lexsort((keys, apart), axis=1)
        index[tied] = np.take_along_axis(others, order, 1)
    return index[:, :count], d[:, :count]


def _joined(W: Graph, diagonal: float) -> Graph:
    """Return max(W, W') with the given diagonal, without stored zeros."""
    S = W.maximum(W.T)
    if diagonal:
        S = S + diagonal * sparse.eye_array(S.shape[0], format="csr")
    S = sparse.csr_array(S)
    S.eliminate_zeros()
    S.sort_indices()
    return S
