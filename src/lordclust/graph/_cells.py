"""Approximate nearest neighbours: nearby cells, then neighbours of neighbours.

Points are divided into cells, and each is compared with those of its own cell and of
the nearest ones, by inner products of blocks. Most neighbours that this misses are
neighbours of a neighbour [1]_, and a few rounds find them. After each round the recall
is estimated on a sample whose true neighbours are known.

No index is built: all cores work from beginning to end, each point belongs to one
task, and the result is the same every time and for any number of threads.

References
----------
.. [1] Dong, Moses and Li, "Efficient k-nearest neighbor graph construction for generic
   similarity measures", 2011.
"""

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from lordclust._core.keys import sample_keys
from lordclust._core.memory import check_memory
from lordclust._core.typing import FloatArray, IntArray
from lordclust.graph import _cells_kernels as kernels
from lordclust.graph._brute_kernels import scan_rows
from lordclust.graph.euclidean import SearchSpace
from lordclust.graph.knn import Progress, nearest_of
from lordclust.graph.row_blocks import slices, squared_norms

#: Number of cells that a point is compared with at first, and the factor by which it
#: grows if the recall is still too low after all rounds.
FIRST_CELLS, MORE_CELLS = 32, 4
#: Largest number of rounds over neighbours of neighbours, and the recall that a round
#: must gain for another one to follow.
ROUNDS, WORTHWHILE = 5, 0.01
#: Number of points considered that list a point as their neighbour.
REVERSE = 20
#: Points per cell that determine its centre, and how often centres are updated.
DRAWN, MOVES = 32, 4
#: Smallest size of a cell, and numbers that a task holds to assign points to cells.
SMALLEST, TILE = 64, 1 << 22
#: Smallest number of points in one piece of work, and the number of pieces.
PIECE, PIECES = 1 << 13, 64
#: Fraction of the work before distances are measured, approximately.
BEFORE_RESULT = 0.9
#: Points whose true neighbours are found, to estimate the recall, and points that they
#: are compared with at once.
SAMPLE, BLOCK_POINTS = 1000, 1 << 14

Part = TypeVar("Part")


class Cells(NamedTuple):
    """Points sorted by their cells: cell c is starts[c] to starts[c + 1]."""

    order: IntArray
    starts: IntArray


def nearest(
    space: SearchSpace,
    count: int,
    spare: int,
    *,
    target: float,
    n_threads: int,
    callback: Progress | None = None,
) -> tuple[IntArray, FloatArray, float]:
    """Return ``count`` approximate neighbours of each point, distances and recall.

    ``spare`` further candidates are kept, and ``target`` is the recall to reach. The
    result does not depend on ``n_threads``.
    """
    n, dim = space.base.shape
    lists = 9 * (count + spare) + 5 * (count + spare + REVERSE) + 12 * count
    check_memory(
        n * (4.0 * dim + lists),
        f"The search for {count} neighbours of {n} samples",
        "Cluster a subset of the samples, or pass a precomputed graph of neighbours.",
    )
    with (
        threadpool_limits(1, "blas"),  # rounding depends on its number of threads
        ThreadPoolExecutor(n_threads) as pool,
    ):
        search = _Search(space, count, min(count + spare, n - 1), pool, callback)
        recall = search.run(target)
        return *search.result(), recall


