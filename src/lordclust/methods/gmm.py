"""A Gaussian mixture whose shares are given."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from lordclust._core.typing import ArrayLike, FloatArray, Graph, IntArray, Seed
from lordclust._core.validation import check_choice, check_positive, check_proportions
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import kmeans_labels, labels_from

COVARIANCES = ("full", "tied", "diag", "spherical")
#: Keeps the mass of an empty component above 0.
TINY = 1e-15
#: Gain of a sample's expected log-likelihood at which shares are exchanged.
GAIN = 1e-9


@dataclass(eq=False, repr=False)
class GMM(RestartClusterer):
    """A Gaussian mixture with the shares of its components given.

    Solves

        max (1/n) sum_i log sum_j p_j N(x_i; m_j, C_j)   over means m and
        covariances C, with the shares p fixed

    by the standard expectation-maximisation algorithm [1]_, except that the shares are
    not estimated.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of components k.
    proportions : array-like of shape (n_clusters,), optional
        Shares of the components, summing to 1; equal by default. They are prior
        probabilities: the sizes of the clusters may differ from them.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        One covariance per component, one for all, diagonal ones, or multiples of I.
    reg_covar : float, default=1e-6
        Added to the diagonal of covariances, in units of the mean variance of the
        features.
    n_init : int or "auto", default="auto"
        Starts ("auto": 10); the one with the largest likelihood is kept.
    max_iter : int, default=500
        Maximum number of iterations of each start.
    tol : float, default=1e-4
        Tolerance on the gain of the mean log-likelihood.
    random_state, verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The most probable component of each sample, 0 to k-1. Components of equal
        share are ordered by decreasing size, others as in ``proportions``.
    sizes_
    membership_ : ndarray of shape (n, k)
        P(y_i = j | x_i): the responsibilities.
    means_ : ndarray of shape (k, d)
        m.
    covariances_ : ndarray
        C: of shape (k, d, d), (d, d), (k, d) or (k,) for the four types.
    proportions_ : ndarray of shape (k,)
        The shares p.
    objective_ : float
        Mean log-likelihood of a sample.
    n_iter_, converged_, history_
        Of the kept start.
    all_objectives_

    Notes
    -----
    Components are interchangeable at the start, but their shares are not, and the
    iterations do not correct a wrong match. Every start begins with the clusters of
    k-means. In every other one they get the shares by size, the largest share to the
    largest cluster; in the rest at random. Later, shares are exchanged whenever that
    raises the expected log-likelihood sum_j N_j log p_j, N_j the mass of component
    j: this is part of the maximisation, and the likelihood still never falls (except
    by ``reg_covar``).

    A step costs O(n k d^2) for full covariances, memory is O(nk + nd + k d^2).

    References
    ----------
    .. [1] Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via
       the EM algorithm", 1977.

    Examples
    --------
    >>> from lordclust.datasets import four_gaussians
    >>> from lordclust.methods import GMM
    >>> X, y = four_gaussians([20, 40, 60, 80])
    >>> model = GMM(4, proportions=[0.1, 0.2, 0.3, 0.4], random_state=0).fit(X)
    >>> model.means_.round()
    array([[-2.,  2.],
           [ 2.,  2.],
           [-2., -2.],
           [ 2., -2.]])
    """

    takes_graph = False
    takes_sparse = False
    maximises = True

    means_: FloatArray = field(init=False)
    covariances_: FloatArray = field(init=False)

    n_clusters: int = 8
    _: KW_ONLY
    proportions: ArrayLike | None = None
    covariance_type: str = "full"
    reg_covar: float = 1e-6
    n_init: int | str = "auto"
    max_iter: int = 500
    tol: float = 1e-4
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.covariance_type, COVARIANCES, "covariance_type")
        check_positive(self.reg_covar, "reg_covar")
        check_proportions(self.proportions, self.n_clusters)

    def _shares(self, k: int) -> FloatArray:
        return check_proportions(self.proportions, k)

    def _solve(self, data: FloatArray, k: int, rngs: Rngs) -> Iterable[Run]:
        X = data.astype(np.float64)
        origin, shares = X.mean(axis=0), self._shares(k)
        X = X - origin  # a distant origin would lose precision
        variance = float(X.var(axis=0).mean())
        reg = self.reg_covar * (variance if variance > 0 else 1.0)
        for start, rng in enumerate(rngs):
            R = _start(X, shares, rng, match=start % 2 == 0)
            R, means, C, history, converged = fixed_share_em(
                X, shares, R, self.covariance_type, reg,
                tol=self.tol, max_iter=self.max_iter,
            )  # fmt: skip
            tied = self.covariance_type == "tied"
            columns = {"means_": (means + origin).T}  # clusters are the last axis
            if not tied:
                columns["covariances_"] = np.moveaxis(C, 0, -1)
            yield Run(
                labels_from(R), history[-1], len(history), converged, history,
                membership=R, columns=columns,
                fitted={"covariances_": C[0].copy()} if tied else {},
            )  # fmt: skip

    def predict(self, X: Graph) -> IntArray:
        """Return the most probable component of each sample.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Samples.

        Returns
        -------
        labels : ndarray of int, shape (m,)
        """
        check_is_fitted(self)
        X = np.asarray(self._check_X(X, reset=False), dtype=np.float64)
        C = self.covariances_
        if self.covariance_type == "tied":
            C = np.broadcast_to(C, (len(self.means_), *C.shape))
        log_p = log_densities(X, self.means_, C) + np.log(self.proportions_)
        return labels_from(log_p)

    def _keep(self, run: Run, k: int) -> Self:
        super()._keep(run, k)
        self.proportions_ = self._shares(k)
        self.means_ = np.ascontiguousarray(self.means_.T)
        if self.covariance_type != "tied":
            self.covariances_ = np.moveaxis(self.covariances_, -1, 0)
        return self


class Mixture(NamedTuple):
    """The result of one start."""

    R: FloatArray
    means: FloatArray
    covariances: FloatArray
    history: FloatArray
    converged: bool


def fixed_share_em(
    X: FloatArray, shares: FloatArray, R: FloatArray, covariance_type: str = "full",
    reg: float = 0.0, *, tol: float = 1e-4, max_iter: int = 500,
) -> Mixture:  # fmt: skip
    """Maximise the likelihood over means and covariances, from responsibilities R.

    ``reg`` is added to the diagonal of the covariances; ``history`` holds the mean
    log-likelihood after each step.
    """
    history: list[float] = []
    given: IntArray = np.arange(len(shares))
    converged, order = False, given
    while not converged and len(history) < max_iter:
        R = R[:, order]
        mass = R.sum(axis=0) + TINY  # a component may have lost all samples
        means = (R.T @ X) / mass[:, None]
        C = _covariances(X, R, mass, means, covariance_type, reg)
        log_p = log_densities(X, means, C) + np.log(shares)
        total = logsumexp(log_p, axis=1, keepdims=True)
        R = np.exp(log_p - total)
        history.append(float(total.mean()))
        mass = R.sum(axis=0)
        order = _by_mass(mass, shares)  # the largest sum_j N_j log p_j
        if not (mass[order] - mass) @ np.log(shares) > GAIN * mass.sum():
            order = given
        settled = len(history) > 1 and history[-1] - history[-2] <= tol
        converged = settled and bool((order == given).all())
    return Mixture(R, means, C, np.array(history), converged)


def log_densities(X: FloatArray, means: FloatArray, C: FloatArray) -> FloatArray:
    """Return log N(x_i; m_j, C_j) for all samples and components.

    C holds for each component a matrix, a diagonal, or a multiple of I.
    """
    n, d = X.shape
    out = np.empty((n, len(means)))
    for j, mean in enumerate(means):
        Z = X - mean
        if C[j].ndim == 2:
            L = cholesky(C[j], lower=True)
            Z = solve_triangular(L, Z.T, lower=True).T
            log_det = 2 * float(np.log(np.diag(L)).sum())
        else:
            scale = np.sqrt(np.broadcast_to(C[j], (d,)))
            Z = Z / scale
            log_det = 2 * float(np.log(scale).sum())
        out[:, j] = -0.5 * ((Z * Z).sum(axis=1) + log_det + d * np.log(2 * np.pi))
    return out


def _covariances(
    X: FloatArray, R: FloatArray, mass: FloatArray, means: FloatArray,
    kind: str, reg: float,
) -> FloatArray:  # fmt: skip
    """Return for each component a matrix, a diagonal, or a multiple of I."""
    k, d = means.shape
    if kind == "full":
        C = np.empty((k, d, d))
        for j in range(k):
            D = X - means[j]
            C[j] = (R[:, j] * D.T) @ D / mass[j] + reg * np.eye(d)
        return C
    if kind == "tied":
        C = (X.T @ X - (mass * means.T) @ means) / mass.sum() + reg * np.eye(d)
        return np.broadcast_to(C, (k, d, d))
    diagonal = [R[:, j] @ (X - means[j]) ** 2 / mass[j] for j in range(k)]
    C = np.array(diagonal) + reg
    return C if kind == "diag" else np.asarray(C.mean(axis=1))


def _start(
    X: FloatArray, shares: FloatArray, rng: np.random.Generator, *, match: bool
) -> FloatArray:
    """Return the clusters of k-means, ordered by size or at random."""
    k = len(shares)
    Y = np.eye(k)[kmeans_labels(X, k, rng).labels]
    order = rng.permutation(k)
    return Y[:, _by_mass(Y.sum(axis=0), shares) if match else order]


def _by_mass(mass: FloatArray, shares: FloatArray) -> IntArray:
    """Return the order of components that gives the largest share to the heaviest."""
    order = np.empty(len(shares), dtype=np.int64)
    order[np.argsort(shares, kind="stable")] = np.argsort(mass, kind="stable")
    return order
