"""What ``lordclust reproduce`` computes, prints and writes."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from lordclust.cli.exits import BAD_INPUT, FAILED, INTERRUPTED, Failure
from lordclust.cli.progress import Display
from lordclust.reproduction.reproduce import Reproduction
from lordclust.reproduction.store import Cell, Record


class Study:
    """A run of the cells of some tables and figures."""

    def __init__(self, names: tuple[str, ...], folder: Path, **wishes: Any) -> None:
        self.work = Reproduction(names, folder, **wishes)
        self.errors: Counter[str] = Counter()

    def run(self, jobs: int, *, quiet: bool) -> None:
        """Run the cells that are missing, with a bar at a terminal."""
        todo = self.work.missing()
        total = len(self.work.cells())
        if not total:
            raise ValueError(
                "These data sets and methods have no part in what is asked for: "
                f"{', '.join(item.name for item in self.work.items)}. Leave out --only "
                "or --methods."
            )
        self._check_data()
        with Display(quiet=quiet) as display:
            self._progress(display, len(todo), total)
            try:
                self.work.run(jobs, self._reporter(display, len(todo), total))
            except KeyboardInterrupt:
                display.close()
                done = total - len(self.work.missing())
                raise Failure(
                    f"Interrupted. {done} of {total} runs are finished and kept in "
                    f"{self.work.store}; the same command goes on from there.",
                    INTERRUPTED,
                ) from None

    def _check_data(self) -> None:
        """Say at the beginning which data set is missing, not after an hour."""
        try:
            self.work.check_data()
        except OSError as error:
            raise Failure(str(error), BAD_INPUT) from error

    def _progress(self, display: Display, todo: int, total: int) -> None:
        """Begin the bar."""
        if todo:
            display.stage(f"{total - todo} of {total} runs are there", total=todo)

    def _reporter(self, display: Display, todo: int, total: int) -> Any:
        """Return what is told of every finished cell."""

        def report(cell: Cell, record: Record, left: int) -> None:
            if "error" in record:
                self.errors[f"{cell.method} on {cell.data}: {record['error']}"] += 1
            display.at(
                todo - left,
                f"{total - left} of {total} runs, {cell.method} on {cell.data}",
            )

        return report

    def show(self, *, quiet: bool) -> None:
        """Print the tables, write the files, and say what failed."""
        results = self.work.results()
        width = max(60, shutil.get_terminal_size((100, 24)).columns)
        for item in self.work.items:
            if item.is_table:
                for table in item.tables(results):
                    click.echo(table.text(width) + "\n")
        sys.stdout.flush()
        written = self._written()
        if not quiet:
            for path in written:
                click.echo(f"wrote {path}", err=True)
        if self.errors:
            lines = [f"  {text} ({count} runs)" for text, count in self.errors.items()]
            raise Failure(
                f"{sum(self.errors.values())} runs failed; their cells are empty:"
                + os.linesep
                + os.linesep.join(lines),
                FAILED,
            )

    def _written(self) -> list[Path]:
        """Write the files; without matplotlib the tables alone."""
        try:
            return self.work.write()
        except ImportError as error:
            if not any(item.is_table for item in self.work.items):
                raise
            click.echo(f"No figures: {error}", err=True)
            self.work.items = [item for item in self.work.items if item.is_table]
            return self.work.write()
