"""``tau_path``, ``BLoRD`` and ``LoRD`` on small graphs of every kind."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lordclust import BLoRD, LoRD, tau_path
from qa.fuzz import strategies
from qa.fuzz.outcome import (
    Outcome,
    recorded_warnings,
    require,
    require_finite,
    require_refusal,
)
from qa.fuzz.strategies import SEEDS

SECONDS = 30.0
_ODDITIES: dict[str, list[Any]] = {
    "density": [0.0, 0.05, 1.0],
    "values": ["blocks", "ones", "negative", "identity", "two parts"],
    "exponent": [-300, -150, -20, 20, 150, 300],
    "odd": [float("nan"), float("inf"), 1e308, -1.0],
    "dense": [True],
    "dtype": ["float32", "float32", "float16"],
    "shares": ["uneven", "wild", "tiny", "bad"],
    "strength": [0.0, 0.1, 1.0, 1e6, float("inf"), -1.0],
    "weights": ["wild", "zeros", "nothing"],
    "known": ["some", "all of one", "bad"],
    "tau": [0.0, 1e-9, 0.2, 0.5, 1.0, 1.5, "n", "blocks"],
    "taus": [[0.5], [0.0, 1.0], [0.1, 0.1], [1e-6, 0.3, 0.6]],
    "max_iter": [1, 7, 50, 0],
    "tol": [1e-8, 1e-2, 0.0],
    "start": ["random", "random", "no"],
    "rounding": ["exact", "exact", "no"],
    "proba_top": [1, 2, 0],
}


def prepare() -> None:
    """Compile the solver for both models."""
    for kind in SOLVERS:
        for dtype in ("float64", "float32"):
            for dense in (True, False):
                check({"solve": kind, "n": 8, "k": 2, "seed": 0, "dtype": dtype,
                       "dense": dense})  # fmt: skip


def cases() -> Any:
    """Return graphs and options."""
    usual = {
        "solve": st.sampled_from(list(SOLVERS)),
        "n": st.integers(1, 24),
        "k": st.integers(1, 6),
        "seed": SEEDS,
    }
    return strategies.cases(usual, _ODDITIES)


def graph(case: dict[str, Any], rng: Any) -> Any:
    """Return the similarity of a case."""
    n = case["n"]
    mask = rng.random((n, n)) < case.get("density", 0.4)
    S = {
        "random": lambda: rng.random((n, n)) * mask,
        "blocks": lambda: np.equal.outer(np.arange(n) % 3, np.arange(n) % 3) * mask,
        "ones": lambda: np.ones((n, n)),
        "negative": lambda: rng.standard_normal((n, n)) * mask,
        "identity": lambda: np.eye(n),
        "two parts": lambda: np.kron(np.eye(2), np.ones((n, n)))[:n, :n],
    }[case.get("values", "random")]()
    S = np.triu(S) + np.triu(S, 1).T
    S = S * 10.0 ** case.get("exponent", 0)
    if "odd" in case:
        i, j = rng.integers(n, size=2)
        S[i, j] = S[j, i] = case["odd"]
    return S if case.get("dense") else sparse.csr_array(S)


def _options(case: dict[str, Any], rng: Any) -> dict[str, Any]:
    """Return the options that a fit and a path share."""
    n, k = case["n"], case["k"]
    shares = None
    if "shares" in case:
        shares = {
            "uneven": rng.dirichlet(np.ones(k)) + 1e-3,
            "wild": 10.0 ** rng.uniform(-4, 0, k),
            "tiny": 10.0 ** rng.uniform(-9, 0, k),
            "bad": rng.standard_normal(k),
        }[case["shares"]]
        shares = shares if case["shares"] == "bad" else shares / shares.sum()
    proportions = (shares, case["strength"]) if "strength" in case else shares
    weights = {
        None: None,
        "wild": 10.0 ** rng.uniform(-6, 6, n),
        "zeros": rng.integers(0, 2, n).astype(float),
        "nothing": np.zeros(n),
    }[case.get("weights")]
    known = {
        None: None,
        "some": np.where(rng.random(n) < 0.2, rng.integers(0, k, n), -1),
        "all of one": np.where(np.arange(n) < n // k, 0, -1),
        "bad": np.full(n, k),
    }[case.get("known")]
    return {
        "proportions": proportions,
        "sample_weight": weights,
        "known_labels": known,
        **{name: case[name] for name in ("max_iter", "tol", "start") if name in case},
    }


def _path(S: Any, case: dict[str, Any], options: dict[str, Any]) -> None:
    kind = {"dtype": "float32"} if case.get("dtype") == "float32" else {}
    path = tau_path(S, case["k"], taus=case.get("taus"), **options, **kind, n_jobs=1)
    require_finite(path.objectives, "the objectives")
    require_finite(path.residuals, "the residuals")
    small = path.residuals <= options.get("tol", 1e-4)
    require(not (path.converged & ~small).any(), "converged fits meet the tolerance")
    for P in path.memberships.values():
        _check_membership(P, case, options)


def _model(cls: Any, S: Any, case: dict[str, Any], options: dict[str, Any]) -> None:
    fitted = {name: options[name] for name in ("sample_weight", "known_labels")}
    given = {name: value for name, value in options.items() if name not in fitted}
    names = ("rounding", "proba_top", *(["tau"] if cls is BLoRD else []))
    given |= {name: case[name] for name in names if name in case}
    if case.get("dtype") == "float32":
        given["dtype"] = "float32"
    if case.get("start") == "random":
        given["n_init"] = 2
    model = cls(case["k"], affinity="precomputed", n_jobs=1, random_state=0, **given)
    with recorded_warnings() as caught:
        model.fit(S, **fitted)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    require(model.converged_ or warned, "a fit converged, or warns")
    require_finite(model.objective_, "the objective")
    require_finite(model.history_, "the history")
    require_finite(model.uncertainty_, "the uncertainty")
    require(model.sizes_.sum() == case["n"], "every sample has a label")
    P = model.membership_
    if "proba_top" in case:
        require_finite(P, "membership")
        require(np.abs(P.sum(axis=1) - 1).max() < 1e-6, "rows sum to 1")
    else:
        _check_membership(P, case, options)
    _check_labels(model.labels_, case, options)


def _check_membership(P: Any, case: dict[str, Any], options: dict[str, Any]) -> None:
    """Fail unless rows sum to 1, and columns to the shares where these are strict."""
    n, k = case["n"], case["k"]
    single = case.get("dtype") == "float32"
    tol = 2e-6 if single else 1e-9
    require(P.shape == (n, k), "there is one row per sample", P.shape)
    require_finite(P, "membership")
    require(P.min() >= 0, "memberships are nonnegative", P.min())
    require(np.abs(P.sum(axis=1) - 1).max() < tol, "rows sum to 1")
    if case.get("strength", np.inf) < np.inf:
        return
    shares, w = options["proportions"], options["sample_weight"]
    shares = shares[0] if "strength" in case else shares
    wanted = np.full(k, 1 / k) if shares is None else np.sort(shares / np.sum(shares))
    w = np.full(n, 1 / n) if w is None else w / w.sum()
    off = np.abs(np.sort(w @ P) - wanted).max()
    require(off < tol, "columns have their shares", off)


def _check_labels(labels: Any, case: dict[str, Any], options: dict[str, Any]) -> None:
    """Fail unless labels are clusters, and known ones are kept."""
    inside = labels.min() >= 0 and labels.max() < case["k"]
    require(labels.shape == (case["n"],) and inside, "labels are clusters")
    known = options["known_labels"]
    if known is not None and case.get("rounding") != "exact":
        kept = (labels == known) | (known < 0)
        require(kept.all(), "known labels are kept")


SOLVERS: dict[str, Any] = {
    "path": _path,
    "BLoRD": lambda *given: _model(BLoRD, *given),
    "LoRD": lambda *given: _model(LoRD, *given),
}


def check(case: dict[str, Any]) -> Outcome:
    """Solve a small problem; the result must be a membership."""
    rng, kind = np.random.default_rng(case["seed"]), case["solve"]
    with np.errstate(over="ignore", invalid="ignore"):
        S = graph(case, rng)
    if case.get("dtype") == "float16" and case.get("dense"):
        S = S.astype(np.float16)
    try:
        with recorded_warnings():
            SOLVERS[kind](S, case, _options(case, rng))
    except AssertionError:
        raise
    except Exception as error:
        require_refusal(error)
        return Outcome(kind, "refused")
    return Outcome(kind, "solved")
