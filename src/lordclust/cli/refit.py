"""``lordclust refit``: a saved model for new data, with the numbers of its clusters."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lordclust.cli.exits import interruptible
from lordclust.cli.options import (
    FitRequest,
    InputOptions,
    ResultOptions,
    clusters,
    input_options,
    request_options,
    result_options,
)
from lordclust.cli.outputs import Outputs
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from lordclust.cli.preparation import Preparation
    from lordclust.cli.samples import Samples
    from lordclust.cli.saved import SavedModel

LOG = logging.getLogger(__name__)
#: Options that replace parameters of the model.
REPLACED = ("proportions", "cluster_sizes", "size_min", "size_max", "outliers")


@click.command()
@click.argument("model_", metavar="MODEL")
@click.argument("input_", metavar="INPUT")
@click.option(
    "-k",
    "--clusters",
    "k",
    type=lambda value: (clusters(value),),  # not given differs from auto, which is None
    metavar="K|auto",
    help="Number of clusters; by default that of MODEL.",
)
@click.option(
    "--add",
    is_flag=True,
    help="INPUT has new samples only: cluster them with those that MODEL contains.",
)
@request_options(
    "n_clusters", "strength", "rounding", "tau", "affinity", "neighbors", "seed"
)
@input_options("precomputed", "drop", "categorical", "missing")
@result_options
def refit(
    model_: str,
    input_: str,
    k: tuple[int | None] | None,
    add: bool,
    request: FitRequest,
    reading: InputOptions,
    wanted: ResultOptions,
) -> None:
    """Fit MODEL, made by `lordclust fit`, to the samples in INPUT.

    For data that arrive every month. Clusters are found again, and keep the numbers
    and names of those with which they have the most samples in common; further ones
    get further numbers. Columns are read, filled and scaled as for MODEL. How many
    samples changed their cluster is printed, and the output has a column `before`
    with the old cluster, -1 if there was none.

    INPUT has all samples, old and new; with --add only new ones. Options that are
    not given are those of MODEL.

    \b
      lordclust fit may.csv -k 4 -o may-labels.csv --model may.lord
      lordclust refit may.lord june.csv -o june-labels.csv --model june.lord
    """
    from lordclust.cli.fit import check_named, run_writers

    outputs = Outputs(wanted.targets, (model_, input_), force=wanted.force)
    outputs.need_files("--model", "--report")
    from lordclust.cli import pages, summary
    from lordclust.cli.fitting import fit_shown
    from lordclust.cli.saved import SavedModel
    from lordclust.cli.tables import check_formats, sample_writers
    from lordclust.methods._refit import keep_numbers

    check_formats(outputs, "--output", "--proba", "--profiles")
    with Display(quiet=wanted.quiet) as display, interruptible() as interrupts:
        display.stage(f"Reading {model_}")
        saved = SavedModel.read(model_)
        estimator = _unfitted(saved, k, request)
        check_named(wanted.names, estimator.n_clusters or None)
        display.stage(f"Reading {input_}")
        new, preparation = _read(saved, input_, reading, wanted.join)
        samples = saved.with_fitted(new) if add else new
        fitted = fit_shown(estimator, samples, display, interrupts)
        interrupted = interrupts.requested
        old = len(samples.ids) - len(new.ids)
        rows = range(old) if add else None
        fixed = samples.known is not None
        keep_numbers(saved.model, estimator, samples.X, rows, fixed=fixed)
        extras = getattr(estimator, "extras_", None) or {}
        wanted = replace(wanted, names=wanted.names or extras.get("clusters"))
        method = type(estimator).__name__.lower()
        run = summary.Run(method, None, samples, preparation, fitted, interrupted)
        path = None
        if "--report" in outputs:
            path = pages.path_around(estimator, samples, display, interrupts)
        writers = run_writers(run, path, wanted) | sample_writers(
            new, estimator.labels_[old:], estimator.membership_[old:],
            names=wanted.names, join=wanted.join,
            before=estimator.change_.old_labels[old:],
        )  # fmt: skip
        outputs.write(writers, interrupts)
    lines = [*summary.lines(run), str(estimator.change_)]
    outputs.finish(writers, *lines, quiet=wanted.quiet)
    if interrupted:
        interrupts.end("Interrupted; the best result so far has been kept.")
    interrupts.end()


def _unfitted(
    saved: SavedModel, k: tuple[int | None] | None, request: FitRequest
) -> Any:
    """Return the model to fit; raise an error if the saved one cannot be compared."""
    from sklearn.base import clone

    from lordclust.files import InputError

    model = saved.model
    if not hasattr(model, "refit"):
        raise InputError(
            saved.path,
            f"{type(model).__name__} cannot keep the numbers of its clusters. Use a "
            "model of blord or lord, or `lordclust fit`.",
        )
    if model._samples is None:
        raise InputError(
            saved.path,
            "it contains no samples, to which the new ones could be compared: it was "
            "fitted to similarities, or saved with samples=False. Use `lordclust fit`.",
        )
    estimator = clone(model)
    if k is not None:
        estimator.set_params(n_clusters=k[0])
    given = {name: getattr(request, name) for name in (*REPLACED, "jobs")}
    given["n_jobs"] = given.pop("jobs")
    known = estimator.get_params()
    for name, value in given.items():
        if value is not None and name not in known:
            raise click.UsageError(
                f"{type(model).__name__} has no --{name.replace('_', '-')}. Leave it "
                "out."
            )
        if value is not None:
            estimator.set_params(**{name: value})
    return estimator


def _read(
    saved: SavedModel, source: str, reading: InputOptions, join: bool
) -> tuple[Samples, Preparation]:
    """Return the samples in INPUT, prepared as for the model, and how."""
    from lordclust.cli.preparation import Preparation

    samples = saved.samples(source, reading, join=join)
    if saved.weight is not None and samples.weight is None:
        LOG.info("%s", f"{saved.path}: it was fitted with sample weights; those of "
                 f"{source} are 1. Pass --weight-column for others.")  # fmt: skip
    if saved.preparation is not None:
        return samples, saved.preparation
    return Preparation.fit(samples, "error", "none")
