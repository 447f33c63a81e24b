"""Lanes as arrays of sixteen numbers, in plain numba: slower, without threads."""
# mypy: disable-error-code="no-untyped-def"

import numpy as np

from lordclust._core.jit import inlined

LANES = 16
ALLOCATES = True
ATOMIC = False


@inlined
def load(array, place):
    """Return the lanes that start at ``array[place]``, in double precision."""
    flat, lanes = array.ravel(), np.empty(LANES)
    for lane in range(LANES):
        lanes[lane] = flat[place * LANES + lane]
    return lanes


@inlined
def store(array, place, value):
    """Write the lanes to ``array[place]`` and what follows, rounded to its type."""
    flat = array.reshape(-1)
    for lane in range(LANES):
        flat[place * LANES + lane] = value[lane]


@inlined
def splat(number, like):
    """Return ``number`` in every lane."""
    return np.full(LANES, number)


@inlined
def maximum(x, y):
    """Return the larger of two, lane by lane."""
    return np.maximum(x, y)


@inlined
def minimum(x, y):
    """Return the smaller of two, lane by lane."""
    return np.minimum(x, y)


@inlined
def where_positive(x, y):
    """Return y (lanes or a number) in the lanes where x > 0, else 0."""
    return (x > 0.0) * y


@inlined
def sum_lanes(x):
    """Return the sum of the lanes."""
    return x.sum()


@inlined
def any_positive(x):
    """Return whether any lane is positive."""
    return x.max() > 0.0


@inlined
def fetch_add(array, index, value):
    """Add ``value`` to ``array[index]`` and return its old value: for one thread."""
    old = array[index]
    array[index] = old + value
    return old


@inlined
def yield_thread():
    """Do nothing: there is one thread."""


@inlined
def row_product(indices, data, low, high, rows, column, out, place, width):
    """Put sum_e data[e] rows[indices[e], column:column+width] into ``out[place]``."""
    for j in range(column, column + width):
        out[place, j] = 0.0
    for e in range(low, high):
        for j in range(column, column + width):
            out[place, j] += data[e] * rows[indices[e], j]
