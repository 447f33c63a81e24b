"""Weights from new samples to the samples a model was fitted on."""

from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.fork import openmp
from lordclust._core.typing import BoolArray, FloatArray, Graph, IntArray
from lordclust.graph.euclidean import FRAMES
from lordclust.graph.kernel import floor_scales, unit_scale
from lordclust.graph.knn import SPARE, find_nearest, nearest_of

#: What squared distances by inner products may lose, relative to squared lengths.
ROUNDING = 1e-12

_BLOCK_ROWS = 256
_CHUNK_NUMBERS = 1 << 20  # differences held at once


class Extension:
    """Joins new samples, one at a time, to their neighbours among known ones.

    A sample gets self-tuning weights exp(-d^2 / (sigma_x sigma_i)) to its q nearest
    known samples, scaled to sum to 1. A copy of known samples gets them alone.

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
        X: Any,
        n_neighbors: int | None = None,
        *,
        metric: str = "euclidean",
        scale_neighbor: int = 7,
        search: str = "auto",
        recall: float = 0.95,
    ) -> None:
        n = X.shape[0]
        wanted = n.bit_length() if n_neighbors is None else n_neighbors
        self.count = min(n, wanted)
        self.nth = max(1, min(scale_neighbor, n - 1))
        self.n, self.metric = n, metric
        self.how: dict[str, Any] = {"search": search, "recall": recall}
        self.X = _in_rows(X)
        self.search: Any = None  # made at first use

    def _prepare(self) -> None:
        """Find the scales of the known samples."""
        from sklearn.neighbors import NearestNeighbors

        # Another thread may do the same: whatever is set is never other than this.
        self.unit, self.origin, self.reach = self._frame()
        if self.metric == "inner_product":
            base = FRAMES[self.metric](self.X).base
            search = NearestNeighbors().fit(base)
        else:
            search = NearestNeighbors(metric=self.metric).fit(self._moved(self.X))
        _, d, _ = find_nearest(self.X, self.nth, self.metric, **self.how)
        self.sigma = floor_scales(d[:, -1], d)
        self.search = search  # last, as it says that all is there

    def _frame(self) -> tuple[float, Any, float]:
        """Return a unit and an origin that save digits, and how far samples lie."""
        if self.metric == "inner_product":
            unit = unit_scale(self.X)
            Z = self.X.astype(np.float64) * unit
            return unit, 0.0, float(np.sqrt(np.einsum("ij,ij->i", Z, Z).max()))
        if self.metric != "euclidean":
            return 1.0, 0.0, 0.0
        unit = unit_scale(self.X)
        Z = self.X.astype(np.float64) * unit
        origin = 0.0 if sparse.issparse(Z) else Z.mean(axis=0)
        Z = Z - origin
        return unit, origin, float(np.sqrt((Z * Z).sum(axis=1).max()))

    def _moved(self, X: Any) -> Any:
        """Return samples in the unit, and from the origin, of the search."""
        moved = X.astype(np.float64) * self.unit - self.origin
        if self.metric == "inner_product":  # the coordinate that known samples have
            return np.pad(moved, ((0, 0), (0, 1)))
        return moved

    def weights(self, X: Any) -> Graph:
        """Return row-normalised weights, new samples by known ones."""
        if self.search is None:
            self._prepare()
        index, d = self._nearest(_in_rows(X))
        sigma = np.maximum(d[:, self.nth - 1], self.sigma.min())
        d, index = d[:, : self.count], index[:, : self.count]
        # Relative to the nearest, so that a far sample keeps weights above 0.
        exponent = d**2 / (sigma[:, None] * self.sigma[index])
        w = np.exp(exponent.min(axis=1, keepdims=True) - exponent)
        copies = d <= 1e-12 * sigma[:, None]
        w = np.where(copies.any(axis=1, keepdims=True), copies, w)
        return _rows(w / w.sum(axis=1, keepdims=True), index, self.n)

    def _nearest(self, X: Any) -> tuple[IntArray, FloatArray]:
        """Return the nearest known samples of each, as if it were alone, in every bit.

        A search rounds differently in other batches, and cuts anywhere through equal
        distances. So it only proposes, some more than needed, and these are measured.
        Where one that it left out may be as near, it is asked for more.
        """
        count = max(self.count, self.nth)
        index = np.empty((X.shape[0], count), dtype=np.int64)
        d = np.empty(index.shape)
        for start in range(0, len(index), _BLOCK_ROWS):
            rows = np.arange(start, min(start + _BLOCK_ROWS, len(index)))
            wanted = count + SPARE
            while rows.size:
                found, away, sure = self._proposed(X[rows], min(wanted, self.n), count)
                index[rows], d[rows] = found, away
                rows, wanted = rows[~sure], 4 * wanted
        return index, d

    def _proposed(
        self, X: Any, wanted: int, count: int
    ) -> tuple[IntArray, FloatArray, BoolArray]:
        """Return the nearest of those that a search finds, and whether they are it."""
        with openmp():
            index = self.search.kneighbors(
                self._moved(X), wanted, return_distance=False
            )
        index, d = nearest_of(index, self._measured(X, index), wanted)
        last, farthest = d[:, count - 1], d[:, -1]
        slack = ROUNDING * (self.reach + farthest) ** 2
        sure = (last**2 < farthest**2 - slack) | (wanted == self.n)
        return index[:, :count], d[:, :count], sure

    def _measured(self, X: Any, index: IntArray) -> FloatArray:
        """Return distances to the given known samples, pair by pair."""
        rows = max(1, _CHUNK_NUMBERS // (index.shape[1] * X.shape[1]))
        measures = {"euclidean": self._lengths, "inner_product": self._by_product}
        measure = measures.get(self.metric, self._by_metric)
        d = np.empty(index.shape)
        for start in range(0, len(index), rows):
            part = slice(start, start + rows)
            d[part] = measure(X[part].astype(np.float64), index[part])
        return d

    def _lengths(self, X: Any, index: IntArray) -> FloatArray:
        """Return distances by differences: exact zeros for copies."""
        m, q = index.shape
        known = self.X[index.ravel()].astype(np.float64)
        gap = (X[np.repeat(np.arange(m), q)] - known) * self.unit
        return np.asarray(np.sqrt((gap * gap).sum(axis=1)).reshape(m, q))

    def _by_product(self, X: Any, index: IntArray) -> FloatArray:
        """Return distances by inner products, at least 0 also for a longer sample."""
        M = self.reach
        A, B = X * self.unit, self.X[index].astype(np.float64) * self.unit
        top = M * np.maximum(M, np.sqrt(np.einsum("ij,ij->i", A, A)))[:, None]
        inner = np.einsum("ik,ijk->ij", A, B)
        return np.asarray(np.sqrt(np.maximum(top - inner, 0.0)) / M)

    def _by_metric(self, X: Any, index: IntArray) -> FloatArray:
        """Return distances in any metric, sample by sample."""
        from sklearn.metrics import pairwise_distances

        d = np.empty(index.shape)
        for i, others in enumerate(index):
            known = self.X[others].astype(np.float64)
            d[i] = pairwise_distances(X[i : i + 1], known, metric=self.metric)[0]
        return d


def _in_rows(X: Any) -> Any:
    """Return samples row by row in memory, so that sums over a row are the same."""
    return sparse.csr_array(X) if sparse.issparse(X) else np.ascontiguousarray(X)


def _rows(w: FloatArray, index: Any, n: int) -> Graph:
    """Return weights to given columns as a CSR array."""
    m, q = index.shape
    indptr = np.arange(0, m * q + 1, q)
    return sparse.csr_array((w.ravel(), index.ravel(), indptr), shape=(m, n))
