"""Distances through dense regions, and single linkage with a limit on sizes."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from lordclust._core.jit import inlined, njit
from lordclust._core.lazy import lazy_property
from lordclust._core.typing import FloatArray, Graph, IntArray

TINY = float(np.finfo(np.float64).tiny)
#: The neighbour whose distance is a sample's core distance.
CORE = 5


@dataclass(frozen=True)
class Reach:
    """Mutual reachability distances of the edges of a neighbour graph.

    The core distance of a sample is that of its fifth neighbour. An edge is at least as
    long as the core distances of both its ends: in sparse regions all edges are long.

    Attributes
    ----------
    n : int
        Number of samples.
    i, j : ndarray of int, shape (m,)
        The ends of each edge, i < j.
    distance : ndarray of shape (m,)
        Their distance.
    reach : ndarray of shape (m,)
        Their mutual reachability distance.
    unit : float
        The median core distance.
    """

    n: int
    i: IntArray
    j: IntArray
    distance: FloatArray
    reach: FloatArray
    unit: float

    @classmethod
    def of(cls, S: Graph, scales: FloatArray) -> "Reach":
        """Return the distances that a self-tuning graph was computed from.

        Parameters
        ----------
        S : ndarray or csr_array of shape (n, n)
            S_ij = exp(-d_ij^2 / (sigma_i sigma_j)); 0 and less are no edges. An edge of
            weight 1 or more (a must-link, for example) has length 0.
        scales : ndarray of shape (n,)
            The local scales sigma.
        """
        edges = sparse.coo_array(S)
        kept = (edges.data > 0) & (edges.row < edges.col)
        i, j = edges.row[kept], edges.col[kept]
        nats = np.maximum(-np.log(edges.data[kept].astype(np.float64)), 0.0)
        distance = np.sqrt(nats) * np.sqrt(scales[i]) * np.sqrt(scales[j])
        # The length of each sample's fifth edge, or of its longest if it has fewer.
        # A single key is sorted several times faster than by sample, then by length.
        ends, both = np.concatenate([i, j]), np.concatenate([distance, distance])
        order = np.argsort(ends + both / (2 * both.max(initial=TINY)))
        n, count = len(scales), np.bincount(ends, minlength=len(scales))
        at = np.cumsum(count) - count + np.minimum(CORE, count) - 1
        core = np.zeros(n)
        core[count > 0] = both[order][at[count > 0]]
        reach = np.maximum(distance, np.maximum(core[i], core[j]))
        unit = float(np.median(core[core > 0])) if core.any() else 1.0
        return cls(n, i, j, distance, reach, unit)

    def similarity(self) -> Graph:
        """Return exp(-(reach / unit)^2): the same scale everywhere, unlike S."""
        with np.errstate(under="ignore"):
            weight = np.exp(-((self.reach / self.unit) ** 2))
        half = sparse.coo_array((weight, (self.i, self.j)), shape=(self.n, self.n))
        return half + half.T

    @lazy_property
    def tree(self) -> Graph:
        """The minimum spanning tree; edges are numbered, the shortest first."""
        rank = np.empty(len(self.i))
        rank[np.lexsort((self.distance, self.reach))] = np.arange(1, len(rank) + 1)
        edges = sparse.csr_matrix((rank, (self.i, self.j)), shape=(self.n, self.n))
        return minimum_spanning_tree(edges)


def linkage_labels(tree: Graph, k: int, unevenness: float) -> IntArray | None:
    """Return k clusters of a spanning tree by the Genie algorithm, or None.

    Clusters are merged along the shortest edge, as in single linkage. While the Gini
    index of their sizes exceeds ``unevenness``, only edges of a smallest cluster are
    considered, so that outliers do not remain clusters of their own (Gagolewski,
    Bartoszuk and Cena, 2016). The published algorithm uses all pairs of samples; here
    None is returned if the graph has more than k components.

    Examples
    --------
    >>> from lordclust.graph import KNNGraph
    >>> graph = KNNGraph(2)
    >>> S = graph.build([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> linkage_labels(Reach.of(S, graph.scales_).tree, 2, 0.5)
    array([0, 0, 0, 1, 1, 1])
    """
    tree = tree.tocoo()
    order = np.argsort(tree.data)
    ends = tree.row[order].astype(np.int64), tree.col[order].astype(np.int64)
    n, root = tree.shape[0], np.arange(tree.shape[0])
    # How many clusters have each size, and the next larger size that occurs: there are
    # at most sqrt(2 n) of them.
    count, after = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.int64)
    count[1], after[0], after[1] = n, 1, n + 1
    size, used = np.ones(n, np.int64), np.zeros(len(order), bool)
    _merge(*ends, k, unevenness, root, size, count, after, used)
    found, labels = np.unique(root, return_inverse=True)
    return np.asarray(labels, dtype=np.int64) if len(found) == k else None


@partial(inlined, counts=False)
def _find(root, a):  # type: ignore[no-untyped-def]
    """Return the representative of a cluster; paths to it are halved."""
    while root[a] != a:
        root[a] = root[root[a]]
        a = root[a]
    return a


@partial(njit, counts=False)
def _merge(i, j, k, unevenness, root, size, count, after, used):  # type: ignore[no-untyped-def]
    """Put a representative of each sample's cluster into ``root``.

    There are at most n - k merges. ``used`` marks edges that have been looked at.
    """
    n = len(root)
    shortest, of_smallest, smallest = 0, 0, 0  # the next edges to look at
    for left in range(n, k, -1):
        spread, below, total = 0.0, 0, 0
        s = after[0]
        while s <= n:
            spread += count[s] * (s * float(below) - total)
            below += count[s]
            total += count[s] * s
            s = after[s]
        while shortest < len(i) and used[shortest]:
            shortest += 1
        if shortest == len(i):
            break
        edge = shortest
        if spread > unevenness * (left - 1.0) * n:
            if after[0] != smallest:
                smallest, of_smallest = after[0], 0
            while of_smallest < len(i):
                if not used[of_smallest]:
                    a, b = _find(root, i[of_smallest]), _find(root, j[of_smallest])
                    if size[a] == smallest or size[b] == smallest:
                        edge = of_smallest
                        break
                of_smallest += 1
        used[edge] = True
        a, b = _find(root, i[edge]), _find(root, j[edge])
        for end in range(2):
            old = size[b] if end else size[a]
            count[old] -= 1
            if count[old] == 0:
                s = 0
                while after[s] != old:
                    s = after[s]
                after[s] = after[old]
        root[b] = a
        size[a] += size[b]
        new = size[a]
        if count[new] == 0:
            s = 0
            while after[s] < new:
                s = after[s]
            after[new] = after[s]
            after[s] = new
        count[new] += 1
    for v in range(n):
        root[v] = _find(root, v)
