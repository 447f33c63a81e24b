"""Result classes that the packages share."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lordclust._core.html import html_table
from lordclust._core.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class SolverResult:
    """The result of a solver.

    Attributes
    ----------
    V : ndarray of shape (n, k)
        The factor; feasible to rounding. Every row of V mu is 1/n; in ``V_`` of a
        model, row i is multiplied by the weight of sample i, relative to the mean.
    objective : float
        The model's own objective at ``V``: maximised by B-LoRD, minimised by LoRD.
    residual : float
        Projected-gradient residual ||V - P(V - grad/L)||_F / ||V||_F.
    n_iter : int
        Iterations taken.
    converged : bool
        Whether the residual reached the tolerance.
    history : ndarray of shape (n_iter + 1,)
        The objective at each iteration.
    passes : int
        Total of all projections: iterations of Dykstra's method, or passes over the
        rows.
    """

    V: FloatArray
    objective: float
    residual: float
    n_iter: int
    converged: bool
    history: FloatArray = field(repr=False)
    passes: int = 0


@dataclass(frozen=True)
class Run:
    """The result of a method from one start.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
        Clusters 0 to k-1, in the method's own order.
    objective : float
        The method's own objective, by which its restarts are compared.
    n_iter : int
        Iterations taken.
    converged : bool
        Whether the method's stopping rule was met.
    history : ndarray of shape (n_iter + 1,) or empty
        The objective at each iteration.
    membership : ndarray of shape (n, k), optional
        P(y_i = j | x_i): rows sum to 1.
    columns : dict of str to ndarray of shape (..., k)
        Further fitted attributes with one column per cluster.
    fitted : dict of str to anything
        Further fitted attributes that do not depend on the order of the clusters.
    """

    labels: IntArray
    objective: float
    n_iter: int = 1
    converged: bool = True
    history: FloatArray = field(default_factory=lambda: np.empty(0), repr=False)
    membership: FloatArray | None = field(default=None, repr=False)
    columns: dict[str, Any] = field(default_factory=dict, repr=False)
    fitted: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Projection:
    """A projection onto Omega(mu) with its certificate.

    Attributes
    ----------
    V : ndarray of shape (n, k)
        The projection.
    multipliers : ndarray of shape (k,)
        Column multipliers, a warm start for a similar projection.
    error : float
        Largest relative error of a row or column sum, recomputed from ``V``.
    n_iter : int
        Passes over the rows (Newton) or iterations (Dykstra).
    """

    V: FloatArray
    multipliers: FloatArray
    error: float
    n_iter: int


class ConfusablePair(NamedTuple):
    """Two clusters that share samples.

    Attributes
    ----------
    a, b : int
        The clusters, a < b.
    share : float
        Fraction of the smaller cluster that is shared with the other.
    samples : ndarray of int
        The samples most uncertain between them, the most uncertain first.
    """

    a: int
    b: int
    share: float
    samples: IntArray


@dataclass(frozen=True, repr=False)
class Agreement:
    """Agreement of the labels of other paths with a model's own.

    Paths that end in an optimum as good as the model's put its labels in doubt. That
    single paths end in worse ones is usual, even if clusters are clear: samples on
    which these agree are only less often wrong than others.

    Attributes
    ----------
    share : ndarray of shape (n,)
        Fraction of the paths that give each sample the model's label.
    ari : float
        Mean adjusted Rand index over all pairs of labels, including the model's own:
        1 if all paths give the same partition, about 0 if they are unrelated.
    labels : ndarray of int, shape (n_paths, n)
        The labels of each path, numbered so as to agree with the model's.
    objectives : ndarray of shape (n_paths,)
        The final objective of each path.
    as_good : ndarray of bool, shape (n_paths,)
        Whether it is at least the model's, up to 0.5 %.
    """

    share: FloatArray
    ari: float
    labels: IntArray
    objectives: FloatArray
    as_good: BoolArray

    def __repr__(self) -> str:
        count, n = self.labels.shape
        good = int(self.as_good.sum())
        some = "" if good == count else f", {good or 'none'} as good as the model"
        return (
            f"Agreement of {count} path{'s'[: count - 1]}{some}: mean ARI "
            f"{self.ari:.3f}, all agree on {np.mean(self.share == 1):.1%} of {n} "
            "samples"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Change:
    """What ``refit`` changed, displayed as a text.

    Attributes
    ----------
    before : ndarray of int, shape (m,)
        The old cluster of each sample by its new number, -1 if it had none.
    now : ndarray of int, shape (m,)
        Its new cluster, -1 for outliers.
    was : ndarray of int
        The old number of each old cluster, by its new number. These differ if old
        clusters are gone: later ones move up, and those that are gone come last.
    """

    before: IntArray
    now: IntArray
    was: IntArray

    @property
    def old_labels(self) -> IntArray:
        """The old cluster of each sample by its old number, -1 if it had none."""
        return np.asarray(np.append(self.was, -1)[self.before])

    @property
    def moved(self) -> IntArray:
        """The samples that were in a cluster, and are in another one or in none."""
        return np.flatnonzero((self.before >= 0) & (self.before != self.now))

    @property
    def table(self) -> IntArray:
        """Number of samples by old cluster (rows) and new cluster (columns)."""
        both = (self.before >= 0) & (self.now >= 0)
        table = np.zeros((self.before.max() + 1, self.now.max() + 1), dtype=np.int64)
        np.add.at(table, (self.before[both], self.now[both]), 1)
        return table

    def __repr__(self) -> str:
        shared, moved = int((self.before >= 0).sum()), len(self.moved)
        part = moved / max(shared, 1)
        text = f"{moved} of {shared} samples that were in a cluster changed it"
        lines = [f"{text} ({part:.0%})."]
        for j in range(max(self.before.max(), self.now.max()) + 1):
            old, new = (int((x == j).sum()) for x in (self.before, self.now))
            both = int(((self.before == j) & (self.now == j)).sum())
            was = self.was[j] if j < len(self.was) else j
            name = f"cluster {j}" if was == j else f"cluster {j} (was {was})"
            what = f"{name}: {old} before, {new} now, {both} in both"
            if not old:
                what = f"cluster {j}: new, {new} now"
            elif not new:
                what = f"cluster {was} before: {old}, gone"
            elif not both:
                what = f"cluster {was} before: {old}, gone; {j} is new, {new} now"
            lines.append(what)
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class TauPath:
    """B-LoRD along a grid of tau, each solved from the one before.

    Attributes
    ----------
    taus : ndarray of shape (m,)
        The grid, increasing.
    objectives : ndarray of shape (m,)
        Tr(V'SV) + gamma ||V||_F^2 at each tau.
    labels : ndarray of shape (m, n)
        The most probable cluster of each sample, one row per tau.
    memberships : dict of float to ndarray of shape (n, k)
        Memberships at the requested taus (the last one by default).
    n_iter, residuals, converged : ndarray of shape (m,)
        Iterations, final residual and whether it reached the tolerance.
    block_diagonality : ndarray of shape (m,)
        ||VV'||_[k] = k/n - ||V||_F^2, from soft (large) to hard (0).
    proportions : ndarray of shape (k,)
        The requested shares.
    eigenvalues : tuple of float
        Smallest and largest eigenvalue of S, which relate gamma to tau.
    """

    taus: FloatArray
    objectives: FloatArray
    labels: IntArray
    memberships: dict[float, FloatArray] = field(repr=False)
    n_iter: IntArray
    residuals: FloatArray
    converged: BoolArray
    block_diagonality: FloatArray
    proportions: FloatArray
    eigenvalues: tuple[float, float]

    def __repr__(self) -> str:
        n, k = self.labels.shape[1], len(self.proportions)
        return (
            f"TauPath({len(self.taus)} taus from {self.taus[0]:.3g} to "
            f"{self.taus[-1]:.3g}, {n} samples, {k} clusters)"
        )

    @property
    def sizes(self) -> IntArray:
        """Samples per cluster at each tau, shape (m, k)."""
        k = len(self.proportions)
        return np.array([np.bincount(row, minlength=k) for row in self.labels])

    @property
    def softness(self) -> FloatArray:
        """How far V is from orthogonal: 1 at tau = 0, 0 for a partition."""
        n, k = self.labels.shape[1], len(self.proportions)
        return np.asarray(self.block_diagonality * n / max(k - 1, 1))

    def at(self, tau: float) -> int:
        """Return the index of the grid point nearest to ``tau``."""
        return int(np.argmin(np.abs(self.taus - tau)))

    def membership(self, tau: float | None = None) -> FloatArray:
        """Return the kept membership nearest to ``tau`` (the last by default)."""
        kept = np.array(list(self.memberships))
        nearest = kept[-1] if tau is None else kept[np.abs(kept - tau).argmin()]
        return self.memberships[float(nearest)]

    def _repr_html_(self) -> str:
        """Return a table for notebooks: a dozen taus at most."""
        m, n, k = len(self.taus), self.labels.shape[1], len(self.proportions)
        rows = []
        for i in np.unique(np.linspace(0, m - 1, 12).round().astype(int)):
            sizes = self.sizes[i]
            rows.append([
                f"{self.taus[i]:.3f}", f"{self.objectives[i]:.6g}",
                f"{self.softness[i]:.3f}", f"{sizes.min()} to {sizes.max()}",
                f"{self.n_iter[i]}",
            ])  # fmt: skip
        caption = f"TauPath: {m} taus, {n} samples, {k} clusters"
        head = ["tau", "objective", "softness", "sizes", "iterations"]
        return html_table(caption, head, rows)


#: A partition is stable if other good ones agree with it on this share of the samples.
STABLE = 0.75


@dataclass(frozen=True, repr=False)
class Selection:
    """The candidate partitions of an automatic choice, which uses no labels.

    Attributes
    ----------
    rounds : ndarray of int, shape (m,)
        0 for seeds, their cells and the requested shares; in each later round the
        shares are the sizes of the best candidate so far.
    sources : list of str
        The seed of each candidate, or the path that it is from.
    taus : ndarray of shape (m,)
        Their taus; 1 for seeds.
    surprise : ndarray of shape (m,)
        n times the entropy of a label given that of a neighbour, in nats; the smaller
        of those of two graphs, if distances are known.
    balance : ndarray of shape (m,)
        Entropy of the shares, in nats; on a graph alone, divided by its largest value.
    features : ndarray of shape (m,)
        Log Bayes factor of the clusters as Gaussians against one Gaussian, in nats per
        sample; 0 without features.
    evidence : ndarray of shape (m,)
        4.5 balance + 2 features - log(surprise + 3), with 8 in place of 3 if there is
        only one graph; less 1 for each link that is broken and each known label that
        the graph contradicts.
    sizes : ndarray of shape (m, k)
        Samples per cluster (sums of their weights), in decreasing order.
    best : int
        The selected candidate.
    stability : float
        Share of the samples on which the selected partition agrees with those that the
        seeds and the ends of paths are, weighted by how little they cut; 1 if it is the
        only one.
    """

    rounds: IntArray
    sources: list[str]
    taus: FloatArray
    surprise: FloatArray
    balance: FloatArray
    features: FloatArray
    evidence: FloatArray
    sizes: FloatArray
    best: int
    stability: float = 1.0

    @property
    def is_stable(self) -> bool:
        """Whether other good partitions agree with the selected one."""
        return self.stability >= STABLE

    @property
    def n_clusters(self) -> IntArray:
        """Number of clusters of each candidate that have samples."""
        return np.asarray((self.sizes > 0).sum(axis=1))

    def candidates(self, top: int = 10) -> list[dict[str, str]]:
        """Return the best candidates of different sizes, the selected one first.

        Parameters
        ----------
        top : int, default=10
            How many candidates.

        Returns
        -------
        rows : list of dict
            Their figures as text, by name.
        """
        first: dict[tuple[float, ...], int] = {}
        for i in [self.best, *np.argsort(-self.evidence, kind="stable").tolist()]:
            first.setdefault(tuple(self.sizes[i]), i)
        return [
            {
                "evidence": f"{self.evidence[i]:.3f}",
                "surprise": f"{self.surprise[i]:.1f}",
                "balance": f"{self.balance[i]:.3f}",
                "features": f"{self.features[i]:.3f}",
                "tau": f"{self.taus[i]:.2f}",
                "source": self.sources[i],
                "sizes": " ".join(f"{size:g}" for size in self.sizes[i] if size > 0),
            }
            for i in list(first.values())[:top]
        ]

    def table(self, top: int = 10) -> str:
        """Return the best candidates of different sizes as text, the selected marked.

        Parameters
        ----------
        top : int, default=10
            How many lines.
        """
        lines = ["    evidence  surprise  balance  features   tau  sizes"]
        for i, row in enumerate(self.candidates(top)):
            *numbers, _, sizes = row.values()
            widths = (9, 10, 9, 10, 6)
            cells = [text.rjust(w) for text, w in zip(numbers, widths, strict=True)]
            lines.append(f"{'  ' if i else '->'} {''.join(cells)}  {sizes}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        best = self.candidates(1)[0]
        return (
            f"Selection of {len(self.taus)} candidates: {best['source']}, "
            f"sizes {best['sizes']}, evidence {best['evidence']}, "
            f"stability {self.stability:.2f}" + ("" if self.is_stable else " (low)")
        )

    def _repr_html_(self) -> str:
        """Return the best candidates of different sizes as a table for notebooks."""
        rows = self.candidates()
        cells = [list(row.values()) for row in rows]
        return html_table(repr(self), list(rows[0]), cells, marked=0)
