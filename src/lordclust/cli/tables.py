"""Tables: as files, as text for programs, and for people at a terminal."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from lordclust import files
from lordclust._core.typing import FloatArray
from lordclust._core.validation import missing_extra
from lordclust.cli.outputs import Outputs, is_stream
from lordclust.cli.samples import Samples
from lordclust.files.writing import WRITABLE
from lordclust.rounding.labels import normalized_entropy

#: Columns of words, which may take several lines at a terminal.
LONG = ("title", "source", "note")


def label_columns(samples: Samples, labels: Any, P: Any) -> dict[str, Any]:
    """Return ids and labels, and how sure they are where a method says so."""
    columns = {samples.id_name: samples.ids, "label": labels}
    if P is not None:
        columns["probability"] = P[np.arange(len(P)), labels]
        columns["uncertainty"] = normalized_entropy(P)
    return columns


def probability_columns(samples: Samples, P: FloatArray) -> dict[str, Any]:
    """Return ids and a column for each cluster."""
    return {samples.id_name: samples.ids} | {
        f"p{j}": P[:, j] for j in range(P.shape[1])
    }


def check_formats(outputs: Outputs, *options: str) -> None:
    """Refuse, before the work, names of tables that say no format."""
    for option in options:
        name = outputs.files.get(option)
        if name is None or is_stream(name):
            continue
        suffix = name.suffix.removeprefix(".").lower()
        if suffix not in WRITABLE:
            raise click.UsageError(
                f"{option} {name} must end with one of .{', .'.join(WRITABLE)}."
            )
        if suffix == "parquet" and find_spec("pyarrow") is None:
            raise missing_extra("pyarrow", "parquet")


def write_file(path: Path, columns: dict[str, Any]) -> None:
    """Write a table; to a pipe or a device as csv."""
    if not is_stream(path):
        files.write_table(path, columns, force=True)
        return
    with open(path, "w", encoding="utf-8", newline="") as file, redirect_stdout(file):
        files.write_table("-", columns)


def print_rows(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows: a drawn table at a terminal, csv otherwise."""
    if sys.stdout.isatty():
        _draw(rows)
        return
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _draw(rows: Sequence[dict[str, Any]]) -> None:
    """Draw a table; numbers stand on the right, empty columns are left out."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
    )
    names = [n for n in rows[0] if any(shown(row[n]) for row in rows)]
    for name in names:
        number = any(isinstance(row[name], int | float) for row in rows)
        side: Any = "right" if number else "left"
        table.add_column(name, justify=side, no_wrap=name not in LONG)
    for row in rows:
        table.add_row(*(Text(shown(row[name])) for name in names))
    Console(highlight=False).print(table)


def shown(value: Any) -> str:
    """Return a value as people read it."""
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
