"""Starts of a descent: Sinkhorn-scaled random points, eigenvectors, given arrays."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from sklearn.utils import check_random_state

from lordclust._core.typing import ArrayLike, FloatArray, Graph, IntArray, Seed
from lordclust._core.validation import check_mu, check_weights
from lordclust.rounding.surprise import between_clusters
from lordclust.rounding.transport import whole_sizes
from lordclust.solver.omega import Omega

#: Relative squared distance below which V counts as at the saddle, and the weight of
#: the random point that leads away from it.
AT_SADDLE, STIR = 1e-12, 0.01


def sinkhorn_start(
    U: ArrayLike,
    mu: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> FloatArray:
    """Scale a positive matrix into Omega(mu): Algorithm 3 of the paper.

    P = U diag(mu) is scaled by rows and columns to the marginals p and mu o mu
    (Sinkhorn and Knopp), and V = P diag(mu)^-1.

    Parameters
    ----------
    U : array-like of shape (n, k)
        Nonnegative; entries below 1e-20 are raised to it.
    mu : array-like of shape (k,)
        Square roots of the proportions.
    sample_weight : array-like of shape (n,), optional
        Weights in place of 1/n.
    tol : float
        Relative error of the column sums to stop at; the paper's absolute 1e-16
        is below rounding in double precision.
    max_iter : int
        Maximum number of scalings.

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
        raise ValueError("U must be finite and nonnegative. Try abs(U).")
    p = check_weights(sample_weight, len(U))
    rows = np.full(len(U), 1 / len(U)) if p is None else p
    P = np.maximum(U * mu, 1e-20)
    right = _scales(P, rows, mu * mu, tol, max_iter)
    return np.asarray((rows / (P @ right))[:, None] * P * (right / mu))


