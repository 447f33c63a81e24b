"""The number of clusters: eigengap, and stability under other edge weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.metrics.cluster import pair_confusion_matrix
from sklearn.utils import check_random_state

from lordclust._core.colors import BLUE, INK, ORANGE, PALE, QUIET
from lordclust._core.html import html_table
from lordclust._core.threads import count_threads
from lordclust._core.typing import Affinity, FloatArray, Graph, IntArray, Seed
from lordclust._core.validation import check_count, check_k_range, missing_extra
from lordclust.graph import make_affinity
from lordclust.rounding.spectral import normalized_eigenvectors
from lordclust.solver.tau_path import tau_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A coarse path is enough to compare partitions. It begins too late for the race of
#: tau_path, which would hide that there are several optima.
TAUS, TOL = np.geomspace(0.06, 1, 9), 1e-3
#: Fewer paths leave no pairs when one of them is left out for the standard error.
FEWEST_PATHS = 3


@dataclass(frozen=True, eq=False, repr=False)
class KSuggestion:
    """How well each number of clusters fits a graph; see :func:`suggest_k`.

    Attributes
    ----------
    ks : ndarray of int, shape (m,)
        The numbers of clusters compared, increasing.
    eigenvalues : ndarray of float
        The smallest eigenvalues of I - D^-1/2 S D^-1/2, increasing: one more than the
        largest of ``ks``, if there are as many.
    eigengaps : ndarray of shape (m,)
        For each k the (k+1)-th eigenvalue minus the k-th.
    stability : ndarray of shape (m,)
        Mean adjusted Rand index between the partitions of reweighted graphs.
    errors : ndarray of shape (m,)
        Standard errors of ``stability``.
    score : ndarray of shape (m,)
        ``eigengaps + stability``.

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
    eigengaps: FloatArray
    stability: FloatArray
    errors: FloatArray
    score: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", self.eigengaps + self.stability)

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

    @property
    def plausible_ks(self) -> IntArray:
        """Those ks whose score is within one standard error of the best."""
        best = int(np.argmax(self.score))
        near = self.score >= self.score[best] - self.errors[best]
        return np.asarray(self.ks[near])

    def plot(self, ax: Axes | None = None) -> tuple[Axes, Axes]:
        """Plot the score, and below it the eigengaps; the best k is orange.

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
            [f"{k}", f"{gap:.3f}", f"{stable:.3f} ± {error:.3f}", f"{score:.3f}"]
            for k, gap, stable, error, score in _columns(self)
        ]
        head = ["k", "eigengap", "stability", "score"]
        best = int(np.argmax(self.score))
        return html_table(f"{_headline(self)}.", head, rows, marked=best)


def suggest_k(
    S: Graph,
    k_range: Iterable[int] | None = None,
    *,
    affinity: Affinity = "precomputed",
    n_paths: int = 10,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> KSuggestion:
    """Suggest the number of clusters of a graph.

    Two measures of each k are added, both 0 without structure and 1 for perfect
    structure, so that no weight has to be chosen:

    - The eigengap, between the k-th and the (k+1)-th eigenvalue of the normalised
      Laplacian [1]_. A small k-th eigenvalue: the graph has k parts. A large
      (k+1)-th: none of them splits further.
    - The stability of B-LoRD's partition. Every edge weight is multiplied by an
      independent draw from the exponential distribution of mean 1 (the Bayesian
      bootstrap [2]_), and a path in tau is followed on each of ``n_paths`` such
      graphs. Stability is the mean adjusted Rand index of all pairs of partitions,
      which is 0 for partitions that agree by chance only.

    Parameters
    ----------
    S : array-like or sparse of shape (n, n), or samples of shape (n, d)
        Symmetric, nonnegative similarities; samples with another ``affinity``.
    k_range : iterable of int, optional
        Increasing numbers of clusters to compare, from 1 to n. By default 2 to 20,
        or to n/2 if that is less: clusters of one sample are not informative.
    affinity : {"precomputed", "knn"}, KNNGraph or callable, default="precomputed"
        How S is computed from the first argument, as in :class:`lordclust.BLoRD`.
    n_paths : int, default=10
        Number of reweighted graphs, at least 3. The time grows in proportion; standard
        errors shrink.
    random_state : int, RandomState or None, default=None
        Seed of the weights and starts; with None the result is the same every time.
    n_jobs : int, optional
        Number of threads, one path each; all cores by default. The result does not
        depend on it.

    Returns
    -------
    suggestion : KSuggestion
        With ``best_k``, ``runner_up``, the measures for each k, and ``plot()``.

    Notes
    -----
    The cost is ``n_paths`` coarse paths for each k. For large n pass fewer ``n_paths``
    or a shorter ``k_range``, or a graph of some of the samples.

    The partitions have clusters of equal share. If the true shares are far from equal,
    a large cluster is cut in the same way each time, and a larger k may score best. On
    graphs of points in two or three dimensions, or of long, thin clusters, many k are
    almost equally good. Look at the plot and at ``plausible_ks``.

    Two partitions into one cluster, or into single samples, always agree; this counts
    as 0.

    References
    ----------
    .. [1] von Luxburg, "A tutorial on spectral clustering", Statistics and Computing,
       2007.
    .. [2] Rubin, "The Bayesian bootstrap", Annals of Statistics, 1981.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from lordclust import suggest_k
    >>> X, _ = make_blobs(200, centers=4, n_features=5, random_state=0)
    >>> suggest_k(X, range(2, 9), affinity="knn").best_k
    4
    """
    S = make_affinity(affinity, S, nonnegative="suggest_k")
    n = S.shape[0]
    ks = check_k_range(k_range, n)
    seeds = _seeds(n_paths, random_state)
    eigenvalues = _laplacian_eigenvalues(S, min(int(ks[-1]) + 1, n))
    gaps = np.append(np.diff(eigenvalues), 0.0)  # there is none above the last
    stability, errors = np.array(list(_stabilities(S, ks, seeds, n_jobs))).T
    return KSuggestion(ks, eigenvalues, gaps[ks - 1], stability, errors)


def _seeds(n_paths: int, random_state: Seed) -> IntArray:
    """Return a seed for each reweighted graph."""
    if check_count(n_paths, "n_paths") < FEWEST_PATHS:
        raise ValueError(
            f"n_paths must be at least {FEWEST_PATHS}, got {n_paths}. With fewer paths "
            "the standard error cannot be computed."
        )
    rng = check_random_state(0 if random_state is None else random_state)
    return np.asarray(rng.randint(np.iinfo(np.int32).max, size=n_paths))


def _laplacian_eigenvalues(S: Graph, count: int) -> FloatArray:
    """Return the smallest eigenvalues of the normalised Laplacian, increasing."""
    return np.asarray(np.maximum(1 - normalized_eigenvectors(S, count).values, 0.0))


def _stabilities(
    S: Graph, ks: IntArray, seeds: IntArray, n_jobs: int | None
) -> Iterator[tuple[float, float]]:
    """Yield stability and standard error for each k."""

    def follow(seed: int) -> list[IntArray]:
        return _partitions(_reweighted(S, np.random.default_rng(seed)), ks, seed)

    with ThreadPoolExecutor(min(count_threads(n_jobs), len(seeds))) as pool:
        graphs = list(pool.map(follow, seeds.tolist()))
    for partitions in zip(*graphs, strict=True):
        yield _stability(list(partitions))


def _reweighted(S: Graph, rng: np.random.Generator) -> Graph:
    """Return S with every edge weight times a draw of mean 1."""
    if sparse.issparse(S):
        half = sparse.triu(S, format="csr")
        half.data = half.data * rng.exponential(size=half.nnz)
        return sparse.csr_array(half + sparse.triu(half, 1).T)
    half = np.triu(S * rng.exponential(size=S.shape))
    return half + np.triu(half, 1).T


def _partitions(S: Graph, ks: IntArray, seed: int) -> list[IntArray]:
    """Return the labels at the end of a path for each k."""
    labels = []
    for k in ks.tolist():
        path = tau_path(S, k, taus=TAUS, tol=TOL, random_state=seed, n_jobs=1)
        labels.append(path.labels[-1].astype(np.int32))
    return labels


def _stability(partitions: list[IntArray]) -> tuple[float, float]:
    """Return the mean agreement of all pairs, and its jackknife standard error."""
    m = len(partitions)
    A = np.zeros((m, m))
    for i, j in combinations(range(m), 2):
        A[i, j] = A[j, i] = _agreement(partitions[i], partitions[j])
    total = A.sum()
    others = (total - 2 * A.sum(axis=1)) / ((m - 1) * (m - 2))  # one path left out
    return total / (m * (m - 1)), float(np.sqrt((m - 1) * others.var()))


def _agreement(a: IntArray, b: IntArray) -> float:
    """Return the adjusted Rand index, and 0 for partitions that always agree."""
    apart, only_b, only_a, both = (int(c) for c in pair_confusion_matrix(a, b).ravel())
    most = (both + only_a) * (only_a + apart) + (both + only_b) * (only_b + apart)
    # One cluster, or one for each sample: the index would be 0 / 0.
    return 2 * (both * apart - only_a * only_b) / most if most else 0.0


# -- text and plots ---------------------------------------------------------------


def _lines(found: KSuggestion) -> Iterator[str]:
    """Yield a headline, and a line for each k."""
    yield f"{_headline(found)}."
    near = ", ".join(str(k) for k in found.plausible_ks)
    yield f"Within one standard error of the best: {near}."
    yield "    k  eigengap     stability  score"
    for k, gap, stable, error, score in _columns(found):
        mark = "  <" if k == found.best_k else ""
        yield f"{k:5d}{gap:10.3f}{stable:7.3f} ±{error:5.3f}{score:7.3f}{mark}"


def _columns(found: KSuggestion) -> Iterator[tuple[Any, ...]]:
    """Return an iterator over (k, eigengap, stability, its error, score)."""
    columns = (found.ks, found.eigengaps, found.stability, found.errors, found.score)
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
    """Draw score and stability, and name the best k and the runner-up."""
    ks, best = found.ks, int(np.argmax(found.score))
    low, high = found.stability - found.errors, found.stability + found.errors
    axes.fill_between(ks, low, high, color=PALE, alpha=0.6, lw=0)
    axes.plot(
        ks, found.stability, color=BLUE, lw=1.5, label="stability, ± one standard error"
    )
    axes.plot(
        ks, found.score, color=INK, lw=2, marker="o", ms=4.5,
        label="score = stability + eigengap",
    )  # fmt: skip
    axes.plot(ks[best], found.score[best], "o", ms=9, color=ORANGE, zorder=3)
    axes.annotate(
        f"k = {found.best_k}", (ks[best], found.score[best]), xytext=(0, 9),
        textcoords="offset points", ha="center", color=ORANGE, weight="bold",
    )  # fmt: skip
    axes.set_ylim(min(0.0, low.min()), 1.15 * max(found.score.max(), high.max()))
    axes.legend(frameon=False, fontsize=9, labelcolor=QUIET)
    axes.tick_params(labelbottom=False)
    _style(axes, found, _headline(found))


def _draw_gaps(axes: Axes, found: KSuggestion) -> None:
    """Draw the eigengaps as bars."""
    colours = [ORANGE if k == found.best_k else PALE for k in found.ks]
    axes.bar(found.ks, found.eigengaps, width=0.6, color=colours)
    axes.set_xlabel("number of clusters k", color=QUIET, size=10)
    _style(axes, found, "Eigengap")


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
