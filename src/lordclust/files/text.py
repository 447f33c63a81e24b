"""Tables as text: csv and tsv."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust.files.error import InputError
from lordclust.files.source import Source
from lordclust.files.table import ReadOptions, Roles, Table, names_ids, not_numeric

#: Cells that mean a missing value.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
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
        chunks = _chunks(_rows(chain(head, lines), delimiter, source.path))
        first = next(chunks, None)
        if first is None:
            raise InputError(source.path, "the file is empty. Add one line per sample.")
        has_header = _has_header(first, options)
        names = [cell.strip() for cell in first[0][1]] if has_header else None
        roles = Roles.of(options, names, len(first[0][1]), source.path)
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
        cells = [cell for row in rows for cell in row]
        sign = "," if delimiter == ";" else "."
        share = sum(_is_number(cell.replace(sign, ".")) for cell in cells) / len(cells)
        if (share, max(widths)) > best:
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


def _has_header(rows: Sequence[Row], options: ReadOptions) -> bool:
    """Return whether the first row names the columns."""
    if isinstance(options.header, bool):
        return options.header
    first, below = rows[0][1], [cells for _, cells in rows[1:101]]
    if not below:
        return not any(_is_value(cell) for cell in first)
    if not first[0].strip() and all(_is_number(cell) for cell in first[1:]):
        return True  # pandas: an index without a name, columns by number
    for j, cell in enumerate(first):
        column = [row[j] for row in below]
        if not _is_value(cell) and all(_is_value(c) for c in column) and any(
            _is_number(c.replace(",", ".")) for c in column
        ):  # fmt: skip
            return True
    return False


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number; Python's 1_000 is not."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _is_value(cell: str) -> bool:
    """Return whether a cell may belong to a column of numbers."""
    return (
        _is_number(cell)
        or cell.strip().lower() in MISSING
        or _COMMA_NUMBER.fullmatch(cell.strip()) is not None
    )


@dataclass
class _Columns:
    """The columns of a table, while its rows are being read."""

    roles: Roles
    semicolons: bool
    path: str
    guessed: bool = False  # the first column looks like ids, but was not declared so
    chunks: list[FloatArray] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    n_missing: int = 0
    first_missing: str = ""
    signs: set[str] = field(default_factory=set)

    def _guess_ids(self, rows: Sequence[Row]) -> None:
        """Use the first column as ids if it is free, and is named so or holds text."""
        names = self.roles.names
        self.guessed = self.roles.first_is_free() and (
            (names is not None and names_ids(names[0]))
            or any(not _is_value(cells[0]) for _, cells in rows)
        )
        if self.guessed:
            self.roles = self.roles.with_ids(0)
        if not self.roles.features:
            raise InputError(
                self.path, "there is no numeric column. Add at least one feature."
            )

    def add(self, rows: Sequence[Row]) -> None:
        """Convert some rows; only ids and labels remain text."""
        if not self.chunks:
            self._guess_ids(rows)
        if not rows:
            return
        roles = self.roles
        lines = [line for line, _ in rows]
        cells = list(zip(*(row for _, row in rows), strict=True))
        X = np.empty((len(rows), len(roles.features)))
        for place, column in enumerate(roles.features):
            X[:, place] = self._numbers(cells[column], column, lines)
        self._note_missing(X, cells, lines)
        self.chunks.append(X)
        if roles.id is not None:
            self.ids.extend(cells[roles.id])
        if roles.label is not None:
            self.labels.extend(cells[roles.label])

    def _numbers(
        self, cells: Sequence[str], column: int, lines: list[int]
    ) -> FloatArray | list[float]:
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
        return [
            self._number(c, column, line) for c, line in zip(cells, lines, strict=True)
        ]

    def _number(self, cell: str, column: int, line: int) -> float:
        """Return a cell as a number, or NaN if missing; raise an error for text."""
        if cell.strip().lower() in MISSING:
            return float("nan")
        if _is_number(cell):
            return float(cell)
        name = self._name(column)
        if _COMMA_NUMBER.fullmatch(cell.strip()):
            raise InputError(
                self.path,
                f"column {name} holds {cell!r} in line {line}: decimal commas are "
                "only allowed if semicolons separate the cells. Write 1.5 for 1,5.",
            )
        raise not_numeric(
            self.path, f"{name} holds text, {_shown(cell)} in line {line}"
        )

    def _note_signs(self, text: str, column: int) -> None:
        """Raise an error if some numbers have decimal points and others commas."""
        self.signs.update(sign for sign in ",." if sign in text)
        if len(self.signs) == 2:
            raise InputError(
                self.path,
                f"numbers up to column {self._name(column)} have decimal commas and "
                "points. Use one of them, and no separator for thousands.",
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
                f"{_shown(cells[column][row])} in line {lines[row]}, "
                f"column {self._name(column)}"
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
        roles, texts = self.roles, {self.roles.id: self.ids}
        texts[roles.label] = self.labels
        if self.guessed and len(set(self.ids)) < len(self.ids):
            self._check_guessed_ids()
            roles = roles.with_ids(None)
        return roles.table(np.concatenate(self.chunks), texts.__getitem__, self.path)

    def _name(self, column: int) -> str:
        """Return a column's name in a message."""
        names = self.roles.names
        return repr(names[column]) if names else f"{column} (from 0)"

    def _check_guessed_ids(self) -> None:
        """Raise an error for duplicate ids, unless the columns exclude them."""
        if self.roles.requested is not None:
            return
        seen: dict[str, int] = {}
        first, row = next(
            (seen[name], row)
            for row, name in enumerate(self.ids)
            if seen.setdefault(name, row) != row
        )
        raise InputError(
            self.path,
            f"the first column looks like ids, but {_shown(self.ids[row])} is in "
            f"samples {first} and {row} (from 0). Declare it with id_column "
            "(--id-column) or label_column (--label-column), or leave it out with "
            "columns (--columns).",
        )


def _shown(text: str) -> str:
    """Return text in quotes, shortened."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
