"""``lordclust report``: a saved model as an HTML page."""

from __future__ import annotations

import click

from lordclust.cli.exits import interruptible
from lordclust.cli.options import (
    InputOptions,
    input_options,
    result_option,
)
from lordclust.cli.outputs import Outputs, Writer
from lordclust.cli.progress import Display


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("input_", metavar="[INPUT]", required=False)
@click.option("-o", "--output", metavar="FILE", required=True, help="The HTML file.")
@input_options(
    "weight_column", "known_labels", "precomputed", "drop", "categorical", "missing"
)
@result_option("names")
@result_option("title")
@result_option("force")
@result_option("quiet")
def report(
    model: str,
    input_: str | None,
    output: str,
    reading: InputOptions,
    names: list[str] | None,
    title: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Show MODEL, made by `lordclust fit`, as an interactive report, one HTML file.

    The page is self-contained and works offline. With INPUT, the file that the model
    was fitted to, it shows the names of the samples, and with --label-column their
    classes.

    \b
      lordclust fit iris.csv -k 3 -o labels.csv --model m.lord
      lordclust report m.lord -o iris.html
    """
    inputs = (model,) if input_ is None else (model, input_)
    outputs = Outputs({"--output": output}, inputs, force=force)
    outputs.need_files("--output")
    from lordclust.cli.pages import path_around, write_page
    from lordclust.cli.saved import SavedModel
    from lordclust.profiles import check_names

    with Display(quiet=quiet) as display, interruptible() as interrupts:
        display.stage("Reading")
        saved = SavedModel.read(model)
        if names is not None:
            names = check_names(names, len(saved.model.sizes_))
        samples = saved.fitted_samples(input_, reading)
        path = path_around(saved.model, samples, display, interrupts)

        def write(file: str, force: bool) -> None:
            facts: dict[str, object] = {"model": model}
            write_page(
                file, force, saved.model, path, samples,
                facts=facts, names=names or saved.clusters, title=title,
            )  # fmt: skip

        writers: dict[str, Writer] = {"--output": write}
        outputs.write(writers, interrupts)
    outputs.finish(writers, quiet=quiet)
    interrupts.end("Interrupted; the page shows the part that was finished.")
