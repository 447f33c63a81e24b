"""The full self-tuning kernel of many samples, rebuilt block by block."""

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray, Samples
from lordclust._core.validation import check_count
from lordclust.graph.kernel import (
    check_samples,
    local_scales,
    typical_scale,
    unit_scale,
)
from lordclust.graph.knn import nearest
from lordclust.graph.row_blocks import scaled_blocks, slices

#: Rows and columns of a block: 16 MB in float32, about the size of a cache.
TILE_ROWS = 1024
TILE_COLS = 4096
#: float32 is used if its rounding changes a typical exponent by less than this.
SINGLE_ERROR = 1e-3
#: exp of anything less is subnormal in float32, which is slow.
LOWEST_EXPONENT = -87.0
#: Number of samples whose distances are used if every neighbour is a copy.
SAMPLE = 1000


class KernelBlocks:
    """The self-tuning kernel S of X as an operator: products, but no n x n array.

    Blocks are float32, or float64 if samples are so close together, compared with their
    extent, that float32 could not distinguish them; sums over blocks are float64. The
    entries are those of :func:`lordclust.graph.self_tuning_kernel`, to the precision of
    the blocks. T @ S (T dense or sparse, of shape (m, n)) builds the rows
    of S that have a nonzero weight in T, or one triangle of S if these are more than
    half. Memory in addition to X, a copy of X and T @ S: some tens of MB.

    If every sample has seven copies, the scale is the median positive distance, as in
    the full kernel, but between 1000 of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> S = KernelBlocks([[0.0], [1.0], [5.0]])
    >>> (np.ones((1, 3)) @ S).round(3)
    array([[2.319, 2.401, 1.817]])
    """

    # Makes numpy leave T @ S to __rmatmul__, as scipy does anyway.
    __array_ufunc__ = None

    def __init__(self, X: Samples, scale_neighbor: int = 7) -> None:
        X = check_samples(X, distinct=True)
        n = X.shape[0]
        self.shape = (n, n)
        nth = min(check_count(scale_neighbor, "scale_neighbor"), n - 1)
        unit = unit_scale(X)
        d = nearest(X, nth)[1]
        every = d if d.any() else _sample_distances(X, unit)
        sigma = local_scales(d[:, -1], typical_scale(d[:, -1], every))
        origin: FloatArray | float = 0.0  # a distant origin would lose precision
        if not sparse.issparse(X):
            blocks = scaled_blocks(X, unit, TILE_COLS)
            origin = sum(block.sum(axis=0) for _, block in blocks) / n
        norms = np.empty(n)
        for part in slices(n, TILE_COLS):
            Z = _centred(X[part], unit, origin)
            norms[part] = (Z * Z).sum(axis=1)
        rounding = 16 * float(np.finfo(np.float32).eps) * np.median(norms / sigma**2)
        self.dtype = np.dtype(np.float32 if rounding < SINGLE_ERROR else np.float64)
        # Rows (sqrt(2) z/s, ||z||^2/s, 1/s): see _block.
        last = np.column_stack([norms / sigma, 1 / sigma]).astype(self.dtype)
        if sparse.issparse(X):
            Z = sparse.diags_array(np.sqrt(2) / sigma) @ _centred(X, unit, origin)
            self._factor = sparse.hstack([Z.astype(self.dtype), last], format="csr")
            return
        self._factor = np.empty((n, X.shape[1] + 2), dtype=self.dtype)
        for part in slices(n, TILE_COLS):
            Z = _centred(X[part], unit, origin)
            self._factor[part, :-2] = Z * (np.sqrt(2) / sigma[part, None])
        self._factor[:, -2:] = last

    def diagonal(self) -> FloatArray:
        """Return S_ii = 1 for every sample."""
        return np.ones(self.shape[0])

    def __rmatmul__(self, T: Graph) -> FloatArray:
        T = sparse.csc_array(T)
        rows = np.flatnonzero(np.diff(T.indptr))
        if 2 * len(rows) > self.shape[0]:
            return self._triangle(T)
        return self._rows(T, rows)

    def _rows(self, T: Graph, rows: IntArray) -> FloatArray:
        """Return T S from some rows of S."""
        out = np.zeros((T.shape[0], self.shape[0]))
        for part in slices(len(rows), TILE_ROWS):
            weights = self._dense(T[:, rows[part]])
            for cols in slices(self.shape[0], TILE_COLS):
                out[:, cols] += weights @ self._block(rows[part], cols)
        return out

    def _triangle(self, T: Graph) -> FloatArray:
        """Return T S from the blocks on and right of the diagonal of S."""
        n = self.shape[0]
        out = np.zeros((T.shape[0], n))
        for rows in slices(n, TILE_ROWS):
            weights = self._dense(T[:, rows])
            for cols in [rows, *slices(n, TILE_COLS, start=rows.stop)]:
                block = self._block(np.arange(rows.start, rows.stop), cols)
                out[:, cols] += weights @ block
                if cols is not rows:  # the same block is also S[cols, rows]'
                    out[:, rows] += self._dense(T[:, cols]) @ block.T
        return out

    def _block(self, rows: IntArray, cols: slice) -> FloatArray:
        """Return the entries of S for some rows and a range of columns."""
        # F_i G_j' = -||z_i - z_j||^2 / (s_i s_j): one product per block.
        F, G = self._factor[rows], self._factor[cols].copy()
        if sparse.issparse(G):
            last = G[:, -2:].toarray()
            G = sparse.hstack([G[:, :-2], -last[:, ::-1]], format="csr")
            S = (F @ G.T).toarray()
        else:
            G[:, -2:] = -self._factor[cols, :-3:-1]
            S = F @ G.T
        np.exp(np.clip(S, LOWEST_EXPONENT, 0.0, out=S), out=S)
        own = np.flatnonzero((rows >= cols.start) & (rows < cols.stop))
        S[own, rows[own] - cols.start] = 1.0
        return np.asarray(S)

    def _dense(self, T: Graph) -> FloatArray:
        """Return a part of T as an array in the precision of the blocks."""
        return np.asarray(T.toarray(), dtype=self.dtype)


def _sample_distances(X: Samples, unit: float) -> FloatArray:
    """Return unit times the distances between some samples spread over X."""
    from sklearn.metrics import pairwise_distances

    some = np.unique(np.linspace(0, X.shape[0] - 1, SAMPLE).astype(int))
    return np.asarray(pairwise_distances(X[some].astype(np.float64) * unit))


def _centred(X: Samples, unit: float, origin: FloatArray | float) -> Samples:
    """Return unit * X - origin in float64."""
    Z = X.astype(np.float64) * unit
    return Z if sparse.issparse(Z) else Z - origin
