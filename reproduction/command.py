"""What ``python -m reproduction`` reads, runs, prints and writes."""

import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import click

from lordclust.cli.exits import BAD_INPUT, FAILED, INTERRUPTED, Failure, plain_errors
from lordclust.cli.progress import Display
from reproduction.page import read
from reproduction.plan import Plan
from reproduction.store import Cell, Record
from reproduction.study import Study


class _Command(click.Command):
    """A command whose errors are one sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        with plain_errors():
            return super().invoke(ctx)


def _split(
    ctx: click.Context, param: click.Parameter, text: str | None
) -> tuple[str, ...]:
    """Return names that are separated by commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


@click.command(cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, required=True, metavar="NAME...|all")
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1,
              help="Processes of one thread; one per core by default.")  # fmt: skip
@click.option("--only", metavar="A,B,...", callback=_split,
              help="Data sets; all by default.")  # fmt: skip
@click.option("--methods", metavar="A,B,...", callback=_split,
              help="Methods or variants (blord-auto ...); all by default.")  # fmt: skip
@click.option("--restarts", type=click.IntRange(1), default=50, show_default=True,
              help="Largest number of random starts, and of roundings.")  # fmt: skip
@click.option("--lacking", is_flag=True,
              help="Only what the committed results lack.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path),
              default=Path("reproduction-output"), show_default=True,
              help="Folder for the files.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Show neither progress nor notes.")
def reproduce(
    names: tuple[str, ...],
    jobs: int,
    only: tuple[str, ...],
    methods: tuple[str, ...],
    restarts: int,
    lacking: bool,
    output: Path,
    quiet: bool,
) -> None:
    """Compute the paper's tables and figures again, next to the printed ones.

    Every finished run of a method is saved at once: a command that was stopped or
    killed continues where it was when it is given again. Tables are printed and
    written as Markdown and CSV, figures as PNG. The data sets are read from the
    folder that LORDCLUST_DATA names; table-synthetic needs none.

    \b
      python -m reproduction table-synthetic --jobs 2
      python -m reproduction table-acc --only wine,ecoli --methods sc,blord
      python -m reproduction all --jobs 2

    NAMES are:

    \b
      table-acc  table-nmi  table-pur  table-f1  table-r2  table-tau  table-mu
      table-synthetic  fig-models  fig-tau-blocks  fig-tau-acc  fig-learned-z
      fig-convergence  fig-synthetic  fig-objective-acc  fig-inner-iterations
      fig-init  fig-landscape
    """
    known = read() if lacking else None
    study = Study(
        names, output, only=only, methods=methods, restarts=restarts, known=known
    )
    errors = _run(study, jobs, quiet)
    _print_tables(study)
    written = _write(study)
    if not quiet:
        for path in written:
            click.echo(f"wrote {path}", err=True)
    if errors:
        lines = [f"  {text} ({count} runs)" for text, count in errors.items()]
        raise Failure(
            f"{errors.total()} runs failed; their cells are empty:\n"
            + "\n".join(lines),
            FAILED,
        )


def _run(study: Study, jobs: int, quiet: bool) -> Counter[str]:
    """Run the missing cells, with a progress bar at a terminal; return the errors."""
    total, todo = len(study.cells()), len(study.missing())
    if not total and any(item.cells is not Plan.nothing for item in study.items):
        raise ValueError(
            "These data sets and methods are not part of "
            f"{', '.join(item.name for item in study.items)}. Leave out --only or "
            "--methods."
        )
    try:
        study.check_data()
    except OSError as error:  # at the beginning, not after an hour
        raise Failure(str(error), BAD_INPUT) from error
    errors: Counter[str] = Counter()
    with Display(quiet=quiet) as display:
        if todo:
            display.stage(f"{total - todo} of {total} runs are finished", total=todo)

        def report(cell: Cell, record: Record, left: int) -> None:
            if "error" in record:
                errors[f"{cell.method} on {cell.data}: {record['error']}"] += 1
            done = f"{total - left} of {total} runs, {cell.method} on {cell.data}"
            display.at(todo - left, done)

        try:
            study.run(jobs, report)
        except KeyboardInterrupt:
            display.close()
            raise Failure(
                f"Interrupted. {total - len(study.missing())} of {total} runs are "
                f"finished and kept in {study.store}; the same command continues "
                "from there.",
                INTERRUPTED,
            ) from None
    return errors


def _print_tables(study: Study) -> None:
    """Print the tables, as wide as the terminal."""
    results = study.results()
    width = max(60, shutil.get_terminal_size((100, 24)).columns)
    for item in study.items:
        if item.is_table:
            for table in item.tables(results):
                click.echo(table.text(width) + "\n")
    sys.stdout.flush()


def _write(study: Study) -> list[Path]:
    """Write the files; without matplotlib the tables alone."""
    try:
        return study.write()
    except ImportError as error:
        if not any(item.is_table for item in study.items):
            raise
        click.echo(f"No figures: {error}", err=True)
        study.items = [item for item in study.items if item.is_table]
        return study.write()
