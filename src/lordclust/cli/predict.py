"""``lordclust predict``: new samples with a saved model."""

from __future__ import annotations

from typing import Any

import click

from lordclust.cli.exits import COMPLETE, INTERRUPTED, Failure, interruptible
from lordclust.cli.options import (
    Reading,
    force_option,
    numbers,
    quiet_option,
    reading_options,
)
from lordclust.cli.outputs import Outputs
from lordclust.cli.progress import Display


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("input_", metavar="INPUT")
@click.option("-o", "--output", metavar="FILE", help="Labels; by default to stdout.")
@click.option("--proba", metavar="FILE", help="Probability of every cluster.")
@click.option(
    "--proportions",
    type=numbers(float, "model"),
    metavar="A,B,...|FILE|model",
    help="Shares that the labels of this batch meet exactly; model: the fitted ones.",
)
@click.option(
    "--cluster-sizes",
    type=numbers(int),
    metavar="A,B,...|FILE",
    help="How many samples of this batch each cluster gets.",
)
@reading_options("weight_column", "known_labels", "precomputed")
@force_option
@quiet_option
def predict(
    model: str,
    input_: str,
    output: str | None,
    proba: str | None,
    proportions: Any,
    cluster_sizes: list[int] | None,
    reading: Reading,
    force: bool,
    quiet: bool,
) -> None:
    """Find the clusters of the samples in INPUT with a MODEL of `lordclust fit`.

    Each sample is treated alone, and scaled as those were that the model was fitted
    to. With --proportions or --cluster-sizes the labels of the whole batch meet
    them exactly.

    \b
      lordclust fit old.csv -k 3 -o labels.csv --model m.lord
      lordclust predict m.lord new.csv -o new-labels.csv
    """
    if proportions is not None and cluster_sizes is not None:
        raise click.UsageError("--proportions and --cluster-sizes exclude each other.")
    targets = {"--output": output or "-", "--proba": proba}
    outputs = Outputs(targets, (model, input_), force=force)
    from lordclust.cli.predict_run import Saved, predict_samples
    from lordclust.cli.tables import check_formats

    check_formats(outputs, "--output", "--proba")
    with Display(quiet=quiet) as display, interruptible() as interrupts:
        saved = Saved.read(model)
        display.stage(f"Reading {input_}")
        samples = saved.samples(input_, reading)
        display.stage(f"Predicting {samples.size}")
        answer = predict_samples(saved, samples, proportions, cluster_sizes)
        answer.write(outputs, interrupts)
    if not quiet:
        click.echo(answer.line(), err=True)
    outputs.say(quiet=quiet)
    answer.print_to_stdout(outputs)
    if interrupts.asked:
        raise Failure(COMPLETE, INTERRUPTED)
