"""Models of clusters that exist already: those of other labels, or of other data."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from lordclust._core.typing import ArrayLike, Graph, IntArray
from lordclust._core.validation import check_choice, is_auto
from lordclust.result import Change


class RefitModel:
    """``refit`` for the models over Omega(mu)."""

    n_clusters_: int

    def refit(
        self,
        X: Graph,
        *,
        n_clusters: int | None = None,
        rows: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Return the model fitted to other data, with the numbers of its clusters.

        For data that arrive every month: the clusters of X are found independently of
        the old ones, and then numbered like those with which they have the most samples
        in common. Further clusters get further numbers. If there are fewer, some old
        clusters are gone, and the later ones move up; if there are as many, a new
        cluster may get the number, but not the name, of one that is gone.

        Parameters
        ----------
        X : array-like or sparse of shape (m, d), or (m, m) if precomputed
            All samples to cluster, old and new ones.
        n_clusters : int, optional
            Number of clusters, if it changes.
        rows : array-like of int, shape (n,), optional
            The row of X of each sample that the model was fitted to, or -1 if it is no
            longer there. By default clusters are matched by what the model predicts for
            X, which is not possible for precomputed similarities.
        **fit_params
            Of ``fit``, such as ``sample_weight``.

        Returns
        -------
        model : object
            A new model. Its ``change_`` tells how many samples changed their cluster.
            Clusters of given shares, sizes or known labels have the numbers of those
            instead.

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = BLoRD(2).fit(X[:100])
        >>> new = model.refit(X, n_clusters=3)
        >>> print(new.change_)
        21 of 120 samples that were in a cluster changed it (18%).
        cluster 0: 50 before, 50 now, 50 in both
        cluster 1: 70 before, 49 now, 49 in both
        cluster 2: new, 51 now
        """
        check_is_fitted(self)
        model: Any = clone(self)
        if n_clusters is not None:
            model.set_params(n_clusters=n_clusters)
        model.fit(X, **fit_params)
        known = fit_params.get("known_labels") is not None
        keep_numbers(self, model, X, rows, fixed=known)
        fitted: Self = model
        return fitted


def keep_numbers(
    old: Any, model: Any, X: Graph, rows: ArrayLike | None = None, *, fixed: bool
) -> None:
    """Number the clusters of a model fitted to X like those of an old one.

    Clusters that are ``fixed``, or of given shares or sizes, keep the numbers that they
    have. Sets ``change_``, and keeps the names of the clusters.
    """
    before = _reference(old, X, rows, len(model.labels_))
    shares = model.proportions
    free = shares is None or is_auto(shares) or isinstance(shares, str)
    number = np.arange(old.n_clusters_)  # of each old cluster
    if free and model.cluster_sizes is None and not fixed:
        order = _order(before, model, len(number))
        gone = order[: len(number)] >= model.n_clusters_
        number = np.argsort(np.argsort(gone, kind="stable"))
        _renumber(model, order[order < model.n_clusters_])
    was = np.argsort(number)
    model.change_ = Change(np.append(number, -1)[before], model.labels_, was)
    _keep_names(old, model, number)


class LabelledModel:
    """``from_labels`` for the models that calibrate given labels."""

    @classmethod
    def from_labels(
        cls, X: Graph, labels: ArrayLike, *, noise: str = "join", **parameters: Any
    ) -> Self:
        """Return a fitted model whose clusters are those of another clustering.

        It has calibrated probabilities for these labels, and all that a fitted model
        can do: predict, save, exact sizes, doubt.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n) if precomputed
            Samples, or their similarities with ``affinity="precomputed"``.
        labels : array-like of int, shape (n,)
            Clusters 0 to k-1, which keep their numbers; also as texts such as "0", as
            scanpy stores those of Leiden.
        noise : {"join", "keep"}, default="join"
            What becomes of samples labelled -1 (the noise of HDBSCAN, for example):
            they get the cluster of their neighbours, or stay outliers.
        **parameters
            Of the constructor.

        Returns
        -------
        model : BLoRD

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> from sklearn.cluster import KMeans
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> labels = KMeans(3, random_state=0).fit_predict(X)
        >>> model = BLoRD.from_labels(X, labels)
        >>> bool((model.labels_ == labels).all())
        True
        """
        check_choice(noise, ("join", "keep"), "noise")
        y = np.asarray(labels)
        if y.dtype.kind not in "iu":
            try:
                y = y.astype(str).astype(np.int64)
            except ValueError:
                raise TypeError(
                    f"labels must be whole numbers from 0, or -1, got {y.dtype}. "
                    "Number them, for example by pandas.factorize(labels)[0]."
                ) from None
        if noise == "keep" and y.min(initial=0) < 0:
            parameters = {"outliers": y < 0, **parameters}
        k = int(y.max(initial=0)) + 1
        model: Any = cls(**{"n_clusters": k, **parameters, "start": y})
        fitted: Self = model.fit(X)
        return fitted


def _reference(old: Any, X: Graph, rows: ArrayLike | None, m: int) -> IntArray:
    """Return the old cluster of each sample of X, -1 where there is none."""
    if rows is None:
        if old._samples is None:
            raise ValueError(
                "This model holds no samples to compare X with. Pass rows: the row of "
                "X of each fitted sample, -1 if it is no longer there."
            )
        return np.asarray(old.predict(X, outliers=True))
    place, n = np.asarray(rows), len(old.labels_)
    fits = place.shape == (n,) and place.dtype.kind in "iu"
    if not fits or place.min() < -1 or place.max() >= m:
        raise ValueError(
            f"rows must hold one row of X, from 0 to {m - 1}, or -1, for each of the "
            f"{n} fitted samples, got {place.dtype} of shape {place.shape}."
        )
    found = np.full(m, -1)
    found[place[place >= 0]] = old.labels_[place >= 0]
    return found


def _order(before: IntArray, model: Any, old: int) -> IntArray:
    """Return the new cluster that gets each number; beyond the last one for none."""
    now = model.labels_
    size = max(model.n_clusters_, old)
    both = (before >= 0) & (now >= 0)
    common = np.zeros((size, size))
    np.add.at(common, (before[both], now[both]), 1.0)
    _, order = linear_sum_assignment(-common)
    order[old:] = np.sort(order[old:])  # new ones by size
    return np.asarray(order)


def _renumber(model: Any, order: IntArray) -> None:
    """Number the clusters of a fitted model in another order."""
    place = np.append(np.argsort(order), -1)  # outliers stay
    model.labels_ = place[model.labels_]
    for name in ("membership_", "V_"):
        columns = getattr(model, name)[:, order]
        if not isinstance(columns, np.ndarray):
            columns.sort_indices()
        setattr(model, name, columns)
    model.proportions_, model.sizes_ = model.proportions_[order], model.sizes_[order]
    if hasattr(model, "_problem"):
        omega = model._problem.omega
        model._problem = replace(
            model._problem, omega=replace(omega, mu=omega.mu[order])
        )


def _keep_names(old: Any, new: Any, number: IntArray) -> None:
    """Keep what is stored with a model, such as the names of its clusters."""
    extras = getattr(old, "extras_", None)
    if extras is None:
        return
    new.extras_ = dict(extras)
    if names := extras.get("clusters"):
        common = np.diag(new.change_.table)  # 0 if another cluster has the number
        kept = [
            names[j] if found else f"Segment {place}"
            for place, (j, found) in enumerate(
                zip(np.argsort(number), common, strict=False)
            )
        ]
        more = [f"Segment {j}" for j in range(len(kept), new.n_clusters_)]
        new.extras_["clusters"] = kept + more
