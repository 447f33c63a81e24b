"""Certificates of B-LoRD and LoRD from their definitions, in more digits.

Nothing here calls the library: docs/solver.md is the source. What is rational is
recomputed in fractions, without any rounding; what needs roots, in long double.
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

LONG = np.longdouble


class Value(NamedTuple):
    """A sum, and the sum of the sizes of its terms: what rounding is relative to."""

    value: Fraction
    size: Fraction

    def misses(self, reported: float) -> float:
        """Return how far a reported sum is off, in units of its terms."""
        if self.size == 0:
            return float(abs(Fraction(float(reported))))
        return float(abs(Fraction(float(reported)) - self.value) / self.size)


def fractions(M: Any) -> list[list[Fraction]]:
    """Return the numbers of a matrix as they are, without rounding."""
    return [[Fraction(float(x)) for x in row] for row in dense(M)]


def dense(M: Any) -> np.ndarray:
    return M.toarray() if sparse.issparse(M) else np.asarray(M)


def feasibility(P: Any, shares: Any) -> float:
    """Return the largest relative error of the sums of memberships, in fractions.

    Rows sum to 1, and columns have the mean that was asked for.
    """
    rows, n = fractions(P), len(P)
    assert min(min(row) for row in rows) >= 0
    errors = [abs(sum(row) - 1) for row in rows]
    total = sum(Fraction(float(share)) for share in shares)
    for column, share in zip(zip(*rows, strict=True), shares, strict=True):
        wanted = Fraction(float(share)) / total
        errors.append(abs(sum(column) / n - wanted) / wanted)
    return float(max(errors))


def blord_value(S: Any, V: Any, gamma: float) -> Value:
    """Return <V, SV> + gamma |V|^2 in fractions."""
    S, V, gamma = fractions(S), fractions(V), Fraction(float(gamma))
    terms = [
        s * _dot(V[i], V[j])
        for i, row in enumerate(S)
        for j, s in enumerate(row)
        if s
    ]  # fmt: skip
    terms += [gamma * _dot(row, row) for row in V]
    return Value(sum(terms, Fraction(0)), sum(map(abs, terms), Fraction(0)))


def lord_value(S: Any, V: Any) -> Value:
    """Return |S / sum(S) - VV'|^2 in fractions, and |S / sum(S)|^2 + |VV'|^2."""
    S, V = fractions(S), fractions(V)
    total = sum(map(sum, S))
    value = size = Fraction(0)
    for i, row in enumerate(S):
        for j, s in enumerate(row):
            a, b = s / total, _dot(V[i], V[j])
            value += (a - b) ** 2
            size += a**2 + b**2
    return Value(value, size)


def _dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


class Problem(NamedTuple):
    """S without the median of its diagonal, the spectrum of that, and the median.

    B-LoRD does not know such a constant; in it all digits would be lost.
    """

    S: np.ndarray
    low: np.longdouble
    high: np.longdouble
    level: np.longdouble

    @classmethod
    def of(cls, S: Any) -> "Problem":
        S = dense(S).astype(LONG)
        level = np.median(np.diag(S))
        S = S - level * np.eye(len(S), dtype=LONG)
        unit = abs(S).max() or LONG(1)
        values = np.linalg.eigvalsh((S / unit).astype(np.float64)).astype(LONG) * unit
        return cls(S, values[0], values[-1], level)

    @property
    def width(self) -> np.longdouble:
        return self.high - self.low if self.high > self.low else LONG(1)

    def gamma(self, tau: float) -> np.longdouble:
        """For S without its level."""
        return -self.high + LONG(tau) * (self.high - self.low)


def blord_residual(S: Any, V: Any, tau: float, shares: Any) -> float:
    """Return |V - projection(V + c (SV + gamma V))| / |V| at the step of a path."""
    problem, V = Problem.of(S), dense(V).astype(LONG)
    c = 1 / (problem.width * max(LONG(1) - LONG(tau), LONG("0.2")))
    return _moved(V, c * (problem.S @ V + problem.gamma(tau) * V), shares)


def lord_residual(S: Any, V: Any, shares: Any) -> float:
    """Return |V - projection(V + c (SV - VV'V))| / |V|, S scaled to sum 1."""
    S, V = dense(S).astype(LONG), dense(V).astype(LONG)
    S = S / S.sum()
    low = LONG(np.linalg.eigvalsh(S.astype(np.float64))[0])
    c = 1 / (LONG(3) / len(V) + max(LONG(0), -low))
    return _moved(V, c * (S @ V - V @ (V.T @ V)), shares)


def _moved(V: np.ndarray, step: np.ndarray, shares: Any) -> float:
    mu = roots_of(shares)
    P = project(V + step, mu)
    return float(np.sqrt(((V - P) ** 2).sum() / (V**2).sum()))


def roots_of(shares: Any) -> np.ndarray:
    """Return mu, the square roots of shares."""
    shares = np.asarray(shares).astype(LONG)
    return np.sqrt(shares / shares.sum())


def project(U: np.ndarray, mu: np.ndarray, sweeps: int = 20000) -> np.ndarray:
    """Project onto V >= 0, V'1 = mu, V mu = 1/n, by turns for rows and columns.

    V = max(U - a - b mu', 0): for given a each b_i is a root found by sorting, for
    given b each a_j. Each turn makes the dual larger; slow, but there is nothing in
    it that could go wrong.
    """
    U, p = U.astype(LONG), LONG(1) / len(U)
    a = np.zeros(len(mu), dtype=LONG)
    for _ in range(sweeps):
        b = _thresholds((U - a) / mu, mu**2, np.full(len(U), p))
        a = _thresholds((U - np.outer(b, mu)).T, np.ones(len(U), dtype=LONG), mu)
        V = np.maximum(U - a - np.outer(b, mu), 0)
        if abs(V @ mu - p).max() <= 1e-13 * p:
            return V
    raise RuntimeError("the slow projection did not arrive")


def _thresholds(T: np.ndarray, w: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return x with sum_j w_j max(T_ij - x_i, 0) = target_i for each row."""
    order = np.argsort(-T, axis=1)
    T, w = np.take_along_axis(T, order, axis=1), w[order]
    x = (np.cumsum(w * T, axis=1) - targets[:, None]) / np.cumsum(w, axis=1)
    last = T.shape[1] - 1 - np.argmax((x < T)[:, ::-1], axis=1)
    return x[np.arange(len(T)), last]
