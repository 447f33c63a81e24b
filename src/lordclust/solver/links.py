"""Pairs of samples that must or must not share a cluster, as edges of S."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from lordclust._core.typing import ArrayLike, FloatArray, Graph, IntArray
from lordclust._core.validation import check_pairs


class Links(NamedTuple):
    """Must-links and cannot-links; the solver takes them as strong edges of S."""

    must: IntArray
    cannot: IntArray

    def added_to(self, S: Graph) -> Graph:
        """Return S with a strong edge for each pair: +w together, -w apart.

        w is the mean of the two samples' degrees, each taken as at least the median
        degree: a link weighs as much as all their neighbours. The similarity of a pair
        that must be apart is removed.
        """
        degree = np.asarray(abs(S).sum(axis=1)).ravel()
        degree = np.maximum(degree, np.median(degree))
        apart = _edges(self.cannot, np.ones_like(degree))
        change = _edges(self.must, degree) - _edges(self.cannot, degree)
        if sparse.issparse(S):
            return sparse.csr_array(S - apart * S + change)
        return np.asarray(S - apart.toarray() * S + change.toarray())

    def broken(self, labels: IntArray) -> IntArray:
        """Return the links that labels do not meet, must-links first."""
        a, b = labels[self.must.T], labels[self.cannot.T]
        return np.concatenate([self.must[a[0] != a[1]], self.cannot[b[0] == b[1]]])


def check_links(
    must: ArrayLike | None, cannot: ArrayLike | None, known: IntArray | None, n: int
) -> Links | None:
    """Return the pairs, or None if there are none; raise an error if they conflict.

    Must-links are transitive: samples connected by a chain of them share a cluster.
    """
    if must is None and cannot is None:
        return None
    together = check_pairs(must, n, "must_link")
    apart = check_pairs(cannot, n, "cannot_link")
    if not len(together) and not len(apart):
        return None
    _, group = connected_components(_edges(together, np.ones(n)), directed=False)
    label = np.full(n, -1) if known is None else known
    # A known label of one sample applies to its group.
    top = np.full(group.max() + 1, label.min())
    np.maximum.at(top, group, label)
    clash = np.flatnonzero((label >= 0) & (label != top[group]))
    if clash.size:
        a = clash[0]
        b = np.flatnonzero((group == group[a]) & (label == top[group[a]]))[0]
        raise ValueError(
            f"must_link connects samples {a} and {b}, directly or through others, but "
            f"their known_labels are {label[a]} and {label[b]}. Remove one of the two."
        )
    label = top[group]
    i, j = apart.T
    _check_none(apart[group[i] == group[j]], "must_link connects them")
    same = (label[i] == label[j]) & (label[i] >= 0)
    _check_none(apart[same], "known_labels assign the same label to both")
    return Links(together, apart)


def _edges(pairs: IntArray, strength: FloatArray) -> sparse.csr_array:
    """Return the symmetric graph of some pairs, weighted by their mean strength."""
    n = len(strength)
    i, j = np.unique(np.sort(pairs, axis=1), axis=0).T
    w = (strength[i] + strength[j]) / 2
    graph = sparse.csr_array((w, (i, j)), shape=(n, n))
    return graph + graph.T


def _check_none(pairs: IntArray, why: str) -> None:
    """Raise an error if there are any pairs to keep apart that must be together."""
    if len(pairs):
        a, b = pairs[0]
        raise ValueError(
            f"cannot_link separates samples {a} and {b}, but {why}, directly or "
            "through others. Remove one of the two."
        )
