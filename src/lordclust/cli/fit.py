"""``lordclust fit``: cluster a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lordclust.cli.exits import (
    COMPLETE,
    INTERRUPTED,
    NOT_CONVERGED,
    Failure,
    goes_on,
    interruptible,
)
from lordclust.cli.options import (
    Reading,
    Wishes,
    checkpoint_option,
    force_option,
    quiet_option,
    reading_options,
    scale_option,
    wishes_options,
)
from lordclust.cli.outputs import Outputs
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from lordclust.cli.estimator import Fitted


@click.command()
@click.argument("input_", metavar="INPUT")
@wishes_options()
@reading_options()
@scale_option
@click.option(
    "--method",
    default="blord",
    show_default=True,
    help="One of `lordclust list methods`.",
)
@click.option("-o", "--output", metavar="FILE", help="Labels; by default to stdout.")
@click.option("--proba", metavar="FILE", help="Probability of every cluster.")
@click.option("--model", metavar="FILE", help="Model for `lordclust predict`.")
@click.option("--report", metavar="FILE", help="A page to look at, in one HTML file.")
@click.option(
    "--json",
    "json_",
    metavar="[FILE]",
    is_flag=False,
    flag_value="-",
    help="Facts of the run; without FILE to stdout, in place of the labels.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Write nothing, and end with exit code 4, if the solver did not converge.",
)
@checkpoint_option
@force_option
@quiet_option
def fit(
    input_: str,
    wishes: Wishes,
    reading: Reading,
    scale: str,
    method: str,
    output: str | None,
    proba: str | None,
    model: str | None,
    report: str | None,
    json_: str | None,
    strict: bool,
    checkpoint: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Cluster the samples in INPUT (a file, or - for stdin) into K clusters.

    B-LoRD, the default, chooses tau and the shares of the clusters itself, without
    labels; then some of the K clusters may stay empty. With --proportions equal, or
    shares or sizes of your own, they are met exactly.

    The output has a line for each sample: its id (or number), its label, the
    probability of that label, and its uncertainty from 0 to 1.

    \b
      lordclust fit iris.csv -k 3 --label-column species -o labels.csv
      lordclust fit graph.mtx -k 10 --precomputed --proportions equal --tau 0.3
      lordclust fit people.csv -k 4 --cluster-sizes 25,25,25,25 --id-column name

    Ctrl-C ends the search and keeps the best result so far, if there is one.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 not converged
    (--strict), 130 interrupted.
    """
    if output is None and json_ != "-":
        output = "-"
    targets = {
        "--output": output,
        "--proba": proba,
        "--model": model,
        "--report": report,
        "--json": json_,
    }
    outputs = Outputs(targets, (input_,), force=force, checkpoint=checkpoint)
    from lordclust.cli.fit_run import check_wishes, run_fit, write_fit

    check_wishes(method, wishes, reading, scale, outputs)
    with Display(quiet=quiet) as display, interruptible() as interrupts:
        run = run_fit(
            input_, method, wishes, reading, scale, display, interrupts, checkpoint
        )
        if strict and not getattr(run.fitted.model, "converged_", True):
            raise Failure(_not_converged(run.fitted), NOT_CONVERGED)
        write_fit(run, outputs, display, interrupts)
    if not quiet:
        for line in run.lines():
            click.echo(line, err=True)
    outputs.say(quiet=quiet)
    run.print_to_stdout(outputs)
    if run.interrupted:
        kept = "Interrupted; the best result so far is kept."
        raise Failure(kept + goes_on(checkpoint), INTERRUPTED)
    outputs.remove_checkpoint(run.n_paths)
    if interrupts.asked:
        raise Failure(COMPLETE, INTERRUPTED)


def _not_converged(fitted: Fitted) -> str:
    """Return why --strict fails."""
    why = fitted.warnings[0] if fitted.warnings else "The solver did not converge."
    return f"{why} Nothing was written, as --strict asks."
