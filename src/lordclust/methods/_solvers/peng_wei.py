"""The semidefinite relaxation of k-means by Peng and Wei, with a certified bound.

The problem is max <S, Z> over Z psd, Z >= 0, Z1 = 1, tr Z = k. Without Z >= 0 the set
is A = { 11'/n + Q : Q psd, Q1 = 0, tr Q = k - 1 }: projecting on it takes the
eigenvalues above one threshold, with their vectors. ADMM alternates it with Z >= 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from lordclust._core.typing import FloatArray, Graph

#: Over-relaxation of ADMM.
RELAX = 1.6
#: Rows handled at once: their panels of n x n matrices stay in the cache.
PANEL = 64
#: Up to this many samples, all eigenvectors are computed faster than a few.
FULL_UP_TO = 200
#: Blocks of a Krylov space: the basis Q, then what G and G^2 add to it.
DEPTH = 3
#: Random directions added to the basis, in case it is orthogonal to an eigenvector.
PROBES = 2
#: Krylov spaces to try before all eigenvectors are computed.
MAX_ROUNDS = 20
#: Error of a projection, relative to how far the last iteration moved.
INEXACT = 0.1


@dataclass(frozen=True)
class PengWei:
    """A solution of the relaxation, with its certificate."""

    #: Positive semidefinite, with row sums 1 and trace k to rounding. Its entries are
    #: nonnegative only to the tolerance.
    Z: FloatArray
    #: <S, Z>.
    objective: float
    #: No Z of the relaxation, and no partition, has a larger <S, Z>.
    upper_bound: float
    #: The larger of the primal and the dual residual.
    residual: float
    n_iter: int
    converged: bool
    #: The objective at each iteration.
    history: FloatArray = field(repr=False)

    @property
    def gap(self) -> float:
        """(upper_bound - objective) / |upper_bound|, and 0 if both are 0."""
        unit = max(abs(self.upper_bound), np.finfo(float).tiny)
        return float((self.upper_bound - self.objective) / unit)

    @property
    def infeasibility(self) -> float:
        """||min(Z, 0)||_F / ||Z||_F."""
        square = sum(float((np.minimum(z, 0) ** 2).sum()) for z in self.Z)
        return float(np.sqrt(square) / np.linalg.norm(self.Z))


def peng_wei(S: Graph, k: int, *, tol: float = 1e-4, max_iter: int = 2000) -> PengWei:
    """Solve max <S, Z> over Z psd, Z >= 0, Z1 = 1, tr Z = k.

    ``tol`` limits both residuals, ||Z - Y||_F and rho ||Y - Y_before||_F for the
    nonnegative copy Y, in units of sqrt(k), with S scaled to norm sqrt(k).

    The upper bound holds whether or not the iteration has converged: for every
    W >= 0, <S, Z> <= <S + W, Z> <= 1'(S + W)1/n + (k - 1) lambda_max, with the
    largest eigenvalue of S + W on the complement of 1. It is taken from LAPACK's
    backward stable decomposition, plus an allowance for rounding.
    """
    n = S.shape[0]
    if k in (1, n):  # only one Z is feasible
        Z = np.full((n, n), 1 / n) if k == 1 else np.eye(n)
        value = float(S.sum() / n if k == 1 else S.diagonal().sum())
        return PengWei(Z, value, value, 0.0, 1, True, np.array([value]))
    C, unit, constant = _scaled(S, k)
    state = _Splitting(C, k)
    project = SpectralProjection(n, k)
    penalty = _Penalty()
    history = []
    for n_iter in range(1, max_iter + 1):
        F = project(state.G, INEXACT * np.sqrt(k) * max(state.moved, 0.1 * tol))
        history.append(state.step(F))
        if state.residual < tol:
            break
        state.set_rho(penalty.next(state, n_iter))
    Z = F @ F.T
    Z += 1 / n
    path = unit * np.array(history) + constant
    bound = unit * _upper_bound(state.dual_matrix(), k) + constant
    return PengWei(
        Z, float(path[-1]), bound, state.residual, n_iter, state.residual < tol, path
    )


def _scaled(S: Graph, k: int) -> tuple[FloatArray, float, float]:
    """Return C with zero mean diagonal and norm sqrt(k), a unit and a constant.

    tr Z = k, so that a multiple of I in S adds a constant: the objective of S is that
    of C times the unit, plus the constant.
    """
    C = np.array(S.toarray() if sparse.issparse(S) else S, dtype=np.float64)
    mean = float(C.diagonal().mean())
    C[np.diag_indices(len(C))] -= mean
    top = float(np.abs(C).max())  # squares of C itself might overflow
    C /= top or 1.0
    norm = float(np.linalg.norm(C)) / np.sqrt(k)
    C /= norm or 1.0
    return C, top * norm, mean * k


class _Splitting:
    """The state of ADMM: V = Y + U, a nonnegative copy Y of Z and a multiplier U.

    Y = max(V, 0) and U = min(V, 0), so that Y - U = |V|, and the matrix to project
    next is G = |V| + C / rho. Only V and G are kept.
    """

    def __init__(self, C: FloatArray, k: int) -> None:
        n = len(C)
        self.C, self.root, self.rho = C, float(np.sqrt(k)), 1.0
        self.V = np.full((n, n), 1 / n)
        self.G = self.V + C
        self.primal = self.dual = 1.0

    @property
    def residual(self) -> float:
        """The larger residual."""
        return max(self.primal, self.dual)

    @property
    def moved(self) -> float:
        """Distance of Z from Y, or of Y from its last value, whichever is less."""
        return min(self.primal, self.dual / self.rho)

    def step(self, F: FloatArray) -> float:
        """Move to Z = 11'/n + FF', and return <C, Z>."""
        n = len(F)
        value = primal = dual = 0.0
        for rows in _panels(n):
            X, V = F[rows] @ F.T, self.V[rows]
            X += 1 / n
            value += float(np.vdot(self.C[rows], X))
            Y = np.maximum(V, 0)
            V += RELAX * (X - Y)
            new = np.maximum(V, 0)
            X -= new
            Y -= new
            primal += float(np.vdot(X, X))
            dual += float(np.vdot(Y, Y))
            self._write_G(rows)
        self.primal = np.sqrt(primal) / self.root
        self.dual = self.rho * np.sqrt(dual) / self.root
        return value

    def set_rho(self, rho: float) -> None:
        """Change the penalty; rho U, the multiplier in natural units, is kept."""
        if rho == self.rho:
            return
        factor, self.rho = self.rho / rho, rho
        for rows in _panels(len(self.V)):
            V = self.V[rows]
            np.multiply(V, factor, out=V, where=V < 0)
            self._write_G(rows)

    def dual_matrix(self) -> FloatArray:
        """Return C + W, W = -rho U >= 0; it overwrites G."""
        M = self.G
        np.minimum(self.V, 0, out=M)
        M *= -self.rho
        M += self.C
        return M

    def _write_G(self, rows: slice) -> None:
        np.abs(self.V[rows], out=self.G[rows])
        self.G[rows] += self.C[rows] / self.rho


class _Penalty:
    """Balance the residuals by doubling or halving rho.

    Every reversal doubles the wait for the next change, so that rho becomes constant,
    as the convergence of ADMM requires.
    """

    limits = (1e-4, 1e4)
    ratio = 2.0

    def __init__(self) -> None:
        self.wait = self.due = 10
        self.last = 0

    def next(self, state: _Splitting, n_iter: int) -> float:
        """Return the penalty of the next iteration."""
        if n_iter < self.due:
            return state.rho
        sense = int(state.primal > self.ratio * state.dual)
        sense -= int(state.dual > self.ratio * state.primal)
        if sense and sense == -self.last:
            self.wait *= 2
        self.last = sense or self.last
        self.due = n_iter + self.wait
        return float(np.clip(state.rho * 2.0**sense, *self.limits))


class SpectralProjection:
    """Project n x n matrices that change slowly onto A.

    P_A(G) = 11'/n + sum_i max(w_i - theta, 0) q_i q_i' with the eigenpairs of G on the
    complement of 1, and theta such that the weights sum to k - 1. Few w_i exceed
    theta: they are found in a Krylov space of the eigenvectors of the last call. It
    is accepted if its smallest Ritz value is below theta, and if the residuals R of
    the pairs above are small: these are exact for a matrix at a distance of
    sqrt(2) ||R||_F from G, and projections do not enlarge distances. Otherwise the
    space is built again from its own best vectors. If it would not be small, all
    eigenvectors are computed.
    """

    def __init__(self, n: int, k: int) -> None:
        self.n, self.total = n, k - 1.0
        self.rng = np.random.default_rng(0)
        self.Q = self._random(min(n, 2 * k + 20))

    def __call__(self, G: FloatArray, tol: float) -> FloatArray:
        """Return F with ||11'/n + FF' - P_A(G)||_F <= tol."""
        F = self._partial(G, tol)
        return self._full(G) if F is None else F

    def _full(self, G: FloatArray) -> FloatArray:
        w, Q = np.linalg.eigh(off_ones(G))
        w, Q = w[::-1], lifted(Q[:, ::-1])
        weights = self._weights(w)
        self.Q = Q[:, : self._width(len(weights))]
        return np.asarray(Q[:, : len(weights)] * np.sqrt(weights))

    def _partial(self, G: FloatArray, tol: float) -> FloatArray | None:
        """Return F, or None if it is cheaper to compute all eigenvectors."""
        for _ in range(MAX_ROUNDS):
            width = DEPTH * (self.Q.shape[1] + PROBES)
            if self.n <= FULL_UP_TO or 2 * width > self.n:
                return None
            K, A = self._krylov(G)
            w, R = np.linalg.eigh(K.T @ A)
            w, R = w[::-1], R[:, ::-1]
            weights = self._weights(w)
            r = len(weights)
            self.Q = K @ R[:, : self._width(r)]
            error = np.sqrt(2) * np.linalg.norm(A @ R[:, :r] - self.Q[:, :r] * w[:r])
            if r < len(w) and error <= tol:
                return np.asarray(self.Q[:, :r] * np.sqrt(weights))
        return None

    def _krylov(self, G: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return an orthonormal K of DEPTH blocks, and GK on the complement of 1."""
        start = np.hstack([self.Q, self._random(PROBES)])
        K = _orthonormal(start, np.empty((self.n, 0)))
        A = _product(G, K)
        last = A
        for _ in range(DEPTH - 1):
            block = _orthonormal(self._residual(last, K), K)
            last = _product(G, block)
            K, A = np.hstack([K, block]), np.hstack([A, last])
        return K, A

    def _residual(self, A: FloatArray, K: FloatArray) -> FloatArray:
        """Return the part of A outside K, scaled; random columns if there is none."""
        R = A - K @ (K.T @ A)
        norms = np.linalg.norm(R, axis=0)
        nothing = norms <= 1e-14 * np.linalg.norm(A, axis=0)
        R /= np.where(nothing, 1.0, norms)
        R[:, nothing] = self._random(int(nothing.sum()))
        return R

    def _weights(self, w: FloatArray) -> FloatArray:
        """Return the projection of decreasing w onto the simplex, its positive part."""
        thetas = (np.cumsum(w) - self.total) / np.arange(1, len(w) + 1)
        r = int(np.flatnonzero(w > thetas)[-1]) + 1
        return np.asarray(w[:r] - thetas[r - 1])

    def _width(self, r: int) -> int:
        """Return how many vectors to keep for r active ones: a few more."""
        return r + r // 6 + 6

    def _random(self, columns: int) -> FloatArray:
        R = self.rng.standard_normal((self.n, columns))
        return np.asarray(R / np.sqrt(self.n))


