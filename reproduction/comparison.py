"""A table of our numbers next to the paper's, as Markdown, text and CSV."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Self


@dataclass(frozen=True)
class Pair:
    """A number of ours, the paper's, or both.

    Attributes
    ----------
    ours, theirs : float, optional
    mark : str
        Printed after the paper's number: a star for one that cannot be right.
    spread : float, optional
        Standard deviation of ours.
    """

    ours: float | None = None
    theirs: float | None = None
    mark: str = ""
    spread: float | None = None

    @property
    def gap(self) -> float | None:
        """Ours less the paper's."""
        if self.ours is None or self.theirs is None:
            return None
        return self.ours - self.theirs


@dataclass(frozen=True)
class Table:
    """Rows of pairs of numbers under column names.

    Attributes
    ----------
    title : str
    head : list of str
        Names of the columns; the first names the rows.
    rows : dict of str to list of Pair
        One pair per further column.
    notes : list of str
        Sentences printed below the table.
    digits : int
        Decimals shown.
    """

    title: str
    head: list[str]
    rows: dict[str, list[Pair]]
    notes: list[str] = field(default_factory=list)
    digits: int = 3

    def without_empty(self) -> Self:
        """Return the table without the rows and columns that have no number of ours."""
        rows = {
            name: row
            for name, row in self.rows.items()
            if any(pair.ours is not None for pair in row)
        }
        kept = [
            j
            for j in range(len(self.head) - 1)
            if any(row[j].ours is not None for row in rows.values())
        ]
        head = [self.head[0], *(self.head[1 + j] for j in kept)]
        short_rows = {name: [row[j] for j in kept] for name, row in rows.items()}
        return replace(self, head=head, rows=short_rows)

    def lines(self, pair: Pair) -> Iterator[str]:
        """Yield the lines of a cell: ours, the paper's, the difference."""
        ours = "-" if pair.ours is None else short(pair.ours, self.digits)
        if pair.spread is not None:
            ours += f" ± {short(pair.spread, self.digits)}"
        yield ours
        if pair.theirs is not None:
            yield short(pair.theirs, self.digits) + pair.mark
        if pair.gap is not None:
            yield short(pair.gap, self.digits, sign=True)

    def markdown(self) -> str:
        """Return the table for a page, up to three lines per cell."""
        rows = [[name, *map(self._marked, row)] for name, row in self.rows.items()]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([markdown(self.head, rows), *([""] if notes else []), *notes])

    def _marked(self, pair: Pair) -> str:
        first, *rest = self.lines(pair)
        return "<br>".join([f"**{first}**" if pair.ours is not None else first, *rest])

    def text(self, width: int = 100) -> str:
        """Return the table for a terminal, in bands of columns that fit."""
        cells = {
            name.replace("`", ""): [list(self.lines(pair)) for pair in row]
            for name, row in self.rows.items()
        }
        margin = max(map(len, [self.head[0], *cells])) + 2
        sizes = [
            2 + max([len(head), *(len(x) for row in cells.values() for x in row[j])])
            for j, head in enumerate(self.head[1:])
        ]
        parts = [self.title]
        for band in _bands(sizes, width - margin):
            parts += ["", _line(self.head[0], margin, self.head[1:], sizes, band)]
            for name, row in cells.items():
                for line in range(max(len(row[j]) for j in band)):
                    texts = [cell[line] if line < len(cell) else "" for cell in row]
                    start = name if line == 0 else ""
                    parts.append(_line(start, margin, texts, sizes, band))
        return "\n".join([*parts, "", *self.notes])

    def csv(self) -> str:
        """Return the table as text, one line per pair."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["row", "column", "ours", "paper", "difference"])
        for name, row in self.rows.items():
            for column, pair in zip(self.head[1:], row, strict=True):
                numbers = (pair.ours, pair.theirs, pair.gap)
                texts = ["" if x is None else f"{x:.6g}" for x in numbers]
                writer.writerow([name, column, *texts])
        return out.getvalue()


def _bands(sizes: list[int], width: int) -> Iterator[list[int]]:
    """Yield groups of consecutive columns that fit side by side."""
    band: list[int] = []
    for j, size in enumerate(sizes):
        if band and sum(sizes[i] for i in band) + size > width:
            yield band
            band = []
        band.append(j)
    if band:
        yield band


def _line(
    start: str, margin: int, texts: list[str], sizes: list[int], band: list[int]
) -> str:
    """Return a line of a band: its start, then its columns."""
    columns = (texts[j].rjust(sizes[j]) for j in band)
    return (start.ljust(margin) + "".join(columns)).rstrip()


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def short(x: float, digits: int = 3, *, sign: bool = False) -> str:
    """Return a number without its leading zero.

    Examples
    --------
    >>> short(0.95), short(-0.012, sign=True), short(1.0), short(-0.0001, sign=True)
    ('.950', '-.012', '1.000', '.000')
    """
    rounded = round(x, digits) + 0.0  # no negative zero
    text = f"{rounded:{'+' if sign and rounded else ''}.{digits}f}"
    return text.replace("0.", ".", 1) if abs(rounded) < 1 else text
