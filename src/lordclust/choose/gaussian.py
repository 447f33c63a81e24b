"""Posteriors of Gaussian clusters, where clusters are Gaussian.

If every cluster is a Gaussian, nothing tells more of a sample than its posterior, and
the most probable cluster is the best possible label. If clusters are not, a mixture of
Gaussians is certain of the wrong things. So mixtures are fitted by the EM algorithm,
from several partitions, and their clusters are tested: skewness and kurtosis must be
those of Gaussians, up to what chance explains.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import logsumexp

from lordclust._core.blas import one_blas_thread
from lordclust._core.typing import FloatArray, IntArray

#: Departure from a Gaussian (see `departure`) that divides the trust by e.
TOLERATED = 0.05
#: Iterations before clusters are tested, and at most; the change of a posterior, and
#: the mean change, at which they stop.
FIRST, MOST, SETTLED, MEAN_SETTLED = 3, 100, 1e-3, 1e-5
#: Samples for each parameter of a mixture, at least: with fewer it fits their noise.
PER_PARAMETER = 2
#: Numbers of a pass over the samples, n k d^2, above which there is no mixture, and
#: up to which, for all partitions together, there are several, or more than k features.
WORK, SEVERAL = 1e9, 1e8


class Mixture(NamedTuple):
    """A fitted mixture.

    Attributes
    ----------
    posterior : ndarray of shape (n, k)
        P(cluster | sample).
    trust : float
        From 0 to 1: how far clusters are Gaussian.
    likelihood : float
        Its logarithm, up to a constant.
    settled : bool
        Whether another iteration changes next to nothing.
    n_features : int
        Number of features.
    """

    posterior: FloatArray
    trust: float
    likelihood: float
    settled: bool
    n_features: int

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
        """Whether the clusters are Gaussian rather than not."""
        return self.trust >= 0.5


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
        Only those whose clusters are Gaussian. None if there are no features, too few
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
        mixture = _improved(Z, hard, weight, FIRST)
        if mixture.holds and not mixture.settled:
            mixture = _improved(Z, mixture.posterior, weight, MOST)
        if mixture.holds:
            found.append(mixture)
    return found


def _improved(Z: FloatArray, P: FloatArray, weight: FloatArray, turns: int) -> Mixture:
    """Return the mixture after some iterations from memberships P."""
    for _ in range(turns):
        before, (P, likelihood) = P, _posterior(Z, P * weight[:, None], weight)
        change = np.abs(P - before)
        settled = change.max() < SETTLED or change.sum() < MEAN_SETTLED * len(P)
        if settled:
            break
    return Mixture(P, _trust(Z, P * weight[:, None]), likelihood, settled, Z.shape[1])


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
    """Return the number of parameters of a Gaussian and its share in d dimensions.

    >>> parameters(3)
    10
    """
    return (d + 1) * (d + 2) // 2


def _trust(Z: FloatArray, R: FloatArray) -> float:
    """Return from 0 to 1 how far clusters of weighted memberships are Gaussian."""
    return float(np.exp(-departure(Z, R) / TOLERATED))


def _posterior(
    Z: FloatArray, R: FloatArray, weight: FloatArray
) -> tuple[FloatArray, float]:
    """Return P(cluster | sample) for the Gaussians of memberships R, and how likely.

    R are multiplied by weights. Covariances have the prior of the evidence, which keeps
    them regular.
    """
    (n, d), k = Z.shape, R.shape[1]
    log = np.full((n, k), -np.inf)
    for j in np.flatnonzero(R.sum(axis=0) > 0):
        N = R[:, j].sum()
        Y = Z - R[:, j] @ Z / N
        cov = (np.eye(d) + (R[:, j, None] * Y).T @ Y) / (N + d + 1)
        factor = cholesky(cov, lower=True)
        U = solve_triangular(factor, Y.T, lower=True, overwrite_b=True)
        log[:, j] = np.log(N) - np.log(np.diag(factor)).sum() - (U * U).sum(axis=0) / 2
    total = logsumexp(log, axis=1)
    return np.asarray(np.exp(log - total[:, None])), float(weight @ total)


def departure(Z: FloatArray, R: FloatArray) -> float:
    """Return how far clusters of weighted memberships R are from Gaussian.

    With U the samples of a cluster of size N in d columns, scaled to mean 0 and
    covariance I, it is

        max(0, |log(E |U|^4 / (d (d + 2)))| - (8 / (d (d + 2) N))^1/2)
            + max(0, |E U^3|^2 / d - 6 / N),

    the kurtosis relative to that of a Gaussian and the squared skewness of a column,
    each without what is expected by chance (Mardia, 1970); the mean over clusters,
    weighted by their sizes. A cluster too small to have moments counts 1.
    """
    d, sizes = Z.shape[1], R.sum(axis=0)
    chance = 6 * (R**2).sum(axis=0) / np.maximum(sizes, 1e-300) ** 2
    total = 0.0
    for j in np.flatnonzero(sizes > 0):
        p = R[:, j] / sizes[j]
        Y = Z - p @ Z
        cov = (p[:, None] * Y).T @ Y
        values = np.linalg.eigvalsh(cov)
        if (d + 2) * chance[j] > 3 or values[0] <= 1e-9 * values[-1]:
            total += sizes[j]
            continue
        U = solve_triangular(cholesky(cov, lower=True), Y.T, lower=True)
        kurtosis = np.log(p @ (U * U).sum(axis=0) ** 2 / (d * (d + 2)))
        skewness = ((U**3 @ p) ** 2).mean()
        noise = np.sqrt(8 * chance[j] / 6 / (d * (d + 2)))
        beyond = max(0.0, abs(kurtosis) - noise) + max(0.0, skewness - chance[j])
        total += sizes[j] * beyond
    return float(total / sizes.sum())
