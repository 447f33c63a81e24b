"""Improve labels one sample at a time: coordinate ascent on a partition (DBSC)."""

from typing import NamedTuple

import numpy as np

from lordclust._core.typing import FloatArray, IntArray


class Ascent(NamedTuple):
    """The labels, the gain, and whether the last pass moved no sample."""

    labels: IntArray
    gain: float
    n_sweeps: int
    converged: bool


def cd_scaled(
    Q: FloatArray, labels: IntArray, *, power: float = 0.5, balance: float = 0.0,
    max_sweeps: int = 30,
) -> Ascent:  # fmt: skip
    """Raise sum_j s_j / n_j^power - balance sum_j n_j^2, one sample at a time.

    n_j is the size of cluster j, and s_j the sum of Q_ij over its samples i. With
    ``power=0.5`` the first sum is Tr(Q'G) for the scaled indicator
    G = Y (Y'Y)^-1/2, with ``power=0`` it is Tr(Q'Y). The last sample of a cluster
    stays. A pass costs O(nk).
    """
    from lordclust.methods._solvers._coordinate_kernels import sweep_scaled

    Q = np.ascontiguousarray(Q, dtype=np.float64)
    n, k = Q.shape
    weights = np.zeros(n + 2)  # n_j^-power; an empty cluster has weight 0
    weights[1:] = np.arange(1.0, n + 2) ** -power
    # s_j / sqrt(n_j) <= ||q_j||: a gain below this is rounding, and would cycle.
    eps = 1e-13 * float(np.linalg.norm(Q, axis=0).max())
    labels = np.array(labels, dtype=np.int64)
    sizes = np.bincount(labels, minlength=k)
    total, moves, sweeps = 0.0, 1, 0
    while moves and sweeps < max_sweeps:
        sums = np.bincount(labels, Q[np.arange(n), labels], minlength=k)
        moves, gain = sweep_scaled(Q, labels, sums, sizes, weights, balance, eps)
        total += gain
        sweeps += 1
    return Ascent(labels, total, sweeps, moves == 0)
