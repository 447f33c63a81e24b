"""Nested clusterings: the same clusters, coarser and finer.

One level is that of ``BLoRD`` itself. Coarser ones merge the two clusters, finer ones
split the cluster, for which the evidence is then largest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lordclust._core.html import html_table
from lordclust._core.typing import Graph, IntArray
from lordclust._core.validation import check_count
from lordclust.choose.evidence import Evidence
from lordclust.choose.n_clusters import best_n_clusters
from lordclust.methods._weightless import selected
from lordclust.methods.lord import BLoRD

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

    Examples
    --------
    >>> from lordclust import layers
    >>> from sklearn.datasets import load_iris
    >>> found = layers(load_iris().data, 4)
    >>> print(found)
    Recommended: 2 clusters.
    k = 1: 150
    k = 2: 100, 50  (0 into 0 and 1)  <
    k = 3: 64, 50, 36  (0 into 0 and 2)
    k = 4: 36, 50, 36, 28  (0 into 0 and 3)
    """

    labels: IntArray
    best_k: int

    def at(self, k: int | None = None) -> IntArray:
        """Return the labels of the level with k clusters, by default ``best_k``."""
        k = self.best_k if k is None else k
        if not 1 <= k <= len(self.labels):
            raise ValueError(f"k must be from 1 to {len(self.labels)}, got {k}.")
        return np.asarray(self.labels[k - 1])

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

    def __repr__(self) -> str:
        return f"Layers(1 to {len(self.labels)} clusters, best_k={self.best_k})"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = [
            [str(k), ", ".join(map(str, self.sizes(k))),
             f"{parent} into {parent} and {k - 1}" if k > 1 else ""]
            for k, parent in enumerate(self.parents.tolist(), 1)
        ]  # fmt: skip
        head = ["clusters", "sizes", "split"]
        return html_table("Nested levels", head, rows, marked=self.best_k - 1)

    def _lines(self) -> Iterator[str]:
        yield f"Recommended: {self.best_k} clusters."
        for k, parent in enumerate(self.parents.tolist(), 1):
            sizes = ", ".join(map(str, self.sizes(k)))
            split = f"  ({parent} into {parent} and {k - 1})" if k > 1 else ""
            yield f"k = {k}: {sizes}{split}{'  <' if k == self.best_k else ''}"


def layers(X: Graph | BLoRD, k_max: int = 12, **parameters: object) -> Layers:
    """Return nested clusterings into 1 to ``k_max`` clusters.

    Instead of a resolution that is tried out, all levels at once: every cluster lies
    inside one of the coarser level. The recommended level is ``BLoRD(k)`` for the
    number of clusters that :func:`lordclust.suggest_k` suggests. Coarser levels merge
    its clusters, finer ones split them into two by ``BLoRD``, so that the evidence for
    each level is as large as possible.

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
        With ``best_k``, the labels ``at(k)`` and the tree ``parents``;
        :class:`lordclust.plots.LayersDisplay` draws it.

    Examples
    --------
    >>> from lordclust import layers
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(200, centers=4, n_features=5, random_state=0)
    >>> found = layers(X, 6)
    >>> found.best_k
    4
    >>> found.parents
    array([-1,  0,  0,  1,  2,  0])
    """
    count = check_count(k_max, "k_max")
    model = X if isinstance(X, BLoRD) else _recommended(X, count, parameters)
    kept = model.labels_ >= 0
    S = selected(model.affinity_matrix_, kept, square=True)
    features = model._samples
    if features is not None:
        features = selected(features, kept, square=False)
    own = model.labels_[kept]
    judge = Evidence(S, max(count, model.n_clusters_), features, model._weight[kept])
    coarse, fine = _merged(judge, own), _split(judge, own, features, S, count)
    nested = _numbered([*coarse, own, *fine])
    labels = np.full((len(nested), len(kept)), -1)
    labels[:, kept] = nested
    return Layers(labels, len(coarse) + 1)


def _recommended(X: Graph, count: int, parameters: dict[str, object]) -> BLoRD:
    """Return the model with the suggested number of clusters."""
    model = BLoRD(1, **parameters)  # type: ignore[arg-type]
    X = model._check_X(X)
    S = model._read(X)
    features = None if model._is_precomputed() else X
    found = best_n_clusters(S, features, np.ones(S.shape[0]), count)
    model.set_params(n_clusters=found.best_k).fit(X)
    return model


def _merged(judge: Evidence, labels: IntArray) -> list[IntArray]:
    """Return coarser labels, the coarsest first: two clusters merged at a time."""
    found: list[IntArray] = []
    while len(names := np.unique(labels)) > 1:
        pairs = [np.where(labels == b, a, labels) for a, b in combinations(names, 2)]
        labels = max(pairs, key=lambda one: judge.score(one).total)
        found.insert(0, labels)
    return found


def _split(
    judge: Evidence, labels: IntArray, X: Graph | None, S: Graph, count: int
) -> list[IntArray]:
    """Return finer labels: one cluster split at a time."""
    found: list[IntArray] = []
    halves: dict[int, IntArray] = {}  # the samples that leave a cluster if it is split
    for k in range(len(np.unique(labels)), count):
        for j in range(k):
            rows = np.flatnonzero(labels == j)
            if j not in halves and len(rows) >= SMALLEST:
                halves[j] = rows[_in_two(X, S, rows) == 1]
        options = {j: labels.copy() for j in halves}
        for j, option in options.items():
            option[halves[j]] = k
        if not options:
            break
        best = max(options, key=lambda j: judge.score(options[j]).total)
        labels = options[best]
        found.append(labels)
        del halves[best]
    return found


def _in_two(X: Graph | None, S: Graph, rows: IntArray) -> IntArray:
    """Return the labels of some samples in two clusters, the larger one 0."""
    model = BLoRD(2)
    if X is not None and abs(X[rows[1:]] - X[rows[:-1]]).sum() > 0:
        model.fit(X[rows])
    else:
        model.set_params(affinity="precomputed").fit(S[rows][:, rows])
    return model.labels_


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
