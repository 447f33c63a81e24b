"""Weights from new samples to the samples a model was fitted on."""

from typing import Any

import numpy as np
from scipy import sparse

from lordclust._typing import FloatArray, Graph
from lordclust.graph.kernel import floor_scales


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
        from sklearn.neighbors import NearestNeighbors

        n = X.shape[0]
        wanted = n.bit_length() if n_neighbors is None else n_neighbors
        self.count = min(n, wanted)
        self.nth = min(scale_neighbor, n - 1)
        self.n = n
        self.search = NearestNeighbors(n_neighbors=max(self.count, self.nth, 1))
        self.search.set_params(metric=metric).fit(X)
        d, _ = self.search.kneighbors(X, n_neighbors=min(n, self.nth + 1))
        self.sigma = floor_scales(d[:, -1], d)

    def weights(self, X: Any) -> Graph:
        """Return row-normalised weights, new samples by known ones."""
        d, index = self.search.kneighbors(X)
        sigma = np.maximum(d[:, max(self.nth, 1) - 1], self.sigma.min())
        d, index = d[:, : self.count], index[:, : self.count]
        # Relative to the nearest, so that a far sample keeps weights above 0.
        exponent = d**2 / (sigma[:, None] * self.sigma[index])
        w = np.exp(exponent.min(axis=1, keepdims=True) - exponent)
        copies = d <= 1e-12 * sigma[:, None]
        w = np.where(copies.any(axis=1, keepdims=True), copies, w)
        return _rows(w / w.sum(axis=1, keepdims=True), index, self.n)


def _rows(w: FloatArray, index: Any, n: int) -> Graph:
    """Return weights to given columns as a CSR array."""
    m, q = index.shape
    indptr = np.arange(0, m * q + 1, q)
    return sparse.csr_array((w.ravel(), index.ravel(), indptr), shape=(m, n))
