"""The contents of a file of any format: samples, their names and classes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lordclust._core.typing import BoolArray, FloatArray
from lordclust._core.validation import check_indices
from lordclust.files.error import ROOM, InputError

#: Samples and features, or similarities: a dense array or a scipy sparse one.
Matrix: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Table:
    """Samples read from a file.

    Attributes
    ----------
    X : ndarray of float64 or csr_array, shape (n, d)
        One sample per row; finite. With ``precomputed`` the similarities, (n, n).
    ids : list of str, optional
        Names of the samples.
    id_name : str, optional
        Name of the column of ids.
    names : list of str, optional
        Names of the features.
    labels : ndarray of int or str, shape (n,), optional
        Classes: integers if all are, otherwise text; "" for a missing one.
    label_name : str, optional
        Name of the column of labels.
    source : str
        The file; "-" is standard input.
    """

    X: Matrix
    ids: list[str] | None = None
    id_name: str | None = None
    names: list[str] | None = None
    labels: npt.NDArray[Any] | None = None
    label_name: str | None = None
    source: str = "-"

    def __repr__(self) -> str:
        n, d = self.X.shape
        kind = "sparse, " if sparse.issparse(self.X) else ""
        return f"Table of {n} samples, {d} features ({kind}from {self.source})"


@dataclass(frozen=True)
class ReadOptions:
    """The options of :func:`lordclust.files.read`."""

    columns: str | Sequence[str | int] | None = None
    label_column: str | int | None = None
    id_column: str | int | None = None
    header: bool | str = "auto"
    precomputed: bool = False

    def listed(self) -> list[str | int] | None:
        """Return the list of requested columns; text is split at commas."""
        if self.columns is None:
            return None
        if isinstance(self.columns, str):
            return [name.strip() for name in self.columns.split(",")]
        return list(self.columns)

    def named(self, kind: str) -> str | None:
        """Return NAME if the columns are "kind:NAME"."""
        if isinstance(self.columns, str) and self.columns.startswith(f"{kind}:"):
            return self.columns.removeprefix(f"{kind}:")
        return None


@dataclass(frozen=True)
class Roles:
    """The roles of columns: features, labels or ids, by position."""

    names: list[str] | None
    width: int
    label: int | None
    id: int | None
    requested: list[int] | None = None

    @classmethod
    def of(
        cls, options: ReadOptions, names: list[str] | None, width: int, path: str
    ) -> Self:
        """Return the requested roles."""

        def place(column: str | int | None, what: str) -> int | None:
            return (
                None if column is None else position(column, names, width, path, what)
            )

        listed = options.listed()
        return cls(
            names,
            width,
            place(options.label_column, "label_column"),
            place(options.id_column, "id_column"),
            None if listed is None
            else [position(c, names, width, path, "columns") for c in listed],
        )  # fmt: skip

    @property
    def features(self) -> list[int]:
        """The requested columns, or all but labels and ids."""
        if self.requested is not None:
            return self.requested
        return [j for j in range(self.width) if j not in (self.label, self.id)]

    def first_is_free(self) -> bool:
        """Return whether the first column may hold ids without being named."""
        taken = (self.label, *(self.requested or ()))
        return self.id is None and self.width > 0 and 0 not in taken

    def with_ids(self, column: int | None) -> Self:
        """Return the roles with another column of ids."""
        return replace(self, id=column)

    def table(
        self, X: FloatArray, texts: Callable[[int], Sequence[str]], path: str
    ) -> Table:
        """Return the table of features X, with ids and labels from other columns."""
        names, label = self.names, self.label

        def name(column: int | None) -> str | None:
            return None if column is None or names is None else names[column]

        return Table(
            X,
            ids=None if self.id is None else list(texts(self.id)),
            id_name=name(self.id),
            names=None if names is None else [names[j] for j in self.features],
            labels=None if label is None else as_labels(texts(label)),
            label_name=name(label),
            source=path,
        )


def position(
    column: str | int, names: list[str] | None, width: int, path: str, what: str
) -> int:
    """Return the position of a column, given by its name or its position from 0."""
    if names is not None and column in names:
        if names.count(str(column)) > 1:
            raise InputError(
                path,
                f"{what} is {column!r}, but {names.count(str(column))} columns have "
                "that name. Rename them, or pass positions from 0.",
            )
        return names.index(str(column))
    if str(column).isdecimal() and int(column) < width:
        return int(column)
    known = "no header" if names is None else f"columns {shortened(names)}"
    raise InputError(
        path,
        f"{what} is {column!r}, but the file has {known} and {width} columns. Pass a "
        f"name from the header, or a position from 0 to {width - 1}.",
    )


def not_numeric(path: str, what: str) -> InputError:
    """Return the error for a column that cannot be a feature."""
    return InputError(
        path,
        f"column {what}, but features must be numbers. Leave it out with columns "
        "(--columns), or declare it as label_column (--label-column) or id_column "
        "(--id-column).",
    )


def names_ids(name: str) -> bool:
    """Return whether a first column of this name holds ids, whatever its contents.

    The index of pandas has no name. As a feature, ids would outweigh all others.
    """
    return name.strip().lower() in ("", "id")


def shortened(names: Sequence[str], count: int = 6) -> str:
    """Return the first names as text."""
    return ", ".join([*names[:count], *(["..."] if len(names) > count else [])])


def as_labels(cells: Sequence[str]) -> npt.NDArray[Any]:
    """Return classes as integers if all are, otherwise as text."""
    texts = [cell.strip() for cell in cells]
    # Text such as "007" or "1_0" would be changed as a number.
    if all(_is_integer(text) and str(int(text)) == text for text in texts):
        return np.array([int(text) for text in texts], dtype=np.int64)
    return text_array(texts)


def text_array(texts: Sequence[str]) -> npt.NDArray[Any]:
    """Return texts as an array, of objects if a fixed width would take much memory.

    NumPy stores every text with the width of the longest.
    """
    longest = max(map(len, texts), default=0)
    huge = 4 * longest * len(texts) > ROOM
    return np.array(texts, dtype=object if huge else np.str_)


def _is_integer(text: str) -> bool:
    """Return whether text is an integer of up to 18 digits."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= 18


