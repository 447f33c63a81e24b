"""``lordclust predict``: new samples with a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lordclust.cli.exits import interruptible
from lordclust.cli.options import (
    InputOptions,
    input_options,
    numbers,
    result_option,
    sizes,
)
from lordclust.cli.outputs import Outputs
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from lordclust._core.typing import IntArray
    from lordclust.cli.samples import Samples


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("input_", metavar="INPUT")
@result_option("output")
@result_option("proba")
@click.option(
    "--proportions",
    type=numbers(float, "model"),
    metavar="A,B,...|FILE|model",
    help="Shares that the labels of this batch meet exactly; model: the fitted ones.",
)
@click.option(
    "--cluster-sizes",
    type=sizes(int),
    metavar="N|A,B,...|FILE",
    help="Number of samples of this batch in each cluster.",
)
@click.option(
    "--size-min",
    type=sizes(float),
    metavar="N|A,B,...",
    help="Least number of samples of this batch in a cluster, or share of them if "
    "below 1.",
)
@click.option(
    "--size-max",
    type=sizes(float),
    metavar="N|A,B,...",
    help="Largest number, or share, of samples of this batch in a cluster.",
)
@click.option(
    "--outliers",
    is_flag=True,
    help="Label samples -1 that are farther from the others than any fitted one.",
)
@result_option("join")
@input_options(
    "weight_column", "known_labels", "precomputed", "drop", "categorical", "missing"
)
@result_option("force")
@result_option("quiet")
def predict(
    model: str,
    input_: str,
    output: str | None,
    proba: str | None,
    proportions: list[float] | str | None,
    cluster_sizes: int | list[int] | None,
    size_min: float | list[float] | None,
    size_max: float | list[float] | None,
    outliers: bool,
    join: bool,
    reading: InputOptions,
    force: bool,
    quiet: bool,
) -> None:
    """Assign the samples in INPUT to the clusters of MODEL, made by `lordclust fit`.

    Each sample is treated independently. Its columns are read, filled and scaled like
    those of the samples that the model was fitted to. With --proportions,
    --cluster-sizes or bounds on the sizes the labels of the batch meet them exactly.

    \b
      lordclust fit old.csv -k 3 -o labels.csv --model m.lord
      lordclust predict m.lord new.csv -o new-labels.csv
    """
    asked = {
        "--proportions": proportions,
        "--cluster-sizes": cluster_sizes,
        "--size-min": size_min,
        "--size-max": size_max,
    }
    exact = [name for name, value in asked.items() if value is not None]
    if len(exact) > 1 and exact != ["--size-min", "--size-max"]:
        raise click.UsageError(
            f"{exact[0]} and {exact[1]} cannot be combined. Leave one out."
        )
    if outliers and exact:
        raise click.UsageError(
            f"--outliers cannot be combined with {exact[0]}, which assigns every "
            "sample. Leave one out."
        )
    targets = {"--output": output or "-", "--proba": proba}
    outputs = Outputs(targets, (model, input_), force=force)
    from lordclust.cli.saved import SavedModel
    from lordclust.cli.tables import check_formats, sample_writers
    from lordclust.files import InputError

    check_formats(outputs, "--output", "--proba")
    with Display(quiet=quiet) as display, interruptible() as interrupts:
        saved = SavedModel.read(model)
        display.stage(f"Reading {input_}")
        samples = saved.samples(input_, reading, join=join)
        display.stage(f"Predicting {samples.size}")
        P, name = None, type(saved.model).__name__
        if hasattr(saved.model, "predict_proba"):
            P = saved.model.predict_proba(samples.X)
        elif proba is not None:
            raise InputError(
                model, f"{name} computes no probabilities. Leave --proba out."
            )
        if exact and not hasattr(saved.model, "assign"):
            raise InputError(
                model,
                f"{name} cannot meet {exact[0]}. Leave it out.",
            )
        if outliers and not hasattr(saved.model, "novelty"):
            raise InputError(
                model, f"{name} does not recognise outliers. Leave --outliers out."
            )
        if not exact:
            options = {"outliers": True} if outliers else {}
            labels = saved.model.predict(samples.X, **options)
        else:
            shares = None if proportions == "model" else proportions
            labels = saved.model.assign(
                samples.X, proportions=shares, cluster_sizes=cluster_sizes,
                size_min=size_min, size_max=size_max,
            )  # fmt: skip
        writers = sample_writers(samples, labels, P, names=saved.clusters, join=join)
        outputs.write(writers, interrupts)
    line = _summary(samples, labels, len(saved.model.sizes_))
    outputs.finish(writers, line, quiet=quiet)
    interrupts.end()


def _summary(samples: Samples, labels: IntArray, k: int) -> str:
    """Return a summary of one line."""
    import numpy as np

    from lordclust.cli.summary import scores

    sizes = ", ".join(map(str, np.bincount(labels[labels >= 0], minlength=k)))
    found = scores(samples, labels)
    text = f"{samples.size}: clusters of {sizes} samples"
    if count := np.count_nonzero(labels < 0):
        text += f", {count} outliers"
    return text + "".join(f", {n.upper()} {v:.4f}" for n, v in found.items())
