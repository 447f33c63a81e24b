"""Tables: as files, as csv, and as text at a terminal."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import click
import numpy as np
import numpy.typing as npt

from lordclust import files
from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.validation import missing_extra
from lordclust.cli.outputs import Outputs, Writer
from lordclust.cli.samples import Samples
from lordclust.cli.summary import to_json
from lordclust.files.atomic import is_stream
from lordclust.files.error import visible
from lordclust.files.table import text_array
from lordclust.files.writing import WRITABLE
from lordclust.profiles import Profiles
from lordclust.rounding.labels import normalized_entropy

#: Digits of probabilities after the point; further ones are not meaningful.
DIGITS = 6
#: The package that writes a format, and its extra.
NEEDED = {"parquet": ("pyarrow", "parquet"), "xlsx": ("openpyxl", "excel")}
#: Columns of text, which may take several lines at a terminal.
LONG = ("title", "source", "note")

#: Name of the label -1.
OUTLIER = "outlier"

Columns: TypeAlias = Mapping[str, npt.ArrayLike]
Row: TypeAlias = dict[str, str | float | None]


def sample_writers(
    samples: Samples,
    labels: IntArray,
    P: FloatArray | None,
    *,
    names: Sequence[str] | None = None,
    join: bool = False,
    before: IntArray | None = None,
) -> dict[str, Writer]:
    """Return the writers of labels and probabilities, one line per sample.

    ``before`` are older labels of the same samples, for a column of their own.
    """
    ids = {samples.id_name: samples.ids}

    def write_labels(file: str, force: bool) -> None:
        columns = ids | {"label": labels}
        if names is not None:
            named = np.array([*names, OUTLIER])[labels]
            columns["segment" if "name" in ids else "name"] = named
        if before is not None:
            columns["before"] = before
        if P is not None:
            own = np.where(labels < 0, 0.0, P[np.arange(len(P)), labels])
            columns["probability"] = np.round(own, DIGITS)
            columns["uncertainty"] = np.round(normalized_entropy(P), DIGITS)
        if join:
            columns = _with_dropped(columns, samples)
            for name, column in _joined(samples).items():
                columns[f"{name}_input" if name in columns else name] = column
        write(file, columns, force)

    def write_probabilities(file: str, force: bool) -> None:
        R = np.empty((0, 0)) if P is None else np.round(P, DIGITS)
        write(file, ids | {f"p{j}": p for j, p in enumerate(R.T)}, force)

    return {"--output": write_labels, "--proba": write_probabilities}


def _with_dropped(
    columns: dict[str, npt.NDArray[Any]], samples: Samples
) -> dict[str, npt.NDArray[Any]]:
    """Return columns with empty cells for the rows that were left out."""
    if samples.kept is None or not samples.cells:
        return columns
    full = {}
    for name, column in columns.items():
        full[name] = np.full(len(samples.kept), "", dtype=object)
        full[name][samples.kept] = [str(value) for value in column.tolist()]
    return full | {samples.id_name: samples.all_ids}


def _joined(samples: Samples) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of INPUT: as they are in a text, or whole numbers as such."""
    if samples.cells:
        return {name: text_array(cells) for name, cells in samples.cells.items()}
    names = samples.names or [f"x{j}" for j in range(samples.raw.shape[1])]
    columns: dict[str, npt.NDArray[Any]] = dict(zip(names, samples.raw.T, strict=True))
    columns |= samples.others
    for name, column in columns.items():
        whole = column.dtype.kind == "f" and (np.abs(column) < 2**53).all()
        if whole and (column == np.rint(column)).all():
            columns[name] = column.astype(np.int64)
    return columns


def write_profiles(file: str, profiles: Profiles, force: bool) -> None:
    """Write profiles: to stdout as text, to a file as a table."""
    if file != "-":
        write(file, profiles.columns(), force)
        return
    text = str(profiles)
    if sys.stdout.isatty():
        text = "\n".join(map(visible, text.split("\n")))
    with files.atomic_file("-", text=True) as out:
        out.write(text + "\n")


def as_columns(rows: Sequence[Row]) -> Columns:
    """Return a table column by column; a column with empty cells becomes text."""
    columns: dict[str, npt.ArrayLike] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if None in values:
            values = ["" if value is None else str(value) for value in values]
        columns[name] = values  # type: ignore[assignment]  # of one type
    return columns


def check_formats(outputs: Outputs, *options: str) -> None:
    """Raise an error for file names without the suffix of a table format."""
    for option in options:
        name = outputs.files.get(option)
        if name is None or is_stream(name):
            continue
        suffix = name.suffix.removeprefix(".").lower()
        if suffix not in WRITABLE:
            raise click.UsageError(
                f"{option} {name} must end with one of .{', .'.join(WRITABLE)}."
            )
        package, extra = NEEDED.get(suffix, ("numpy", ""))
        if find_spec(package) is None:
            raise missing_extra(package, extra)


def write(path: str, columns: Columns, force: bool) -> None:
    """Write a table; as csv to stdout, a pipe or a device."""
    kind = "csv" if path == "-" or is_stream(Path(path)) else None
    files.write_table(path, columns, format=kind, force=force)


def print_rows(rows: Sequence[Row]) -> None:
    """Print rows: a drawn table at a terminal, csv otherwise."""
    if sys.stdout.isatty():
        draw(rows)
        return
    with files.atomic_file("-", text=True) as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def print_json(document: object) -> None:
    """Print a JSON document."""
    with files.atomic_file("-", text=True) as out:
        out.write(to_json(document))


def draw(
    rows: Sequence[Row], *, decimals: int | None = None, bold: str | None = None
) -> None:
    """Draw a table; numbers are aligned right, empty columns are left out.

    Rows whose first cell contains ``bold`` are bold at a terminal.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def shown(value: str | float | None) -> str:
        if isinstance(value, float):
            return f"{value:.3g}" if decimals is None else f"{value:.{decimals}f}"
        return "" if value is None else visible(str(value))

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
    )
    names = [n for n in rows[0] if any(shown(row[n]) for row in rows)]
    for name in names:
        number = any(isinstance(row[name], int | float) for row in rows)
        table.add_column(
            name, justify="right" if number else "left", no_wrap=name not in LONG
        )
    for row in rows:
        cells = [Text(shown(row[name])) for name in names]
        emphasis = bold is not None and bold in cells[0].plain
        table.add_row(*cells, style="bold" if emphasis else None)
    Console(highlight=False).print(table)
