"""Normalised cut: generalised eigenvectors, discretised."""

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from scipy import sparse

from lordclust._core.typing import Affinity, FloatArray, Graph, Seed
from lordclust._core.validation import check_choice, check_nonnegative
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import (
    EPS,
    kmeans_labels,
    labels_of_all,
    nearly_orthogonal_rows,
    pivoted_qr_labels,
    placed_rows,
    rotate,
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


@dataclass(eq=False, repr=False)
class NCut(RestartClusterer):
    """Normalised cut of Shi and Malik, into k parts at once.

    Approximates

        min sum_j cut(j) / vol(j)   over partitions into k clusters,

    cut(j) the similarity between cluster j and the rest, vol(j) the sum of its
    degrees. The relaxed problem (D - S) u = lambda D u [1]_ is solved exactly; its k
    first eigenvectors are then turned into labels by the discretisation of Yu and
    Shi [2]_, from several starts, of which the smallest normalised cut is kept. The
    steps are those of the k-way code that Cour, Yu and Shi released in 2004, read in
    a public copy; selecting the start by the cut itself is ours.

    Parameters
    ----------
    n_clusters, affinity, metric, n_neighbors
    assign : {"discretize", "kmeans", "cluster_qr"}, default="discretize"
        How eigenvectors become labels: Yu and Shi's rotation; k-means on the rows,
        as ``sklearn.cluster.SpectralClustering`` does; or the pivoted QR
        factorisation of Damle, Minden and Ying [3]_, which has no starts.
    offset : float, default=0
        Added to the diagonal of S, and twice to the degrees, while the eigenvectors
        are computed, so that no eigenvector is spent on a single vertex of very low
        degree. In units of S; the released code uses 0.5.
    n_init : int or "auto", default="auto"
        Starts of the discretisation (its first row) or of k-means ("auto": 10).
    max_iter : int, default=100
        Maximum number of iterations of the discretisation.
    random_state, verbose

    Attributes
    ----------
    labels_, sizes_
    objective_ : float
        The normalised cut of the labels in S. A cluster without edges counts 1.
    eigenvalues_ : ndarray of shape (k,)
        1 - lambda, largest first. With ``offset=0``, no partition into k clusters
        with edges has a normalised cut below ``k - eigenvalues_.sum()``.
    embedding_ : ndarray of shape (n, k)
        The eigenvectors u that were rounded: for "discretize", with columns scaled to
        equal length and then rows to length 1.
    n_iter_, converged_
        Iterations of the kept start, and whether its labels became stable.
    history_ : ndarray
        ||F R - Y||_F^2 at each iteration of the discretisation.
    all_objectives_ : ndarray of shape (n_init,)
        Normalised cut of every start.
    affinity_matrix_

    Notes
    -----
    A sparse S stays sparse. The eigenvectors are computed once, by a block method if
    n > 500; an iteration of the discretisation costs O(n k^2).

    With ``offset=0``, a sample without edges joins the largest cluster. If the graph
    has more than k components, the k largest become the clusters, the others join the
    largest, with a warning.

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

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    assign: str = "discretize"
    offset: float = 0.0
    n_init: int | str = "auto"
    max_iter: int = 100
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.assign, ("discretize", "kmeans", "cluster_qr"), "assign")
        check_nonnegative(self.offset, "offset")

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        warn_of_components(data, k, "NCut")
        values, U = cut_eigenvectors(data, k, float(self.offset))
        if self.assign == "discretize":
            U = unit_rows(U / np.linalg.norm(U, axis=0))
        fitted = {"eigenvalues_": values, "embedding_": U}
        for found in self._roundings(U, k, rngs):
            cut = ncut_value(data, found.labels, k)
            yield replace(found, objective=cut, fitted=fitted)

    def _roundings(self, U: FloatArray, k: int, rngs: Rngs) -> Iterator[Run]:
        """Yield the labels of each start, without their normalised cut."""
        placed = placed_rows(U, k)
        if self.assign == "cluster_qr":
            yield Run(labels_of_all(pivoted_qr_labels(U[placed]), placed), np.nan)
        elif self.assign == "kmeans":
            for rng in rngs:
                yield Run(*kmeans_labels(U, k, rng))
        else:
            F = U[placed]
            firsts = np.array([rng.integers(len(F)) for rng in rngs])
            for rows in nearly_orthogonal_rows(F, firsts):
                found = rotate(F, F[rows].T, max_iter=self.max_iter, tol=EPS)
                yield Run(
                    labels_of_all(found.labels, placed), found.objective, found.n_iter,
                    found.converged, found.history,
                )  # fmt: skip


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
