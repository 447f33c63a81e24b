"""The report of a model, with the path in tau that it lies on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lordclust._core.typing import Graph, IntArray
from lordclust.cli.exits import Interrupts
from lordclust.cli.progress import Display
from lordclust.cli.samples import Samples
from lordclust.cli.summary import sizes_of
from lordclust.cli.tables import Row
from lordclust.methods.layers import Layers
from lordclust.profiles import Profiles, make_profiles
from lordclust.report import inline, write_report
from lordclust.result import TauPath


def profiles_of(
    model: Any, samples: Samples, names: Sequence[str] | None = None
) -> Profiles:
    """Return the profiles of the clusters, in the units of INPUT."""
    P = getattr(model, "membership_", None)
    return _profiles(model.labels_, len(sizes_of(model)), P, samples, names)


def _profiles(
    labels: IntArray,
    k: int,
    P: Graph | None,
    samples: Samples,
    names: Sequence[str] | None = None,
) -> Profiles:
    """Return the profiles of k clusters, in the units of INPUT."""
    named = list(zip(samples.names or (), samples.kinds or (), strict=False))
    return make_profiles(
        None if samples.precomputed else samples.raw,
        labels,
        k,
        P=P,
        weight=samples.weight,
        feature_names=None if samples.precomputed else samples.names,
        names=names,
        ids=samples.ids.tolist(),
        dates=[name for name, kind in named if kind.startswith("date")],
        percents=[name for name, kind in named if kind.startswith("percent")],
    )


def write_page(
    file: str,
    force: bool,
    model: Any,
    path: TauPath | None,
    samples: Samples,
    *,
    facts: dict[str, object],
    comparison: list[Row] | None = None,
    names: Sequence[str] | None = None,
    title: str | None = None,
) -> None:
    """Write the report of a model, or of nested clusters."""
    profiles: Profiles | list[Profiles]
    if isinstance(model, Layers):
        levels = enumerate(model.labels, 1)
        profiles = [
            _profiles(labels, k, model.membership(k), samples) for k, labels in levels
        ]
    else:
        profiles = profiles_of(model, samples, names)
    if path is None and hasattr(model, "tau_") and not inline.is_small(model):
        facts = facts | {"slider": f"none above {inline.SLIDER_UP_TO:,} probabilities"}
    write_report(
        file,
        model,
        path,
        samples.features,
        ids=samples.ids.tolist(),
        names=samples.names,
        labels=samples.labels,
        profiles=profiles,
        title=title,
        comparison=comparison,
        facts=facts,
        force=force,
    )


def path_around(
    model: Any, samples: Samples, display: Display, interrupts: Interrupts
) -> TauPath | None:
    """Return the path in tau for the model's shares, or None if it has no path.

    Ctrl-C ends it early; after an earlier Ctrl-C there is no path.
    """

    def at(tau: float) -> bool:
        display.at(tau)
        return interrupts.requested

    path = None
    if inline.has_slider(model) and not interrupts.requested:
        interrupts.keep()
        display.stage("Following tau for the report", total=inline.TAUS[-1])
        path = inline.path_around(model, samples.known, at)
    display.stage("Drawing the report")
    return path
