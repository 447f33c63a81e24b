"""Compiled parts of the assignment with given sizes, which call each other.

For every ordered pair of clusters (j, t) a heap holds the rows of j, the one that
moves to t most cheaply on top: a pairing heap, because a row that leaves j is removed
from the middle of all heaps of j. If few rows must move, scanning all of them each time
is faster than filling the heaps.
"""

from typing import NamedTuple

import numpy as np

from lordclust._core.jit import njit
from lordclust._core.typing import FloatArray, IntArray

NONE = -1


class Heaps(NamedTuple):
    """All heaps: node (i, t) is the move of row i from its cluster to t."""

    cost: FloatArray  # (n, k)
    child: IntArray  # (n, k): first child of a node
    after: IntArray  # (n, k): next sibling
    before: IntArray  # (n, k): previous sibling, or the parent of a first child
    root: IntArray  # (k, k): top of heap (j, t)


@njit
def link(heaps: Heaps, j: int, t: int, a: int, b: int) -> int:
    """Merge two trees of heap (j, t) and return the root."""
    if a == NONE:
        return b
    if b == NONE:
        return a
    cost = heaps.cost
    if cost[b, t] - cost[b, j] < cost[a, t] - cost[a, j]:
        a, b = b, a
    first = heaps.child[a, t]
    heaps.after[b, t] = first
    heaps.before[b, t] = a
    if first != NONE:
        heaps.before[first, t] = b
    heaps.child[a, t] = b
    return a


@njit
def merge_children(heaps: Heaps, j: int, t: int, i: int) -> int:
    """Merge all children of a node, in pairs, then from the right; return the root."""
    after, before = heaps.after, heaps.before
    node, pairs = heaps.child[i, t], NONE
    while node != NONE:
        second = after[node, t]
        rest = after[second, t] if second != NONE else NONE
        after[node, t] = NONE
        if second != NONE:
            after[second, t] = NONE
        pair = link(heaps, j, t, node, second)
        after[pair, t] = pairs  # a stack of pairs, the last one on top
        pairs, node = pair, rest
    tree = NONE
    while pairs != NONE:
        rest = after[pairs, t]
        after[pairs, t] = NONE
        tree = link(heaps, j, t, tree, pairs)
        pairs = rest
    if tree != NONE:
        before[tree, t] = NONE
    heaps.child[i, t] = NONE
    return tree


@njit
def push(heaps: Heaps, j: int, t: int, i: int) -> None:
    """Insert row i into heap (j, t)."""
    heaps.child[i, t] = heaps.after[i, t] = heaps.before[i, t] = NONE
    heaps.root[j, t] = link(heaps, j, t, heaps.root[j, t], i)


@njit
def remove(heaps: Heaps, j: int, t: int, i: int) -> None:
    """Remove row i from heap (j, t)."""
    tree = merge_children(heaps, j, t, i)
    if heaps.root[j, t] == i:
        heaps.root[j, t] = tree
        return
    left, right = heaps.before[i, t], heaps.after[i, t]
    if heaps.child[left, t] == i:  # left is the parent
        heaps.child[left, t] = right
    else:
        heaps.after[left, t] = right
    if right != NONE:
        heaps.before[right, t] = left
    heaps.root[j, t] = link(heaps, j, t, heaps.root[j, t], tree)


@njit
def move(heaps: Heaps, labels: IntArray, i: int, target: int) -> None:
    """Move row i to another cluster."""
    source = labels[i]
    for t in range(heaps.root.shape[0]):
        if t != source:
            remove(heaps, source, t, i)
    labels[i] = target
    for t in range(heaps.root.shape[0]):
        if t != target:
            push(heaps, target, t, i)


@njit
def weigh(
    heaps: Heaps, labels: IntArray, weight: FloatArray, cheapest: IntArray,
    j: int, few: bool,
) -> None:  # fmt: skip
    """Set the edges from j: the least cost of moving a row of j to each cluster.

    The rows to move are written to ``cheapest``: tops of heaps, or found by a scan.
    """
    cost = heaps.cost
    n, k = cost.shape
    for t in range(k):
        weight[j, t] = np.inf
        i = NONE if few else heaps.root[j, t]
        if i != NONE:
            weight[j, t] = cost[i, t] - cost[i, j]
            cheapest[j, t] = i
    if not few:
        return
    for i in range(n):
        if labels[i] == j:
            for t in range(k):
                step = cost[i, t] - cost[i, j]
                if t != j and step < weight[j, t]:
                    weight[j, t] = step
                    cheapest[j, t] = i


