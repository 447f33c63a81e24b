"""Compiled parts of the search by cells; they call each other, so one file."""

from typing import Any

import numpy as np

from lordclust._core.jit import njit


@njit
def insert(best: Any, who: Any, fresh: Any, value: float, index: int) -> None:
    """Put a new candidate into an ascending list; the last one falls out."""
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
def make_friends(who: Any, fresh: Any, friends: Any, news: Any, count: Any) -> None:
    """List those that a point has found, then those that have found it.

    Of the latter the ones to whom it is nearer come first, as far as there is room.
    ``fresh`` tells what was found since the last time, ``news`` the same of friends.
    """
    n, kept = who.shape
    for i in range(n):
        count[i] = 0
        for c in range(kept):
            if who[i, c] >= 0:
                friends[i, count[i]] = who[i, c]
                news[i, count[i]] = fresh[i, c]
                count[i] += 1
    for c in range(kept):
        for i in range(n):
            f = who[i, c]
            if f >= 0 and count[f] < friends.shape[1] and not holds(who[f], i):
                friends[f, count[f]] = i
                news[f, count[f]] = fresh[i, c]
                count[f] += 1
    for i in range(n):
        for c in range(kept):
            fresh[i, c] = False


@njit
def holds(values: Any, value: int) -> bool:
    """Tell whether a value is among others."""
    found = False
    for x in values:
        found |= x == value
    return found


@njit
def meet_friends(
    Q: Any, points: Any, friends: Any, news: Any, count: Any, rows: Any, seen: Any,
    best: Any, who: Any, fresh: Any,
) -> None:  # fmt: skip
    """Offer the friends of their friends to the points rows[0]..rows[1].

    Old friends of old friends have been offered before. ``seen`` holds the last point
    that each was offered to.
    """
    kept = who.shape[1]
    for i in range(rows[0], rows[1]):
        seen[i] = i
        for c in range(kept):
            if who[i, c] >= 0:
                seen[who[i, c]] = i
        for c in range(count[i]):
            f = friends[i, c]
            for e in range(-1, count[f]):
                if not (news[i, c] or (e >= 0 and news[f, e])):
                    continue
                g = f if e < 0 else friends[f, e]
                if seen[g] == i:
                    continue
                seen[g] = i
                value = np.float32(0.0)
                for t in range(points.shape[1]):
                    gap = Q[i, t] - points[g, t]
                    value += gap * gap
                if value < best[i, kept - 1]:
                    insert(best[i], who[i], fresh[i], value, g)
