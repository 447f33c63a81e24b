"""What the methods share that learn a doubly stochastic Z and cluster its spectrum."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray, Graph
from lordclust.methods._base import EmbeddingMixin, RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import kmeans_labels
from lordclust.rounding.spectral import leading_eigenvectors, unit_rows

#: Up to this size all eigenvectors of Z are found surely: a good Z has k equal ones.
SURE_EIGEN = 3000


@dataclass(frozen=True)
class Learned:
    """A learned affinity, with what its optimisation reports.

    Attributes
    ----------
    Z : ndarray of shape (n, n)
        Symmetric, rows sum to 1.
    objective : float
        The method's objective at Z.
    n_iter : int
    converged : bool
    history : ndarray
        The objective at each iteration, or empty.
    fitted : dict of str to anything
        Further fitted attributes.
    """

    Z: FloatArray
    objective: float
    n_iter: int = 1
    converged: bool = True
    history: FloatArray = field(default_factory=lambda: np.empty(0), repr=False)
    fitted: dict[str, Any] = field(default_factory=dict, repr=False)


class LearnedAffinityClusterer(EmbeddingMixin, RestartClusterer):
    """Base: learn Z from S, then spectral clustering of Z.

    The rows of Z sum to 1, so its Laplacians share their eigenvectors: the k leading
    ones of Z, rows scaled to length 1, are clustered by k-means with ``n_init``
    starts. ``affinity_matrix_`` is Z.
    """

    n_init: int

    @abstractmethod
    def _learn(self, S: Graph, k: int) -> Learned:
        """Return the learned Z."""

    def _solve(self, data: Any, k: int, rngs: Rngs) -> Iterable[Run]:
        learned = self._learn(data, k)
        Z = learned.Z
        U = leading_eigenvectors(Z, k, dense_up_to=SURE_EIGEN).vectors
        T = unit_rows(U)
        labels = kmeans_labels(T, k, rngs[0], n_init=self.n_init).labels
        yield Run(
            labels,
            learned.objective,
            learned.n_iter,
            learned.converged,
            learned.history,
            fitted={"affinity_matrix_": Z, "embedding_": T, **learned.fitted},
        )
