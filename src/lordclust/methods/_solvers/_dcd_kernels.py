"""Compiled passes of DCD: over the stored entries of S, and over the rows of W."""

import numpy as np

from lordclust._core.jit import njit
from lordclust._core.typing import FloatArray, IntArray

#: Largest number of Newton steps per row; about five are usual.
NEWTON_STEPS = 100


@njit
def products_at(
    indices: IntArray, indptr: IntArray, L: FloatArray, R: FloatArray, out: FloatArray
) -> None:
    """Write (L R')_ij for each stored (i, j) of a CSR matrix, in its order."""
    k = L.shape[1]
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            total = 0.0
            for c in range(k):
                total += L[i, c] * R[j, c]
            out[p] = total


@njit
def minimise_rows(N: FloatArray, cost: FloatArray, W: FloatArray) -> None:
    """Overwrite rows w of W by argmin sum_k cost_k w_k - N_ik log w_k, sum w = 1.

    It is N_ik / (cost_k + m), with the m for which the sum is 1: Newton's method from
    below on a convex decreasing function. The lowest cost is subtracted from all,
    because -m can be as close to it as N is to 0. A zero row of N leaves w unchanged.
    """
    n, k = N.shape
    cost = cost - cost.min()
    highest = cost.max()
    for i in range(n):
        mass, m = 0.0, -np.inf
        for c in range(k):
            mass += N[i, c]
            m = max(m, N[i, c] - cost[c])
        if mass <= 0.0:
            continue
        # Both have a sum of at least 1: one term alone, or all at the highest cost.
        m = max(m, mass - highest)
        for _ in range(NEWTON_STEPS):
            excess, slope = -1.0, 0.0
            for c in range(k):
                if N[i, c] > 0.0:
                    W[i, c] = N[i, c] / (cost[c] + m)
                    excess += W[i, c]
                    slope += W[i, c] / (cost[c] + m)
                else:
                    W[i, c] = 0.0
            if excess <= 1e-13:
                break
            m += excess / slope
