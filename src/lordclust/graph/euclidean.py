"""Metrics that can be searched as Euclidean distances."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.graph.kernel import unit_scale
from lordclust.graph.row_blocks import scaled_blocks, squared_norms

_BLOCK_ROWS = 256  # they stay in the cache
_CHUNK_NUMBERS = 1 << 20  # numbers gathered at once


class SearchSpace(NamedTuple):
    """Points in float32, and exact distances between them.

    The order of Euclidean distances from ``queries(rows)`` to ``base`` is, up to
    rounding, the order of the distances that ``measure`` returns in float64. The space
    is ``symmetric`` if queries are the points themselves.
    """

    base: FloatArray
    queries: Callable[[IntArray], FloatArray]
    measure: Callable[[IntArray, IntArray], FloatArray]
    symmetric: bool = True


def euclidean(X: FloatArray) -> SearchSpace:
    """Return points around their mean; distances are multiplied by a power of two."""
    unit = unit_scale(X)
    blocks = scaled_blocks(X, unit, _BLOCK_ROWS)
    mean = sum(block.sum(axis=0) for _, block in blocks) / len(X)
    base = np.empty(X.shape, dtype=np.float32)
    for rows, block in scaled_blocks(X, unit, _BLOCK_ROWS):
        base[rows] = block - mean  # a distant origin would lose precision

    def measure(own: IntArray, who: IntArray) -> FloatArray:
        from lordclust.graph import _brute_kernels  # import numba only if it pays off

        d = np.empty(who.shape)
        _brute_kernels.measure(X, unit, own, who, d)
        return d

    return SearchSpace(base, base.__getitem__, measure)


def cosine(X: FloatArray) -> SearchSpace:
    """Return points on the unit sphere; distances are 1 - cos."""
    unit = unit_scale(X)
    base = np.empty(X.shape, dtype=np.float32)
    norms: FloatArray = np.empty(len(X))
    for rows, block in scaled_blocks(X, unit, _BLOCK_ROWS):
        length = np.sqrt(squared_norms(block))
        # A zero row stays zero: it is equally far from all others.
        norms[rows] = np.where(length > 0, length, 1.0)
        base[rows] = block / norms[rows][:, None]

    def measure(own: IntArray, who: IntArray) -> FloatArray:
        inner = _products(X, own, who, unit)
        cos = inner / norms[own][:, None] / norms[who]
        return np.asarray(np.clip(1 - cos, 0.0, 2.0))

    return SearchSpace(base, base.__getitem__, measure)


def inner_product(X: FloatArray) -> SearchSpace:
    """Return points with one more coordinate, which gives all of them the length M.

    |(x, 0) - (y, sqrt(M^2 - y'y))|^2 = x'x + M^2 - 2 x'y: for any x, the nearest y has
    the largest inner product. Distances are sqrt(M^2 - x'y), in units of M.
    """
    unit = unit_scale(X)
    squares: FloatArray = np.empty(len(X))
    base = np.empty((len(X), X.shape[1] + 1), dtype=np.float32)
    for rows, block in scaled_blocks(X, unit, _BLOCK_ROWS):
        squares[rows] = squared_norms(block)
        base[rows, :-1] = block
    top = float(squares.max())
    base[:, -1] = np.sqrt(top - squares)

    def queries(rows: IntArray) -> FloatArray:
        block = base[rows]
        block[:, -1] = 0
        return block

    def measure(own: IntArray, who: IntArray) -> FloatArray:
        inner = _products(X, own, who, unit)
        return np.asarray(np.sqrt(np.maximum(top - inner, 0.0) / top))

    return SearchSpace(base, queries, measure, symmetric=False)


#: Metrics that can be made Euclidean.
SEARCH_SPACES: dict[str, Callable[[FloatArray], SearchSpace]] = {
    "euclidean": euclidean,
    "cosine": cosine,
    "inner_product": inner_product,
}


def _products(X: FloatArray, own: IntArray, who: IntArray, unit: float) -> FloatArray:
    """Return inner products of rows of unit * X with some others each, in float64."""
    out = np.empty(who.shape)
    step = max(1, _CHUNK_NUMBERS // (who.shape[1] * X.shape[1]))
    for start in range(0, len(own), step):
        part = slice(start, start + step)
        A = X[own[part]].astype(np.float64) * unit
        B = X[who[part]].astype(np.float64) * unit
        out[part] = np.einsum("ik,ijk->ij", A, B)
    return out
