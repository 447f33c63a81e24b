"""Weights from new samples to the samples a model was fitted on."""

from typing import Any

import numpy as np
from scipy import sparse

from lordclust._typing import FloatArray, Graph
from lordclust.graph.kernel import floor_scales, unit_scale
from lordclust.graph.knn import nearest

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
        Any metric of ``sklearn.neighbors.NearestNeighbors``.
    scale_neighbor : int
        The neighbour that sets sigma.
    """

    def __init__(
        self,
        X: Any,
        n_neighbors: int | None = None,
        *,
        metric: str = "euclidean",
        scale_neighbor: int = 7,
    ) -> None:
        n = X.shape[0]
        wanted = n.bit_length() if n_neighbors is None else n_neighbors
        self.count = min(n, wanted)
        self.nth = min(scale_neighbor, n - 1)
        self.n, self.metric = n, metric
        self.X = sparse.csr_array(X) if sparse.issparse(X) else X
        self.search: Any = None  # made at first use

    def _prepare(self) -> None:
        """Find the scales of the known samples."""
        from sklearn.neighbors import NearestNeighbors

        search = NearestNeighbors(metric=self.metric)
        search.set_params(n_neighbors=max(self.count, self.nth, 1)).fit(self.X)
        _, d = nearest(self.X, max(self.nth, 1), self.metric)
        if self.metric == "euclidean":
            d = d / unit_scale(self.X)
        self.sigma = floor_scales(d[:, -1], d)
        self.search = search  # last: another thread may look

    def weights(self, X: Any) -> Graph:
        """Return row-normalised weights, new samples by known ones."""
        if self.search is None:
            self._prepare()
        d, index = self.search.kneighbors(X)
        if self.metric == "euclidean":
            d = self._measured(X, index)
        sigma = np.maximum(d[:, max(self.nth, 1) - 1], self.sigma.min())
        d, index = d[:, : self.count], index[:, : self.count]
        # Relative to the nearest, so that a far sample keeps weights above 0.
        exponent = d**2 / (sigma[:, None] * self.sigma[index])
        w = np.exp(exponent.min(axis=1, keepdims=True) - exponent)
        copies = d <= 1e-12 * sigma[:, None]
        w = np.where(copies.any(axis=1, keepdims=True), copies, w)
        return _rows(w / w.sum(axis=1, keepdims=True), index, self.n)

    def _measured(self, X: Any, index: Any) -> FloatArray:
        """Return distances by differences: exact zeros for copies."""
        X = sparse.csr_array(X) if sparse.issparse(X) else X
        m, q = index.shape
        rows = max(1, _CHUNK_NUMBERS // (q * X.shape[1]))
        d = np.empty((m, q))
        for first in range(0, m, rows):
            part = slice(first, first + rows)
            others = index[part].ravel()
            new = X[np.repeat(np.arange(m)[part], q)].astype(np.float64)
            gap = new - self.X[others].astype(np.float64)
            d[part] = np.sqrt((gap * gap).sum(axis=1)).reshape(-1, q)
        return d


def _rows(w: FloatArray, index: Any, n: int) -> Graph:
    """Return weights to given columns as a CSR array."""
    m, q = index.shape
    indptr = np.arange(0, m * q + 1, q)
    return sparse.csr_array((w.ravel(), index.ravel(), indptr), shape=(m, n))
