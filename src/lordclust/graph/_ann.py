"""Approximate nearest neighbours: an HNSW index proposes, float64 measures.

Points are added to the index by one thread: more would make a different index every
time. Searching takes all threads. Near points are added, and searched for, one after
the other: most of the time goes into waiting for memory, of which they share what they
visit (300,000 points: a search takes 23 s in place of 41).
How widely it searches is found on a sample of the points, whose true neighbours are
known.
"""

import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from lordclust._core.fork import is_forked
from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.validation import missing_extra
from lordclust.graph._truth import Truth, blocks, complete, squares
from lordclust.graph.euclidean import Frame

#: Links of a point, and how many candidates are weighed for them. With fewer of either
#: groups far from each other are lost to the search: it must then be very wide.
LINKS, BUILD_WIDTH = 24, 64
#: Candidates a search keeps: doubled from the first until the recall is reached.
FIRST_WIDTH, LAST_WIDTH = 32, 1024
#: Rows that are searched, and numbers that are held, at once.
BLOCK_ROWS, BLOCK_NUMBERS = 1 << 14, 1 << 24
#: Part of the work that adding points is, about.
ADDING = 0.4

Tell = Callable[[float], Any]


class Index(Protocol):
    """What a library for approximate search must do."""

    def add(self, points: FloatArray) -> None:
        """Add points, always in the same way."""

    def search(self, points: FloatArray, count: int, width: int) -> IntArray:
        """Return the points found, -1 where there are too few."""


class FaissIndex:
    """HNSW of faiss."""

    def __init__(self, n: int, dim: int, n_threads: int) -> None:
        import faiss

        self.faiss, self.n_threads = faiss, n_threads
        self.index = faiss.IndexHNSWFlat(dim, LINKS)
        self.index.hnsw.efConstruction = BUILD_WIDTH

    def add(self, points: FloatArray) -> None:
        """Add points on one thread."""
        self._on(1, self.index.add, points)

    def search(self, points: FloatArray, count: int, width: int) -> IntArray:
        """Return the points found."""
        self.index.hnsw.efSearch = width
        found: IntArray = self._on(self.n_threads, self.index.search, points, count)[1]
        return found

    def _on(self, n_threads: int, call: Callable[..., Any], *args: Any) -> Any:
        """Return what a call gives on so many threads, on one in a forked child."""
        before = self.faiss.omp_get_max_threads()
        self.faiss.omp_set_num_threads(1 if is_forked() else n_threads)
        try:
            return call(*args)
        finally:
            self.faiss.omp_set_num_threads(before)


class VoyagerIndex:
    """HNSW of voyager."""

    def __init__(self, n: int, dim: int, n_threads: int) -> None:
        import voyager

        self.too_few, self.n_threads = voyager.RecallError, n_threads
        self.index = voyager.Index(
            voyager.Space.Euclidean, dim, M=LINKS, ef_construction=BUILD_WIDTH,
            max_elements=n,
        )  # fmt: skip

    def add(self, points: FloatArray) -> None:
        """Add points on one thread."""
        self.index.add_items(points, num_threads=1)

    def search(self, points: FloatArray, count: int, width: int) -> IntArray:
        """Return the points found, or none at all where voyager finds too few."""
        try:
            found, _ = self.index.query(
                points, count, num_threads=self.n_threads, query_ef=max(width, count)
            )
        except self.too_few:
            return np.full((len(points), count), -1, dtype=np.int64)
        return np.asarray(found, dtype=np.int64)


#: Libraries for approximate search.
INDEXES: dict[str, Callable[[int, int, int], Index]] = {
    "faiss": FaissIndex,
    "voyager": VoyagerIndex,
}


def nearest(
    frame: Frame,
    count: int,
    spare: int,
    *,
    library: str,
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
        Neighbours wanted, and candidates asked for beside them.
    library : {"faiss", "voyager"}
        Whose index.
    target : float
        Part of the true neighbours that is to be found.
    n_threads : int
        Threads of the search; the result does not depend on it.
    callback : callable, optional
        Called with the part of the work that is done.

    Returns
    -------
    index : ndarray of int, shape (n, count)
    distance : ndarray of float64, shape (n, count)
    recall : float
        Part of the true neighbours that was found, estimated on a sample.
    """
    if not find_spec(library):
        raise missing_extra(library, "ann")
    n, dim = frame.base.shape
    index = INDEXES[library](n, dim, n_threads)
    order = _by_place(frame.base)
    for rows in blocks(n, BLOCK_ROWS):
        index.add(frame.base[order[rows]])
        _tell(callback, ADDING * rows.stop / n)
    # One more, as most points find themselves first.
    asked = min(count + spare + 1, n)
    who = np.empty((n, count), dtype=np.int32 if n < 2**31 else np.int64)
    d = np.empty((n, count))
    search = _Search(frame, index, order, count, asked)
    width, recall = _wide_enough(search, target)
    for rows in blocks(n, BLOCK_ROWS):
        own = order[rows]
        who[own], d[own] = search.near(own, width)
        _tell(callback, ADDING + (1 - ADDING) * rows.stop / n)
    return who, d, recall


def _by_place(base: FloatArray) -> IntArray:
    """Return the points in an order in which near ones follow each other.

    Each goes with the nearest of some points drawn at random.
    """
    n = len(base)
    drawn = np.sort(np.random.default_rng(0).permutation(n)[: math.isqrt(n)])
    centres = base[drawn]
    lengths = squares(centres)
    place = np.empty(n, dtype=np.int64)
    with threadpool_limits(1, "blas"):  # its rounding depends on its threads
        for rows in blocks(n, max(1, BLOCK_NUMBERS // len(drawn))):
            place[rows] = np.argmin(lengths - 2 * (base[rows] @ centres.T), axis=1)
    return np.argsort(place, kind="stable")


class _Search:
    """Finds and measures the neighbours of some of the points.

    ``order`` has the points in the order that they were added to the index in.
    """

    def __init__(
        self,
        frame: Frame,
        index: Index,
        order: IntArray,
        count: int,
        asked: int,
    ) -> None:
        self.frame, self.index, self.order = frame, index, order
        self.count, self.asked = count, asked

    def near(self, own: IntArray, width: int) -> tuple[IntArray, FloatArray]:
        """Return neighbours by the index; by all points where it finds too few."""
        found = self.index.search(self.frame.queries(own), self.asked, width)
        found = np.where(found < 0, -1, self.order[found])
        return complete(self.frame, own, found, self.count, self.asked)


def _wide_enough(search: _Search, target: float) -> tuple[int, float]:
    """Return how widely to search, and which part of the neighbours that finds."""
    truth, width = Truth(search.frame, search.count, search.asked), FIRST_WIDTH
    while True:
        recall = truth.recall(search.near(truth.own, width)[1])
        if recall >= target or width >= LAST_WIDTH:
            return width, recall
        width *= 2


def _tell(callback: Tell | None, done: float) -> None:
    """Tell how much is done, if anyone listens."""
    if callback is not None:
        callback(done)
