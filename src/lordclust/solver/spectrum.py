"""The extreme eigenvalues of S, which relate tau to gamma."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh_tridiagonal
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh

from lordclust._core.typing import FloatArray, Graph
from lordclust.rounding.subspace import bounds

#: Below this many samples a full eigendecomposition is cheaper than Lanczos.
DENSE_EIGEN = 48
#: From this many samples on Lanczos steps are taken without restarts; at most so many,
#: with a test after some, until residuals are below the largest value times this.
LANCZOS_FROM, LANCZOS_STEPS, LANCZOS_CHECK, LANCZOS_TOL = 20_000, 1000, 10, 1e-4
#: A constant diagonal this many times larger than all other entries is removed.
DOMINANT = 1e3


class Spectrum(NamedTuple):
    """The smallest and the largest eigenvalue of S."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Difference of the two (1 for a multiple of the identity)."""
        return self.high - self.low if self.high > self.low else 1.0

    def gamma(self, tau: float) -> float:
        """Return gamma = -high + tau (high - low)."""
        return -self.high + tau * (self.high - self.low)


def remove_constant_diagonal(S: Graph, weight: FloatArray) -> tuple[Graph, float]:
    """Return S - cI and c, where cI is a constant diagonal that dominates S.

    B-LoRD has the same V for both at every tau: gamma is larger by c for S - cI. But
    sums that include c lose the digits that separate clusters. If no constant diagonal
    dominates, or if weights (and then V) differ, S itself and 0 are returned.
    """
    diagonal = np.asarray(S.diagonal(), dtype=np.float64)
    c = float(np.median(diagonal))
    limit = abs(c) / DOMINANT
    if c == 0 or np.any(weight != 1):
        return S, 0.0
    if np.abs(diagonal - c).max() > limit or _largest_off_diagonal(S, limit) > limit:
        return S, 0.0
    if sp.issparse(S):
        return sp.csr_array(S - sp.diags_array(np.full(len(diagonal), c))), c
    S = S.copy()
    np.fill_diagonal(S, diagonal - c)
    return S, c


def _largest_off_diagonal(S: Graph, enough: float) -> float:
    """Return the largest off-diagonal |S_ij|, or the first found above ``enough``."""
    if sp.issparse(S):
        rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
        return float(np.abs(S.data[rows != S.indices]).max(initial=0.0))
    top = 0.0
    for i, row in enumerate(S):
        top = max(top, float(np.abs(np.delete(row, i)).max(initial=0.0)))
        if top > enough:
            break
    return top


def weighted_graph(S: Graph, weight: FloatArray | None) -> Graph:
    """Return Q^1/2 S Q^1/2 without the rows of weight 0, Q = diag(weight).

    If rows of V are multiplied by sqrt(q_i), the weighted problem for S is the
    unweighted one for this matrix.
    """
    if weight is None or np.all(weight == 1):
        return S
    kept = np.flatnonzero(weight)
    root = np.sqrt(weight[kept])
    S = S[kept][:, kept]
    if not sp.issparse(S):
        return np.asarray(root[:, None] * S * root)
    Q = sp.diags_array(root)
    return sp.csr_array(Q @ S @ Q)


def find_spectrum(S: Graph, weight: FloatArray | None = None) -> Spectrum:
    """Return the extreme eigenvalues of S, or of Q^1/2 S Q^1/2, to about 1e-3.

    One Lanczos run from a fixed vector gives both. If it fails, Gershgorin's discs
    bound them.
    """
    if weight is not None and np.any(weight != 1):
        S = weighted_graph(S, weight)
    n = S.shape[0]
    if n <= DENSE_EIGEN:
        values = np.linalg.eigvalsh(S.toarray() if sp.issparse(S) else S)
        return Spectrum(float(values[0]), float(values[-1]))
    # Positive, so that it is never orthogonal to the Perron vector of a graph.
    start = np.random.default_rng(0).random(n) + 0.1
    if n >= LANCZOS_FROM:
        return _lanczos(S, start) or gershgorin(S)
    try:
        found = eigsh(S, 2, which="BE", tol=1e-3, v0=start, return_eigenvectors=False)
    except (ArpackError, ArpackNoConvergence):
        return gershgorin(S)
    return Spectrum(round_to_30_bits(min(found)), round_to_30_bits(max(found)))


def _lanczos(S: Graph, v: FloatArray) -> Spectrum | None:
    """Return the extreme eigenvalues by Lanczos steps from v; None if too many.

    Without restarts, which ARPACK needs to stay orthogonal, a third of the products is
    enough. Orthogonality is lost only where Ritz vectors have converged, and copies of
    their values do no harm.
    """
    v, before, beta = v / np.linalg.norm(v), np.zeros_like(v), 0.0
    diagonal: list[float] = []
    beside: list[float] = []
    for step in range(1, LANCZOS_STEPS + 1):
        w = S @ v
        w -= beta * before
        diagonal.append(float(v @ w))
        w -= diagonal[-1] * v
        beta = float(np.linalg.norm(w))
        if step % LANCZOS_CHECK == 0 or beta == 0:
            values, vectors = eigh_tridiagonal(diagonal, beside)
            ends, error = values[[0, -1]], beta * np.abs(vectors[-1, [0, -1]])
            if np.all(error <= LANCZOS_TOL * np.abs(ends).max()):
                return Spectrum(*map(round_to_30_bits, ends.tolist()))
        beside.append(beta)
        before, v = v, w / beta
    return None


def round_to_30_bits(x: float) -> float:
    """Return x rounded to 30 bits, far more precise than its tolerance.

    The last bits depend on the number of BLAS threads; results must not.
    """
    mantissa, exponent = np.frexp(x)
    return float(np.ldexp(np.round(np.ldexp(mantissa, 30)), exponent - 30))


def gershgorin(S: Graph) -> Spectrum:
    """Return bounds on the spectrum by Gershgorin's discs."""
    return Spectrum(*bounds(S))
