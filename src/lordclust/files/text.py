"""Tables as text: csv and tsv."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust.files.error import InputError
from lordclust.files.source import Source
from lordclust.files.table import Places, Table, Wish, as_labels, names_ids

#: Cells that stand for a value that is not there.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
#: Rows, and cells, that are converted at once: their text is then forgotten.
_CHUNK, _CELLS = 5000, 1 << 22
#: Lines, and characters, that tell how cells are parted.
_HEAD, _SNIFFED = 20, 1 << 20
#: Columns that a table may have: each cell is an object for a while.
WIDEST = 4_000_000

#: A row of cells and the line it ends in.
Row = tuple[int, list[str]]


def read_csv(source: Source, wish: Wish) -> Table:
    """Read a table whose cells are parted by commas, semicolons or tabs."""
    return _read(source, wish, ",;\t")


def read_tsv(source: Source, wish: Wish) -> Table:
    """Read a table whose cells are parted by tabs."""
    return _read(source, wish, "\t")


def _read(source: Source, wish: Wish, delimiters: str) -> Table:
    """Read a table chunk by chunk."""
    with source.lines() as lines:
        head = _head(lines)
        delimiter = sniffed([line[:_SNIFFED] for line in head], delimiters)
        chunks = _chunks(_rows(chain(head, lines), delimiter, source.path))
        first = next(chunks, None)
        if first is None:
            raise InputError(
                source.path, "the file is empty. Give it one line a sample."
            )
        has_header = _has_header(first, wish)
        names = [cell.strip() for cell in first[0][1]] if has_header else None
        plan = _planned(names, [cells for _, cells in first[has_header:]],
                        len(first[0][1]), wish, source.path)  # fmt: skip
        columns = _Columns(plan, delimiter == ";", source.path)
        columns.add(first[has_header:])
        for chunk in chunks:
            columns.add(chunk)
    return columns.table()


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Yield some rows at a time: few of a wide table, but one more than its header."""
    for row in rows:
        most = min(_CHUNK, max(2, _CELLS // len(row[1])))
        yield [row, *islice(rows, most - 1)]


def _head(lines: Iterable[str]) -> list[str]:
    """Return the first lines: fewer if they are long."""
    left, found = _SNIFFED, []
    for line in islice(lines, _HEAD):
        found.append(line)
        left -= len(line)
        if left < 0:
            break
    return found


def sniffed(lines: Sequence[str], delimiters: str = ",;\t") -> str:
    """Return what parts the cells: what gives equal rows of most numbers.

    Examples
    --------
    >>> sniffed(["a;b", "1,5;2"]), sniffed(["x,y", "1,2"])
    (';', ',')
    """
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
    """Yield rows of one width; empty lines may only follow the last."""
    width, empty, ahead = 0, 0, 0

    def counted() -> Iterator[str]:
        """Yield lines, as long as the cells of a row stay few enough."""
        nonlocal ahead
        for line in lines:
            ahead += line.count(delimiter)
            if ahead >= WIDEST:
                raise InputError(
                    path,
                    f"line {reader.line_num + 1} has more than the {WIDEST} cells that "
                    "a table of text may have. Write it as npy.",
                )
            yield line

    settings: Any = {"delimiter": delimiter, "strict": True, "skipinitialspace": True}
    reader = csv.reader(counted(), **settings)
    try:
        for cells in reader:
            ahead = 0
            if not cells:
                empty = empty or (reader.line_num if width else 0)
                continue
            width = width or len(cells)
            if empty or len(cells) != width:
                came = "no" if empty else len(cells)
                raise InputError(
                    path,
                    f"line {empty or reader.line_num} has {came} cells, the lines "
                    f"above have {width}. Give every sample a cell for each column.",
                )
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(
            path,
            f"line {reader.line_num} is not a line of cells ({error}). Look for a "
            "quotation mark that is not closed.",
        ) from error


def _has_header(rows: Sequence[Row], wish: Wish) -> bool:
    """Tell whether the first row names the columns."""
    if isinstance(wish.header, bool):
        return wish.header
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
    """Tell whether a cell is a number; Python's 1_000 is not."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _is_value(cell: str) -> bool:
    """Tell whether a cell may be part of a column of numbers."""
    return (
        _is_number(cell)
        or cell.strip().lower() in MISSING
        or _COMMA_NUMBER.fullmatch(cell.strip()) is not None
    )


@dataclass(frozen=True)
class _Plan:
    """Which columns are what."""

    names: list[str] | None
    features: list[int]
    id: int | None
    label: int | None
    guessed: bool  # nobody said that this column holds ids
    needed: bool  # if it does not, it would be a feature

    def name(self, column: int) -> str:
        """Return what a sentence calls a column."""
        return repr(self.names[column]) if self.names else f"{column} (from 0)"


def _planned(
    names: list[str] | None, rows: list[list[str]], width: int, wish: Wish, path: str
) -> _Plan:
    """Return which columns are features, ids and labels."""
    places = Places.of(wish, names, width, path)
    guessed = places.first_is_free() and _names_samples(names, rows)
    id_column = 0 if guessed else places.id
    features = places.rest(width, id_column)
    if not features:
        raise InputError(
            path,
            "there is no column of numbers. Give at least one feature a sample.",
        )
    return _Plan(
        names, features, id_column, places.label, guessed, wish.columns is None
    )


def _names_samples(names: list[str] | None, rows: list[list[str]]) -> bool:
    """Tell whether the first column looks like ids: by its name, or as it is text."""
    if names is not None and names_ids(names[0]):
        return True
    return any(not _is_value(row[0]) for row in rows)


@dataclass
class _Columns:
    """The columns of a table, as its rows come in."""

    plan: _Plan
    semicolons: bool
    path: str
    chunks: list[FloatArray] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    n_missing: int = 0
    first_missing: str = ""
    signs: set[str] = field(default_factory=set)

    def add(self, rows: Sequence[Row]) -> None:
        """Convert some rows; only ids and labels stay text."""
        if not rows:
            return
        lines = [line for line, _ in rows]
        cells = list(zip(*(row for _, row in rows), strict=True))
        X = np.empty((len(rows), len(self.plan.features)))
        for place, column in enumerate(self.plan.features):
            X[:, place] = self._numbers(cells[column], column, lines)
        self._note_missing(X, cells, lines)
        self.chunks.append(X)
        if self.plan.id is not None:
            self.ids.extend(cells[self.plan.id])
        if self.plan.label is not None:
            self.labels.extend(cells[self.plan.label])

    def _numbers(self, cells: Sequence[str], column: int, lines: list[int]) -> Any:
        """Return the numbers of a column, NaN where they are missing."""
        text = " ".join(cells)
        if self.semicolons:
            self._note_signs(text, column)
            cells = [cell.replace(",", ".") for cell in cells] if "," in text else cells
        if "_" not in text:
            try:
                return np.fromiter(map(float, cells), np.float64, len(cells))
            except ValueError:
                pass  # find out which cell
        return [
            self._number(c, column, line) for c, line in zip(cells, lines, strict=True)
        ]

    def _number(self, cell: str, column: int, line: int) -> float:
        """Return a number, or NaN; refuse other text."""
        if cell.strip().lower() in MISSING:
            return float("nan")
        if _is_number(cell):
            return float(cell)
        name = self.plan.name(column)
        if _COMMA_NUMBER.fullmatch(cell.strip()):
            raise InputError(
                self.path,
                f"column {name} holds {cell!r} in line {line}: a decimal comma is "
                "understood only where semicolons part the cells. Write 1.5 for 1,5.",
            )
        raise InputError(
            self.path,
            f"column {name} holds text, {_shown(cell)} in line {line}, but features "
            "are numbers. Leave it out with columns (--columns), or say that it is "
            "label_column (--label-column) or id_column (--id-column).",
        )

    def _note_signs(self, text: str, column: int) -> None:
        """Refuse numbers of which some have points and some commas."""
        self.signs.update(sign for sign in ",." if sign in text)
        if len(self.signs) == 2:
            raise InputError(
                self.path,
                f"numbers have decimal commas and points, both up to column "
                f"{self.plan.name(column)}. Use one sign, and none for thousands.",
            )

    def _note_missing(self, X: FloatArray, cells: list[Any], lines: list[int]) -> None:
        """Count what is missing, and remember where it first is."""
        bad = np.argwhere(~np.isfinite(X))
        if len(bad) and not self.n_missing:
            row, place = bad[0]
            column = self.plan.features[place]
            self.first_missing = (
                f"{_shown(cells[column][row])} in line {lines[row]}, "
                f"column {self.plan.name(column)}"
            )
        self.n_missing += len(bad)

    def table(self) -> Table:
        """Return what was read, if it is whole."""
        plan = self.plan
        if not self.chunks:
            raise InputError(
                self.path, "there is a header but no sample. Give one line a sample."
            )
        if self.n_missing:
            cells = sum(chunk.size for chunk in self.chunks)
            raise InputError(
                self.path,
                f"values are missing or infinite in {self.n_missing} of {cells} cells, "
                f"the first is {self.first_missing}. Fill them, or leave out these "
                "rows or columns.",
            )
        if plan.guessed and plan.needed:
            self._check_guess()
        told = not plan.guessed or len(set(self.ids)) == len(self.ids)
        id_column = plan.id if told else None
        return Table(
            np.concatenate(self.chunks),
            ids=self.ids if id_column is not None else None,
            id_name=self._name(id_column),
            names=[plan.names[j] for j in plan.features] if plan.names else None,
            labels=as_labels(self.labels) if plan.label is not None else None,
            label_name=self._name(plan.label),
            source=self.path,
        )

    def _name(self, column: int | None) -> str | None:
        """Return the name of a column, if it has one."""
        named = column is not None and self.plan.names is not None
        return self.plan.names[column] if named else None  # type: ignore[index]

    def _check_guess(self) -> None:
        """Refuse a first column of text that does not tell the samples apart."""
        seen: dict[str, int] = {}
        for row, name in enumerate(self.ids):
            if name in seen:
                raise InputError(
                    self.path,
                    f"the first column looks like ids, but {_shown(name)} is in "
                    f"samples {seen[name]} and {row} (from 0). Say what it is "
                    "with id_column (--id-column) or label_column (--label-column), "
                    "or leave it out with columns (--columns).",
                )
            seen[name] = row


def _shown(text: str) -> str:
    """Return text in quotes, shortened."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
