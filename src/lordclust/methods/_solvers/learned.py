"""Base classes of methods that learn a doubly stochastic Z and cluster its spectrum."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph
from lordclust._core.validation import check_choice
from lordclust.methods._base import EmbeddingMixin, RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import kmeans_labels
from lordclust.rounding.spectral import leading_eigenvectors, unit_rows

#: Up to this size Z is decomposed densely: a good Z has k equal eigenvalues.
DENSE_EIGEN = 3000


class Learned(NamedTuple):
    """A learned symmetric Z with rows that sum to 1, and the results of its solver."""

    Z: FloatArray
    objective: float
    n_iter: int
    converged: bool
    fitted: Mapping[str, object]
    history: FloatArray = np.empty(0)


class LearnedAffinityClusterer(EmbeddingMixin, RestartClusterer):
    """Learn Z from S, then cluster Z by spectral clustering.

    The rows of Z sum to 1, so its Laplacians share their eigenvectors: the k leading
    ones of Z, rows scaled to length 1, are clustered by k-means with ``n_init``
    starts. ``affinity_matrix_`` is Z.
    """

    @abstractmethod
    def _learn(self, S: Graph, k: int) -> Learned:
        """Return the learned Z."""

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        Z, objective, n_iter, converged, fitted, history = self._learn(data, k)
        T = unit_rows(leading_eigenvectors(Z, k, dense_up_to=DENSE_EIGEN).vectors)
        labels = kmeans_labels(T, k, rngs[0], n_init=self._n_starts()).labels
        fitted = {"affinity_matrix_": Z, "embedding_": T, **fitted}
        yield Run(labels, objective, n_iter, converged, history, fitted=fitted)


class PreparedClusterer(LearnedAffinityClusterer):
    """Learn a Z close to S after ``normalize`` and ``diagonal``.

    Parameters
    ----------
    affinity : str, KNNGraph or callable, default="knn"
        How S is computed from X, as in :class:`lordclust.BLoRD`. S must be nonnegative;
        a sparse S is converted to a dense one.
    normalize : {"sym", "sum"} or None, default="sym"
        The result depends on the scale of S. "sym": D^-1/2 S D^-1/2. "sum": S scaled
        so that its rows sum to 1 on average. None: S as it is.
    diagonal : {"auto", "one", "zero"}, default="auto"
        Self-similarity: as large as the largest similarity, or zero. "auto": "one"
        if S is normalised, "zero" if not.
    n_init : int or "auto", default="auto"
        Starts of k-means ("auto": 20).
    random_state : int, RandomState or None, default=None
        Seed for k-means; Z is deterministic.
    max_dense : int, default=5000
        Largest number of samples: several n x n matrices are stored.

    Attributes
    ----------
    affinity_matrix_ : ndarray of shape (n, n)
        Z.
    embedding_ : ndarray of shape (n, k)
        The leading eigenvectors of Z, rows scaled to length 1.
    """

    normalize: str | None
    diagonal: str

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.normalize is not None:
            check_choice(self.normalize, ("sym", "sum"), "normalize")
        check_choice(self.diagonal, ("auto", "one", "zero"), "diagonal")


def prepare(
    S: Graph, normalize: str | None = "sym", diagonal: str = "auto"
) -> FloatArray:
    """Return a dense, exactly symmetric copy of S with another diagonal and scale.

    "one" is the largest similarity, or 1 if no pair is similar.
    """
    A = np.array(S.toarray() if sparse.issparse(S) else S, dtype=np.float64)
    top = float(A.max())
    if normalize is not None and top > 0:
        A /= top  # sums of tiny or huge numbers lose digits, or overflow
        top = 1.0
    if diagonal == "auto":
        diagonal = "zero" if normalize is None else "one"
    np.fill_diagonal(A, (top or 1.0) if diagonal == "one" else 0.0)
    if normalize == "sym":
        degrees = A.sum(axis=1)
        root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
        A *= np.outer(root, root)
    elif normalize == "sum" and A.any():
        A *= len(A) / A.sum()
    return A
