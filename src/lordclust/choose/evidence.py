"""Evidence for a partition: separation on the graph, balance, and features.

The evidence for labels z of n samples is

    1.5 (H(z) + F / n) - log(h + 8)

where

- h is n times the entropy of a sample's label given that of a neighbour, in nats: how
  much the graph fails to tell where a cluster ends. It enters by its logarithm, because
  its unit is unknown: neighbours are not independent, and how strongly similar samples
  belong together differs from one data set to another. Ratios remain. Eight nats, or
  one in each of eight places, count as nothing.
- H(z) is the entropy of the shares. An uneven partition cuts fewer edges even where
  there are no clusters: a Gaussian cut at its tail has a smaller h than one cut in the
  middle: the logarithm of h falls by 1.6 to 2.2 times the loss of entropy.
- F is the log Bayes factor of k Gaussian clusters against one, on the leading k - 1
  principal components, which the centres of k clusters span.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse.linalg import LinearOperator, svds
from scipy.special import gammaln

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.rounding.spectral import TINY
from lordclust.rounding.surprise import entropy, neighbour_surprise
from lordclust.solver.seeds import without_negative

#: Weight of balance and features against the logarithm of the surprise.
WEIGHT = 1.5
#: Surprise, in nats, that counts as nothing.
NOTHING = 8.0
#: Largest number of components.
N_COMPONENTS = 60
#: Above this many samples and features no matrix of their products is formed.
COVARIANCE_UP_TO = 1500
#: Prior of a cluster's mean: N(0, Sigma / KAPPA), nearly flat.
KAPPA = 0.01
#: Components with less variance than this fraction of the largest are rounding error.
ROUNDING = 1e-12


class Score(NamedTuple):
    """Evidence for a partition.

    Attributes
    ----------
    surprise : float
        n times the entropy of a label given that of a neighbour, in nats.
    balance : float
        Entropy of the shares, in nats.
    features : float
        Log Bayes factor of the clusters against one Gaussian, in nats per sample;
        without features, the balance again.
    """

    surprise: float
    balance: float
    features: float

    @property
    def total(self) -> float:
        """The evidence."""
        gain = WEIGHT * (self.balance + self.features)
        return gain - float(np.log(self.surprise + NOTHING))


class Evidence:
    """Scores partitions of the same samples.

    Parameters
    ----------
    S : ndarray or csr_array of shape (n, n)
        The graph. Negative entries count as 0.
    n_clusters : int
        Labels are from 0 to ``n_clusters - 1``.
    X : ndarray or sparse of shape (n, d), optional
        The features. Without them balance counts twice.
    weight : ndarray of shape (n,), optional
        Weights of the samples; 1 by default.
    """

    def __init__(
        self,
        S: Graph,
        n_clusters: int,
        X: Graph | None = None,
        weight: FloatArray | None = None,
    ) -> None:
        n = S.shape[0]
        self.k, self.has_features = n_clusters, X is not None
        self.weight = np.ones(n) if weight is None else weight
        self.edges = _weighted(without_negative(S), self.weight)
        self.Z = np.zeros((n, 0))
        if X is not None and n_clusters > 1:
            scores = principal_components(X, self.weight, n_clusters - 1)
            self.Z = whitened(scores, self.weight)
        everyone = np.zeros(n, dtype=np.int64)
        self.baseline = gaussian_evidence(self.Z, everyone, 1, self.weight)
        self._seen: dict[bytes, Score] = {}

    def score(self, labels: IntArray) -> Score:
        """Return the evidence for labels; equal partitions are scored once."""
        # The last bits depend on how clusters are numbered: use the numbers of the key,
        # whichever of several threads comes first.
        labels = renamed(labels, self.k)
        key = labels.tobytes()
        if key not in self._seen:
            self._seen[key] = self._score(labels)
        return self._seen[key]

    def _score(self, labels: IntArray) -> Score:
        total = float(self.weight.sum())
        sizes = np.bincount(labels, self.weight, minlength=self.k)
        gain = gaussian_evidence(self.Z, labels, self.k, self.weight) - self.baseline
        surprise = total * neighbour_surprise(self.edges, labels, self.k)
        balance = entropy(sizes / total)
        # Without features, balance stands in for what they would say.
        features = max(0.0, gain) / total if self.has_features else balance
        return Score(surprise, balance, features)


def gaussian_evidence(
    Z: FloatArray, labels: IntArray, n_clusters: int, weight: FloatArray
) -> float:
    """Return log p(Z | labels), up to constants.

    Clusters are Gaussians of unknown mean m and covariance Sigma, with the prior
    Sigma ~ inverse Wishart(d + 2, I), m ~ N(0, Sigma / KAPPA), integrated out: for N
    samples of mean m and scatter W in d columns,

        sum_{i=3..d+2} [lgamma((N + i)/2) - lgamma(i/2)] - (d + 2 + N)/2 logdet M
            + d/2 log(KAPPA / (KAPPA + N)),   M = I + W + KAPPA N / (KAPPA + N) m m'
    """
    d = Z.shape[1]
    if d == 0:
        return 0.0
    i = np.arange(3, d + 3)
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    total = 0.0
    for j in range(n_clusters):
        mine = order[bounds[j] : bounds[j + 1]]
        q = weight[mine]
        N = q.sum()
        if N <= 0:
            continue
        Y = Z[mine]
        mean = q @ Y / N
        Y = np.sqrt(q)[:, None] * (Y - mean)
        M = np.eye(d) + Y.T @ Y + KAPPA * N / (KAPPA + N) * np.outer(mean, mean)
        logdet = 2 * np.log(np.diag(cholesky(M, lower=True))).sum()
        total += (gammaln((N + i) / 2) - gammaln(i / 2)).sum()
        total += d / 2 * np.log(KAPPA / (KAPPA + N)) - (d + 2 + N) / 2 * logdet
    return float(total)


def _weighted(S: Graph, weight: FloatArray) -> Graph:
    """Return S with each entry times the weights of both samples."""
    if np.all(weight == 1):
        return sparse.coo_array(S) if sparse.issparse(S) else S
    if not sparse.issparse(S):
        return weight[:, None] * S * weight
    S = sparse.coo_array(S, copy=True)
    S.data = S.data * weight[S.row] * weight[S.col]
    return S


def principal_components(X: Graph, weight: FloatArray, count: int) -> FloatArray:
    """Return the leading principal component scores of X, at most 60 columns."""
    n, d = X.shape
    count = min(count, N_COMPONENTS)
    size = float(abs(X).max()) or 1.0  # squares of very large or small numbers
    X, root = X / size, np.sqrt(weight / weight.sum())
    mean = np.asarray(root**2 @ X)
    if min(n, d) > COVARIANCE_UP_TO:
        axes = _leading_axes(X, mean, root, count)
    else:
        Y = root[:, None] * ((X.toarray() if sparse.issparse(X) else X) - mean)
        if d <= n:
            axes = _top_eigenvectors(Y.T @ Y, count)
        else:
            axes = Y.T @ _top_eigenvectors(Y @ Y.T, count)
            axes = axes / np.maximum(np.linalg.norm(axes, axis=0), TINY)
    return np.asarray(X @ axes - mean @ axes)


def _top_eigenvectors(A: FloatArray, count: int) -> FloatArray:
    """Return the leading eigenvectors of a symmetric matrix."""
    d = len(A)
    first = max(0, d - count)
    return np.asarray(eigh(A, subset_by_index=[first, d - 1])[1][:, ::-1])


def _leading_axes(
    X: Graph, mean: FloatArray, root: FloatArray, count: int
) -> FloatArray:
    """Return the leading right singular vectors of diag(root) (X - 1 mean')."""
    n, d = X.shape
    count = min(count, min(n, d) - 1)
    if count < 1:
        return np.zeros((d, 0))
    centred = LinearOperator(
        (n, d),
        matvec=lambda v: root * (X @ v.ravel() - mean @ v.ravel()),
        rmatvec=lambda u: X.T @ (root * u.ravel()) - (root @ u.ravel()) * mean,
        dtype=np.float64,
    )
    start = np.random.default_rng(0).standard_normal(min(n, d))
    _, _, Vt = svds(centred, count, v0=start)
    return np.asarray(Vt[::-1].T)


def whitened(scores: FloatArray, weight: FloatArray) -> FloatArray:
    """Return scores with total covariance I; leading columns keep their span.

    Columns that are constant, or copies of earlier ones, are left out.
    """
    p = weight / weight.sum()
    Z = scores - p @ scores
    variance = p @ Z**2
    kept = variance > max(ROUNDING * variance.max(initial=0.0), TINY)
    Z = Z[:, kept] / np.sqrt(variance[kept])
    if not kept.any():
        return np.asarray(Z)  # an old LAPACK fails on empty arrays
    cov = (p[:, None] * Z).T @ Z
    # Scores are nearly uncorrelated: the factor only removes the effect of weights.
    factor = cholesky(cov + ROUNDING * np.eye(len(cov)), lower=True)
    return np.asarray(solve_triangular(factor, Z.T, lower=True).T)


def renamed(labels: IntArray, k: int) -> IntArray:
    """Return labels numbered by first appearance, the same for equal partitions."""
    found, first = np.unique(labels, return_index=True)
    rank = np.zeros(k, dtype=np.int32)
    rank[found[np.argsort(first)]] = np.arange(len(found))
    return np.asarray(rank[labels])
