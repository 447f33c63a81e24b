"""What a file holds, whatever its format: samples, their names and classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from lordclust._core.typing import BoolArray
from lordclust._core.validation import check_indices
from lordclust.files.error import ROOM, InputError


@dataclass(frozen=True, eq=False)
class Table:
    """Samples read from a file.

    Attributes
    ----------
    X : ndarray of float64 or csr_array, shape (n, d)
        One sample a row; finite. With ``precomputed`` the similarities, (n, n).
    ids : list of str, optional
        What the file calls the samples.
    id_name : str, optional
        What it calls the column of ids.
    names : list of str, optional
        What it calls the features.
    labels : ndarray of int or str, shape (n,), optional
        Classes: whole numbers where all are, otherwise text; "" where one is missing.
    label_name : str, optional
        What it calls the column of labels.
    source : str
        The file; "-" is standard input.
    """

    X: Any
    ids: list[str] | None = None
    id_name: str | None = None
    names: list[str] | None = None
    labels: Any = None
    label_name: str | None = None
    source: str = "-"

    def __repr__(self) -> str:
        n, d = self.X.shape
        kind = "sparse, " if sparse.issparse(self.X) else ""
        return f"Table of {n} samples, {d} features ({kind}from {self.source})"


@dataclass(frozen=True)
class Wish:
    """What a reader is asked for."""

    columns: str | Sequence[str | int] | None = None
    label_column: str | int | None = None
    id_column: str | int | None = None
    header: bool | str = "auto"
    precomputed: bool = False

    def listed(self) -> list[str | int] | None:
        """Return the columns asked for one by one; text is parted at commas."""
        if self.columns is None:
            return None
        if isinstance(self.columns, str):
            return [name.strip() for name in self.columns.split(",")]
        return list(self.columns)

    def named(self, kind: str) -> str | None:
        """Return NAME if the columns are "kind:NAME".

        Examples
        --------
        >>> Wish("obsm:X_pca").named("obsm")
        'X_pca'
        """
        if isinstance(self.columns, str) and self.columns.startswith(f"{kind}:"):
            return self.columns.removeprefix(f"{kind}:")
        return None


@dataclass(frozen=True)
class Places:
    """Which columns of a table are what."""

    features: list[int] | None
    label: int | None
    id: int | None

    @classmethod
    def of(cls, wish: Wish, names: list[str] | None, width: int, path: str) -> Self:
        """Return the columns that were asked for; no features mean all others."""

        def place(what: str) -> int | None:
            column = getattr(wish, what)
            if column is None:
                return None
            return position(column, names, width, path, what)

        listed = wish.listed()
        features = None
        if listed is not None:
            features = [position(c, names, width, path, "columns") for c in listed]
        return cls(features, place("label_column"), place("id_column"))

    def first_is_free(self) -> bool:
        """Tell whether the first column may be taken for ids."""
        return self.id is None and 0 not in (self.label, *(self.features or ()))

    def rest(self, width: int, id_column: int | None) -> list[int]:
        """Return the features: those asked for, or all but labels and ids."""
        if self.features is not None:
            return self.features
        return [j for j in range(width) if j not in (self.label, id_column)]


def position(
    column: str | int, names: list[str] | None, width: int, path: str, what: str
) -> int:
    """Return which column is meant, by its name or its place from 0.

    Examples
    --------
    >>> position("b", ["a", "b"], 2, "t.csv", "columns"), position("1", None, 2, "", "")
    (1, 1)
    """
    if names is not None and column in names:
        if names.count(str(column)) > 1:
            raise InputError(
                path,
                f"{what} asks for {column!r}, but {names.count(str(column))} columns "
                "have that name. Rename them, or give places from 0.",
            )
        return names.index(str(column))
    if str(column).isdecimal() and int(column) < width:
        return int(column)
    known = "no header" if names is None else f"columns {shortened(names)}"
    raise InputError(
        path,
        f"{what} asks for {column!r}, but the file has {known} and {width} columns. "
        f"Give a name from the header, or a place from 0 to {width - 1}.",
    )


def names_ids(name: str) -> bool:
    """Tell whether the first column of this name holds ids, whatever is in it.

    An index of pandas has no name. Taken for a feature, ids would outweigh all others.

    Examples
    --------
    >>> names_ids("ID"), names_ids(""), names_ids("idle")
    (True, True, False)
    """
    return name.strip().lower() in ("", "id")


def shortened(names: Sequence[str], count: int = 6) -> str:
    """Return the first names as text.

    Examples
    --------
    >>> shortened(["a", "b", "c"], 2)
    'a, b, ...'
    """
    return ", ".join([*names[:count], *(["..."] if len(names) > count else [])])


def as_labels(cells: Sequence[str]) -> Any:
    """Return classes as whole numbers if all are, otherwise as text.

    Examples
    --------
    >>> as_labels(["2", "0"]), as_labels(["2", "x"])
    (array([2, 0]), array(['2', 'x'], dtype='<U1'))
    """
    texts = [cell.strip() for cell in cells]
    # Of text like "007" or "1_0" the number alone would lose something.
    if all(str(int(t)) == t if _whole(t) else False for t in texts):
        return np.array([int(t) for t in texts], dtype=np.int64)
    return text_array(texts)


def text_array(texts: Sequence[str]) -> Any:
    """Return texts as an array; as one of objects if that would be a huge one.

    NumPy gives every text the room of the longest.

    Examples
    --------
    >>> text_array(["a", "bc"])
    array(['a', 'bc'], dtype='<U2')
    """
    longest = max(map(len, texts), default=0)
    huge = 4 * longest * len(texts) > ROOM
    return np.array(texts, dtype=object if huge else np.str_)


def _whole(text: str) -> bool:
    """Tell whether text is an integer of up to 18 digits."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= 18


