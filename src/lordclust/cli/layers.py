"""``lordclust layers``: nested clusterings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lordclust.cli.exits import interruptible
from lordclust.cli.options import (
    SHARES,
    FitRequest,
    InputOptions,
    input_options,
    request_options,
    result_option,
    scale_option,
)
from lordclust.cli.outputs import Outputs, Writer
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from lordclust.cli.samples import Samples
    from lordclust.methods.layers import Layers


@click.command()
@click.argument("input_", metavar="INPUT")
@click.option(
    "--k-max",
    type=click.IntRange(min=1),
    default=12,
    show_default=True,
    metavar="K",
    help="Number of clusters of the finest level.",
)
@request_options("n_clusters", *SHARES)
@input_options("weight_column", "known_labels")
@scale_option
@click.option("-o", "--output", metavar="FILE", default="-", help="stdout by default.")
@result_option("report")
@result_option("title")
@result_option("force")
@result_option("quiet")
def layers(
    input_: str,
    k_max: int,
    request: FitRequest,
    reading: InputOptions,
    scale: str,
    output: str,
    report: str | None,
    title: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Cluster the samples in INPUT into 1 to K clusters, each inside a coarser one.

    The output has one line per sample, and one column of labels per level. A cluster
    keeps its number until it is split. The recommended level is that of
    `lordclust fit -k auto`, with at most K clusters. The report has a slider for the
    number of clusters.

    \b
      lordclust layers iris.csv --k-max 5 --label-column species -o levels.csv
      lordclust layers customers.csv -o levels.csv --report customers.html
    """
    targets = {"--output": output, "--report": report}
    outputs = Outputs(targets, (input_,), force=force)
    outputs.need_files("--report")
    from lordclust.cli.fitting import affinity
    from lordclust.cli.samples import read_input
    from lordclust.cli.tables import check_formats
    from lordclust.methods.layers import layers as nested

    check_formats(outputs, "--output")
    with Display(quiet=quiet) as display, interruptible() as interrupts:
        samples, _ = read_input(input_, request, reading, scale, display)
        display.stage(f"Finding up to {k_max} clusters of {samples.count}")
        kind = affinity(request, samples.precomputed) or "knn"
        given = {"random_state": request.seed, "n_jobs": request.jobs}
        found = nested(samples.X, k_max, affinity=kind, **given)
        writers = _writers(found, samples, title)
        outputs.write(writers, interrupts)
    outputs.finish(writers, str(found), quiet=quiet)
    interrupts.end()


def _writers(found: Layers, samples: Samples, title: str | None) -> dict[str, Writer]:
    """Return the functions that write the labels and the report."""
    from lordclust.cli import pages, tables

    def write_labels(file: str, force: bool) -> None:
        levels = {f"k={k}": labels for k, labels in enumerate(found.labels, 1)}
        tables.write(file, {samples.id_name: samples.ids} | levels, force)

    def write_report(file: str, force: bool) -> None:
        facts: dict[str, object] = {"input": samples.source}
        pages.write_page(file, force, found, None, samples, facts=facts, title=title)

    return {"--output": write_labels, "--report": write_report}
