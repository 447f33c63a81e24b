"""Iterate over blocks of rows."""

from collections.abc import Iterator

import numpy as np

from lordclust._core.typing import FloatArray, Samples


def slices(stop: int, step: int, start: int = 0) -> list[slice]:
    """Return slices of ``step`` numbers that cover start..stop."""
    return [slice(a, min(a + step, stop)) for a in range(start, stop, step)]


def scaled_blocks(
    X: Samples, unit: float, size: int
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield slices of at most ``size`` rows, and unit * X there in float64."""
    for rows in slices(len(X), size):
        yield rows, X[rows].astype(np.float64) * unit


def squared_norms(points: FloatArray) -> FloatArray:
    """Return the squared length of each row."""
    return np.asarray(np.einsum("ij,ij->i", points, points))
