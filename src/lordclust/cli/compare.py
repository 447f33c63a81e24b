"""``lordclust compare``: several methods on the same file."""

from __future__ import annotations

import click

from lordclust.cli.exits import COMPLETE, INTERRUPTED, Failure, interruptible
from lordclust.cli.options import (
    Reading,
    Wishes,
    force_option,
    quiet_option,
    reading_options,
    scale_option,
    wishes_options,
)
from lordclust.cli.outputs import Outputs
from lordclust.cli.progress import Display

#: Quick ones of different kinds.
USUAL = "blord,lord,sc,ncut,kkm,gmm"


@click.command()
@click.argument("input_", metavar="INPUT")
@wishes_options("proportions", "strength", "cluster_sizes", "rounding", "tau")
@reading_options("weight_column", "known_labels")
@scale_option
@click.option(
    "--methods",
    metavar="A,B,...|all",
    default=USUAL,
    show_default=True,
    help="Names from `lordclust list methods`.",
)
@click.option("-o", "--output", metavar="FILE", help="The table; by default to stdout.")
@click.option("--json", "json_", is_flag=True, help="On stdout as JSON.")
@click.option("--report", metavar="FILE", help="A page to look at, in one HTML file.")
@force_option
@quiet_option
def compare(
    input_: str,
    wishes: Wishes,
    reading: Reading,
    scale: str,
    methods: str,
    output: str | None,
    json_: bool,
    report: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Run several methods on INPUT and put them side by side.

    A line for each method: seconds, its own objective, the sizes of its clusters,
    silhouette (of the features) and modularity (of the graph of neighbours), and
    with --label-column ACC and NMI. A method that fails says why; the others go on.
    blord chooses tau and the shares itself, as in `lordclust fit`.

    Ctrl-C leaves out the methods that have not finished.

    \b
      lordclust compare iris.csv -k 3 --label-column species
      lordclust compare iris.csv -k 3 --methods blord,sc -o table.csv
    """
    targets = {"--output": output, "--report": report}
    outputs = Outputs(targets, (input_,), force=force)
    from lordclust.cli.compare_run import Comparison, check_methods
    from lordclust.cli.samples import read_input
    from lordclust.cli.tables import check_formats

    names = check_methods(methods)
    check_formats(outputs, "--output")
    with Display(quiet=quiet) as display, interruptible() as interrupts:
        samples, _ = read_input(input_, wishes, reading, scale, display)
        table = Comparison(names, wishes, samples)
        table.run(display)
        table.write(outputs, display, interrupts)
    outputs.say(quiet=quiet)
    if json_ or output is None:
        table.print(as_json=json_)
    if table.interrupted:
        done = ", ".join(row["method"] for row in table.rows)
        raise Failure(f"Interrupted. Finished and kept: {done}.", INTERRUPTED)
    if interrupts.asked:
        raise Failure(COMPLETE, INTERRUPTED)
    if not table.models:
        raise Failure("No method succeeded; the table says why.")
