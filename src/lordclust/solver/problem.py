"""The two models: objective, gradient, Lipschitz bounds, and what tau means."""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, eigsh

from lordclust._core.typing import FloatArray, Graph

#: Above this many numbers sums over n x k go block by block.
BLOCK_NUMBERS = 1 << 22
#: Below this many samples a full eigendecomposition is cheaper than Lanczos.
DENSE_EIGEN = 48
#: A diagonal that exceeds all else so many times is taken out before the work.
DWARFS = 1e3


class Spectrum(NamedTuple):
    """The two ends of the spectrum of S."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """How far the ends are apart (1 for a multiple of the identity)."""
        return self.high - self.low if self.high > self.low else 1.0

    def gamma(self, tau: float) -> float:
        """Return gamma = -high + tau (high - low)."""
        return -self.high + tau * (self.high - self.low)


def levelled(S: Graph, weight: FloatArray | None = None) -> tuple[Graph, float]:
    """Return S - cI and c, the constant of a diagonal that dwarfs all other entries.

    B-LoRD has the same V for both at every tau: gamma is larger by c for S - cI. But
    sums with c in them lose the digits that tell clusters apart. If nothing is dwarfed,
    or if weights differ and V does too, S itself is returned, and 0.
    """
    diagonal = np.asarray(S.diagonal(), dtype=np.float64)
    c = float(np.median(diagonal))
    limit = abs(c) / DWARFS
    if c == 0 or not (weight is None or np.all(weight == 1)):
        return S, 0.0
    if np.abs(diagonal - c).max() > limit or _largest_beside(S, limit) > limit:
        return S, 0.0
    if sp.issparse(S):
        return sp.csr_array(S - sp.diags_array(np.full(len(diagonal), c))), c
    S = S.copy()
    np.fill_diagonal(S, diagonal - c)
    return S, c


def _largest_beside(S: Graph, enough: float) -> float:
    """Return the largest |S_ij| beside the diagonal, or one that is beyond enough."""
    if sp.issparse(S):
        rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
        return float(np.abs(S.data[rows != S.indices]).max(initial=0.0))
    top = 0.0
    for i, row in enumerate(S):
        top = max(top, float(np.abs(np.delete(row, i)).max(initial=0.0)))
        if top > enough:
            break
    return top


def balanced(S: Graph, weight: FloatArray | None) -> Graph:
    """Return Q^1/2 S Q^1/2 without the rows of weight 0, Q = diag(weight).

    In V with rows times sqrt(q_i) the weighted problem is the plain one for this S.
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


def spectrum(S: Graph, weight: FloatArray | None = None) -> Spectrum:
    """Return the ends of the spectrum of S, or of Q^1/2 S Q^1/2, to about 1e-3.

    One Lanczos run from a fixed vector gives both. Where it fails, Gershgorin's
    discs bound them.
    """
    S = balanced(S, weight)
    n = S.shape[0]
    if n <= DENSE_EIGEN:
        values = np.linalg.eigvalsh(S.toarray() if sp.issparse(S) else S)
        return Spectrum(float(values[0]), float(values[-1]))
    # Positive, so that it is never orthogonal to the Perron vector of a graph.
    start = np.random.default_rng(0).random(n) + 0.1
    try:
        low, high = eigsh(
            S, 2, which="BE", tol=1e-3, v0=start, return_eigenvectors=False
        )
    except (ArpackError, ArpackNoConvergence):
        return _gershgorin(S)
    return Spectrum(steady(min(low, high)), steady(max(low, high)))


def steady(x: float) -> float:
    """Return x to 30 bits, far within its tolerance.

    The last ones depend on the threads of BLAS, which the result must not.
    """
    mantissa, exponent = np.frexp(x)
    return float(np.ldexp(np.round(np.ldexp(mantissa, 30)), exponent - 30))


def _gershgorin(S: Graph) -> Spectrum:
    """Bound the spectrum by Gershgorin's discs."""
    centre = np.asarray(S.diagonal())
    radius = np.asarray(abs(S).sum(axis=1)).ravel() - np.abs(centre)
    return Spectrum(float((centre - radius).min()), float((centre + radius).max()))


def _times(weight: FloatArray | None, V: FloatArray) -> FloatArray:
    """Return QV: each row times its weight; V itself if all are 1."""
    if weight is None or np.all(weight == 1):
        return V
    return np.asarray(weight[:, None] * V)


