"""What a graph suggests before anything is solved: eigenvectors, cuts, pieces.

Everything is computed at most once per fit, and nothing depends on the order of the
samples, except where they are copies of each other.
"""

import logging
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from lordclust._core.lazy import lazy_property
from lordclust._core.typing import BoolArray, FloatArray, Graph, IntArray
from lordclust.rounding.labels import lloyd_labels, named_like
from lordclust.rounding.linkage import Reach, linkage_labels
from lordclust.rounding.spectral import (
    TINY,
    Eigen,
    components,
    degrees,
    ncut_labels,
    normalized_eigenvectors,
)
from lordclust.rounding.surprise import is_clear, neighbour_surprise
from lordclust.rounding.tree import parts_of_tree, similarity_tree
from lordclust.solver.omega import Omega
from lordclust.solver.start import scaled_start, sized_labels

LOG = logging.getLogger("lordclust.fit")
#: Weight of the shares in a start from labels, which leaves every cluster reachable.
SOFT = 0.1
#: Smallest part of a tree that may be uneven, as a fraction of an equal share.
UNEVEN = 0.1
#: Largest Gini index of the sizes while clusters are linked.
UNEVENNESS = 0.5
#: Fewer samples than this, or than a tenth of an equal share, are outliers.
SMALLEST = 5
#: Steps in which labels spread along edges: at most, at least, and the change to stop.
SPREAD, SPREAD_AT_LEAST, SPREAD_TOL = 1000, 10, 1e-4
#: From this many entries of V on, fewer starts are tried.
VERY_LARGE = 2_000_000
#: Clusters this many times as far apart as neighbours are within are separate.
APART = 2.0
#: How often outliers are set aside at most.
LAYERS = 10
#: Clusters of fewer samples, as a fraction of an equal share, may be outliers.
EVEN = 0.3
#: Iterations of k-means that move clusters to their centres.
LLOYD = 10
#: Products with the samples that find the longest axis of a cluster.
HALVING = 5


