"""``lordclust reproduce``: the paper's tables and figures, made anew."""

from __future__ import annotations

import os
from pathlib import Path

import click

from lordclust.cli.options import quiet_option


def _split(
    ctx: click.Context, param: click.Parameter, text: str | None
) -> tuple[str, ...]:
    """Return names that commas part."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...|all")
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1,
              help="Processes of one thread; by default one a core.")  # fmt: skip
@click.option("--only", metavar="A,B,...", callback=_split, help="Data sets; all else.")
@click.option(
    "--methods", metavar="A,B,...", callback=_split, help="Methods; all else."
)
@click.option("--restarts", type=click.IntRange(1), default=50, show_default=True,
              help="At most so many random starts, and roundings.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path),
              default=Path("reproduction-output"), show_default=True,
              help="Folder for the files.")  # fmt: skip
@quiet_option
def reproduce(
    names: tuple[str, ...],
    jobs: int,
    only: tuple[str, ...],
    methods: tuple[str, ...],
    restarts: int,
    output: Path,
    quiet: bool,
) -> None:
    """Make the paper's tables and figures anew, ours beside theirs.

    Every finished run of a method is on disk at once: a command that was stopped, in
    whatever way, goes on where it was when it is given again. Tables are printed and
    written as Markdown and csv, figures as PNG. The data sets are read from the
    folder that LORDCLUST_DATA names; table-synthetic needs none.

    \b
      lordclust reproduce table-synthetic --jobs 2
      lordclust reproduce table-acc --only wine,ecoli --methods sc,blord
      lordclust reproduce all --jobs 2

    NAMES are:

    \b
      table-acc  table-nmi  table-pur  table-f1  table-r2  table-tau  table-mu
      table-synthetic  fig-tau-blocks  fig-tau-acc  fig-learned-z
      fig-convergence  fig-synthetic  fig-objective-acc  fig-inner-iterations
      fig-init  fig-landscape
    """
    from lordclust.cli.reproduce_run import Study

    study = Study(names, output, only=only, methods=methods, restarts=restarts)
    study.run(jobs, quiet=quiet)
    study.show(quiet=quiet)
