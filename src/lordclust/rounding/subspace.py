"""Leading eigenvectors of a large matrix by filtered subspace iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded, eigh
from scipy.sparse.csgraph import reverse_cuthill_mckee

from lordclust._core.blas import one_blas_thread
from lordclust._core.keys import GOLDEN, mixed, row_keys
from lordclust._core.threads import threads_of_fit
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.rounding._subspace_kernels import multiply_rows

#: Largest residual ||A u - value u||, relative to the bounds of the spectrum, and to
#: the distance of the value from the end of the block: the error of the eigenvectors.
RESIDUAL, ANGLE = 5e-6, 1e-3
#: Columns beyond k: the iteration separates k from k + GUARD, not from k + 1.
GUARD, GUARD_SHARE = 6, 0.1
#: Products with A before the first estimate, and at most.
FIRST_DEGREE, MAX_DEGREE = 8, 2000
#: A filter amplifies by at most e^16: more would leave too few digits for the rest.
AMPLIFY = 16.0
#: Filters aim at residuals smaller than necessary by this logarithm.
SPARE = 1.5
#: From this many products on a banded factorisation may be cheaper, up to its size.
SLOW, BAND_NUMBERS, BAND_WORK = 150, 1 << 25, 1 << 34
#: Below this many rows renumbering, or a second thread, costs more than it saves.
RENUMBER_FROM, THREADS_FROM = 5000, 5000
TINY = 1e-300


class Ritz(NamedTuple):
    """Approximate eigenvalues, largest first, vectors X, A X, and residual norms."""

    values: FloatArray
    X: FloatArray
    AX: FloatArray
    residuals: FloatArray


class Rows:
    """Products with A by blocks of rows, in threads.

    The blocks depend on n alone, so that sums do not depend on the threads. Large
    arrays are changed in place.
    """

    def __init__(self, A: Graph, pool: ThreadPoolExecutor | None) -> None:
        n = A.shape[0]
        ends = np.linspace(0, n, min(max(n // 1024, 1), 64) + 1).astype(int).tolist()
        self.A, self.ends = A, list(pairwise(ends))
        self.spans = [slice(*pair) for pair in self.ends]
        self.each: Callable[..., Iterator[Any]] = map if pool is None else pool.map

    def product(
        self,
        Y: FloatArray,
        out: FloatArray | None = None,
        a: float = 1.0,
        shift: float = 0.0,
        b: float = 0.0,
    ) -> FloatArray:
        """Return a (A Y - shift Y) - b out, written over ``out`` if it is given."""
        A, result = self.A, np.zeros_like(Y) if out is None else out
        if sparse.issparse(A):
            given = A.indptr, A.indices, A.data, Y, result, a, shift, b
            done = self.each(lambda at: multiply_rows(*given, at), self.ends)
        else:
            done = self.each(
                lambda at: np.copyto(
                    result[at], a * (A[at] @ Y - shift * Y[at]) - b * result[at]
                ),
                self.spans,
            )
        list(done)
        return result

    def gram(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Return X'Y."""
        parts = self.each(lambda at: X[at].T @ Y[at], self.spans)
        total = next(parts)
        for part in parts:
            total += part
        return np.asarray(total)

    def turn(self, X: FloatArray, M: FloatArray) -> FloatArray:
        """Return X M for a small M, written over X if M is square."""
        out = X if M.shape[0] == M.shape[1] else np.empty((len(X), M.shape[1]))
        list(self.each(lambda at: np.copyto(out[at], X[at] @ M), self.spans))
        return out