def sound(X: Any) -> Any:
    """Return X, if compiled code may trust the indices of a sparse one.

    What a file says of them must be looked at before any conversion or choice of
    columns: these write to wherever an index points.
    """
    if sparse.issparse(X) and X.format in ("csr", "csc"):
        check_indices(X)
    return X


def checked(table: Table, *, precomputed: bool) -> Table:
    """Return the table with X in float64, if it is what a method can take."""
    X = _real(sound(table.X), table.source)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InputError(
            table.source,
            f"the data have shape {X.shape}. Give at least one sample and one feature.",
        )
    _refuse_infinite(X, table)
    if precomputed and X.shape[0] != X.shape[1]:
        raise InputError(
            table.source,
            f"similarities must be a square matrix, got shape {X.shape}. Give those "
            "of all samples with all, or features without precomputed.",
        )
    for name, values in (("ids", table.ids), ("labels", table.labels)):
        if values is not None and len(values) != X.shape[0]:
            raise InputError(
                table.source,
                f"there are {len(values)} {name} for {X.shape[0]} samples. Give one "
                "for each.",
            )
    return Table(X, *(getattr(table, f) for f in list(table.__dataclass_fields__)[1:]))


def _real(X: Any, path: str) -> Any:
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


def _refuse_infinite(X: Any, table: Table) -> None:
    """Refuse NaN and infinity, naming the first place."""
    values = X.data if sparse.issparse(X) else X
    bad: BoolArray = ~np.isfinite(values)
    count = int(np.count_nonzero(bad))
    if not count:
        return
    if sparse.issparse(X):
        coo = X.tocoo()
        at = int(np.flatnonzero(~np.isfinite(coo.data))[0])
        row, column = int(coo.row[at]), int(coo.col[at])
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
    name = table.names[column] if table.names is not None else column
    raise InputError(
        table.source,
        f"values are missing or infinite in {count} of {values.size} entries, the "
        f"first in row {row}, column {name!r} (counted from 0). Fill them, or leave "
        "these rows out.",
    )
