"""Compiled parts of the search over all pairs, which call each other."""

import numpy as np

from lordclust._core.jit import njit
from lordclust._core.typing import FloatArray, IntArray

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
    rows, cols = tile.shape
    for i in range(rows):
        for start in range(0, cols, STRIP):
            stop = min(start + STRIP, cols)
            limit = best[i, -1] - row_norms[i]
            hits = 0
            for j in range(start, stop):  # no branch: this loop runs in vectors
                hits += col_norms[j] - 2 * tile[i, j] < limit
            if hits == 0:
                continue
            for j in range(start, stop):
                value = row_norms[i] + (col_norms[j] - 2 * tile[i, j])
                if value < best[i, -1] and col0 + j != own[i]:
                    insert(best[i], who[i], value, col0 + j)


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
