"""Labels improved one sample at a time: coordinate ascent on a partition."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray


class Ascent(NamedTuple):
    """Where a coordinate ascent ended."""

    labels: IntArray
    gain: float
    n_sweeps: int
    converged: bool


def cd_scaled(
    Q: FloatArray,
    labels: IntArray,
    *,
    power: float = 0.5,
    balance: float = 0.0,
    max_sweeps: int = 30,
) -> Ascent:
    """Raise sum_j s_j / n_j^power - balance sum_j n_j^2, a sample at a time.

    n_j is the size of cluster j, and s_j the sum of Q_ij over its samples i. With
    ``power=0.5`` the first sum is Tr(Q'G) for the scaled indicator
    G = Y (Y'Y)^-1/2, with ``power=0`` it is Tr(Q'Y).

    Parameters
    ----------
    Q : ndarray of shape (n, k)
        What sample i is worth in cluster j.
    labels : ndarray of int, shape (n,)
        Where to start; not changed.
    power : float, default=0.5
        How the size of a cluster divides its sum.
    balance : float, default=0.0
        Price of unequal sizes.
    max_sweeps : int, default=30
        Limit of passes over the samples.

    Returns
    -------
    ascent : Ascent
        Labels, what was gained, passes, and whether the last pass moved nothing: no
        single move is then better.

    Notes
    -----
    The last sample of a cluster stays. A pass costs O(nk).

    Examples
    --------
    >>> import numpy as np
    >>> Q = np.array([[3.0, 0], [2, 0], [0, 2], [0, 3]])
    >>> cd_scaled(Q, np.array([0, 1, 0, 1]), power=0).labels
    array([0, 0, 1, 1])
    """
    from lordclust.methods._solvers._coordinate_kernels import sweep_scaled

    Q = np.ascontiguousarray(Q, dtype=np.float64)
    n, k = Q.shape
    weights = np.zeros(n + 2)  # n_j^-power; an empty cluster is worth nothing
    weights[1:] = np.arange(1.0, n + 2) ** -power
    # s_j / sqrt(n_j) <= ||q_j||: a gain below this is rounding, and would cycle.
    eps = 1e-13 * float(np.linalg.norm(Q, axis=0).max())

    def sweep(labels: IntArray, sizes: IntArray) -> tuple[int, float]:
        sums = np.bincount(labels, Q[np.arange(n), labels], minlength=k)
        moves, gain = sweep_scaled(Q, labels, sums, sizes, weights, balance, eps)
        return moves, gain

    return _ascend(sweep, labels, k, max_sweeps)


def cd_ratio(K: Graph, labels: IntArray, k: int, *, max_sweeps: int = 30) -> Ascent:
    """Raise sum_j (y_j'K y_j) / n_j, a sample at a time.

    This is Tr(G'KG) for the scaled indicator G = Y (Y'Y)^-1/2: the objective of
    kernel k-means, and with K = -L that of the ratio cut.

    Parameters
    ----------
    K : ndarray or sparse array, shape (n, n)
        Symmetric; it may be indefinite, since K + cI only adds the constant ck.
    labels : ndarray of int, shape (n,)
        Where to start, from 0 to k-1; not changed.
    k : int
        Number of clusters.
    max_sweeps : int, default=30
        Limit of passes over the samples.

    Returns
    -------
    ascent : Ascent
        Labels, what was gained, passes, and whether the last pass moved nothing: no
        single move is then better.

    Notes
    -----
    The last sample of a cluster stays. A pass costs O(nnz + nk).

    Examples
    --------
    >>> import numpy as np
    >>> K = np.kron(np.eye(2), np.ones((2, 2)))
    >>> cd_ratio(K, np.array([0, 1, 1, 1]), 2).labels
    array([0, 0, 1, 1])
    """
    from lordclust.methods._solvers._coordinate_kernels import sweep_csr, sweep_dense

    n = K.shape[0]
    K = sparse.csr_array(K) if sparse.issparse(K) else np.ascontiguousarray(K)
    # |y'Ky| / n_j <= n max|K|: a gain below this is rounding, and would cycle.
    eps = 1e-14 * n * float(max(K.max(), -K.min()))

    def sweep(labels: IntArray, sizes: IntArray) -> tuple[int, float]:
        totals = _inside(K, labels, k)
        if sparse.issparse(K):
            moves, gain = sweep_csr(
                K.data, K.indices, K.indptr, labels, totals, sizes, eps
            )
        else:
            moves, gain = sweep_dense(K, labels, totals, sizes, eps)
        return moves, gain

    return _ascend(sweep, labels, k, max_sweeps)


def _ascend(
    sweep: Callable[[IntArray, IntArray], tuple[int, float]],
    labels: IntArray,
    k: int,
    max_sweeps: int,
) -> Ascent:
    """Sweep until nothing moves."""
    labels = np.array(labels, dtype=np.int64)
    sizes = np.bincount(labels, minlength=k)
    total, moves, sweeps = 0.0, 1, 0
    while moves and sweeps < max_sweeps:
        moves, gain = sweep(labels, sizes)
        total += gain
        sweeps += 1
    return Ascent(labels, total, sweeps, moves == 0)


def _inside(K: Graph, labels: IntArray, k: int) -> FloatArray:
    """Return y_j'K y_j for each cluster."""
    n = len(labels)
    Y = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), (n, k))
    rows = K @ Y  # what row i has in each cluster
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    inside = np.bincount(labels, rows[np.arange(n), labels], minlength=k)
    return inside.astype(np.float64)
