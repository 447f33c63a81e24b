"""``lordclust path``: B-LoRD from soft to hard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lordclust.cli.exits import (
    INTERRUPTED,
    Failure,
    Interrupts,
    how_to_resume,
    interruptible,
)
from lordclust.cli.options import (
    SHARES,
    FitRequest,
    InputOptions,
    checkpoint_option,
    counted,
    grid,
    input_options,
    numbers,
    request_options,
    result_option,
    scale_option,
)
from lordclust.cli.outputs import Outputs, Writer
from lordclust.cli.progress import Display

if TYPE_CHECKING:
    from lordclust.cli.samples import Samples
    from lordclust.cli.tables import Row
    from lordclust.result import TauPath


@click.command()
@click.argument("input_", metavar="INPUT")
@request_options(*(name for name in SHARES if name != "strength"))
@click.option(
    "--proportions",
    type=numbers(float, "equal"),
    metavar="A,B,...|FILE|equal",
    help="Share of each cluster, met exactly; equal by default.",
)
@input_options()
@scale_option
@click.option(
    "--taus",
    type=grid,
    metavar="FIRST:LAST:STEP|A,B,...",
    help="Values of tau; by default a grid that is finer where the clusters change.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="stdout by default.")
@click.option("--labels", metavar="FILE", help="Labels, one column per tau.")
@checkpoint_option
@result_option("force")
@result_option("quiet")
def path(
    input_: str,
    request: FitRequest,
    reading: InputOptions,
    scale: str,
    taus: list[float] | None,
    output: str,
    labels: str | None,
    checkpoint: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Follow B-LoRD on INPUT from soft (tau = 0) to hard (tau = 1).

    The output has one line per tau: objective, mean entropy of the memberships
    from 0 (certain) to 1, whether the solver converged, the size of each cluster,
    and ACC and NMI with --label-column.

    Ctrl-C stops after the current tau and writes the path so far. With --checkpoint
    the same command then resumes from there.

    \b
      lordclust path iris.csv -k 3 --label-column species -o path.csv
      lordclust path iris.csv -k 3 --taus 0.02:1:0.02 --labels labels.csv
    """
    targets = {"--output": output, "--labels": labels}
    outputs = Outputs(targets, (input_,), force=force, checkpoint=checkpoint)
    from lordclust.cli.samples import read_input
    from lordclust.cli.tables import check_formats

    check_formats(outputs, "--output", "--labels")
    with Display(quiet=quiet) as display, interruptible() as interrupts:
        samples, _ = read_input(input_, request, reading, scale, display)
        found = _follow(samples, request, taus, checkpoint, display, interrupts)
        writers = _writers(found, samples)
        outputs.write(writers, interrupts)
    outputs.finish(writers, quiet=quiet)
    if interrupts.requested:
        last = found.taus[-1]
        kept = f"Interrupted at tau {last:.2f}; the path up to it has been written."
        raise Failure(kept + how_to_resume(checkpoint), INTERRUPTED)
    outputs.remove_checkpoint()


def _follow(
    samples: Samples,
    request: FitRequest,
    taus: list[float] | None,
    checkpoint: str | None,
    display: Display,
    interrupts: Interrupts,
) -> TauPath:
    """Follow the path until its end, or until Ctrl-C."""
    from lordclust.cli.fitting import affinity, shares
    from lordclust.graph import make_affinity
    from lordclust.solver.tau_path import tau_path

    display.stage(f"Finding the neighbours of {samples.count}", total=1.0)
    kind = affinity(request, samples.precomputed) or "knn"
    S = make_affinity(kind, samples.X, callback=display.at)
    display.stage("tau 0.00", total=1.0 if taus is None else taus[-1])

    def at(tau: float) -> bool:
        interrupts.keep()
        display.at(tau, f"tau {tau:.2f}")
        return interrupts.requested

    return tau_path(
        S,
        counted(request),
        taus=taus,
        proportions=shares(request),
        sample_weight=samples.weight,
        known_labels=samples.known,
        keep="all",
        random_state=request.seed,
        n_jobs=-1 if request.jobs is None else request.jobs,
        callback=at,
        checkpoint=checkpoint,
    )


def _writers(path: TauPath, samples: Samples) -> dict[str, Writer]:
    """Return the function that writes each output."""
    from lordclust.cli import tables

    def write_path(file: str, force: bool) -> None:
        rows = _rows(path, samples)
        if file == "-":
            tables.print_rows(rows)
        else:
            tables.write(file, tables.as_columns(rows), force)

    def write_labels(file: str, force: bool) -> None:
        names = [f"tau={tau:.6g}" for tau in path.taus]
        columns = {samples.id_name: samples.ids}
        tables.write(file, columns | dict(zip(names, path.labels, strict=True)), force)

    return {"--output": write_path, "--labels": write_labels}


def _rows(path: TauPath, samples: Samples) -> list[Row]:
    """Return a row for each tau."""
    from lordclust.cli.summary import scores
    from lordclust.rounding.labels import normalized_entropy

    rows: list[Row] = []
    sizes = path.sizes.tolist()
    for i, tau in enumerate(path.taus.tolist()):
        row: Row = {
            "tau": tau,
            "objective": float(path.objectives[i]),
            "entropy": float(normalized_entropy(path.memberships[tau]).mean()),
            "converged": int(path.converged[i]),
            **scores(samples, path.labels[i]),
        }
        rows.append(row | {f"size{j}": size for j, size in enumerate(sizes[i])})
    return rows
