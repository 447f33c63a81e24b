"""Exact nearest neighbours by comparing all pairs, in single precision first.

Inner products of blocks of rows in float32 give approximate distances. Every pair is
computed once and offered to both its samples, which keep a few more candidates than
needed. These are measured again in float64. A sample is finished when no pair outside
its list can be nearer, given the rounding error of float32; the others (many copies,
or many equal distances) are searched again in float64.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from lordclust._core.threads import count_threads
from lordclust._core.typing import BoolArray, FloatArray, IntArray
from lordclust.graph import _brute_kernels as kernels
from lordclust.graph.knn import Progress, nearest_of
from lordclust.graph.row_blocks import scaled_blocks, slices, squared_norms

#: Rows and columns of a tile of inner products: 64 MB in float32.
TILE_ROWS = 1024
TILE_COLS = 16384
#: Pieces of a scan that threads take in turn.
N_TASKS = 16


def nearest(
    X: FloatArray,
    count: int,
    spare: int,
    unit: float,
    n_jobs: int | None = -1,
    callback: Progress | None = None,
) -> tuple[IntArray, FloatArray]:
    """Return the ``count`` nearest others of each row of X, and ``unit`` x distances.

    X is C-contiguous, of any real type; ``unit`` brings it to unit size. ``spare``
    further candidates are kept.
    """
    n, dim = X.shape
    keep = min(count + spare, n - 1)
    blocks = scaled_blocks(X, unit, TILE_ROWS)
    mean = sum(block.sum(axis=0) for _, block in blocks) / n
    Z = np.empty(X.shape, dtype=np.float32)
    norms = np.empty(n, dtype=np.float32)
    for rows, block in scaled_blocks(X, unit, TILE_ROWS):
        block -= mean
        Z[rows], norms[rows] = block, squared_norms(block)
    with ThreadPoolExecutor(count_threads(n_jobs)) as pool:
        best, who = _scan_pairs(Z, norms, keep, pool, callback)
        index, d = _measured(X, unit, np.arange(n), who, count, pool)
        unsure = np.flatnonzero(_may_miss(best, d[:, count - 1], norms, dim))
        del Z, best
        if keep < n - 1 and unsure.size:
            again = _scan_double(X, unit, unsure, keep, pool)
            args = unsure, again, count, pool
            index[unsure], d[unsure] = _measured(X, unit, *args)
    return index, d


def _scan_pairs(
    Z: FloatArray,
    norms: FloatArray,
    keep: int,
    pool: ThreadPoolExecutor,
    callback: Progress | None,
) -> tuple[FloatArray, IntArray]:
    """Return the ``keep`` smallest squared distances of each row, and their columns."""
    n = len(Z)
    best = np.full((n, keep), np.inf, dtype=np.float32)
    who = np.zeros((n, keep), dtype=np.int64)
    own = np.arange(n)
    limits = np.empty(n, dtype=np.float32)
    memory = np.empty(TILE_ROWS * TILE_COLS, dtype=np.float32)
    for r in slices(n, TILE_ROWS):
        for c in [r, *slices(n, TILE_COLS, start=r.stop)]:
            shape = r.stop - r.start, c.stop - c.start
            tile = memory[: shape[0] * shape[1]].reshape(shape)
            np.matmul(Z[r], Z[c].T, out=tile)
            _rows(tile, norms[r], norms[c], own[r], c.start, best[r], who[r], pool)
            if c is not r:  # the square on the diagonal holds both (i, j) and (j, i)
                args = norms[c], own[r], limits[c], best[c], who[c]
                _cols(tile, norms[r], *args, pool)
        if callback is not None:
            callback(1 - (1 - r.stop / n) ** 2)  # later rows have fewer columns left
    return best, who


def _each_part(pool: ThreadPoolExecutor, n: int, task: Callable[[slice], None]) -> None:
    """Run task on slices of 0..n, in parallel."""
    # Each list of candidates belongs to one task: no locks, and the same result
    # for any number of threads.
    for done in [pool.submit(task, part) for part in slices(n, -(-n // N_TASKS))]:
        done.result()


def _rows(
    tile: FloatArray, row_norms: FloatArray, col_norms: FloatArray, own: IntArray,
    col0: int, best: FloatArray, who: IntArray, pool: ThreadPoolExecutor,
) -> None:  # fmt: skip
    """Scan a tile for its rows, on all threads."""
    _each_part(pool, len(tile), lambda p: kernels.scan_rows(
        tile[p], row_norms[p], col_norms, own[p], col0, best[p], who[p]
    ))  # fmt: skip


def _cols(
    tile: FloatArray, row_norms: FloatArray, col_norms: FloatArray, own: IntArray,
    limits: FloatArray, best: FloatArray, who: IntArray, pool: ThreadPoolExecutor,
) -> None:  # fmt: skip
    """Scan a tile for its columns, on all threads."""
    _each_part(pool, tile.shape[1], lambda p: kernels.scan_cols(
        tile[:, p], row_norms, col_norms[p], own, limits[p], best[p], who[p]
    ))  # fmt: skip


def _measured(
    X: FloatArray, unit: float, own: IntArray, who: IntArray, count: int,
    pool: ThreadPoolExecutor,
) -> tuple[IntArray, FloatArray]:  # fmt: skip
    """Return the nearest candidates of the rows ``own``, and their distances."""
    d = np.empty(who.shape)
    _each_part(pool, len(own), lambda p: kernels.measure(X, unit, own[p], who[p], d[p]))
    return nearest_of(who, d, count, X)


def _may_miss(
    best: FloatArray, last: FloatArray, norms: FloatArray, dim: int
) -> BoolArray:
    """Return the rows for which a pair outside the list may be as near as the last."""
    # Such a pair lies within |z_i| + last of the origin, which bounds every term of
    # its sum; errors of dim terms grow like sqrt(dim), at most like dim.
    terms = 8.0 + min(float(dim), 8.0 * np.sqrt(dim))
    reach = np.sqrt(norms.astype(np.float64)) + last
    single = np.finfo(np.float32)
    error = terms * float(single.eps) * reach**2 + dim * float(single.tiny)
    return np.asarray(last**2 >= best[:, -1] - error)


def _scan_double(
    X: FloatArray, unit: float, rows: IntArray, keep: int, pool: ThreadPoolExecutor
) -> IntArray:
    """Return the candidates of some rows from inner products in float64."""
    mean = X.mean(axis=0, dtype=np.float64) * unit
    Z = X[rows].astype(np.float64) * unit - mean
    norms = squared_norms(Z)
    best = np.full((len(rows), keep), np.inf)
    who = np.zeros((len(rows), keep), dtype=np.int64)
    for cols, block in scaled_blocks(X, unit, TILE_ROWS):
        block -= mean
        col_norms = squared_norms(block)
        for r in slices(len(rows), TILE_COLS // 2):
            tile = Z[r] @ block.T
            args = norms[r], col_norms, rows[r], cols.start, best[r], who[r]
            _rows(tile, *args, pool)
    return who
