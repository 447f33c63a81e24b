"""Labels of new samples, for all methods, and a score of these labels."""

from collections.abc import Callable
from typing import ClassVar, cast

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from lordclust._core.typing import ArrayLike, FloatArray, Graph, IntArray
from lordclust.graph import KNNGraph
from lordclust.graph.affinity import build_affinity
from lordclust.graph.extend import Extension
from lordclust.rounding.labels import labels_from
from lordclust.rounding.spectral import modularity
from lordclust.rounding.transport import assign_sizes, batch_sizes


class NewSamples:
    """``predict`` and ``score`` of all methods.

    A new sample is compared with the fitted samples: its nearest ones vote, with
    self-tuning weights.
    """

    # Set by fit.
    labels_: IntArray
    sizes_: IntArray
    _samples: Graph | None  # None if X holds similarities or distances
    _extensions: list[Extension]  # empty before the first prediction

    # Of the estimator.
    takes_graph: ClassVar[bool]
    _affinity: Callable[[], Callable[..., Graph]]
    _is_precomputed: Callable[[], bool]
    _check_X: Callable[..., Graph]  # noqa: N815

    def predict(self, X: Graph) -> IntArray:
        """Return the cluster of each sample, new or fitted.

        Each sample gets the cluster with the largest weight among its nearest fitted
        samples, independently of the others in X; a copy of a fitted sample gets the
        label of that sample. With ``affinity="precomputed"`` the rows of X are
        similarities to the fitted samples, and are the weights; negative ones count
        as 0.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d), or (m, n) if precomputed
            Samples, or their similarities to the fitted samples.

        Returns
        -------
        labels : ndarray of int, shape (m,)

        Examples
        --------
        >>> from lordclust.methods import SC
        >>> model = SC(2).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> model.predict([[8.5], [0.5], [8.4]])
        array([1, 0, 1])
        """
        return labels_from(self._predicted(X))

    def score(self, X: Graph, y: object = None) -> float:
        """Return the modularity of ``predict(X)`` in the graph of X.

        This is the share of the similarity in S that is inside clusters, minus the
        share expected for the same degrees if edges were drawn at random: 0 for one
        cluster, at most 1. It is the same for all methods, needs no true labels, and is
        what ``GridSearchCV`` maximises by default. S is built from X like the graph
        that was fitted (methods that work on features use a
        :class:`lordclust.graph.KNNGraph`). With ``affinity="precomputed"``, S is X,
        and its columns are the fitted samples.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d), or (m, n) if precomputed
            Samples, or their similarities to the fitted samples.
        y : None
            Ignored.

        Returns
        -------
        score : float

        Examples
        --------
        >>> from lordclust.methods import SC
        >>> X = [[0.0], [1.0], [2.0], [70.0], [80.0], [90.0]]
        >>> round(SC(2, affinity=KNNGraph(2)).fit(X).score(X), 3)
        0.5
        """
        labels = self.predict(X)
        X = self._check_X(X, reset=False)
        k = len(self.sizes_)
        if self._is_precomputed():
            return modularity(X, labels, self.labels_, k)
        build = self._affinity() if self.takes_graph else KNNGraph()
        if isinstance(build, KNNGraph) and build.n_neighbors is not None:
            most = X.shape[0] - 1 + build.include_self
            build.set_params(n_neighbors=min(build.n_neighbors, most))
        return modularity(build_affinity(build, X), labels, labels, k)

    # -- steps that models with probabilities share -------------------------------

    def _predicted(self, X: Graph) -> Graph:
        """Return the memberships of samples, each independently."""
        check_is_fitted(self)
        return self._voted(self._check_X(X, reset=False))

    def _voted(self, X: Graph) -> Graph:
        """Return the memberships of checked samples."""
        self._check_comparable()
        if self._samples is None:
            return self._average(X)
        W = self._extension().weights(X)
        P, missing = W @ self._known_memberships(), 1 - W.sum(axis=1)
        far = missing > 1e-9  # not only rounding
        if far.any():  # little but the shares is known of a sample far from all others
            P = P + np.where(far, missing, 0.0)[:, None] * self._known_shares()
        return self._cut(sparse.csr_array(P) if sparse.issparse(P) else P)

    def _check_comparable(self) -> None:
        """Raise an error if there is nothing to compare new samples with."""
        if self._samples is not None:
            return
        if not self._is_precomputed():
            raise ValueError(
                "This model was saved with samples=False, so it cannot predict new "
                "samples. Save it again with samples=True."
            )
        if isinstance(self._affinity(), KNNGraph):
            raise ValueError(
                'A model fitted on distances (KNNGraph(metric="precomputed")) has no '
                "samples to compare new ones with. Fit it on samples, or pass "
                'similarities with affinity="precomputed".'
            )

    def _known_memberships(self) -> Graph:
        """Return the memberships of all samples but those of weight 0."""
        n = len(self.labels_)
        one_hot = np.ones(n), self.labels_, np.arange(n + 1)
        return self._known(sparse.csr_array(one_hot, shape=(n, len(self.sizes_))))

    def _known_shares(self) -> FloatArray:
        """Return the shares of the clusters."""
        return np.asarray(self.sizes_ / self.sizes_.sum())

    def _cut(self, P: Graph) -> Graph:
        """Return memberships in the form of those that were fitted."""
        return P

    def _known(self, A: Graph, axis: int = 0) -> Graph:
        """Return the rows or columns of A of samples that have a weight."""
        heavy = getattr(self, "_weight", np.ones(1)) > 0
        if heavy.all():
            return A
        return A[heavy] if axis == 0 else A[:, heavy]

    def _average(self, weights: Graph) -> Graph:
        """Return memberships averaged with given similarities as weights."""
        # Row by row: in a product of dense matrices the last bits depend on the batch.
        W = sparse.csr_array(weights.astype(np.float64))
        # Probabilities require nonnegative weights: dissimilar samples do not count.
        W = self._known(W.maximum(0), axis=1)
        total = np.asarray(W.sum(axis=1)).reshape(-1, 1)
        P = W @ self._known_memberships()
        P = P.toarray() if sparse.issparse(P) else np.asarray(P)
        lonely = total[:, 0] <= 0
        P[lonely], total[lonely] = self._known_shares(), 1.0
        return self._cut(np.asarray(P / total))

    def _extension(self) -> Extension:
        """Return the weights from new samples, as the graph was built."""
        if self._extensions:
            return self._extensions[0]
        graph = self._affinity() if self.takes_graph else None
        graph = graph if isinstance(graph, KNNGraph) else KNNGraph()
        extension = Extension.of(graph, self._known(cast(Graph, self._samples)))
        self._extensions.append(extension)  # another thread's would be the same
        return extension


