"""Rules that tell ids from features, and a header from a sample.

Ids are not features: a row number as a feature would outweigh all others, and in a
sorted table it would give the classes away. A column is taken for ids

- if it is an index of pandas, or its name is that of an index or an id
  (``Unnamed: 0``, ``index``, ``id``, ``customer_id``, ``PassengerId``), at any place;
- if it is the first column, or called ``name``, and holds a different text in each row;
- if it numbers the rows: at least 10 whole numbers without a gap, in any order. If all
  columns do, they are ranks, and only the first holds ids;
- if it is the first column and holds different whole numbers padded with zeros;
- if it holds different whole numbers and its name ends in a word for number (``Order
  No``, ``Kundennr``).

Postal codes are not features either: neighbouring numbers are not alike. Other columns
of whole numbers are features, even if all of them differ; one or two of these are
mentioned. ``columns`` and ``id_column`` take precedence over these rules.
"""

import re
from collections.abc import Sequence

import numpy as np

from lordclust._core.typing import FloatArray

#: Cells that mean a missing value, in lower case; pandas reads the same ones.
MISSING = frozenset({
    "", "na", "n/a", "nan", "null", "none", "nat", "?", "-", "--", ".", "<na>", "#na",
    "#n/a", "#n/a n/a", "-nan", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan",
})  # fmt: skip
#: The least share of cells with text in a column of ids.
MOSTLY = 0.9
#: Fewer rows than this may be numbered without a gap by chance.
FEWEST_ROWS = 10

#: Names of ids whatever the contents, of ids that are whole numbers or text (also in
#: camel case), and of columns of text.
_SURE_NAMES = re.compile(
    r"|unnamed: 0(\.\d+)?|ids?|level_\d+|__index_level_\d+__|__null_dask_index__",
    re.IGNORECASE,
)
_ID_NAMES = re.compile(
    r"index|idx|uuid|guid|#|row[_\-. ]?(id|names?|numbers?|num|nr|no)"
    r"|.*[_\-. ]id|id[_\-. ].*",
    re.IGNORECASE,
)
_NAMES = re.compile(r"names?", re.IGNORECASE)
_CAMEL_NAMES = re.compile(r".*[a-z0-9](Id|ID)")
_TEXT_NAMES = re.compile(
    r"samples?|labels?|class(es)?|target|species|genes?|cells?|subjects?|items?"
    r"|key|title|date|country|city|group|category|type|kind",
    re.IGNORECASE,
)
_NUMBER_NAMES = re.compile(
    r".*(nr|nummer)\.?|(.*[_\-. ])?(no|num|number|key|code)\.?", re.IGNORECASE
)
_CODE_NAMES = re.compile(
    r"(.*[_\-. ])?(zip|zip[_\- ]?code|post[_\- ]?code|postal[_\- ]?code|plz"
    r"|postleitzahl|code[_\- ]postal|c[oó]digo[_\- ]postal)",
    re.IGNORECASE,
)
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def names_ids(name: str, cells: Sequence[str]) -> bool:
    """Return whether a column of this name and contents holds ids.

    Names that end in id need whole numbers or text: other numbers are measurements.
    """
    name = name.strip()
    if _SURE_NAMES.fullmatch(name):
        return True
    if is_name_of_names(name):
        return all(map(is_whole, cells))
    if not (_ID_NAMES.fullmatch(name) or _CAMEL_NAMES.fullmatch(name)):
        return False
    return all(is_whole(cell) or not is_value(cell) for cell in cells)


def is_name_of_names(name: str) -> bool:
    """Return whether a text in a column of this name is an id if all differ."""
    return _NAMES.fullmatch(name.strip()) is not None


def names_numbers(name: str) -> bool:
    """Return whether different whole numbers in a column of this name are ids."""
    return _NUMBER_NAMES.fullmatch(name.strip()) is not None


def names_codes(name: str) -> bool:
    """Return whether a column of this name holds postal codes."""
    return _CODE_NAMES.fullmatch(name.strip()) is not None


def names_text(name: str) -> bool:
    """Return whether this is a common name of a column of text."""
    known = (_TEXT_NAMES, _ID_NAMES, _NAMES, _CAMEL_NAMES)
    return bool(name.strip()) and (
        _SURE_NAMES.fullmatch(name.strip()) is not None
        or any(pattern.fullmatch(name.strip()) for pattern in known)
    )


def is_mostly_text(cells: Sequence[str]) -> bool:
    """Return whether nearly all cells hold text, which features cannot."""
    return sum(not is_value(cell) for cell in cells) >= max(MOSTLY * len(cells), 1)


