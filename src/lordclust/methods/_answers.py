"""Prediction and uncertainty: new samples, pairs, confusable clusters."""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lordclust._core.typing import (
    Affinity,
    ArrayLike,
    FloatArray,
    Graph,
    IntArray,
    Samples,
)
from lordclust._core.validation import check_count
from lordclust.methods._base import NAN, Clusterer
from lordclust.methods._new_samples import SizedBatches
from lordclust.result import ConfusablePair
from lordclust.rounding.confusion import confusable_pairs
from lordclust.rounding.labels import (
    in_units_of_log_k,
    labels_from,
    normalized_entropy,
    top_entries,
)

if TYPE_CHECKING:  # loaded on first use: a fit does not need it
    from lordclust.graph.novelty import Novelty
    from lordclust.profiles import Explanation, Profiles
    from lordclust.report import Report


class ProbabilityAnswers(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, SizedBatches, Clusterer
):
    """Methods of a model that has ``membership_``, ``proportions_`` and ``V_``."""

    proba_top: int | None
    affinity: Affinity

    # Set by fit.
    labels_: IntArray
    membership_: Graph  # sparse with proba_top
    affinity_matrix_: Graph
    proportions_: FloatArray
    V_: Graph
    _weight: FloatArray
    _novelties: list["Novelty"]  # empty before the first use
    _norm2: float  # n sum_i |V_i|^2 / p_i, over n squared

    # -- new samples --------------------------------------------------------------

    def transform(self, X: Graph) -> Graph:
        """Return the membership of samples, new ones or the fitted ones.

        A sample's membership is the average over its nearest fitted samples, with
        self-tuning weights; a copy of a fitted sample has that sample's membership. A
        sample c times as far away from all fitted ones as these extend gets 1/c of
        this, and for the rest the shares: far away, nothing else is known.
        Every sample is treated independently of the others in X. With
        ``affinity="precomputed"`` the rows of X are similarities to the fitted
        samples, and are the weights; negative ones count as 0.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d), or (m, n) if precomputed
            Samples, or their similarities to the fitted samples.

        Returns
        -------
        P : ndarray of shape (m, n_clusters)
        """
        return self._predicted(X)

    def predict_proba(self, X: Graph) -> Graph:
        """Return P(cluster j | sample) for new samples: the same as ``transform``.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d), or (m, n) if precomputed
            Samples, or their similarities to the fitted samples.

        Returns
        -------
        P : ndarray of shape (m, n_clusters), or csr_array with ``proba_top``
            Rows sum to 1.

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2, tau=1.0).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> model.predict_proba([[0.5], [8.5]]).round(3)
        array([[1., 0.],
               [0., 1.]])
        """
        return self._predicted(X)

    def predict(self, X: Graph, *, outliers: bool = False) -> IntArray:
        """Return the most probable cluster of each sample, new or fitted.

        Every sample is treated independently, so sizes are not met (see ``assign``). A
        fitted sample without copies gets its most probable cluster in
        ``membership_``, which is its label in ``labels_`` unless labels were rounded to
        exact sizes, or chosen with ``tau="auto"`` and the sample is in doubt. Rows of
        similarities (``affinity="precomputed"``) do not identify samples: there a
        fitted sample also gets the average over similar samples.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d), or (m, n) if precomputed
            Samples, or their similarities to the fitted samples.
        outliers : bool, default=False
            Return -1 for samples that are more novel than every fitted sample of a
            cluster, see ``novelty``.

        Returns
        -------
        labels : ndarray of int, shape (m,)

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> model.predict([[8.5], [0.5], [8.4]])
        array([1, 0, 1])
        >>> model.predict([[8.5], [0.5], [40.0]], outliers=True)
        array([ 1,  0, -1])
        """
        labels = labels_from(self._predicted(X))
        if outliers:
            most = self.novelty_[self.labels_ >= 0].max()
            labels[self.novelty(X) > most] = -1
        return labels

    def novelty(self, X: Graph) -> FloatArray:
        """Return how little the fitted samples around a sample support it.

        The logarithm of the distance to its q-th nearest fitted sample, relative to
        that of its region and of all samples, in equal parts: 0 is as usual, at 1 its
        neighbours are 2.7 times as far. With
        ``affinity="precomputed"`` the total similarity takes the place of the inverse
        distance. A copy of a fitted sample has its ``novelty_``.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d), or (m, n) if precomputed
            Samples, or their similarities to the fitted samples.

        Returns
        -------
        novelty : ndarray of shape (m,)

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> model.novelty([[8.5], [40.0]]).round(1)
        array([-0.2,  1.7])
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        self._check_comparable()
        return self._novelty().of(X)

    @property
    def novelty_(self) -> FloatArray:
        """How little the samples around support each fitted sample."""
        check_is_fitted(self)
        return self._novelty().fitted

    @property
    def outliers_(self) -> IntArray:
        """The fitted samples that belong nowhere: those with the label -1."""
        check_is_fitted(self)
        return np.flatnonzero(self.labels_ == -1)

    def _assignment_costs(self, X: Graph) -> FloatArray:
        P = self._predicted(X)
        return -np.asarray(P.toarray() if sparse.issparse(P) else P)

    # -- pairs and blocks ---------------------------------------------------------

    def pair_probability(self, i: ArrayLike, j: ArrayLike) -> FloatArray:
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
        n = self.membership_.shape[0]
        for name, index in (("i", i), ("j", j)):
            if not np.issubdtype(index.dtype, np.integer):
                raise TypeError(f"{name} must hold integers, got {index.dtype}.")
            if index.size and (index.min() < -n or index.max() >= n):
                raise IndexError(
                    f"{name} must be from 0 to {n - 1}, the fitted samples."
                )
        P = self.membership_
        if sparse.issparse(P):
            both = P[i.ravel() % n].multiply(P[j.ravel() % n])
            return np.asarray(both.sum(axis=1)).reshape(i.shape)
        return np.asarray((P[i] * P[j]).sum(axis=-1))

    def block_diagonality(self) -> float:
        """Return ||VV'||_[k] = k/n - ||V||_F^2: 0 exactly when V is orthogonal.

        It is the sum of the k smallest eigenvalues of the Laplacian of VV', so it
        measures how far VV' is from k blocks. For samples of unequal weight it is
        (k - sum_i |V_i|^2 / p_i) / n with p_i = P(x_i), the same sum for the
        normalised Laplacian, divided by n.
        """
        check_is_fitted(self)
        n, k = self.V_.shape
        return float(max(0.0, k / n - self._norm2))

    # -- uncertainty -----------------------------------------------------------------

    @property
    def uncertainty_(self) -> FloatArray:
        """Entropy of each fitted sample's membership, from 0 (certain) to 1 (uniform).

        In units of log(n_clusters); 0 for all samples if there is one cluster. Near
        tau = 1 it is 0 for almost all: use a smaller tau, or see ``agreement``.

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2, tau=1.0).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> model.uncertainty_
        array([0., 0., 0., 0., 0., 0.])
        """
        check_is_fitted(self)
        k = self.membership_.shape[1]
        nats = getattr(self, "_nats", None)  # of all clusters, with proba_top
        if nats is None:
            return normalized_entropy(self.membership_)
        return in_units_of_log_k(nats, k)

    def confusable_pairs(
        self, top: int | None = None, *, n_samples: int = 10
    ) -> list[ConfusablePair]:
        """Return the pairs of clusters that share probability, the largest share first.

        Clusters a and b share

            sum_i w_i min(P_ia, P_ib) / min(sum_i w_i P_ia, sum_i w_i P_ib)

        of the smaller one, P = ``membership_`` and w the sample weights: 0 if no
        sample may be in both, 1 if no sample is more probable in the smaller cluster
        than in the other. Pairs that share nothing are left out: near tau = 1 these are
        almost all, so use a smaller tau.

        Parameters
        ----------
        top : int, optional
            How many pairs to return; by default all.
        n_samples : int, default=10
            Largest number of samples listed for each pair.

        Returns
        -------
        pairs : list of ConfusablePair
            Named tuples ``(a, b, share, samples)`` with a < b; ``samples`` are the
            samples with the largest min(P_ia, P_ib), in decreasing order.

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> from sklearn.datasets import load_iris
        >>> model = BLoRD(3, tau=0.1).fit(load_iris().data)
        >>> [(p.a, p.b, round(p.share, 2)) for p in model.confusable_pairs(1)]
        [(0, 2, 0.4)]
        """
        check_is_fitted(self)
        count = check_count(n_samples, "n_samples")
        pairs = confusable_pairs(self.membership_, self._weight, count)
        return pairs if top is None else pairs[: check_count(top, "top")]

    # -- what the clusters are --------------------------------------------------------

    @property
    def exemplars_(self) -> list[IntArray]:
        """Indices of the most typical samples of each cluster, at most five.

        Of the half of a cluster with the largest memberships, those nearest to the mean
        of the cluster in standardised features, the nearest first. Without features
        (``affinity="precomputed"``), the largest memberships.

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2, tau=1.0).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> [samples.tolist() for samples in model.exemplars_]
        [[1, 0, 2], [4, 3, 5]]
        """
        check_is_fitted(self)
        from lordclust.profiles import as_features, find_exemplars

        n, k = self.membership_.shape
        X = as_features(self._described(), n)
        return find_exemplars(self.labels_, k, self.membership_, X, self._weight)

    def describe(
        self,
        X: Samples = None,
        feature_names: Iterable[object] | None = None,
        *,
        names: Iterable[object] | None = None,
        ids: Iterable[object] | None = None,
    ) -> "Profiles":
        """Return what distinguishes each cluster, who is typical and who is in doubt.

        Parameters
        ----------
        X : array-like or sparse of shape (n, m), optional
            Features of the fitted samples in the units to be shown; they need not be
            those that the model was fitted to. By default the fitted ones.
        feature_names : sequence of str, length m, optional
            Names of the features. By default the columns of X if it is a data frame,
            ``feature_names_in_``, or x0, x1, and so on.
        names : sequence of str, length n_clusters, optional
            Names of the clusters, in the order of their numbers.
        ids : sequence of str, length n, optional
            Names of the samples; their numbers by default.

        Returns
        -------
        profiles : Profiles
            ``print(profiles)`` is a text, ``profiles[j]`` the profile of cluster j,
            ``profiles.to_frame()`` a table.

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2, tau=1.0).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> print(model.describe(feature_names=["age"], names=["young", "old"]))
        young (3 samples, 50%)
          age  1.00  (all: 4.50, lower)
          typical: 1, 0, 2
        <BLANKLINE>
        old (3 samples, 50%)
          age  8.00  (all: 4.50, higher)
          typical: 4, 3, 5
        """
        check_is_fitted(self)
        from lordclust.profiles import make_profiles

        if X is None:
            X = self._described()
            if feature_names is None and X is not None:
                feature_names = self._described_names()
        return make_profiles(
            X, self.labels_, self.membership_.shape[1],
            P=self.membership_, weight=self._weight, exemplars=self.exemplars_,
            feature_names=feature_names, names=names, ids=ids,
        )  # fmt: skip

    def explain(
        self,
        i: int,
        X: Samples = None,
        feature_names: Iterable[object] | None = None,
        *,
        names: Iterable[object] | None = None,
        ids: Iterable[object] | None = None,
    ) -> "Explanation":
        """Return why a fitted sample is in its cluster, and its second choice.

        Parameters
        ----------
        i : int
            The sample, from 0 to n-1.
        X, feature_names, names, ids
            As in :meth:`describe`.

        Returns
        -------
        explanation : Explanation
            ``print(explanation)`` is a text. It has the most similar samples with
            their clusters, and the features by how much closer they are to the mean of
            the sample's cluster than to that of the second choice.

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2, tau=1.0).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> print(model.explain(1, feature_names=["age"], names=["young", "old"]))
        Sample 1: young (100%); second choice old (0%)
          neighbours: 2 in young (79% of the similarity), 1 in old (21%)
          most similar: 0, 2, 3
          age  1.00  (young: 1.00, old: 8.00)  1.9 std closer to young
        """
        check_is_fitted(self)
        from lordclust.profiles import explain_sample

        n = self.membership_.shape[0]
        if not isinstance(i, int | np.integer) or not 0 <= i < n:
            raise IndexError(f"i must be a sample from 0 to {n - 1}, got {i!r}.")
        profiles = self.describe(X, feature_names, names=names, ids=ids)
        return explain_sample(
            int(i), self.labels_, self.membership_, self.affinity_matrix_,
            self._described(fill=False) if X is None else X, profiles,
        )  # fmt: skip

    def report(self, **options: Any) -> "Report":
        """Return a page about the clusters, which notebooks display.

        It has the same content as :func:`lordclust.report.write_report`, with a slider
        for tau, which takes about as long as a fit.

        Parameters
        ----------
        **options
            Options of ``write_report``, such as ``title``, ``ids``, ``labels``, or
            ``X`` for features in other units than those of the fit.

        Returns
        -------
        report : Report
            With ``save(path)``.

        Examples
        --------
        >>> import tempfile
        >>> from lordclust import BLoRD
        >>> model = BLoRD(2).fit([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.report(title="Six samples").save(f"{folder}/report.html").name
        'report.html'
        """
        check_is_fitted(self)
        # At run time: this package must not depend on that of the reports.
        made: Report = import_module("lordclust.report").Report.of(self, **options)
        return made

    def _described(self, *, fill: bool = True) -> Graph | None:
        """Return the fitted samples in their own units, missing values filled."""
        from lordclust.profiles import filled

        if self._has_metric("gower") and self._samples is not None:
            return self._columns.decoded(self._samples)
        if self._has_metric(NAN) and self._samples is not None and fill:
            k = self.membership_.shape[1]
            return filled(self._samples, self.labels_, k, self._weight)
        return self._samples

    def _described_names(self) -> Iterable[object] | None:
        """Return the names of the features that are described, if they have any."""
        names = getattr(self, "feature_names_in_", None)
        if not self._has_metric("gower"):
            return names
        numbered = [f"x{j}" for j in range(len(self._columns.ranges))]
        return self._columns.features(numbered if names is None else names)

    # -- shared steps -------------------------------------------------------------

    def _novelty(self) -> "Novelty":
        """Return the novelty of the fitted samples, computed on first use."""
        if not self._novelties:
            if not self._is_precomputed():
                self._check_comparable()
            self._novelties.append(self._novelty_of(self._samples))
        return self._novelties[0]

    def _novelty_of(self, X: Graph) -> "Novelty":
        """Return the novelty of samples or similarities; None: those of the fit."""
        from lordclust.graph import KNNGraph, novelty

        if not self._is_precomputed():
            graph = self._affinity()
            graph = graph if isinstance(graph, KNNGraph) else KNNGraph()
            return novelty.novelty_of_samples(X, graph)
        S = self.affinity_matrix_ if X is None else self._read(X)
        return novelty.Novelty(novelty.by_similarity(S))

    def _known_memberships(self) -> Graph:
        return self._known(self.membership_)

    def _known_shares(self) -> FloatArray:
        return self.proportions_

    def _cut(self, P: Graph) -> Graph:
        if self.proba_top is None or not sparse.issparse(self.membership_):
            return np.minimum(P, 1.0)  # an average may exceed 1 by rounding
        return top_entries(P, self.proba_top)

    @property
    def _n_features_out(self) -> int:
        return int(self.membership_.shape[1])