def _scales(
    P: FloatArray,
    rows: FloatArray,
    columns: FloatArray,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> FloatArray:
    """Return scales of the columns of P that meet both marginals."""
    right = columns / (P.T @ np.ones(len(P)))
    for _ in range(max_iter):
        new = columns / (P.T @ (rows / (P @ right)))
        if np.abs(right / new - 1).max() <= tol:
            break
        right = new
    return right


def count_starts(n_init: int | str, omega: Omega, *, path: bool = True) -> int:
    """Return the number of starts: as given, or the default."""
    if not isinstance(n_init, str):
        return int(n_init)
    if not path:
        return 10
    # Which cluster gets which share depends on where a path begins.
    return 1 if np.ptp(omega.mu) == 0 or not omega.exact else 5


def start_seeds(count: int, random_state: Seed) -> list[int]:
    """Return a seed for each start."""
    rng = check_random_state(random_state)
    return list(rng.randint(np.iinfo(np.int32).max, size=count).tolist())


def random_start(omega: Omega, rng: np.random.Generator) -> FloatArray:
    """Return a random point of the set."""
    mu = omega.mu / np.linalg.norm(omega.mu)
    return scaled_start(rng.random(omega.shape) * mu, omega)


def scaled_start(P: FloatArray, omega: Omega) -> FloatArray:
    """Return nonnegative P scaled to a point of the set."""
    mu = omega.mu / np.linalg.norm(omega.mu)
    P = np.maximum(P, 1e-20)
    rows = omega.weight * omega.mass
    if omega.known is None:
        right = _scales(P, rows, mu * mu)
    else:
        right = _scales_around(omega.known, P, rows, mu * mu)
    V = (omega.mass / (P @ right))[:, None] * P * (right / mu)
    return omega.with_known(V)


def off_saddle(V: FloatArray, omega: Omega) -> FloatArray | None:
    """Return V mixed with a random point if it has collapsed to 1 mu'/n, or None.

    Below the first split that point is the optimum, above it a saddle that a tight
    tolerance would never leave. If clusters have known samples, only the others can
    collapse. Mixtures of feasible points are feasible.
    """
    alike = omega.open_clusters()
    apart = np.setdiff1d(np.arange(len(omega.mu)), alike)
    if len(alike) < 2:
        return None
    level, mu = V.copy(), omega.mu
    rest = (omega.mass - V[:, apart] @ mu[apart]) / (1 - (mu[apart] ** 2).sum())
    level[:, alike] = np.outer(rest, mu[alike])
    if omega.norm2(V - level) >= AT_SADDLE * omega.norm2(level):
        return None
    point = random_start(omega, np.random.default_rng(0))
    return (1 - STIR) * level + STIR * point


def sized_labels(S: Graph, labels: IntArray, omega: Omega) -> IntArray:
    """Return labels with the shares of the set, in as few and coherent moves as we can.

    Clusters that are too large give to those that are too small, the largest possible
    part first, and more to neighbours. Parts are neighbours in the graph: samples are
    taken in the order of a breadth-first search of their cluster. So a hard V for
    shares that are not those of the labels is a good start: from the labels themselves
    the first projection would spread each surplus over all clusters that lack samples.
    With different weights shares are met up to half a sample.
    """
    n, k = omega.shape
    S, w, moved = sparse.csr_array(S), omega.weight, np.array(labels)
    order = _coherent_order(S, labels, omega.known)
    ends = np.cumsum(w[order])
    by_cluster = np.searchsorted(labels[order], np.arange(k + 1))
    sizes = np.bincount(labels, w, minlength=k)
    shares = omega.mu**2 / (omega.mu**2).sum()
    surplus = sizes - (whole_sizes(shares, n) if omega.equal else n * shares)
    edges = between_clusters(S, labels, k)
    taken, last = by_cluster[:-1].copy(), by_cluster[1:]
    while True:
        over = np.flatnonzero((surplus > 0.5) & (taken < last))
        under = np.flatnonzero(surplus < -0.5)
        if len(over) == 0 or len(under) == 0:
            return moved
        parts = np.minimum.outer(surplus[over], -surplus[under])
        parts *= 1 + edges[np.ix_(over, under)] / sizes[over, None]
        giver, taker = np.unravel_index(parts.argmax(), parts.shape)
        j, el = over[giver], under[taker]
        at, part = taken[j], min(surplus[j], -surplus[el])
        before = ends[at] - w[order[at]]
        stop = min(last[j], np.searchsorted(ends, before + part + 0.25))
        taken[j] = max(stop, at + 1)
        rows = order[at : taken[j]]
        moved[rows] = el
        surplus[j] -= w[rows].sum()
        surplus[el] += w[rows].sum()


def _coherent_order(S: Graph, labels: IntArray, known: IntArray | None) -> IntArray:
    """Return the samples of unknown clusters by label, neighbours together."""
    rows = np.repeat(np.arange(len(labels)), np.diff(S.indptr))
    inside = labels[rows] == labels[S.indices]
    entries = np.ones(int(inside.sum()), np.int8)
    within = sparse.csr_matrix(
        (entries, (rows[inside], S.indices[inside])), shape=S.shape
    )
    order = reverse_cuthill_mckee(within, symmetric_mode=True)
    order = order if known is None else order[known[order] < 0]
    return np.asarray(order[np.argsort(labels[order], kind="stable")])


def _scales_around(
    known: IntArray, P: FloatArray, rows: FloatArray, columns: FloatArray
) -> FloatArray:
    """Return scales for the unknown rows, which fill the rest of each column."""
    free = known < 0
    taken = np.bincount(known[~free], rows[~free], minlength=len(columns))
    room = np.maximum(columns - taken, 0.0)
    has_room = room > 1e-9 * columns
    if not rows[free].any() or not has_room.any():
        return np.ones(len(columns))
    # Soft columns can be overfull: distribute the rest over the others.
    left = room[has_room] * (rows[free].sum() / room[has_room].sum())
    right = np.zeros(len(columns))
    right[has_room] = _scales(P[free][:, has_room], rows[free], left)
    return right


def hard_start(labels: IntArray, omega: Omega) -> FloatArray:
    """Return the V of labels; it is in the set if they have its shares."""
    hard = labels[:, None] == np.arange(len(omega.mu))
    return np.asarray(hard * (omega.mass[:, None] / omega.mu))


def check_start_labels(labels: ArrayLike, n: int, k: int) -> IntArray:
    """Return a user's labels, from 0 to k - 1 with every cluster used, or -1."""
    y = np.asarray(labels)
    if y.shape != (n,) or y.dtype.kind not in "iu" or y.min() < -1 or y.max() >= k:
        raise ValueError(
            f"start must hold {n} labels from 0 to {k - 1}, or -1 if unknown, got "
            f"{y.dtype} of shape {y.shape}. Pass labels_ of a clustering of the same "
            "samples."
        )
    unused = np.setdiff1d(np.arange(k), y)
    if len(unused):
        raise ValueError(
            f"start has no sample with label {unused[0]}, got {k} clusters. Number the "
            "labels from 0 without gaps, or lower n_clusters."
        )
    return y.astype(np.int64)


def given_start(V: Graph, omega: Omega) -> FloatArray:
    """Return a user's start: labels, or V of a fitted model.

    The rows of V are divided by their weights.
    """
    V = V.toarray() if sparse.issparse(V) else np.asarray(V)
    n, k = omega.shape
    if V.shape == (n,) and V.dtype.kind in "iu" and V.min() >= 0 and V.max() < k:
        return hard_start(V, omega)
    got, V = V.dtype, np.asarray(V, dtype=np.float64)
    if V.shape != omega.shape or not np.all(np.isfinite(V)):
        raise ValueError(
            f"start must be a finite array of shape {omega.shape}, samples by "
            f"clusters, or {n} labels from 0 to {k - 1}, got shape {V.shape} of "
            f"{got}. Pass V_ or labels_ of a fitted model."
        )
    heavy = omega.weight > 0
    start = np.outer(omega.mass, omega.mu)  # for rows without weight, which V_ lacks
    start[heavy] = V[heavy] / omega.weight[heavy, None]
    return start
