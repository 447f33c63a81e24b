"""Where a descent begins: Sinkhorn-scaled random points and given ones."""

from typing import Any

import numpy as np

from lordclust._typing import FloatArray
from lordclust._validation import check_weights
from lordclust.solver.projection import check_mu


def sinkhorn_start(
    U: Any,
    mu: Any,
    *,
    sample_weight: Any = None,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> FloatArray:
    """Scale a positive matrix into Omega(mu): Algorithm 3 of the paper.

    P = U diag(mu) is scaled by rows and columns to the marginals p and mu o mu
    (Sinkhorn and Knopp), and V = P diag(mu)^-1.

    Parameters
    ----------
    U : array-like of shape (n, k)
        Nonnegative; entries below 1e-20 are lifted to it.
    mu : array-like of shape (k,)
        Square roots of the proportions.
    sample_weight : array-like of shape (n,), optional
        Weights in place of 1/n.
    tol : float
        Relative error of the column sums to stop at; the paper's absolute 1e-16
        cannot be met in double precision.
    max_iter : int
        Limit of scalings.

    Returns
    -------
    V : ndarray of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> V = sinkhorn_start([[1.0, 3.0], [2.0, 1.0]], np.sqrt([0.5, 0.5]))
    >>> V.sum(axis=0).round(6)
    array([0.707107, 0.707107])
    """
    mu = check_mu(mu)
    U = np.asarray(U, dtype=np.float64)
    if U.ndim != 2 or U.shape[1] != len(mu):
        raise ValueError(f"U must have {len(mu)} columns, got shape {U.shape}.")
    if not np.all(np.isfinite(U)) or U.min() < 0:
        raise ValueError("U must be finite and nonnegative; try abs(U).")
    p = check_weights(sample_weight, len(U))
    rows = np.full(len(U), 1 / len(U)) if p is None else p
    P = np.maximum(U * mu, 1e-20)
    left = np.ones(len(U))
    right = mu * mu / (P.T @ left)
    for _ in range(max_iter):
        left = rows / (P @ right)
        new = mu * mu / (P.T @ left)
        if np.abs(right / new - 1).max() <= tol:
            break
        right = new
    return np.asarray(left[:, None] * P * (right / mu))


def random_start(
    n: int, mu: FloatArray, p: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return a random point of Omega(mu)."""
    return sinkhorn_start(rng.random((n, len(mu))), mu, sample_weight=p)


def given_start(V: Any, n: int, mu: FloatArray) -> FloatArray:
    """Return a user's start as an array of the right shape."""
    V = np.asarray(V, dtype=np.float64)
    if V.shape != (n, len(mu)) or not np.all(np.isfinite(V)):
        raise ValueError(
            f"start must be a finite array of shape ({n}, {len(mu)}), samples by "
            f"clusters, got shape {V.shape}; V_ of a fitted model is one."
        )
    return np.asarray(V)
