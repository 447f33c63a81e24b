"""From options to a fitted model."""

from __future__ import annotations

import inspect
import time
import warnings
from contextlib import nullcontext
from typing import Any, NamedTuple

import click

from lordclust._core.validation import unknown_name
from lordclust.cli.options import Wishes
from lordclust.cli.samples import Samples
from lordclust.methods._callbacks import Listener, heard_by
from lordclust.registry import METHODS


class Fitted(NamedTuple):
    """A model, how long it took, and what it warned of."""

    model: Any
    seconds: float
    warnings: list[str]


def make_estimator(
    method: str, wishes: Wishes, *, precomputed: bool, lenient: bool = False
) -> Any:
    """Return the estimator of a method with what the user wished for.

    What the method does not have is refused, or left out if ``lenient``.
    """
    if method not in METHODS:
        raise click.UsageError(str(unknown_name("method", method, METHODS)))
    kind = METHODS[method].load()
    params = kind().get_params()
    wanted = _wanted(method, wishes, precomputed)
    for name, option in wanted:
        if name not in params and not lenient:
            raise click.UsageError(
                f"The method {method} has no {option}. Leave it out."
            )
    given = {name: value for (name, _), value in wanted.items() if name in params}
    if "random_state" in params and method not in ("blord", "lord"):
        given.setdefault("random_state", 0)
    return kind(n_clusters=wishes.n_clusters, **given)


def _wanted(
    method: str, wishes: Wishes, precomputed: bool
) -> dict[tuple[str, str], Any]:
    """Return parameters, with the option that each came from, and their values."""
    wanted = {
        ("proportions", "--proportions"): shares(method, wishes),
        ("tau", "--tau"): _tau(method, wishes),
        ("cluster_sizes", "--cluster-sizes"): wishes.cluster_sizes,
        ("rounding", "--rounding"): wishes.rounding,
        ("random_state", "--seed"): wishes.seed,
        ("affinity", "--affinity"): affinity(wishes, precomputed),
    }
    if wishes.jobs is not None:
        if wishes.jobs == 0:
            raise click.UsageError("--jobs 0 is no number of threads. Give 1 or more.")
        wanted["n_jobs", "--jobs"] = wishes.jobs
    return {key: value for key, value in wanted.items() if value is not None}


def shares(method: str, wishes: Wishes) -> Any:
    """Return proportions; B-LoRD chooses them if nothing else was said."""
    given, strength = wishes.proportions, wishes.strength
    if strength is not None:
        if given == "auto":
            raise click.UsageError(
                "--strength is for shares that you wish for, but --proportions auto "
                "chooses them. Give one of the two."
            )
        return (None if given == "equal" else given, strength)
    if given is None and method == "blord" and wishes.cluster_sizes is None:
        return "auto"
    return None if given == "equal" else given


def _tau(method: str, wishes: Wishes) -> Any:
    """Return tau; B-LoRD chooses it if nothing else was said."""
    return "auto" if wishes.tau is None and method == "blord" else wishes.tau


def affinity(wishes: Wishes, precomputed: bool) -> Any:
    """Return how features become similarities, if something was said."""
    if wishes.neighbors is None:
        return "precomputed" if precomputed else wishes.affinity
    if precomputed or wishes.affinity not in (None, "knn"):
        raise click.UsageError(
            "--neighbors is for the graph of nearest neighbours, which "
            f"{'--precomputed' if precomputed else f'--affinity {wishes.affinity}'} "
            "does not build. Leave one of them out."
        )
    from lordclust.graph import KNNGraph

    return KNNGraph(wishes.neighbors)


def fit_model(
    model: Any,
    samples: Samples,
    listener: Listener | None = None,
    checkpoint: str | None = None,
) -> Fitted:
    """Fit a model, and take down its warnings."""
    extras = {
        "sample_weight": (samples.weight, "--weight-column"),
        "known_labels": (samples.known, "--known-labels"),
        "checkpoint": (checkpoint, "--checkpoint"),
    }
    takes = inspect.signature(model.fit).parameters
    given = {name: v for name, (v, _) in extras.items() if v is not None}
    for name in given:
        if name not in takes:
            raise click.UsageError(
                f"{type(model).__name__} has no {extras[name][1]}. Leave it out."
            )
    heard = nullcontext() if listener is None else heard_by(model, listener)
    start = time.perf_counter()
    with heard, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", UserWarning)
        model.fit(samples.X, **given)
    texts = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    return Fitted(model, time.perf_counter() - start, texts)
