"""The report of a model, with the path it lies on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lordclust.cli.exits import Interrupts
from lordclust.cli.progress import Display
from lordclust.cli.samples import Samples
from lordclust.report import write_report
from lordclust.result import TauPath
from lordclust.solver.tau_path import tau_path

#: Taus of the slider; above so many probabilities, n times k, there is none: each tau
#: keeps all of them.
TAUS = tuple(i / 20 for i in range(1, 21))
SLIDER_UP_TO = 2_000_000


def write_page(
    path: Path,
    model: Any,
    path_: TauPath | None,
    samples: Samples,
    *,
    facts: dict[str, Any],
    comparison: list[dict[str, Any]] | None = None,
) -> None:
    """Write the report; an existing file is replaced."""
    if path_ is None and hasattr(model, "tau_") and too_many(model, samples):
        facts = facts | {"slider": f"none above {SLIDER_UP_TO:,} probabilities"}
    write_report(
        path,
        model,
        path_,
        None if samples.precomputed else samples.X,
        ids=samples.ids.tolist(),
        names=samples.names,
        labels=samples.labels,
        comparison=comparison,
        facts=facts,
        force=True,
    )


def too_many(model: Any, samples: Samples) -> bool:
    """Tell whether the samples are too many for a slider."""
    return len(samples.ids) * len(model.sizes_) > SLIDER_UP_TO


def path_around(
    model: Any, samples: Samples, display: Display, interrupts: Interrupts
) -> TauPath | None:
    """Return the path in tau for the model's shares, None if it can have none.

    Ctrl-C ends it where it is; after an earlier one there is none.
    """
    if not hasattr(model, "tau_") or not hasattr(model, "affinity_matrix_"):
        return None
    if model.proportions_.min() <= 0 or too_many(model, samples):
        return None
    if interrupts.asked:
        return None
    interrupts.keep()
    display.stage("Following tau for the report", total=TAUS[-1])

    def at(tau: float) -> bool:
        display.at(tau)
        return interrupts.asked

    return tau_path(
        model.affinity_matrix_,
        len(model.proportions_),
        taus=TAUS,
        proportions=model.proportions_,
        sample_weight=getattr(model, "_weight", None),
        known_labels=samples.known,
        keep="all",
        n_jobs=model.n_jobs,
        callback=at,
    )
