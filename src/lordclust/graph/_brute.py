"""Exact nearest neighbours by comparing all pairs, in single precision first.

Inner products of blocks of rows in float32 give approximate distances. Every pair is
computed once and offered to both its samples, which keep some more candidates than
asked for. These are measured again in float64. A sample is done when no pair outside
its list can be nearer, given the rounding error of float32; the others (crowds of
copies or of equal distances) are searched again in float64.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.graph import _brute_kernels as kernels

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
    n_jobs: int | None = None,
    callback: Callable[[float], Any] | None = None,
) -> tuple[IntArray, FloatArray]:
    """Return the ``count`` nearest others of each row of X, nearest first.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        C-contiguous, any real type.
    count, spare : int
        Neighbours wanted, and candidates kept beside them.
    unit : float
        Factor that brings X to unit size.
    n_jobs : int, optional
        Threads, by default all.
    callback : callable, optional
        Called with the part of all pairs that is done.

    Returns
    -------
    index : ndarray of int, shape (n, count)
    distance : ndarray of float64, shape (n, count)
        Multiplied by unit.
    """
    keep = min(count + spare, len(X) - 1)
    Z, norms = _centred(X, unit)
    with ThreadPoolExecutor(_n_threads(n_jobs)) as pool:
        best, who = _scan_pairs(Z, norms, keep, pool, callback)
        d = _measure(X, unit, np.arange(len(X)), who, pool)
        index, d = _sorted(who, d)
        unsure = np.flatnonzero(_may_miss(best, d[:, count - 1], norms, Z.shape[1]))
        del Z, best
        if keep < len(X) - 1 and unsure.size:
            again = _scan_double(X, unit, unsure, keep, pool)
            index[unsure], d[unsure] = _sorted(
                again, _measure(X, unit, unsure, again, pool)
            )
    return index[:, :count], d[:, :count]


def _n_threads(n_jobs: int | None) -> int:
    """Return the number of threads: all by default or for -1."""
    available = os.cpu_count() or 1
    return available if n_jobs is None or n_jobs < 1 else n_jobs


def _centred(X: FloatArray, unit: float) -> tuple[FloatArray, FloatArray]:
    """Return unit * X around its mean in float32, and its squared norms."""
    mean = sum(block.sum(axis=0) for _, block in _blocks(X, unit)) / len(X)
    Z = np.empty(X.shape, dtype=np.float32)
    norms = np.empty(len(X), dtype=np.float32)
    for rows, block in _blocks(X, unit):
        block -= mean
        Z[rows] = block
        norms[rows] = np.einsum("ij,ij->i", block, block)
    return Z, norms


def _blocks(X: FloatArray, unit: float) -> Any:
    """Yield slices of rows and unit * X there in float64."""
    for start in range(0, len(X), TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        yield rows, X[rows].astype(np.float64) * unit


def _scan_pairs(
    Z: FloatArray,
    norms: FloatArray,
    keep: int,
    pool: ThreadPoolExecutor,
    callback: Callable[[float], Any] | None,
) -> tuple[FloatArray, IntArray]:
    """Return the ``keep`` smallest squared distances of each row, and with whom."""
    n = len(Z)
    best = np.full((n, keep), np.inf, dtype=np.float32)
    who = np.zeros((n, keep), dtype=np.int64)
    own = np.arange(n)
    limits = np.empty(n, dtype=np.float32)
    memory = np.empty(TILE_ROWS * TILE_COLS, dtype=np.float32)
    for r in _ranges(0, n, TILE_ROWS):
        for c in [r, *_ranges(r.stop, n, TILE_COLS)]:
            tile = _product(Z[r], Z[c], memory)
            _rows(tile, norms[r], norms[c], own[r], c.start, best[r], who[r], pool)
            if c is not r:  # the square on the diagonal holds both (i, j) and (j, i)
                args = norms[c], own[r], limits[c], best[c], who[c]
                _cols(tile, norms[r], *args, pool)
        if callback is not None:
            callback(1 - (1 - r.stop / n) ** 2)  # each row has fewer columns to go
    return best, who


def _ranges(start: int, stop: int, step: int) -> list[slice]:
    """Return slices that cover start..stop."""
    return [slice(a, min(a + step, stop)) for a in range(start, stop, step)]


def _product(A: FloatArray, B: FloatArray, memory: FloatArray) -> FloatArray:
    """Return A B' in the given memory."""
    out = memory[: len(A) * len(B)].reshape(len(A), len(B))
    return np.matmul(A, B.T, out=out)


def _each_part(pool: ThreadPoolExecutor, n: int, task: Callable[[slice], None]) -> None:
    """Run task on slices of 0..n, side by side."""
    # Each list of candidates belongs to one task: no locks, and the same result
    # for any number of threads.
    parts = _ranges(0, n, -(-n // N_TASKS))
    for done in [pool.submit(task, part) for part in parts]:
        done.result()


def _rows(
    tile: FloatArray,
    row_norms: FloatArray,
    col_norms: FloatArray,
    own: IntArray,
    col0: int,
    best: FloatArray,
    who: IntArray,
    pool: ThreadPoolExecutor,
) -> None:
    """Scan a tile for its rows, on all threads."""

    def task(p: slice) -> None:
        kernels.scan_rows(
            tile[p], row_norms[p], col_norms, own[p], col0, best[p], who[p]
        )

    _each_part(pool, len(tile), task)


def _cols(
    tile: FloatArray,
    row_norms: FloatArray,
    col_norms: FloatArray,
    own: IntArray,
    limits: FloatArray,
    best: FloatArray,
    who: IntArray,
    pool: ThreadPoolExecutor,
) -> None:
    """Scan a tile for its columns, on all threads."""

    def task(p: slice) -> None:
        kernels.scan_cols(
            tile[:, p], row_norms, col_norms[p], own, limits[p], best[p], who[p]
        )

    _each_part(pool, tile.shape[1], task)


def _measure(
    X: FloatArray, unit: float, own: IntArray, who: IntArray, pool: ThreadPoolExecutor
) -> FloatArray:
    """Return the distances of the rows ``own`` to their candidates, in float64."""
    d = np.empty(who.shape)
    _each_part(pool, len(own), lambda p: kernels.measure(X, unit, own[p], who[p], d[p]))
    return d


def _sorted(who: IntArray, d: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return candidates nearest first, equal distances in the order of X."""
    order = np.lexsort((who, d), axis=1)
    return np.take_along_axis(who, order, 1), np.take_along_axis(d, order, 1)


def _may_miss(
    best: FloatArray, last: FloatArray, norms: FloatArray, dim: int
) -> FloatArray:
    """Tell for which rows a pair outside the list may be as near as the last taken."""
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
    norms = np.einsum("ij,ij->i", Z, Z)
    best = np.full((len(rows), keep), np.inf)
    who = np.zeros((len(rows), keep), dtype=np.int64)
    for cols, block in _blocks(X, unit):
        block -= mean
        col_norms = np.einsum("ij,ij->i", block, block)
        for r in _ranges(0, len(rows), TILE_COLS // 2):
            tile = Z[r] @ block.T
            args = norms[r], col_norms, rows[r], cols.start, best[r], who[r]
            _rows(tile, *args, pool)
    return who