def check_sparse(X: Matrix) -> Matrix:
    """Return X if the indices of a sparse one are valid.

    Indices from a file must be checked before any conversion or choice of columns:
    compiled code writes wherever an index points.
    """
    if sparse.issparse(X) and X.format in ("csr", "csc"):
        check_indices(X)
    return X


def checked(table: Table, *, precomputed: bool) -> Table:
    """Return the table with X in float64, if a method can use it."""
    X = _real(check_sparse(table.X), table.source)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InputError(
            table.source,
            f"the data have shape {X.shape}. Pass at least one sample and one feature.",
        )
    _check_finite(X, table)
    if precomputed and X.shape[0] != X.shape[1]:
        raise InputError(
            table.source,
            f"similarities must be a square matrix, got shape {X.shape}. Pass those "
            "of all pairs of samples, or features without precomputed.",
        )
    for name, values in (("ids", table.ids), ("labels", table.labels)):
        if values is not None and len(values) != X.shape[0]:
            raise InputError(
                table.source,
                f"there are {len(values)} {name} for {X.shape[0]} samples. Pass one "
                "for each.",
            )
    return replace(table, X=X)


def _real(X: Matrix, path: str) -> Matrix:
    """Return X as float64 of two dimensions."""
    if X.ndim != 2:
        raise InputError(
            path,
            f"the data have shape {X.shape}, but a table of samples and features is "
            "needed. Reshape them with X.reshape(len(X), -1).",
        )
    if X.dtype.kind not in "biuf":
        raise InputError(
            path,
            f"the data are of type {X.dtype}, but real numbers are needed. Convert "
            "them with X.astype(float).",
        )
    with np.errstate(over="ignore"):
        X = X.astype(np.float64)
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    X = sparse.csr_array(X)
    X.sum_duplicates()
    return X


def _check_finite(X: Matrix, table: Table) -> None:
    """Raise an error for NaN or infinity, with the position of the first."""
    values = X.data if sparse.issparse(X) else X
    bad: BoolArray = ~np.isfinite(values)
    if not bad.any():
        return
    row, *rest = np.argwhere(bad)[0]
    if sparse.issparse(X):
        coo = X.tocoo()
        row, rest = coo.row[row], [coo.col[row]]
    column = int(rest[0])
    name = table.names[column] if table.names is not None else column
    raise InputError(
        table.source,
        f"values are missing or infinite in {np.count_nonzero(bad)} of {values.size} "
        f"entries, the first in row {row}, column {name!r} (counted from 0). Fill "
        "them, or leave these rows out.",
    )
