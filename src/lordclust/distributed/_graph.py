"""The graph of nearest neighbours of samples in blocks on workers."""

from collections.abc import Callable

import numpy as np

from lordclust._core.typing import IntArray
from lordclust._core.validation import check_count
from lordclust.distributed._crew import Crew
from lordclust.distributed._samples import Origin
from lordclust.graph import KNNGraph
from lordclust.graph.kernel import unit_scale


class GraphBuilder:
    """Builds the blocks of S from those of X, as ``KNNGraph.build`` does.

    A worker holds its blocks of X and, one at a time, those of others. S_ij goes to
    the blocks of i and of j. Nothing else of size n is sent. The metric of ``graph``
    must be Euclidean. X is released, unless it is to be kept for the choice.
    """

    def __init__(self, graph: KNNGraph, *, keep: bool = False) -> None:
        if graph.metric != "euclidean":
            raise ValueError(
                f"Distributed graphs are Euclidean, got metric={graph.metric!r}. Pass "
                'row blocks of a similarity with affinity="precomputed".'
            )
        self.graph, self.keep = graph, keep
        #: Called with the number of samples and of edges, before they are searched.
        self.check: Callable[[int, int], None] | None = None
        self.typical: float | None = None
        self.measured = False

    def __call__(self, crew: Crew, blocks: IntArray) -> None:
        """Build the given blocks of S; the others, if any, exist already."""
        parts = crew.by_block("extent")
        low = np.min([part.low for part in parts], axis=0)
        high = np.max([part.high for part in parts], axis=0)
        if np.array_equal(low, high):
            raise ValueError(
                f"X must hold at least two different samples, but all {crew.n} rows "
                "are equal."
            )
        unit = unit_scale(np.array([max(part.size for part in parts)]))
        mean = unit * (np.sum([part.total for part in parts], axis=0) / crew.n)
        self.origin = Origin(unit, mean)
        q = self.graph.n_others(crew.n)
        if self.check is not None:
            self.check(crew.n, crew.n * q)
        nth = check_count(self.graph.scale_neighbor, "scale_neighbor")
        nth = min(nth, crew.n - 1)
        crew.ask("find", blocks, max(q, nth), unit, mean)
        if not self.keep:
            crew.ask("drop_features")
        crew.ask("widths", nth)
        if not self.measured:
            self.typical, self.measured = self._typical(crew), True
        crew.ask("floor_widths", blocks, self.typical)
        crew.ask("weigh", q)
        crew.ask("gather_edges", blocks)
        crew.ask("join_edges", float(self.graph.include_self))

    def _typical(self, crew: Crew) -> float | None:
        """Return the median positive width, or distance; None if all are 0."""
        median = _median(crew, "widths")
        return _median(crew, "distances") if median is None else median


def _median(crew: Crew, which: str) -> float | None:
    """Return the median of the positive widths or distances, None if there is none."""
    most = int(np.float64(np.inf).view(np.int64))
    count = int(_ranks(crew, which, np.array([most]))[0])
    if count == 0:
        return None
    ranks = ((count - 1) // 2, count // 2)
    return float(np.mean([_ordered(crew, which, rank, most) for rank in ranks]))


def _ordered(crew: Crew, which: str, rank: int, most: int) -> float:
    """Return the number of a rank, found by counting: eight bits of it per round."""
    low, high = 0, most  # the number is in this range, as an integer
    while low < high:
        step = (high - low) // 256 + 1
        limits = np.array([*range(low, high, step), high])
        place = int(np.argmax(_ranks(crew, which, limits) > rank))
        low = int(limits[place - 1]) + 1 if place else low
        high = int(limits[place])
    return float(np.int64(low).view(np.float64))


def _ranks(crew: Crew, which: str, limits: IntArray) -> IntArray:
    """Return how many numbers are up to each limit, on all workers together."""
    return np.asarray(np.sum(crew.ask("ranks", which, limits), axis=0))
