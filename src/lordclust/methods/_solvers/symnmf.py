"""min 1/2 ||S - VV'||_F^2 over V >= 0: start, loss, certificate, and one solver.

No n x n matrix is formed: S enters through products S V, and the loss is
1/2 (||S||_F^2 - 2 <V, SV> + ||V'V||_F^2).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph

#: V never falls below this part of its largest start: products of such numbers stay
#: clear of the slow, inexact range near 1e-308, and no denominator is 0.
FLOOR = 1e-60

#: A loss that rose by less than this part of ||S||_F^2 rose by rounding.
NOISE = 1e-14
#: Exponents of the multiplicative update. It turns the scale c of a column that fits
#: with scale 1 into c^(1 - 2 exponent): with exponent 1 it would swing for ever.
EXPONENTS = (0.25, 0.5, 0.75)
#: Steps without a rise before a larger exponent is tried again.
PATIENCE = 10

#: Whether to stop, given the losses so far and the last relative change of V.
Stop = Callable[[list[float], float], bool]


@dataclass(frozen=True)
class Factor:
    """Where a solver ended.

    Attributes
    ----------
    V : ndarray of shape (n, k)
        Nonnegative.
    history : ndarray of shape (n_iter + 1,)
        1/2 ||S - VV'||_F^2 at each iteration.
    converged : bool
        Whether the stopping rule was met.
    """

    V: FloatArray
    history: FloatArray = field(repr=False)
    converged: bool


def square_norm(S: Graph) -> float:
    """Return ||S||_F^2."""
    values = S.data if sparse.issparse(S) else S
    return float(np.vdot(values, values))


def loss(square: float, V: FloatArray, SV: FloatArray, G: FloatArray) -> float:
    """Return 1/2 ||S - VV'||_F^2 from ||S||_F^2, V, S V and G = V'V."""
    rest = square - 2 * float(np.vdot(V, SV)) + float(np.vdot(G, G))
    return max(rest, 0.0) / 2


def random_start(S: Any, k: int, rng: np.random.Generator) -> FloatArray:
    """Return a positive V, uniform in (0, 1] times the factor that fits S best.

    The factor sqrt(<S, VV'>) / ||VV'||_F is the minimiser of ||S - c^2 VV'||_F in c;
    it is 0 if S is.
    """
    V = 1 - rng.random((S.shape[0], k))
    G = V.T @ V
    return np.asarray(np.sqrt(np.vdot(V, S @ V)) / np.linalg.norm(G) * V)


def kkt_residual(S: Any, V: FloatArray) -> float:
    """Return ||V - max(V - (VV'V - SV) / ||V'V||_2, 0)||_F / ||V||_F.

    It is 0 where the conditions of optimality hold: V >= 0, VV'V - SV >= 0, and one
    of them 0 at each entry.
    """
    G = V.T @ V
    size = float(np.linalg.norm(G, 2)) if G.any() else 1.0
    step = np.minimum(V, (V @ G - S @ V) / size)
    norm = float(np.linalg.norm(V))
    return float(np.linalg.norm(step)) / norm if norm > 0 else 0.0


def multiplicative(
    S: Any,
    V: FloatArray,
    square: float,
    stop: Stop,
    *,
    max_iter: int,
    exponent: float | str = "auto",
) -> Factor:
    """Repeat V <- V o (SV / VV'V)^exponent from a positive V.

    Parameters
    ----------
    S : anything with ``S @ V``
        Symmetric, nonnegative.
    V : ndarray of shape (n, k)
        Positive; left alone.
    square : float
        ||S||_F^2.
    stop : callable
        Told the losses and the relative change of V after each iteration.
    max_iter : int
        Limit of iterations.
    exponent : {"auto", 0.25, 0.5, 0.75}, default="auto"
        The loss never rises with 0.25. "auto" begins with 0.75, and takes a step that
        raised the loss again with a smaller exponent.

    Returns
    -------
    factor : Factor
    """
    if square == 0:  # S is zero, and so is its best factor
        return Factor(np.zeros_like(V), np.zeros(1), True)
    pace = Pace(exponent)
    V = np.array(V, order="C")
    floor, noise = FLOOR * V.max(), NOISE * square
    new, work = np.empty_like(V), np.empty_like(V)
    ratio, change = new, np.inf
    history: list[float] = []
    while True:
        SV, G = S @ V, V.T @ V
        value = loss(square, V, SV, G)
        if history and value > history[-1] + noise and pace.shorten():
            V, new = new, V  # back to where the step began
        else:
            history.append(value)
            converged = stop(history, change)
            if converged or len(history) > max_iter:
                break
            pace.lengthen()
            ratio = np.divide(SV, np.matmul(V, G, out=new), out=SV)
        _power(ratio, pace.exponent, new, work)
        np.maximum(np.multiply(new, V, out=new), floor, out=new)
        change = _change(V, new, work)
        V, new = new, V
    V[floor >= V] = 0.0
    return Factor(V, np.array(history), converged)


class Pace:
    """The exponent of the steps: fixed, or as large as descent allows."""

    def __init__(self, exponent: float | str) -> None:
        self.choices = EXPONENTS if exponent == "auto" else (float(exponent),)
        self.at = len(self.choices) - 1
        self.quiet = 0

    @property
    def exponent(self) -> float:
        """The exponent of the next step."""
        return self.choices[self.at]

    def shorten(self) -> bool:
        """After a rise: take a smaller exponent, and tell whether there was one."""
        self.quiet = 0
        if self.at == 0:
            return False
        self.at -= 1
        return True

    def lengthen(self) -> None:
        """Take a larger exponent after PATIENCE steps without a rise."""
        self.quiet += 1
        if self.quiet > PATIENCE and self.at < len(self.choices) - 1:
            self.at, self.quiet = self.at + 1, 0


def _power(x: FloatArray, exponent: float, out: FloatArray, work: FloatArray) -> None:
    """Write x^exponent to ``out``: roots are far quicker than powers."""
    np.sqrt(x, out=out)
    if exponent == 0.25:
        np.sqrt(out, out=out)
    elif exponent == 0.75:
        np.multiply(out, np.sqrt(out, out=work), out=out)


def _change(V: FloatArray, new: FloatArray, work: FloatArray) -> float:
    """Return ||new - V||_F / ||V||_F, writing over ``work``."""
    np.subtract(new, V, out=work)
    return float(np.sqrt(np.vdot(work, work) / np.vdot(V, V)))
