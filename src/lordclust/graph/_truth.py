"""True neighbours of a few points, to judge an approximate search by."""

from collections.abc import Iterator

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.graph._brute_kernels import scan_rows
from lordclust.graph.euclidean import Frame

#: Points whose true neighbours are found, to estimate the recall.
SAMPLE = 1000
#: Points that the sample is compared with at once.
BLOCK_POINTS = 1 << 14


class Truth:
    """The true neighbours of a sample of the points, at least as far as distances go.

    Parameters
    ----------
    frame : Frame
        The points, and how they are measured.
    count, asked : int
        Neighbours wanted, and candidates measured to find them.
    """

    def __init__(self, frame: Frame, count: int, asked: int) -> None:
        n = len(frame.base)
        self.own = np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])
        d = true_nearest(frame, self.own, count, asked)[1]
        # By distance: which of several at the same distance are taken does not matter.
        self.last = d[:, -1:] * (1 + 1e-9)

    def recall(self, d: FloatArray) -> float:
        """Return the part of the neighbours that was found, by their distances."""
        return float(np.mean(d <= self.last))


def true_nearest(
    frame: Frame, own: IntArray, count: int, asked: int
) -> tuple[IntArray, FloatArray]:
    """Return the neighbours of some points by comparing them with all."""
    found = np.empty((len(own), asked), dtype=np.int64)
    for rows in blocks(len(own), SAMPLE):
        found[rows] = _smallest(frame, frame.queries(own[rows]), asked)
    return measured(frame, own, found, count)


def _smallest(frame: Frame, Q: FloatArray, asked: int) -> IntArray:
    """Return the points nearest to each query, up to rounding, themselves included."""
    best = np.full((len(Q), asked), np.inf, dtype=np.float32)
    who = np.zeros((len(Q), asked), dtype=np.int64)
    nobody = np.full(len(Q), -1)
    for cols in blocks(len(frame.base), BLOCK_POINTS):
        points = frame.base[cols]
        scan_rows(
            Q @ points.T, squares(Q), squares(points), nobody, cols.start, best, who
        )
    return who


def squares(points: FloatArray) -> FloatArray:
    """Return the squared lengths of points."""
    return np.asarray(np.einsum("ij,ij->i", points, points))


def measured(
    frame: Frame, own: IntArray, found: IntArray, count: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest of the found, infinitely far where there are too few."""
    missing = (found < 0) | (found == own[:, None])
    d = frame.measure(own, np.where(missing, 0, found))
    d[missing] = np.inf
    order = np.lexsort((found, d), axis=1)[:, :count]
    return np.take_along_axis(found, order, 1), np.take_along_axis(d, order, 1)


def complete(
    frame: Frame, own: IntArray, found: IntArray, count: int, asked: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest of the found; of all points where there are too few."""
    who, d = measured(frame, own, found, count)
    short = np.flatnonzero(np.isinf(d[:, -1]))
    if short.size:
        who[short], d[short] = true_nearest(frame, own[short], count, asked)
    return who, d


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices that cover 0..n."""
    return (slice(a, min(a + size, n)) for a in range(0, n, size))