class Seeds:
    """Labels and starts from the graph.

    Parameters
    ----------
    S : ndarray or csr_array of shape (n, n)
        The graph; negative entries count as 0.
    n_clusters : int
        Number of clusters.
    X : ndarray or sparse of shape (n, d), optional
        The features, for labels of nearest centres.
    scales : ndarray of shape (n,), optional
        The local scales of a self-tuning graph, for distances.
    """

    def __init__(
        self,
        S: Graph,
        n_clusters: int,
        X: Graph | None = None,
        scales: FloatArray | None = None,
    ) -> None:
        self.S, self.k, self.X = without_negative(S), n_clusters, X
        self.scales = scales
        self.least, self.layer = UNEVEN * self.S.shape[0] / n_clusters, 0

    @lazy_property
    def core(self) -> "tuple[BoolArray, Seeds] | None":
        """The samples outside very small clusters of the cut, and their seeds.

        A group of outliers is the cheapest cut of all. It is set aside, and the rest
        is cut again, until all clusters have some size; None if they have.
        """
        kept = np.bincount(self.cut, minlength=self.k)[self.cut] >= self.least
        if kept.all() or kept.sum() < 2 * self.k or self.layer == LAYERS:
            return None
        rows = np.flatnonzero(kept)
        inner = Seeds(
            self.S[rows][:, rows],
            self.k,
            None if self.X is None else self.X[rows],
            None if self.scales is None else self.scales[rows],
        )
        inner.least, inner.layer = self.least, self.layer + 1
        deeper = inner.core
        if deeper is None:
            return kept, inner
        kept[rows[~deeper[0]]] = False
        return kept, deeper[1]

    def stand_apart(self, labels: IntArray) -> bool:
        """Return whether every small cluster is far from all others.

        Groups of outliers are separate pieces of a graph, too. But unlike a cluster
        they are not APART times as far from the nearest cluster as the longest edge of
        the spanning tree in either of the two.
        """
        sizes = np.bincount(labels, minlength=self.k)
        small = np.flatnonzero((sizes > 0) & (self.k * sizes < EVEN * len(labels)))
        if len(small) == 0:
            return True
        if self.X is None or self.reach is None:
            return False
        X = self.X.toarray() if sparse.issparse(self.X) else self.X
        i, j = self.reach.tree.nonzero()
        inside = labels[i] == labels[j]
        i, j = i[inside], j[inside]
        longest = np.zeros(self.k)
        np.maximum.at(longest, labels[i], np.sqrt(((X[i] - X[j]) ** 2).sum(axis=1)))
        for c in small:
            others = np.flatnonzero(labels != c)
            gaps = cdist(X[labels == c], X[others]).min(axis=0)
            nearest = labels[others[gaps.argmin()]]
            if gaps.min() < APART * max(longest[c], longest[nearest]):
                return False
        return True

    def placed(self, labels: IntArray, kept: BoolArray) -> IntArray:
        """Return labels of some samples, and of the others by what they are near."""
        every = np.full(len(kept), -1, dtype=np.int64)
        every[kept] = labels
        return completed(every, self)

    @lazy_property
    def eigen(self) -> Eigen:
        """The leading k eigenvectors of D^-1/2 S D^-1/2."""
        values, U = normalized_eigenvectors(self.S, min(self.k, self.S.shape[0]))
        LOG.debug("eigenvectors: %d, eigenvalues down to %.4f", len(values), values[-1])
        return Eigen(values, U)

    def forget_eigenvectors(self) -> None:
        """Make room: once the cut is known, only mixtures need them."""
        if "cut" in vars(self):
            vars(self).pop("eigen", None)

    @lazy_property
    def pieces(self) -> IntArray:
        """The connected component of each sample; -1 without edges."""
        return np.where(degrees(self.S) > 0, components(self.S), -1)

    @lazy_property
    def cut(self) -> IntArray:
        """Labels of a small normalised cut."""
        return ncut_labels(self.S, self.eigen, self.k)

    @lazy_property
    def tree(self) -> IntArray | None:
        """Labels of the spanning tree, cut into parts of similar sizes if possible."""
        least = 0.5 * self.S.shape[0] / self.k
        return parts_of_tree(self._similarity_tree, self.k, least)

    @lazy_property
    def uneven_tree(self) -> IntArray | None:
        """Labels of the spanning tree, cut into parts of any but very small sizes."""
        least = UNEVEN * self.S.shape[0] / self.k
        return parts_of_tree(self._similarity_tree, self.k, least)

    @lazy_property
    def _similarity_tree(self) -> Graph:
        """The spanning tree of the largest similarities."""
        return similarity_tree(self.S)

    @lazy_property
    def reach(self) -> Reach | None:
        """Distances of neighbours, if the graph was computed from some."""
        return None if self.scales is None else Reach.of(self.S, self.scales)

    @lazy_property
    def linkage(self) -> IntArray | None:
        """Labels of single linkage with a limit on sizes, by distances if known."""
        if self.reach is None:
            return None
        return linkage_labels(self.reach.tree, self.k, UNEVENNESS)

    @lazy_property
    def gaps(self) -> IntArray | None:
        """Labels of single linkage without outliers, by distances if known."""
        if self.reach is None:
            return None
        least = smallest(self.S.shape[0], self.k)
        return parts_of_tree(self.reach.tree, self.k, least)

    @lazy_property
    def centres(self) -> IntArray | None:
        """Labels of nearest centres, by k-means from those of the cut, if possible."""
        return None if self.X is None else self.from_centres(self.cut)

    @lazy_property
    def halves(self) -> IntArray | None:
        """Labels of nearest centres, by k-means from clusters that are cut in half.

        The cluster of the largest scatter is divided across its longest axis, at its
        mean, until there are k (Su and Dy, 2007): unlike the cut, it does not begin
        with outliers. It is left out if the cut has no small clusters.
        """
        if self.X is None or sparse.issparse(self.X):
            return None
        least = np.bincount(self.cut, minlength=self.k).min()
        if self.k * least >= EVEN * len(self.cut):
            return None
        return self.from_centres(halved_labels(self.X, self.k))

    def from_centres(self, labels: IntArray) -> IntArray | None:
        """Return labels of nearest centres by k-means, from labels if all are used."""
        sizes = np.bincount(labels, minlength=self.k)
        if sizes.min() == 0:
            return None
        parts = 1 / sizes[labels], labels, np.arange(len(labels) + 1)
        means = sparse.csr_array(parts, shape=(len(labels), self.k)).T @ self.X
        dense = means.toarray() if sparse.issparse(means) else means
        return lloyd_labels(self.X, np.asarray(dense), LLOYD)

    def starts(
        self, omega: Omega, draws: Sequence[int]
    ) -> list[tuple[str, FloatArray, bool]]:
        """Return starts with their names, and whether they are labels."""
        cut, tree = self.cut, self.tree
        if self.core is not None:
            kept, inner = self.core
            cut = self.placed(inner.cut, kept)
            tree = None if inner.tree is None else self.placed(inner.tree, kept)
        found = [("cut", self.soft_start(cut, omega), True)]
        if omega.shape[0] * omega.shape[1] >= VERY_LARGE:
            draws = draws[:1]
        elif tree is not None:
            found.append(("tree", self.soft_start(tree, omega), True))
        mixtures = (self.mixed_start(omega, draw) for draw in draws)
        return found + [("mixture", V, False) for V in mixtures]

    def mixed_start(self, omega: Omega, seed: int) -> FloatArray:
        """Return a random mixture of the leading eigenvectors, as a point of Omega.

        Drawn numbers combine eigenvectors, not samples: the order of the samples does
        not matter, and the point is smooth on the graph.
        """
        U = self.eigen.vectors
        if self.core is not None:
            kept, inner = self.core
            U = np.zeros((len(kept), inner.eigen.vectors.shape[1]))
            U[kept] = inner.eigen.vectors
        U = U / np.maximum(np.abs(U).mean(axis=0), np.finfo(float).tiny)
        R = np.random.default_rng(seed).standard_normal((U.shape[1], len(omega.mu)))
        G = U @ R / np.sqrt(U.shape[1])
        G -= G.max(axis=1, keepdims=True)
        return scaled_start(np.exp(np.maximum(G, -5.0)) * omega.mu**2, omega)

    def soft_start(self, labels: IntArray, omega: Omega) -> FloatArray:
        """Return labels, somewhat softened, as a point of Omega."""
        hard = matched(labels, omega)[:, None] == np.arange(len(omega.mu))
        return scaled_start((1 - SOFT) * hard + SOFT * omega.mu**2, omega)

    def clear_cut(self, omega: Omega) -> IntArray | None:
        """Return the cut if it is clear and has the shares of Omega, else None."""
        labels = matched(self.cut, omega)
        sizes = np.bincount(labels, omega.weight, minlength=len(omega.mu))
        off = np.abs(sizes - omega.mu**2 * sizes.sum()).max()
        surprise = neighbour_surprise(self.S, labels, len(omega.mu)) * len(labels)
        return labels if off < 1 and is_clear(surprise, len(labels)) else None

    def sized_cut(self, omega: Omega) -> IntArray:
        """Return the labels of the cut, changed until they have the shares of Omega."""
        return sized_labels(self.S, matched(self.cut, omega), omega)


