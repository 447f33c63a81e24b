"""Approximate nearest neighbours: cells of near points, then friends of friends.

Points are cut into cells, and each is compared with those of its own cell and of the
next ones, by inner products of blocks. What that misses, the points tell each other:
friends of a friend are likely to be near [1]_, and a few rounds find most of them.
After each the part found is estimated on a sample whose true neighbours are known.

No index is built: all cores work from beginning to end, each point is the business of
one task, and the result is the same every time and for any number of threads.

References
----------
.. [1] Dong, Moses and Li, "Efficient k-nearest neighbor graph construction for generic
   similarity measures", 2011.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from lordclust._core.memory import check_memory
from lordclust._core.typing import FloatArray, IntArray
from lordclust.graph import _cells_kernels as kernels
from lordclust.graph._brute_kernels import scan_rows
from lordclust.graph._truth import Truth, blocks, complete, measured, squares
from lordclust.graph.euclidean import Frame

#: Cells that a point is compared with: at first, and how they grow when that and the
#: rounds do not find enough.
FIRST_CELLS, MORE_CELLS = 32, 4
#: Rounds of friends at most, and what a round must find for another one.
ROUNDS, WORTHWHILE = 5, 0.01
#: Friends of a point that found it, beside those that it found.
FANS = 20
#: Points of each cell that its centre is the mean of, and how often centres move.
DRAWN, MOVES = 32, 4
#: Points of a cell at least, and numbers that a task holds to assign points to cells.
SMALLEST, TILE = 64, 1 << 22
#: Points that are met or measured in one piece of work at least, and such pieces.
PIECE, PIECES = 1 << 13, 64
#: Part of the work before distances are measured, about.
BEFORE_RESULT = 0.9

Tell = Callable[[float], Any]


class Cells(NamedTuple):
    """Points sorted by their cells: cell c holds edges[c] to edges[c + 1]."""

    order: IntArray
    edges: IntArray


def nearest(
    frame: Frame,
    count: int,
    spare: int,
    *,
    target: float,
    n_threads: int,
    callback: Tell | None = None,
) -> tuple[IntArray, FloatArray, float]:
    """Return about the ``count`` nearest others of each point, nearest first.

    Parameters
    ----------
    frame : Frame
        The points, and how they are measured.
    count, spare : int
        Neighbours wanted, and candidates kept beside them.
    target : float
        Part of the true neighbours that is to be found.
    n_threads : int
        Threads; the result does not depend on it.
    callback : callable, optional
        Called with the part of the work that is done, as far as can be foreseen.

    Returns
    -------
    index : ndarray of int, shape (n, count)
    distance : ndarray of float64, shape (n, count)
    recall : float
        Part of the true neighbours that was found, estimated on a sample.
    """
    n, dim = frame.base.shape
    lists = 9 * (count + spare) + 5 * (count + spare + FANS) + 12 * count
    check_memory(
        n * (4.0 * dim + lists),
        f"The search for {count} neighbours of {n} samples",
        "Cluster a part of the samples, or bring a graph of neighbours.",
    )
    with (
        threadpool_limits(1, "blas"),  # threads are ours; its rounding depends on its
        ThreadPoolExecutor(n_threads) as pool,
    ):
        search = _Search(frame, count, min(count + spare, n - 1), pool, callback)
        recall = search.run(target)
        return *search.result(), recall


class _Search:
    """The lists of candidates of all points, in the order of their cells."""

    def __init__(
        self,
        frame: Frame,
        count: int,
        kept: int,
        pool: ThreadPoolExecutor,
        callback: Tell | None,
    ) -> None:
        self.frame, self.count, self.kept, self.pool = frame, count, kept, pool
        self.callback, self.done = callback, 0.0
        self.n = n = len(frame.base)
        self.truth = Truth(frame, count, min(kept + 1, n))
        self.cells = cut_into_cells(frame.base, pool)
        self.points = frame.base[self.cells.order]
        # Where queries are the points themselves, one array serves.
        self.Q = self.points if frame.even else frame.queries(self.cells.order)
        self.who = np.empty((n, kept), dtype=np.int32 if n < 2**31 else np.int64)
        self.best = np.empty((n, kept), dtype=np.float32)
        self.fresh = np.empty((n, kept), dtype=np.bool_)

    def run(self, target: float) -> float:
        """Search until enough is found, or all cells were compared; return the part."""
        n_cells, width = len(self.cells.edges) - 1, FIRST_CELLS
        while True:
            self.compare(min(width, n_cells))
            recall = self.recall()
            for _ in range(ROUNDS):
                before = recall
                if recall >= target:
                    return recall
                self.meet()
                recall = self.recall()
                if recall < target and recall < before + WORTHWHILE:
                    break
            if recall >= target or width >= n_cells:
                return recall
            width *= MORE_CELLS

    def compare(self, width: int) -> None:
        """Compare the points of each cell with those of the ``width`` next cells."""
        self.who[:], self.best[:], self.fresh[:] = -1, np.inf, True
        edges = self.cells.edges
        near = self._next_cells(width)

        def task(c: int) -> None:
            own = slice(edges[c], edges[c + 1])
            number = np.arange(own.start, own.stop)
            # Around their own middle: what is far from the origin costs no digits.
            middle = self.points[own].mean(axis=0)
            Q = self.Q[own] - middle
            lengths = squares(Q)
            for other in near[c]:
                cols = slice(edges[other], edges[other + 1])
                block = self.points[cols] - middle
                scan_rows(
                    Q @ block.T, lengths, squares(block), number, cols.start,
                    self.best[own], self.who[own],
                )  # fmt: skip

        self._all(task, range(len(near)), self._halfway())

    def _next_cells(self, width: int) -> IntArray:
        """Return for each cell the nearest ones, its own among them."""
        starts, sizes = self.cells.edges[:-1], np.diff(self.cells.edges)[:, None]
        to, fro = (np.add.reduceat(x, starts) / sizes for x in (self.points, self.Q))
        gap = squares(to) - 2 * (fro @ to.T)
        np.fill_diagonal(gap, -np.inf)
        return np.argpartition(gap, width - 1)[:, :width]

    def meet(self) -> None:
        """Offer the friends of its friends to each point."""
        shape = self.n, self.kept + FANS
        friends, news = np.empty(shape, self.who.dtype), np.empty(shape, np.bool_)
        count = np.empty(self.n, dtype=np.int32)
        kernels.make_friends(self.who, self.fresh, friends, news, count)

        def task(rows: slice) -> None:
            seen = np.full(self.n, -1, dtype=self.who.dtype)
            kernels.meet_friends(
                self.Q, self.points, friends, news, count, (rows.start, rows.stop),
                seen, self.best, self.who, self.fresh,
            )  # fmt: skip

        pieces = blocks(self.n, max(PIECE, self.n // PIECES))
        self._all(task, pieces, self._halfway())

    def recall(self) -> float:
        """Return the part of the true neighbours that is found by now."""
        own = self.truth.own
        place = np.empty(self.n, dtype=np.int64)
        place[self.cells.order] = np.arange(self.n)
        d = measured(self.frame, own, self._named(place[own]), self.count)[1]
        return self.truth.recall(d)

    def result(self) -> tuple[IntArray, FloatArray]:
        """Return neighbours and distances in the order of the samples."""
        index = np.empty((self.n, self.count), dtype=self.who.dtype)
        d = np.empty((self.n, self.count))

        def task(rows: slice) -> None:
            own, found = self.cells.order[rows], self._named(rows)
            asked = min(self.kept + 1, self.n)
            index[own], d[own] = complete(self.frame, own, found, self.count, asked)

        self._all(task, blocks(self.n, PIECE), 1.0)
        return index, d

    def _named(self, rows: Any) -> IntArray:
        """Return candidates by the numbers of the samples, -1 for none."""
        found = self.who[rows]
        return np.where(found < 0, -1, self.cells.order[found])

    def _all(self, task: Callable[[Any], None], parts: Any, until: float) -> None:
        """Run a task on all parts, side by side, and tell how much is done."""
        parts, begun = list(parts), self.done
        for i, _ in enumerate(self.pool.map(task, parts)):
            self.done = begun + (until - begun) * (i + 1) / len(parts)
            if self.callback is not None:
                self.callback(self.done)

    def _halfway(self) -> float:
        """Return how much will be done after the next part, however many there are."""
        return (self.done + BEFORE_RESULT) / 2


def cut_into_cells(points: FloatArray, pool: ThreadPoolExecutor) -> Cells:
    """Return points sorted into cells of about sqrt(n) / 2 near ones.

    Cells are those of k-means on some of the points, after a few moves; large ones,
    such as crowds of copies, are cut into pieces, so that the work has a bound.
    """
    n = len(points)
    size = max(SMALLEST, math.isqrt(n) // 2)
    n_cells = -(-n // size)
    drawn = np.random.default_rng(0).permutation(n)[: DRAWN * n_cells]
    some = points[np.sort(drawn)]
    centres = points[np.sort(drawn[:n_cells])]
    for _ in range(MOVES):
        centres = _moved(centres, some, _assigned(some, centres, pool))
    cell = _assigned(points, centres, pool)
    order = np.argsort(cell, kind="stable")
    return Cells(order, _edges(np.bincount(cell, minlength=n_cells), 2 * size))


def _assigned(
    points: FloatArray, centres: FloatArray, pool: ThreadPoolExecutor
) -> IntArray:
    """Return the nearest centre of each point."""
    cell = np.empty(len(points), dtype=np.int64)
    half = squares(centres) / 2

    def task(rows: slice) -> None:
        cell[rows] = np.argmin(half - points[rows] @ centres.T, axis=1)

    list(pool.map(task, blocks(len(points), max(1, TILE // len(centres)))))
    return cell


def _moved(centres: FloatArray, points: FloatArray, cell: IntArray) -> FloatArray:
    """Return the means of the points of each centre, or itself where it has none."""
    sizes = np.bincount(cell, minlength=len(centres))
    filled = np.flatnonzero(sizes)
    starts = np.cumsum(sizes)[filled] - sizes[filled]
    sums = np.add.reduceat(points[np.argsort(cell, kind="stable")], starts)
    moved = centres.copy()
    moved[filled] = sums / sizes[filled, None]
    return moved


def _edges(sizes: IntArray, largest: int) -> IntArray:
    """Return where cells begin, large ones cut into even pieces, and the end."""
    pieces = -(-sizes // largest)
    cuts = [
        np.linspace(end - size, end, count + 1)[:-1].astype(np.int64)
        for end, size, count in zip(np.cumsum(sizes), sizes, pieces, strict=True)
    ]
    return np.append(np.concatenate(cuts), sizes.sum())
