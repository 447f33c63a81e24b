"""Compiled parts of the search by cells, which call each other."""

import numpy as np

from lordclust._core.jit import njit_with
from lordclust._core.typing import BoolArray, FloatArray, IntArray
from lordclust.graph import _brute_kernels
from lordclust.graph._brute_kernels import scan_line

njit = njit_with(_brute_kernels, counts=False)


@njit_with()
def multiply(A: FloatArray, B: FloatArray, out: FloatArray) -> None:
    """Write A B' by BLAS."""
    np.dot(A, B.T, out)


@njit
def compare_cells(
    Q: FloatArray, first: int, moves: FloatArray, offsets: FloatArray,
    norms: FloatArray, spans: IntArray, wanted: BoolArray, best: FloatArray,
    who: IntArray, some: IntArray, memory: FloatArray,
) -> None:  # fmt: skip
    """Compare the points from the first on with cells: wanted[i, j] are i and spans[j].

    Q and the offsets are relative to the centres of their own cells, which are
    moves[j] apart: a distant origin would lose precision.
    """
    picked, memory = carved(memory, len(Q), Q.shape[1])
    lengths, memory = memory[: len(Q)], memory[len(Q) :]
    for j in range(len(spans)):
        m, start, stop = 0, spans[j, 0], spans[j, 1]
        for i in range(len(Q)):
            if wanted[i, j]:
                lengths[m] = shift(Q[i], moves[j], picked[m])
                some[m] = first + i
                m += 1
        if m == 0:
            continue
        tile = memory[: m * (stop - start)].reshape(m, stop - start)
        multiply(picked[:m], offsets[start:stop], tile)
        for r in range(m):
            i = some[r]
            scan_line(tile[r], lengths[r], norms[start:stop], i, start, best[i], who[i])


@njit
def carved(
    memory: FloatArray, rows: int, columns: int
) -> tuple[FloatArray, FloatArray]:
    """Return an array in the first part of the memory, and the rest."""
    size = rows * columns
    return memory[:size].reshape(rows, columns), memory[size:]


@njit
def shift(x: FloatArray, middle: FloatArray, out: FloatArray) -> np.floating:
    """Write x - middle, and return its squared length."""
    total = np.float32(0.0)
    for t in range(len(x)):
        gap = x[t] - middle[t]
        out[t] = gap
        total += gap * gap
    return total


@njit
def list_neighbours(
    who: IntArray, fresh: BoolArray, part: tuple[int, int], near: IntArray,
    news: BoolArray, count: IntArray,
) -> None:  # fmt: skip
    """List the neighbours of the points part[0]..part[1], then whose neighbour each is.

    Of the latter the nearest come first, as many as fit. ``fresh`` marks neighbours
    found in the last round, and ``news`` marks the same ones in the lists.
    """
    n, kept = who.shape
    for i in range(part[0], part[1]):
        count[i] = 0
        for c in range(kept):
            if who[i, c] >= 0:
                near[i, count[i]] = who[i, c]
                news[i, count[i]] = fresh[i, c]
                count[i] += 1
    for c in range(kept):
        for i in range(n):
            f = who[i, c]
            if not part[0] <= f < part[1]:
                continue
            if count[f] < near.shape[1] and not holds(who[f], i):
                near[f, count[f]] = i
                news[f, count[f]] = fresh[i, c]
                count[f] += 1


@njit
def holds(values: IntArray, value: int) -> np.bool_:
    """Return whether ``values`` contains ``value``."""
    found = np.int32(0)
    for t in range(len(values)):  # no branch: this loop runs in vectors
        found = found | np.int32(values[t] == value)
    return found > 0


@njit
def introduce(
    Q: FloatArray, points: FloatArray, near: IntArray, news: BoolArray,
    count: IntArray, part: tuple[int, int], best: FloatArray, who: IntArray,
    symmetric: bool, to: IntArray, whom: IntArray, distance: FloatArray,
    group: IntArray, memory: FloatArray,
) -> int:  # fmt: skip
    """Compare the neighbours of each of the points part[0]..part[1] with each other.

    Pairs without a new neighbour have been compared before. A pair that belongs in a
    list becomes an offer: of point ``whom`` to point ``to``. Return their number.
    """
    most, dim, last = near.shape[1] + 1, Q.shape[1], best.shape[1] - 1
    A, memory = carved(memory, most, dim)
    B, memory = carved(memory, most, dim)
    norms, memory = carved(memory, 3, most)
    a, b, limits = norms[0], norms[1], norms[2]
    offers = 0
    for f in range(part[0], part[1]):
        new = arrange(f, near[f], news[f], count[f], group)
        m = count[f] + 1
        if new == 0:
            continue
        for r in range(m):
            limits[r] = best[group[r], last]
            b[r] = shift(points[group[r]], points[f], B[r])
            if not symmetric:
                a[r] = shift(Q[group[r]], points[f], A[r])
        left, lengths = (B, b) if symmetric else (A, a)
        rows = new if symmetric else m
        tile = memory[: rows * m].reshape(rows, m)
        multiply(left[:rows], B[:m], tile)
        for r in range(rows):
            if not may_offer(tile[r], lengths[r], b[:m], limits[r], limits[:m]):
                continue
            g = group[r]
            for c in range(m if r < new else new):
                h, gap = group[c], lengths[r] + (b[c] - 2 * tile[r, c])
                if c == r:
                    continue
                if gap < limits[r] and not holds(who[g], h):
                    to[offers], whom[offers], distance[offers] = g, h, gap
                    offers += 1
                back = symmetric and c >= new
                if back and gap < limits[c] and not holds(who[h], g):
                    to[offers], whom[offers], distance[offers] = h, g, gap
                    offers += 1
    return offers


@njit
def arrange(
    f: int, near: IntArray, news: BoolArray, count: int, group: IntArray
) -> int:
    """Write the new neighbours, the others, and f; return the number of new ones."""
    new = 0
    for c in range(count):
        if news[c]:
            group[new] = near[c]
            new += 1
    at = new
    for c in range(count):
        if not news[c]:
            group[at] = near[c]
            at += 1
    group[at] = f
    return new


@njit
def may_offer(
    line: FloatArray, length: float, lengths: FloatArray, limit: float,
    limits: FloatArray,
) -> np.bool_:  # fmt: skip
    """Return whether any pair of a row of inner products is nearer than a limit."""
    one, zero = np.float32(1.0), np.float32(0.0)
    hits = zero
    for c in range(len(line)):  # no branch: this loop runs in vectors
        gap = length + (lengths[c] - 2 * line[c])
        hits += one if gap < max(limit, limits[c]) else zero
    return hits > 0


@njit
def accept(
    to: IntArray, whom: IntArray, distance: FloatArray, offers: int,
    part: tuple[int, int], best: FloatArray, who: IntArray, fresh: BoolArray,
) -> None:  # fmt: skip
    """Insert offers to the points part[0]..part[1] into their lists."""
    last = best.shape[1] - 1
    for u in range(offers):
        g = to[u]
        if not part[0] <= g < part[1]:
            continue
        if distance[u] < best[g, last] and not holds(who[g], whom[u]):
            insert(best[g], who[g], fresh[g], distance[u], whom[u])


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
