"""Labels from the graph, and the judge that compares them: ``Seeds``, ``Evidence``."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from lordclust import suggest_k
from lordclust.choose.evidence import Evidence
from lordclust.graph import KNNGraph
from lordclust.solver.seeds import Seeds, completed
from qa.fuzz import strategies
from qa.fuzz.outcome import (
    Outcome,
    recorded_warnings,
    require,
    require_finite,
    require_refusal,
)
from qa.fuzz.strategies import SEEDS
from qa.fuzz.targets import graph, path

SECONDS = 30.0
_ODDITIES: dict[str, list[Any]] = {
    "values": ["few", "same", "line", "far", "blocks", "ones", "negative", "identity",
               "two parts"],
    "density": [0.0, 0.05, 1.0],
    "exponent": [-200, -100, -20, 20, 100, 150],
    "dense": [True],
    "sparse": ["csr"],
    "constant": [True],
    "weights": ["wild", "zeros"],
    "k": [1, 24],
}  # fmt: skip
_SAMPLES = ("few", "same", "line", "far")
_LABELS = ("cut", "tree", "uneven_tree", "linkage", "gaps", "centres")


def prepare() -> None:
    """Compile what is needed."""
    for what in CHECKS:
        for given in ("graph", "samples"):
            check({"what": what, "given": given, "n": 9, "d": 2, "k": 2, "seed": 0})


def cases() -> Any:
    """Return graphs, with samples or without, and what is done with them."""
    usual = {
        "what": st.sampled_from([*CHECKS, "judge", "seeds"]),
        "given": st.sampled_from(["graph", "samples"]),
        "n": st.integers(2, 24),
        "d": st.sampled_from([1, 2, 3, 20]),
        "k": st.integers(1, 6),
        "seed": SEEDS,
    }
    return strategies.cases(usual, _ODDITIES)


def check(case: dict[str, Any]) -> Outcome:
    """Compute labels and scores; they must be valid."""
    rng, what = np.random.default_rng(case["seed"]), case["what"]
    case = case | {"k": min(case["k"], case["n"])}
    try:
        with recorded_warnings():
            CHECKS[what](case, *_input(case, rng), rng)
    except AssertionError:
        raise
    except Exception as error:
        require_refusal(error)
        return Outcome(what, "refused")
    return Outcome(what, "done")


def _input(case: dict[str, Any], rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Return S, and X and the local scales if there are samples."""
    from_samples = case["given"] == "samples"
    if (case.get("values") in _SAMPLES) != from_samples:
        case = {name: x for name, x in case.items() if name != "values"}
    if not from_samples:
        return path.graph(case, rng), None, None
    X = graph.samples(case)
    build = KNNGraph(min(3, case["n"] - 1))
    return build.build(X), X, build.scales_


def _seeds(case: dict[str, Any], S: Any, X: Any, scales: Any, rng: Any) -> None:
    """Check each kind of labels, and labels that are completed."""
    n, k, seeds = case["n"], case["k"], Seeds(S, case["k"], X, scales)
    for name in _LABELS:
        labels = getattr(seeds, name)
        if labels is not None:
            require(labels.shape == (n,), f"{name} has a label per sample")
            inside = labels.min() >= 0 and labels.max() < k
            require(inside, f"{name} are clusters", labels)
    given = np.where(rng.random(n) < 0.5, rng.integers(0, k, n), -1)
    given[rng.integers(n)] = 0
    found = completed(given, seeds)
    require(np.array_equal(found[given >= 0], given[given >= 0]), "given labels stay")
    require(found.min() >= 0 and found.max() < k, "all samples get a label")


def _judge(case: dict[str, Any], S: Any, X: Any, scales: Any, rng: Any) -> None:
    """Check that evidence is finite, and does not depend on names or on order."""
    n, k = case["n"], case["k"]
    weight = {
        None: None,
        "wild": 10.0 ** rng.uniform(-3, 3, n),
        "zeros": np.maximum(rng.integers(0, 2, n), np.arange(n) == 0).astype(float),
    }[case.get("weights")]
    labels, order = rng.integers(0, k, n), rng.permutation(n)
    score = Evidence(S, k, X, weight).score(labels)
    require_finite(score, "the evidence")
    require_finite(score.total, "the total")
    require(score.surprise >= 0, "the surprise is nonnegative", score)
    named = Evidence(S, k, X, weight).score(rng.permutation(k)[labels])
    require(named == score, "names do not matter", (score, named))
    if abs(case.get("exponent", 0)) > 20:
        return  # components at the limit of double precision
    moved = Evidence(
        S[order][:, order],
        k,
        None if X is None else X[order],
        None if weight is None else weight[order],
    ).score(labels[order])
    close = np.isclose(moved.total, score.total, rtol=1e-5, atol=1e-5)
    require(close, "the order does not matter", (score, moved))


def _number(case: dict[str, Any], S: Any, X: Any, scales: Any, rng: Any) -> None:
    """Check a suggested number of clusters."""
    given = S if X is None else X
    kind = "precomputed" if X is None else "knn"
    ks = None if rng.random() < 0.5 else range(1, 1 + min(5, case["n"]))
    found = suggest_k(given, ks, affinity=kind, n_jobs=1)
    require(found.best_k in (ks or range(1, case["n"] + 1)), "the number is in range")
    require(str(found), "the suggestion is a text")


CHECKS: dict[str, Any] = {"seeds": _seeds, "judge": _judge, "number": _number}
