"""Read samples from a file in any supported format."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lordclust._core.typing import PathLike
from lordclust._core.validation import check_choice, unknown_name
from lordclust.files.arrays import read_mtx_file, read_npy_file, read_npz_file
from lordclust.files.edges import read_edges
from lordclust.files.error import ContentError, InputError, input_errors
from lordclust.files.excel import read_xlsx
from lordclust.files.frames import read_h5ad, read_parquet
from lordclust.files.matlab import read_mat_file
from lordclust.files.source import NotUtf8Error, Source
from lordclust.files.table import Listed, ReadOptions, Table, checked
from lordclust.files.text import read_csv, read_tsv

LOG = logging.getLogger(__name__)

#: The reader of each format.
READERS: dict[str, Callable[[Source, ReadOptions], Table]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "xlsx": read_xlsx,
    "npy": read_npy_file,
    "npz": read_npz_file,
    "mtx": read_mtx_file,
    "mat": read_mat_file,
    "h5ad": read_h5ad,
    "edges": read_edges,
}

#: Formats whose columns may hold anything.
TABLES = ("csv", "tsv", "parquet", "xlsx")

#: Formats of suffixes that differ from the name of the format.
SUFFIXES = {"edgelist": "edges", "tab": "tsv", "pq": "parquet", "xlsm": "xlsx"}


def read(
    path: PathLike,
    *,
    format: str | None = None,
    columns: Listed | None = None,
    label_column: str | int | None = None,
    id_column: str | int | bool | None = None,
    header: bool | str = "auto",
    precomputed: bool = False,
    numeric: Sequence[str] = (),
    drop: Listed = (),
    categorical: Listed = (),
    missing: str = "error",
    encoding: str | None = None,
    decimal: str | None = None,
    kinds: Mapping[str, str] | None = None,
    cells: bool = False,
) -> Table:
    """Read samples, or their similarities, from a file.

    Parameters
    ----------
    path : str or Path
        The file; "-" is standard input, csv by default.
    format : str, optional
        csv, tsv, parquet, xlsx, npy, npz, mtx, mat, h5ad or edges; by default from
        the suffix of the name. csv, tsv, mtx and edges may be compressed (.gz).
    columns : list of str or int, or str, optional
        The features, by name or by position from 0; text is split at commas. By
        default all columns except ids and labels. "array:NAME" is an array of a npz or
        mat file, by default the one called X or the only one; "obsm:NAME" and
        "obsp:NAME" are matrices of h5ad.
    label_column : str or int, optional
        The column (npz, mat: the array; h5ad: the column of obs) of classes.
    id_column : str or int, or False, optional
        The column of ids; False if there is none. By default an index of pandas, a
        column with the name of an id (id, index, customer_id), one that numbers the
        rows, or the first one if it holds text; see the notes.
    header : bool or "auto", default="auto"
        Whether the first line of csv or tsv names the columns. "auto": if it has text
        above numbers, or the numbers 0, 1, 2, ... that pandas writes.
    precomputed : bool, default=False
        The file holds the similarities between all samples. A .txt is then a list of
        edges, and h5ad gives its connectivities.
    numeric : list of str, default=()
        Names of columns that are never ids, whatever they look like: weights, for
        example, may number the rows.
    drop : list of str or int, or str, default=()
        Columns to leave out.
    categorical : list of str or int, or str, default=()
        Columns of categories. Their cells are in ``Table.categories``, not in X.
    missing : {"error", "keep"}, default="error"
        Whether missing values raise an error, or are NaN in X.
    encoding : str, optional
        The encoding of text, such as "cp1252". By default that of the byte order mark;
        otherwise UTF-8, or cp1252 if the text is not UTF-8.
    decimal : {".", ","}, optional
        The decimal sign of numbers such as 1,234 where columns do not tell.
    kinds : dict of str to str, optional
        ``Table.kinds`` of an earlier file by name, for columns that do not tell; "id"
        is the column of ids, if there is one of that name.
    cells : bool, default=False
        Keep all cells of csv, tsv and xlsx as text in ``Table.cells``.

    Returns
    -------
    table : Table

    Raises
    ------
    InputError
        If the file is damaged, not plausible, or does not hold finite numbers. The
        message states where, and what to do. No file can run code.

    Notes
    -----
    Semicolons and tabs are recognised in csv. Columns of text are left out. Each
    column is decided as a whole: truth values (yes, no, TRUE) are 1 and 0, dates are
    days since 1970, and numbers may have a currency, separators of thousands, a decimal
    comma or a percent sign (12% is 12). What cannot be decided raises an error.

    A list of edges has lines "a b" or "a b weight"; the graph is made
    symmetric by the larger weight, and duplicate edges raise an error.

    Columns of ids are never features, unless ``columns`` lists them. A column numbers
    the rows if it holds at least 10 whole numbers without a gap, in any order. Other
    whole numbers are features, even if all of them differ. What was decided is in
    ``Table.notes``, and logged.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "flowers.csv"
    >>> _ = path.write_text("plant,length,kind\\np1,1.5,a\\np2,2.5,b\\n")
    >>> table = read(path, label_column="kind")
    >>> table.ids, table.names, table.labels.tolist()
    (['p1', 'p2'], ['length'], ['a', 'b'])
    """
    source = Source(str(path), _check_encoding(encoding))
    if not isinstance(header, bool):
        check_choice(header, ["auto"], "header")
    check_choice(missing, ["error", "keep"], "missing")
    check_choice(decimal or ".", [".", ","], "decimal")
    options = ReadOptions(
        columns, label_column, id_column, header, precomputed, numeric,
        drop, categorical, missing, decimal, kinds or {}, cells,
    )  # fmt: skip
    kind = _format(source.path, format, precomputed)
    for name, value in (("drop", drop), ("categorical", categorical)):
        if len(value) and kind not in TABLES:
            raise InputError(
                source.path,
                f"{name} is for columns of {', '.join(TABLES)}, but the format is "
                f"{kind}. Leave it out.",
            )
    message = (
        f"it cannot be read as {kind} ({{reason}}). It is truncated, damaged or of "
        "another format: write it again, or pass the format."
    )
    with input_errors(source.path, message):
        try:
            table = READERS[kind](source, options)
        except NotUtf8Error:
            source.fall_back()
            table = READERS[kind](source, options)
        if label_column is not None and table.labels is None:
            raise ContentError(
                f"a file of format {kind} has no column of labels, got label_column="
                f"{label_column!r}. Leave it out."
            )
        table = checked(
            table, precomputed=precomputed or kind == "edges", missing=missing
        )
    said = table.notes if source.note is None else (source.note, *table.notes)
    notes = [InputError(source.path, note) for note in said]
    for note in notes:
        LOG.info("%s", note)
    shown = tuple(note.message for note in notes)
    return replace(table, source=source.path, notes=shown)


def _check_encoding(encoding: str | None) -> str | None:
    """Return the name of an encoding of text."""
    try:
        if encoding is not None:
            b"a".decode(encoding, "ignore")
    except LookupError:
        raise ValueError(
            f"encoding must be the name of an encoding of text, got {encoding!r}. Use "
            "for example utf-8, cp1252 or utf-16."
        ) from None
    return encoding


def _format(path: str, format: str | None, precomputed: bool) -> str:
    """Return the given format, or that of the suffix."""
    if format is not None:
        if format not in READERS:
            raise unknown_name("format", format, READERS)
        return format
    suffix = _suffix(path)
    if path == "-" or suffix == "txt":
        return "edges" if precomputed else "csv"
    if suffix not in READERS:
        raise InputError(
            path,
            f"the suffix {suffix!r} is not a known format. Pass the format: one of "
            f"{', '.join(READERS)}.",
        )
    return suffix


def is_edge_list(path: str, format: str | None = None) -> bool:
    """Return whether a file can only hold a graph."""
    return (format or _suffix(path)) == "edges"


def _suffix(path: str) -> str:
    """Return the suffix of a file, by the name of its format."""
    suffix = Path(path.lower().removesuffix(".gz")).suffix.removeprefix(".")
    return SUFFIXES.get(suffix, suffix)