def off_ones(M: FloatArray) -> FloatArray:
    """Return a symmetric M on the complement of 1, in the basis of ``lifted``.

    A Householder reflection H takes 1 to an axis: HMH without that axis has exactly
    the eigenvalues that belong to the complement, even if 0 is one of them.
    """
    u, beta = _reflector(len(M))
    p = beta * (M @ u)
    p -= (0.5 * beta * (u @ p)) * u
    B = M[1:, 1:] - np.outer(u[1:], p[1:])
    B -= np.outer(p[1:], u[1:])
    return np.asarray(B)


def lifted(q: FloatArray) -> FloatArray:
    """Return vectors of the complement of 1 as vectors of n entries."""
    u, beta = _reflector(len(q) + 1)
    Q = np.vstack([np.zeros((1, q.shape[1])), q])
    Q -= np.outer(u, beta * (u @ Q))
    return np.asarray(Q)


def _reflector(n: int) -> tuple[FloatArray, float]:
    """Return u and beta: I - beta uu' takes 1 to a multiple of the first axis."""
    u = np.full(n, n**-0.5)
    u[0] += 1
    return u, float(2 / (u @ u))


def _product(G: FloatArray, Q: FloatArray) -> FloatArray:
    """Return GQ on the complement of 1."""
    A = G @ Q
    A -= A.mean(axis=0)
    return np.asarray(A)


def _orthonormal(R: FloatArray, K: FloatArray) -> FloatArray:
    """Orthonormalise R against 1, K and itself, twice because of rounding."""
    for _ in range(2):
        R = R - R.mean(axis=0)
        R -= K @ (K.T @ R)
        R = np.linalg.qr(R)[0]
    return np.asarray(R)


def _upper_bound(M: FloatArray, k: int) -> float:
    """Return 1'M1/n + (k - 1) lambda_max of M on the complement of 1.

    Never below the exact value: LAPACK's eigenvalues are those of a matrix within a
    small multiple of n eps ||M||, as are the sums before.
    """
    n = len(M)
    M = 0.5 * (M + M.T)
    rounding = 4 * n * np.finfo(float).eps * float(np.linalg.norm(M))
    # All eigenvalues: the search for a single one fails if most are equal.
    values = eigh(
        off_ones(M), eigvals_only=True, driver="ev", overwrite_a=True,
        check_finite=False,
    )  # fmt: skip
    return float(M.sum() / n + (k - 1) * values[n - 2] + k * rounding)


def _panels(n: int) -> Iterator[slice]:
    """Yield the rows in panels."""
    for start in range(0, n, PANEL):
        yield slice(start, min(start + PANEL, n))
