"""Compiled parts of the search over all pairs, which call each other."""

from functools import partial

import numpy as np

from lordclust._core.jit import njit as compiled
from lordclust._core.typing import FloatArray, IntArray

njit = partial(compiled, counts=False)

STRIP = 64


@njit
def insert(best: FloatArray, who: IntArray, value: float, index: int) -> None:
    """Insert a candidate into an ascending list and drop the last one."""
    at = best.shape[0] - 1
    while at > 0 and best[at - 1] > value:
        best[at] = best[at - 1]
        who[at] = who[at - 1]
        at -= 1
    best[at] = value
    who[at] = index


@njit
def scan_rows(
    tile: FloatArray, row_norms: FloatArray, col_norms: FloatArray, own: IntArray,
    col0: int, best: FloatArray, who: IntArray,
) -> None:  # fmt: skip
    """Offer every column of a tile of inner products to the lists of its rows."""
    for i in range(len(tile)):
        scan_line(tile[i], row_norms[i], col_norms, own[i], col0, best[i], who[i])


@njit
def scan_line(
    line: FloatArray, norm: float, norms: FloatArray, own: int, col0: int,
    best: FloatArray, who: IntArray,
) -> None:  # fmt: skip
    """Offer every column of a row of inner products to the list of the row."""
    last = len(best) - 1
    for start in range(0, len(line), STRIP):
        inner, other = line[start : start + STRIP], norms[start : start + STRIP]
        if not any_below(inner, other, best[last] - norm):
            continue
        for j in range(len(inner)):
            value = norm + (other[j] - 2 * inner[j])
            if value < best[last] and col0 + start + j != own:
                insert(best, who, value, col0 + start + j)


@njit
def any_below(line: FloatArray, norms: FloatArray, limit: float) -> np.bool_:
    """Return whether norms - 2 line is below the limit anywhere."""
    one, zero = line.dtype.type(1), line.dtype.type(0)
    hits = zero  # a number of the same size: this loop runs in vectors
    for j in range(len(line)):
        hits += one if norms[j] - 2 * line[j] < limit else zero
    return hits > 0


@njit
def scan_cols(
    tile: FloatArray, row_norms: FloatArray, col_norms: FloatArray, own: IntArray,
    limits: FloatArray, best: FloatArray, who: IntArray,
) -> None:  # fmt: skip
    """Offer every row of a tile to the lists of its columns."""
    rows, cols = tile.shape
    for start in range(0, cols, STRIP):
        stop = min(start + STRIP, cols)
        for j in range(start, stop):
            limits[j] = best[j, -1] - col_norms[j]
        for i in range(rows):
            hits = 0
            for j in range(start, stop):
                hits += row_norms[i] - 2 * tile[i, j] < limits[j]
            if hits == 0:
                continue
            for j in range(start, stop):
                value = col_norms[j] + (row_norms[i] - 2 * tile[i, j])
                if value < best[j, -1]:
                    insert(best[j], who[j], value, own[i])
                    limits[j] = best[j, -1] - col_norms[j]


@njit
def measure(
    X: FloatArray, unit: float, own: IntArray, who: IntArray, out: FloatArray
) -> None:
    """Fill out with ||x_i - x_j|| * unit by differences, in float64."""
    for i in range(who.shape[0]):
        for c in range(who.shape[1]):
            total = 0.0
            for t in range(X.shape[1]):
                gap = (
                    np.float64(X[own[i], t]) * unit - np.float64(X[who[i, c], t]) * unit
                )
                total += gap * gap
            out[i, c] = np.sqrt(total)