def subspace_eigenvectors(
    A: Graph, k: int, *, known: FloatArray | None = None, keys: IntArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the k largest eigenvalues of a symmetric A, and eigenvectors.

    A block of k vectors and some more is multiplied by Chebyshev polynomials of A
    that are large beyond the block's smallest Ritz value and small below; Ritz vectors
    of the block are then taken, and those that have converged are left alone. A block
    finds all copies of a multiple eigenvalue.

    An eigenvector has converged if its residual is at most ``RESIDUAL`` times the
    width of the spectrum, and ``ANGLE`` times the distance of its eigenvalue from the
    smallest of the block, which bounds its angle with the true space.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        In float64.
    k : int
        Number of eigenvalues.
    known : ndarray of shape (n, c), optional
        Orthonormal eigenvectors to leave out.
    keys : ndarray of uint64, shape (n,), optional
        Numbers from which the first block is derived; those of :func:`row_keys` by
        default. If they do not depend on the order of the rows, neither do the
        eigenvectors, up to rounding.
    """
    keys = row_keys(A) if keys is None else keys
    order = renumbering(A)
    if order is not None:
        A, keys = sparse.csr_array(A[order][:, order]), keys[order]
        known = None if known is None else known[order]
    threads = threads_of_fit() if A.shape[0] >= THREADS_FROM else 1
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        rows = Rows(A, pool if threads > 1 else None)
        values, X = _iterate(A, rows, k, known, keys)[:2]
    U = np.empty((A.shape[0], k))
    U[slice(None) if order is None else order] = X[:, :k]
    return values[:k].copy(), U


def renumbering(A: Graph) -> IntArray | None:
    """Return an order of the rows that brings neighbours together, or None.

    A X reads the rows of X of a sample's neighbours: they should be close in memory.
    """
    if not sparse.issparse(A) or A.shape[0] < RENUMBER_FROM:
        return None
    order = reverse_cuthill_mckee(sparse.csr_matrix(A), symmetric_mode=True)
    return np.asarray(order, dtype=np.int64)


def _iterate(
    A: Graph, rows: Rows, k: int, known: FloatArray | None, keys: IntArray
) -> Ritz:
    """Return Ritz vectors of which the first k have converged."""
    low, high = bounds(A)
    scale = max(high - low, TINY)
    room = A.shape[0] - (0 if known is None else known.shape[1])
    m = k + max(GUARD, int(GUARD_SHARE * k))
    m = min(-(-m // 8) * 8, room)  # a multiple of 8 is fast
    X = random_block(keys, m)
    low = max(low, _lowest(rows, X[:, 0]))
    ritz = _ritz(rows, _without(rows, X, known))
    del X  # it is the memory of the Ritz vectors
    total, limit, inverse = 0, FIRST_DEGREE, None
    while total < MAX_DEGREE:
        tol = _tolerances(ritz, k, scale)
        late = np.flatnonzero(ritz.residuals[:k] > tol)
        if len(late) == 0:
            break
        done = int(late[0])
        # Not closer than its residual: several columns may share the k-th eigenvalue.
        cut = float(min(ritz.values[-1], ritz.values[k - 1] - ritz.residuals[k - 1]))
        low = min(low, cut - 1e-6 * scale)
        degree, left = _degree(ritz, done, (low, cut), tol, limit)
        if inverse is None and limit > 3 * FIRST_DEGREE and left > SLOW:
            inverse = banded_inverse(A, float(ritz.values[0]), scale)
        if callable(inverse):
            ritz.X[:, done:], degree = inverse(ritz.X[:, done:]), 1
        else:
            _filter(rows, ritz, done, (low, cut), degree)
        total, limit = total + degree, 2 * limit
        ritz = _ritz(rows, _without(rows, ritz.X, known), ritz.AX)
        if len(ritz.values) < m:  # columns were dependent: replace them
            fresh = random_block(keys + np.uint64(total), m - len(ritz.values))
            ritz = _ritz(rows, _without(rows, np.hstack([ritz.X, fresh]), known))
    return ritz


def _tolerances(ritz: Ritz, k: int, scale: float) -> FloatArray:
    """Return the largest residuals allowed of the first k.

    Values much closer than their residuals are copies of one eigenvalue that fill the
    rest of the block: any of its eigenvectors will do.
    """
    gap = ritz.values[:k] - ritz.values[-1]
    near = np.where(gap < 0.01 * ritz.residuals[:k], np.inf, ANGLE * gap)
    return np.asarray(np.clip(near, 1e-13 * scale, RESIDUAL * scale))


def _degree(
    ritz: Ritz, done: int, interval: tuple[float, float], tol: FloatArray, limit: int
) -> tuple[int, int]:
    """Return the degree of the next filter, and how many products are left."""
    low, cut = interval
    k, half = len(tol), (cut - low) / 2
    growth = np.arccosh(np.maximum((ritz.values[done:k] - low) / half - 1, 1.0))
    growth = np.maximum(growth, 1e-9)
    # cosh(x) > e^x / 2; and the last passes gain less than expected.
    worse = np.log(np.maximum(ritz.residuals[done:k] / tol[done:], 1.0)) + SPARE
    left = float((worse / growth).max())
    return int(np.clip(min(left, limit, AMPLIFY / growth[0]), 2, 400)), int(left)


def _filter(
    rows: Rows, ritz: Ritz, done: int, interval: tuple[float, float], degree: int
) -> None:
    """Replace the columns of X that have not converged by those of p(A) X.

    p is the Chebyshev polynomial of the interval, scaled to 1 at the largest Ritz
    value. A X is lost.
    """
    low, cut = interval
    centre, half = (cut + low) / 2, (cut - low) / 2
    X, Y = ritz.X[:, done:], ritz.AX[:, done:]
    first = s = half / (float(ritz.values[done]) - centre)
    for at in rows.spans:
        Y[at] -= centre * X[at]
    Y *= s / half
    for _ in range(degree - 1):  # the three-term recurrence
        after = 1 / (2 / first - s)
        X, Y, s = Y, rows.product(Y, X, 2 * after / half, centre, s * after), after
    if degree % 2:
        ritz.X[:, done:] = Y


def _ritz(rows: Rows, X: FloatArray, AX: FloatArray | None = None) -> Ritz:
    """Return the Ritz vectors of the space of X; dependent columns are dropped.

    They are written over X, and their products with A over AX, if no column is.
    """
    for _ in range(2):
        G = rows.gram(X, X)
        unit = 1 / np.sqrt(np.maximum(np.diag(G), TINY))
        size, V = eigh(unit[:, None] * G * unit, driver="evd")
        kept = size > 1e-13 * size[-1]
        X = rows.turn(X, unit[:, None] * V[:, kept] / np.sqrt(size[kept]))
        if size[0] > 1e-6 * size[-1]:
            break
    AX = rows.product(X, AX if AX is not None and AX.shape == X.shape else None)
    H = rows.gram(X, AX)
    values, V = eigh((H + H.T) / 2, driver="evd")
    values, V = values[::-1], np.ascontiguousarray(V[:, ::-1])
    X, AX = rows.turn(X, V), rows.turn(AX, V)
    off = np.zeros(len(values))
    for at in rows.spans:
        R = AX[at] - X[at] * values
        off += np.einsum("ij,ij->j", R, R)
    return Ritz(values, X, AX, np.sqrt(off))


def _without(rows: Rows, X: FloatArray, known: FloatArray | None) -> FloatArray:
    """Return X minus its part in the space of the known vectors, in place."""
    if known is None or known.shape[1] == 0:
        return X
    M = rows.gram(known, X)
    for at in rows.spans:
        X[at] -= known[at] @ M
    return X


def _lowest(rows: Rows, x: FloatArray, steps: int = 12) -> float:
    """Return a value that no eigenvalue of A is much below, by Lanczos' method.

    A tight interval makes the filters sharper; an eigenvalue somewhat below it only
    makes them a little less so.
    """
    T, Q = np.zeros((steps + 1, steps + 1)), np.zeros((len(x), steps + 1))
    Q[:, 0] = x / np.linalg.norm(x)
    for j in range(steps):
        w = rows.product(Q[:, j : j + 1].copy())[:, 0]
        for _ in range(2):
            h = Q[:, : j + 1].T @ w
            w -= Q[:, : j + 1] @ h
            T[j, j] += h[j]
        length = float(np.linalg.norm(w))
        if length <= 1e-10 * np.abs(T).max():
            return -np.inf
        T[j, j + 1] = T[j + 1, j] = length
        Q[:, j + 1] = w / length
    values, V = eigh(T[:steps, :steps])
    return float(values[0] - 2 * length * abs(V[-1, 0]))


def bounds(A: Graph) -> tuple[float, float]:
    """Return bounds on the spectrum by Gershgorin's discs."""
    centre = np.asarray(A.diagonal())
    size = A if A.min() >= 0 else abs(A)
    radius = np.asarray(size.sum(axis=1)).ravel() - np.abs(centre)
    return float((centre - radius).min()), float((centre + radius).max())


def banded_inverse(
    A: Graph, top: float, scale: float
) -> Callable[[FloatArray], FloatArray] | bool:
    """Return X -> (s I - A)^-1 X with s just above the spectrum, for a narrow band.

    For a long thin graph, in the order of Cuthill and McKee, this takes seconds where
    a polynomial would need ten thousands of products. False if the band is wide.
    """
    if not sparse.issparse(A):
        return False
    order = reverse_cuthill_mckee(sparse.csr_matrix(A), symmetric_mode=True)
    C = sparse.coo_array(A[order][:, order])
    n, band = A.shape[0], int(np.abs(C.row - C.col).max(initial=0))
    if n * (band + 1) > BAND_NUMBERS or n * (band + 1) ** 2 > BAND_WORK:
        return False
    for margin in 10.0 ** np.arange(-10, 1):
        try:
            factor = _band_factor(C, band, max(top, 1.0) + margin * scale)
        except LinAlgError:  # an eigenvalue is above
            continue
        return partial(_band_solve, factor, order)
    return False


def _band_factor(C: Graph, band: int, shift: float) -> FloatArray:
    """Return the banded Cholesky factor of shift I - C."""
    lower = C.row >= C.col
    L = np.zeros((band + 1, C.shape[0]))
    L[C.row[lower] - C.col[lower], C.col[lower]] = -C.data[lower]
    L[0] += shift
    factor = cholesky_banded(L, lower=True, overwrite_ab=True, check_finite=False)
    return np.asarray(factor)


def _band_solve(factor: FloatArray, order: IntArray, X: FloatArray) -> FloatArray:
    """Return the solution for the columns of X, in the caller's order."""
    out = np.empty_like(X)
    out[order] = cho_solve_banded((factor, True), X[order], check_finite=False)
    return out


def random_block(keys: IntArray, m: int) -> FloatArray:
    """Return m columns of random signs, a bit of the keys' hashes for each."""
    words = np.arange(1, -(-m // 64) + 1, dtype=np.uint64)
    hashes = mixed(keys[:, None] + words * GOLDEN)
    bits = np.unpackbits(hashes.view(np.uint8), axis=1, count=m, bitorder="little")
    return 2.0 * bits - 1.0
