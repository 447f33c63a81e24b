"""True neighbours of a few points, to estimate the recall of a search."""

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.graph._brute_kernels import scan_rows
from lordclust.graph.euclidean import SearchSpace
from lordclust.graph.knn import nearest_of
from lordclust.graph.row_blocks import slices, squared_norms

#: Points whose true neighbours are found, to estimate the recall.
SAMPLE = 1000
#: Points that the sample is compared with at once.
BLOCK_POINTS = 1 << 14


class RecallSample:
    """The distances of the true neighbours of a sample of the points.

    Parameters
    ----------
    space : SearchSpace
        The points and their distances.
    count, wanted : int
        Neighbours to find, and candidates measured to find them.
    """

    def __init__(self, space: SearchSpace, count: int, wanted: int) -> None:
        n = len(space.base)
        self.own = np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])
        d = true_nearest(space, self.own, count, wanted)[1]
        # By distance: it does not matter which of several equally near are found.
        self.last = d[:, -1:] * (1 + 1e-9)

    def recall(self, d: FloatArray) -> float:
        """Return the share of the neighbours that was found, by their distances."""
        return float(np.mean(d <= self.last))


def true_nearest(
    space: SearchSpace, own: IntArray, count: int, wanted: int
) -> tuple[IntArray, FloatArray]:
    """Return the neighbours of some points by comparing them with all."""
    found = np.zeros((len(own), wanted), dtype=np.int64)
    for rows in slices(len(own), SAMPLE):
        Q = space.queries(own[rows])
        best = np.full((len(Q), wanted), np.inf, dtype=np.float32)
        nobody = np.full(len(Q), -1)  # a point may find itself
        norms = squared_norms(Q)
        for cols in slices(len(space.base), BLOCK_POINTS):
            points = space.base[cols]
            scan_rows(
                Q @ points.T, norms, squared_norms(points), nobody, cols.start, best,
                found[rows],
            )  # fmt: skip
    return measured(space, own, found, count)


def measured(
    space: SearchSpace, own: IntArray, found: IntArray, count: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest of the found, infinitely far where there are too few."""
    missing = (found < 0) | (found == own[:, None])
    d = space.measure(own, np.where(missing, 0, found))
    d[missing] = np.inf
    return nearest_of(found, d, count)


def complete(
    space: SearchSpace, own: IntArray, found: IntArray, count: int, wanted: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest of the found; of all points where there are too few."""
    who, d = measured(space, own, found, count)
    short = np.flatnonzero(np.isinf(d[:, -1]))
    if short.size:
        who[short], d[short] = true_nearest(space, own[short], count, wanted)
    return who, d
