"""DSN: the nearest doubly stochastic matrix."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from lordclust._core.typing import Affinity, Graph, Seed
from lordclust._core.validation import check_choice
from lordclust.methods._solvers.birkhoff import SOLVERS, nearest_ds
from lordclust.methods._solvers.learned import Learned, PreparedClusterer, prepare


@dataclass(eq=False, repr=False)
class DSN(PreparedClusterer):
    """Doubly stochastic normalisation.

    Solves

        min ||Z - S||_F^2   over   Z = Z',  Z >= 0,  Z1 = 1

    and clusters the k leading eigenvectors of Z by k-means. The problem is that of
    Zass and Shashua [1]_; the default solver is our own, an exact Newton method.
    ``solver="von_neumann"`` is the algorithm they published, alternating projections:
    it ends at a doubly stochastic matrix, which need not be the nearest one.

    Parameters
    ----------
    n_clusters, affinity, metric, n_neighbors, normalize, diagonal
    solver : {"newton", "dykstra", "von_neumann"}, default="newton"
        "newton": a few exact steps. "dykstra": the same Z by many sweeps.
        "von_neumann": the published algorithm.
    n_init
    max_iter : int, default=2000
        Maximum number of Newton steps or sweeps.
    tol : float, default=1e-8
        Tolerance on the largest error of a row sum of Z.
    random_state
    max_dense : int, default=10000
        Largest number of samples: three n x n matrices are stored.
    verbose

    Attributes
    ----------
    labels_, sizes_, affinity_matrix_, embedding_
    residual_ : float
        Largest error of a row sum of Z.
    objective_ : float
        ||Z - S||_F^2 for S after ``normalize`` and ``diagonal``.
    n_iter_, converged_
        Steps taken, and whether the tolerance was reached.

    Notes
    -----
    A Newton step takes a few passes over S and, for its equations, some tens of
    products with an n x n matrix of zeros and ones. Graphs of nearest neighbours take
    5 to 10 steps, a second for n = 2000. The sweeps take hundreds or thousands.

    References
    ----------
    .. [1] Zass, Shashua, "Doubly Stochastic Normalization for Spectral Clustering",
       NIPS 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import DSN
    >>> model = DSN(3, random_state=0).fit(load_iris().data)
    >>> model.affinity_matrix_.sum(axis=1).round(6)[:4]
    array([1., 1., 1., 1.])
    """

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    normalize: str | None = "sym"
    diagonal: str = "auto"
    solver: str = "newton"
    n_init: int | str = "auto"
    max_iter: int = 2000
    tol: float = 1e-8
    random_state: Seed = None
    max_dense: int = 10000
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.solver, SOLVERS, "solver")

    def _learn(self, S: Graph, k: int) -> Learned:
        A = prepare(S, self.normalize, self.diagonal)
        found = nearest_ds(A, solver=self.solver, tol=self.tol, max_iter=self.max_iter)
        A -= found.Z
        fitted = {"residual_": found.error}
        return Learned(
            found.Z, float(np.vdot(A, A)), found.n_iter, found.converged, fitted
        )
