"""From options to a fitted model."""

from __future__ import annotations

import inspect
import time
import warnings
from contextlib import nullcontext
from typing import Any, NamedTuple, Protocol

import click
from scipy import sparse

from lordclust._core.compiling import CLOCK
from lordclust._core.typing import IntArray
from lordclust._core.validation import unknown_name
from lordclust.cli.exits import Interrupts
from lordclust.cli.links import NONE, Pairs
from lordclust.cli.options import FitRequest, counted
from lordclust.cli.progress import Display, FitProgress
from lordclust.cli.samples import Samples
from lordclust.files import InputError
from lordclust.graph import KNNGraph
from lordclust.methods._callbacks import Listener, heard_by
from lordclust.registry import METHODS


class Estimator(Protocol):
    """The attributes of every method that the commands use."""

    n_clusters: int | None
    takes_graph: bool
    labels_: IntArray
    objective_: float
    converged_: bool
    n_iter_: int

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""


class Fitted(NamedTuple):
    """A model, how long the fit took, and its warnings."""

    model: Estimator
    seconds: float
    warnings: list[str]


def check_method(name: str) -> str:
    """Return the name of a method; raise an error if it does not exist."""
    if name not in METHODS:
        raise click.UsageError(str(unknown_name("method", name, METHODS)))
    return name


def parameters(
    method: str, request: FitRequest, *, precomputed: bool, lenient: bool = False
) -> dict[str, Any]:
    """Return the parameters that ``make_method`` takes for a request.

    An option that the method lacks raises an error, or is left out if ``lenient``.
    """
    if request.jobs == 0:
        raise click.UsageError("--jobs must be a positive integer, or -1, got 0.")
    tau = "auto" if request.tau is None and method == "blord" else request.tau
    options: dict[str, tuple[str, object]] = {
        "proportions": ("--proportions", shares(request, auto=method == "blord")),
        "tau": ("--tau", tau),
        "cluster_sizes": ("--cluster-sizes", request.cluster_sizes),
        "size_min": ("--size-min", request.size_min),
        "size_max": ("--size-max", request.size_max),
        "rounding": ("--rounding", request.rounding),
        "outliers": ("--outliers", request.outliers),
        "random_state": ("--seed", request.seed),
        "affinity": ("--affinity", affinity(request, precomputed)),
        "n_jobs": ("--jobs", request.jobs),
    }
    if precomputed and not lenient and METHODS[method].takes == "features":
        raise click.UsageError(
            f"The method {method} needs features, but INPUT contains similarities. Use "
            "another method, or pass features."
        )
    sized = request.proportions not in (None, "auto") or request.cluster_sizes
    if method != "blord" or sized:
        counted(request)
    known = METHODS[method].load()().get_params()
    given: dict[str, Any] = {"n_clusters": request.n_clusters}
    if "random_state" in known and method not in ("blord", "lord"):
        given["random_state"] = 0
    for name, (option, value) in options.items():
        if value is not None and name in known:
            given[name] = value
        elif value is not None and not lenient:
            raise click.UsageError(
                f"The method {method} has no {option}. Leave it out."
            )
    return given


def shares(request: FitRequest, *, auto: bool = False) -> object:
    """Return proportions; by default None, or "auto"."""
    given, strength = request.proportions, request.strength
    if strength is not None:
        if given == "auto":
            raise click.UsageError(
                "--strength is for given shares, but --proportions auto chooses them. "
                "Use one of the two."
            )
        return (None if given == "equal" else given, strength)
    if given is None and auto and request.cluster_sizes is None:
        return "auto"
    return given


def affinity(request: FitRequest, precomputed: bool) -> str | KNNGraph | None:
    """Return the affinity, or None if no option determines it."""
    if request.neighbors is None:
        return "precomputed" if precomputed else request.affinity
    if precomputed or request.affinity not in (None, "knn"):
        other = "--precomputed" if precomputed else f"--affinity {request.affinity}"
        raise click.UsageError(
            "--neighbors is for the graph of nearest neighbours, which "
            f"{other} does not build. Leave one of them out."
        )
    return KNNGraph(request.neighbors)


def fit_shown(
    model: Any,
    samples: Samples,
    display: Display,
    interrupts: Interrupts,
    checkpoint: str | None = None,
    pairs: Pairs = NONE,
) -> Fitted:
    """Fit a model, and show the progress; Ctrl-C keeps the result so far."""
    text = f"Fitting {type(model).__name__} to {samples.count}"
    builds_graph = getattr(model, "takes_graph", False) and not samples.precomputed
    graph = f"Finding the neighbours of {samples.count}"
    display.stage(graph if builds_graph else text, 1.0)
    progress = FitProgress(text, display, interrupts)
    return fit_model(model, samples, progress, checkpoint, pairs)


def fit_model(
    model: Any,
    samples: Samples,
    listener: Listener | None = None,
    checkpoint: str | None = None,
    pairs: Pairs = NONE,
) -> Fitted:
    """Fit a model, and collect its warnings; its time is without compilation."""
    extras = {
        "sample_weight": (samples.weight, "--weight-column"),
        "known_labels": (samples.known, "--known-labels"),
        "must_link": (pairs.must, "--must-link"),
        "cannot_link": (pairs.cannot, "--cannot-link"),
        "checkpoint": (checkpoint, "--checkpoint"),
    }
    accepted = inspect.signature(model.fit).parameters
    given = {name: value for name, (value, _) in extras.items() if value is not None}
    for name in given:
        if name not in accepted:
            raise click.UsageError(
                f"{type(model).__name__} has no {extras[name][1]}. Leave it out."
            )
    if sparse.issparse(samples.X) and not getattr(model, "takes_sparse", True):
        raise InputError(
            samples.source,
            f"its features are sparse, but {type(model).__name__} needs dense ones. "
            "Write them as npy or csv.",
        )
    listening = nullcontext() if listener is None else heard_by(model, listener)
    start, compiled = time.perf_counter(), CLOCK.seconds
    with listening, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", UserWarning)
        model.fit(samples.X, **given)
    texts = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    seconds = time.perf_counter() - start - (CLOCK.seconds - compiled)
    return Fitted(model, seconds, texts)
