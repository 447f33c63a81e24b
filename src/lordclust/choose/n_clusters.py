"""The number of clusters: a gap of the graph, separation, and how clusters fit.

The score of k is the sum of

    gap:         log(l_(k+1) / l_k) - 2 log(k / (k - 1))
    separation:  log(l_(k+1) / (h + NOTHING))
    fit:         H + F - 2.5 log k

where

- l_1 <= l_2 <= ... are the eigenvalues of I - D^-1/2 S D^-1/2. A small l_k: the graph
  has k parts. A large l_(k+1): none of them separates further. On an evenly filled
  interval l_k is proportional to (k - 1)^2: of all shapes without clusters it has the
  largest ratios, which count as 0.
- h, H and F are surprise, balance and features of the partition into k clusters with
  the most evidence, see :mod:`lordclust.choose.evidence`, but F is measured on the
  same principal components for every k. Without features, F counts as log k.

The separation compares what lies within clusters to what lies between them. It does not
depend on the scale of either, and can be as good for many clusters as for few; log h
alone would always prefer few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lordclust._core.colors import BLUE, INK, ORANGE, PALE, QUIET
from lordclust._core.html import html_table
from lordclust._core.threads import count_threads
from lordclust._core.typing import Affinity, FloatArray, Graph, IntArray
from lordclust._core.validation import check_count, check_k_range, missing_extra
from lordclust.choose.evidence import (
    Evidence,
    Score,
    features_told,
    gaussian_evidence,
    principal_components,
    whitened,
)
from lordclust.graph import KNNGraph, make_affinity
from lordclust.graph.affinity import named_affinity
from lordclust.graph.kernel import check_samples
from lordclust.rounding.spectral import Eigen
from lordclust.rounding.surprise import entropy, neighbour_surprise
from lordclust.solver.seeds import Seeds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Largest number of clusters by default.
MAX_CLUSTERS = 20
#: Principal components on which all k are compared.
N_FEATURES = 10
#: Eigenvalues below this count as nothing.
GAP = 1e-3
#: Surprise, in nats, that counts as nothing.
NOTHING = 2.0
#: Price of clusters, in units of log k.
PRICE = 2.5
#: Labels among which the partition of each k is chosen.
SEEDS = ("cut", "centres", "tree", "uneven_tree")


@dataclass(frozen=True, eq=False, repr=False)
class KSuggestion:
    """How well each number of clusters fits; see :func:`suggest_k`.

    Attributes
    ----------
    ks : ndarray of int, shape (m,)
        The numbers of clusters compared, increasing.
    eigenvalues : ndarray of float
        The smallest eigenvalues of I - D^-1/2 S D^-1/2, increasing: one more than the
        largest of ``ks``, if there are as many.
    surprise : ndarray of shape (m,)
        n times the entropy of a sample's label given that of a neighbour, in nats.
    gap : ndarray of shape (m,)
        Logarithm of the ratio of the (k+1)-th eigenvalue to the k-th, minus that of an
        evenly filled interval.
    separation : ndarray of shape (m,)
        Logarithm of the ratio of the (k+1)-th eigenvalue to the surprise plus 2.
    fit : ndarray of shape (m,)
        Entropy of the shares, plus what clusters gain on the features in nats per
        sample, minus 2.5 log k; -inf if no partition into k clusters was found.
    score : ndarray of shape (m,)
        ``gap + separation + fit``.

    Examples
    --------
    >>> from lordclust import suggest_k
    >>> from lordclust.datasets import block_graph
    >>> S, _ = block_graph([20, 20, 20], p_in=0.5, p_out=0.05)
    >>> suggest_k(S, range(2, 6)).best_k
    3
    """

    ks: IntArray
    eigenvalues: FloatArray
    surprise: FloatArray
    gap: FloatArray
    separation: FloatArray
    fit: FloatArray
    score: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", self.gap + self.separation + self.fit)

    @property
    def ranking(self) -> IntArray:
        """All of ``ks``, the best score first; of equal ones the smaller k first."""
        return np.asarray(self.ks[np.argsort(-self.score, kind="stable")])

    @property
    def best_k(self) -> int:
        """The k of the best score."""
        return int(self.ranking[0])

    @property
    def runner_up(self) -> int | None:
        """The k of the second-best score, if more than one was compared."""
        return int(self.ranking[1]) if len(self.ks) > 1 else None

    def plot(self, ax: Axes | None = None) -> tuple[Axes, Axes]:
        """Plot the score, and below it the gaps; the best k is orange.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Replaced by the two panels; a new figure by default.

        Returns
        -------
        top, bottom : matplotlib Axes
            The panels.
        """
        top, bottom = _panels(ax)
        _draw_score(top, self)
        _draw_gaps(bottom, self)
        return top, bottom

    def __repr__(self) -> str:
        return (
            f"KSuggestion(best_k={self.best_k}, runner_up={self.runner_up}, "
            f"ks={self.ks[0]}..{self.ks[-1]})"
        )

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        """Return a table for notebooks, the best k in bold."""
        rows = [
            [f"{k}", *(f"{part:.2f}" for part in parts)] for k, *parts in _columns(self)
        ]
        head = ["k", "gap", "separation", "fit", "score"]
        best = int(np.argmax(self.score))
        return html_table(f"{_headline(self)}.", head, rows, marked=best)


def suggest_k(
    S: Graph,
    k_range: Iterable[int] | None = None,
    *,
    affinity: Affinity | None = None,
    n_jobs: int | None = -1,
) -> KSuggestion:
    """Suggest the number of clusters.

    For each k the graph is cut into k clusters in several ways, and the partition with
    the most evidence is kept. The score of k is the sum of three parts:

    - The gap: the logarithm of the ratio of the (k+1)-th to the k-th eigenvalue of the
      normalised Laplacian [1]_, minus that of an evenly filled interval.
    - The separation: the logarithm of the ratio of the (k+1)-th eigenvalue, which is
      small if a cluster falls apart, to the surprise, which is large if clusters are
      not apart: n times the entropy of a sample's label given that of a neighbour, in
      nats, plus 2.
    - The fit: the entropy of the shares, plus the log Bayes factor per sample of k
      Gaussian clusters against one on the leading 10 principal components, minus
      2.5 log k. Without features, the Bayes factor counts as log k.

    Parameters
    ----------
    S : array-like or sparse of shape (n, n), or samples of shape (n, d)
        Symmetric, nonnegative similarities, or samples.
    k_range : iterable of int, optional
        Increasing numbers of clusters to compare, from 1 to n. By default 2 to 20,
        or to n/2 if that is less: clusters of one sample are not informative.
    affinity : str, KNNGraph or callable, optional
        How S is computed from the first argument, as in :class:`lordclust.BLoRD`. By
        default a square array is S itself, and "knn" builds the graph of any other.
        Samples also serve as features; pass them if there are any.
    n_jobs : int or None, default=-1
        Number of threads, one k each, as in :class:`lordclust.BLoRD`. The result does
        not depend on it.

    Returns
    -------
    suggestion : KSuggestion
        With ``best_k``, ``runner_up``, the parts of the score, and ``plot()``.

    Notes
    -----
    The result is the same every time, and does not depend on the order of the samples.
    Eigenvectors are computed once, for the largest k.

    The score compares numbers of clusters; it does not test whether there are any. One
    cluster is compared only if ``k_range`` contains 1; its gap counts as 0.

    References
    ----------
    .. [1] von Luxburg, "A tutorial on spectral clustering", Statistics and Computing,
       2007.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from lordclust import suggest_k
    >>> X, _ = make_blobs(200, centers=4, n_features=5, random_state=0)
    >>> suggest_k(X).best_k
    4
    """
    affinity = named_affinity(affinity, S)
    X = None if _is_precomputed(affinity) else check_samples(S)
    S = make_affinity(affinity, S if X is None else X, nonnegative="suggest_k")
    ks = check_k_range(k_range, S.shape[0])
    return _compared(S, X, np.ones(S.shape[0]), ks, n_jobs)


def best_n_clusters(
    S: Graph,
    X: Graph | None,
    weight: FloatArray,
    max_clusters: int = MAX_CLUSTERS,
    *,
    min_clusters: int = 2,
    n_jobs: int | None = -1,
) -> KSuggestion:
    """Compare 2 to ``max_clusters`` clusters of weighted samples.

    Parameters
    ----------
    S : ndarray or csr_array of shape (n, n)
        The graph. Negative entries count as 0.
    X : ndarray or sparse of shape (n, d), or None
        The features.
    weight : ndarray of shape (n,)
        Weights of the samples.
    max_clusters : int, default=20
        Largest number of clusters, at most n/2.
    min_clusters : int, default=2
        Smallest number of clusters, even if larger than ``max_clusters``.
    n_jobs : int or None, default=-1
        Number of threads; all cores by default.

    Returns
    -------
    suggestion : KSuggestion

    Examples
    --------
    >>> best_n_clusters(np.kron(np.eye(3), np.ones((4, 4))), None, np.ones(12)).best_k
    3
    """
    n = S.shape[0]
    last = min(check_count(max_clusters, "max_clusters"), max(2, n // 2), n)
    first = min(2, last) if min_clusters <= 2 else min(min_clusters, n)
    ks = np.arange(first, max(first, last) + 1)
    return _compared(S, X, weight, ks, n_jobs)


def _is_precomputed(affinity: Affinity) -> bool:
    """Return whether the samples are given by similarities or distances alone."""
    name = affinity.metric if isinstance(affinity, KNNGraph) else affinity
    return isinstance(name, str) and name.startswith("precomputed")


def _compared(
    S: Graph, X: Graph | None, weight: FloatArray, ks: IntArray, n_jobs: int | None
) -> KSuggestion:
    """Return the score of each k."""
    n, last = S.shape[0], int(ks[-1])
    threads = count_threads(n_jobs)
    whole = Seeds(S, min(last + 1, n), X)
    eigen = whole.eigen
    judge = _Judge(S, X, weight, last)

    def judged(k: int) -> tuple[float, float]:
        seeds = Seeds(whole.S, k, X)
        vars(seeds)["eigen"] = Eigen(eigen.values[:k], eigen.vectors[:, :k])
        return judge.surprise_and_fit(seeds) if k > 1 else (0.0, 0.0)

    with ThreadPoolExecutor(min(threads, len(ks))) as pool:
        surprise, fit = np.array(list(pool.map(judged, ks.tolist()))).T
    eigenvalues = np.maximum(1 - eigen.values, 0.0)
    logs = np.log(eigenvalues + GAP)
    logs = np.append(logs, logs[-1])  # k = n: there is no next one
    even = 2 * np.log(ks / np.maximum(ks - 1, 1))
    gap = np.where(ks > 1, logs[ks] - logs[ks - 1] - even, 0.0)
    separation = logs[ks] - np.log(surprise + NOTHING)
    return KSuggestion(ks, eigenvalues, surprise, gap, separation, fit)


class _Judge:
    """Chooses a partition for each k and scores it, on components computed once."""

    def __init__(
        self, S: Graph, X: Graph | None, weight: FloatArray, last: int
    ) -> None:
        self.weight, self.has_features = weight, X is not None
        self.edges = Evidence(S, 1, None, weight).graphs[0]
        self.Z = np.zeros((S.shape[0], 0))
        if X is not None:
            count = max(N_FEATURES, last - 1)
            self.Z = whitened(principal_components(X, weight, count), weight)

    def surprise_and_fit(self, seeds: Seeds) -> tuple[float, float]:
        """Return both for the partition with the most evidence.

        An empty cluster is none: without a partition into k clusters the fit is -inf.
        """
        k = seeds.k
        found: list[tuple[Score, IntArray]] = []
        for name in SEEDS:
            labels = getattr(seeds, name)
            if labels is not None and np.bincount(labels, minlength=k).min() > 0:
                found.append((self._score(labels, k), labels))
        if not found:
            return 0.0, -np.inf
        score, labels = max(found, key=lambda one: one[0].total)
        gain = self._gain(labels, k, N_FEATURES)
        F = float(gain.sum()) if self.has_features else np.log(k)
        return score.surprise, score.balance + F - PRICE * np.log(k)

    def _score(self, labels: IntArray, k: int) -> Score:
        """Return the evidence for labels, as for a given number of clusters."""
        total = float(self.weight.sum())
        sizes = np.bincount(labels, self.weight, minlength=k)
        surprise = total * neighbour_surprise(self.edges, labels, k)
        balance = entropy(sizes / total)
        features = features_told(self._gain(labels, k, k - 1), balance)
        return Score(surprise, balance, features, surprise, surprise)

    def _gain(self, labels: IntArray, k: int, count: int) -> FloatArray:
        """Return the log Bayes factor per sample on all the leading components.

        Without features there is none.
        """
        Z, one = self.Z[:, :count], np.zeros_like(labels)
        gain = gaussian_evidence(Z, labels, k, self.weight)
        gain -= gaussian_evidence(Z, one, 1, self.weight)
        return gain[-1:] / float(self.weight.sum())


# -- text and plots ---------------------------------------------------------------


def _lines(found: KSuggestion) -> Iterator[str]:
    """Yield a headline, and a line for each k."""
    yield f"{_headline(found)}."
    yield "    k    gap  separation    fit   score"
    for k, gap, separation, fit, score in _columns(found):
        mark = "  <" if k == found.best_k else ""
        yield f"{k:5d}{gap:7.2f}{separation:12.2f}{fit:7.2f}{score:8.2f}{mark}"


def _columns(found: KSuggestion) -> Iterator[tuple[int, float, float, float, float]]:
    """Return an iterator over (k, gap, separation, fit, score)."""
    columns = (found.ks, found.gap, found.separation, found.fit, found.score)
    return zip(*columns, strict=True)


def _headline(found: KSuggestion) -> str:
    """Return which k is best, and which is second."""
    then = "" if found.runner_up is None else f", then {found.runner_up}"
    return f"Best: {found.best_k} clusters{then}"


def _panels(ax: Axes | None) -> tuple[Axes, Axes]:
    """Return two axes, one above the other, in a new figure or in place of ax."""
    if ax is not None:
        ax.axis("off")
        top = ax.inset_axes((0, 0.4, 1, 0.6))
        return top, ax.inset_axes((0, 0, 1, 0.32), sharex=top)
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise missing_extra("matplotlib", "plot") from error
    _, (top, bottom) = plt.subplots(
        2, 1, sharex=True, figsize=(6.8, 4.8), height_ratios=[2, 1],
        layout="constrained",
    )  # fmt: skip
    return top, bottom


def _draw_score(axes: Axes, found: KSuggestion) -> None:
    """Draw the score, and name the best k."""
    ks, best = found.ks, int(np.argmax(found.score))
    axes.plot(ks, found.score, color=BLUE, lw=2, marker="o", ms=4.5, label="score")
    axes.plot(ks[best], found.score[best], "o", ms=9, color=ORANGE, zorder=3)
    axes.annotate(
        f"k = {found.best_k}", (ks[best], found.score[best]), xytext=(0, 9),
        textcoords="offset points", ha="center", color=ORANGE, weight="bold",
    )  # fmt: skip
    axes.margins(y=0.15)
    axes.tick_params(labelbottom=False)
    _style(axes, found, _headline(found))


def _draw_gaps(axes: Axes, found: KSuggestion) -> None:
    """Draw the gaps as bars."""
    colours = [ORANGE if k == found.best_k else PALE for k in found.ks]
    axes.bar(found.ks, found.gap, width=0.6, color=colours)
    axes.set_xlabel("number of clusters k", color=QUIET, size=10)
    _style(axes, found, "Gap of the eigenvalues")


def _style(axes: Axes, found: KSuggestion, title: str) -> None:
    """Set a panel's title, muted spines and integer ticks."""
    axes.set_title(title, loc="left", size=11, color=INK, weight="bold")
    every = -(-len(found.ks) // 20)  # no more ticks than can be read
    axes.set_xticks(found.ks[::every])
    axes.tick_params(colors=QUIET, labelsize=9)
    axes.grid(axis="y", color="#E6E6E6", lw=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#BBBBBB")
