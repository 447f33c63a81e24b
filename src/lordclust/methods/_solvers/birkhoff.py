"""Projection onto the symmetric doubly stochastic matrices.

    min ||Z - S||_F^2   over   Z = Z',  Z >= 0,  Z1 = 1   (and tr Z = trace)

The solution is Z = max(S + u1' + 1u' + tI, 0) with a multiplier u_i for each row and
one, t, for the trace. They minimise a convex function, the dual, whose gradient is
Z1 - 1 (and half of tr Z - trace).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from lordclust._core.typing import FloatArray

#: Bytes of S that are processed at a time, so that they stay in the cache.
BLOCK_BYTES = 1 << 20
#: Newton's method starts with |S| of at most 1, and S grows by this factor.
GROWTH = 10.0
#: Newton steps after which a given start was too far away to be useful.
FAR_START = 50
#: Repetitions that recover the digits lost because S is large.
POLISHES = 5
EPS = float(np.finfo(np.float64).eps)


class DoublyStochastic(NamedTuple):
    """A projection with its certificate."""

    #: Exactly symmetric and nonnegative.
    Z: FloatArray
    #: Multipliers of the rows, then of the trace: a start for a similar S. Zeros for
    #: von Neumann's method, which has none.
    u: FloatArray
    #: Largest error of a row sum of Z, or the relative error of its trace.
    error: float
    #: Newton steps, or sweeps.
    n_iter: int
    converged: bool


def nearest_ds(
    S: FloatArray, *, trace: float | None = None, solver: str = "newton",
    u0: FloatArray | None = None, tol: float = 1e-10, max_iter: int = 2000,
) -> DoublyStochastic:  # fmt: skip
    """Project an exactly symmetric S onto the doubly stochastic matrices.

    "newton" takes semismooth Newton steps on the multipliers. "dykstra" finds the same
    projection by many cheap sweeps. "von_neumann" runs the alternating projections of
    Zass and Shashua (2006), which end at a doubly stochastic matrix, but not at the
    nearest one. ``u0`` holds multipliers to start from; a ``trace`` is above 0 and at
    most n.
    """
    n = len(S)
    if n == 1 or trace == n:
        u = np.zeros(n if trace is None else n + 1)
        return DoublyStochastic(np.eye(n), u, 0.0, 0, True)
    x = None if u0 is None else np.array(u0, dtype=np.float64)
    return SOLVERS[solver](S, trace, x, tol, max_iter)


# -- the dual function ------------------------------------------------------------


class Dual(NamedTuple):
    """The dual function at some multipliers."""

    value: float
    #: Sum of the absolute terms of the value: rounding is relative to it.
    size: float
    gradient: FloatArray
    error: float


def _each_block(
    S: FloatArray, x: FloatArray, floor: float = 0.0
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield rows of max(S + u1' + 1u' + tI, floor) in a buffer that is reused.

    x holds u, or u and t; the blocks of rows fit in the cache.
    """
    n = len(S)
    step = min(n, max(1, BLOCK_BYTES // (8 * n)))
    buffer = np.empty((step, n))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        T = buffer[: rows.stop - start]
        # First u_i + u_j, the same for (i, j) and (j, i): Z is symmetric.
        np.add(x[rows, None], x[:n], out=T)
        T += S[rows]
        if len(x) > n:
            T[np.arange(len(T)), np.arange(start, rows.stop)] += x[n]
        yield rows, np.maximum(T, floor, out=T)


def _primal(S: FloatArray, x: FloatArray, floor: float = 0.0) -> FloatArray:
    """Return Z = max(S + u1' + 1u' + tI, floor)."""
    Z = np.empty(S.shape)
    for rows, T in _each_block(S, x, floor):
        Z[rows] = T
    return Z


def _dual(S: FloatArray, x: FloatArray, trace: float | None) -> Dual:
    """Return ||Z||_F^2 / 4 - 1'u - trace t / 2 with its gradient; Z is not kept."""
    n = len(S)
    g = np.empty(len(x))
    square = diagonal = 0.0
    for rows, T in _each_block(S, x):
        g[rows] = T.sum(axis=1) - 1
        square += float(np.vdot(T, T)) / 4
        diagonal += float(np.trace(T, offset=rows.start))
    linear, error = float(x[:n].sum()), float(np.abs(g[:n]).max())
    if trace is not None:
        g[n] = (diagonal - trace) / 2
        linear += trace * x[n] / 2
        error = max(error, abs(diagonal / trace - 1))
    return Dual(square - linear, square + abs(linear), g, error)


def _affine_step(g: FloatArray, n: int) -> FloatArray:
    """Return the step of the multipliers that meets all sums if Z >= 0 is ignored.

    Rows: n u + (1'u) 1 + t 1 = -g; trace: 2 1'u + n t = -2 g_t.
    """
    mean = float(g[:n].mean())
    t = (mean - 2 * float(g[n])) / (n - 1) if len(g) > n else 0.0
    total = -(mean + t) / 2
    u = -(g[:n] + total + t) / n
    return u if len(g) == n else np.append(u, t)


def _first_step(S: FloatArray, trace: float | None) -> FloatArray:
    """Return the multipliers that solve the problem without Z >= 0."""
    g = S.sum(axis=1) - 1
    if trace is not None:
        g = np.append(g, (np.trace(S) - trace) / 2)
    return _affine_step(g, len(S))


# -- Newton's method --------------------------------------------------------------


class Point(NamedTuple):
    """The final multipliers of Newton's method, the dual there, and its steps."""

    x: FloatArray
    dual: Dual
    n_iter: int


def _newton(
    S: FloatArray, trace: float | None, x: FloatArray | None, tol: float, max_iter: int
) -> DoublyStochastic:
    """Project by Newton's method, and recover lost digits."""
    top = float(np.abs(S).max())
    # Row sums of a large S cannot be computed more accurately than this.
    reachable = max(tol, 8 * EPS * top)
    n_iter = 0
    if x is not None:
        end = _newton_steps(S, trace, x, reachable, min(FAR_START, max_iter))
        n_iter = end.n_iter
    if x is None or n_iter == FAR_START:
        end = _grow(S, trace, top, reachable, max_iter)
        n_iter += end.n_iter
    u = end.x
    for _ in range(POLISHES):
        if end.dual.error <= tol or end.dual.error > 1000 * reachable:
            break
        # The same projection, of a matrix of moderate size: entries below -1 stay
        # zero under small multipliers.
        S = _primal(S, end.x, floor=-1.0)
        end = _newton_steps(S, trace, np.zeros(len(u)), tol, max_iter)
        u, n_iter = u + end.x, n_iter + end.n_iter
    error = end.dual.error
    return DoublyStochastic(_primal(S, end.x), u, error, n_iter, error <= tol)


def _grow(
    S: FloatArray, trace: float | None, top: float, tol: float, max_iter: int
) -> Point:
    """Project c S for c up to 1, each from the multipliers of the one before.

    For a large S the multipliers are large and Z has few nonzeros: Newton's method
    would take many steps from a cold start.
    """
    c, n_iter = (1.0 if top <= 1 else 1 / top), 0
    x = _first_step(S if c == 1 else c * S, trace)
    while c < 1:
        end = _newton_steps(c * S, trace, x, 1e-3, max_iter)
        grown = min(1.0, GROWTH * c)
        x, c = end.x * (grown / c), grown
        n_iter += end.n_iter
    end = _newton_steps(S, trace, x, tol, max_iter)
    return end._replace(n_iter=n_iter + end.n_iter)


def _newton_steps(
    S: FloatArray, trace: float | None, x: FloatArray, tol: float, max_iter: int
) -> Point:
    """Take Newton steps, halved until they lower the dual enough.

    Near the solution, rounding hides whether they do, and the gradient decides.
    """
    now, n_iter = _dual(S, x, trace), 0
    while now.error > tol and n_iter < max_iter:
        d = _direction(S, x, now)
        slope, unseen = float(now.gradient @ d), 64 * EPS * now.size
        t = 1.0
        while t > 1e-10:
            new = _dual(S, x + t * d, trace)
            gain = now.value - new.value
            falls = gain >= -1e-4 * t * slope > 0
            if falls or (gain >= -unseen and new.error < now.error):
                break
            t /= 2
        else:  # rounding hides any further progress
            break
        x, now, n_iter = x + t * d, new, n_iter + 1
    return Point(x, now, n_iter)


def _direction(S: FloatArray, x: FloatArray, now: Dual) -> FloatArray:
    """Return the solution d of (H + lam I) d = -gradient, by conjugate gradients.

    H = diag(M1) + M with M = [Z > 0] is the signless Laplacian of M. It is singular
    for each bipartite component of M: hence lam. The nearer the solution, the more
    accurate d is.
    """
    lam = 1e-8 + 1e-3 * min(1.0, now.error)
    product, diagonal = _hessian(S, x, lam)
    r = -now.gradient
    goal = float(np.linalg.norm(r)) * max(1e-6, min(1e-2, now.error))
    d, z = np.zeros_like(r), r / diagonal
    p, rz = z, float(r @ z)
    for _ in range(2 * len(r) + 20):
        Hp = product(p)
        curvature = float(p @ Hp)
        if not curvature > 0:  # a direction of a bipartite part, lost in rounding
            return d if d.any() else z
        d += rz / curvature * p
        r -= rz / curvature * Hp
        if float(np.linalg.norm(r)) <= goal:
            break
        z = r / diagonal
        rz, before = float(r @ z), rz
        p = z + (rz / before) * p
    return d


def _hessian(
    S: FloatArray, x: FloatArray, lam: float
) -> tuple[Callable[[FloatArray], FloatArray], FloatArray]:
    """Return the function p -> (H + lam I) p, and the diagonal of H + lam I."""
    # M in single precision takes half the memory and time, and a Newton direction
    # needs no more digits. It is seldom sparse.
    M = np.empty(S.shape, dtype=np.float32)
    for rows, T in _each_block(S, x):
        np.greater(T, 0, out=M[rows], casting="unsafe")
    n, size, m = len(M), len(x), M.diagonal().astype(np.float64)
    counts = M.sum(axis=1, dtype=np.float64)

    def product(p: FloatArray) -> FloatArray:
        y = lam * p
        y[:n] += counts * p[:n] + M @ p[:n].astype(np.float32)
        if size > n:  # the row and the column of the trace
            y[:n] += m * p[n]
            y[n] += m @ p[:n] + m.sum() / 2 * p[n]
        return np.asarray(y)

    return product, np.append(counts + m, m.sum() / 2)[:size] + lam


# -- sweeps -----------------------------------------------------------------------


def _dykstra(
    S: FloatArray, trace: float | None, x: FloatArray | None, tol: float, max_iter: int
) -> DoublyStochastic:
    """Project by Dykstra's method.

    Only the sign constraint needs a correction: a sweep changes S + u1' + 1u' + tI so
    that max(., 0) has the right sums again. It is gradient descent on the dual.
    """
    x = _first_step(S, trace) if x is None else x
    n_iter, now = 0, _dual(S, x, trace)
    while now.error > tol and n_iter < max_iter:
        x = x + _affine_step(now.gradient, len(S))
        n_iter, now = n_iter + 1, _dual(S, x, trace)
    return DoublyStochastic(_primal(S, x), x, now.error, n_iter, now.error <= tol)


def _von_neumann(
    S: FloatArray, trace: float | None, x: FloatArray | None, tol: float, max_iter: int
) -> DoublyStochastic:
    """Alternate projections onto the right sums and onto Z >= 0."""
    zero = np.zeros(len(S) if trace is None else len(S) + 1)
    Z = _primal(S, _first_step(S, trace))
    n_iter, now = 1, _dual(Z, zero, trace)
    while now.error > tol and n_iter < max_iter:
        # In place: a block of rows is read before it is written.
        for rows, T in _each_block(Z, _affine_step(now.gradient, len(Z))):
            Z[rows] = T
        n_iter, now = n_iter + 1, _dual(Z, zero, trace)
    return DoublyStochastic(Z, zero, now.error, n_iter, now.error <= tol)


SOLVERS: dict[str, Callable[..., DoublyStochastic]] = {
    "newton": _newton,
    "dykstra": _dykstra,
    "von_neumann": _von_neumann,
}
