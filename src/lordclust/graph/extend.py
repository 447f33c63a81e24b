"""Weights from new samples to the samples a model was fitted on."""

from typing import Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from lordclust._core.fork import openmp
from lordclust._core.typing import BoolArray, FloatArray, Graph, IntArray, Samples
from lordclust._core.validation import check_count
from lordclust.graph.euclidean import SEARCH_SPACES
from lordclust.graph.kernel import local_scales, typical_scale, unit_scale
from lordclust.graph.knn import SPARE, KNNGraph, find_nearest, nearest_of
from lordclust.graph.row_blocks import slices, squared_norms

#: Error of squared distances by inner products, relative to squared lengths.
ROUNDING = 1e-12
#: A sample that is farther away than this, relative to the extent of the known samples,
#: is about equally far from all of them: only rounding tells which are nearest.
FAR = 1e12
#: Numbers that exceed those of the known samples by this factor may overflow.
HUGE = 1e100

_BLOCK_ROWS = 256
_CHUNK_NUMBERS = 1 << 20  # differences held at once


class Extension:
    """Connects new samples, each independently, to their nearest known samples.

    A sample gets self-tuning weights exp(-d^2 / (sigma_x sigma_i)) to its q nearest
    known samples, scaled to sum to 1. A copy of known samples has only these. If a
    sample is farther from all of them than they extend, by a factor c, its weights sum
    to 1/c; one that is too far away to tell which are nearest has none.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        The known samples.
    n_neighbors : int, optional
        q; by default floor(log2 n) + 1.
    metric : str
        Any metric of ``sklearn.neighbors.NearestNeighbors``, or "inner_product".
    scale_neighbor : int
        The neighbour that sets sigma.
    search, recall
        How the scales of the known samples are found, as in ``KNNGraph``. New samples
        are compared with all known ones.
    """

    def __init__(
        self,
        X: Samples,
        n_neighbors: int | None = None,
        *,
        metric: str = "euclidean",
        scale_neighbor: int = 7,
        search: str = "auto",
        recall: float | None = None,
    ) -> None:
        self.n, self.metric = X.shape[0], metric
        self.count = min(self.n, self.n.bit_length())
        if n_neighbors is not None:
            self.count = min(self.n, check_count(n_neighbors, "n_neighbors"))
        nth = check_count(scale_neighbor, "scale_neighbor")
        self.nth = max(1, min(nth, self.n - 1))
        self.how, self.recall = search, recall
        self.X = _in_rows(X)
        self.search: BaseEstimator = None  # created on first use

    @classmethod
    def of(cls, graph: KNNGraph, X: Samples) -> Self:
        """Return the extension of a graph's settings; X is checked and encoded."""
        metric = "manhattan" if graph.metric == "gower" else graph.metric
        return cls(
            X, graph.n_neighbors, metric=metric, scale_neighbor=graph.scale_neighbor,
            search=graph.search, recall=graph.recall,
        )  # fmt: skip

    def _prepare(self) -> None:
        """Find the scales of the known samples."""
        from sklearn.neighbors import NearestNeighbors

        # Another thread may do this at the same time, with the same result.
        self.unit, self.origin, self.reach = self._frame()
        if self.metric == "inner_product":
            search = NearestNeighbors().fit(SEARCH_SPACES[self.metric](self.X).base)
        else:
            search = NearestNeighbors(metric=self.metric).fit(self._moved(self.X))
        _, d, _ = find_nearest(
            self.X, self.nth, self.metric, search=self.how, recall=self.recall
        )
        self.sigma = local_scales(d[:, -1], typical_scale(d[:, -1], d))
        self.search = search  # set last: it marks that everything is ready

    def _frame(self) -> tuple[float, FloatArray | float, float]:
        """Return a unit and an origin (for precision) and the largest length."""
        if self.metric not in ("euclidean", "inner_product"):
            return 1.0, 0.0, 0.0
        unit = unit_scale(self.X)
        Z = self.X.astype(np.float64) * unit
        if self.metric == "inner_product":
            return unit, 0.0, float(np.sqrt(squared_norms(Z).max()))
        origin = 0.0 if sparse.issparse(Z) else Z.mean(axis=0)
        Z = Z - origin
        return unit, origin, float(np.sqrt((Z * Z).sum(axis=1).max()))

    def _moved(self, X: Samples) -> Samples:
        """Return samples relative to the origin and in the unit of the search."""
        moved = X.astype(np.float64) * self.unit - self.origin
        if self.metric == "inner_product":  # the extra coordinate of known samples
            return np.pad(moved, ((0, 0), (0, 1)))
        return moved

    def nearest(self, X: Samples) -> tuple[IntArray, FloatArray, IntArray]:
        """Return the known samples nearest to new ones, their distances, and the rows.

        Rows of samples that are too far away to tell which are nearest are left out.
        """
        if self.search is None:
            self._prepare()
        X = _in_rows(X)
        rows = np.flatnonzero(self._is_measurable(X))
        index, d = self._nearest(X if len(rows) == X.shape[0] else X[rows])
        close = d[:, 0] <= FAR * max(self.reach, self.sigma.max())
        return index[close], d[close], rows[close]

    def weights(self, X: Samples) -> Graph:
        """Return weights, new samples by known ones; rows sum to 1 or less."""
        index, d, rows = self.nearest(X)
        m, n = X.shape[0], self.n
        extent = max(self.reach, self.sigma.max())
        apart = np.isinf(d)  # no common feature
        if apart.any():
            d = np.where(apart, np.where(apart, 0.0, d).max(axis=1, keepdims=True), d)
        sigma = np.maximum(d[:, self.nth - 1], self.sigma.min())
        d, index = d[:, : self.count], index[:, : self.count]
        # Relative to the nearest, so that a far sample keeps weights above 0.
        exponent = d**2 / (sigma[:, None] * self.sigma[index])
        w = np.exp(exponent.min(axis=1, keepdims=True) - exponent)
        copies = d <= 1e-12 * sigma[:, None]
        w = np.where(copies.any(axis=1, keepdims=True), copies, w)
        w = np.where(apart[:, : self.count], 0.0, w)
        sure = extent / np.maximum(d[:, :1], extent)
        w = w / w.sum(axis=1, keepdims=True) * sure
        counts = self.count * np.bincount(rows, minlength=m)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return sparse.csr_array((w.ravel(), index.ravel(), indptr), shape=(m, n))

    def _is_measurable(self, X: Samples) -> BoolArray:
        """Return whether the distances from each sample do not overflow."""
        top = np.float64(HUGE / unit_scale(self.X))  # also for float32
        low, high = X.min(axis=1), X.max(axis=1)
        if sparse.issparse(low):
            low, high = low.toarray(), high.toarray()
        return np.asarray(~((high > top) | (low < -top)))  # NaN is a missing value

    def _nearest(self, X: Samples) -> tuple[IntArray, FloatArray]:
        """Return the nearest known samples of each row, independent of the batch.

        A search rounds differently in other batches, and breaks ties arbitrarily. So
        it only proposes a few more than needed, and these are measured. If one that it
        left out may be as near, the search is repeated for more.
        """
        count = max(self.count, self.nth)
        index = np.empty((X.shape[0], count), dtype=np.int64)
        d = np.empty(index.shape)
        for block in slices(len(index), _BLOCK_ROWS):
            rows = np.arange(block.start, block.stop)
            wanted = count + SPARE
            while rows.size:
                found, away, sure = self._proposed(X[rows], min(wanted, self.n), count)
                index[rows], d[rows] = found, away
                rows, wanted = rows[~sure], 4 * wanted
        return index, d

    def _proposed(
        self, X: Samples, wanted: int, count: int
    ) -> tuple[IntArray, FloatArray, BoolArray]:
        """Return the nearest samples that a search finds, and whether it is certain."""
        with openmp():
            index = self.search.kneighbors(
                self._moved(X), wanted, return_distance=False
            )
        index, d = nearest_of(index, self._measured(X, index), wanted)
        last, farthest = d[:, count - 1], d[:, -1]
        slack = ROUNDING * (self.reach + farthest) ** 2
        slack[np.isinf(farthest)] = 0.0  # missing values, nothing in common
        sure = (last**2 < farthest**2 - slack) | (wanted == self.n)
        return index[:, :count], d[:, :count], sure

    def _measured(self, X: Samples, index: IntArray) -> FloatArray:
        """Return distances to the given known samples, pair by pair."""
        rows = max(1, _CHUNK_NUMBERS // (index.shape[1] * X.shape[1]))
        measures = {"euclidean": self._lengths, "inner_product": self._by_product}
        measure = measures.get(self.metric, self._by_metric)
        d = np.empty(index.shape)
        for part in slices(len(index), rows):
            d[part] = measure(X[part].astype(np.float64), index[part])
        return d

    def _lengths(self, X: Samples, index: IntArray) -> FloatArray:
        """Return distances by differences: exact zeros for copies."""
        m, q = index.shape
        known = self.X[index.ravel()].astype(np.float64)
        gap = (X[np.repeat(np.arange(m), q)] - known) * self.unit
        return np.asarray(np.sqrt((gap * gap).sum(axis=1)).reshape(m, q))

    def _by_product(self, X: Samples, index: IntArray) -> FloatArray:
        """Return distances by inner products, at least 0 even for a longer sample."""
        M = self.reach
        A, B = X * self.unit, self.X[index].astype(np.float64) * self.unit
        top = M * np.maximum(M, np.sqrt(squared_norms(A)))[:, None]
        inner = np.einsum("ik,ijk->ij", A, B)
        return np.asarray(np.sqrt(np.maximum(top - inner, 0.0)) / M)

    def _by_metric(self, X: Samples, index: IntArray) -> FloatArray:
        """Return distances in any metric, sample by sample."""
        from sklearn.metrics import pairwise_distances

        d = np.empty(index.shape)
        for i, others in enumerate(index):
            known = self.X[others].astype(np.float64)
            d[i] = pairwise_distances(X[i : i + 1], known, metric=self.metric)[0]
        return np.where(np.isnan(d), np.inf, d)


def _in_rows(X: Samples) -> Samples:
    """Return samples in C order, so that sums over a row do not depend on layout."""
    return sparse.csr_array(X) if sparse.issparse(X) else np.ascontiguousarray(X)
