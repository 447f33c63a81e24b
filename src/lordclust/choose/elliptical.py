"""Posteriors of elliptical clusters, where clusters are elliptical.

If every cluster is a Gaussian, or a t distribution, whose tails are heavier, nothing
tells more of a sample than its posterior, and the most probable cluster is the best
possible label. If clusters are not, such a mixture is certain of the wrong things. So
mixtures are fitted by the EM algorithm, from several partitions, and their clusters are
tested: skewness and kurtosis must be those of the distribution, up to what chance
explains.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, logsumexp

from lordclust._core.blas import one_blas_thread
from lordclust._core.typing import FloatArray, IntArray

#: Departure from the distribution (see `departure`) that divides the trust by e.
TOLERATED = 0.05
#: Iterations before clusters are tested, and at most; the change of a posterior, and
#: the mean change, at which they stop.
FIRST, MOST, SETTLED, MEAN_SETTLED = 3, 100, 1e-3, 1e-5
#: Samples for each parameter of a mixture, at least: with fewer it fits their noise.
PER_PARAMETER = 2
#: Numbers of a pass over the samples, n k d^2, above which there is no mixture, and
#: up to which, for all partitions together, there are several, or more than k features.
WORK, SEVERAL = 1e9, 1e8
#: Smallest degrees of freedom: with fewer there is no covariance. With more than the
#: largest the clusters are Gaussians.
HEAVIEST, LIGHTEST = 2.0, 200.0
#: Posteriors below this do not count for the degrees of freedom.
UNLIKELY = 1e-9


class Mixture(NamedTuple):
    """A fitted mixture of t distributions, or of Gaussians.

    Attributes
    ----------
    n_features : int
        Number of features, d.
    posterior : ndarray of shape (n, k)
        P(cluster | sample).
    weight_in : ndarray of shape (n, k)
        Weights of samples in the mean and the covariance of a cluster, smaller far
        from its mean: (freedom + d) / (freedom + distance^2); 1 for Gaussians.
    freedom : float
        Degrees of freedom of all clusters; infinite for Gaussians.
    likelihood : float
        Its logarithm, up to a constant.
    settled : bool
        Whether another iteration changes next to nothing.
    trust : float
        From 0 to 1: how far clusters have this distribution.
    """

    n_features: int
    posterior: FloatArray
    weight_in: FloatArray
    freedom: float = np.inf
    likelihood: float = -np.inf
    settled: bool = False
    trust: float = 0.0

    @property
    def labels(self) -> IntArray:
        """The most probable cluster of each sample."""
        return np.asarray(self.posterior.argmax(axis=1))

    @property
    def chance(self) -> float:
        """The difference in likelihood that means nothing.

        The price of the parameters of one cluster in the BIC: a cluster of few samples
        gains as much by chance.
        """
        return parameters(self.n_features) / 2 * float(np.log(len(self.posterior)))

    @property
    def holds(self) -> bool:
        """Whether the clusters have this distribution rather than not."""
        return self.trust >= 0.5

    def renumbered(self, names: IntArray) -> "Mixture":
        """Return it with clusters 0, 1, ... called by these names."""
        old = np.argsort(names)
        return self._replace(
            posterior=self.posterior[:, old], weight_in=self.weight_in[:, old]
        )


@one_blas_thread()
def fitted_mixtures(
    Z: FloatArray, partitions: Sequence[IntArray], k: int, weight: FloatArray
) -> list[Mixture]:
    """Return the mixtures that the EM algorithm reaches from partitions.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Features with covariance I.
    partitions : sequence of ndarray of int, shape (n,)
        Labels from 0 to k - 1; those of the first are the most likely to be right.
    k : int
        Number of clusters.
    weight : ndarray of shape (n,)
        Weights of the samples.

    Returns
    -------
    mixtures : list of Mixture
        Only those whose clusters are elliptical. None if there are no features, too few
        samples, or so many numbers that it would take long.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = np.r_[rng.normal(-2, 1, (5000, 1)), rng.normal(2, 1, (5000, 1))]
    >>> y = np.repeat([0, 1], 5000)
    >>> (mixture,) = fitted_mixtures(Z, [y], 2, np.ones(10_000))
    >>> float(mixture.posterior.max(axis=1).mean().round(2))
    0.98
    """
    n, d = Z.shape
    work = n * k * d * d
    if d == 0 or work > WORK or n < PER_PARAMETER * k * parameters(d):
        return []
    found = []
    for labels in partitions[: max(1, int(SEVERAL / work))]:
        hard = (labels[:, None] == np.arange(k)).astype(np.float64)
        mixture = _improved(Z, Mixture(d, hard, np.ones((n, k))), weight, FIRST)
        if mixture.holds and not mixture.settled:
            mixture = _improved(Z, mixture, weight, MOST)
        if mixture.holds:
            found.append(mixture)
    return found


def _improved(
    Z: FloatArray, mixture: Mixture, weight: FloatArray, turns: int
) -> Mixture:
    """Return the mixture after some iterations, with the trust in it."""
    for _ in range(turns):
        before, mixture = mixture.posterior, _iterated(Z, mixture, weight)
        change = np.abs(mixture.posterior - before)
        settled = change.max() < SETTLED or change.sum() < MEAN_SETTLED * len(change)
        if settled:
            break
    R = mixture.posterior * weight[:, None]
    distance = departure(Z, R, mixture.weight_in, mixture.freedom)
    trust = float(np.exp(-distance / TOLERATED))
    return mixture._replace(settled=bool(settled), trust=trust)


def affordable(n: int, k: int) -> int:
    """Return the largest number of features for which a mixture is cheap and safe.

    >>> affordable(150, 3), affordable(70_000, 10)
    (5, 11)
    """
    d = 0
    while (
        n >= PER_PARAMETER * k * parameters(d + 1) and n * k * (d + 1) ** 2 <= SEVERAL
    ):
        d += 1
    return d


def parameters(d: int) -> int:
    """Return the number of parameters of a cluster and its share in d dimensions.

    >>> parameters(3)
    10
    """
    return (d + 1) * (d + 2) // 2


def _iterated(Z: FloatArray, mixture: Mixture, weight: FloatArray) -> Mixture:
    """Return the mixture after one iteration (Liu and Rubin, 1995).

    Covariances have the prior of the evidence, which keeps them regular. The degrees of
    freedom are those of the largest likelihood for these means and covariances.
    """
    (n, d), k = Z.shape, mixture.posterior.shape[1]
    R = mixture.posterior * weight[:, None]
    log, squares = np.full((n, k), -np.inf), np.zeros((n, k))
    for j in np.flatnonzero(R.sum(axis=0) > 0):
        N, inward = R[:, j].sum(), R[:, j] * mixture.weight_in[:, j]
        Y = Z - inward @ Z / inward.sum()
        cov = (np.eye(d) + (inward[:, None] * Y).T @ Y) / (N + d + 1)
        factor = cholesky(cov, lower=True)
        U = solve_triangular(factor, Y.T, lower=True, overwrite_b=True)
        squares[:, j] = (U * U).sum(axis=0)
        log[:, j] = np.log(N) - np.log(np.diag(factor)).sum()
    log += log_density(squares, d, mixture.freedom)
    total = logsumexp(log, axis=1)
    P = np.asarray(np.exp(log - total[:, None]))
    freedom = degrees_of_freedom(P * weight[:, None], squares, d)
    inward = (1 + d / freedom) / (1 + squares / freedom)  # the freedom may be infinite
    return mixture._replace(
        posterior=P, weight_in=inward, freedom=freedom,
        likelihood=float(weight @ total),
    )  # fmt: skip


def log_density(squares: FloatArray, d: int, freedom: float) -> FloatArray:
    """Return the log density of t distributions at squared distances from the mean.

    Up to a constant, which is the same for all degrees of freedom, and up to the
    determinant.

    >>> log_density(np.array([2.0]), 1, np.inf), log_density(np.array([2.0]), 1, 1e4)
    (array([-1.]), array([-1.000025]))
    """
    if np.isinf(freedom):
        return squares / -2
    half = (freedom + d) / 2
    constant = gammaln(half) - gammaln(freedom / 2) - d / 2 * np.log(freedom / 2)
    return np.asarray(constant - half * np.log1p(squares / freedom))


def degrees_of_freedom(R: FloatArray, squares: FloatArray, d: int) -> float:
    """Return the most likely degrees of freedom, given squared distances and weights R.

    The root of the derivative of the likelihood; infinite if that grows to the end.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_t(5, 100_000)
    >>> R, squares = np.ones(100_000), X**2
    >>> round(degrees_of_freedom(R, squares, 1)), degrees_of_freedom(R, R, 1)
    (5, inf)
    """
    kept = R > UNLIKELY
    R, squares = R[kept], squares[kept]

    def slope(freedom: float) -> float:
        inward, half = (freedom + d) / (freedom + squares), (freedom + d) / 2
        mean = float(R @ (np.log(inward) - inward)) / float(R.sum())
        own = np.log(freedom / 2) - digamma(freedom / 2)
        return float(1 + own + digamma(half) - np.log(half) + mean)

    if slope(LIGHTEST) > 0:
        return np.inf
    if slope(HEAVIEST) < 0:
        return HEAVIEST
    return float(brentq(slope, HEAVIEST, LIGHTEST, rtol=1e-6))


def departure(
    Z: FloatArray,
    R: FloatArray,
    weight_in: FloatArray | None = None,
    freedom: float = np.inf,
) -> float:
    """Return how far clusters of weighted memberships R are from their distribution.

    With U the samples of a cluster of size N in d columns, times the roots of their
    weights, scaled to mean 0 and covariance I, it is

        max(0, |log(E |U|^4 / (c d (d + 2)))| - (8 / (d (d + 2) N))^1/2)
            + max(0, |E U^3|^2 / d - 6 / N),

    the kurtosis relative to that of the distribution and the squared skewness of a
    column, each without what is expected by chance (Mardia, 1970). For Gaussians the
    weights and c are 1; for a t distribution c = (freedom + d) / (freedom + d + 2). It
    is the mean over clusters, weighted by their sizes. A cluster too small to have
    moments counts 1.
    """
    d, sizes = Z.shape[1], R.sum(axis=0)
    inward = np.ones_like(R) if weight_in is None else weight_in
    chance = 6 * (R**2).sum(axis=0) / np.maximum(sizes, 1e-300) ** 2
    c = 1.0 if np.isinf(freedom) else (freedom + d) / (freedom + d + 2)
    total = 0.0
    for j in np.flatnonzero(sizes > 0):
        p, w = R[:, j] / sizes[j], inward[:, j]
        Y = np.sqrt(w)[:, None] * (Z - (p * w) @ Z / (p @ w))
        cov = (p[:, None] * Y).T @ Y
        values = np.linalg.eigvalsh(cov)
        if (d + 2) * chance[j] > 3 or values[0] <= 1e-9 * values[-1]:
            total += sizes[j]
            continue
        U = solve_triangular(cholesky(cov, lower=True), Y.T, lower=True)
        kurtosis = np.log(p @ (U * U).sum(axis=0) ** 2 / (c * d * (d + 2)))
        skewness = ((U**3 @ p) ** 2).mean()
        noise = np.sqrt(8 * chance[j] / 6 / (d * (d + 2)))
        beyond = max(0.0, abs(kurtosis) - noise) + max(0.0, skewness - chance[j])
        total += sizes[j] * beyond
    return float(total / sizes.sum())
