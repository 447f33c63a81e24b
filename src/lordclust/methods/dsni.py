"""DSNI: a doubly stochastic and nearly idempotent matrix."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from lordclust._core.typing import Affinity, FloatArray, Graph, Seed
from lordclust._core.validation import check_nonnegative, check_positive
from lordclust.methods._solvers.birkhoff import nearest_ds
from lordclust.methods._solvers.learned import Learned, PreparedClusterer, prepare
from lordclust.methods._solvers.spectral_admm import SpectralFit, fit_spectrum


@dataclass(eq=False, repr=False)
class DSNI(PreparedClusterer):
    """Doubly stochastic and nearly idempotent affinity.

    Solves

        min 1/2 ||Z - S||_F^2 + w (tr Z - ||Z||_F^2)
        over   Z = Z',  Z >= 0,  Z1 = 1,  eigenvalues in [0, 1]

    and clusters the k leading eigenvectors of Z by k-means. The penalty is the sum of
    l (1 - l) over the eigenvalues l of Z: zero if and only if Z is idempotent, Z^2 = Z,
    which for a doubly stochastic matrix means that it is a partition [2]_.

    A reconstruction: only the abstract of [1]_ could be read. The doubly stochastic
    constraint, a penalty for idempotence, the link to partitions, and ADMM are the
    author's; the form of the penalty, the steps and all defaults are ours.

    Parameters
    ----------
    n_clusters
    w : float, default=0.2
        Weight of the penalty. Below 1/2 the problem is convex. From 1/2 on it is not,
        and the number of blocks of Z does not depend on k.
    affinity, metric, n_neighbors, normalize, diagonal
    rho : float, optional
        First penalty of ADMM, max(3, 5 w) by default and at least 2 w. It grows while
        the residual does not shrink.
    n_init
    max_iter : int, default=300
        Maximum number of steps.
    tol : float, default=3e-4
        Tolerance on ``residual_``.
    random_state, max_dense, verbose

    Attributes
    ----------
    labels_, sizes_, affinity_matrix_, embedding_
    idempotence_ : float
        ||Z^2 - Z||_F.
    residual_ : float
        The larger of the distance of Z from a matrix with eigenvalues in [0, 1] and
        the last step, relative to ||Z||_F.
    rho_ : float
        The final penalty of ADMM.
    objective_ : float
        The objective at Z, for S after ``normalize`` and ``diagonal``.
    n_iter_, converged_
        Steps of ADMM, and whether they converged.

    Notes
    -----
    For w < 1/2 and without the eigenvalues' bounds, Z would be the doubly stochastic
    matrix nearest to (S - w I) / (1 - 2 w). A step takes a full eigendecomposition,
    O(n^3).

    References
    ----------
    .. [1] Ah-Pine, "Learning doubly stochastic and nearly idempotent affinity matrix
       for graph-based clustering", European Journal of Operational Research 299,
       2022.
    .. [2] Sinkhorn, "Two results concerning doubly stochastic matrices", American
       Mathematical Monthly 75, 1968.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import DSNI
    >>> model = DSNI(3, random_state=0).fit(load_iris().data)
    >>> model.affinity_matrix_.sum(axis=1).round(6)[:4]
    array([1., 1., 1., 1.])
    """

    n_clusters: int = 8
    _: KW_ONLY
    w: float = 0.2
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    normalize: str | None = "sym"
    diagonal: str = "auto"
    rho: float | None = None
    n_init: int | str = "auto"
    max_iter: int = 300
    tol: float = 3e-4
    random_state: Seed = None
    max_dense: int = 5000
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_nonnegative(self.w, "w")
        if self.rho is not None and check_positive(self.rho, "rho") < 2 * self.w:
            raise ValueError(
                f"rho must be at least 2 w = {2 * self.w:g}, got {self.rho!r}. "
                "Raise it, or leave it out."
            )

    def _learn(self, S: Graph, k: int) -> Learned:
        A = prepare(S, self.normalize, self.diagonal)
        rho = max(3.0, 5 * self.w) if self.rho is None else self.rho
        fit = fit_idempotent(A, self.w, rho, tol=self.tol, max_iter=self.max_iter)
        fitted = {
            "residual_": fit.residual,
            "rho_": fit.rho,
            "idempotence_": float(np.linalg.norm(fit.Z @ fit.Z - fit.Z)),
        }
        objective = penalised(fit.Z, A, self.w)
        return Learned(fit.Z, objective, fit.n_iter, fit.converged, fitted)


def penalised(Z: FloatArray, A: FloatArray, w: float) -> float:
    """Return 1/2 ||Z - A||_F^2 + w (tr Z - ||Z||_F^2)."""
    D = Z - A
    return float(np.vdot(D, D) / 2 + w * (np.trace(Z) - np.vdot(Z, Z)))


def fit_idempotent(
    A: FloatArray, w: float, rho: float, *, tol: float, max_iter: int
) -> SpectralFit:
    """Minimise the penalised distance from A.

    It is (1 - 2w)/2 ||Z||_F^2 - <A - wI, Z>, up to a constant.
    """
    L = A.copy()
    L[np.diag_indices_from(L)] -= w
    return fit_spectrum(
        L, nearest_ds(A).Z, lambda values: np.clip(values, 0, 1),
        rho=rho, curvature=1 - 2 * w,
        relax=1.6 if w < 0.5 else 1.0,  # safe where the problem is convex
        tol=tol, max_iter=max_iter,
    )  # fmt: skip
