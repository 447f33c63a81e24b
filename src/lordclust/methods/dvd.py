"""DvD: a doubly stochastic matrix with a gap after its k-th eigenvalue."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from lordclust._core.typing import Affinity, FloatArray, Graph, Seed
from lordclust._core.validation import check_nonnegative, check_positive
from lordclust.methods._solvers.birkhoff import nearest_ds
from lordclust.methods._solvers.learned import Learned, PreparedClusterer, prepare
from lordclust.methods._solvers.spectral_admm import Rule, fit_spectrum
from lordclust.rounding.spectral import leading_eigenvectors


@dataclass(eq=False, repr=False)
class DvD(PreparedClusterer):
    """Doubly stochastic affinity with an eigengap, after Davis and Kahan.

    Solves

        min ||Z - S||_F^2   over   Z = Z',  Z >= 0,  Z1 = 1,  eigenvalues in [0, 1],
        the k-th at least c1, the next at most c2

    and clusters the k leading eigenvectors of Z by k-means. The gap between the two
    eigenvalues bounds how far Z - S can turn these eigenvectors (Davis and Kahan).

    A reconstruction: only the abstract of [1]_ could be read, which mentions the
    eigenvalues in [0, 1] and the theorem of Davis and Kahan; c1 and c2 are as stated
    in later work. The objective, the algorithm and all defaults are ours.

    Parameters
    ----------
    n_clusters
    c1 : float, default=0.9
        Smallest k-th eigenvalue of Z, at most 1.
    c2 : float, default=0.5
        Largest (k+1)-th eigenvalue of Z, from 0 to c1.
    affinity, metric, n_neighbors, normalize, diagonal
    rho : float, default=5.0
        First penalty of ADMM. It grows while the residual does not shrink.
    n_init
    max_iter : int, default=300
        Maximum number of steps.
    tol : float, default=3e-4
        Tolerance on ``residual_``.
    random_state, max_dense, verbose

    Attributes
    ----------
    labels_, sizes_, affinity_matrix_, embedding_
    eigenvalues_ : ndarray of shape (k + 1,), or (k,) if k = n
        The largest eigenvalues of Z; the last two should be above c1 and below c2.
    residual_ : float
        The larger of the distance of Z from a matrix with the required eigenvalues
        and the last step, relative to ||Z||_F.
    rho_ : float
        The final penalty of ADMM.
    objective_ : float
        ||Z - S||_F^2 for S after ``normalize`` and ``diagonal``.
    n_iter_, converged_
        Steps of ADMM, and whether they converged.

    Notes
    -----
    A step takes a full eigendecomposition, O(n^3). The k-th and the next eigenvalue
    make the problem non-convex: ADMM finds a feasible Z, which need not be the
    nearest one, the less so the more rho had to grow (see ``rho_``). The farther c1
    and c2 are from the eigenvalues of S, the more steps are needed.

    References
    ----------
    .. [1] Park, Kim, "Learning Doubly Stochastic Affinity Matrix via Davis-Kahan
       Theorem", ICDM 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import DvD
    >>> model = DvD(3, random_state=0).fit(load_iris().data)
    >>> bool(model.eigenvalues_[2] > 0.89), bool(model.eigenvalues_[3] < 0.51)
    (True, True)
    """

    n_clusters: int = 8
    _: KW_ONLY
    c1: float = 0.9
    c2: float = 0.5
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    normalize: str | None = "sym"
    diagonal: str = "auto"
    rho: float = 5.0
    n_init: int | str = "auto"
    max_iter: int = 300
    tol: float = 3e-4
    random_state: Seed = None
    max_dense: int = 5000
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.rho, "rho")
        check_nonnegative(self.c1, "c1")
        check_nonnegative(self.c2, "c2")
        if not 0 <= self.c2 <= self.c1 <= 1:
            raise ValueError(
                f"c1 and c2 must satisfy 0 <= c2 <= c1 <= 1, got c1={self.c1!r} and "
                f"c2={self.c2!r}. Try c1=0.9 and c2=0.5."
            )

    def _learn(self, S: Graph, k: int) -> Learned:
        A = prepare(S, self.normalize, self.diagonal)
        fit = fit_spectrum(
            A, nearest_ds(A).Z, gap_rule(k, self.c1, self.c2),
            rho=self.rho, tol=self.tol, max_iter=self.max_iter,
        )  # fmt: skip
        A -= fit.Z
        fitted = {
            "residual_": fit.residual,
            "rho_": fit.rho,
            "eigenvalues_": leading_eigenvectors(fit.Z, min(k + 1, len(A))).values,
        }
        distance = float(np.vdot(A, A))
        return Learned(fit.Z, distance, fit.n_iter, fit.converged, fitted)


def gap_rule(k: int, c1: float, c2: float) -> Rule:
    """Return the rule: the k largest eigenvalues in [c1, 1], the others in [0, c2]."""

    def rule(values: FloatArray) -> FloatArray:
        low = np.clip(values[:-k], 0, c2)
        return np.concatenate([low, np.clip(values[-k:], c1, 1)])

    return rule
