"""What the cells of a column of text mean: truth values, dates, amounts, or text.

A column is decided as a whole. It holds

- truth values if all cells are of one pair: true and false, yes and no, y and n, and
  the same in German, French and Spanish;
- dates if at least half of the cells are: 2024-03-01, 01.03.2024, 1 March 2024,
  3/25/2024. The order of day and month is that in which all cells are dates;
- amounts if at least half of the cells are: numbers with a currency, a percent sign,
  separators of thousands or a decimal comma. The decimal sign is that in which all
  cells are numbers; what a separator before three digits means (1,234) is decided by
  the other cells, then by a currency (money has no three decimals), then by the other
  columns of the file;
- text otherwise.

A few other cells in a column of dates or amounts are an error that names the first.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from lordclust._core.lazy import lazy_property
from lordclust._core.typing import BoolArray, FloatArray, IntArray
from lordclust.files.error import ContentError
from lordclust.files.ids import is_missing, is_value
from lordclust.files.table import not_numeric, quoted

#: The least share of cells that makes a column one of dates or amounts.
HALF = 0.5
#: Rows that are looked at before all are.
_PART = 1000
#: Columns of text with at most so many different cells, of which each occurs so often
#: on average, and none of which is missing, look like categories.
CATEGORIES, FREQUENT = 20, 5
_PAIRS = (("true", "false"), ("yes", "no"), ("y", "n"), ("ja", "nein"),
          ("wahr", "falsch"), ("oui", "non"), ("vrai", "faux"), ("sí", "no"),
          ("si", "no"))  # fmt: skip
_MONEY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|AUD|CAD|US\$|Fr\."
_AMOUNT = re.compile(
    rf"([-+−]?)\s?({_MONEY})?\s?([-+−]?)"
    rf"([\d.,'’\s]*\d[.,]?(?:[eE][-+]?\d+)?)\s?({_MONEY}|%)?",
    re.IGNORECASE,
)
#: Numbers with a decimal sign; the other sign, ' or a space may separate thousands.
_STYLES = {
    sign: re.compile(
        rf"(?:[1-9]\d{{0,2}}([{other}'’\s])\d{{3}}(?:\1\d{{3}})*|\d*)"
        rf"(?:[{sign}]\d*)?(?:[eE][-+]?\d+)?"
    )
    for sign, other in (".,", ",.")
}
#: A sign that cannot separate thousands: it does not stand between one to three
#: digits, of which the first is not 0, and exactly three.
_PROOFS = {
    sign: re.compile(rf"(?:(?<!\d)0?|\d{{4}})[{sign}]|[{sign}](?!\d{{3}}(?!\d))")
    for sign in ".,"
}
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august",
           "september", "october", "november", "december")  # fmt: skip
_CLOCK = (
    r"(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s?(?:Z|[-+]\d{2}:?\d{2})?)?"
)
_DATES = (
    ("ymd", re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})" + _CLOCK)),
    ("dmy mdy", re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})" + _CLOCK)),
    ("dmy", re.compile(r"(\d{1,2})(\.?[-\s])\s?([A-Za-z]{3,9})[-.,\s]\s?(\d{4})"
                       + _CLOCK)),
    ("mdy", re.compile(r"([A-Za-z]{3,9})(\.?[-\s])(\d{1,2}),?[-\s](\d{4})" + _CLOCK)),
)  # fmt: skip

#: The value of each cell in each style that it is valid in: "." and "," are decimal
#: signs, "dmy" and "mdy" orders.
Readings = list[Mapping[str, float]]


@dataclass
class Words:
    """A column of text; every different cell is stored once."""

    places: dict[str, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)  # where each cell is first
    codes: list[IntArray] = field(default_factory=list)
    unit: str = "line {}"

    @lazy_property
    def amounts(self) -> list[tuple[Mapping[str, float], str]]:
        """The values of each cell by decimal sign, and its unit, once all are added."""
        if not self.may_be(is_amount):
            return [({}, "")] * len(self.places)
        return [_amount(cell.strip()) for cell in self.places]

    def may_be(self, is_valid: Callable[[str], bool]) -> bool:
        """Return whether a part of the rows shows that half of them may be valid."""
        rows, cells = self.rows, list(self.places)
        part = (cells[i] for i in rows[:: 1 + len(rows) // _PART].tolist())
        present = [cell for cell in part if not is_missing(cell)]
        valid = sum(map(is_valid, present))
        return len(present) < _PART // 10 or valid >= HALF / 2 * len(present)

    def where(self, place: int) -> str:
        """Return a cell and its line, for messages."""
        cell = list(self.places)[place].strip()
        return f"{quoted(cell)} in {self.unit.format(self.lines[place])}"

    def add(self, cells: Sequence[str], lines: Sequence[int]) -> None:
        """Add the cells of some rows."""
        place, places = self.places.setdefault, self.places
        codes = [place(cell, len(places)) for cell in cells]
        for code, line in zip(codes, lines, strict=True):
            if code == len(self.lines):
                self.lines.append(line)
        self.codes.append(np.array(codes, dtype=np.int32))

    @property
    def rows(self) -> IntArray:
        """The place of the cell in each row."""
        return np.concatenate(self.codes)

    def may_be_ids(self, kind: str) -> bool:
        """Return whether no cell occurs twice, and no date is missing."""
        complete = kind != "date" or not any(map(is_missing, self.places))
        return complete and len(self.places) == sum(map(len, self.codes))

    def are_categories(self) -> bool:
        """Return whether a few different cells occur often each."""
        count = np.bincount(self.rows)
        known = [not is_missing(cell) for cell in self.places]
        return 2 <= sum(known) <= CATEGORIES and count[known].mean() >= FREQUENT

    def texts(self) -> list[str]:
        """Return the cell of each row."""
        cells = list(self.places)
        return [cells[code] for code in self.rows.tolist()]


@dataclass(frozen=True)
class Reading:
    """What a column of text means."""

    kind: str  # "text", "boolean", "date", "number" or "percent"
    style: str = ""  # the decimal sign, or the order of dates, if it matters
    values: FloatArray = field(default_factory=lambda: np.empty(0))  # NaN if missing
    example: str = ""  # a cell and its value


def is_amount(cell: str) -> bool:
    """Return whether a cell is a number with or without signs of any kind."""
    return bool(_amount(cell.strip())[0])


def with_plain_numbers(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows with 0.5 for amounts, dates and truth values, to find a header.

    Words such as "no" in the first row may be names, unless they are below as well.
    """
    columns = []
    for first, *below in zip(*rows, strict=True):
        words = {cell.strip().lower() for cell in below}
        if not any(words and words <= {*pair} for pair in _PAIRS):
            words = set()

        def is_marked(cell: str, words: set[str] = words) -> bool:
            cell = cell.strip()
            return cell.lower() in words or bool(_days(cell)) or is_amount(cell)

        cells = [first, *below]
        marked = [not is_value(cell) and is_marked(cell) for cell in cells]
        if sum(marked[1:]) >= max(HALF * len(below), 1):
            cells = ["0.5" if m else c for m, c in zip(marked, cells, strict=True)]
        columns.append(cells)
    return [list(row) for row in zip(*columns, strict=True)]


