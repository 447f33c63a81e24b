"""What users know about single samples and pairs of them, as parts of the problem."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.validation import check_pairs


class Links(NamedTuple):
    """Pairs of samples that belong together, and pairs that do not."""

    must: IntArray
    cannot: IntArray

    def into(self, S: Graph) -> Graph:
        """Return S with a strong edge for each pair: +w together, -w apart.

        w is the mean of the two samples' sums of similarities, each taken as at least
        the median of all: a link weighs as much as all their neighbours. What S says
        of a pair that must be apart is taken out.
        """
        if not len(self.must) and not len(self.cannot):
            return S
        degree = np.asarray(abs(S).sum(axis=1)).ravel()
        degree = np.maximum(degree, np.median(degree))
        apart = _edges(self.cannot, np.ones_like(degree))
        change = _edges(self.must, degree) - _edges(self.cannot, degree)
        if sparse.issparse(S):
            return sparse.csr_array(S - apart * S + change)
        return np.asarray(S - apart.toarray() * S + change.toarray())


def _edges(pairs: IntArray, strength: FloatArray) -> Any:
    """Return the symmetric graph of some pairs, weighted by their mean strength."""
    n = len(strength)
    i, j = np.unique(np.sort(pairs, axis=1), axis=0).T
    w = (strength[i] + strength[j]) / 2
    graph = sparse.csr_array((w, (i, j)), shape=(n, n))
    return graph + graph.T


def check_links(must: Any, cannot: Any, known: IntArray | None, n: int) -> Links:
    """Return the pairs, if they and the known labels do not contradict each other.

    Being together is transitive: what holds for one of a chain holds for all.

    Examples
    --------
    >>> check_links([[0, 1]], None, None, n=3).must
    array([[0, 1]])
    """
    together = check_pairs(must, n, "must_link")
    apart = check_pairs(cannot, n, "cannot_link")
    _, group = connected_components(_edges(together, np.ones(n)), directed=False)
    label = np.full(n, -1) if known is None else known
    _refuse_split_groups(group, label)
    # All of a group have the label that one of them has.
    label = _largest_by_group(group, label)
    i, j = apart.T
    _refuse(apart[group[i] == group[j]], "must_link joins them")
    same = (label[i] == label[j]) & (label[i] >= 0)
    _refuse(apart[same], "known_labels give both the same label")
    return Links(together, apart)


def _refuse(pairs: IntArray, why: str) -> None:
    """Refuse pairs to keep apart that something else joins."""
    if len(pairs):
        a, b = pairs[0]
        raise ValueError(
            f"cannot_link keeps samples {a} and {b} apart, but {why}, if only through "
            "others. Remove one of the two."
        )


def _largest_by_group(group: IntArray, values: IntArray) -> IntArray:
    """Return for each sample the largest value in its group."""
    top = np.full(group.max() + 1, values.min())
    np.maximum.at(top, group, values)
    return np.asarray(top[group])


def _refuse_split_groups(group: IntArray, label: IntArray) -> None:
    """Refuse samples that must be together and have different known labels."""
    has = label >= 0
    highest = _largest_by_group(group, label)
    clash = np.flatnonzero(has & (label != highest))
    if clash.size:
        a = clash[0]
        b = np.flatnonzero((group == group[a]) & (label == highest[a]))[0]
        raise ValueError(
            f"must_link joins samples {a} and {b}, if only through others, but their "
            f"known_labels are {label[a]} and {label[b]}. Remove one of the two."
        )


def roomy_shares(known: IntArray | None, k: int, p: FloatArray | None) -> FloatArray:
    """Return shares as equal as the known labels leave room for.

    Examples
    --------
    >>> roomy_shares(np.array([0, 0, -1, -1]), 2, None).round(2)
    array([0.5, 0.5])
    """
    if known is None:
        return np.full(k, 1 / k)
    mass = np.full(len(known), 1 / len(known)) if p is None else p
    taken = np.bincount(known[known >= 0], mass[known >= 0], minlength=k)
    # A cluster without known samples gets some of what is left, however little.
    wanted = np.maximum(1 / k - taken, 1e-3 / k)
    return np.asarray(taken + (1 - taken.sum()) * wanted / wanted.sum())
