"""Excel files with openpyxl: the first sheet, read as the cells of a csv are."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime
from io import BytesIO
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from lordclust._core.validation import extra
from lordclust.files.arrays import open_zip, read_member
from lordclust.files.error import ContentError, allowance, check_unpacked
from lordclust.files.source import Source
from lordclust.files.table import ReadOptions, Table
from lordclust.files.text import Columns, Row, collected, settled

#: Bytes that a cell takes while it is read.
_CELL = 16
#: What openpyxl calls an infinite or missing result of a formula.
_ERRORS = {"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"}
#: Rows and columns of a sheet.
_LONGEST, _WIDEST = 1_048_576, 16_384
_ADVICE = "Write it as csv if it is yours."


def read_xlsx(source: Source, options: ReadOptions) -> Table:
    """Read the first sheet of an Excel file."""
    with extra("openpyxl", "excel"):
        from openpyxl import load_workbook
    _check_archive(source)

    def once(worded: set[int]) -> Columns:
        with source.open() as file:
            with warnings.catch_warnings():  # of parts that are not read
                warnings.simplefilter("ignore")
                book = load_workbook(
                    file, read_only=True, data_only=True, keep_links=False
                )
            with closing(book):
                sheet = book.worksheets[0]
                sheet.reset_dimensions()  # what a file claims about its size
                rows = _rows(sheet.iter_rows(values_only=True), source)
                return collected(rows, options, worded)

    return settled(once)


def _check_archive(source: Source) -> None:
    """Raise an error for an archive that unpacks to too much, or has entities."""
    with open_zip(source) as archive:
        members = archive.infolist()
        unpacked = sum(member.file_size for member in members)
        most = allowance(source.size, text=True)
        check_unpacked(unpacked, most, _ADVICE)
        for member in members:
            # Without zeros, UTF-16 is searched as well.
            if b"<!DOCTYPE" in read_member(archive, member.filename).replace(
                b"\0", b""
            ):
                raise ContentError(
                    "it declares entities, which Excel does not do, and which may need "
                    f"much memory. {_ADVICE}"
                )


def _rows(found: Iterator[Sequence[object]], source: Source) -> Iterator[Row]:
    """Yield rows of text of equal length; empty rows at both ends are left out."""
    width, cells, empty = 0, 0, 0
    most = allowance(source.size, text=True)
    for line, values in zip(count(1), found, strict=False):
        row = [_text(value) for value in values]
        cells += max(len(row), width)
        check_unpacked(_CELL * cells, most, _ADVICE)
        while row and not row[-1] and len(row) != width:
            row.pop()
        if not any(row):
            empty += bool(width)
            continue
        width = width or len(row)
        if len(row) > width:
            raise ContentError(
                f"row {line} has {len(row)} cells, the first has {width}. Name every "
                "column in the first row."
            )
        for gap in range(empty):
            yield line - empty + gap, [""] * width
        empty = 0
        yield line, row + [""] * (width - len(row))


def _text(value: object) -> str:
    """Return a cell as it would be in a csv."""
    if value is None or (isinstance(value, str) and value in _ERRORS):
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        day = value.isoformat(" ")
        return day.removesuffix(" 00:00:00")
    return value.isoformat() if isinstance(value, date) else str(value)


def xlsx_bytes(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return an Excel file of one sheet; text is never a formula."""
    with extra("openpyxl", "excel"):
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError
    if len(arrays) > _WIDEST or any(len(a) >= _LONGEST for a in arrays.values()):
        raise ContentError(
            f"a sheet has at most {_LONGEST} rows and {_WIDEST} columns. Write csv."
        )
    book = Workbook(write_only=True)
    sheet = book.create_sheet("table")

    def cell(value: object) -> object:
        if not isinstance(value, str):
            missing = isinstance(value, float) and not np.isfinite(value)
            return None if missing else value
        made = WriteOnlyCell(sheet, value)
        made.data_type = "s"  # also if it begins with =
        return made

    try:
        sheet.append([cell(str(name)) for name in arrays])
        for row in zip(*(a.tolist() for a in arrays.values()), strict=True):
            sheet.append([cell(value) for value in row])
    except IllegalCharacterError:
        sheet.close()
        raise ContentError(
            "xlsx cannot hold control characters in a text. Write csv."
        ) from None
    buffer = BytesIO()
    book.save(buffer)
    return buffer.getvalue()