def proves(sign: str, text: str) -> bool:
    """Return whether a sign in plain numbers can only be a decimal sign."""
    return _PROOFS[sign].search(text) is not None


def own_sign(words: Words) -> str:
    """Return the decimal sign that the cells of a column prove, otherwise ""."""
    styles = [set(values) for values, _ in words.amounts]
    if sum(map(bool, styles)) < HALF * len(styles):
        return ""  # text
    known = {".", ","}.intersection(*filter(None, styles))
    return known.pop() if len(known) == 1 else ""


def meaning(words: Words, title: str, hint: str = "") -> Reading:
    """Return what a column of text means.

    Parameters
    ----------
    words : Words
        The column.
    title : str
        Its name, for messages.
    hint : str
        The style of other columns, or of an earlier file: it decides what the cells
        leave open.
    """
    cells = [cell.strip() for cell in words.places]
    present = np.array([not is_missing(cell) for cell in cells])
    rows = words.rows
    count = np.bincount(rows, minlength=len(cells)) * present
    column = _Column(words, cells, present, count, title, hint)
    for read in (_booleans, _dates, _amounts):
        found = read(column)
        if found is not None:
            kind, style, values = found
            return Reading(kind, style, values[rows], column.example(values, kind))
    return Reading("text")


@dataclass(frozen=True)
class _Column:
    """The different cells of a column, and how often each occurs."""

    words: Words
    cells: list[str]
    present: BoolArray
    count: IntArray
    title: str
    hint: str

    def example(self, values: FloatArray, kind: str) -> str:
        """Return a cell and its value, for example "$1,200 = 1200"."""
        place = int(np.flatnonzero(self.present)[0])
        days = " days" if kind == "date" else ""
        return f"{self.cells[place][:40]} = {values[place]:.10g}{days}"

    def are_mostly(self, valid: BoolArray) -> bool:
        """Return whether at least half of the cells are valid."""
        total = self.count.sum()
        return bool(total and self.count[valid].sum() >= HALF * total)

    def first(self, bad: BoolArray) -> str:
        """Return the first of some cells, with its line."""
        return self.words.where(int(np.flatnonzero(bad & self.present)[0]))

    def style(self, readings: Readings, styles: Sequence[str], what: str) -> list[str]:
        """Return the styles in which all cells are valid; raise an error if none is."""
        valid = {s: np.array([s in r for r in readings]) for s in styles}
        known = [s for s in styles if valid[s][self.present].all()]
        if not known:
            best = max(styles, key=lambda s: self.count @ valid[s])
            raise ContentError(
                f"column {self.title} {what} {self.first(~valid[best])}. "
                "Write all cells alike, or leave the column out with drop (--drop)."
            )
        return known