class SizedBatches:
    """``assign`` of the methods whose clusters can have requested sizes."""

    # Of the estimator.
    _assignment_costs: Callable[[Graph], FloatArray]
    _known_shares: Callable[[], FloatArray]

    def assign(
        self,
        X: Graph,
        *,
        proportions: ArrayLike | None = None,
        cluster_sizes: ArrayLike | None = None,
        size_min: ArrayLike | None = None,
        size_max: ArrayLike | None = None,
    ) -> IntArray:
        """Return labels of a batch of samples with the requested sizes.

        Of all labels with these sizes, they have the largest total membership
        sum_i P(i, labels[i]), P from ``predict_proba``, or for ``BalancedKMeans`` the
        least sum of squared distances to the centres. Unlike in ``predict``, a sample's
        label depends on the whole batch. Near tau = 1 most memberships are 0 or 1 and
        hardly rank the samples: use a smaller tau.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d), or (m, n) if precomputed
            Samples, or their similarities to the fitted samples.
        proportions : array-like of shape (n_clusters,), optional
            Shares of the clusters in the batch, rounded to integer sizes by largest
            remainders. By default those of the fit.
        cluster_sizes : array-like of int, shape (n_clusters,), optional
            How many samples of the batch each cluster gets, instead of shares; 0 is
            allowed.
        size_min, size_max : float or array-like of shape (n_clusters,), optional
            Bounds on the sizes in the batch, instead of exact ones; numbers below 1 are
            shares of the batch.

        Returns
        -------
        labels : ndarray of int, shape (m,)

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> new = [[0.5], [1.5], [4.8], [8.0]]
        >>> model.predict(new)
        array([0, 0, 1, 1])
        >>> model.assign(new, cluster_sizes=[3, 1])
        array([0, 0, 0, 1])
        >>> model.assign(new, size_max=3)
        array([0, 0, 1, 1])
        """
        costs = self._assignment_costs(X)
        sizes = batch_sizes(
            self._known_shares(), len(costs), proportions, cluster_sizes, size_min,
            size_max,
        )  # fmt: skip
        return assign_sizes(costs, sizes)
