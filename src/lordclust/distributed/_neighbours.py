"""The graph of nearest neighbours by blocks of rows: each block against all others."""

from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from lordclust._core.keys import sample_keys
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.files.reading import read
from lordclust.graph.kernel import self_tuning_weights
from lordclust.graph.knn import SPARE

#: Distances that are computed at once, as many as a cache holds, but of no fewer rows:
#: their products would wait for memory; and differences that are computed at once.
TILE, ROWS, DIFFERENCES = 1 << 18, 64, 1 << 22
#: Rows, columns and weights of edges.
Edges: TypeAlias = tuple[IntArray, IntArray, FloatArray]


class Extent(NamedTuple):
    """What the driver needs to know of a block of X."""

    n: int
    size: float
    total: FloatArray
    low: FloatArray
    high: FloatArray


def read_block(path: str) -> Graph:
    """Return the array in a .npy file, or the sparse matrix in a .npz file."""
    try:
        if str(path).endswith(".npz"):
            return read(path, format="npz").X
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, KeyError, MemoryError) as error:
        raise ValueError(
            f"A worker cannot read block file {path!r}: {error}. Save rows of X with "
            "numpy.save, rows of S with scipy.sparse.save_npz, where all workers can "
            "read them."
        ) from None


def check_block(block: int, content: Graph, graph: bool) -> Graph:
    """Return a block of S as CSR with sorted columns, or of X as an array."""
    name = f"Block {block} of {'S' if graph else 'X'}"
    if graph:
        content = sp.csr_array(content).astype(np.float64)
        content.sum_duplicates()
        values = content.data
    else:
        if sp.issparse(content) or np.asarray(content).dtype.kind not in "biuf":
            raise ValueError(f"{name} must be a dense array of numbers.")
        content = values = np.asarray(content)
    if content.ndim != 2 or content.shape[0] == 0:
        raise ValueError(f"{name} must have rows and columns, got {content.shape}.")
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{name} must be finite, got NaN or infinity.")
    return content


def extent(X: FloatArray) -> Extent:
    """Return the size, sums and range of a block of X."""
    total = X.sum(axis=0, dtype=np.float64)
    size = float(max(X.max(initial=0), -float(X.min(initial=0))))
    return Extent(len(X), size, total, X.min(axis=0), X.max(axis=0))