_Found = tuple[str, str, FloatArray]


def _booleans(column: _Column) -> _Found | None:
    """Return truth values as 0 and 1."""
    lower = [cell.lower() for cell in column.cells]
    found = {c for c, p in zip(lower, column.present, strict=True) if p}
    for yes, no in _PAIRS:
        if found and found <= {yes, no}:
            return "boolean", "", np.array([{yes: 1.0, no: 0.0}.get(c, np.nan)
                                            for c in lower])  # fmt: skip
    return None


def _dates(column: _Column) -> _Found | None:
    """Return dates as days since 1970."""
    if not column.words.may_be(lambda cell: bool(_days(cell.strip()))):
        return None
    readings = [_days(cell) for cell in column.cells]
    if not column.are_mostly(np.array([bool(r) for r in readings])):
        return None
    styles = column.style(
        readings, ("dmy", "mdy"), "holds dates; the first cell that differs is"
    )
    values = {s: _values(readings, s) for s in styles}
    if len(styles) == 2 and not _same(*values.values()):
        if column.hint not in styles:
            unclear = np.array([len(set(r.values())) > 1 for r in readings])
            raise ContentError(
                f"column {column.title} holds dates such as {column.first(unclear)}, "
                "in which day and month cannot be told apart. Write 2024-03-01, or "
                "leave the column out with drop (--drop)."
            )
        styles = [column.hint]
    style = "" if len(styles) == 2 else styles[0]
    return "date", style, values[styles[0]]


def _amounts(column: _Column) -> _Found | None:
    """Return numbers with signs of currencies, percent or thousands."""
    readings = [values for values, _ in column.words.amounts]
    good = np.array([bool(r) for r in readings])
    if not column.are_mostly(good):
        return None
    if not good[column.present].all():
        raise not_numeric(f"{column.title} holds text, {column.first(~good)}")
    units = [unit for _, unit in column.words.amounts]
    _check_units(column, units)
    styles = column.style(
        readings, (".", ","),
        "holds decimal points and decimal commas; the first cell that differs is",
    )  # fmt: skip
    values = {s: _values(readings, s) for s in styles}
    style = styles[0] if len(styles) == 1 else _sign(column, values, units)
    return "percent" if "%" in units else "number", style, values[style or "."]


