"""Pairs of samples that belong together, and pairs that do not, as edges of S."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from lordclust._core.typing import ArrayLike, FloatArray, Graph, IntArray
from lordclust._core.validation import check_pairs


class Links(NamedTuple):
    """Must-links and cannot-links: soft constraints, as strong edges of S."""

    must: IntArray
    cannot: IntArray

    def added_to(self, S: Graph) -> Graph:
        """Return S with a strong edge for each pair: +w together, -w apart.

        w is the mean of the two samples' sums of similarities, each taken as at least
        the median of all: a link weighs as much as all their neighbours. The similarity
        of a pair that must be apart is removed.
        """
        degree = np.asarray(abs(S).sum(axis=1)).ravel()
        degree = np.maximum(degree, np.median(degree))
        apart = _edges(self.cannot, np.ones_like(degree))
        change = _edges(self.must, degree) - _edges(self.cannot, degree)
        if sparse.issparse(S):
            return sparse.csr_array(S - apart * S + change)
        return np.asarray(S - apart.toarray() * S + change.toarray())


def check_links(
    must: ArrayLike | None, cannot: ArrayLike | None, known: IntArray | None, n: int
) -> Links | None:
    """Return the pairs, if they and the known labels do not contradict each other.

    Must-links are transitive: what holds for one sample of a chain holds for all. None
    if there are no pairs.
    """
    if must is None and cannot is None:
        return None
    together = check_pairs(must, n, "must_link")
    apart = check_pairs(cannot, n, "cannot_link")
    if not len(together) and not len(apart):
        return None
    _, group = connected_components(_edges(together, np.ones(n)), directed=False)
    label = np.full(n, -1) if known is None else known
    # All of a group have the label that one of them has.
    top = np.full(group.max() + 1, label.min())
    np.maximum.at(top, group, label)
    clash = np.flatnonzero((label >= 0) & (label != top[group]))
    if clash.size:
        a = clash[0]
        b = np.flatnonzero((group == group[a]) & (label == top[group[a]]))[0]
        raise ValueError(
            f"must_link joins samples {a} and {b}, if only through others, but their "
            f"known_labels are {label[a]} and {label[b]}. Remove one of the two."
        )
    label = top[group]
    i, j = apart.T
    _refuse(apart[group[i] == group[j]], "must_link joins them")
    same = (label[i] == label[j]) & (label[i] >= 0)
    _refuse(apart[same], "known_labels give both the same label")
    return Links(together, apart)


def _edges(pairs: IntArray, strength: FloatArray) -> sparse.csr_array:
    """Return the symmetric graph of some pairs, weighted by their mean strength."""
    n = len(strength)
    i, j = np.unique(np.sort(pairs, axis=1), axis=0).T
    w = (strength[i] + strength[j]) / 2
    graph = sparse.csr_array((w, (i, j)), shape=(n, n))
    return graph + graph.T


def _refuse(pairs: IntArray, why: str) -> None:
    """Raise an error if pairs to keep apart are joined by something else."""
    if len(pairs):
        a, b = pairs[0]
        raise ValueError(
            f"cannot_link keeps samples {a} and {b} apart, but {why}, if only through "
            "others. Remove one of the two."
        )
