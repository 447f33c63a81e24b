"""Objective, gradient, curvature and step length of the two models."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from lordclust._core.typing import FloatArray, Graph
from lordclust.rounding.labels import row_blocks
from lordclust.solver.spectrum import Spectrum, weighted_graph

#: Above this many numbers, sums over n x k are computed block by block.
BLOCK_NUMBERS = 1 << 22


def _times(weight: FloatArray | None, V: FloatArray) -> FloatArray:
    """Return QV: each row times its weight; V itself if all are 1."""
    if weight is None or np.all(weight == 1):
        return V
    return np.asarray(weight[:, None] * V)


def inner(A: FloatArray, B: FloatArray | Callable[[slice], FloatArray]) -> float:
    """Return <A, B>; B may be a function that returns some of its rows.

    Large arrays are processed block by block, so that no n x k product is formed.
    """
    rows = B if callable(B) else B.__getitem__
    if A.size <= BLOCK_NUMBERS:
        return float((A * rows(slice(None))).sum(dtype=np.float64))
    blocks = row_blocks(*A.shape, numbers=BLOCK_NUMBERS)
    return sum(float((A[b] * rows(b)).sum(dtype=np.float64)) for b in blocks)


def lord_objective(S: Graph, V: FloatArray, weight: FloatArray | None = None) -> float:
    """Return sum_ij q_i q_j (S - VV')_ij^2 without forming VV'.

    ||S||^2 - 2 Tr(V'SV) + ||V'V||^2, all of them weighted sums.
    """
    A, QV = weighted_graph(S, weight), _times(weight, V)
    norm2 = float((A.data**2).sum() if sp.issparse(A) else (A**2).sum())
    quad = float((QV * (S @ QV)).sum())
    return norm2 - 2 * quad + float(((QV.T @ V) ** 2).sum())


def lord_gradient(
    S: Graph, V: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """Return 4 (VV' - S) QV, the gradient of :func:`lord_objective` in the metric Q."""
    QV = _times(weight, V)
    return np.asarray(4 * (V @ (V.T @ QV) - S @ QV))


def lord_lipschitz(spectrum: Spectrum, mass: float) -> float:
    """Return 4 (3 max(p) + ||S||_op): L_1 of the paper, where p = 1/n."""
    return 4 * (3 * mass + max(abs(spectrum.low), abs(spectrum.high)))


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

    This is the Euclidean gradient with each row divided by its weight.
    """
    return np.asarray(-2 * (S @ _times(weight, V) + gamma * V))


def blord_lipschitz(spectrum: Spectrum, gamma: float) -> float:
    """Return 2 ||S + gamma I||_op, L_2 of the paper."""
    return 2 * (max(abs(spectrum.low + gamma), abs(spectrum.high + gamma)) or 1.0)


def blord_step(spectrum: Spectrum, tau: float) -> float:
    """Return the step c of U = V + c (SV + gamma V).

    Descent needs a bound on the curvature *from above* only: minus the objective has
    second derivatives up to -2 (low + gamma) = 2 (1 - tau) (high - low), where the
    paper's L_2 also counts the concave side. For tau <= 1/2 the two are the same; for
    larger tau the step may be longer. The floor 0.2 keeps the warm start of the
    projection close.
    """
    return 1 / (spectrum.width * max(1 - tau, 0.2))


def lord_step(spectrum: Spectrum, bound: float, tilt: float = 0.0) -> float:
    """Return the step c of U = V + c (SV + tilt V - V V'V), from the same bound.

    ``bound`` is an upper bound on the largest eigenvalue of VV', 1/n on Omega(mu).
    """
    return 1 / (3 * bound + max(0.0, -spectrum.low - tilt))