class Nearest:
    """The nearest others of the rows of a block, among the blocks offered so far.

    ``count`` is the number of neighbours per row, ``unit`` a power of two that scales X
    to unit size. ``index`` and ``distance``, of shape (m, count), hold the nearest
    first; distances are multiplied by unit. Of equal distances those with the smallest
    ``keys``, which depend on the features alone, then those that are first in X.
    """

    def __init__(self, X: FloatArray, count: int, unit: float) -> None:
        self.X, self.unit, self.count = X.astype(np.float64) * unit, unit, count
        self.index = np.full((len(X), count), np.iinfo(np.int64).max)
        self.keys = np.zeros((len(X), count), dtype=np.uint64)
        self.distance = np.full((len(X), count), np.inf)

    def offer(self, X: FloatArray, first: int, mean: FloatArray, same: bool) -> None:
        """Consider the rows of a block, numbered from ``first`` on."""
        Y = X.astype(np.float64) * self.unit
        B = Y - mean  # a far origin would cost digits
        norms, keys = np.einsum("ij,ij->i", B, B), sample_keys(X)
        # One product is all of |a|^2 - 2 a'b + |b|^2: D is written only once.
        lifted = np.column_stack([B, norms, np.ones(len(B))])
        room = DIFFERENCES // ((self.count + SPARE) * Y.shape[1])
        step = max(1, min(room, max(ROWS, TILE // len(Y))))
        for start in range(0, len(self.X), step):
            rows = slice(start, start + step)
            A = self.X[rows] - mean
            own = np.einsum("ij,ij->i", A, A)[:, None]
            D = np.column_stack([-2 * A, np.ones(len(A)), own]) @ lifted.T
            if same:
                at = np.arange(len(A))
                D[at, start + at] = np.inf
            self._merge(rows, D, 1e-13 * (own + norms.max()), Y, keys, first)

    def _merge(
        self, rows: slice, D: FloatArray, error: FloatArray, Y: FloatArray,
        keys: IntArray, first: int,
    ) -> None:  # fmt: skip
        """Measure the nearest by D again, by differences, and keep the best."""
        take = min(self.count + SPARE, D.shape[1])
        # After the first blocks few are as near as the last neighbour known.
        close = self.distance[rows, -1:] ** 2 + error >= D
        counts = close.sum(axis=1)
        used = np.arange(counts.max()) < counts[:, None]
        if used.shape[1] <= 2 * take:
            chosen = np.zeros(used.shape, dtype=np.int64)
            chosen[used] = np.nonzero(close)[1]
            gaps = np.where(used, self._measure(rows, chosen, D, Y), np.inf)
            best = self._best(rows, chosen, gaps, keys, first)
        else:
            best = self._nearest(rows, D, error, Y, keys, first, take)
        self.index[rows], self.keys[rows], self.distance[rows] = best

    def _nearest(
        self, rows: slice, D: FloatArray, error: FloatArray, Y: FloatArray,
        keys: IntArray, first: int, take: int,
    ) -> tuple[IntArray, IntArray, FloatArray]:  # fmt: skip
        """Return the best among those known and the nearest by D, some to spare."""
        chosen = np.argpartition(D, take - 1, axis=1)[:, :take]
        gaps = self._measure(rows, chosen, D, Y)
        index, key, d = self._best(rows, chosen, gaps, keys, first)
        # Many equal samples: more than were taken may be as near as the last one kept.
        reach = d[:, -1:] ** 2 + error
        crowds = np.flatnonzero((reach >= D).sum(axis=1) > take)
        for r in crowds if take < D.shape[1] else ():
            near = np.flatnonzero(D[r] <= reach[r])[None]
            one = slice(rows.start + r, rows.start + r + 1)
            gaps = self._measure(one, near, D[r : r + 1], Y)
            best = self._best(one, near, gaps, keys, first)
            index[r], key[r], d[r] = (x[0] for x in best)
        return index, key, d

    def _measure(
        self, rows: slice, chosen: IntArray, D: FloatArray, Y: FloatArray
    ) -> FloatArray:
        """Return distances by differences: exact zeros for copies."""
        gap = self.X[rows][:, None, :] - Y[chosen]
        d = np.sqrt(np.einsum("ijk,ijk->ij", gap, gap))
        d[np.isinf(np.take_along_axis(D, chosen, 1))] = np.inf  # the row itself
        return np.asarray(d)

    def _best(
        self, rows: slice, chosen: IntArray, d: FloatArray, keys: IntArray, first: int
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the nearest of those known and those chosen."""
        index = np.concatenate([self.index[rows], chosen + first], axis=1)
        key = np.concatenate([self.keys[rows], keys[chosen]], axis=1)
        d = np.concatenate([self.distance[rows], d], axis=1)
        order = np.lexsort((index, key, d), axis=1)[:, : self.count]
        index, key, d = (np.take_along_axis(x, order, 1) for x in (index, key, d))
        return index, key, d


def weighted(
    columns: IntArray,
    d: FloatArray,
    own: FloatArray,
    others: tuple[IntArray, FloatArray],
    n: int,
) -> Graph:
    """Return the directed edges of a block, with self-tuning weights."""
    ids, widths = others
    sigma = widths[np.searchsorted(ids, columns)]
    weights = self_tuning_weights(d, own[:, None], sigma)
    m, q = columns.shape
    parts = (weights.ravel(), columns.ravel(), np.arange(0, m * q + 1, q))
    return sp.csr_array(parts, shape=(m, n))


def edges_into(W: Graph, first: int, low: int, high: int) -> Edges:
    """Return the edges into rows low..high, reversed; ``first`` is W's first row."""
    inside = (W.indices >= low) & (W.indices < high)
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))[inside]
    return W.indices[inside] - low, rows + first, W.data[inside]


def joined(W: Graph, edges: list[Edges], first: int, diagonal: float) -> Graph:
    """Return the rows of max(W, W'), W' given by edges, without stored zeros."""
    own = W.tocoo()
    lists = [(own.row, own.col, own.data), *edges]
    if diagonal:
        at = np.arange(W.shape[0])
        lists.append((at, at + first, np.full(len(at), diagonal)))
    row, col, data = (np.concatenate(x) for x in zip(*lists, strict=True))
    order = np.lexsort((col, row))
    row, col, data = row[order], col[order], data[order]
    new = np.ones(len(row), dtype=bool)
    new[1:] = (np.diff(row) != 0) | (np.diff(col) != 0)
    data = np.maximum.reduceat(data, np.flatnonzero(new))
    kept = data > 0
    parts = (data[kept], (row[new][kept], col[new][kept]))
    return sp.csr_array(sp.coo_array(parts, shape=W.shape))
