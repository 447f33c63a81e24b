"""Approximate nearest neighbours: nearby cells, then neighbours of neighbours.

Points are divided into cells, and each is compared with those of the cells whose
centres are nearest to it, by inner products of blocks. Most neighbours that this misses
are neighbours of a common neighbour [1]_: a few rounds introduce the neighbours of each
point to each other. After each round the recall is estimated on a sample whose true
neighbours are known; the same sample tells how many cells, and how many axes of many
features, are enough.

No index is built: all cores work from beginning to end, each list belongs to one task,
and the result is the same every time and for any number of threads.

References
----------
.. [1] Dong, Moses and Li, "Efficient k-nearest neighbor graph construction for generic
   similarity measures", 2011.
"""

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from lordclust._core.keys import sample_keys
from lordclust._core.memory import check_memory
from lordclust._core.typing import BoolArray, FloatArray, IntArray
from lordclust.graph import _cells_kernels as kernels
from lordclust.graph._axes import reduced_spaces
from lordclust.graph._brute_kernels import scan_rows
from lordclust.graph.euclidean import SearchSpace
from lordclust.graph.knn import SPARE, Progress, nearest_of
from lordclust.graph.row_blocks import slices, squared_norms

#: A point is first compared with as many cells as hold its true neighbours, except for
#: this many times those that may be missed in the end: a round finds most of these.
#: The factor by which cells are more if the recall is still too low after all rounds.
MISSED, MORE_CELLS = 3.5, 2
#: Smallest number of cells that a point is compared with.
FEWEST = 8
#: Cells around a cell in which the nearest ones of its points are looked for, as a
#: multiple of their number.
AROUND = 4
#: Largest number of rounds over neighbours of neighbours, and the recall that a round
#: must gain for another one to follow.
ROUNDS, WORTHWHILE = 5, 0.01
#: Number of points considered that list a point as their neighbour.
REVERSE = 20
#: Points in a piece of a round, and pieces before their offers are accepted.
GROUP, GROUPS = 1 << 8, 32
#: Points per cell that determine its centre, and how often centres are updated.
DRAWN, MOVES = 32, 4
#: Size of a cell as a fraction of sqrt(n), the smallest, and numbers that a task holds
#: to assign points to cells.
SIZE, SMALLEST, TILE = 0.35, 64, 1 << 18
#: Smallest number of points in one piece of work.
PIECE = 1 << 12
#: Fraction of the work before distances are measured, approximately.
BEFORE_RESULT = 0.9
#: Points whose true neighbours are found, to estimate the recall, and points that they
#: are compared with at once.
SAMPLE, BLOCK_POINTS = 500, 1 << 13
#: In fewer axes, candidates per neighbour, and the share of the neighbours that may be
#: missed for this reason, of all that may be missed.
CANDIDATES, BY_AXES = 2, 0.5

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
        n * (8.0 * dim + lists),
        f"The search for {count} neighbours of {n} samples",
        "Cluster a subset of the samples, or pass a precomputed graph of neighbours.",
    )
    with (
        threadpool_limits(1, "blas"),  # rounding depends on its number of threads
        ThreadPoolExecutor(n_threads) as pool,
    ):
        keys = sample_keys(space.base)
        order = np.argsort(keys, kind="stable")
        # The last ones, as the first ones are the first centres of cells.
        truth = Truth.of(space, order[-SAMPLE:], count)
        for fewer in reduced_spaces(space, order, pool):
            kept = min(CANDIDATES * count, n - 1)
            found = _proposed(fewer, truth.sample, kept + 1)
            if truth.recall(fewer, found) >= 1 - BY_AXES * (1 - target):
                space, spare = fewer, kept - count
                break
        kept = min(count + spare, n - 1)
        search = _Search(space, truth, keys, kept, pool, n_threads, callback)
        recall = search.run(target)
        return *search.result(), recall


class Truth(NamedTuple):
    """True neighbours of a sample of the points, and the distances of the last ones."""

    sample: IntArray
    neighbours: IntArray
    last: FloatArray

    @classmethod
    def of(cls, space: SearchSpace, sample: IntArray, count: int) -> "Truth":
        """Compare some points with all."""
        index, d = _true_nearest(space, sample, count)
        # By distance: it does not matter which of several equally near ones are found.
        return cls(sample, index, d[:, -1:] * (1 + 1e-9))

    def recall(self, space: SearchSpace, found: IntArray) -> float:
        """Return the share of the true neighbours among those found."""
        d = _measured(space, self.sample, found, self.neighbours.shape[1])[1]
        return float(np.mean(d <= self.last))


