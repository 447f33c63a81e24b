"""Clusters of a spanning tree, cut at its longest edges into parts of some size."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.rounding.spectral import components


def similarity_tree(S: Graph) -> Graph:
    """Return the minimum spanning tree of the lengths -log S, all of them positive."""
    W = sparse.csr_matrix(S, copy=True).astype(np.float64)
    W.data = np.where(W.data > 0, W.data, 0.0)
    W.eliminate_zeros()
    W.data = 1.0 - np.log(W.data / W.data.max(initial=1.0))
    return minimum_spanning_tree(W)


def parts_of_tree(W: Graph, k: int, least: float) -> IntArray | None:
    """Return k parts of a spanning tree with the edge lengths W, or None.

    The longest edges are cut, except those that would leave a part of fewer than
    ``least`` samples: single linkage, without its tiny clusters. Every component of the
    graph has a tree of its own. None is returned if the trees cannot be cut in this
    way, or if there are more than k components.

    Examples
    --------
    >>> from lordclust.graph import KNNGraph
    >>> S = KNNGraph(2).build([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> parts_of_tree(similarity_tree(S), 2, 1)
    array([0, 0, 0, 1, 1, 1])
    """
    n, pieces = W.shape[0], components(W)
    count = int(pieces.max()) + 1
    if count > k:
        return None
    order, parent, length = _rooted(W, np.unique(pieces, return_index=True)[1])
    longest = np.argsort(-length, kind="stable")
    top = _cut(order, parent, longest[parent[longest] < n], k - count, least)
    if top is None:
        return None
    return np.asarray(np.unique(top, return_inverse=True)[1], dtype=np.int64)


def _rooted(W: Graph, roots: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the vertices from the root on, their parents, and the edges to those.

    The root is an additional vertex n, connected to one vertex of each component by
    edges of length -inf, which are never cut.
    """
    n, tree = W.shape[0], W.tocoo()
    rows = np.concatenate([tree.row, np.full(len(roots), n)])
    columns = np.concatenate([tree.col, roots])
    ones = np.ones(len(rows))
    T = sparse.csr_matrix((ones, (rows, columns)), shape=(n + 1, n + 1))
    order, parent = breadth_first_order(T, n, directed=False)
    lengths = np.full(n + 1, -np.inf)
    child = np.where(parent[tree.col] == tree.row, tree.col, tree.row)
    lengths[child] = tree.data
    return order.astype(np.int64), parent.astype(np.int64), lengths


def _cut(
    order: IntArray, parent: IntArray, longest: IntArray, count: int, least: float
) -> IntArray | None:
    """Cut ``count`` vertices from their parents; return the top vertex of each part.

    ``longest`` are the vertices that have an edge to cut, the longest edge first.
    """
    size, start = _subtrees(order, parent)
    inside = np.argsort(start)  # a subtree is inside[start : start + size]
    top = order.copy()
    for v in order[parent[order] == len(order) - 1]:
        top[inside[start[v] : start[v] + size[v]]] = v
    left, whole = longest, size.copy()
    for _ in range(count):
        # Parts only become smaller: an edge that cannot be cut now never can.
        enough = (size[left] >= least) & (size[top[left]] - size[left] >= least)
        left = left[enough]
        if left.size == 0:
            return None
        v, left = left[0], left[1:]
        above, old = v, top[v]
        while above != old:
            above = parent[above]
            size[above] -= size[v]
        subtree = inside[start[v] : start[v] + whole[v]]
        top[subtree[top[subtree] == old]] = v
    return top[:-1]


def _subtrees(order: IntArray, parent: IntArray) -> tuple[IntArray, IntArray]:
    """Return the size of each vertex' subtree, and its place from the root on."""
    above, path = parent.tolist(), order.tolist()
    size, start, free = [1] * len(path), [0] * len(path), [1] * len(path)
    for v in reversed(path[1:]):
        size[above[v]] += size[v]
    for v in path[1:]:  # subtrees in the order of their roots, side by side
        start[v] = free[above[v]]
        free[above[v]] += size[v]
        free[v] = start[v] + 1
    return np.array(size), np.array(start)
