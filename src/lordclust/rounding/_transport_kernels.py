"""Compiled parts of the assignment with given sizes; they call each other, so one file.

For every ordered pair of clusters (j, t) a heap holds the rows of j, the one that
moves to t most cheaply on top: a pairing heap, because a row that leaves j is taken
out of the middle of all heaps of j. Where few rows are to move, looking through all of
them each time is quicker than filling the heaps.
"""

from typing import Any, NamedTuple

import numpy as np

from lordclust._core.jit import njit

NONE = -1


class Heaps(NamedTuple):
    """All heaps: node (i, t) stands for the move of row i from its cluster to t."""

    cost: Any  # (n, k)
    child: Any  # (n, k): first child of a node
    after: Any  # (n, k): next sibling
    before: Any  # (n, k): sibling before, or the parent of a first child
    root: Any  # (k, k): top of heap (j, t)


@njit
def link(heaps: Any, j: int, t: int, a: int, b: int) -> int:
    """Return the root of two trees of heap (j, t) made one."""
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
def merge_children(heaps: Any, j: int, t: int, i: int) -> int:
    """Return one tree of all children of a node: in pairs, then from the right."""
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
def push(heaps: Any, j: int, t: int, i: int) -> None:
    """Put row i into heap (j, t)."""
    heaps.child[i, t] = heaps.after[i, t] = heaps.before[i, t] = NONE
    heaps.root[j, t] = link(heaps, j, t, heaps.root[j, t], i)


@njit
def remove(heaps: Any, j: int, t: int, i: int) -> None:
    """Take row i out of heap (j, t)."""
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
def fill(heaps: Any, labels: Any) -> None:
    """Put every row into the heaps of its cluster."""
    k = heaps.root.shape[0]
    for i in range(labels.shape[0]):
        for t in range(k):
            if t != labels[i]:
                push(heaps, labels[i], t, i)


@njit
def move(heaps: Any, labels: Any, i: int, target: int) -> None:
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
def weigh(heaps: Any, weight: Any, j: int) -> None:
    """Set the edges from j: the least cost of moving a row of j to each cluster."""
    for t in range(weight.shape[0]):
        i = heaps.root[j, t]
        weight[j, t] = np.inf if i == NONE else heaps.cost[i, t] - heaps.cost[i, j]


@njit
def look_through(cost: Any, labels: Any, weight: Any, cheapest: Any, j: int) -> None:
    """Do as ``weigh`` does, without heaps; ``cheapest`` holds the rows to move."""
    k = cost.shape[1]
    for t in range(k):
        weight[j, t] = np.inf
    for i in range(cost.shape[0]):
        if labels[i] == j:
            for t in range(k):
                step = cost[i, t] - cost[i, j]
                if t != j and step < weight[j, t]:
                    weight[j, t] = step
                    cheapest[j, t] = i


@njit
def price_of(cost: Any, price: Any, j: int, size: int) -> Any:
    """Return the price of j at which ``size`` rows choose it, others as they are."""
    n, k = cost.shape
    if size == 0 or size == n:
        return price[j]
    gap = np.empty(n)  # above which price a row chooses j
    for i in range(n):
        other = np.inf
        for t in range(k):
            if t != j:
                other = min(other, cost[i, t] - price[t])
        gap[i] = cost[i, j] - other
    gap = np.partition(gap, size)
    return 0.5 * (gap[:size].max() + gap[size])


@njit
def level(cost: Any, price: Any, sizes: Any, sweeps: int) -> None:
    """Bring prices near to where all sizes are met, one cluster after the other.

    Each price is the best one for the prices of the others: coordinate ascent on the
    dual problem, which gets close but, as the dual is not smooth, may never arrive.
    """
    for _ in range(sweeps):
        for j in range(cost.shape[1]):
            price[j] = price_of(cost, price, j, sizes[j])


@njit
def nearest_deficit(
    weight: Any, price: Any, surplus: Any, source: int, dist: Any, parent: Any
) -> int:
    """Return the nearest cluster with too few rows, by Dijkstra's method.

    Lengths are weight[j, t] + price[j] - price[t]: not negative but for rounding.
    Distances of clusters further away are left at that of the one returned.
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
        dist[t] = min(dist[t], dist[j])
    return j


@njit
def send_one(
    weight: Any, price: Any, surplus: Any, source: int, dist: Any, parent: Any
) -> Any:
    """Return where one row more of ``source`` goes, prices and surplus up to date."""
    target = nearest_deficit(weight, price, surplus, source, dist, parent)
    for j in range(weight.shape[0]):
        price[j] += dist[j]
    surplus[source] -= 1
    surplus[target] += 1
    return target


@njit
def balance_few(cost: Any, labels: Any, price: Any, surplus: Any) -> None:
    """Do as ``balance`` does, without heaps."""
    k = cost.shape[1]
    weight, cheapest = np.full((k, k), np.inf), np.zeros((k, k), np.int64)
    for j in range(k):
        look_through(cost, labels, weight, cheapest, j)
    dist, parent = np.empty(k), np.empty(k, np.int64)
    for source in range(k):
        while surplus[source] > 0:
            target = send_one(weight, price, surplus, source, dist, parent)
            t = target
            while t != source:
                labels[cheapest[parent[t], t]] = t
                t = parent[t]
            t = target
            while t != source:
                look_through(cost, labels, weight, cheapest, t)
                t = parent[t]
            look_through(cost, labels, weight, cheapest, source)


@njit
def balance(heaps: Any, labels: Any, price: Any, surplus: Any) -> None:
    """Move rows until no cluster has a surplus, along shortest paths.

    ``labels`` must minimise cost[i, j] - price[j] in every row; at the end they do
    so for the new prices.
    """
    k = heaps.root.shape[0]
    weight = np.full((k, k), np.inf)
    for j in range(k):
        weigh(heaps, weight, j)
    dist, parent = np.empty(k), np.empty(k, np.int64)
    for source in range(k):
        while surplus[source] > 0:
            target = send_one(weight, price, surplus, source, dist, parent)
            # From the end: a row that moved in must not be the next to move on.
            t = target
            while t != source:
                move(heaps, labels, heaps.root[parent[t], t], t)
                t = parent[t]
            t = target
            while t != source:
                weigh(heaps, weight, t)
                t = parent[t]
            weigh(heaps, weight, source)