def halved_labels(X: FloatArray, k: int) -> IntArray:
    """Return k clusters: the one of the largest scatter is cut in half, repeatedly.

    Examples
    --------
    >>> halved_labels(np.array([[0.0], [1], [9], [10], [30]]), 3)
    array([2, 2, 0, 0, 1])
    """
    labels, scatter = np.zeros(len(X), dtype=np.int64), np.zeros(k)
    for new in range(1, k):
        old = int(scatter.argmax())
        rows = np.flatnonzero(labels == old)
        Y = X[rows] - X[rows].mean(axis=0)
        axis = Y[(Y * Y).sum(axis=1).argmax()]
        for _ in range(HALVING):  # towards the direction of the largest variance
            axis = Y.T @ (Y @ (axis / max(float(np.linalg.norm(axis)), TINY)))
        labels[rows[Y @ axis > 0]] = new
        for j in (old, new):
            part = X[labels == j]
            scatter[j] = ((part - part.mean(axis=0)) ** 2).sum() if len(part) else 0.0
    return labels


def smallest(n: int, k: int) -> float:
    """Return how many samples are a cluster, not outliers."""
    return min(SMALLEST, n / (10 * k))


def matched(labels: IntArray, omega: Omega) -> IntArray:
    """Return labels renumbered: the larger a cluster, the larger its share.

    So unequal shares are assigned to the right clusters from the beginning. Known
    labels take precedence.
    """
    k = len(omega.mu)
    if omega.known is not None:
        labels = named_like(labels, omega.known, k)
        return np.where(omega.known >= 0, omega.known, labels)
    sizes = np.bincount(labels, omega.weight, minlength=k)
    column = np.empty(k, dtype=np.int64)
    column[np.argsort(-sizes, kind="stable")] = np.argsort(-omega.mu, kind="stable")
    return np.asarray(column[labels])


def completed(labels: IntArray, seeds: Seeds) -> IntArray:
    """Return labels in which each -1 is replaced by the one that reaches it first.

    A random walk from the sample stops at the first label that it meets; the most
    probable one counts. Samples that no label reaches join the largest cluster.
    """
    known, k = labels >= 0, seeds.k
    if known.all():
        return labels.copy()
    rest = np.flatnonzero(~known)
    S = seeds.S[rest]
    degree = np.maximum(degrees(S), TINY)[:, None]
    fixed = (S[:, known] @ np.eye(k)[labels[known]]) / degree
    S, P = S[:, rest], np.zeros((len(rest), k))
    for turn in range(SPREAD):
        before, P = P, fixed + (S @ P) / degree
        # Labels spread along edges for as long as they reach further samples.
        same = np.array_equal(before.any(axis=1), P.any(axis=1))
        if turn >= SPREAD_AT_LEAST and same and np.abs(P - before).max() < SPREAD_TOL:
            break
    found = labels.copy()
    found[rest] = P.argmax(axis=1)
    lost = rest[~P.any(axis=1)]
    if len(lost):
        found[lost] = _nearest_centre(labels, lost, seeds)
    return found


def _nearest_centre(labels: IntArray, rows: IntArray, seeds: Seeds) -> IntArray:
    """Return the clusters whose means are nearest; the largest without features."""
    known = labels >= 0
    sizes = np.bincount(labels[known], minlength=seeds.k)
    if seeds.X is None:
        return np.full(len(rows), sizes.argmax())
    Y = (labels[known] == np.arange(seeds.k)[:, None]) / np.maximum(sizes, 1)[:, None]
    centres = Y @ seeds.X[known]
    X = seeds.X[rows]
    X = X.toarray() if sparse.issparse(X) else X
    far = np.where(sizes > 0, 0.0, np.inf)
    return np.asarray((cdist(X, centres, "sqeuclidean") + far).argmin(axis=1))


def without_negative(S: Graph) -> Graph:
    """Return S with negative entries replaced by zero."""
    if sparse.issparse(S):
        return sparse.csr_array(S.maximum(0)) if S.nnz and S.data.min() < 0 else S
    return np.maximum(S, 0)
