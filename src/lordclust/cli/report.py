"""``lordclust report``: a saved model as a page."""

from __future__ import annotations

import click

from lordclust.cli.exits import INTERRUPTED, Failure, interruptible
from lordclust.cli.options import (
    Reading,
    force_option,
    quiet_option,
    reading_options,
)
from lordclust.cli.outputs import Outputs
from lordclust.cli.progress import Display


@click.command()
@click.argument("model", metavar="MODEL")
@click.argument("input_", metavar="[INPUT]", required=False)
@click.option("-o", "--output", metavar="FILE", required=True, help="The HTML file.")
@reading_options("weight_column", "known_labels", "precomputed")
@force_option
@quiet_option
def report(
    model: str,
    input_: str | None,
    output: str,
    reading: Reading,
    force: bool,
    quiet: bool,
) -> None:
    """Draw a MODEL of `lordclust fit` as a page to look at, in one HTML file.

    The page opens without a network. With INPUT, the file that the model was fitted
    to, it shows the names of the samples, and their classes with --label-column.

    \b
      lordclust fit iris.csv -k 3 -o labels.csv --model m.lord
      lordclust report m.lord -o iris.html
    """
    inputs = (model,) if input_ is None else (model, input_)
    outputs = Outputs({"--output": output}, inputs, force=force)
    if outputs.to_stdout("--output"):
        raise click.UsageError("The page needs a file, not stdout.")
    from lordclust.cli.pages import path_around, write_page
    from lordclust.cli.predict_run import Saved, samples_of

    with Display(quiet=quiet) as display, interruptible() as interrupts:
        display.stage("Reading")
        saved = Saved.read(model)
        samples = samples_of(saved, input_, reading)
        path = path_around(saved.model, samples, display, interrupts)
        display.stage("Drawing the report")
        with outputs.together(interrupts) as names:
            page = names["--output"]
            write_page(page, saved.model, path, samples, facts={"model": model})
    outputs.say(quiet=quiet)
    if interrupts.asked:
        raise Failure("Interrupted; the page shows what there was.", INTERRUPTED)
