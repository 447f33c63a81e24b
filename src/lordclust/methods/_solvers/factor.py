"""min 1/2 ||S - VV'||_F^2 over V >= 0: start, loss, certificate, base class, solver.

No n x n matrix is formed: S enters through products S V, and the loss is
1/2 (||S||_F^2 - 2 <V, SV> + ||V'V||_F^2).
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.validation import check_choice
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import labels_from, shares_of_rows
from lordclust.rounding.spectral import normalized_affinity

#: V never falls below this fraction of its largest start: products of such numbers stay
#: above the slow, inexact range near 1e-308, and no denominator is 0.
FLOOR = 1e-60
#: A loss that rose by less than this fraction of ||S||_F^2 rose by rounding.
NOISE = 1e-14
#: Exponents of the multiplicative update. It turns the scale c of a column that fits
#: with scale 1 into c^(1 - 2 exponent): with exponent 1 it would oscillate forever.
EXPONENTS = (0.25, 0.5, 0.75)
#: Steps without a rise before a larger exponent is tried again.
PATIENCE = 10

#: Whether to stop, given the losses so far and the last relative change of V.
Stop = Callable[[list[float], float], bool]


class Factor(NamedTuple):
    """A nonnegative V, the loss at each iteration, and whether the solver converged."""

    V: FloatArray
    history: FloatArray
    converged: bool


class SymmetricFactorClusterer(RestartClusterer):
    """Minimise 1/2 ||S - VV'||_F^2 over V >= 0, from random starts.

    Parameters
    ----------
    n_init : int or "auto", default="auto"
        Random starts ("auto": 10); the one with the smallest objective is kept.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The largest entry of each row of V, 0 to k-1. Clusters are ordered by
        decreasing size, then by their first sample. Isolated vertices have a zero row
        and join the largest cluster.
    membership_ : ndarray of shape (n, k)
        Rows of V scaled to sum to 1; uniform for isolated vertices.
    V_ : ndarray of shape (n, k)
        The factor.
    residual_ : float
        ||V - max(V - (VV'V - SV) / ||V'V||_2, 0)||_F / ||V||_F: 0 where the conditions
        of optimality hold.
    """

    normalize: str | None

    @abstractmethod
    def _descend(self, S: Graph, V: FloatArray, square: float) -> Factor:
        """Return the factor that the solver finds from V; ``square`` is ||S||_F^2."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.normalize is not None:
            check_choice(self.normalize, ["ncut"], "normalize")

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        S = data.astype(np.float64, copy=False)
        S = S if self.normalize is None else normalized_affinity(S)
        square = square_norm(S)
        for rng in rngs:
            V, history, converged = self._descend(S, random_start(S, k, rng), square)
            yield Run(
                labels_of_rows(V), float(history[-1]), len(history) - 1, converged,
                history, membership=shares_of_rows(V), columns={"V_": V},
                fitted={"residual_": kkt_residual(S, V)},
            )  # fmt: skip


def labels_of_rows(V: FloatArray) -> IntArray:
    """Return the largest column of each row; zero rows join the largest cluster.

    The row of an isolated vertex is zero: nothing indicates where it belongs.
    """
    labels = labels_from(V)
    lost = ~V.any(axis=1)
    if lost.any() and not lost.all():
        labels[lost] = np.bincount(labels[~lost]).argmax()
    return labels


def square_norm(S: Graph) -> float:
    """Return ||S||_F^2."""
    values = S.data if sparse.issparse(S) else S
    return float(np.vdot(values, values))


def loss(square: float, V: FloatArray, SV: FloatArray, G: FloatArray) -> float:
    """Return 1/2 ||S - VV'||_F^2 from ||S||_F^2, V, S V and G = V'V."""
    rest = square - 2 * float(np.vdot(V, SV)) + float(np.vdot(G, G))
    return max(rest, 0.0) / 2


def random_start(S: Graph, k: int, rng: np.random.Generator) -> FloatArray:
    """Return a positive V, uniform in (0, 1] times the factor that fits S best.

    The factor sqrt(<S, VV'>) / ||VV'||_F minimises ||S - c^2 VV'||_F over c; it is 0
    if S is.
    """
    V = 1 - rng.random((S.shape[0], k))
    G = V.T @ V
    return np.asarray(np.sqrt(np.vdot(V, S @ V)) / np.linalg.norm(G) * V)


def kkt_residual(S: Graph, V: FloatArray) -> float:
    """Return ||V - max(V - (VV'V - SV) / ||V'V||_2, 0)||_F / ||V||_F.

    It is 0 where the conditions of optimality hold: V >= 0, VV'V - SV >= 0, and one
    of them 0 at each entry.
    """
    G = V.T @ V
    size = float(np.linalg.norm(G, 2)) if G.any() else 1.0
    step = np.minimum(V, (V @ G - S @ V) / size)
    norm = float(np.linalg.norm(V))
    return float(np.linalg.norm(step)) / norm if norm > 0 else 0.0


def check_exponent(exponent: float | str) -> None:
    """Raise an error if the multiplicative update does not support this exponent."""
    if exponent not in ("auto", *EXPONENTS):
        raise ValueError(
            f'exponent must be "auto", 0.25, 0.5 or 0.75, got {exponent!r}. '
            "0.25 never raises the loss."
        )


def multiplicative(
    S: Graph, V: FloatArray, square: float, stop: Stop, *,
    max_iter: int, exponent: float | str = "auto",
) -> Factor:  # fmt: skip
    """Repeat V <- V o (SV / VV'V)^exponent from a positive V, which is not changed.

    S may be anything with ``S @ V``; ``square`` is ||S||_F^2.
    """
    if square == 0:  # S is zero, and so is its best factor
        return Factor(np.zeros_like(V), np.zeros(1), True)
    exponents = EXPONENTS if exponent == "auto" else (float(exponent),)
    at, quiet = len(exponents) - 1, 0
    V = np.array(V, order="C")
    floor, noise = FLOOR * V.max(), NOISE * square
    new, work = np.empty_like(V), np.empty_like(V)
    ratio, change = new, np.inf
    history: list[float] = []
    while True:
        SV, G = S @ V, V.T @ V
        value = loss(square, V, SV, G)
        rose = bool(history) and value > history[-1] + noise
        quiet = 0 if rose else quiet
        if rose and at > 0:
            V, new = new, V  # repeat the step with a smaller exponent
            at -= 1
        else:
            history.append(value)
            converged = stop(history, change)
            if converged or len(history) > max_iter:
                break
            quiet += 1
            if quiet > PATIENCE and at < len(exponents) - 1:
                at, quiet = at + 1, 0
            ratio = np.divide(SV, np.matmul(V, G, out=new), out=SV)
        _power(ratio, exponents[at], new, work)
        np.maximum(np.multiply(new, V, out=new), floor, out=new)
        np.subtract(new, V, out=work)
        change = float(np.sqrt(np.vdot(work, work) / np.vdot(V, V)))
        V, new = new, V
    V[floor >= V] = 0.0
    return Factor(V, np.array(history), converged)


def _power(x: FloatArray, exponent: float, out: FloatArray, work: FloatArray) -> None:
    """Write x^exponent to ``out``: roots are much faster than powers."""
    np.sqrt(x, out=out)
    if exponent == 0.25:
        np.sqrt(out, out=out)
    elif exponent == 0.75:
        np.multiply(out, np.sqrt(out, out=work), out=out)
