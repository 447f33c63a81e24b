"""Compiled product of a sparse matrix and a block of vectors."""

from functools import partial

from lordclust._core.jit import njit
from lordclust._core.typing import FloatArray, IntArray


@partial(njit, counts=False)
def multiply_rows(
    indptr: IntArray, indices: IntArray, data: FloatArray, Y: FloatArray,
    out: FloatArray, a: float, shift: float, b: float, rows: tuple[int, int],
) -> None:  # fmt: skip
    """Set some rows of ``out`` to a (A Y - shift Y) - b out.

    Complete rows of Y are read, one after the other: columns by themselves would take
    three times as long.
    """
    for i in range(rows[0], rows[1]):
        line, own = out[i], Y[i]
        for c in range(len(line)):
            line[c] = -a * shift * own[c] - b * line[c]
        for e in range(indptr[i], indptr[i + 1]):
            weight, other = a * data[e], Y[indices[e]]
            for c in range(len(line)):
                line[c] += weight * other[c]
