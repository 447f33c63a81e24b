"""SDP: the semidefinite relaxation of k-means by Peng and Wei."""

from dataclasses import KW_ONLY, dataclass

from lordclust._core.typing import Affinity, Graph, Seed
from lordclust.methods._solvers.learned import Learned, LearnedAffinityClusterer
from lordclust.methods._solvers.peng_wei import peng_wei


@dataclass(eq=False, repr=False)
class SDP(LearnedAffinityClusterer):
    """Semidefinite relaxation of kernel k-means, and spectral clustering of it.

    Solves

        max <S, Z>   over   Z psd,  Z >= 0,  Z1 = 1,  Tr Z = k

    a relaxation of kernel k-means, which also requires that Z is a partition,
    sum_r 1_r 1_r' / n_r [1]_ [2]_. The published problem, with a solver of our own:
    ADMM that alternates Z >= 0 with the other constraints, whose projection needs only
    a few eigenvectors. It ends with a certified bound: no Z, and no partition into k
    clusters, has a larger <S, Z> than ``upper_bound_``. The labels are those of
    k-means on the k leading eigenvectors of Z, rows scaled to length 1.

    Parameters
    ----------
    n_clusters
    affinity : str, KNNGraph or callable, default="knn"
        How S is computed from X, as in :class:`lordclust.BLoRD`. S may be any symmetric
        matrix. Its scale, and a multiple of I added to it, do not change Z.
    metric, n_neighbors
    n_init : int or "auto", default="auto"
        Starts of k-means on the eigenvectors ("auto": 20).
    max_iter : int, default=2000
        Maximum number of iterations of ADMM.
    tol : float, default=1e-4
        Tolerance on the primal and the dual residual, relative to the sizes of Z and
        S. The gap is then about the same.
    max_dense : int, default=5000
        Largest number of samples: six n x n matrices are stored.
    random_state : int, RandomState or None, default=None
        Seed for k-means; Z is deterministic.
    verbose

    Attributes
    ----------
    labels_, sizes_
    affinity_matrix_ : ndarray of shape (n, n)
        Z: psd, with row sums 1 and trace k to rounding. Entries may be negative
        within the tolerance.
    embedding_ : ndarray of shape (n, k)
        The eigenvectors that k-means clusters.
    objective_ : float
        <S, Z>.
    upper_bound_ : float
        A bound on <S, Z> that holds for every feasible Z and every partition,
        converged or not, rounding included.
    gap_ : float
        (upper_bound_ - objective_) / |upper_bound_|. It may be negative, as entries
        of Z may.
    infeasibility_ : float
        ||min(Z, 0)||_F / ||Z||_F, for the only constraint that Z violates.
    residual_, n_iter_, converged_, history_
        Final state of ADMM, and its objective at each iteration.
    all_objectives_ : ndarray of shape (1,)
        The objective.

    Notes
    -----
    An iteration costs the products of an n x n matrix with about 3 (2k + 10) vectors;
    100 to 500 iterations are usual, a minute for 2000 samples and 10 clusters. If
    many eigenvectors are needed (k above n / 15 or so) all are computed, at O(n^3).

    References
    ----------
    .. [1] Peng, Wei, "Approximating K-means-type Clustering via Semidefinite
       Programming", SIAM Journal on Optimization 18, 2007.
    .. [2] Kulis, Surendran, Platt, "Fast Low-Rank Semidefinite Programming for
       Embedding and Clustering", AISTATS 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import SDP
    >>> model = SDP(3, random_state=0).fit(load_iris().data)
    >>> bool(abs(model.gap_) < 1e-3)
    True
    """

    maximises = True
    nonnegative = False

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    n_init: int | str = "auto"
    max_iter: int = 2000
    tol: float = 1e-4
    max_dense: int = 5000
    random_state: Seed = None
    verbose: int = 0

    def _learn(self, S: Graph, k: int) -> Learned:
        found = peng_wei(S, k, tol=self.tol, max_iter=self.max_iter)
        fitted = {
            "upper_bound_": found.upper_bound,
            "gap_": found.gap,
            "infeasibility_": found.infeasibility,
            "residual_": found.residual,
        }
        return Learned(
            found.Z, found.objective, found.n_iter, found.converged, fitted,
            found.history,
        )  # fmt: skip
