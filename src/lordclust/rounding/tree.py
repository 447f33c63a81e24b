"""Clusters of a spanning tree, cut at its longest edges into parts of some size."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from lordclust._core.jit import njit
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.rounding.spectral import components


def tree_labels(S: Graph, k: int, *, least: float = 0.5) -> IntArray | None:
    """Return k parts of the minimum spanning tree of the lengths -log S, or None.

    The longest edges are cut, except those that would leave a part of fewer than
    ``least * n / k`` samples: single linkage, without its chains and tiny clusters.
    Every component of the graph has a tree of its own. None is returned if the trees
    cannot be cut in this way, or if there are more than k components.

    Examples
    --------
    >>> from lordclust.graph import KNNGraph
    >>> S = KNNGraph(2).build([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> tree_labels(S, 2)
    array([0, 0, 0, 1, 1, 1])
    """
    n, pieces = S.shape[0], components(S)
    count = int(pieces.max()) + 1
    if count > k:
        return None
    order, parent, length = _rooted(S, np.unique(pieces, return_index=True)[1])
    cut = _cuts(order, parent, np.argsort(-length, kind="stable"), k, least * n / k)
    if cut.sum() + count != k:
        return None
    first = _spread(order, parent, cut)
    return np.asarray(np.unique(first, return_inverse=True)[1], dtype=np.int64)


def _rooted(S: Graph, roots: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the vertices from the root on, their parents, and the edges to those.

    The root is an additional vertex n, connected to one vertex of each component by
    edges of length -inf, which are never cut.
    """
    n = S.shape[0]
    W = sparse.csr_array(S, copy=True).astype(np.float64)
    W.data = np.where(W.data > 0, W.data, 0.0)
    W.eliminate_zeros()
    top = W.data.max(initial=1.0)
    W.data = 1.0 - np.log(W.data / top)  # lengths must be positive
    tree = minimum_spanning_tree(sparse.csr_matrix(W)).tocoo()
    rows = np.concatenate([tree.row, np.full(len(roots), n)])
    columns = np.concatenate([tree.col, roots])
    ones = np.ones(len(rows))
    T = sparse.csr_matrix((ones, (rows, columns)), shape=(n + 1, n + 1))
    order, parent = breadth_first_order(T, n, directed=False)
    lengths = np.full(n + 1, -np.inf)
    child = np.where(parent[tree.col] == tree.row, tree.col, tree.row)
    lengths[child] = tree.data
    return order.astype(np.int64), parent.astype(np.int64), lengths


@njit
def _cuts(order, parent, longest, k, least):  # type: ignore[no-untyped-def]
    """Return which vertices are cut from their parents."""
    n = len(order) - 1
    size = np.ones(n + 1)
    size[n] = 0.0
    for t in range(n, 0, -1):
        size[parent[order[t]]] += size[order[t]]
    cut = np.zeros(n + 1, np.bool_)
    count = 0
    for v in order[1:]:
        count += parent[v] == n
    for v in longest:
        if count == k:
            break
        if v == n or parent[v] == n or size[v] < least:
            continue
        top = v
        while parent[top] != n and not cut[top]:
            top = parent[top]
        if size[top] - size[v] < least:
            continue
        above = v
        while above != top:
            above = parent[above]
            size[above] -= size[v]
        cut[v] = True
        count += 1
    return cut


@njit
def _spread(order, parent, cut):  # type: ignore[no-untyped-def]
    """Return for each vertex the first one of its part."""
    n = len(order) - 1
    first = np.arange(n + 1)
    for v in order[1:]:
        if parent[v] != n and not cut[v]:
            first[v] = first[parent[v]]
    return first[:n]
