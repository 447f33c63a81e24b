"""The compiled sweep of coordinate.py."""

from lordclust._core.jit import njit
from lordclust._core.typing import FloatArray, IntArray


@njit
def sweep_scaled(
    Q: FloatArray, labels: IntArray, sums: FloatArray, sizes: IntArray,
    weights: FloatArray, balance: float, eps: float,
) -> tuple[int, float]:  # fmt: skip
    """Move every row once, to the cluster with most gain; return moves and gain."""
    moves, gain = 0, 0.0
    for i in range(len(labels)):
        m = labels[i]
        if sizes[m] == 1:
            continue
        # What row i adds to each cluster of m others, as s (w' - w) + q w': the form
        # (s + q) w' - s w would lose digits.
        rest, n_rest = sums[m] - Q[i, m], sizes[m] - 1
        stay = rest * (weights[n_rest + 1] - weights[n_rest])
        stay += Q[i, m] * weights[n_rest + 1] - balance * (2 * n_rest + 1)
        best, to = stay + eps, m
        for j in range(len(sizes)):
            if j == m:
                continue
            n_j = sizes[j]
            worth = sums[j] * (weights[n_j + 1] - weights[n_j])
            worth += Q[i, j] * weights[n_j + 1] - balance * (2 * n_j + 1)
            if worth > best:
                best, to = worth, j
        if to != m:
            sums[m], sizes[m] = rest, n_rest
            sums[to] += Q[i, to]
            sizes[to] += 1
            labels[i] = to
            moves += 1
            gain += best - stay
    return moves, gain
