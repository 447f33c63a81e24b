"""Tables as text: csv and tsv."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust.files.error import InputError
from lordclust.files.ids import (
    are_decimal_commas,
    are_row_numbers,
    are_whole,
    is_comma_number,
    is_header,
    is_missing,
    is_mostly_text,
    is_number,
    names_ids,
)
from lordclust.files.source import Source
from lordclust.files.table import ReadOptions, Roles, Table, not_numeric, quoted

#: Rows, and cells, that are converted at once; their text is then dropped.
_CHUNK, _CELLS = 5000, 1 << 22
#: Lines, and characters, that the delimiter is guessed from.
_HEAD, _SNIFFED = 20, 1 << 20
#: Largest number of columns: each cell is an object for a while.
WIDEST = 4_000_000

#: The number of the line in which a row ends, and its cells.
Row = tuple[int, list[str]]


def read_csv(source: Source, options: ReadOptions) -> Table:
    """Read a table whose cells are separated by commas, semicolons or tabs."""
    return _read(source, options, ",;\t")


def read_tsv(source: Source, options: ReadOptions) -> Table:
    """Read a table whose cells are separated by tabs."""
    return _read(source, options, "\t")


def _read(source: Source, options: ReadOptions, delimiters: str) -> Table:
    """Read a table chunk by chunk."""
    with source.lines() as lines:
        head = _head(lines)
        delimiter = sniffed([line[:_SNIFFED] for line in head], delimiters)
        if delimiter == "," and are_decimal_commas(head):
            raise InputError(
                source.path,
                f"it looks like one column of numbers with decimal commas, such as "
                f"{quoted(head[-1].strip())}. Write points, or semicolons between "
                "columns.",
            )
        chunks = _chunks(_rows(chain(head, lines), delimiter, source.path))
        first = next(chunks, None)
        if first is None:
            raise InputError(source.path, "the file is empty. Add one line per sample.")
        has_header = _has_header(first, options, source.path)
        names = [cell.strip() for cell in first[0][1]] if has_header else None
        roles = Roles.of(options, names, len(first[0][1]), source.path)
        if options.header == "auto" and any(map(is_number, names or ())):
            roles = roles.noted(
                "the first line is read as a header, although it holds numbers. "
                "Choose otherwise with header=False (--header no)."
            )
        columns = _Columns(roles, delimiter == ";", source.path)
        columns.add(first[has_header:])
        for chunk in chunks:
            columns.add(chunk)
    return columns.table()


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield some rows at a time: few of a wide table, but at least two."""
    for row in rows:
        most = min(_CHUNK, max(2, _CELLS // len(row[1])))
        yield [row, *islice(rows, most - 1)]


def _head(lines: Iterable[str]) -> list[str]:
    """Return the first lines, fewer if they are long."""
    left, found = _SNIFFED, []
    for line in islice(lines, _HEAD):
        found.append(line)
        left -= len(line)
        if left < 0:
            break
    return found


def sniffed(lines: Sequence[str], delimiters: str = ",;\t") -> str:
    """Return the delimiter that gives rows of equal length with most numbers."""
    best, chosen = (0.0, 0), delimiters[0]
    for delimiter in delimiters:
        try:
            rows = [r for r in csv.reader(lines, delimiter=delimiter) if r]
        except csv.Error:
            continue
        widths = {len(row) for row in rows[:-1] or rows}  # the last may be cut
        if len(widths) != 1 or max(widths) < 2:
            continue
        cells = [cell for row in rows[1:] or rows for cell in row]
        sign = "," if delimiter == ";" else "."
        share = sum(is_number(cell.replace(sign, ".")) for cell in cells) / len(cells)
        # "a;1,5" is as good with either: a semicolon is rarely part of a text.
        if (share, max(widths)) >= best:
            best, chosen = (share, max(widths)), delimiter
    return chosen


def _rows(lines: Iterable[str], delimiter: str, path: str) -> Iterator[Row]:
    """Yield rows of equal length; empty lines may only follow the last."""
    width, empty, ahead = 0, 0, 0

    def counted() -> Iterator[str]:
        """Yield lines, as long as a row does not have too many cells."""
        nonlocal ahead
        for line in lines:
            ahead += line.count(delimiter)
            if ahead >= WIDEST:
                raise InputError(
                    path,
                    f"line {reader.line_num + 1} has more than the {WIDEST} cells that "
                    "a row of text may have. Write it as npy.",
                )
            yield line

    reader = csv.reader(
        counted(), delimiter=delimiter, strict=True, skipinitialspace=True
    )
    try:
        for cells in reader:
            ahead = 0
            if not cells:
                empty = empty or (reader.line_num if width else 0)
                continue
            width = width or len(cells)
            if empty or len(cells) != width:
                found = "no" if empty else len(cells)
                raise InputError(
                    path,
                    f"line {empty or reader.line_num} has {found} cells, the lines "
                    f"above have {width}. Write one cell per column in every line.",
                )
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(
            path,
            f"line {reader.line_num} cannot be read ({error}). Look for a "
            "quotation mark that is not closed.",
        ) from error


def _has_header(rows: Sequence[Row], options: ReadOptions, path: str) -> bool:
    """Return whether the first row names the columns."""
    if isinstance(options.header, bool):
        return options.header
    found = is_header(rows[0][1], [cells for _, cells in rows[1:101]])
    if found is None and not options.precomputed:  # a table of similarities is square
        raise InputError(
            path,
            f"line {rows[0][0]} may be a header or a sample: its numbers are whole. "
            "Pass header=True (--header yes) or header=False (--header no).",
        )
    return bool(found)


@dataclass
class _Columns:
    """The columns of a table, while its rows are being read."""

    roles: Roles
    semicolons: bool
    path: str
    chunks: list[FloatArray] = field(default_factory=list)
    texts: dict[int, list[str]] = field(default_factory=dict)  # ids, labels
    first: list[str] | None = None  # the first column, as long as it may number rows
    n_missing: int = 0
    first_missing: str = ""
    signs: set[str] = field(default_factory=set)

    def _guess_ids(self, cells: Sequence[Sequence[str]]) -> None:
        """Set aside columns that look like ids, by the rules of ``files.ids``."""
        roles, names = self.roles, self.roles.names or []
        aside = [j for j, name in enumerate(names) if roles.may_hold_ids(j)
                 and (name or j == 0) and names_ids(name, cells[j])]  # fmt: skip
        if not aside and roles.first_may_hold_ids() and roles.set_aside([0]).features:
            if is_mostly_text(cells[0]):
                aside = [0]
            elif len(set(cells[0])) == len(cells[0]):
                self.first = []
        self.roles = roles = roles.set_aside(aside)
        if not roles.features:
            raise InputError(
                self.path, "there is no numeric column. Add at least one feature."
            )
        kept = (roles.id, roles.label, *aside)
        self.texts = {j: [] for j in kept if j is not None}

    def add(self, rows: Sequence[Row]) -> None:
        """Convert some rows; only ids and labels remain text."""
        if not rows:
            return
        lines = [line for line, _ in rows]
        cells = list(zip(*(row for _, row in rows), strict=True))
        if not self.chunks:
            self._guess_ids(cells)
        features = self.roles.features
        X = np.empty((len(rows), len(features)))
        for place, column in enumerate(features):
            X[:, place] = self._numbers(cells[column], column, lines)
        self._note_missing(X, cells, lines)
        self.chunks.append(X)
        for column, texts in self.texts.items():
            texts.extend(cells[column])
        if self.first is not None:
            self.first.extend(map(str.strip, cells[0]))
            self.first = self.first if are_whole(cells[0]) else None

    def _numbers(
        self, cells: Sequence[str], column: int, lines: list[int]
    ) -> FloatArray:
        """Return the numbers of a column, NaN for missing ones."""
        text = " ".join(cells)
        if self.semicolons:
            self._note_signs(text, column)
            cells = [cell.replace(",", ".") for cell in cells] if "," in text else cells
        if "_" not in text:
            try:
                return np.fromiter(map(float, cells), np.float64, len(cells))
            except ValueError:
                pass  # find the invalid cell below
        filled = ["nan" if is_missing(cell) else cell for cell in cells]
        for cell, line in zip(filled, lines, strict=True):
            if not is_number(cell):
                raise self._not_a_number(cell, column, line)
        return np.array(filled, dtype=np.float64)

    def _not_a_number(self, cell: str, column: int, line: int) -> InputError:
        """Return the error for a cell with text."""
        name = self.roles.title(column)
        if is_comma_number(cell):
            return InputError(
                self.path,
                f"column {name} holds {cell!r} in line {line}: decimal commas are "
                "only allowed if semicolons separate the cells. Write 1.5 for 1,5.",
            )
        return not_numeric(
            self.path, f"{name} holds text, {quoted(cell)} in line {line}"
        )

    def _note_signs(self, text: str, column: int) -> None:
        """Raise an error if some numbers have decimal points and others commas."""
        self.signs.update(sign for sign in ",." if sign in text)
        if len(self.signs) == 2:
            raise InputError(
                self.path,
                f"numbers up to column {self.roles.title(column)} have decimal commas "
                "and points. Use one of them, and no separator for thousands.",
            )

    def _note_missing(
        self, X: FloatArray, cells: Sequence[Sequence[str]], lines: list[int]
    ) -> None:
        """Count missing values, and remember the first."""
        bad = np.argwhere(~np.isfinite(X))
        if len(bad) and not self.n_missing:
            row, place = bad[0]
            column = self.roles.features[place]
            self.first_missing = (
                f"{quoted(cells[column][row])} in line {lines[row]}, "
                f"column {self.roles.title(column)}"
            )
        self.n_missing += len(bad)

    def table(self) -> Table:
        """Return the table, if no value is missing."""
        if not self.chunks:
            raise InputError(
                self.path, "there is a header but no sample. Add one line per sample."
            )
        if self.n_missing:
            cells = sum(chunk.size for chunk in self.chunks)
            raise InputError(
                self.path,
                f"values are missing or infinite in {self.n_missing} of {cells} cells, "
                f"the first is {self.first_missing}. Fill them, or leave out these "
                "rows or columns.",
            )
        X = np.concatenate(self.chunks)
        self.chunks.clear()
        square = self.roles.is_square(len(X))
        if self.first and not square and are_row_numbers(self.first):
            self.roles, self.texts[0] = self.roles.set_aside([0]), self.first
            X = X if self.roles.requested is not None else X[:, 1:]
        self.roles, X, numbers = self.roles.without_row_numbers(X)
        self.texts |= numbers
        roles = self.roles.with_ids(self.texts.__getitem__, self.path)
        return roles.table(X, self.texts.__getitem__, self.path)
