"""From V or an embedding to labels and probabilities."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import svd
from scipy.optimize import linear_sum_assignment
from scipy.special import entr

from lordclust._core.blas import one_blas_thread
from lordclust._core.fork import openmp
from lordclust._core.typing import BoolArray, FloatArray, Graph, IntArray

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
#: Rows that are multiplied at a time while some of all rows are chosen.
FEW_ROWS = 4096
#: Numbers in rows that stay in the cache.
CACHED = 1 << 16


def membership_from(V: Graph, mu: FloatArray) -> Graph:
    """Return P = n V diag(mu): rows sum to 1, P_ij = P(y_i = j | x_i)."""
    mu = mu.astype(V.dtype) if V.dtype == np.float32 else mu
    if sparse.issparse(V):
        P = sparse.csr_array(V, copy=True)
        P.data *= mu[P.indices]
        P.data /= np.repeat(P.sum(axis=1), np.diff(P.indptr))
        return P
    P = np.empty(V.shape, np.result_type(V, mu))
    for rows in row_blocks(*V.shape, numbers=CACHED):
        np.multiply(V[rows], mu, out=P[rows])
        P[rows] /= P[rows].sum(axis=1, keepdims=True)
    return P


def labels_from(P: Graph) -> IntArray:
    """Return the most probable cluster of each row."""
    return np.asarray(P.argmax(axis=1), dtype=np.int64).ravel()


def top_entries(P: Graph, count: int) -> Graph:
    """Return the largest entries of each row as a CSR array, rows summing to 1.

    Zeros are not stored. The first of the largest is always kept, so that the most
    probable cluster does not change.
    """
    if sparse.issparse(P):
        row = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
        order = np.lexsort((P.indices, -P.data, row))
        rank = np.arange(len(order)) - P.indptr[row]
        kept = order[(rank < count) & (P.data[order] > 0)]
        row, columns, values = row[kept], P.indices[kept], P.data[kept]
        total = np.bincount(row, values, minlength=P.shape[0])
        cut = sparse.csr_array((values / total[row], (row, columns)), shape=P.shape)
        cut.sort_indices()
        return cut
    n, k = P.shape
    count = min(count, k)
    values, columns = np.empty((n, count), P.dtype), np.empty((n, count), np.int32)
    for rows in row_blocks(n, k):
        top = np.argpartition(P[rows], k - count, axis=1)[:, k - count :]
        first = P[rows].argmax(axis=1)
        lost = ~(top == first[:, None]).any(axis=1)
        top[lost, 0] = first[lost]
        columns[rows] = np.sort(top, axis=1)
        values[rows] = np.take_along_axis(P[rows], columns[rows].astype(np.int64), 1)
    values /= values.sum(axis=1, keepdims=True)
    indptr = np.arange(0, n * count + 1, count)
    cut = sparse.csr_array((values.ravel(), columns.ravel(), indptr), shape=(n, k))
    cut.eliminate_zeros()
    return cut


def row_entropy(P: FloatArray) -> FloatArray:
    """Return the entropy of each row in nats."""
    nats = np.empty(len(P))
    for rows in row_blocks(*P.shape):
        nats[rows] = entr(P[rows]).sum(axis=1)
    return nats


def normalized_entropy(P: FloatArray) -> FloatArray:
    """Return the entropy of each row in units of log k: 0 (certain) to 1 (uniform)."""
    return in_units_of_log_k(row_entropy(P), P.shape[1])


def in_units_of_log_k(nats: FloatArray, k: int) -> FloatArray:
    """Return entropies over k clusters relative to the largest one, log k."""
    return np.asarray(np.clip(nats / np.log(max(k, 2)), 0.0, 1.0))


def reordered(
    A: FloatArray, order: IntArray, weight: FloatArray | None = None
) -> FloatArray:
    """Reorder the columns of A and multiply its rows by weights, in place."""
    for rows in row_blocks(*A.shape):
        block = A[rows] if weight is None else weight[rows, None] * A[rows]
        A[rows] = block[:, order]
    return A


def row_blocks(n: int, k: int, *, numbers: int = 1 << 20) -> list[slice]:
    """Return slices of rows that hold about a million numbers each, or as many."""
    step = max(1, numbers // max(k, 1))
    return [slice(start, start + step) for start in range(0, n, step)]


def canonical_order(
    labels: IntArray, proportions: FloatArray, movable: IntArray | None = None
) -> IntArray:
    """Return the clusters in an order that does not depend on the run.

    Clusters of equal proportion are interchangeable: they are ordered by decreasing
    size, then by their first sample. Clusters of different proportions, and those that
    are not ``movable``, keep their positions.
    """
    k = len(proportions)
    sizes = np.bincount(labels, minlength=k)
    firsts = np.full(k, len(labels))
    found, where = np.unique(labels, return_index=True)
    firsts[found] = where
    return order_by_size(sizes, firsts, proportions, movable)


def order_by_size(
    sizes: IntArray,
    firsts: IntArray,
    proportions: FloatArray,
    movable: IntArray | None = None,
) -> IntArray:
    """Return the same as :func:`canonical_order`, from sizes and first samples."""
    order = np.arange(len(proportions))
    movable = order.copy() if movable is None else movable
    for share in np.unique(proportions[movable]):
        places = movable[proportions[movable] == share]
        order[places] = sorted(places, key=lambda j: (-sizes[j], firsts[j]))
    return order


class KMeansLabels(NamedTuple):
    """A k-means partition of an embedding."""

    labels: IntArray
    inertia: float
    n_iter: int


@one_blas_thread()
def kmeans_labels(
    U: FloatArray, k: int, rng: np.random.Generator, *, n_init: int = 1
) -> KMeansLabels:
    """Cluster the rows of an embedding by scikit-learn's k-means.

    A row of zeros has no position (a vertex without edges, for example): it is left
    out, and joins the largest cluster.
    """
    every = bool(U.any(axis=1).all())
    placed = None if every else placed_rows(U, k)
    X = np.ascontiguousarray(U if placed is None else U[placed])
    runs = [_kmeans(X, spread_seeds(X, k, rng)) for _ in range(n_init)]
    best = min(runs, key=lambda run: run.inertia)
    if placed is None:
        return best._replace(labels=best.labels.astype(np.int64))
    return best._replace(labels=labels_of_all(best.labels, placed))


def spread_seeds(X: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """Return k rows of X to start k-means from, by greedy k-means++.

    Each seed is drawn with a probability proportional to its squared distance from the
    previous seeds; the best of 2 + log k draws is taken. This is scikit-learn's rule
    with less overhead: for many clusters, the draws take longer than k-means itself.
    """
    n, tries = len(X), 2 + int(np.log(k))
    lengths = np.einsum("ij,ij->i", X, X)[:, None]
    seeds = [int(rng.integers(n))]
    left = np.maximum(lengths + lengths[seeds].T - 2 * (X @ X[seeds].T), 0.0)[:, 0]
    while len(seeds) < k:
        chance = np.cumsum(left)
        draws = np.searchsorted(chance, rng.random(tries) * chance[-1], side="right")
        draws = np.minimum(draws, n - 1)
        D = np.maximum(lengths + lengths[draws].T - 2 * (X @ X[draws].T), 0.0)
        after = np.minimum(left[:, None], D)
        taken = int(after.sum(axis=0).argmin())
        left = after[:, taken]
        seeds.append(int(draws[taken]))
    return X[seeds]


def placed_rows(U: FloatArray, k: int) -> BoolArray:
    """Return which rows are not all zero, or all rows if those are fewer than k."""
    placed = np.asarray(U.any(axis=1))
    return placed if placed.sum() >= k else np.ones(len(U), dtype=bool)


def labels_of_all(labels: IntArray, placed: BoolArray) -> IntArray:
    """Return labels of the placed samples, with the others in the largest cluster."""
    every = np.full(len(placed), np.bincount(labels).argmax())
    every[placed] = labels
    return every


def fill_empty(labels: IntArray, fit: FloatArray, k: int) -> IntArray:
    """Return the labels with a sample in each cluster.

    Each empty cluster takes the sample of the largest cluster with the smallest
    ``fit`` to it.
    """
    labels = labels.copy()
    for j in np.flatnonzero(np.bincount(labels, minlength=k) == 0):
        crowd = np.flatnonzero(labels == np.bincount(labels).argmax())
        labels[crowd[fit[crowd].argmin()]] = j
    return labels


class Rotation(NamedTuple):
    """Labels Y and an orthogonal R that minimise ||F R - Y||_F^2 in turn."""

    labels: IntArray
    R: FloatArray
    objective: float
    n_iter: int
    converged: bool
    history: FloatArray  # the objective after each iteration


@one_blas_thread()
def rotate(
    F: FloatArray, start: Graph, *, max_iter: int = 100, tol: float = 1e-8
) -> Rotation:
    """Minimise ||F R - Y||_F^2 over orthogonal R and one-hot Y, in turn.

    ``start`` are labels, shape (n,), or an R, shape (k, k), which gives the labels.
    Given Y the best R is the Procrustes rotation of F'Y; given R the best label of a
    sample is the largest entry of its row of F R. A cluster that is empty at the end
    takes the worst-fitting sample of the largest one. The iterations stop when the
    labels do not change, or the objective falls by at most tol (||F||_F^2 + n).
    """
    n, k = F.shape
    size = float(np.einsum("ij,ij->", F, F)) + n
    labels = start if start.ndim == 1 else (F @ start).argmax(axis=1)
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        Y = sparse.csr_array((np.ones(n), labels, np.arange(n + 1)), (n, k))
        R = procrustes(np.asarray((Y.T @ F).T))
        before, labels, fit = labels, np.empty(n, np.int64), np.empty(n)
        for rows in row_blocks(n, k):
            G = F[rows] @ R
            labels[rows], fit[rows] = G.argmax(axis=1), G.max(axis=1)
        history.append(size - 2 * fit.sum())
        converged = np.array_equal(before, labels) or (
            len(history) > 1 and history[-2] - history[-1] <= tol * size
        )
    filled = fill_empty(labels, fit, k)
    moved = np.flatnonzero(filled != labels)
    fit[moved] = np.einsum("ij,ij->i", F[moved], R.T[filled[moved]])
    objective = size - 2 * float(fit.sum())
    return Rotation(
        filled, R, objective, len(history), bool(converged), np.array(history)
    )


def discretize(F: FloatArray, first: int, *, max_iter: int = 100) -> Rotation:
    """Return the discretisation of Yu and Shi (2003): :func:`rotate`, from rows of F.

    See :func:`nearly_orthogonal_rows` for the first R. The rows of F have length 1;
    rows of zeros are never chosen.
    """
    R = F[nearly_orthogonal_rows(F, np.array([first]))[0]].T
    return rotate(F, R, max_iter=max_iter, tol=EPS)


@one_blas_thread()
def nearly_orthogonal_rows(F: FloatArray, firsts: IntArray) -> IntArray:
    """Return k rows of F for each start: its first, and those most nearly orthogonal.

    One by one, the row with the smallest sum of |products| with all previous ones.
    """
    chosen = []
    for first in firsts:
        overlap = np.where(F.any(axis=1), 0.0, np.inf)
        overlap[first] = -np.inf
        chosen.append(_chosen_rows(F, overlap, qr=False))
    return np.array(chosen)


@one_blas_thread()
def pivoted_qr_labels(U: FloatArray) -> IntArray:
    """Return the clusters of Damle, Minden and Ying (2019).

    k rows of the embedding that span it well are chosen as by a QR factorisation with
    pivoting: one by one, the row of the largest distance from the span of all previous
    ones. The rotation that takes them nearest to the axes labels all rows.
    """
    pivots = _chosen_rows(U, -np.einsum("ij,ij->i", U, U), qr=True)
    R = procrustes(U[pivots].T)
    blocks = [np.abs(U[rows] @ R).argmax(axis=1) for rows in row_blocks(*U.shape)]
    return np.concatenate(blocks).astype(np.int64, copy=False)


def _chosen_rows(F: FloatArray, key: FloatArray, *, qr: bool) -> IntArray:
    """Return k rows of F, one by one the row of the smallest key.

    Then keys grow by the |products| of all rows with it; with ``qr``, by the squares of
    those with its part orthogonal to the previous ones, of length 1. The key of a row
    that was chosen is at least 0. A key that is too large already need not be known
    exactly: most rows are left alone for many turns, and then multiplied by the rows of
    all these turns at once.
    """
    n, k = F.shape
    D, chosen = np.empty((k, k)), np.empty(k, np.int64)
    grow = np.square if qr else np.abs
    near, least, done = np.zeros(0, np.int64), -np.inf, 0
    for j in range(k):
        if len(near) == 0 or key[near].min() >= least:
            far = np.setdiff1d(np.arange(n), near)
            for rows in np.split(far, range(FEW_ROWS, len(far), FEW_ROWS)):
                key[rows] += grow(F[rows] @ D[done:j].T).sum(axis=1)
            order, count = np.argsort(key, kind="stable"), max(FEW_ROWS, n // 16)
            near, done = np.sort(order[:count]), j
            least = key[order[count]] if count < n else np.inf
            G = F[near]
        i = chosen[j] = near[key[near].argmin()]
        key[i] = max(key[i], 0.0)
        D[j] = F[i]
        for _ in range(2 if qr else 0):
            D[j] -= (D[:j] @ D[j]) @ D[:j]
            D[j] /= max(float(np.linalg.norm(D[j])), TINY)
        key[near] += grow(G @ D[j])
    return chosen


def shares_of_rows(V: FloatArray) -> FloatArray:
    """Return nonnegative V with rows scaled to sum 1; a zero row becomes uniform."""
    total = V.sum(axis=1, keepdims=True)
    empty = ~(total[:, 0] > 0)
    P = V / np.where(total > 0, total, 1.0)
    P[empty] = 1 / V.shape[1]
    return np.asarray(P)


def procrustes(M: FloatArray) -> FloatArray:
    """Return A B' of the thin SVD M = A diag(s) B', the maximiser of Tr(R'M)."""
    A, _, Bt = svd(M, full_matrices=False)
    return np.asarray(A @ Bt)


def _kmeans(X: FloatArray, seeds: FloatArray) -> KMeansLabels:
    """Return the k-means partition that starts from the seeds.

    Seeds repeat if X has fewer than k different rows: the distinct ones are all rows.
    scikit-learn would warn about it, and silencing a warning changes the filters of all
    threads; the caller warns about empty clusters instead.
    """
    from sklearn.cluster import KMeans

    first = np.sort(np.unique(seeds, axis=0, return_index=True)[1])
    model = KMeans(len(first), init=seeds[first], n_init=1, max_iter=1000)
    with openmp(X.size * len(first)):
        model.fit(X)
    return KMeansLabels(model.labels_, float(model.inertia_), model.n_iter_)


def lloyd_labels(X: Graph, centres: FloatArray, max_iter: int) -> IntArray:
    """Return the labels of k-means from given centres, after a few iterations."""
    from sklearn.cluster import KMeans

    model = KMeans(len(centres), init=centres, n_init=1, max_iter=max_iter)
    with openmp(X.size * len(centres)):
        labels = model.fit(X).labels_
    return np.asarray(labels, dtype=np.int64)


def named_like(labels: IntArray, reference: IntArray, k: int) -> IntArray:
    """Return labels renumbered to agree with the reference as often as possible.

    Negative entries of the reference are ignored.

    Examples
    --------
    >>> named_like(np.array([1, 1, 0, 2]), np.array([0, 0, -1, 2]), 3)
    array([0, 0, 1, 2])
    """
    known = reference >= 0
    table = np.zeros((k, k), dtype=np.int64)
    np.add.at(table, (labels[known], reference[known]), 1)
    _, names = linear_sum_assignment(-table)
    return np.asarray(names[labels])
