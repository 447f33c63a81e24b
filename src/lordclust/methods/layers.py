"""Nested clusterings: the same clusters, coarser and finer.

One level is that of ``BLoRD`` itself. Coarser ones merge the two clusters, finer ones
split the cluster, for which the evidence is then largest.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from lordclust._core.html import html_table
from lordclust._core.typing import Affinity, BoolArray, FloatArray, Graph, IntArray
from lordclust._core.validation import check_count
from lordclust.choose.evidence import Evidence
from lordclust.choose.n_clusters import best_n_clusters
from lordclust.graph import KNNGraph, ScaleWarning
from lordclust.methods._base import NAN
from lordclust.methods._left_out import selected
from lordclust.methods.lord import BLoRD

if TYPE_CHECKING:
    from lordclust.report import Report

#: Clusters with fewer samples are not split.
SMALLEST = 8


@dataclass(frozen=True, eq=False, repr=False)
class Layers:
    """Nested clusterings into 1 to m clusters; see :func:`layers`.

    A cluster keeps its number when others are split. If it is split itself, its larger
    part keeps the number, and the smaller one gets the next free number.

    Attributes
    ----------
    labels : ndarray of int, shape (m, n)
        ``labels[k - 1]`` are the labels of the level with k clusters, -1 for outliers.
    best_k : int
        The recommended level: its clusters are those of ``BLoRD(best_k)``.
    model : BLoRD
        The fitted model of the recommended level. Its clusters may have other numbers.
    finest : ndarray of shape (n, m)
        Memberships at the level with m clusters; see :meth:`membership`.

    Examples
    --------
    >>> from lordclust import layers
    >>> from sklearn.datasets import load_iris
    >>> found = layers(load_iris().data, 4)
    >>> print(found)
    Recommended: 2 clusters.
    k = 1: 150
    k = 2: 100, 50  (0 into 0 and 1)  <
    k = 3: 54, 50, 46  (0 into 0 and 2)
    k = 4: 54, 28, 46, 22  (1 into 1 and 3)
    """

    labels: IntArray
    best_k: int
    model: BLoRD
    finest: FloatArray

    def at(self, k: int | None = None) -> IntArray:
        """Return the labels of the level with k clusters, by default ``best_k``."""
        return np.asarray(self.labels[self._checked(k) - 1])

    def membership(self, k: int | None = None) -> FloatArray:
        """Return P(cluster j | sample i) at a level, by default ``best_k``.

        At the recommended level these are the memberships of the model. That of a
        merged cluster is the sum of its parts; that of a part is the membership of the
        cluster, times that of ``BLoRD(2)`` among the samples of the cluster. Samples of
        other clusters have the average of their neighbours in the cluster.

        Parameters
        ----------
        k : int, optional
            Number of clusters of the level.

        Returns
        -------
        P : ndarray of shape (n, k)
            Rows sum to 1.
        """
        k, P, parents = self._checked(k), self.finest.copy(), self.parents
        for j in range(len(self.labels) - 1, k - 1, -1):
            P[:, parents[j]] += P[:, j]
        return P[:, :k]

    def _checked(self, k: int | None) -> int:
        k = self.best_k if k is None else k
        if not 1 <= k <= len(self.labels):
            raise ValueError(f"k must be from 1 to {len(self.labels)}, got {k}.")
        return k

    def sizes(self, k: int) -> IntArray:
        """Return the number of samples in each cluster of a level."""
        labels = self.at(k)
        return np.bincount(labels[labels >= 0], minlength=k)

    @property
    def parents(self) -> IntArray:
        """The cluster that each cluster was split from, -1 for the first; shape (m,).

        Cluster j begins at the level with j + 1 clusters.
        """
        first = [int((labels == j).argmax()) for j, labels in enumerate(self.labels)]
        above = [self.labels[j - 1][i] for j, i in enumerate(first)]
        return np.array([-1, *above[1:]])

    def report(self, **options: Any) -> "Report":
        """Return a page with a slider for the number of clusters.

        Notebooks display it. Segments, sizes, map and lists are those of the chosen
        level; parts of a cluster have its hue.

        Parameters
        ----------
        **options
            Options of :func:`lordclust.report.write_report`, such as ``title``,
            ``ids`` or ``names``.

        Returns
        -------
        report : Report
            With ``save(path)``.

        Examples
        --------
        >>> from lordclust import layers
        >>> layers([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], 3).report()
        <Report: display it in a notebook, or write it with save("report.html")>
        """
        # At run time: this package must not depend on that of the reports.
        made: Report = import_module("lordclust.report").Report.of(self, **options)
        return made

    def __repr__(self) -> str:
        return f"Layers(1 to {len(self.labels)} clusters, best_k={self.best_k})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        head = ["clusters", "sizes", "split"]
        rows = self._rows()
        return html_table("Nested levels", head, rows, marked=self.best_k - 1)

    def __str__(self) -> str:
        lines = [f"Recommended: {self.best_k} clusters."]
        for k, sizes, split in self._rows():
            mark = "  <" if k == str(self.best_k) else ""
            lines.append(f"k = {k}: {sizes}{split and f'  ({split})'}{mark}")
        return "\n".join(lines)

    def _rows(self) -> list[tuple[str, str, str]]:
        """Return the number of clusters of each level, their sizes, and the split."""
        return [
            (
                str(k),
                ", ".join(map(str, self.sizes(k))),
                f"{parent} into {parent} and {k - 1}" if k > 1 else "",
            )
            for k, parent in enumerate(self.parents.tolist(), 1)
        ]


def layers(X: Graph | BLoRD, k_max: int = 12, **parameters: object) -> Layers:
    """Return nested clusterings into 1 to ``k_max`` clusters.

    All levels are computed at once, so that no resolution need be tried out. Every
    cluster lies inside one of the coarser level. The recommended level is ``BLoRD(k)``
    for the number of clusters that :func:`lordclust.suggest_k` suggests. Coarser levels
    merge its clusters, finer ones split them into two by ``BLoRD``, so that the
    evidence for each level is as large as possible.

    Parameters
    ----------
    X : array-like or sparse of shape (n, d), or a fitted BLoRD
        Samples, or similarities with ``affinity="precomputed"``. The clusters of a
        fitted model are the recommended level.
    k_max : int, default=12
        Number of clusters of the finest level. There may be fewer, because clusters of
        fewer than 8 samples are not split.
    **parameters
        Of :class:`lordclust.BLoRD`.

    Returns
    -------
    layers : Layers
        With ``best_k``, the labels ``at(k)``, their probabilities ``membership(k)``,
        the tree ``parents``, and a page with a slider for k, ``report()``;
        :class:`lordclust.plots.LayersDisplay` draws the tree.

    Examples
    --------
    >>> from lordclust import layers
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(200, centers=4, n_features=5, random_state=0)
    >>> found = layers(X, 6)
    >>> found.best_k
    4
    >>> found.parents
    array([-1,  0,  0,  1,  2,  3])
    """
    count = check_count(k_max, "k_max")
    model = X if isinstance(X, BLoRD) else _recommended(X, count, parameters)
    kept = model.labels_ >= 0
    S = selected(model.affinity_matrix_, kept, square=True)
    graph, features = model._affinity(), None
    if not model._has_metric(NAN) and model._samples is not None:
        features = selected(model._samples, kept, square=False)
    own = model.labels_[kept]
    judge = Evidence(S, max(count, model.n_clusters_), features, model._weight[kept])
    coarse = _merged(judge, own)
    X = features if isinstance(graph, KNNGraph) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # all of X is what matters
        splits = _split(judge, own, partial(_in_two, graph, X, S), count)
    nested = _numbered([*coarse, own, *(one.labels for one in splits)])
    labels = np.full((len(nested), len(kept)), -1)
    labels[:, kept] = nested
    last = splits[-1].labels if splits else own
    P = _memberships(model, kept, splits)[:, _order(last, nested[-1])]
    P /= P.sum(axis=1, keepdims=True)  # without clusters that have no samples
    return Layers(labels, len(coarse) + 1, model, P)


def _recommended(X: Graph, count: int, parameters: dict[str, object]) -> BLoRD:
    """Return the model with the suggested number of clusters."""
    model = BLoRD(1, **parameters)  # type: ignore[arg-type]
    checked = model._check_X(X)
    S = model._read(checked)
    graph_only = model._is_precomputed() or model._has_metric(NAN)
    features = None if graph_only else checked
    found = best_n_clusters(S, features, np.ones(S.shape[0]), count)
    model.set_params(n_clusters=found.best_k).fit(X)  # with the names of X
    return model


def _merged(judge: Evidence, labels: IntArray) -> list[IntArray]:
    """Return coarser labels, the coarsest first: two clusters merged at a time."""
    found: list[IntArray] = []
    while len(names := np.unique(labels)) > 1:
        pairs = [np.where(labels == b, a, labels) for a, b in combinations(names, 2)]
        labels = max(pairs, key=lambda one: judge.score(one).total)
        found.insert(0, labels)
    return found


class Split(NamedTuple):
    """One cluster in two parts; arrays are of the samples that are not outliers."""

    labels: IntArray  # after the split: the new part has the largest number
    parent: int  # the cluster that was split
    part: FloatArray  # P(new part | sample, parent) for each sample of the parent


def _split(
    judge: Evidence, labels: IntArray, in_two: Callable[[IntArray], BLoRD], count: int
) -> list[Split]:
    """Return finer labels: one cluster split at a time."""
    found: list[Split] = []
    options: dict[int, BLoRD] = {}  # the parts of each cluster, if it is split
    for k in range(len(np.unique(labels)), count):
        finer = {}
        for j in range(k):
            rows = np.flatnonzero(labels == j)
            if j not in options and len(rows) >= SMALLEST:
                options[j] = in_two(rows)
            if j in options:
                finer[j] = labels.copy()
                finer[j][rows[options[j].labels_ == 1]] = k
        if not finer:
            break
        best = max(finer, key=lambda j: judge.score(finer[j]).total)
        labels = finer[best]
        found.append(Split(labels, best, options.pop(best).membership_[:, 1]))
    return found


def _in_two(graph: Affinity, X: Graph | None, S: Graph, rows: IntArray) -> BLoRD:
    """Return the model of some samples in two clusters, the larger one 0.

    With the settings of the graph, but as many neighbours as suit this many samples. A
    graph that is not one of neighbours is used as it is.
    """
    if X is not None and abs(X[rows[1:]] - X[rows[:-1]]).sum() > 0:
        model = BLoRD(2, affinity=clone(graph).set_params(n_neighbors=None))
        model.fit(X[rows])
    else:
        model = BLoRD(2, affinity="precomputed")
        model.fit(S[rows][:, rows])
    return model


def _memberships(model: BLoRD, kept: BoolArray, splits: list[Split]) -> FloatArray:
    """Return P at the finest level: P(parent) P(part | parent), split by split."""
    given = model.membership_
    P = np.array(given.toarray() if sparse.issparse(given) else given)
    S, before = model.affinity_matrix_, model.labels_[kept]
    for new, split in enumerate(splits, len(np.unique(before))):
        rows = np.flatnonzero(kept)[before == split.parent]
        near = abs(S[:, rows])
        total = np.asarray(near.sum(axis=1)).ravel()
        mean = near @ split.part / np.where(total > 0, total, 1.0)
        part = np.where(total > 0, mean, split.part.mean())
        part[rows] = split.part
        whole = P[:, split.parent].copy()
        P = np.insert(P, new, whole * part, axis=1)
        P[:, split.parent] = whole - P[:, new]
        before = split.labels
    return P


def _order(labels: IntArray, numbers: IntArray) -> IntArray:
    """Return the old label of each cluster, by its new number."""
    _, first = np.unique(numbers, return_index=True)
    return np.asarray(labels[first])


def _numbered(levels: list[IntArray]) -> IntArray:
    """Return nested labels, numbered so that clusters keep their numbers."""
    found = [np.zeros_like(levels[0])]
    for k, fine in enumerate(levels[1:], 1):
        coarse = found[-1]
        names = [np.unique(fine[coarse == j]) for j in range(k)]
        parts = next(pair for pair in names if len(pair) == 2)
        smaller = min(parts, key=lambda j: np.count_nonzero(fine == j))
        found.append(np.where(fine == smaller, k, coarse))
    return np.array(found)
