"""What ``lordclust fit`` computes and writes."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from lordclust import files
from lordclust._core.validation import is_auto
from lordclust.cli import summary, tables
from lordclust.cli.estimator import Fitted, fit_model, make_estimator
from lordclust.cli.exits import Failure, Interrupts
from lordclust.cli.options import Reading, Wishes, check_scale, is_precomputed
from lordclust.cli.outputs import Outputs
from lordclust.cli.pages import path_around, write_page
from lordclust.cli.progress import Display, Hearing
from lordclust.cli.samples import Samples, read_input
from lordclust.cli.scaling import Scaling


@dataclass(frozen=True)
class FitRun:
    """A fitted model with what it was fitted to."""

    method: str
    seed: int | None
    samples: Samples
    scaling: Scaling | None
    fitted: Fitted
    interrupted: bool

    @cached_property
    def document(self) -> dict[str, Any]:
        """The facts of the run."""
        return summary.facts(
            self.fitted,
            self.samples,
            method=self.method,
            seed=self.seed,
            scaling=self.scaling,
            interrupted=self.interrupted,
        )

    def facts(self) -> dict[str, Any]:
        """What the report says beside the model."""
        kept = {name: self.document.get(name) for name in ("seconds", "acc", "nmi")}
        known = {name: value for name, value in kept.items() if value is not None}
        if self.interrupted:
            known["interrupted"] = "yes, this is the best result so far"
        return {"input": self.samples.source, **known, **self.document["versions"]}

    @property
    def n_paths(self) -> int:
        """How many paths were followed, each with a checkpoint of its own."""
        return len(getattr(self.fitted.model, "all_objectives_", "1"))

    @property
    def membership(self) -> Any:
        """Probabilities, None for a method without."""
        return getattr(self.fitted.model, "membership_", None)

    def lines(self) -> list[str]:
        """What to tell a person."""
        return summary.lines(self.document, self.samples)

    def label_columns(self) -> dict[str, Any]:
        """The table of labels."""
        labels = self.fitted.model.labels_
        return tables.label_columns(self.samples, labels, self.membership)

    def probability_columns(self) -> dict[str, Any]:
        """The table of probabilities."""
        return tables.probability_columns(self.samples, self.membership)

    def print_to_stdout(self, outputs: Outputs) -> None:
        """Print what was asked for on stdout, when all files are there."""
        if outputs.to_stdout("--json"):
            click.echo(summary.to_json(self.document), nl=False)
        if outputs.to_stdout("--output"):
            files.write_table("-", self.label_columns())
        if outputs.to_stdout("--proba"):
            files.write_table("-", self.probability_columns())
        sys.stdout.flush()


def check_wishes(
    method: str, wishes: Wishes, reading: Reading, scale: str, outputs: Outputs
) -> None:
    """Refuse, before anything is read, what cannot be."""
    precomputed = is_precomputed(wishes, reading)
    model = make_estimator(method, wishes, precomputed=precomputed)
    check_scale(scale, wishes, reading)
    if outputs.checkpoint is not None:
        _check_path(method, model)
    if "--model" in outputs and not hasattr(model, "save"):
        raise click.UsageError(
            f"Models of the method {method} cannot be saved. Use blord or lord, or "
            "leave --model out."
        )
    tables.check_formats(outputs, "--output", "--proba")
    if outputs.to_stdout("--model") or outputs.to_stdout("--report"):
        raise click.UsageError("--model and --report need a file, not stdout.")


def _check_path(method: str, model: Any) -> None:
    """Refuse a checkpoint where no single path is followed."""
    if "checkpoint" not in inspect.signature(model.fit).parameters:
        raise click.UsageError(
            f"The method {method} follows no path that --checkpoint could keep. Use "
            "blord or lord, or leave it out."
        )
    chosen = [n for n in ("tau", "proportions") if is_auto(getattr(model, n, None))]
    if chosen:
        raise click.UsageError(
            "--checkpoint keeps a path to one tau, but "
            f"{' and '.join(f'--{name} auto' for name in chosen)}, the default, "
            "compares many. Give for example --tau 0.3 --proportions equal, or leave "
            "--checkpoint out."
        )


def run_fit(
    source: str,
    method: str,
    wishes: Wishes,
    reading: Reading,
    scale: str,
    display: Display,
    interrupts: Interrupts,
    checkpoint: str | None = None,
) -> FitRun:
    """Read, scale and fit; after Ctrl-C with the best result so far."""
    samples, scaling = read_input(source, wishes, reading, scale, display)
    model = make_estimator(method, wishes, precomputed=samples.precomputed)
    text = f"Fitting {type(model).__name__} to {samples.count}"
    joins = getattr(model, "takes_graph", False) and not samples.precomputed
    display.stage(f"Joining neighbours among {samples.count}" if joins else text, 1.0)
    fitted = fit_model(model, samples, Hearing(text, display, interrupts), checkpoint)
    asked = interrupts.asked
    return FitRun(method, wishes.seed, samples, scaling, fitted, interrupted=asked)


def write_fit(
    run: FitRun, outputs: Outputs, display: Display, interrupts: Interrupts
) -> None:
    """Write the files asked for: all of them, or none."""
    if "--proba" in outputs and run.membership is None:
        raise Failure(f"The method {run.method} gives no probabilities for --proba.")
    model, path = run.fitted.model, None
    if "--report" in outputs:
        path = path_around(model, run.samples, display, interrupts)
    with outputs.together(interrupts) as names:
        if "--output" in names:
            tables.write_file(names["--output"], run.label_columns())
        if "--proba" in names:
            tables.write_file(names["--proba"], run.probability_columns())
        if "--model" in names:
            _save(run, names["--model"])
        if "--json" in names:
            with files.whole_file(names["--json"], force=True, text=True) as file:
                file.write(summary.to_json(run.document))
        if "--report" in names:
            display.stage("Drawing the report")
            page = names["--report"]
            write_page(page, model, path, run.samples, facts=run.facts())


def _save(run: FitRun, path: Path) -> None:
    """Save the model, and what predict must know beside it."""
    scaling, names = run.scaling, run.samples.names
    extras = {
        "scaling": None if scaling is None else scaling.to_json(),
        "names": names,
    }
    run.fitted.model.save(path, force=True, extras=extras)
