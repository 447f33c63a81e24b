"""Fits with all that a user may demand, and what can follow: refits, layers, files."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from lordclust import BLoRD, LoRD, layers
from lordclust._core.typing import IntArray
from qa.fuzz import strategies
from qa.fuzz.outcome import (
    Broken,
    Outcome,
    recorded_warnings,
    require,
    require_finite,
    require_refusal,
)
from qa.fuzz.strategies import SEEDS
from qa.fuzz.targets import graph

SECONDS = 60.0
_ODDITIES: dict[str, list[Any]] = {
    "model": ["LoRD"],
    "values": ["few", "few", "same", "line", "far"],
    "constant": [True],
    "sparse": ["csr"],
    "outliers": [0.1, 0.25, "auto", 0.0, 0.9, 1.0, "no", "marked"],
    "size_min": [1, 2, 3, 0.1, 7, "each", -1, 100],
    "size_max": [2, 4, 8, 12, 0.5, 100, 0],
    "sizes": ["even", "uneven", "wrong"],
    "proportions": [None, "equal", "uneven", "soft"],
    "links": ["hard", "hard", "no"],
    "must_link": [1, 2, 6, 15],
    "cannot_link": [1, 2, 6, 15],
    "known": [0.2, 0.5, 1.0],
    "weights": ["zeros", "whole", "wild", "nothing", "negative"],
    "tau": [0.2, 0.7, 1.0],
    "start": ["labels", "random", "path"],
    "rounding": ["exact"],
    "proba_top": [1, 2],
    "dtype": ["float32"],
    "k": [None, None, 1, 30, 0],
    "metric": ["cosine", "gower"],
}
#: The parameters of the constructor that a case may hold as they are.
_PARAMETERS = ("outliers", "size_min", "size_max", "links", "tau", "rounding",
               "proba_top", "dtype", "metric")  # fmt: skip


def prepare() -> None:
    """Compile the solvers."""
    for then in THEN:
        for dtype in ("float64", "float32"):
            check({"n": 14, "d": 2, "k": 2, "seed": 0, "then": then, "dtype": dtype})


def cases() -> Any:
    """Return samples, demands, and what follows the fit."""
    usual = {
        "n": st.integers(2, 26),
        "d": st.sampled_from([1, 2, 3]),
        "k": st.integers(1, 4),
        "seed": SEEDS,
        "then": st.sampled_from(list(THEN)),
    }
    return strategies.cases(usual, _ODDITIES)


def check(case: dict[str, Any]) -> Outcome:
    """Fit a model, and do what follows; demands must be met, or refused."""
    rng, then = np.random.default_rng(case["seed"]), case["then"]
    names = ("n", "d", "seed", "values", "constant", "sparse")
    X = graph.samples({name: case[name] for name in names if name in case})
    if "values" not in case and not sparse.issparse(X):  # groups, not one cloud
        X = X + 4.0 * rng.integers(0, case["k"] or 3, len(X))[:, None]
    try:
        with recorded_warnings():
            parameters, given = _parameters(case, rng), _given(case, rng)
            model = {"LoRD": LoRD}.get(case.get("model", ""), BLoRD)(**parameters)
            model.fit(X, **given)
            _check_fit(model, case, given)
            THEN[then](model, X, case, rng)
    except AssertionError:
        raise
    except Exception as error:
        require_refusal(error)
        return Outcome(then, "refused")
    return Outcome(then, "done")


def _parameters(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return the parameters of the constructor."""
    n, k = case["n"], case["k"] or 3
    found = {name: case[name] for name in _PARAMETERS if name in case}
    found |= {"n_clusters": case["k"], "n_jobs": 1, "random_state": 0}
    if case.get("outliers") == "marked":
        found["outliers"] = rng.random(n) < 0.2
    if case.get("size_min") == "each":
        found["size_min"] = rng.integers(0, 4, k)
    if "sizes" in case:
        cuts = np.sort(rng.integers(0, n + 1, k - 1))
        uneven = np.diff(np.r_[0, cuts, n])
        even = np.full(k, n // k) + (np.arange(k) < n % k)
        sizes = {"even": even, "uneven": uneven, "wrong": even + 1}
        found["cluster_sizes"] = sizes[case["sizes"]]
    if "proportions" in case:
        shares = rng.dirichlet(np.full(k, 3.0))
        found["proportions"] = {"uneven": shares, "soft": (shares, 0.1)}.get(
            case["proportions"], case["proportions"]
        )
    if "start" in case:
        labels = rng.integers(-1, k, n)
        found["start"] = labels if case["start"] == "labels" else case["start"]
    return found


def _given(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments of ``fit``."""
    n, k, found = case["n"], case["k"] or 3, {}
    for name in ("must_link", "cannot_link"):
        if name in case:
            found[name] = rng.integers(0, n, (case[name], 2))
    if "known" in case:
        known = np.where(rng.random(n) < case["known"], rng.integers(0, k, n), -1)
        found["known_labels"] = known
    if "weights" in case:
        found["sample_weight"] = {
            "zeros": rng.integers(0, 2, n).astype(float),
            "whole": rng.integers(1, 4, n).astype(float),
            "wild": 10.0 ** rng.uniform(-6, 6, n),
            "nothing": np.zeros(n),
            "negative": rng.standard_normal(n),
        }[case["weights"]]
    return found


def _check_fit(model: Any, case: dict[str, Any], given: dict[str, Any]) -> None:
    """Fail unless labels and memberships are valid, and all demands are met."""
    n, k, labels = case["n"], model.n_clusters_, model.labels_
    P = model.membership_
    require(P.shape == (n, k), "there is one row per sample", P.shape)
    require_finite(P, "membership")
    require(np.abs(P.sum(axis=1) - 1).max() < 1e-5, "rows sum to 1")
    require_finite(model.uncertainty_, "the uncertainty")
    require(labels.min() >= -1 and labels.max() < k, "labels are clusters")
    require((labels >= 0).all() or "outliers" in case, "only outliers have no cluster")
    sizes = np.bincount(labels[labels >= 0], minlength=k)
    require(np.array_equal(model.sizes_, sizes), "sizes_ counts the labels")
    _check_demands(model, case, given, labels)


def _check_demands(
    model: Any, case: dict[str, Any], given: dict[str, Any], labels: IntArray
) -> None:
    """Fail unless the demands that were accepted are met."""
    n, sizes, inside = case["n"], model.sizes_, labels >= 0
    share = case.get("outliers")
    if isinstance(share, float) and "known" not in case:
        require((~inside).sum() == round(share * n), "the share is left out", share)
    if "sizes" in case:
        wanted = np.asarray(model.cluster_sizes)
        require(np.array_equal(sizes, wanted), "sizes are met", (sizes, wanted))
    weightless = (given.get("sample_weight", np.ones(n)) == 0).any()
    if not weightless:  # of weight 0: they join a cluster after the fit
        rows = int(inside.sum())
        for name, sign in (("size_min", 1), ("size_max", -1)):
            bound = getattr(model, name)
            if bound is not None:
                bound = np.asarray(bound)
                most = bound * rows if bound.dtype.kind == "f" else bound
                off = sign * (np.sort(np.broadcast_to(most, sizes.shape))
                              - np.sort(sizes))  # fmt: skip
                require(off.max() < 1, f"{name} is met", (sizes, bound))
    known = given.get("known_labels")
    if known is not None and "rounding" not in case and "sizes" not in case:
        kept = (labels == known) | (known < 0) | ~inside
        require(kept.all(), "known labels are kept", (labels, known))
    if case.get("links") == "hard" and not weightless:
        for name, equal in (("must_link", True), ("cannot_link", False)):
            pairs = given.get(name, np.empty((0, 2), dtype=int))
            pairs = pairs[inside[pairs].all(axis=1)]
            same = np.equal(*labels[pairs].T)
            require((same == equal).all(), f"{name} is met", pairs[same != equal])


def _predict(model: Any, X: Any, case: dict[str, Any], rng: Any) -> None:
    """Predict near and far samples."""
    new = X if sparse.issparse(X) else X + rng.standard_normal(X.shape)
    P = model.predict_proba(new)
    require_finite(P, "the probabilities")
    require(np.abs(P.sum(axis=1) - 1).max() < 1e-5, "probabilities sum to 1")
    labels = model.predict(new, outliers=True)
    require(labels.max() < model.n_clusters_, "predicted labels are clusters")
    require_finite(model.novelty(new), "the novelty")


def _save(model: Any, X: Any, case: dict[str, Any], rng: Any) -> None:
    """Save and load."""
    with tempfile.TemporaryDirectory(prefix="fit-") as folder:
        model.save(Path(folder, "m.lord"))
        try:
            again = type(model).load(Path(folder, "m.lord"))
        except ValueError as error:
            raise Broken("a saved model can be loaded", error) from error
    require(np.array_equal(again.labels_, model.labels_), "labels survive a file")
    same = abs(again.membership_ - model.membership_).max() == 0
    require(same, "memberships survive a file in every bit")
    require(np.array_equal(again.predict(X), model.predict(X)), "predictions as well")


def _refit(model: Any, X: Any, case: dict[str, Any], rng: Any) -> None:
    """Fit other data, with the numbers of the old clusters."""
    n = case["n"]
    part = X[: max(2, n // 2)]
    rows = np.where(np.arange(n) < part.shape[0], np.arange(n), -1)
    again = model.refit(part, rows=rows if rng.random() < 0.5 else None)
    k = again.n_clusters_
    require(np.array_equal(again.change_.now, again.labels_), "the change ends here")
    require(str(again.change_).isprintable() or "\n" in str(again.change_),
            "the change is a text")  # fmt: skip
    require(again.membership_.shape == (part.shape[0], k), "memberships are new")
    own = np.bincount(again.labels_[again.labels_ >= 0], minlength=k)
    require(np.array_equal(own, again.sizes_), "sizes are renumbered")
    if case.get("tau") is None and not sparse.issparse(again.membership_):
        rows = np.flatnonzero(again.labels_ >= 0)
        mean = again.membership_[rows].mean(axis=0)
        require_finite(mean, "the mean membership")


def _same(model: Any, X: Any, case: dict[str, Any], rng: Any) -> None:
    """Refit to the same data: nothing changes."""
    if {"known", "must_link", "cannot_link", "weights"} & set(case):
        return  # arguments of the first fit
    again = model.refit(X, rows=np.arange(case["n"]))
    require(not len(again.change_.moved), "the same data give the same clusters",
            (model.labels_, again.labels_))  # fmt: skip


def _layers(model: Any, X: Any, case: dict[str, Any], rng: Any) -> None:
    """Nest clusterings around the fitted one."""
    if isinstance(model, LoRD):
        model = BLoRD(model.n_clusters_, n_jobs=1).fit(X)
    found = layers(model, 5)
    inside = model.labels_ >= 0
    for k in range(1, len(found.labels) + 1):
        level = found.at(k)
        require(np.array_equal(level >= 0, inside), "outliers stay")
        if k > 1:
            pairs = {*zip(level[inside], found.at(k - 1)[inside], strict=True)}
            require(len(pairs) == k, "each level is inside the coarser one")


def _from_labels(model: Any, X: Any, case: dict[str, Any], rng: Any) -> None:
    """Take over random labels, some of them noise."""
    labels = rng.integers(-1, 4, case["n"])
    again = BLoRD.from_labels(X, labels, noise=str(rng.choice(["join", "keep"])))
    kept = labels >= 0
    require(np.array_equal(again.labels_[kept], labels[kept]), "given labels stay")
    require_finite(again.membership_, "membership")


THEN: dict[str, Any] = {
    "predict": _predict,
    "save": _save,
    "refit": _refit,
    "same again": _same,
    "layers": _layers,
    "from labels": _from_labels,
}
