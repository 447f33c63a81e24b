"""Tables as text: csv and tsv."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust.files.error import ContentError
from lordclust.files.ids import (
    are_decimal_commas,
    are_row_numbers,
    is_header,
    is_missing,
    is_mostly_text,
    is_number,
    is_whole,
    names_ids,
)
from lordclust.files.source import Source
from lordclust.files.table import ReadOptions, Roles, Table, not_numeric, quoted
from lordclust.files.values import (
    Words,
    is_amount,
    meaning,
    own_sign,
    proves,
    with_plain_numbers,
)

#: Rows, and cells, that are converted at once; their text is then dropped.
_CHUNK, _CELLS = 5000, 1 << 22
#: Lines, and characters, that the delimiter is guessed from.
_HEAD, _SNIFFED = 20, 1 << 20
#: Largest number of columns: each cell is an object for a while.
WIDEST = 4_000_000
#: Largest number of columns that are kept as text until the end, and of columns whose
#: decimal signs are compared.
_MOST_WORDS = 10_000

#: The number of the line in which a row ends, and its cells.
Row = tuple[int, list[str]]


def read_csv(source: Source, options: ReadOptions) -> Table:
    """Read a table whose cells are separated by commas, semicolons or tabs."""
    return _read(source, options, ",;\t")


def read_tsv(source: Source, options: ReadOptions) -> Table:
    """Read a table whose cells are separated by tabs."""
    return _read(source, options, "\t")


def _read(source: Source, options: ReadOptions, delimiters: str) -> Table:
    """Read a table whose cells are separated by one of the delimiters."""

    def once(worded: set[int]) -> Columns:
        with source.lines() as lines:
            head = _head(lines)
            delimiter = sniffed([line[:_SNIFFED] for line in head], delimiters)
            if delimiter == "," and are_decimal_commas(head):
                raise ContentError(
                    f"it looks like one column of numbers with decimal commas, such as "
                    f"{quoted(head[-1].strip())}. Write points, or semicolons between "
                    "columns."
                )
            rows = _rows(chain(head, lines), delimiter)
            return collected(rows, options, worded, delimiter == ";")

    return settled(once)


def settled(once: "Callable[[set[int]], Columns]") -> Table:
    """Read a table; again, if a column of numbers becomes text late."""
    worded: set[int] = set()
    while late := (columns := once(worded)).late():
        worded |= late
    return columns.table()


def collected(
    rows: Iterator[Row],
    options: ReadOptions,
    worded: Iterable[int] = (),
    semicolons: bool = False,
) -> "Columns":
    """Return the columns of all rows; ``worded`` ones are kept as text."""
    chunks = _chunks(rows)
    first = next(chunks, None)
    if first is None:
        raise ContentError("the file is empty. Add one line per sample.")
    has_header = _has_header(first, options)
    names = [cell.strip() for cell in first[0][1]] if has_header else None
    roles = Roles.of(options, names, len(first[0][1]))
    if options.header == "auto" and any(map(is_number, names or ())):
        roles = roles.noted(
            "the first line is read as a header, although it holds numbers. "
            "Choose otherwise with header=False (--header no)."
        )
    columns = Columns(roles, options, semicolons)
    columns.words = {j: Words() for j in worded}
    columns.add(first[has_header:])
    for chunk in chunks:
        columns.add(chunk)
    return columns


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
        share = sum(is_number(c) or is_amount(c) for c in cells) / len(cells)
        # "a;1,5" is as good with either: a semicolon is rarely part of a text.
        if (share, max(widths)) >= best:
            best, chosen = (share, max(widths)), delimiter
    return chosen


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[Row]:
    """Yield rows of equal length; empty lines may only follow the last."""
    width, empty, ahead = 0, 0, 0

    def counted() -> Iterator[str]:
        """Yield lines, as long as a row does not have too many cells."""
        nonlocal ahead
        for line in lines:
            ahead += line.count(delimiter)
            if ahead >= WIDEST:
                raise ContentError(
                    f"line {reader.line_num + 1} has more than the {WIDEST} cells that "
                    "a row of text may have. Write it as npy."
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
                raise ContentError(
                    f"line {empty or reader.line_num} has {found} cells, the lines "
                    f"above have {width}. Write one cell per column in every line."
                )
            yield reader.line_num, cells
    except csv.Error as error:
        raise ContentError(
            f"line {reader.line_num} cannot be read ({error}). Look for a "
            "quotation mark that is not closed."
        ) from error


def _has_header(rows: Sequence[Row], options: ReadOptions) -> bool:
    """Return whether the first row names the columns."""
    if isinstance(options.header, bool):
        return options.header
    first, *below = [cells for _, cells in rows[:101]]
    if len(first) <= _MOST_WORDS:
        first, *below = with_plain_numbers([first, *below])
    found = is_header(first, below)
    if found is None and not options.precomputed:  # a table of similarities is square
        raise ContentError(
            f"line {rows[0][0]} may be a header or a sample: its numbers are whole. "
            "Pass header=True (--header yes) or header=False (--header no)."
        )
    return bool(found)


@dataclass
class Columns:
    """The columns of a table, while its rows are being read.

    Columns of plain numbers are converted at once. Others are kept as words, and
    decided at the end; if they begin with many plain numbers, the file is read again.
    """

    roles: Roles
    options: ReadOptions
    semicolons: bool
    chunks: list[FloatArray] = field(default_factory=list)
    texts: dict[int, list[str]] = field(default_factory=dict)  # ids, labels
    words: dict[int, Words] = field(default_factory=dict)
    became_words: set[int] = field(default_factory=set)
    first: list[str] | None = None  # the first column, as long as it may number rows
    first_missing: str = ""
    signs: dict[int, str] = field(default_factory=dict)  # certain decimal signs
    unclear: dict[int, str] = field(default_factory=dict)  # or of thousands

    def _guess_ids(self, cells: Sequence[Sequence[str]]) -> None:
        """Set aside columns that look like ids, by the rules of ``files.ids``."""
        roles, names = self.roles, self.roles.names or []
        aside = [j for j, name in enumerate(names) if roles.may_hold_ids(j)
                 and (name or j == 0) and names_ids(name, cells[j])]  # fmt: skip
        if not aside and roles.first_may_hold_ids() and roles.set_aside([0]).features:
            if roles.requested is not None and is_mostly_text(cells[0]):
                aside = [0]
            elif len(set(cells[0])) == len(cells[0]):
                self.first = []
        self.roles = roles = roles.set_aside(aside)
        if not roles.features and not roles.categorical:
            raise self._no_feature()
        kept = {roles.id, roles.label, *aside, *roles.categorical}
        kept |= set(range(roles.width)) if self.options.cells else set()
        self.texts = {j: [] for j in kept if j is not None}

    def _no_feature(self) -> ContentError:
        return ContentError("there is no numeric column. Add at least one feature.")

    def add(self, rows: Sequence[Row]) -> None:
        """Convert some rows."""
        if not rows:
            return
        lines = [line for line, _ in rows]
        cells = list(zip(*(row for _, row in rows), strict=True))
        if not self.chunks:
            self._guess_ids(cells)
        features = self.roles.features
        X = np.full((len(rows), len(features)), np.nan)
        for place, column in enumerate(features):
            X[:, place] = self._numbers(cells[column], column, lines)
        self._note_missing(X, cells, lines)
        self.chunks.append(X)
        for column, texts in self.texts.items():
            texts.extend(cells[column])
        if self.first is not None:
            self.first.extend(map(str.strip, cells[0]))
            self.first = self.first if all(map(is_whole, cells[0])) else None

    def _numbers(
        self, cells: Sequence[str], column: int, lines: list[int]
    ) -> FloatArray | float:
        """Return the numbers of a column, NaN for missing ones and for words."""
        if column in self.words:
            self.words[column].add(cells, lines)
            return np.nan
        if column in self.became_words:
            return np.nan
        found = self._plain(cells, column)
        if found is not None:
            return found
        if self.chunks:
            self.became_words.add(column)
        else:
            if len(self.words) >= _MOST_WORDS:
                raise ContentError(
                    f"more than {_MOST_WORDS} columns hold text, but features must be "
                    "numbers. Choose the columns with columns (--columns)."
                )
            self.words[column] = Words()
            self.words[column].add(cells, lines)
        return np.nan

    def _plain(self, cells: Sequence[str], column: int) -> FloatArray | None:
        """Return the numbers of a column if its cells are plain numbers or missing."""
        text = " ".join(cells)
        sign = "," if "," in text else "."
        if sign == ",":
            if not self.semicolons or "." in text:
                return None
            cells = [cell.replace(",", ".") for cell in cells]
        before = self.signs.get(column) or self.unclear.get(column, sign)
        if "_" in text or (sign in text and sign != before):
            return None
        try:
            X = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            filled = ["nan" if is_missing(cell) else cell for cell in cells]
            if not all(map(is_number, filled)):
                return None
            X = np.array(filled, dtype=np.float64)
        few = self.roles.width <= _MOST_WORDS
        if few and sign in text and column not in self.signs:
            if proves(sign, text):
                self.signs[column] = sign
            else:
                self.unclear[column] = sign
        return X

    def _note_missing(
        self, X: FloatArray, cells: Sequence[Sequence[str]], lines: list[int]
    ) -> None:
        """Remember the first missing value."""
        bad = np.isinf(X) if self.options.missing == "keep" else ~np.isfinite(X)
        if self.first_missing or not bad.any():
            return
        features = self.roles.features
        words = {*self.words, *self.became_words}
        bad[:, [j in words for j in features]] = False
        if bad.any():
            row, place = np.argwhere(bad)[0]
            column = features[place]
            self.first_missing = (
                f"{quoted(cells[column][row])} in line {lines[row]}, column "
                f"{self.roles.title(column)}"
            )

    def late(self) -> set[int]:
        """Return the columns that should have been kept as words.

        A separator that may be decimal or of thousands is as in the other columns.
        """
        sign = self._sign()
        unclear = {j: s for j, s in self.unclear.items() if j not in self.signs}
        other = {j for j, s in unclear.items() if s != (self._hint(j) or sign or ".")}
        return (self.became_words | other) - set(self.words)

    def _sign(self) -> str:
        """Return the decimal sign that was requested, or that all columns have."""
        if self.options.decimal is not None:
            return self.options.decimal
        found = {*self.signs.values(), *map(own_sign, self.words.values())} - {""}
        return found.pop() if len(found) == 1 else ""

    def _hint(self, column: int) -> str:
        """Return the style of a column in an earlier file."""
        name = self.roles.names[column] if self.roles.names else str(column)
        return self.options.kinds.get(name, "").partition(" ")[2]

    def table(self) -> Table:
        """Return the table, if no value is missing."""
        if not self.chunks:
            raise ContentError(
                "there is a header but no sample. Add one line per sample."
            )
        X = np.concatenate(self.chunks)
        self.chunks.clear()
        kinds, X = self.read_words(X)
        self._check_missing(X)
        square = self.roles.is_square(len(X))
        if self.first and not square and are_row_numbers(self.first):
            aside = {0, *self.roles.aside}
            self.roles, self.texts[0] = self.roles.set_aside(aside), self.first
            X = X if self.roles.requested is not None else X[:, 1:]
        self.roles, X, numbers = self.roles.without_row_numbers(X)
        self.texts |= numbers
        roles = self.roles.with_ids(self.texts.__getitem__)
        table = roles.table(X, self.texts.__getitem__)
        signs = self.unclear | self.signs
        kinds = {j: f"number {sign}" for j, sign in signs.items()} | kinds
        found = [kinds.get(j, "number") for j in roles.features]
        return replace(table, kinds=found, cells=self._cells())

    def read_words(self, X: FloatArray) -> tuple[dict[int, str], FloatArray]:
        """Return the kinds of columns kept as words, and X with their values.

        Text is left out, or the ids.
        """
        if not self.words:
            return {}, X
        before, sign = self.roles.features, self._sign()
        readings = {
            j: meaning(w, self.roles.title(j), self._hint(j) or sign)
            for j, w in self.words.items()
        }
        for place, j in enumerate(before):
            if j in readings and readings[j].kind != "text":
                X[:, place] = readings[j].values
        self._leave_out_text({j: reading.kind for j, reading in readings.items()})
        features = self.roles.features
        read = {j: readings[j] for j in features if j in readings}
        if read:
            shown = (f"{self.roles.title(j)} ({r.example})" for j, r in read.items())
            self.roles = replace(self.roles, numeric=self.roles.numeric | set(read))
            self.roles = self.roles.noted(f"read as numbers: {', '.join(shown)}.")
        kinds = {j: f"{r.kind} {r.style}".strip() for j, r in read.items()}
        kept = np.isin(before, features)
        return kinds, X if kept.all() else X[:, kept]

    def _leave_out_text(self, kinds: dict[int, str]) -> None:
        """Set aside columns of text: one of them may be the ids."""
        roles = self.roles
        text = [j for j, kind in kinds.items() if kind == "text"]
        if text and (roles.requested is not None or roles.precomputed):
            raise self._text_in(text[0])
        if roles.id is None and not roles.aside:
            plausible = (j for j in sorted(kinds) if kinds[j] in ("text", "date"))
            ids = [j for j in plausible if roles.may_be_names(j)
                   and self.words[j].may_be_ids(kinds[j])]  # fmt: skip
            dates = {j for j in ids[:1] if kinds[j] == "date"}
            roles = replace(roles.set_aside(ids[:1]), numeric=roles.numeric | dates)
            self.texts |= {j: self.words[j].texts() for j in roles.aside}
        text = [j for j in text if j not in roles.aside]
        known = roles.categorical  # who names some needs no advice
        few = [j for j in text if not known and self.words[j].are_categories()]
        self.roles = roles.without_text(text, few)
        if not self.roles.features and not roles.categorical:
            raise self._no_feature()

    def _text_in(self, column: int) -> ContentError:
        """Return the error for a column of text that was requested as a feature."""
        words = self.words[column]
        place = next(i for i, cell in enumerate(words.places) if not is_missing(cell))
        return not_numeric(
            f"{self.roles.title(column)} holds text, {words.where(place)}"
        )

    def _check_missing(self, X: FloatArray) -> None:
        """Raise an error if values are missing, unless that is allowed."""
        bad = np.isinf(X) if self.options.missing == "keep" else ~np.isfinite(X)
        if not bad.any():
            return
        for column in self.roles.features:
            words = self.words.get(column, Words())
            for place, cell in enumerate(words.places):
                if not self.first_missing and is_missing(cell):
                    self.first_missing = (
                        f"{words.where(place)}, column {self.roles.title(column)}"
                    )
        raise ContentError(
            f"values are missing or infinite in {np.count_nonzero(bad)} of {X.size} "
            f"cells, the first is {self.first_missing}. Fill them, or leave out these "
            "rows or columns; --missing median and --missing drop do so."
        )

    def _cells(self) -> dict[str, list[str]]:
        """Return all cells, if they were requested."""
        if not self.options.cells:
            return {}
        names = self.roles.names or [f"x{j}" for j in range(self.roles.width)]
        return {name: self.texts[j] for j, name in enumerate(names)}