class _Search:
    """The lists of candidates of all points, in the order of their cells."""

    def __init__(
        self,
        space: SearchSpace,
        count: int,
        kept: int,
        pool: ThreadPoolExecutor,
        callback: Progress | None,
    ) -> None:
        self.space, self.count, self.kept, self.pool = space, count, kept, pool
        self.callback, self.done = callback, 0.0
        self.n = n = len(space.base)
        keys = sample_keys(space.base)
        self.sample = np.argsort(keys, kind="stable")[:SAMPLE]
        d = _true_nearest(space, self.sample, count, min(kept + 1, n))[1]
        # By distance: it does not matter which of several equally near ones are found.
        self.last = d[:, -1:] * (1 + 1e-9)
        self.cells = cut_into_cells(space.base, keys, pool)
        self.points = space.base[self.cells.order]
        # If queries are the points themselves, one array is enough.
        self.Q = self.points if space.symmetric else space.queries(self.cells.order)
        self.who = np.empty((n, kept), dtype=np.int32 if n < 2**31 else np.int64)
        self.best = np.empty((n, kept), dtype=np.float32)
        self.fresh = np.empty((n, kept), dtype=np.bool_)

    def run(self, target: float) -> float:
        """Search until the target or all cells are reached; return the recall."""
        n_cells, width = len(self.cells.starts) - 1, FIRST_CELLS
        while True:
            self.compare(min(width, n_cells))
            recall = self.recall()
            for _ in range(ROUNDS):
                before = recall
                if recall >= target:
                    return recall
                self.extend()
                recall = self.recall()
                if recall < target and recall < before + WORTHWHILE:
                    break
            if recall >= target or width >= n_cells:
                return recall
            width *= MORE_CELLS

    def compare(self, width: int) -> None:
        """Compare the points of each cell with those of the ``width`` nearest cells."""
        self.who[:], self.best[:], self.fresh[:] = -1, np.inf, True
        starts = self.cells.starts
        near = self._next_cells(width)

        def task(c: int) -> None:
            own = slice(starts[c], starts[c + 1])
            number = np.arange(own.start, own.stop)
            # Relative to their own mean: a distant origin would lose precision.
            middle = self.points[own].mean(axis=0)
            Q = self.Q[own] - middle
            lengths = squared_norms(Q)
            for other in near[c]:
                cols = slice(starts[other], starts[other + 1])
                block = self.points[cols] - middle
                scan_rows(
                    Q @ block.T, lengths, squared_norms(block), number, cols.start,
                    self.best[own], self.who[own],
                )  # fmt: skip

        self._all(task, range(len(near)), self._halfway())

    def _next_cells(self, width: int) -> IntArray:
        """Return the nearest cells of each cell, including itself."""
        starts, sizes = self.cells.starts[:-1], np.diff(self.cells.starts)[:, None]
        to, fro = (np.add.reduceat(x, starts) / sizes for x in (self.points, self.Q))
        gap = squared_norms(to) - 2 * (fro @ to.T)
        np.fill_diagonal(gap, -np.inf)
        return np.argpartition(gap, width - 1)[:, :width]

    def extend(self) -> None:
        """Offer the neighbours of its neighbours to each point."""
        shape = self.n, self.kept + REVERSE
        near, news = np.empty(shape, self.who.dtype), np.empty(shape, np.bool_)
        count = np.empty(self.n, dtype=np.int32)
        kernels.list_neighbours(self.who, self.fresh, near, news, count)

        def task(rows: slice) -> None:
            seen = np.full(self.n, -1, dtype=self.who.dtype)
            kernels.offer_neighbours(
                self.Q, self.points, near, news, count, (rows.start, rows.stop),
                seen, self.best, self.who, self.fresh,
            )  # fmt: skip

        pieces = slices(self.n, max(PIECE, self.n // PIECES))
        self._all(task, pieces, self._halfway())

    def recall(self) -> float:
        """Return the share of the true neighbours found so far."""
        place = np.empty(self.n, dtype=np.int64)
        place[self.cells.order] = np.arange(self.n)
        found = self._named(place[self.sample])
        d = _measured(self.space, self.sample, found, self.count)[1]
        return float(np.mean(d <= self.last))

    def result(self) -> tuple[IntArray, FloatArray]:
        """Return neighbours and distances in the order of the samples."""
        index = np.empty((self.n, self.count), dtype=self.who.dtype)
        d = np.empty((self.n, self.count))

        def task(rows: slice) -> None:
            own = self.cells.order[rows]
            who, away = _measured(self.space, own, self._named(rows), self.count)
            short = np.flatnonzero(np.isinf(away[:, -1]))
            if short.size:  # too few were found: compare with all points
                few, wanted = own[short], min(self.kept + 1, self.n)
                who[short], away[short] = _true_nearest(
                    self.space, few, self.count, wanted
                )
            index[own], d[own] = who, away

        self._all(task, slices(self.n, PIECE), 1.0)
        return index, d

    def _named(self, rows: IntArray | slice) -> IntArray:
        """Return candidates as row numbers of X, -1 for none."""
        found = self.who[rows]
        return np.where(found < 0, -1, self.cells.order[found])

    def _all(
        self, task: Callable[[Part], None], parts: Iterable[Part], until: float
    ) -> None:
        """Run a task on all parts, in parallel, and report the progress."""
        parts, begun = list(parts), self.done
        for i, _ in enumerate(self.pool.map(task, parts)):
            self.done = begun + (until - begun) * (i + 1) / len(parts)
            if self.callback is not None:
                self.callback(self.done)

    def _halfway(self) -> float:
        """Return the progress after the next part, however many there are."""
        return (self.done + BEFORE_RESULT) / 2


def _true_nearest(
    space: SearchSpace, own: IntArray, count: int, wanted: int
) -> tuple[IntArray, FloatArray]:
    """Return the exact neighbours of some points by comparing them with all."""
    found = np.zeros((len(own), wanted), dtype=np.int64)
    for rows in slices(len(own), SAMPLE):
        Q = space.queries(own[rows])
        best = np.full((len(Q), wanted), np.inf, dtype=np.float32)
        no_self = np.full(len(Q), -1)  # a point may find itself
        norms = squared_norms(Q)
        for cols in slices(len(space.base), BLOCK_POINTS):
            points = space.base[cols]
            scan_rows(
                Q @ points.T, norms, squared_norms(points), no_self, cols.start, best,
                found[rows],
            )  # fmt: skip
    return _measured(space, own, found, count)


def _measured(
    space: SearchSpace, own: IntArray, found: IntArray, count: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest candidates found; missing ones are infinitely far."""
    missing = (found < 0) | (found == own[:, None])
    d = space.measure(own, np.where(missing, 0, found))
    d[missing] = np.inf
    return nearest_of(found, d, count)


def cut_into_cells(
    points: FloatArray, keys: IntArray, pool: ThreadPoolExecutor
) -> Cells:
    """Return points sorted into cells of about sqrt(n) / 2 points near each other.

    Cells are those of a few iterations of k-means on some of the points; large ones,
    such as many copies, are divided, so that the work is bounded. Points are drawn and
    sorted by keys, which depend on their content: the order of the samples does not
    matter.
    """
    n = len(points)
    size = max(SMALLEST, math.isqrt(n) // 2)
    n_cells = -(-n // size)
    drawn = np.argsort(keys, kind="stable")[: DRAWN * n_cells]
    some, centres = points[drawn], points[drawn[:n_cells]]
    for _ in range(MOVES):
        centres = _moved(centres, some, _assigned(some, centres, pool))
    cell = _assigned(points, centres, pool)
    order = np.lexsort((keys, cell))
    return Cells(order, _starts(np.bincount(cell, minlength=n_cells), 2 * size))


def _assigned(
    points: FloatArray, centres: FloatArray, pool: ThreadPoolExecutor
) -> IntArray:
    """Return the nearest centre of each point."""
    cell = np.empty(len(points), dtype=np.int64)
    half = squared_norms(centres) / 2

    def task(rows: slice) -> None:
        cell[rows] = np.argmin(half - points[rows] @ centres.T, axis=1)

    list(pool.map(task, slices(len(points), max(1, TILE // len(centres)))))
    return cell


def _moved(centres: FloatArray, points: FloatArray, cell: IntArray) -> FloatArray:
    """Return the mean of each centre's points, or the centre if it has none."""
    sizes = np.bincount(cell, minlength=len(centres))
    filled = np.flatnonzero(sizes)
    starts = np.cumsum(sizes)[filled] - sizes[filled]
    sums = np.add.reduceat(points[np.argsort(cell, kind="stable")], starts)
    moved = centres.copy()
    moved[filled] = sums / sizes[filled, None]
    return moved


def _starts(sizes: IntArray, largest: int) -> IntArray:
    """Return where cells begin, large ones divided evenly, and the end."""
    pieces = -(-sizes // largest)
    cuts = [
        np.linspace(end - size, end, count + 1)[:-1].astype(np.int64)
        for end, size, count in zip(np.cumsum(sizes), sizes, pieces, strict=True)
    ]
    return np.append(np.concatenate(cuts), sizes.sum())
