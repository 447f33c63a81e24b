"""What LoRD and B-LoRD share: input, starts, restarts, and what a fit leaves."""

import warnings
from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lordclust._typing import FloatArray, Graph
from lordclust._validation import (
    check_choice,
    check_count,
    check_n_clusters,
    check_positive,
    check_proportions,
    check_weights,
)
from lordclust.graph import KNNGraph
from lordclust.graph.extend import Extension
from lordclust.methods._base import Clusterer
from lordclust.result import SolverResult
from lordclust.rounding import canonical_order, labels_from, membership_from
from lordclust.solver.start import given_start, random_start
from lordclust.threads import count_threads

ALGORITHMS = ("fast", "paper")
STARTS = ("path", "random")


class DoublyStochasticClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer
):
    """Base of the two models over Omega(mu)."""

    nonnegative = False

    # Parameters, set by the subclasses' constructors.
    proportions: Any
    affinity: Any
    start: Any
    n_init: Any
    max_iter: int
    tol: float
    algorithm: str
    random_state: Any
    n_jobs: int | None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n) if precomputed
            Samples, or their similarities with ``affinity="precomputed"``.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Weights of the samples, P(x_i) up to a factor; equal by default.

        Returns
        -------
        self : object
        """
        X = self._check_X(X)
        n = X.shape[0]
        k = check_n_clusters(self.n_clusters, n)
        self._check_parameters()
        shares = check_proportions(self.proportions, k)
        weights = check_weights(sample_weight, n)
        mass = np.full(n, 1 / n) if weights is None else weights
        S = self._read(X)
        results = self._descend(S, np.sqrt(shares), mass)
        best = self._choose(results)
        self.all_objectives_ = np.array([r.objective for r in results])
        return self._keep_result(best, X, S, shares, mass)

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
        """Cluster the samples and return ``labels_``."""
        return self.fit(X, y, **kwargs).labels_

    def fit_transform(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
        """Cluster the samples and return ``membership_``."""
        return self.fit(X, y, **kwargs).membership_

    def transform(self, X: Any) -> FloatArray:
        """Return the membership of samples, new ones or the fitted ones.

        A sample's membership is the average over its nearest fitted samples, with
        self-tuning weights; a copy of a fitted sample has that sample's membership.
        Every sample is treated alone. With ``affinity="precomputed"`` the rows of X
        are similarities to the fitted samples, and are the weights.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d), or (m, n) if precomputed
            Samples, or their similarities to the fitted samples.

        Returns
        -------
        P : ndarray of shape (m, n_clusters)
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        if self._extension is None:
            return self._average(X)
        return np.asarray(self._extension.weights(X) @ self.membership_)

    def pair_probability(self, i: Any, j: Any) -> FloatArray:
        """Return Z_ij = P(y_i = y_j | x_i, x_j) for pairs of fitted samples.

        Parameters
        ----------
        i, j : int or array-like of int
            Samples, broadcast against each other.

        Returns
        -------
        Z : ndarray
            sum_a P(y_i = a | x_i) P(y_j = a | x_j) for each pair.
        """
        check_is_fitted(self)
        i, j = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        n = len(self.membership_)
        for name, index in (("i", i), ("j", j)):
            if not np.issubdtype(index.dtype, np.integer):
                raise TypeError(f"{name} must hold integers, got {index.dtype}.")
            if index.size and (index.min() < -n or index.max() >= n):
                raise IndexError(
                    f"{name} must be from 0 to {n - 1}, the fitted samples."
                )
        return np.asarray((self.membership_[i] * self.membership_[j]).sum(axis=-1))

    def block_diagonality(self) -> float:
        """Return ||VV'||_[k] = k/n - ||V||_F^2: 0 exactly when V is orthogonal.

        It is the sum of the k smallest eigenvalues of the Laplacian of VV', so it
        measures how far VV' is from k blocks (for samples of equal weight).
        """
        check_is_fitted(self)
        n, k = self.V_.shape
        return float(max(0.0, k / n - (self.V_**2).sum()))

    # -- what a subclass adds -----------------------------------------------------

    @abstractmethod
    def _descend(
        self, S: Graph, mu: FloatArray, mass: FloatArray
    ) -> list[SolverResult]:
        """Return one result for each start."""

    def _choose(self, results: list[SolverResult]) -> SolverResult:
        """Return the result with the best objective."""
        choose = max if self.maximises else min
        return choose(results, key=lambda r: r.objective)

    # -- shared steps of fit ------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse what no fit can use."""
        check_choice(self.algorithm, ALGORITHMS, "algorithm")
        if isinstance(self.start, str):
            check_choice(self.start, STARTS, "start")
        if not isinstance(self.n_init, str) or self.n_init != "auto":
            check_count(self.n_init, "n_init")
        check_count(self.max_iter, "max_iter")
        check_positive(self.tol, "tol")

    def _uses_path(self) -> bool:
        """Tell whether the starts are paths: not in the paper's algorithm."""
        path = isinstance(self.start, str) and self.start == "path"
        return path and self.algorithm == "fast"

    def _starts(self, n: int, mu: FloatArray, mass: FloatArray) -> list[FloatArray]:
        """Return the V that the descents (or their paths) begin with."""
        if not isinstance(self.start, str):
            return [given_start(self.start, n, mu)]
        count = self.n_init
        if isinstance(count, str):
            count = 1 if self._uses_path() else 10
        # A path without random_state is the same every time.
        fixed = self._uses_path() and self.random_state is None
        rng = check_random_state(0 if fixed else self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=count)
        return [random_start(n, mu, mass, np.random.default_rng(s)) for s in seeds]

    def _run_all(self, task: Any, starts: list[FloatArray]) -> list[SolverResult]:
        """Run a task for each start: one after the other, or side by side."""
        threads = count_threads(self.n_jobs)
        if len(starts) == 1 or threads == 1:
            return [task(V, threads) for V in starts]
        with ThreadPoolExecutor(min(threads, len(starts))) as pool:
            return list(pool.map(lambda V: task(V, 1), starts))

    def _keep_result(
        self,
        result: SolverResult,
        X: Any,
        S: Graph,
        shares: FloatArray,
        mass: FloatArray,
    ) -> Self:
        """Set the fitted attributes, clusters in canonical order."""
        P = membership_from(result.V, np.sqrt(shares), mass)
        # A sample without mass has no say in the numbering.
        order = canonical_order(labels_from(P)[mass > 0], shares)
        self.V_ = np.ascontiguousarray(result.V[:, order])
        self.membership_ = np.ascontiguousarray(P[:, order])
        self.labels_ = labels_from(self.membership_)
        self.proportions_ = shares[order]
        self.sizes_ = np.bincount(self.labels_, minlength=len(shares))
        self.objective_ = result.objective
        self.residual_ = result.residual
        self.n_iter_ = max(1, result.n_iter)
        self.converged_ = result.converged
        self.history_ = result.history
        self.affinity_matrix_ = S
        self._extension = None if self._is_precomputed() else self._make_extension(X)
        if not result.converged:
            warnings.warn(
                f"{type(self).__name__} stopped at max_iter={self.max_iter}, residual "
                f"{result.residual:.1e} > tol={self.tol:.1e}. Raise max_iter or "
                "loosen tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _make_extension(self, X: Any) -> Extension:
        """Return the weights from new samples, as the graph was built."""
        graph = self.affinity if isinstance(self.affinity, KNNGraph) else KNNGraph()
        return Extension(
            X,
            graph.n_neighbors,
            metric=graph.metric,
            scale_neighbor=graph.scale_neighbor,
        )

    def _average(self, weights: Any) -> FloatArray:
        """Return memberships averaged with given similarities as weights."""
        # Probabilities need weights of one sign: dissimilar samples count for nothing.
        W: Any = weights.astype(np.float64)
        W = W.maximum(0).tocsr() if sparse.issparse(W) else np.maximum(W, 0)
        total = np.asarray(W.sum(axis=1)).reshape(-1, 1)
        P = np.asarray(W @ self.membership_)
        lonely = total[:, 0] <= 0
        P[lonely], total[lonely] = self.proportions_, 1.0
        return np.asarray(P / total)

    @property
    def _n_features_out(self) -> int:
        return int(self.membership_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
