"""Spectral clustering: k-means on the leading eigenvectors of the graph."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from lordclust._core.typing import Affinity, Graph, Seed
from lordclust._core.validation import check_choice
from lordclust.methods._base import EmbeddingMixin, RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import kmeans_labels
from lordclust.rounding.spectral import LAPLACIANS, unit_rows, warn_of_components


@dataclass(eq=False, repr=False)
class SC(EmbeddingMixin, RestartClusterer):
    """Spectral clustering of Ng, Jordan and Weiss.

    Solves the relaxed problem

        max Tr(U'D^-1/2 S D^-1/2 U)   over   U'U = I

    (D the degrees, U of k columns) by eigenvectors, scales the rows of U to length 1
    and clusters them by k-means. This is the published algorithm [1]_, the third in
    the tutorial [2]_. ``sklearn.cluster.SpectralClustering`` is the second there,
    without the scaling of the rows.

    Parameters
    ----------
    n_clusters, affinity, metric, n_neighbors
    laplacian : {"sym", "none"}, default="sym"
        "sym": eigenvectors of D^-1/2 S D^-1/2. "none": of S itself, the relaxation
        of kernel k-means.
    n_init : int or "auto", default="auto"
        Starts of k-means ("auto": 20); the one with the smallest objective is kept.
    random_state, verbose

    Attributes
    ----------
    labels_, sizes_
    embedding_ : ndarray of shape (n, k)
        The eigenvectors with rows of length 1; a vertex without edges has a row of
        zeros.
    eigenvalues_ : ndarray of shape (k,)
        Largest first. For "sym", 1 minus the smallest of the normalised Laplacian.
    objective_ : float
        Sum of squared distances of the rows of ``embedding_`` to their centres.
    n_iter_, converged_, history_
        Iterations of the kept k-means run; ``history_`` is empty.
    all_objectives_, affinity_matrix_

    Notes
    -----
    A sparse S stays sparse. The eigenvectors are computed once, by a block method if
    n > 500; each start then costs O(n k^2) per iteration. :meth:`relabel` rounds the
    same eigenvectors again.

    A sample without edges joins the largest cluster. If the graph has more than k
    components, the leading eigenvalue does not determine which belong together: for
    "sym" the k largest become the clusters, the others join the largest, with a
    warning.

    References
    ----------
    .. [1] Ng, Jordan, Weiss, "On Spectral Clustering: Analysis and an Algorithm",
       NIPS 2001.
    .. [2] von Luxburg, "A Tutorial on Spectral Clustering", Statistics and Computing
       17, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import SC
    >>> model = SC(3, random_state=0).fit(load_iris().data)
    >>> model.embedding_.shape
    (150, 3)
    """

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    laplacian: str = "sym"
    n_init: int | str = "auto"
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.laplacian, ("sym", "none"), "laplacian")

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        warn_of_components(data, k, "SC")
        values, U = LAPLACIANS[self.laplacian](data, k)
        T = unit_rows(U)
        for rng in rngs:
            labels, inertia, n_iter = kmeans_labels(T, k, rng)
            yield Run(
                labels, inertia, n_iter,
                fitted={"embedding_": T, "eigenvalues_": values},
            )  # fmt: skip
