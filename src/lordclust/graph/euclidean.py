"""Metrics that a Euclidean search can serve."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.graph.kernel import unit_scale

_BLOCK_ROWS = 4096
_CHUNK_NUMBERS = 1 << 20  # numbers gathered at once


class Frame(NamedTuple):
    """Points in float32, and exact distances between them.

    The order of Euclidean distances from ``queries(rows)`` to ``base`` is, up to
    rounding, the order of the distances that ``measure`` gives in float64. The frame
    is ``even`` if queries are the points themselves.
    """

    base: FloatArray
    queries: Callable[[IntArray], FloatArray]
    measure: Callable[[IntArray, IntArray], FloatArray]
    even: bool = True


def euclidean(X: Any) -> Frame:
    """Return points around their mean; distances are multiplied by a power of two."""
    unit = unit_scale(X)
    mean = sum(b.sum(axis=0) for _, b in _blocks(X, unit)) / len(X)
    base = np.empty(X.shape, dtype=np.float32)
    for rows, block in _blocks(X, unit):
        base[rows] = block - mean  # a far origin would cost digits

    def measure(own: IntArray, who: IntArray) -> FloatArray:
        def lengths(A: FloatArray, B: FloatArray) -> FloatArray:
            gap = A[:, None, :] - B
            return np.asarray(np.sqrt(np.einsum("ijk,ijk->ij", gap, gap)))

        return _by_pairs(X, own, who, unit, lengths)

    return Frame(base, base.__getitem__, measure)


def cosine(X: Any) -> Frame:
    """Return points on the unit sphere; distances are 1 - cos."""
    unit = unit_scale(X)
    base = np.empty(X.shape, dtype=np.float32)
    norms: FloatArray = np.empty(len(X))
    for rows, block in _blocks(X, unit):
        norms[rows] = np.sqrt(np.einsum("ij,ij->i", block, block))
        base[rows] = block / _positive(norms[rows])[:, None]
    norms = _positive(norms)

    def measure(own: IntArray, who: IntArray) -> FloatArray:
        inner = _by_pairs(X, own, who, unit, _products)
        cos = inner / norms[own][:, None] / norms[who]
        return np.asarray(np.clip(1 - cos, 0.0, 2.0))

    return Frame(base, base.__getitem__, measure)


def inner_product(X: Any) -> Frame:
    """Return points with a coordinate more, which makes all of them as long as M.

    |(x, 0) - (y, sqrt(M^2 - y'y))|^2 = x'x + M^2 - 2 x'y: from any x, the nearest is
    the one of the largest inner product. Distances are sqrt(M^2 - x'y), in units of M.
    """
    unit = unit_scale(X)
    squares = np.concatenate(
        [np.einsum("ij,ij->i", block, block) for _, block in _blocks(X, unit)]
    )
    top = float(squares.max())
    base = np.empty((len(X), X.shape[1] + 1), dtype=np.float32)
    for rows, block in _blocks(X, unit):
        base[rows, :-1] = block
    base[:, -1] = np.sqrt(top - squares)

    def queries(rows: IntArray) -> FloatArray:
        block = base[rows]
        block[:, -1] = 0
        return block

    def measure(own: IntArray, who: IntArray) -> FloatArray:
        inner = _by_pairs(X, own, who, unit, _products)
        return np.asarray(np.sqrt(np.maximum(top - inner, 0.0) / top))

    return Frame(base, queries, measure, even=False)


#: Metrics that become Euclidean.
FRAMES: dict[str, Callable[[Any], Frame]] = {
    "euclidean": euclidean,
    "cosine": cosine,
    "inner_product": inner_product,
}


def _blocks(X: Any, unit: float) -> Any:
    """Yield slices of rows and unit * X there in float64."""
    for start in range(0, len(X), _BLOCK_ROWS):
        rows = slice(start, min(start + _BLOCK_ROWS, len(X)))
        yield rows, X[rows].astype(np.float64) * unit


def _products(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return the inner products of each row of A with its rows of B."""
    return np.asarray(np.einsum("ik,ijk->ij", A, B))


def _by_pairs(
    X: Any,
    own: IntArray,
    who: IntArray,
    unit: float,
    compare: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Compare rows of unit * X with some others each, in float64, block by block."""
    out = np.empty(who.shape)
    step = max(1, _CHUNK_NUMBERS // (who.shape[1] * X.shape[1]))
    for start in range(0, len(own), step):
        part = slice(start, start + step)
        A = X[own[part]].astype(np.float64) * unit
        B = X[who[part]].astype(np.float64) * unit
        out[part] = compare(A, B)
    return out


def _positive(norms: FloatArray) -> FloatArray:
    """Return norms with 1 in place of 0: a zero row is as far from all others."""
    return np.where(norms > 0, norms, 1.0)
