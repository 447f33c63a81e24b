"""``lordclust path``: B-LoRD from soft to hard."""

from __future__ import annotations

import click

from lordclust.cli.exits import INTERRUPTED, Failure, goes_on, interruptible
from lordclust.cli.options import (
    Reading,
    Wishes,
    checkpoint_option,
    force_option,
    grid,
    numbers,
    quiet_option,
    reading_options,
    scale_option,
    wishes_options,
)
from lordclust.cli.outputs import Outputs
from lordclust.cli.progress import Display


@click.command()
@click.argument("input_", metavar="INPUT")
@wishes_options("proportions", "tau", "cluster_sizes", "rounding")
@click.option(
    "--proportions",
    type=numbers(float, "equal"),
    metavar="A,B,...|FILE|equal",
    help="Share of each cluster, met exactly; equal by default.",
)
@reading_options()
@scale_option
@click.option(
    "--taus",
    type=grid,
    metavar="FIRST:LAST:STEP|A,B,...",
    help="Which tau; by default many where the clusters change, few elsewhere.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="By default stdout.")
@click.option("--labels", metavar="FILE", help="Labels, a column for each tau.")
@checkpoint_option
@force_option
@quiet_option
def path(
    input_: str,
    wishes: Wishes,
    reading: Reading,
    scale: str,
    taus: list[float] | None,
    output: str,
    labels: str | None,
    checkpoint: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Follow B-LoRD on INPUT from soft (tau = 0) to hard (tau = 1).

    The output has a line for each tau: objective, mean entropy of the memberships
    from 0 (sure) to 1, whether the solver converged, the size of each cluster, and
    with --label-column ACC and NMI.

    Ctrl-C stops after the tau at hand and writes the path so far. With --checkpoint
    the same command then goes on from there.

    \b
      lordclust path iris.csv -k 3 --label-column species -o path.csv
      lordclust path iris.csv -k 3 --taus 0.02:1:0.02 --labels labels.csv
    """
    targets: dict[str, str | None] = {"--output": output, "--labels": labels}
    outputs = Outputs(targets, (input_,), force=force, checkpoint=checkpoint)
    from lordclust.cli.path_run import Walk, make_graph
    from lordclust.cli.tables import check_formats

    check_formats(outputs, "--output", "--labels")
    with Display(quiet=quiet) as display, interruptible() as interrupts:
        samples, S = make_graph(input_, wishes, reading, scale, display)
        walk = Walk(samples, S, wishes, taus, checkpoint)
        walk.go(display, interrupts)
        walk.write(outputs, interrupts)
    outputs.say(quiet=quiet)
    walk.print_to_stdout(outputs)
    if interrupts.asked:
        last = walk.path.taus[-1]
        kept = f"Interrupted at tau {last:.2f}; the path up to it is written."
        raise Failure(kept + goes_on(checkpoint), INTERRUPTED)
    outputs.remove_checkpoint()
