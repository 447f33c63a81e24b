"""Evidence for a partition: its clusters in feature space, and on the graph.

Two terms, both in nats (natural units of log probability), are added:

- How much better k Gaussians explain the features than one: the log Bayes factor,
  means and full covariances integrated out, on the leading principal components.
- How well the label of a neighbour predicts a sample's own: n times the mutual
  information between the two ends of an edge.

The graph evens out density, so it carries little information on the sizes of clusters;
their covariances do. Gaussians alone may cut through a dense region; the graph helps.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse.linalg import LinearOperator, svds
from scipy.special import gammaln

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.rounding.spectral import TINY, random_walk_eigenvectors

#: Largest number of leading components over which evidence is compared.
N_COMPONENTS = 60
#: Above this many features their covariance is not formed.
COVARIANCE_UP_TO = 1500
#: Prior of a cluster's mean: N(0, Sigma / KAPPA), nearly flat.
KAPPA = 0.01
#: Components with less variance than this fraction of the largest are rounding error.
ROUNDING = 1e-12


class Score(NamedTuple):
    """Evidence for a partition, in nats.

    Attributes
    ----------
    features : float
        Log Bayes factor of the clusters against one Gaussian.
    graph : float
        n times the mutual information between the labels of neighbours.
    n_components : int
        Number of leading components with the largest log Bayes factor.
    """

    features: float
    graph: float
    n_components: int

    @property
    def total(self) -> float:
        """Sum of both."""
        return self.features + self.graph


class Evidence:
    """Scores partitions of the same samples.

    Parameters
    ----------
    S : ndarray or csr_array of shape (n, n)
        The graph. Negative entries count as 0.
    n_clusters : int
        Labels are from 0 to ``n_clusters - 1``.
    X : ndarray or sparse of shape (n, d), optional
        The features. Without them, eigenvectors of the random walk on the graph are
        used instead.
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
        S = _without_negative(S)
        self.edges = _weighted(S, self.weight)
        scores = (
            spectral_components(S)
            if X is None
            else principal_components(X, self.weight)
        )
        self.Z = whitened(scores, self.weight)
        everyone = np.zeros(n, dtype=np.int64)
        self.baseline = gaussian_evidence(self.Z, everyone, 1, self.weight)
        self._seen: dict[bytes, Score] = {}

    def score(self, labels: IntArray) -> Score:
        """Return the evidence for labels; equal partitions are scored once."""
        # The last bits depend on how clusters are numbered: use the numbers of the key,
        # whichever of several threads comes first.
        labels = _renamed(labels, self.k)
        key = labels.tobytes()
        if key not in self._seen:
            self._seen[key] = self._score(labels)
        return self._seen[key]

    def surprise(self, labels: IntArray) -> float:
        """Return n times the entropy of a label given that of a neighbour, in nats."""
        joint = _between_clusters(self.edges, labels, self.k)
        if joint.sum() <= 0:
            return np.inf  # without edges there are no neighbours
        ends = joint.sum(axis=1) / joint.sum()
        entropy = -float((ends[ends > 0] * np.log(ends[ends > 0])).sum())
        known = neighbour_information(self.edges, labels, self.k)
        return float(self.weight.sum()) * max(0.0, entropy - known)

    def _score(self, labels: IntArray) -> Score:
        gain = gaussian_evidence(self.Z, labels, self.k, self.weight) - self.baseline
        shared = neighbour_information(self.edges, labels, self.k)
        # Without components nothing is explained.
        best = int(gain.argmax()) if len(gain) else -1
        features = max(0.0, float(gain[best])) if best >= 0 else 0.0
        return Score(features, float(self.weight.sum()) * shared, best + 1)


