"""Evidence for a partition: separation, balance, and features.

The evidence for labels z of n samples is

    4.5 H(z) + 2 F(z) - log(h + 2)

where

- h is n times the entropy of a sample's label given that of a neighbour, in nats: how
  much a graph fails to tell where a cluster ends. It enters by its logarithm, because
  its unit is unknown: neighbours are not independent, and how strongly similar samples
  belong together differs from one data set to another. Ratios remain. Two nats count
  as nothing, or eight if there is only one graph. Two graphs are asked, and the
  smaller h counts: S, whose scale is local, and one whose scale is the same everywhere,
  which sees gaps in density that S evens out. A gap that either sees is a gap.
- H(z) is the entropy of the shares. An uneven partition cuts fewer edges even where
  there are no clusters: a Gaussian cut at its tail has a smaller h than one cut in the
  middle. On a graph alone H is divided by its largest value, log k: there are
  no features as evidence for rare clusters, and of many clusters some are rare.
- F is the log Bayes factor of k Gaussian clusters against one, in nats per sample, on
  the leading principal components, at most k, with which it is largest; at least H / 2.
  Slices of one Gaussian have 0.73 H. Clusters that are bent or surround each other are
  not Gaussian, and may have none: they must not lose everything to slices.
  Without features F is 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, eigh, solve_triangular
from scipy.sparse.linalg import LinearOperator, svds
from scipy.special import gammaln

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.choose.elliptical import Mixture, affordable, fitted_mixtures
from lordclust.rounding.linkage import Reach
from lordclust.rounding.spectral import TINY
from lordclust.rounding.surprise import entropy, neighbour_surprise
from lordclust.solver.seeds import without_negative

#: Weights of balance and features against the logarithm of the surprise.
BALANCE, FEATURES = 4.5, 2.0
#: F is at least this, per nat of balance.
LEAST = 0.5
#: Surprise, in nats, that counts as nothing: if two graphs are asked, or only one.
NOTHING, NOTHING_ALONE = 2.0, 8.0
#: Largest number of components.
N_COMPONENTS = 60
#: Above this many samples and features no matrix of their products is formed.
COVARIANCE_UP_TO = 1500
#: Rows of X that are centred at a time.
BLOCK = 2048
#: Prior of a cluster's mean: N(0, Sigma / KAPPA), nearly flat.
KAPPA = 0.01
#: Components with less variance than this fraction of the largest are rounding error,
#: and those of features of size 1 with less than this.
ROUNDING, ROUNDED = 1e-12, 1e-28


class Score(NamedTuple):
    """Evidence for a partition.

    Attributes
    ----------
    surprise : float
        n times the entropy of a label given that of a neighbour, in nats; the smaller
        of those of two graphs, if distances are known.
    balance : float
        Entropy of the shares, in nats; on a graph alone, divided by its largest value.
    features : float
        Log Bayes factor of the clusters against one Gaussian, in nats per sample, at
        least half of the balance; 0 without features.
    on_graph, on_reach : float
        The surprise on S, and on the graph of one scale; the same if there is only one.
    nothing : float
        Surprise that counts as nothing.
    """

    surprise: float
    balance: float
    features: float
    on_graph: float
    on_reach: float
    nothing: float = NOTHING

    @property
    def total(self) -> float:
        """The evidence."""
        gain = BALANCE * self.balance + FEATURES * self.features
        return gain - float(np.log(self.surprise + self.nothing))


class Evidence:
    """Scores partitions of the same samples.

    Parameters
    ----------
    S : ndarray or csr_array of shape (n, n)
        The graph. Negative entries count as 0.
    n_clusters : int
        Labels are from 0 to ``n_clusters - 1``.
    X : ndarray or sparse of shape (n, d), optional
        The features.
    weight : ndarray of shape (n,), optional
        Weights of the samples; 1 by default.
    reach : Reach, optional
        Distances of neighbours.
    """

    def __init__(
        self,
        S: Graph,
        n_clusters: int,
        X: Graph | None = None,
        weight: FloatArray | None = None,
        reach: Reach | None = None,
    ) -> None:
        n = S.shape[0]
        self.k, self.graph_only = n_clusters, X is None and reach is None
        self.weight = np.ones(n) if weight is None else weight
        graphs = [without_negative(S)] + ([] if reach is None else [reach.similarity()])
        self.graphs = [_weighted(graph, self.weight) for graph in graphs]
        self.components = np.zeros((n, 0))
        if X is not None and n_clusters > 1:
            count = max(n_clusters, affordable(n, n_clusters))  # more for mixtures
            scores = principal_components(X, self.weight, count)
            self.components = whitened(scores, self.weight)
        everyone = np.zeros(n, dtype=np.int64)
        self.baseline = gaussian_evidence(self.components, everyone, 1, self.weight)
        self._seen: dict[bytes, Score] = {}

    def score(self, labels: IntArray) -> Score:
        """Return the evidence for labels; equal partitions are scored once."""
        # The last bits depend on how clusters are numbered: use the numbers of the key,
        # whichever of several threads comes first.
        labels = renamed(labels, self.k)
        key = labels.tobytes()
        if key in self._seen:
            return self._seen[key]
        total = float(self.weight.sum())
        sizes = np.bincount(labels, self.weight, minlength=self.k)
        balance = entropy(sizes / total)
        features = features_told(self.gain(labels, self.k) / total, balance)
        surprise = [
            total * neighbour_surprise(graph, labels, self.k) for graph in self.graphs
        ]
        if self.graph_only:
            balance /= float(np.log(max(2, int((sizes > 0).sum()))))
        nothing = NOTHING if len(surprise) > 1 else NOTHING_ALONE
        self._seen[key] = Score(
            min(surprise), balance, features, surprise[0], surprise[-1], nothing
        )
        return self._seen[key]

    def gain(self, labels: IntArray, count: int | None = None) -> FloatArray:
        """Return the log Bayes factor on the first 1, 2, ..., ``count`` components."""
        Z = self.components[:, :count]
        gain = gaussian_evidence(Z, labels, self.k, self.weight)
        return np.asarray(gain - self.baseline[:count])

    def mixtures(self, partitions: Sequence[IntArray]) -> list[Mixture]:
        """Return the mixtures reached from partitions, if there are features.

        They are fitted on the components that tell most of the first partition.
        """
        gain = self.gain(partitions[0])
        if not gain.max(initial=0.0) > 0:
            return []
        Z = self.components[:, : int(gain.argmax()) + 1]
        return fitted_mixtures(Z, partitions, self.k, self.weight)


def features_told(gain: FloatArray, balance: float) -> float:
    """Return F: the largest gain, at least half of the balance; 0 without features.

    Examples
    --------
    >>> features_told(np.array([0.1, 0.2]), 0.6), features_told(np.empty(0), 0.6)
    (0.3, 0.0)
    """
    return max(float(gain.max()), LEAST * balance) if len(gain) else 0.0


def gaussian_evidence(
    Z: FloatArray, labels: IntArray, n_clusters: int, weight: FloatArray
) -> FloatArray:
    """Return log p(Z | labels), up to constants, on the first d columns for each d.

    Clusters are Gaussians of unknown mean m and covariance Sigma, with the prior
    Sigma ~ inverse Wishart(d + 2, I), m ~ N(0, Sigma / KAPPA), integrated out: for N
    samples of mean m and scatter W in d columns,

        sum_{i=3..d+2} [lgamma((N + i)/2) - lgamma(i/2)] - (d + 2 + N)/2 logdet M
            + d/2 log(KAPPA / (KAPPA + N)),   M = I + W + KAPPA N / (KAPPA + N) m m'

    The leading d x d block of M belongs to the first d columns, so that one Cholesky
    factor gives all determinants.
    """
    d = np.arange(1, Z.shape[1] + 1)
    total = np.zeros(len(d))
    if len(d) == 0:
        return total
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    for j in range(n_clusters):
        mine = order[bounds[j] : bounds[j + 1]]
        q = weight[mine]
        N = q.sum()
        if N <= 0:
            continue
        Y = Z[mine]
        mean = q @ Y / N
        Y = np.sqrt(q)[:, None] * (Y - mean)
        M = np.eye(len(d)) + Y.T @ Y + KAPPA * N / (KAPPA + N) * np.outer(mean, mean)
        logdet = 2 * np.cumsum(np.log(np.diag(cholesky(M, lower=True))))
        total += np.cumsum(gammaln((N + d + 2) / 2) - gammaln((d + 2) / 2))
        total += d / 2 * np.log(KAPPA / (KAPPA + N)) - (d + 2 + N) / 2 * logdet
    return total


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
    size = max(float(X.max()), -float(X.min())) or 1.0  # squares of very large numbers
    root = np.sqrt(weight / weight.sum())
    if sparse.issparse(X) or d > n or d > COVARIANCE_UP_TO:
        X = X / size
        mean = np.asarray(root**2 @ X)
        axes = _leading_axes(X, mean, root, count)
        return np.asarray(X @ axes - mean @ axes)
    mean = (root**2 @ X) / size
    # Centred copies of some rows at a time stay in the cache.
    blocks = [slice(i, i + BLOCK) for i in range(0, n, BLOCK)]
    covariance = np.zeros((d, d))
    for rows in blocks:
        Y = root[rows, None] * (X[rows] / size - mean)
        covariance += Y.T @ Y
    axes = _top_eigenvectors(covariance, count)
    return np.concatenate([(X[rows] / size - mean) @ axes for rows in blocks])


def _top_eigenvectors(A: FloatArray, count: int) -> FloatArray:
    """Return the leading eigenvectors of a symmetric matrix."""
    d = len(A)
    first = max(0, d - count)
    return np.asarray(eigh(A, subset_by_index=[first, d - 1])[1][:, ::-1])


def _leading_axes(
    X: Graph, mean: FloatArray, root: FloatArray, count: int
) -> FloatArray:
    """Return the leading right singular vectors of Y = diag(root) (X - 1 mean')."""
    n, d = X.shape
    if min(n, d) <= COVARIANCE_UP_TO:
        Y = root[:, None] * ((X.toarray() if sparse.issparse(X) else X) - mean)
        if d <= n:
            return _top_eigenvectors(Y.T @ Y, count)
        axes = Y.T @ _top_eigenvectors(Y @ Y.T, count)
        return np.asarray(axes / np.maximum(np.linalg.norm(axes, axis=0), TINY))
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
    kept = variance > max(ROUNDING * variance.max(initial=0.0), ROUNDED)
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