@njit
def price_of(cost: FloatArray, price: FloatArray, j: int, low: int, high: int) -> float:
    """Return the price of j at which its size is in bounds, given other prices.

    Between bounds that differ a price other than 0 is not needed.
    """
    n, k = cost.shape
    if low == high and (low == 0 or low == n):
        return float(price[j])
    gap = np.empty(n)  # the price above which a row chooses j
    for i in range(n):
        other = np.inf
        for t in range(k):
            if t != j:
                other = min(other, cost[i, t] - price[t])
        gap[i] = cost[i, j] - other
    size = low
    if low < high:
        free = int((gap < 0).sum())
        if low <= free <= high:
            return 0.0
        size = low if free < low else high
    gap = np.partition(gap, size)
    return float(0.5 * (gap[:size].max() + gap[size]))


@njit
def improve_prices(
    cost: FloatArray, price: FloatArray, low: IntArray, high: IntArray, sweeps: int
) -> None:
    """Adjust prices so that all sizes are nearly met, one cluster after the other.

    Each price is the best one given the others: coordinate ascent on the dual problem,
    which gets close but, as the dual is not smooth, need not converge to a solution.
    """
    for _ in range(sweeps):
        for j in range(cost.shape[1]):
            price[j] = price_of(cost, price, j, low[j], high[j])


@njit
def send_one(
    weight: FloatArray, price: FloatArray, surplus: IntArray, source: int,
    dist: FloatArray, parent: IntArray,
) -> int:  # fmt: skip
    """Return where one more row of ``source`` goes; update prices and surplus.

    It is the nearest cluster with too few rows, by Dijkstra's method. Lengths are
    weight[j, t] + price[j] - price[t]: nonnegative up to rounding.
    """
    k = weight.shape[0]
    done = np.zeros(k, np.bool_)
    dist[:] = np.inf
    dist[source] = 0.0
    while True:
        j = NONE
        for t in range(k):
            if not done[t] and (j == NONE or dist[t] < dist[j]):
                j = t
        if surplus[j] < 0:
            break
        done[j] = True
        for t in range(k):
            far = dist[j] + max(weight[j, t] + price[j] - price[t], 0.0)
            if not done[t] and far < dist[t]:
                dist[t] = far
                parent[t] = j
    for t in range(k):
        price[t] += min(dist[t], dist[j])
    surplus[source] -= 1
    surplus[j] += 1
    return j


@njit
def open_pool(
    weight: FloatArray, target: IntArray, low: IntArray, high: IntArray, j: int
) -> None:
    """Set the edges between j and the pool: whether the target of j may change."""
    pool = len(target)
    weight[j, pool] = 0.0 if target[j] < high[j] else np.inf
    weight[pool, j] = 0.0 if target[j] > low[j] else np.inf


@njit
def balance(
    heaps: Heaps, labels: IntArray, price: FloatArray, surplus: IntArray,
    target: IntArray, low: IntArray, high: IntArray, few: bool,
) -> None:  # fmt: skip
    """Move rows until no cluster has a surplus, along shortest paths.

    ``labels`` must minimise cost[i, j] - price[j] in every row; at the end they do
    so for the new prices. Heaps are used, and filled first, unless there are few moves.

    After the k clusters comes the pool, which exchanges no rows: a step from j to the
    pool raises the target size of j by one, a step from the pool to j lowers it.
    """
    k = heaps.root.shape[0]
    if not few:
        for i in range(len(labels)):
            for t in range(k):
                if t != labels[i]:
                    push(heaps, labels[i], t, i)
    weight = np.full((k + 1, k + 1), np.inf)
    cheapest = np.zeros((k, k), np.int64)
    for j in range(k):
        weigh(heaps, labels, weight, cheapest, j, few)
        open_pool(weight, target, low, high, j)
    dist, parent = np.empty(k + 1), np.empty(k + 1, np.int64)
    for source in range(k + 1):
        while surplus[source] > 0:
            end = send_one(weight, price, surplus, source, dist, parent)
            t = end
            while t != source:
                before = parent[t]
                if t == k:
                    target[before] += 1
                elif before == k:
                    target[t] -= 1
                elif few:
                    labels[cheapest[before, t]] = t
                else:
                    move(heaps, labels, cheapest[before, t], t)
                t = before
            t = end
            while True:
                if t < k:
                    weigh(heaps, labels, weight, cheapest, t, few)
                    open_pool(weight, target, low, high, t)
                if t == source:
                    break
                t = parent[t]
