"""Doubly stochastic matrices whose eigenvalues obey a rule, by ADMM.

    min a/2 ||Z||_F^2 - <L, Z>   over   Z doubly stochastic,  Z = Y,  eig(Y) by the rule

With a = 1 this is the Z nearest to L.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from lordclust._core.typing import FloatArray
from lordclust.methods._solvers.birkhoff import nearest_ds

#: From increasing eigenvalues to the nearest allowed ones, which are nonnegative.
Rule = Callable[[FloatArray], FloatArray]

#: Every PATIENCE steps the residual must have shrunk by this factor, or rho grows.
PATIENCE, SHRINKAGE, GROWTH = 5, 0.7, 1.5
#: Error of the row sums of Z.
ROW_TOL = 1e-8


class SpectralFit(NamedTuple):
    """The result of ADMM."""

    #: Symmetric and nonnegative, rows sum to 1 (to 1e-8).
    Z: FloatArray
    #: Distance of Z from a Y whose eigenvalues obey the rule, or the last step of Y,
    #: the larger, relative to ||Z||_F. No eigenvalue is farther from the rule than
    #: residual * ||Z||_F.
    residual: float
    #: The last penalty.
    rho: float
    n_iter: int
    converged: bool


def fit_spectrum(
    L: FloatArray, start: FloatArray, rule: Rule, *, rho: float,
    curvature: float = 1.0, relax: float = 1.0, tol: float, max_iter: int,
) -> SpectralFit:  # fmt: skip
    """Alternate a projection onto the doubly stochastic matrices and the rule.

    L is exactly symmetric, and ``start`` is the first Y. The first penalty ``rho`` is
    above -curvature, the factor a; it grows while the residual does not shrink, because
    a rule that is not convex needs a large one. ``relax`` is an over-relaxation
    from 1 to 1.8, for convex rules.
    """
    Y, U, u0 = start, np.zeros_like(L), None
    residual = last = np.inf
    n_iter = 0
    while residual > tol and n_iter < max_iter:
        n_iter += 1
        T = Y - U
        T *= rho
        T += L
        T /= curvature + rho
        found = nearest_ds(T, u0=u0, tol=ROW_TOL)
        Z, u0 = found.Z, found.u
        U += Z if relax == 1 else relax * Z + (1 - relax) * Y
        before, Y = Y, apply_rule(U, rule)
        U -= Y
        apart, moved = np.linalg.norm(Z - Y), np.linalg.norm(Y - before)
        residual = float(max(apart, moved) / np.linalg.norm(Z))
        if n_iter % PATIENCE == 0:
            # While Z and Y move together, a larger rho would only stop them.
            if residual > SHRINKAGE * last and apart > moved / 5:
                rho *= GROWTH
                U /= GROWTH  # U is the multiplier divided by rho
            last = residual
    return SpectralFit(Z, residual, rho, n_iter, residual <= tol)


def apply_rule(G: FloatArray, rule: Rule) -> FloatArray:
    """Return the symmetric G with its eigenvalues replaced."""
    values, Q = eigh(G, check_finite=False)
    allowed = rule(values)
    positive = allowed > 0
    # A product with its own transpose is exactly symmetric, and takes half the time.
    B = Q[:, positive] * np.sqrt(allowed[positive])
    return np.asarray(B @ B.T)