def inner(A: FloatArray, B: Any) -> float:
    """Return <A, B>; B may be a function that gives some of its rows.

    Large ones go block by block, so that no product of n x k numbers is formed.
    """
    rows = B if callable(B) else B.__getitem__
    if A.size <= BLOCK_NUMBERS:
        return float((A * rows(slice(None))).sum(dtype=np.float64))
    step = max(1, BLOCK_NUMBERS // A.shape[1])
    blocks = [slice(at, at + step) for at in range(0, len(A), step)]
    return sum(float((A[b] * rows(b)).sum(dtype=np.float64)) for b in blocks)


def lord_objective(S: Graph, V: FloatArray, weight: FloatArray | None = None) -> float:
    """Return sum_ij q_i q_j (S - VV')_ij^2 without forming VV'.

    ||S||^2 - 2 Tr(V'SV) + ||V'V||^2, all of them weighted sums.
    """
    A, QV = balanced(S, weight), _times(weight, V)
    norm2 = float((A.data**2).sum() if sp.issparse(A) else (A**2).sum())
    quad = float((QV * (S @ QV)).sum())
    return norm2 - 2 * quad + float(((QV.T @ V) ** 2).sum())


def lord_gradient(
    S: Graph, V: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """Return 4 (VV' - S) QV, the gradient of :func:`lord_objective` in the metric Q."""
    QV = _times(weight, V)
    return np.asarray(4 * (V @ (V.T @ QV) - S @ QV))


def lord_lipschitz(ends: Spectrum, mass: float) -> float:
    """Return 4 (3 max(p) + ||S||_op): L_1 of the paper, where p = 1/n."""
    return 4 * (3 * mass + max(abs(ends.low), abs(ends.high)))


def blord_objective(
    S: Graph, V: FloatArray, gamma: float, weight: FloatArray | None = None
) -> float:
    """Return Tr(V'QSQV) + gamma Tr(V'QV), to be maximised."""
    QV = _times(weight, V)
    return inner(QV, lambda rows: S[rows] @ QV) + gamma * inner(QV, V)


def blord_gradient(
    S: Graph, V: FloatArray, gamma: float, weight: FloatArray | None = None
) -> FloatArray:
    """Return -2 (SQV + gamma V): minus the gradient of the objective, in the metric Q.

    What is left of the Euclidean gradient when row i is divided by its weight.
    """
    return np.asarray(-2 * (S @ _times(weight, V) + gamma * V))


def blord_lipschitz(ends: Spectrum, gamma: float) -> float:
    """Return 2 ||S + gamma I||_op: Theorem on Lipschitz continuity, L_2."""
    return 2 * (max(abs(ends.low + gamma), abs(ends.high + gamma)) or 1.0)


def blord_step(ends: Spectrum, tau: float) -> float:
    """Return the step c of U = V + c (SV + gamma V).

    Descent needs a bound on the curvature *from above* only: minus the objective has
    second derivatives up to -2 (low + gamma) = 2 (1 - tau) (high - low), where the
    paper's L_2 also counts the concave side. For tau <= 1/2 the two are the same;
    beyond, the step may be longer. The floor 0.2 keeps the warm start of the
    projection close.
    """
    return 1 / (ends.width * max(1 - tau, 0.2))


def lord_step(ends: Spectrum, bound: float, tilt: float = 0.0) -> float:
    """Return the step c of U = V + c (SV + tilt V - V V'V), from the same bound.

    ``bound`` is one of the largest eigenvalue of VV', 1/n on Omega(mu).
    """
    return 1 / (3 * bound + max(0.0, -ends.low - tilt))


def tau_from_n(S: Graph, n_clusters: int) -> float:
    """Return the paper's first rule for the samples of S."""
    return tau_for_samples(S.shape[0])


def tau_for_samples(n: int) -> float:
    """Return min(2 n^-0.24, 1), the paper's first rule."""
    return float(min(2 * n**-0.24, 1.0))


def tau_from_blocks(S: Graph, n_clusters: int) -> float:
    """Return min(0.34 exp(50 b - 0.03 log n), 1), the paper's second rule.

    b = (sum of the k smallest eigenvalues of the Laplacian of S) / (its trace). The
    paper's formula counts from the largest, but its table of values, and its meaning
    (0 for a graph of k blocks), need the smallest.
    """
    n = S.shape[0]
    degrees = np.asarray(S.sum(axis=1)).ravel()
    trace = float(degrees.sum() - S.diagonal().sum())
    if trace <= 0:
        return 1.0
    laplacian = sp.diags_array(degrees) - sp.csr_array(S)
    if n_clusters >= n - 1 or n <= DENSE_EIGEN:
        low = np.linalg.eigvalsh(laplacian.toarray())[:n_clusters]
    else:
        # The largest of c I - L: Lanczos finds that end, without a factorisation.
        shift = 2 * float(degrees.max())
        flipped = shift * sp.eye_array(n) - laplacian
        start = np.random.default_rng(0).standard_normal(n)
        low = shift - eigsh(
            flipped, n_clusters, which="LA", v0=start, return_eigenvectors=False,
            tol=1e-6, ncv=min(n, max(2 * n_clusters + 20, 40)),
        )  # fmt: skip
    b = max(0.0, float(low.sum()) / trace)
    return float(min(0.34 * math.exp(min(50 * b, 700) - 0.03 * math.log(n)), 1.0))


#: The paper's rules, which ``tau="name"`` stands for.
TAU_RULES: dict[str, Any] = {"n": tau_from_n, "blocks": tau_from_blocks}
