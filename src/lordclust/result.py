"""Frozen records passed between rooms."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lordclust._core.html import html_table
from lordclust._core.typing import FloatArray, IntArray


@dataclass(frozen=True)
class SolverResult:
    """What a descent ends with, whichever algorithm ran.

    Attributes
    ----------
    V : ndarray of shape (n, k)
        The factor; feasible to rounding. Every row of V mu is 1/n: row i of a sample
        that counts q_i times the average is q_i times as large in ``V_`` of a model.
    objective : float
        The model's own objective at ``V``: to be maximised for B-LoRD, minimised
        for LoRD.
    residual : float
        Projected-gradient residual ||V - P(V - grad/L)||_F / ||V||_F.
    n_iter : int
        Iterations taken.
    converged : bool
        Whether the residual reached the tolerance.
    history : ndarray of shape (n_iter + 1,)
        The objective at each iteration.
    passes : int
        What the projections took in all: iterations of Dykstra's method, or passes
        over the rows.
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
    """One start of a method, followed to its end.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
        Clusters 0 to k-1, in the method's own order.
    objective : float
        The method's own objective: its restarts are compared by it.
    n_iter : int
        Iterations taken.
    converged : bool
        Whether the method's stopping rule was met.
    history : ndarray of shape (n_iter + 1,) or empty
        The objective at each iteration.
    membership : ndarray of shape (n, k), optional
        P(y_i = j | x_i): rows sum to 1.
    columns : dict of str to ndarray of shape (..., k)
        Further fitted attributes with a column for each cluster.
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
        Column multipliers, the warm start for a near-by projection.
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
    """Two clusters that samples may belong to alike.

    Attributes
    ----------
    a, b : int
        The clusters, a < b.
    share : float
        How much of the smaller cluster is shared with the other, from 0 to 1.
    samples : ndarray of int
        The samples most in doubt between them, the most doubtful first.
    """

    a: int
    b: int
    share: float
    samples: IntArray


@dataclass(frozen=True, repr=False)
class Agreement:
    """How far the labels of other paths agree with a model's own.

    Attributes
    ----------
    share : ndarray of shape (n,)
        Part of the paths that give each sample the model's label.
    ari : float
        Mean adjusted Rand index over all pairs of labels, the model's own among
        them: 1 if all paths end alike, about 0 if they have nothing in common.
    labels : ndarray of int, shape (n_paths, n)
        The labels of each path, numbered so as to agree with the model's.
    objectives : ndarray of shape (n_paths,)
        Where the paths ended; as good as the model's own, or worse by how much.
    """

    share: FloatArray
    ari: float
    labels: IntArray
    objectives: FloatArray

    def __repr__(self) -> str:
        count, n = self.labels.shape
        return (
            f"Agreement of {count} paths: mean ARI {self.ari:.3f}, all agree on "
            f"{np.mean(self.share == 1):.1%} of {n} samples"
        )


@dataclass(frozen=True)
class TauPath:
    """B-LoRD along a grid of tau, each solved from the one before.

    Attributes
    ----------
    taus : ndarray of shape (m,)
        The grid, increasing.
    objectives : ndarray of shape (m,)
        Tr(V'SV) + gamma ||V||_F^2 at each tau.
    labels : ndarray of shape (m, n)
        The most probable cluster of each sample, one row a tau.
    memberships : dict of float to ndarray of shape (n, k)
        Memberships at the taus asked for (the last one by default).
    n_iter, residuals, converged : ndarray of shape (m,)
        Iterations, final residual and whether it reached the tolerance.
    block_diagonality : ndarray of shape (m,)
        ||VV'||_[k] = k/n - ||V||_F^2, from soft (large) to hard (0).
    proportions : ndarray of shape (k,)
        The shares asked for.
    eigenvalues : tuple of float
        Smallest and largest eigenvalue of S, which tie gamma to tau.
    """

    taus: FloatArray
    objectives: FloatArray
    labels: IntArray
    memberships: dict[float, FloatArray] = field(repr=False)
    n_iter: IntArray
    residuals: FloatArray
    converged: npt.NDArray[np.bool_]
    block_diagonality: FloatArray
    proportions: FloatArray
    eigenvalues: tuple[float, float]

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
            sizes = np.bincount(self.labels[i], minlength=k)
            softness = self.block_diagonality[i] * n / max(k - 1, 1)
            rows.append([
                f"{self.taus[i]:.3f}", f"{self.objectives[i]:.6g}", f"{softness:.3f}",
                f"{sizes.min()} to {sizes.max()}", f"{self.n_iter[i]}",
            ])  # fmt: skip
        caption = f"TauPath: {m} taus, {n} samples, {k} clusters"
        head = ["tau", "objective", "softness", "sizes", "iterations"]
        return html_table(caption, head, rows)


@dataclass(frozen=True, repr=False)
class Selection:
    """The partitions that a choice without labels weighed.

    One row a candidate: the most probable clusters at one tau of one path.

    Attributes
    ----------
    rounds : ndarray of int, shape (m,)
        0 for the shares asked for; in each later round the shares are the sizes of
        the best candidate so far.
    paths : list of str
        Which path it lies on.
    taus : ndarray of shape (m,)
        Its tau.
    features : ndarray of shape (m,)
        Log Bayes factor, in nats, of the clusters as Gaussians against one Gaussian.
    graph : ndarray of shape (m,)
        n times the mutual information, in nats, between the labels of neighbours.
    n_components : ndarray of int, shape (m,)
        Principal components that the Bayes factor is largest for.
    sizes : ndarray of shape (m, k)
        Samples a cluster (sums of their weights), in falling order.
    best : int
        The candidate kept.
    """

    rounds: IntArray
    paths: list[str]
    taus: FloatArray
    features: FloatArray
    graph: FloatArray
    n_components: IntArray
    sizes: FloatArray
    best: int

    @property
    def evidence(self) -> FloatArray:
        """What speaks for each candidate: ``features + graph``."""
        return np.asarray(self.features + self.graph)

    @property
    def n_clusters(self) -> IntArray:
        """How many clusters of each candidate have samples."""
        return np.asarray((self.sizes > 0).sum(axis=1))

    def table(self, top: int = 10) -> str:
        """Return the best candidates of different sizes as text, the kept one marked.

        Parameters
        ----------
        top : int, default=10
            How many lines.
        """
        lines = ["     evidence  features     graph   tau  round  sizes"]
        for i in self._different(top):
            mark = "->" if i == self.best else "  "
            lines.append(
                f"{mark} {self.evidence[i]:10.1f}{self.features[i]:10.1f}"
                f"{self.graph[i]:10.1f}{self.taus[i]:6.2f}{self.rounds[i]:7d}  "
                f"{self._sizes(i)}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        best = self.best
        return (
            f"Selection of {len(self.taus)} candidates: tau {self.taus[best]:.2f}, "
            f"sizes {self._sizes(best)}, evidence {self.evidence[best]:.1f}"
        )

    def _repr_html_(self) -> str:
        """Return the best candidates of different sizes as a table for notebooks."""
        rows = [
            [
                f"{self.evidence[i]:.1f}", f"{self.features[i]:.1f}",
                f"{self.graph[i]:.1f}", f"{self.taus[i]:.2f}", f"{self.rounds[i]}",
                self._sizes(i),
            ]
            for i in self._different(10)
        ]  # fmt: skip
        head = ["evidence", "features", "graph", "tau", "round", "sizes"]
        return html_table(repr(self), head, rows, marked=0)

    def _different(self, top: int) -> list[int]:
        """Return candidates of different sizes, the kept one first."""
        first: dict[tuple[float, ...], int] = {}
        for i in [self.best, *np.argsort(-self.evidence, kind="stable").tolist()]:
            first.setdefault(tuple(self.sizes[i]), i)
        return list(first.values())[:top]

    def _sizes(self, i: int) -> str:
        """Return the sizes of a candidate as text, without empty clusters."""
        return " ".join(f"{size:g}" for size in self.sizes[i] if size > 0)