def are_row_numbers(cells: Sequence[str]) -> bool:
    """Return whether whole numbers number the rows, or are padded with zeros."""
    n, distinct = len(cells), {int(cell) for cell in cells}
    if len(distinct) < n:
        return False
    padded = len({len(cell) for cell in cells}) == 1 and len(cells[0]) > 1
    if padded and any(cell[0] == "0" for cell in cells):
        return True
    return n >= FEWEST_ROWS and max(distinct) - min(distinct) == n - 1


def distinct_wholes(X: FloatArray) -> list[int]:
    """Return the columns with a different whole number in each of enough rows."""
    if len(X) < FEWEST_ROWS:
        return []
    head = X[:FEWEST_ROWS]  # rules most columns out without reading them
    likely = np.flatnonzero((head == np.floor(head)).all(axis=0))
    return [
        int(j)
        for j in likely
        if len(np.unique(X[:, j])) == len(X)
        and np.array_equal(X[:, j], np.floor(X[:, j]))
    ]


def is_number(cell: str) -> bool:
    """Return whether a cell is a number; Python's 1_000 is not."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def is_whole(cell: str) -> bool:
    """Return whether a cell is a whole number, without a decimal point."""
    return _WHOLE.fullmatch(cell.strip()) is not None


def is_comma_number(cell: str) -> bool:
    """Return whether a cell is a number with a decimal comma."""
    return _COMMA_NUMBER.fullmatch(cell.strip()) is not None


def are_decimal_commas(lines: Sequence[str]) -> bool:
    """Return whether lines are one number with a decimal comma each, not two numbers.

    Most have parts that whole numbers do not: after the comma a leading zero or more
    than nine digits, or before it -0.
    """
    cells = [line.strip().strip('"') for line in lines]
    cells = cells[1:] if cells and not is_comma_number(cells[0]) else cells
    odd = re.compile(r"-0,.*|[+-]?\d*,(0\d.*|\d{10,}.*|\d+[eE].*)")
    n_odd = sum(odd.fullmatch(cell) is not None for cell in cells)
    return bool(cells) and all(map(is_comma_number, cells)) and 2 * n_odd > len(cells)


def is_missing(cell: str) -> bool:
    """Return whether a cell means a missing value."""
    return cell.strip().lower() in MISSING


def is_value(cell: str) -> bool:
    """Return whether a cell may belong to a column of numbers."""
    return is_number(cell) or is_missing(cell) or is_comma_number(cell)


def is_header(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool | None:
    """Return whether the first row names the columns, or None if it is unclear.

    It does if it has text above numbers, a common name above text, or whole numbers
    without a gap (0, 1, 2, ... as pandas writes, or years) above decimals. Other whole
    numbers above decimals are unclear.
    """
    if not below:
        return not any(map(is_value, first))
    columns = [[row[j] for row in below] for j in range(len(first))]
    enough = MOSTLY if any(map(is_value, first)) else 0.5
    names = [_is_name(*pair, enough) for pair in zip(first, columns, strict=True)]
    if any(names):
        decimals = any(is_number(cell) and not is_whole(cell) for cell in first)
        return "common" in names or not decimals
    if not first[0].strip() and all(map(is_whole, first[1:])):
        return True  # pandas: an index without a name, columns by number
    return _is_numbered(first, columns)


def _is_name(cell: str, column: Sequence[str], enough: float) -> str:
    """Return "common" or "above numbers" for a cell that is a name, otherwise ""."""
    if is_value(cell):
        return ""
    if names_text(cell) and cell not in column:
        return "common"
    if sum(map(is_value, column)) < enough * len(column):
        return ""
    numbers = any(is_number(c.replace(",", ".")) for c in column)
    return "above numbers" if numbers else ""


def _is_numbered(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool | None:
    """Return whether the numbers in the first row are names, None if it is unclear."""
    places = [j for j, cell in enumerate(first) if is_value(cell)]
    cells = [first[j].strip() for j in places]
    if not cells or not all(is_whole(c) and str(int(c)) == c for c in cells):
        return False
    below = [columns[j] for j in places]
    start, count = int(cells[0]), len(cells)
    if [int(c) for c in cells] == list(range(start, start + count)):
        decimals = all(not all(map(is_whole, column)) for column in below)
        many = count > (1 if len(cells) < len(first) else 2)  # a text beside them helps
        if (start == 0 and (decimals or many)) or (many and decimals):
            return True
        if start == 0 or many or (count > 1 and _are_outside(cells, below)):
            return None
    only_decimals = not any(is_whole(c) for column in below for c in column)
    return None if only_decimals else False


def _are_outside(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether the numbers are outside the range of those of many rows below."""
    if len(below[0]) < FEWEST_ROWS:
        return False
    for cell, column in zip(cells, below, strict=True):
        found = [float(c) for c in column if is_number(c)]
        if found and min(found) <= float(cell) <= max(found):
            return False
    return True
