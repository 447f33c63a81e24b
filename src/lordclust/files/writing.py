"""Write columns as a table."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from lordclust._core.typing import PathLike
from lordclust._core.validation import check_choice, extra
from lordclust.files.arrays import npy_bytes
from lordclust.files.atomic import atomic_file
from lordclust.files.error import ContentError, naming
from lordclust.files.excel import xlsx_bytes

Columns: TypeAlias = Mapping[str, npt.NDArray[Any]]

WRITABLE = ("csv", "tsv", "parquet", "xlsx", "npy", "npz")


def write_table(
    path: PathLike,
    columns: Mapping[str, npt.ArrayLike],
    *,
    format: str | None = None,
    force: bool = False,
) -> None:
    """Write columns of equal length to a file, atomically.

    Parameters
    ----------
    path : str or Path
        The file; "-" is standard output, as csv.
    columns : dict of str to array-like of shape (n,)
        The table, column by column.
    format : {"csv", "tsv", "parquet", "xlsx", "npy", "npz"}, optional
        By default from the suffix of the name. npy holds numbers only: one column as
        (n,), several as (n, d).
    force : bool, default=False
        Replace an existing file.

    Raises
    ------
    InputError
        If the file exists, cannot be written, or its format cannot hold the columns.

    Notes
    -----
    Cells are written unchanged: :func:`read` returns every number bit for bit (from
    xlsx 16 digits) and every text letter by letter. A text such as ``=1+2`` is
    therefore not escaped, and a spreadsheet may take it for a formula; an escaped one
    would be a different id.
    Import files from untrusted data into spreadsheets with the columns set to text, or
    write xlsx, in which text is never a formula.

    Examples
    --------
    >>> write_table("-", {"id": ["a", "b,c"], "label": [0, 1], "p": [1.0, 0.1]})
    id,label,p
    a,0,1.0
    "b,c",1,0.1
    """
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    with naming(path):
        _check_columns(arrays)
        kind = check_choice(format or _suffix(path), WRITABLE, "format")
        if kind in ("csv", "tsv"):
            _write_text(path, arrays, "," if kind == "csv" else "\t", force)
            return
        content = _PACKED[kind](arrays)
    with atomic_file(path, force) as file:
        file.write(content)


def _suffix(path: PathLike) -> str:
    """Return the format of a file name."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in WRITABLE and str(path) != "-":
        raise ContentError(
            f"the suffix {suffix!r} is not a format that can be written. Use one of "
            f"{', '.join(WRITABLE)}, or pass the format."
        )
    return suffix or "csv"


def _check_columns(arrays: Columns) -> None:
    """Raise an error for columns that do not form a table."""
    shapes = {name: array.shape for name, array in arrays.items()}
    if not arrays or len(set(shapes.values())) > 1 or any(
        len(shape) != 1 for shape in shapes.values()
    ):  # fmt: skip
        raise ContentError(
            f"the columns of a table must have equal lengths, got {shapes}. Pass one "
            "cell per sample in each column."
        )


def _write_text(path: PathLike, arrays: Columns, delimiter: str, force: bool) -> None:
    """Write lines of cells."""
    # A name or an id that is alone on its line must not look like an empty line.
    cells = [[_quoted(str(n), delimiter), *_cells(a, delimiter)]
             for n, a in arrays.items()]  # fmt: skip
    try:
        with atomic_file(path, force, text=True) as file:
            for row in zip(*cells, strict=True):
                file.write(delimiter.join(row) + "\n")
    except UnicodeEncodeError as error:
        raise ContentError(
            f"the text {error.object!r} cannot be written as UTF-8. Rename it."
        ) from error


def _cells(column: npt.NDArray[Any], delimiter: str) -> list[str]:
    """Return a column as text, without loss of digits."""
    if column.dtype.kind in "iufb":
        values = column.astype(int) if column.dtype.kind == "b" else column
        return [repr(value) for value in values.tolist()]
    return [_quoted(str(value), delimiter) for value in column.tolist()]


def _quoted(text: str, delimiter: str) -> str:
    """Return a cell, quoted if a reader could misunderstand it."""
    special = any(c in text for c in (delimiter, '"', "\n", "\r", "\ufeff"))
    if special or text != text.strip() or not text:
        doubled = text.replace('"', '""')
        return f'"{doubled}"'
    return text


def _parquet(arrays: Columns) -> bytes:
    """Return a Parquet file."""
    with extra("pyarrow", "parquet"):
        import pyarrow
        from pyarrow import parquet
    table = pyarrow.table({n: pyarrow.array(a.tolist()) for n, a in arrays.items()})
    buffer = BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def _npy(arrays: Columns) -> bytes:
    """Return one array of all columns."""
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise ContentError(
                f"npy holds numbers only, but column {name!r} holds text. Write csv, "
                "parquet or npz."
            )
    columns = list(arrays.values())
    return npy_bytes(columns[0] if len(columns) == 1 else np.column_stack(columns))


def _npz(arrays: Columns) -> bytes:
    """Return an archive of one array per column; text is not pickled."""
    plain = {n: a.astype(np.str_) if a.dtype.kind == "O" else a
             for n, a in arrays.items()}  # fmt: skip
    buffer = BytesIO()
    # numpy.savez would mistake a column called "file" for its own argument.
    with ZipFile(buffer, "w") as archive:
        for name, array in plain.items():
            archive.writestr(f"{name}.npy", npy_bytes(array))
    return buffer.getvalue()


_PACKED = {"parquet": _parquet, "xlsx": xlsx_bytes, "npy": _npy, "npz": _npz}
