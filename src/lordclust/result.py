"""Frozen records passed between rooms."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lordclust._typing import FloatArray, IntArray


@dataclass(frozen=True)
class SolverResult:
    """What a descent ends with, whichever algorithm ran.

    Attributes
    ----------
    V : ndarray of shape (n, k)
        The factor; feasible to rounding.
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
    """

    V: FloatArray
    objective: float
    residual: float
    n_iter: int
    converged: bool
    history: FloatArray = field(repr=False)


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