def _check_units(column: _Column, units: Sequence[str]) -> None:
    """Raise an error for two currencies, or for percentages beside numbers."""
    known = {u for u, p in zip(units, column.present, strict=True) if p}
    if len(known - {""}) < 2 and known != {"%", ""}:
        return
    first = units[int(np.flatnonzero(column.present)[0])]
    raise ContentError(
        f"column {column.title} holds different units: {column.first(column.present)} "
        f"and {column.first(np.array(units) != first)}. Convert them to one, or "
        "leave the column out with drop (--drop)."
    )


def _sign(
    column: _Column, values: Mapping[str, FloatArray], units: Sequence[str]
) -> str:
    """Return the decimal sign if cells are numbers with either, "" if both are equal.

    Such cells are like 1,234. As money they are large.
    """
    point, comma = values["."], values[","]
    unclear = point > comma, comma > point  # 1,234 and 1.234
    if not unclear[0].any() and not unclear[1].any():
        return ""
    both = unclear[0].any() and unclear[1].any()
    if not both and set(units) - {"", "%"}:
        return "." if unclear[0].any() else ","
    if column.hint in (".", ","):
        return column.hint
    if not both and unclear[1].any():
        return "."  # as numbers are usually written
    raise ContentError(
        f"column {column.title} holds numbers such as {column.first(unclear[0])}, in "
        "which the comma may be decimal or separate thousands. Pass decimal='.' "
        "(--decimal .) if it separates thousands, otherwise decimal=',' (--decimal ,)."
    )


def _values(readings: Readings, style: str) -> FloatArray:
    return np.array([reading.get(style, np.nan) for reading in readings])


def _same(one: FloatArray, two: FloatArray) -> bool:
    return np.array_equal(one, two, equal_nan=True)


def _amount(cell: str) -> tuple[Mapping[str, float], str]:
    """Return the values of an amount by decimal sign, and its unit."""
    if not any(digit in cell for digit in "0123456789"):
        return {}, ""
    bracketed = cell.startswith("(") and cell.endswith(")")  # accountants' minus
    match = _AMOUNT.fullmatch(cell[1:-1] if bracketed else cell)
    if match is None or (match[2] and match[5]) or (match[1] and match[3]):
        return {}, ""
    sign = -1.0 if bracketed or (match[1] or match[3]) in ("-", "−") else 1.0
    digits, found = match[4].strip(), {}
    for style, form in _STYLES.items():
        if form.fullmatch(digits):
            plain = re.sub(r"[^\d.,eE+-]", "", digits)
            other = "," if style == "." else "."
            number = plain.replace(other, "").replace(",", ".")
            found[style] = sign * float(number)
    return found, (match[2] or match[5] or "").upper()


def _days(cell: str) -> Mapping[str, float]:
    """Return the days since 1970 of a date by order of day and month."""
    for orders, form in _DATES:
        if (match := form.fullmatch(cell)) is None:
            continue
        a, between, b, c, hour, minute, second = match.groups()
        clock = (int(hour or 0) * 60 + int(minute or 0)) / 1440 + (
            float(second or 0) / 86400
        )
        if orders == "ymd":
            found = {"dmy": _day(a, b, c), "mdy": _day(a, b, c)}
        elif orders == "dmy mdy":
            found = {"dmy": _day(c, b, a)}
            if between != ".":  # 01.03.2024 is written where the day comes first
                found["mdy"] = _day(c, a, b)
        else:
            day, month = (a, b) if orders == "dmy" else (b, a)
            found = dict.fromkeys(("dmy", "mdy"), _day(c, month, day))
        return {o: day + clock for o, day in found.items() if day is not None}
    return {}


def _day(year: str, month: str, day: str) -> int | None:
    """Return the days since 1970, None if there is no such day."""
    named = [i for i, m in enumerate(_MONTHS, 1) if m.startswith(month.lower())]
    number = (named or [0])[0] if month.isalpha() else int(month)
    try:
        return date(int(year), number, int(day)).toordinal() - 719163
    except ValueError:
        return None