def gaussian_evidence(
    Z: FloatArray, labels: IntArray, n_clusters: int, weight: FloatArray
) -> FloatArray:
    """Return log p(Z | labels) on the first d columns, for each d, up to constants.

    Clusters are Gaussians of unknown mean m and covariance Sigma, with the prior
    Sigma ~ inverse Wishart(d + 2, I), m ~ N(0, Sigma / KAPPA), integrated out: for N
    samples of mean m and scatter W,

        sum_{i=3..d+2} [lgamma((N + i)/2) - lgamma(i/2)] - (d + 2 + N)/2 logdet M_d
            + d/2 log(KAPPA / (KAPPA + N)),   M = I + W + KAPPA N / (KAPPA + N) m m'

    where M_d is the leading block of M. The other columns are assumed to follow the
    same distribution for all labels, so that different d can be compared.
    """
    D = Z.shape[1]
    d = np.arange(1, D + 1)
    total = np.zeros(D)
    for j in range(n_clusters):
        mine = labels == j
        q = weight[mine]
        N = q.sum()
        if N <= 0:
            continue
        Y = Z[mine]
        mean = q @ Y / N
        Y = np.sqrt(q)[:, None] * (Y - mean)
        M = np.eye(D) + Y.T @ Y + KAPPA * N / (KAPPA + N) * np.outer(mean, mean)
        logdet = 2 * np.log(np.diag(cholesky(M, lower=True))).cumsum()
        gammas = (gammaln((N + d + 2) / 2) - gammaln((d + 2) / 2)).cumsum()
        total += gammas - (d + 2 + N) / 2 * logdet + d / 2 * np.log(KAPPA / (KAPPA + N))
    return total


def neighbour_information(S: Graph, labels: IntArray, n_clusters: int) -> float:
    """Return the mutual information between the labels at the ends of an edge.

    Edges are drawn with probabilities proportional to their similarities, which must
    not be negative.
    """
    joint = _between_clusters(S, labels, n_clusters)
    if joint.sum() <= 0:
        return 0.0
    joint = joint / joint.sum()
    alone = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return max(0.0, float((joint[seen] * np.log(joint[seen] / alone[seen])).sum()))


def _between_clusters(S: Graph, labels: IntArray, k: int) -> FloatArray:
    """Return the total similarity between each pair of clusters."""
    if sparse.issparse(S):
        edges = sparse.coo_array(S)
        pairs = labels[edges.row] * k + labels[edges.col]
        sums = np.bincount(pairs, edges.data, minlength=k * k)
        return np.asarray(sums.reshape(k, k), dtype=np.float64)
    member = (labels[:, None] == np.arange(k)).astype(np.float64)
    return np.asarray(member.T @ (S @ member))


def _weighted(S: Graph, weight: FloatArray) -> Graph:
    """Return S with each entry times the weights of both samples."""
    if np.all(weight == 1):
        return sparse.coo_array(S) if sparse.issparse(S) else S
    if not sparse.issparse(S):
        return weight[:, None] * S * weight
    S = sparse.coo_array(S, copy=True)
    S.data = S.data * weight[S.row] * weight[S.col]
    return S


def principal_components(X: Graph, weight: FloatArray) -> FloatArray:
    """Return the leading principal component scores of X, at most 60 columns."""
    d = X.shape[1]
    size = float(abs(X).max()) or 1.0  # squares of very large or small numbers
    X, root = X / size, np.sqrt(weight / weight.sum())
    mean = np.asarray(root**2 @ X)
    if d > COVARIANCE_UP_TO:
        axes = _leading_axes(X, mean, root)
    else:
        Y = root[:, None] * ((X.toarray() if sparse.issparse(X) else X) - mean)
        axes = np.linalg.eigh(Y.T @ Y)[1][:, : -min(N_COMPONENTS, d) - 1 : -1]
    return np.asarray(X @ axes - mean @ axes)


def _leading_axes(X: Graph, mean: FloatArray, root: FloatArray) -> FloatArray:
    """Return the leading right singular vectors of diag(root) (X - 1 mean')."""
    n, d = X.shape
    count = min(N_COMPONENTS, min(n, d) - 1)
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


def spectral_components(S: Graph) -> FloatArray:
    """Return eigenvectors of the random walk on the graph, without the trivial one."""
    count = min(N_COMPONENTS + 1, max(1, S.shape[0] // 2))
    return random_walk_eigenvectors(S, count).vectors[:, 1:]


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


def _without_negative(S: Graph) -> Graph:
    """Return S with negative entries replaced by zero."""
    if sparse.issparse(S):
        return sparse.csr_array(S.maximum(0)) if S.nnz and S.data.min() < 0 else S
    return np.maximum(S, 0)


def _renamed(labels: IntArray, k: int) -> IntArray:
    """Return labels numbered by first appearance, the same for equal partitions."""
    found, first = np.unique(labels, return_index=True)
    rank = np.zeros(k, dtype=np.int32)
    rank[found[np.argsort(first)]] = np.arange(len(found))
    return np.asarray(rank[labels])
