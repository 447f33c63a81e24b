"""What a graph suggests before anything is solved: eigenvectors, cuts, pieces.

Everything is computed at most once per fit, and nothing depends on the order of the
samples, except where they are copies of each other.
"""

import logging
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from lordclust._core.lazy import lazy_property
from lordclust._core.typing import FloatArray, Graph, IntArray
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
#: Iterations of k-means that move the clusters of the cut to their centres.
LLOYD = 10


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

    @lazy_property
    def eigen(self) -> Eigen:
        """The leading k eigenvectors of D^-1/2 S D^-1/2, with fixed signs."""
        values, U = normalized_eigenvectors(self.S, min(self.k, self.S.shape[0]))
        signs = np.where((U**3).sum(axis=0) < 0, -1.0, 1.0)
        LOG.debug("eigenvectors: %d, eigenvalues down to %.4f", len(values), values[-1])
        return Eigen(values, U * signs)

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
    def _reach_tree(self) -> Graph:
        """The spanning tree of the shortest distances, which must be known."""
        return None if self.reach is None else self.reach.tree()

    @lazy_property
    def reach(self) -> Reach | None:
        """Distances of neighbours, if the graph was computed from some."""
        return None if self.scales is None else Reach.of(self.S, self.scales)

    @lazy_property
    def linkage(self) -> IntArray | None:
        """Labels of single linkage with a limit on sizes, by distances if known."""
        if self.reach is None:
            return None
        return linkage_labels(self._reach_tree, self.k, UNEVENNESS)

    @lazy_property
    def gaps(self) -> IntArray | None:
        """Labels of single linkage without outliers, by distances if known."""
        if self.reach is None:
            return None
        least = smallest(self.S.shape[0], self.k)
        return parts_of_tree(self._reach_tree, self.k, least)

    @lazy_property
    def centres(self) -> IntArray | None:
        """Labels of nearest centres, by k-means from those of the cut, if possible."""
        sizes = np.bincount(self.cut, minlength=self.k)
        if self.X is None or sizes.min() == 0:
            return None
        Y = sparse.csr_array(
            (1 / sizes[self.cut], self.cut, np.arange(len(self.cut) + 1)),
            shape=(len(self.cut), self.k),
        )
        centres = Y.T @ self.X
        dense = centres.toarray() if sparse.issparse(centres) else centres
        return lloyd_labels(self.X, np.asarray(dense), LLOYD)

    def starts(
        self, omega: Omega, draws: Sequence[int]
    ) -> list[tuple[str, FloatArray, bool]]:
        """Return starts with their names, and whether they are labels."""
        found = [("cut", self.soft_start(self.cut, omega), True)]
        if omega.shape[0] * omega.shape[1] >= VERY_LARGE:
            draws = draws[:1]
        elif self.tree is not None:
            found.append(("tree", self.soft_start(self.tree, omega), True))
        mixtures = (self.mixed_start(omega, draw) for draw in draws)
        return found + [("mixture", V, False) for V in mixtures]

    def mixed_start(self, omega: Omega, seed: int) -> FloatArray:
        """Return a random mixture of the leading eigenvectors, as a point of Omega.

        Drawn numbers combine eigenvectors, not samples: the order of the samples does
        not matter, and the point is smooth on the graph.
        """
        U = self.eigen.vectors
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
    fixed = np.eye(k)[labels] * known[:, None]
    P = fixed.copy()
    degree = np.maximum(degrees(seeds.S), TINY)[:, None]
    for turn in range(SPREAD):
        before = P
        P = np.where(known[:, None], fixed, (seeds.S @ P) / degree)
        # Labels spread along edges for as long as they reach further samples.
        same = np.array_equal(before.any(axis=1), P.any(axis=1))
        if turn >= SPREAD_AT_LEAST and same and np.abs(P - before).max() < SPREAD_TOL:
            break
    largest = np.bincount(labels[known]).argmax()
    return np.where(P.any(axis=1), P.argmax(axis=1), largest)


def without_negative(S: Graph) -> Graph:
    """Return S with negative entries replaced by zero."""
    if sparse.issparse(S):
        return sparse.csr_array(S.maximum(0)) if S.nnz and S.data.min() < 0 else S
    return np.maximum(S, 0)
