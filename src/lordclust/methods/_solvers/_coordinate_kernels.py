"""Compiled sweeps of coordinate.py; they share a step, so one file."""

from typing import Any

import numpy as np

from lordclust._core.jit import njit


@njit
def sweep_scaled(
    Q: Any, labels: Any, sums: Any, sizes: Any, weights: Any, balance: float, eps: float
) -> tuple[int, float]:
    """Move every row once, to where it is worth most; return moves and gain."""
    moves, gain = 0, 0.0
    for i in range(len(labels)):
        m = labels[i]
        if sizes[m] == 1:
            continue
        # What row i adds to each cluster, m without it. As s (w' - w) + q w', not as
        # (s + q) w' - s w, which cancels.
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


@njit
def sweep_dense(
    K: Any, labels: Any, totals: Any, sizes: Any, eps: float
) -> tuple[int, float]:
    """Move every row once, to where it is worth most; K is an array."""
    moves, gain = 0, 0.0
    links = np.empty(len(sizes))
    for i in range(len(labels)):
        if sizes[labels[i]] == 1:
            continue
        links[:] = 0.0
        for j in range(len(labels)):
            links[labels[j]] += K[i, j]
        won = _move(i, K[i, i], links, labels, totals, sizes, eps)
        moves += won > 0
        gain += won
    return moves, gain


@njit
def sweep_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    labels: Any,
    totals: Any,
    sizes: Any,
    eps: float,
) -> tuple[int, float]:
    """Move every row once, to where it is worth most; K is given in CSR form."""
    moves, gain = 0, 0.0
    links = np.empty(len(sizes))
    for i in range(len(labels)):
        if sizes[labels[i]] == 1:
            continue
        links[:] = 0.0
        own = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            links[labels[indices[e]]] += data[e]
            if indices[e] == i:
                own += data[e]
        won = _move(i, own, links, labels, totals, sizes, eps)
        moves += won > 0
        gain += won
    return moves, gain


@njit
def _move(
    i: int, own: float, links: Any, labels: Any, totals: Any, sizes: Any, eps: float
) -> Any:
    """Move row i if that gains more than eps; return the gain, or 0.

    ``links[j]`` sums K over row i and the columns of cluster j; ``own`` is K_ii.
    """
    m = labels[i]
    rest = totals[m] - 2 * links[m] + own
    stay = totals[m] / sizes[m] - rest / (sizes[m] - 1)
    best, to = stay + eps, m
    for j in range(len(sizes)):
        if j == m:
            continue
        worth = (totals[j] + 2 * links[j] + own) / (sizes[j] + 1)
        if sizes[j] > 0:
            worth -= totals[j] / sizes[j]
        if worth > best:
            best, to = worth, j
    if to == m:
        return 0.0
    totals[m] = rest
    totals[to] += 2 * links[to] + own
    sizes[m] -= 1
    sizes[to] += 1
    labels[i] = to
    return best - stay
