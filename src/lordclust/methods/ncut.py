"""Normalised cut: generalised eigenvectors, discretised."""

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.validation import check_choice
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import (
    discretize,
    kmeans_labels,
    labels_of_all,
    pivoted_qr_labels,
    placed_rows,
)
from lordclust.rounding.spectral import (
    Eigen,
    degrees,
    leading_eigenvectors,
    ncut_value,
    random_walk_eigenvectors,
    unit_rows,
    warn_of_components,
)

ASSIGN = ("discretize", "kmeans", "cluster_qr")


class NCut(RestartClusterer):
    """Normalised cut of Shi and Malik, into k parts at once.

    Looks for

        min sum_j cut(j) / vol(j)   over partitions into k clusters,

    cut(j) the similarity between cluster j and the rest, vol(j) the sum of its
    degrees. The relaxed problem (D - S) u = lambda D u [1]_ is solved exactly; its k
    first eigenvectors are then turned into labels by the discretisation of Yu and
    Shi [2]_, from several starts, of which the smallest normalised cut is kept. The
    steps are those of the k-way code that Cour, Yu and Shi released in 2004, read in
    a public copy; choosing among starts by the cut itself is ours.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    affinity : {"knn", "precomputed"}, KNNGraph or callable, default="knn"
        How X becomes S: the self-tuning graph of nearest neighbours, X itself, a
        :class:`lordclust.graph.KNNGraph` with its own settings, or ``f(X) -> S``.
        S is symmetric and nonnegative, dense or sparse.
    assign : {"discretize", "kmeans", "cluster_qr"}, default="discretize"
        How eigenvectors become labels: Yu and Shi's rotation; k-means on the rows,
        as ``sklearn.cluster.SpectralClustering`` does; or the pivoted QR
        factorisation of Damle, Minden and Ying [3]_, which has no starts.
    offset : float, default=0
        Added to the diagonal of S, and twice to the degrees, while the eigenvectors
        are computed: then a vertex of very low degree cannot take one for itself. The
        released code has 0.5. In units of S.
    n_init : int, default=10
        Starts: first rows of the discretisation, or starts of k-means.
    max_iter : int, default=100
        Limit of turns of the discretisation.
    random_state : int, RandomState or None, default=None
        For the starts.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Clusters 0 to k-1, numbered by falling size, then by their first sample.
    objective_ : float
        The normalised cut of the labels in S. A cluster without edges counts 1.
    eigenvalues_ : ndarray of shape (k,)
        1 - lambda, largest first. With ``offset=0``, no partition into k clusters
        with edges has a normalised cut below ``k - eigenvalues_.sum()``.
    embedding_ : ndarray of shape (n, k)
        The eigenvectors u as they were rounded: for "discretize", columns of equal
        length and then rows of length 1.
    n_iter_, converged_
        Turns of the kept start, and whether its labels came to rest.
    history_ : ndarray
        ||F R - Y||_F^2 at each turn of the discretisation.
    all_objectives_ : ndarray of shape (n_init,)
        Normalised cut of every start.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S.

    Notes
    -----
    A sparse S stays sparse. The eigenvectors are computed once, by Lanczos' method if
    n > 400; a turn of the discretisation is O(n k^2).

    With ``offset=0``, a sample without edges joins the largest cluster. If the graph
    has more than k components, the k largest become the clusters, the others join the
    largest, and a warning says so.

    References
    ----------
    .. [1] Shi, Malik, "Normalized Cuts and Image Segmentation", IEEE TPAMI 22(8),
       2000.
    .. [2] Yu, Shi, "Multiclass Spectral Clustering", ICCV 2003.
    .. [3] Damle, Minden, Ying, "Simple, direct and efficient multi-way spectral
       clustering", Information and Inference 8(1), 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import NCut
    >>> model = NCut(3, random_state=0).fit(load_iris().data)
    >>> bool(model.objective_ >= 3 - model.eigenvalues_.sum())
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: Any = "knn",
        assign: str = "discretize",
        offset: float = 0.0,
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.assign = assign
        self.offset = offset
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.assign, ASSIGN, "assign")
        _check_offset(self.offset)

    def _solve(self, data: Any, k: int, rngs: Rngs) -> Iterable[Run]:
        warn_of_components(data, k, "NCut")
        values, U = cut_eigenvectors(data, k, float(self.offset))
        if self.assign == "discretize":
            U = unit_rows(U / np.linalg.norm(U, axis=0))
        fitted = {"eigenvalues_": values, "embedding_": U}
        if self.assign == "cluster_qr":
            yield _run(data, _qr_labels(U), k, fitted)
            return
        for rng in rngs:
            if self.assign == "kmeans":
                found = kmeans_labels(U, k, rng)
                yield _run(data, found.labels, k, fitted, n_iter=found.n_iter)
            else:
                yield self._discretized(data, U, rng, fitted)

    def _discretized(
        self, S: Graph, F: FloatArray, rng: np.random.Generator, fitted: dict[str, Any]
    ) -> Run:
        """Return the run from a random first row."""
        k = F.shape[1]
        placed = placed_rows(F, k)
        rows = F[placed]
        found = discretize(rows, int(rng.integers(len(rows))), max_iter=self.max_iter)
        return _run(
            S,
            labels_of_all(found.labels, placed),
            k,
            fitted,
            n_iter=found.n_iter,
            converged=found.converged,
            history=found.history,
        )


def cut_eigenvectors(S: Graph, k: int, offset: float) -> Eigen:
    """Return the k first solutions of (D - S) u = (1 - value) D u.

    A positive offset takes S + offset I for S and D + 2 offset I for D.
    """
    if offset == 0:
        return random_walk_eigenvectors(S, k)
    d = degrees(S) + 2 * offset
    roots = 1 / np.sqrt(d)
    if sparse.issparse(S):
        D = sparse.diags_array(roots)
        P = sparse.csr_array(D @ S @ D) + sparse.diags_array(offset / d)
    else:
        P = roots[:, None] * S * roots + np.diag(offset / d)
    values, U = leading_eigenvectors(P, k)
    return Eigen(values, U * (roots / roots.mean())[:, None])


def _qr_labels(U: FloatArray) -> IntArray:
    """Return the labels of the pivoted QR factorisation for all samples."""
    placed = placed_rows(U, U.shape[1])
    return labels_of_all(pivoted_qr_labels(U[placed]), placed)


def _run(
    S: Graph, labels: IntArray, k: int, fitted: dict[str, Any], **report: Any
) -> Run:
    """Return the run with its normalised cut."""
    return Run(labels, ncut_value(S, labels, k), fitted=fitted, **report)


def _check_offset(offset: Any) -> None:
    """Refuse what cannot be added to degrees."""
    if isinstance(offset, bool) or not isinstance(offset, numbers.Real):
        raise TypeError(f"offset must be a number, 0 or more, got {offset!r}.")
    if not 0 <= float(offset) < float("inf"):
        raise ValueError(
            f"offset must be a finite number, 0 or more, got {offset!r}. Pass 0 for "
            "the pure problem, or about half a typical similarity."
        )
