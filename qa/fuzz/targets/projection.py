"""``project``: feasible, with a certificate that no point is nearer."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from lordclust._core.typing import FloatArray
from lordclust.solver.projection import LARGEST, project
from qa.fuzz import strategies
from qa.fuzz.outcome import (
    Outcome,
    recorded_warnings,
    require,
    require_finite,
    require_refusal,
)
from qa.fuzz.strategies import SEEDS

SECONDS = 10.0
_ODDITIES: dict[str, list[Any]] = {
    "values": ["vertex", "ties", "heavy", "zero", "column"],
    "exponent": [-300, -100, -9, -3, 3, 6, 9, 12, 15, 100, 300],
    "shares": ["uneven", "wild", "tiny", "bad"],
    "weights": ["even", "wild", "wilder", "zeros", "nothing", "negative"],
    "odd": [float("nan"), float("inf"), 1e308, -1e308, 1e-320],
    "start": [True],
}
EPS = float(np.finfo(np.float64).eps)


def prepare() -> None:
    """Compile the solver."""
    check({"n": 5, "k": 3, "seed": 0})


def cases() -> Any:
    """Return matrices and the sets they are projected onto."""
    usual = {"n": st.integers(1, 40), "k": st.integers(1, 9), "seed": SEEDS}
    return strategies.cases(usual, _ODDITIES)


def check(case: dict[str, Any]) -> Outcome:
    """Project a matrix; the result must be the projection."""
    rng = np.random.default_rng(case["seed"])
    U, mu, w = _matrix(case, rng), _mu(case, rng), _weights(case, rng)
    start = rng.standard_normal(len(mu)) if case.get("start") else None
    try:
        with recorded_warnings():
            found = project(U, mu, sample_weight=w, start=start)
    except Exception as error:
        require_refusal(error)
        return Outcome("newton", "refused")
    p = (
        np.full(len(U), 1 / len(U))
        if w is None
        else (w / w.max()) / (w / w.max()).sum()
    )
    _check_sums(found.V, mu, p)
    if case.get("weights") != "wilder":  # beyond what is promised
        _check_nearest(U, found.V, found.multipliers, mu, p)
    return Outcome("newton", "projected")


def _matrix(case: dict[str, Any], rng: Any) -> FloatArray:
    shape = n, k = case["n"], case["k"]
    U = {
        "normal": lambda: rng.standard_normal(shape),
        "vertex": lambda: np.eye(k)[rng.integers(0, k, n)],
        "ties": lambda: rng.integers(-2, 3, shape).astype(float),
        "heavy": lambda: rng.standard_t(1, shape),
        "zero": lambda: np.zeros(shape),
        "column": lambda: np.eye(k)[np.zeros(n, dtype=int)],
    }[case.get("values", "normal")]()
    with np.errstate(over="ignore"):
        U = U * 10.0 ** case.get("exponent", 0)
    if "odd" in case:
        U[rng.integers(n), rng.integers(k)] = case["odd"]
    return np.asarray(U)


def _mu(case: dict[str, Any], rng: Any) -> FloatArray:
    k = case["k"]
    shares = {
        "equal": lambda: np.ones(k),
        "uneven": lambda: rng.dirichlet(np.ones(k)) + 1e-3,
        "wild": lambda: 10.0 ** rng.uniform(-4, 0, k),
        "tiny": lambda: 10.0 ** rng.uniform(-9, 0, k),
        "bad": lambda: rng.standard_normal(k) ** 2,
    }[case.get("shares", "equal")]()
    total = 1.0 if case.get("shares") == "bad" else shares.sum()
    return np.sqrt(shares / total)


def _weights(case: dict[str, Any], rng: Any) -> Any:
    n, kind = case["n"], case.get("weights")
    if kind is None:
        return None
    return {
        "even": lambda: np.full(n, 3.0),
        "wild": lambda: 10.0 ** rng.uniform(-4, 4, n),
        "wilder": lambda: 10.0 ** rng.uniform(-8, 8, n),
        "zeros": lambda: rng.integers(0, 2, n).astype(float),
        "nothing": lambda: np.zeros(n),
        "negative": lambda: rng.standard_normal(n),
    }[kind]()


def _check_sums(V: FloatArray, mu: FloatArray, p: FloatArray) -> None:
    """Fail unless V is in Omega(mu): V >= 0, V mu = p, V'1 = mu."""
    require_finite(V, "V")
    require(V.min() >= 0, "V is nonnegative", V.min())
    rows = np.abs(V @ mu - p)[p > 0] / p[p > 0]
    require(rows.max() < 1e-9, "rows of V mu are p", rows.max())
    columns = np.abs(V.sum(axis=0) - mu) / mu
    require(columns.max() < 1e-9, "columns of V sum to mu", columns.max())


def _check_nearest(
    U: FloatArray, V: FloatArray, a: FloatArray, mu: FloatArray, p: FloatArray
) -> None:
    """Fail unless V = max(U - a - b mu, 0), b the roots of the rows.

    This is the Karush-Kuhn-Tucker condition: with V in Omega(mu) it proves that no
    point of Omega(mu) is nearer to U. The tolerance allows for the rounding of U and
    for small shares.
    """
    size = max(np.abs(U).max(), np.abs(a).max())
    rounding = 1024 * EPS * size / mu.min()
    if size > LARGEST * p.max() or rounding > V.max():  # only the face is known
        return
    C = U - a
    best = np.maximum(C - np.outer(_roots(C, mu, p), mu), 0.0)
    off = np.abs(V - best).max()
    require(off <= 1e-7 * V.max() + rounding, "no point is nearer", (off, rounding))


def _roots(C: FloatArray, mu: FloatArray, p: FloatArray) -> FloatArray:
    """Return b with sum_j mu_j max(C_ij - b_i mu_j, 0) = p_i, row by row."""
    order = np.argsort(-(C / mu), axis=1)
    c, m = np.take_along_axis(C, order, 1), mu[order]
    b = (np.cumsum(m * c, axis=1) - p[:, None]) / np.cumsum(m * m, axis=1)
    count = np.maximum(1, (c > b * m).sum(axis=1))
    return np.asarray(np.take_along_axis(b, count[:, None] - 1, 1)[:, 0])
