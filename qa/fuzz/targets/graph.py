"""From samples to similarities, for samples of every kind."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from lordclust import graph
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
    "values": ["few", "same", "line", "far", "mixed"],
    "exponent": [-320, -300, -160, -8, 8, 150, 160, 300, 307],
    "dtype": ["f4", "i8", "u1", "bool", "f2", "O", "c16", "U3"],
    "sparse": ["csr", "csc", "coo"],
    "odd": [float("nan"), float("inf"), 1e308, -1e308, 1e-320, 0.0],
    "shape": [[], [3], [2, 2, 2], [0, 0]],
    "constant": [True],
    "n_neighbors": [1, 2, 5, 23, 0, -1, 10**9, 2.5, "3"],
    "metric": [
        "cosine",
        "manhattan",
        "inner_product",
        "precomputed",
        "chebyshev",
        "no",
    ],
    "include_self": [True, True],
    "scale_neighbor": [1, 3, 100, 0, -1, 2.5],
    "search": ["exact", "cells", "no"],
    "bandwidth": [1.0, 1e-300, 1e300, 0, -1, float("nan"), "w"],
}


def prepare() -> None:
    """Run every kind once."""
    for kind in BUILDERS:
        check({"build": kind, "n": 6, "d": 2, "seed": 0})


def cases() -> Any:
    """Return cases: how samples are generated, and what is built from them."""
    usual = {
        "build": st.sampled_from([*BUILDERS, "knn", "knn", "knn"]),
        "n": st.integers(0, 24),
        "d": st.sampled_from([1, 2, 3, 20, 0]),
        "seed": SEEDS,
    }
    return strategies.cases(usual, _ODDITIES)


def samples(case: dict[str, Any]) -> Any:
    """Return the samples of a case."""
    rng, n, d = np.random.default_rng(case["seed"]), case["n"], case["d"]
    X = rng.standard_normal((n, d))
    kind = case.get("values")
    if kind == "few":  # duplicates
        X = rng.integers(0, 2, (n, d)).astype(float)
    elif kind == "same":
        X = np.full((n, d), X[0, 0] if X.size else 0.0)
    elif kind == "line":
        X = np.outer(np.arange(n), np.ones(d))
    elif kind == "far":
        X += 1e12
    elif kind == "mixed":
        X *= 10.0 ** rng.integers(-150, 150, (n, d))
    with np.errstate(over="ignore", under="ignore"):
        X = X * 10.0 ** case.get("exponent", 0)
    if case.get("constant") and X.size:
        X[:, 0] = 7.0
    if "odd" in case and X.size:
        X[rng.integers(n), rng.integers(d)] = case["odd"]
    return _as_given(X, case)


def _as_given(X: Any, case: dict[str, Any]) -> Any:
    """Return samples in the type and shape of a case."""
    if "shape" in case:
        X = np.resize(X, case["shape"])
    if "dtype" in case:
        with np.errstate(all="ignore"):
            X = X.astype(case["dtype"])
    wants = "sparse" in case and X.ndim == 2 and X.dtype.kind in "fiub"
    if wants and X.dtype != np.float16:
        X = sparse.coo_array(X).asformat(case["sparse"])
    return X


def _knn(X: Any, case: dict[str, Any]) -> Any:
    names = ("n_neighbors", "metric", "include_self", "scale_neighbor", "search")
    given = {name: case[name] for name in names if name in case}
    return graph.KNNGraph(**given).build(X)


def _from_neighbors(X: Any, case: dict[str, Any]) -> Any:
    rng, n = np.random.default_rng(case["seed"]), case["n"]
    index = rng.integers(-1, max(1, n + (case["d"] == 20)), (n, max(1, case["d"])))
    d = X.toarray() if sparse.issparse(X) else X
    d = np.abs(d) if d.dtype.kind in "fiub" else d
    given = {
        name: case[name] for name in ("n_neighbors", "include_self") if name in case
    }
    return graph.KNNGraph(**given).from_neighbors(index, d)


def _gaussian(X: Any, case: dict[str, Any]) -> Any:
    return graph.gaussian_kernel(X, case.get("bandwidth"))


def _self_tuning(X: Any, case: dict[str, Any]) -> Any:
    return graph.self_tuning_kernel(X, case.get("scale_neighbor", 7))


def _linear(X: Any, case: dict[str, Any]) -> Any:
    return graph.linear_kernel(X)


def _square(X: Any, case: dict[str, Any]) -> Any:
    """Return a square matrix, symmetric or not."""
    n = min(X.shape) if X.ndim == 2 else 0
    S = X[:n, :n] if X.ndim == 2 else X
    return S if case.get("include_self") else graph.symmetrize(S)


def _precomputed(X: Any, case: dict[str, Any]) -> Any:
    X = X.tocsr() if sparse.issparse(X) else X
    return graph.make_affinity("precomputed", _square(X, case))


def _unit_sum(X: Any, case: dict[str, Any]) -> Any:
    X = X.tocsr() if sparse.issparse(X) else X
    S = graph.scale_to_unit_sum(graph.make_affinity("precomputed", _square(X, case)))
    require(abs(S.sum() - 1) < 1e-3, "the entries sum to 1")
    return S


#: Functions that build S, and whether its entries are weights from 0 to 1.
BUILDERS: dict[str, Any] = {
    "knn": (_knn, True),
    "neighbours": (_from_neighbors, True),
    "gaussian": (_gaussian, True),
    "self-tuning": (_self_tuning, True),
    "linear": (_linear, False),
    "precomputed": (_precomputed, False),
    "unit sum": (_unit_sum, False),
}


def check(case: dict[str, Any]) -> Outcome:
    """Build a graph: symmetric and finite, or refused with a message."""
    kind = case["build"]
    build, weights = BUILDERS[kind]
    X = samples(case)
    try:
        with recorded_warnings():
            S = build(X, case)
    except Exception as error:
        require_refusal(error)
        return Outcome(kind, "refused")
    _check_graph(S, weights)
    return Outcome(kind, "built")


def _check_graph(S: Any, weights: bool) -> None:
    """Fail unless S is a valid input of the solver."""
    require(S.ndim == 2 and S.shape[0] == S.shape[1], "S is square", S.shape)
    require_finite(S, "S")
    dense = S.toarray() if sparse.issparse(S) else S
    require(np.array_equal(dense, dense.T), "S is symmetric in every bit")
    if weights:
        require(dense.min() >= 0 and dense.max() <= 1, "weights are from 0 to 1")
    report = graph.component_report(S)
    require(1 <= report.n_components <= len(dense), "there are components")
