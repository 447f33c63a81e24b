"""Compiled parts of the search by cells, which call each other."""

import numpy as np

from lordclust._core.jit import njit
from lordclust._core.typing import BoolArray, FloatArray, IntArray


@njit
def insert(
    best: FloatArray, who: IntArray, fresh: BoolArray, value: float, index: int
) -> None:
    """Insert a new candidate into an ascending list and drop the last one."""
    at = best.shape[0] - 1
    while at > 0 and best[at - 1] > value:
        best[at] = best[at - 1]
        who[at] = who[at - 1]
        fresh[at] = fresh[at - 1]
        at -= 1
    best[at] = value
    who[at] = index
    fresh[at] = True


@njit
def list_neighbours(
    who: IntArray, fresh: BoolArray, near: IntArray, news: BoolArray, count: IntArray
) -> None:
    """List the neighbours of each point, then the points whose neighbour it is.

    Of the latter the nearest come first, as many as fit. ``fresh`` marks neighbours
    found in the last round, and ``news`` marks the same ones in the lists.
    """
    n, kept = who.shape
    for i in range(n):
        count[i] = 0
        for c in range(kept):
            if who[i, c] >= 0:
                near[i, count[i]] = who[i, c]
                news[i, count[i]] = fresh[i, c]
                count[i] += 1
    for c in range(kept):
        for i in range(n):
            f = who[i, c]
            if f >= 0 and count[f] < near.shape[1] and not holds(who[f], i):
                near[f, count[f]] = i
                news[f, count[f]] = fresh[i, c]
                count[f] += 1
    for i in range(n):
        for c in range(kept):
            fresh[i, c] = False


@njit
def holds(values: IntArray, value: int) -> bool:
    """Return whether ``values`` contains ``value``."""
    found = False
    for x in values:
        found |= x == value
    return found


@njit
def offer_neighbours(
    Q: FloatArray, points: FloatArray, near: IntArray, news: BoolArray,
    count: IntArray, rows: tuple[int, int], seen: IntArray, best: FloatArray,
    who: IntArray, fresh: BoolArray,
) -> None:  # fmt: skip
    """Offer the neighbours of their neighbours to the points rows[0]..rows[1].

    Pairs without a new neighbour have been offered before. ``seen`` holds the last
    point that each one was offered to.
    """
    kept = who.shape[1]
    for i in range(rows[0], rows[1]):
        seen[i] = i
        for c in range(kept):
            if who[i, c] >= 0:
                seen[who[i, c]] = i
        for c in range(count[i]):
            f = near[i, c]
            for e in range(-1, count[f]):
                if not (news[i, c] or (e >= 0 and news[f, e])):
                    continue
                g = f if e < 0 else near[f, e]
                if seen[g] == i:
                    continue
                seen[g] = i
                value = np.float32(0.0)
                for t in range(points.shape[1]):
                    gap = Q[i, t] - points[g, t]
                    value += gap * gap
                if value < best[i, kept - 1]:
                    insert(best[i], who[i], fresh[i], value, g)