class _Search:
    """The lists of candidates of all points, in the order of their cells."""

    def __init__(
        self,
        space: SearchSpace,
        truth: Truth,
        keys: IntArray,
        kept: int,
        pool: ThreadPoolExecutor,
        n_threads: int,
        callback: Progress | None,
    ) -> None:
        self.space, self.truth, self.kept, self.pool = space, truth, kept, pool
        self.callback, self.done = callback, 0.0
        self.n = n = len(space.base)
        self.parts = [(p.start, p.stop) for p in slices(n, -(-n // n_threads))]
        self.cells = cut_into_cells(space.base, keys, pool)
        order, starts = self.cells
        self.place = np.empty(n, dtype=np.int64)
        self.place[order] = np.arange(n)
        self.points = space.base[order]
        # If queries are the points themselves, one array is enough.
        self.Q = self.points if space.symmetric else space.queries(order)
        self.centres = _means(self.points, starts)
        self.offsets = self.points - np.repeat(self.centres, np.diff(starts), axis=0)
        self.norms = squared_norms(self.offsets)
        self.who = np.empty((n, kept), dtype=np.int32 if n < 2**31 else np.int64)
        self.best = np.empty((n, kept), dtype=np.float32)
        self.fresh = np.empty((n, kept), dtype=np.bool_)

    def run(self, target: float) -> float:
        """Search until the target or all cells are reached; return the recall."""
        n_cells = len(self.centres)
        width = self.width(1 - MISSED * (1 - target))
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

    def width(self, share: float) -> int:
        """Return the number of cells that hold a share of the true neighbours."""
        cell = np.searchsorted(self.cells.starts, self.place, side="right") - 1
        Q = self.Q[self.place[self.truth.sample]]
        order = np.argsort(_gaps(Q, self.centres), axis=1)
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(len(self.centres))[None], axis=1)
        ranks = np.take_along_axis(rank, cell[self.truth.neighbours], axis=1)
        last = int(np.quantile(ranks, max(share, 0.0), method="higher"))
        return max(FEWEST, last + 1)

    def compare(self, width: int) -> None:
        """Compare each point with those of the ``width`` cells nearest to it."""
        self.who[:], self.best[:], self.fresh[:] = -1, np.inf, True
        starts = self.cells.starts
        spans, to = np.stack([starts[:-1], starts[1:]], axis=1), self.centres
        fro = to if self.space.symmetric else _means(self.Q, starts)
        room = to.shape[1] + 1 + int(np.diff(starts).max())

        def task(c: int) -> None:
            own = slice(*spans[c])
            near = _near_cells(fro[c], to, c, AROUND * width)
            Q, moves = self.Q[own] - fro[c], to[near] - fro[c]
            kernels.compare_cells(
                Q, own.start, moves, self.offsets, self.norms, spans[near],
                _smallest(_gaps(Q, moves), width), self.best, self.who,
                np.empty(len(Q), np.int64), np.empty(len(Q) * room, np.float32),
            )  # fmt: skip

        self._all(task, range(len(to)), self._halfway())

    def extend(self) -> None:
        """Introduce the neighbours of each point to each other."""
        most = self.kept + REVERSE
        lists = (
            np.empty((self.n, most), self.who.dtype),
            np.empty((self.n, most), np.bool_),
            np.empty(self.n, np.int32),
        )
        self._each(
            lambda part: kernels.list_neighbours(self.who, self.fresh, part, *lists)
        )
        self.fresh[:] = False
        offers = [
            _Offers.room(GROUP * (most + 1) ** 2, self.who.dtype) for _ in range(GROUPS)
        ]
        room = (most + 1) * (2 * self.Q.shape[1] + most + 4)

        def introduce(job: tuple[int, slice]) -> int:
            slot, part = job
            count: int = kernels.introduce(
                self.Q, self.points, *lists, (part.start, part.stop), self.best,
                self.who, self.space.symmetric, *offers[slot],
                np.empty(most + 1, self.who.dtype), np.empty(room, np.float32),
            )  # fmt: skip
            return count

        def accept(counts: list[int], part: tuple[int, int]) -> None:
            for some, count in zip(offers, counts, strict=False):
                kernels.accept(*some, count, part, self.best, self.who, self.fresh)

        begun, until = self.done, self._halfway()
        for rows in slices(self.n, GROUP * GROUPS):
            jobs = enumerate(slices(rows.stop, GROUP, rows.start))
            self._each(partial(accept, list(self.pool.map(introduce, jobs))))
            self._report(begun + (until - begun) * rows.stop / self.n)

    def recall(self) -> float:
        """Return the share of the true neighbours found so far."""
        found = self._named(self.place[self.truth.sample])
        return self.truth.recall(self.space, found)

    def result(self) -> tuple[IntArray, FloatArray]:
        """Return neighbours and distances in the order of the samples."""
        count = self.truth.neighbours.shape[1]
        index = np.empty((self.n, count), dtype=self.who.dtype)
        d = np.empty((self.n, count))

        def task(rows: slice) -> None:
            own = self.cells.order[rows]
            who, away = _measured(self.space, own, self._named(rows), count)
            short = np.flatnonzero(np.isinf(away[:, -1]))
            if short.size:  # too few were found: compare with all points
                who[short], away[short] = _true_nearest(self.space, own[short], count)
            index[own], d[own] = who, away

        self._all(task, slices(self.n, PIECE), 1.0)
        return index, d

    def _named(self, rows: IntArray | slice) -> IntArray:
        """Return candidates as row numbers of X, -1 for none."""
        found = self.who[rows]
        return np.where(found < 0, -1, self.cells.order[found])

    def _each(self, task: Callable[[tuple[int, int]], object]) -> None:
        """Run a task on each part of the points: as many as there are threads."""
        list(self.pool.map(task, self.parts))

    def _all(
        self, task: Callable[[Part], None], parts: Iterable[Part], until: float
    ) -> None:
        """Run a task on all parts, in parallel, and report the progress."""
        parts, begun = list(parts), self.done
        for i, _ in enumerate(self.pool.map(task, parts)):
            self._report(begun + (until - begun) * (i + 1) / len(parts))

    def _report(self, done: float) -> None:
        """Report the progress."""
        self.done = done
        if self.callback is not None:
            self.callback(done)

    def _halfway(self) -> float:
        """Return the progress after the next part, however many there are."""
        return (self.done + BEFORE_RESULT) / 2


class _Offers(NamedTuple):
    """Point ``whom`` is offered to point ``to``, at a squared distance."""

    to: IntArray
    whom: IntArray
    distance: FloatArray

    @classmethod
    def room(cls, size: int, dtype: np.dtype) -> "_Offers":
        """Return room for offers; memory that is not used is not occupied."""
        return cls(
            np.empty(size, dtype), np.empty(size, dtype), np.empty(size, np.float32)
        )


def _means(points: FloatArray, starts: IntArray) -> FloatArray:
    """Return the mean of the points of each cell."""
    sizes = np.diff(starts)[:, None].astype(points.dtype)
    return np.asarray(np.add.reduceat(points, starts[:-1]) / sizes)


def _gaps(Q: FloatArray, centres: FloatArray) -> FloatArray:
    """Return squared distances of all pairs, less the squared length of each row."""
    return np.asarray(squared_norms(centres) - 2 * Q @ centres.T)


def _near_cells(x: FloatArray, centres: FloatArray, own: int, count: int) -> IntArray:
    """Return the cells nearest to x, the nearest first, after its own."""
    gap = squared_norms(centres - x)
    gap[own] = -1.0
    count = min(count, len(gap))
    near = np.argpartition(gap, count - 1)[:count]
    return np.asarray(near[np.argsort(gap[near], kind="stable")])


def _smallest(gap: FloatArray, count: int) -> BoolArray:
    """Mark the ``count`` smallest numbers of each row, and all of the first column."""
    if count >= gap.shape[1]:
        return np.ones(gap.shape, dtype=np.bool_)
    last = np.partition(gap, count - 1, axis=1)[:, count - 1 : count]
    chosen = gap <= last
    chosen[:, 0] = True
    return chosen


def _true_nearest(
    space: SearchSpace, own: IntArray, count: int
) -> tuple[IntArray, FloatArray]:
    """Return the exact neighbours of some points by comparing them with all."""
    wanted = min(count + SPARE + 1, len(space.base))  # a point may find itself
    return _measured(space, own, _proposed(space, own, wanted), count)


def _proposed(space: SearchSpace, own: IntArray, wanted: int) -> IntArray:
    """Return the points nearest to some, by inner products of all pairs."""
    found = np.zeros((len(own), wanted), dtype=np.int64)
    for rows in slices(len(own), SAMPLE):
        Q = space.queries(own[rows])
        best = np.full((len(Q), wanted), np.inf, dtype=np.float32)
        no_self = np.full(len(Q), -1)
        norms = squared_norms(Q)
        for cols in slices(len(space.base), BLOCK_POINTS):
            points = space.base[cols]
            scan_rows(
                Q @ points.T, norms, squared_norms(points), no_self, cols.start, best,
                found[rows],
            )  # fmt: skip
    return found


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
    """Return points sorted into cells of similar size, of points near each other.

    Cells are those of a few iterations of k-means on some of the points; large ones,
    such as many copies, are divided, so that the work is bounded. Points are drawn and
    sorted by keys, which depend on their content: the order of the samples does not
    matter.
    """
    n = len(points)
    size = max(SMALLEST, int(SIZE * math.sqrt(n)))
    n_cells = -(-n // size)
    drawn = np.argsort(keys, kind="stable")[: DRAWN * n_cells]
    some, centres = points[drawn], points[drawn[:n_cells]]
    for _ in range(MOVES):
        centres = _moved(centres, some, _assigned(some, centres, pool))
    centres = centres[_side_by_side(centres, np.arange(n_cells))]
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


def _side_by_side(points: FloatArray, rows: IntArray) -> IntArray:
    """Return rows in an order in which points near each other are not far apart.

    They are cut in half across the axis of the largest variance, repeatedly. What is
    near in space is then near in memory.
    """
    if len(rows) <= 2:
        return rows
    some = points[rows]
    line = np.argsort(some[:, some.var(axis=0).argmax()], kind="stable")
    halves = np.array_split(rows[line], 2)
    return np.concatenate([_side_by_side(points, half) for half in halves])


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
