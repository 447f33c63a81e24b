"""Spectral rotation: the rotation of the eigenvectors that is nearest to labels."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

import numpy as np

from lordclust._core.typing import Affinity, Graph, Seed
from lordclust._core.validation import check_choice
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import labels_of_all, placed_rows, rotate
from lordclust.rounding.spectral import LAPLACIANS, unit_rows, warn_of_components


@dataclass(eq=False, repr=False)
class SR(RestartClusterer):
    """Spectral rotation of Huang, Nie and Huang.

    With F the k leading eigenvectors of the graph, solves

        min ||F R - Y||_F^2   over orthogonal R and one-hot Y

    by alternation: R is the Procrustes rotation of F'Y, and each row of Y has its one
    at the largest entry of F R. It is k-means on the rows of F with orthonormal
    centres [1]_. The alternation is the published one, known from the abstract and two
    public implementations; the paper could not be read for whether it scales the rows
    of F, and which Laplacian it uses. The defaults are those of one implementation,
    with random starts as in later studies.

    Parameters
    ----------
    n_clusters, affinity, metric, n_neighbors
    laplacian : {"sym", "rw", "none"}, default="sym"
        "sym": eigenvectors of D^-1/2 S D^-1/2, D the degrees. "rw": D^-1/2 times
        these, which solve (D - S) u = lambda D u. "none": eigenvectors of S itself.
    row_normalize : bool, default=True
        Whether the rows of F are scaled to length 1.
    n_init : int or "auto", default="auto"
        Random starts of Y ("auto": 10); the one with the smallest objective is kept.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-8
        Stop when the labels do not change, or the objective falls by at most this
        fraction of ||F||_F^2 + n.
    random_state, verbose

    Attributes
    ----------
    labels_, sizes_
    objective_ : float
        ||F R - Y||_F^2 over the samples with a row in F.
    embedding_ : ndarray of shape (n, k)
        F; a vertex without edges has a row of zeros.
    rotation_ : ndarray of shape (k, k)
        R: a column for each cluster.
    eigenvalues_ : ndarray of shape (k,)
        Largest first; for "sym" and "rw" of D^-1/2 S D^-1/2.
    n_iter_, converged_, history_
        Of the kept start; ``history_`` is its objective after each iteration.
    all_objectives_, affinity_matrix_

    Notes
    -----
    A sparse S stays sparse. The eigenvectors are computed once, by a block method if
    n > 500; an iteration costs O(n k^2). Often all starts reach the same objective.

    A cluster that is empty at the end takes the worst-fitting sample of the largest
    one. A sample without edges joins the largest cluster. If the graph has more than
    k components, for "sym" and "rw" the k largest become the clusters, the others
    join the largest, with a warning.

    References
    ----------
    .. [1] Huang, Nie, Huang, "Spectral Rotation versus K-Means in Spectral
       Clustering", AAAI 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import SR
    >>> model = SR(3, random_state=0).fit(load_iris().data)
    >>> bool(np.allclose(model.rotation_.T @ model.rotation_, np.eye(3)))
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    laplacian: str = "sym"
    row_normalize: bool = True
    n_init: int | str = "auto"
    max_iter: int = 100
    tol: float = 1e-8
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.laplacian, LAPLACIANS, "laplacian")
        if not isinstance(self.row_normalize, bool | np.bool_):
            raise TypeError(
                f"row_normalize must be True or False, got {self.row_normalize!r}."
            )

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        warn_of_components(data, k, "SR")
        values, F = LAPLACIANS[self.laplacian](data, k)
        F = unit_rows(F) if self.row_normalize else F
        placed = placed_rows(F, k)
        rows = F if placed.all() else F[placed]
        for rng in rngs:
            start = rng.random(rows.shape).argmax(axis=1)
            labels, R, objective, n_iter, converged, history = rotate(
                rows, start, max_iter=self.max_iter, tol=self.tol
            )
            yield Run(
                labels_of_all(labels, placed), objective, n_iter, converged, history,
                columns={"rotation_": R},
                fitted={"embedding_": F, "eigenvalues_": values},
            )  # fmt: skip
