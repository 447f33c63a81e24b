"""Novelty: how little the samples around support a sample.

The reach of a sample is the logarithm of the distance to its q-th neighbour: large
where samples are sparse. Its novelty is

    reach - (reach of its region) / 2 - (median reach) / 2

where the reach of the region is the mean at the end of a random walk of STEPS steps
from neighbour to neighbour: long enough to leave a group of outliers, and too short to
leave a cluster, so that a sparse cluster is not novel as a whole. The median counts
against groups far from all others. For similarities, the reach is minus the logarithm
of a sample's total similarity.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import BoolArray, FloatArray, Graph, IntArray, Samples
from lordclust.graph.extend import Extension
from lordclust.graph.kernel import SCALE_FLOOR, typical_scale
from lordclust.graph.knn import KNNGraph, find_nearest

#: Steps of the walk.
STEPS = 10
#: How many quartile distances above the third quartile is far out: Tukey's outer fence.
FENCE = 3.0
#: Total similarity of a sample that is similar to none.
NOTHING = 1e-300


class Surroundings(NamedTuple):
    """The reach of samples, and the weights of their neighbours; rows sum to 1."""

    reach: FloatArray
    weights: Graph


class Novelty:
    """Scores samples relative to fitted ones.

    Parameters
    ----------
    fitted : Surroundings
        Of the fitted samples.
    extension : Extension, optional
        Finds the neighbours of new samples, as many as the fitted ones have.

    Attributes
    ----------
    fitted : ndarray of shape (n,)
        The novelty of the fitted samples.
    local : ndarray of shape (n,)
        Their reach relative to that of the region alone.
    """

    def __init__(
        self, fitted: Surroundings, extension: Extension | None = None
    ) -> None:
        self.extension, self.region = extension, fitted.reach
        self.typical, self.least = np.median(fitted.reach), fitted.reach.min()
        for _ in range(STEPS - 1):
            self.region = fitted.weights @ self.region
        self.fitted = self._relative(fitted)
        self.local = fitted.reach - fitted.weights @ self.region

    def of(self, X: Samples) -> FloatArray:
        """Return the novelty of samples, or of rows of similarities to fitted ones.

        A copy of a fitted sample has its novelty.
        """
        if self.extension is None:
            return self._relative(by_similarity(X))
        index, d, rows = self.extension.nearest(X)
        index, d = index[:, : self.extension.count], d[:, : self.extension.count]
        with np.errstate(divide="ignore"):
            reach = np.maximum(np.log(d[:, -1]), self.least)
        new = self._relative(_by_lists(reach, index, len(self.region)))
        copies = d[:, 0] <= 1e-12 * d[:, -1]
        found = np.full(X.shape[0], np.inf)  # too far away to be measured
        found[rows] = np.where(copies, self.fitted[index[:, 0]], new)
        return found

    def _relative(self, samples: Surroundings) -> FloatArray:
        around = samples.weights @ self.region
        return np.asarray(samples.reach - (around + self.typical) / 2)


def novelty_of_samples(X: Samples, graph: KNNGraph) -> Novelty:
    """Return the novelty by distances, with the neighbours of a graph's settings.

    Examples
    --------
    >>> found = novelty_of_samples(np.array([[0.0], [1], [2], [3], [9]]), KNNGraph(2))
    >>> int(found.fitted.argmax())
    4
    """
    n, metric, search, recall = X.shape[0], graph.metric, graph.search, graph.recall
    q = graph.n_others(n)
    index, d, _ = find_nearest(X, q, metric, graph.n_jobs, search=search, recall=recall)
    least = SCALE_FLOOR * (typical_scale(d[:, -1], d) or 1 / SCALE_FLOOR)
    reach = np.log(np.maximum(d[:, -1], least))
    extension = Extension(X, q, metric=metric, search=search, recall=recall)
    return Novelty(_by_lists(reach, index, n), extension)


def _by_lists(reach: FloatArray, index: IntArray, n: int) -> Surroundings:
    """Return surroundings of q neighbours of equal weight."""
    m, q = index.shape
    parts = np.full(m * q, 1 / q), index.ravel(), np.arange(0, m * q + 1, q)
    return Surroundings(reach, sparse.csr_array(parts, shape=(m, n)))


def by_similarity(rows: Graph) -> Surroundings:
    """Return surroundings by similarities; negative ones count as 0."""
    W = sparse.csr_array(rows).astype(np.float64).maximum(0)
    total = np.maximum(np.asarray(W.sum(axis=1)).ravel(), NOTHING)
    return Surroundings(
        -np.log(total), sparse.csr_array(W.multiply(1 / total[:, None]))
    )


def far_out(novelty: FloatArray) -> BoolArray:
    """Return which samples are beyond Tukey's outer fence.

    The fence is that of the samples within it, so that many outliers do not move it.

    Examples
    --------
    >>> far_out(np.array([0.0, 1, 2, 3, 4, 30])).tolist()
    [False, False, False, False, False, True]
    """
    out = np.zeros(len(novelty), dtype=bool)
    while True:
        low, high = np.quantile(novelty[~out], [0.25, 0.75])
        beyond = out | (novelty > high + FENCE * (high - low))
        if (beyond == out).all():
            return out
        out = beyond
