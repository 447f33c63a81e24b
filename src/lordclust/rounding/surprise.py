"""How much the labels of neighbours fail to tell a sample's own label."""

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray

#: Labels that neighbours determine up to this many nats are clear: at least, and for
#: each sample.
CLEAR, CLEAR_EACH = 1.0, 1e-4


def is_clear(surprise: float, n: int) -> bool:
    """Return whether neighbours determine the labels of n samples."""
    return surprise < max(CLEAR, CLEAR_EACH * n)


def neighbour_surprise(S: Graph, labels: IntArray, n_clusters: int) -> float:
    """Return the entropy of the label at one end of an edge, given the other.

    Edges are drawn with probabilities proportional to their similarities, which must
    not be negative. Without edges it is 0.
    """
    joint = between_clusters(S, labels, n_clusters)
    total = joint.sum()
    if total <= 0:
        return 0.0
    joint = joint / total
    return max(0.0, entropy(joint) - entropy(joint.sum(axis=1)))


def entropy(p: FloatArray) -> float:
    """Return the entropy of probabilities in nats."""
    p = p[p > 0]
    return -float((p * np.log(p)).sum())


def between_clusters(S: Graph, labels: IntArray, k: int) -> FloatArray:
    """Return the total similarity between each pair of clusters."""
    if sparse.issparse(S):
        edges = sparse.coo_array(S)
        pairs = labels[edges.row].astype(np.int64) * k + labels[edges.col]
        sums = np.bincount(pairs, edges.data, minlength=k * k)
        return np.asarray(sums.reshape(k, k), dtype=np.float64)
    member = (labels[:, None] == np.arange(k)).astype(np.float64)
    return np.asarray(member.T @ (S @ member))
