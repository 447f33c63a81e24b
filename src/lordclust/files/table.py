"""The contents of a file of any format: samples, their names and classes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from lordclust._core.typing import BoolArray, FloatArray
from lordclust._core.validation import check_indices
from lordclust.files.error import ROOM, ContentError, printable
from lordclust.files.ids import (
    distinct_wholes,
    is_missing,
    is_mostly_text,
    is_name_of_names,
    names_codes,
    names_numbers,
)

#: Number of features that are mentioned if they may be ids; more are counts.
_FEW = 2

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
    notes : tuple of str
        What was decided about the columns, a sentence each.
    kinds : list of str, optional
        What the cells of each feature are: "number", "boolean", "percent" or "date",
        followed by the decimal sign or the order of day and month if it was decided.
    categories : dict of str to list of str
        The cells of categorical columns, "" for a missing one.
    cells : dict of str to list of str
        All cells of text files, as they are in the file, if they were requested.
    """

    X: Matrix
    ids: list[str] | None = None
    id_name: str | None = None
    names: list[str] | None = None
    labels: npt.NDArray[Any] | None = None
    label_name: str | None = None
    source: str = "-"
    notes: tuple[str, ...] = ()
    kinds: list[str] | None = None
    categories: dict[str, list[str]] = field(default_factory=dict)
    cells: dict[str, list[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        n, d = self.X.shape
        kind = "sparse, " if sparse.issparse(self.X) else ""
        source = printable(self.source)
        return f"Table of {n} samples, {d} features ({kind}from {source})"


#: Columns by name or by position from 0; a text is split at commas.
Listed: TypeAlias = str | Sequence[str | int]


def listed(columns: Listed) -> list[str | int]:
    """Return a list of columns."""
    if isinstance(columns, str):
        return [name.strip() for name in columns.split(",")]
    return list(columns)


@dataclass(frozen=True)
class ReadOptions:
    """The options of :func:`lordclust.files.read`."""

    columns: Listed | None = None
    label_column: str | int | None = None
    id_column: str | int | bool | None = None
    header: bool | str = "auto"
    precomputed: bool = False
    numeric: Sequence[str] = ()
    drop: Listed = ()
    categorical: Listed = ()
    missing: str = "error"
    decimal: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    cells: bool = False

    def listed(self) -> list[str | int] | None:
        """Return the list of requested columns."""
        return None if self.columns is None else listed(self.columns)

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
    guess: bool = True
    precomputed: bool = False
    numeric: frozenset[int] = frozenset()
    categorical: tuple[int, ...] = ()
    dropped: frozenset[int] = frozenset()
    aside: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: ReadOptions, names: list[str] | None, width: int) -> Self:
        """Return the requested roles."""

        def place(column: str | int | None, what: str) -> int | None:
            return None if column is None else position(column, names, width, what)

        def places(columns: Listed, what: str) -> list[int]:
            wanted = listed(columns)
            for column in wanted:
                if column in options.kinds and column not in (names or ()):
                    raise ContentError(
                        f"there is no column {column!r}, which the model was fitted "
                        "to. Add it, or fit the model without it."
                    )
            return [position(c, names, width, what) for c in wanted]

        ids = options.id_column
        if ids is None:
            earlier = (c for c, kind in options.kinds.items() if kind == "id")
            ids = next((c for c in earlier if c in (names or ())), None)
        return cls(
            names,
            width,
            place(options.label_column, "label_column"),
            None if isinstance(ids, bool) else place(ids, "id_column"),
            None if options.columns is None else places(options.columns, "columns"),
            categorical=tuple(places(options.categorical, "categorical")),
            dropped=frozenset(places(options.drop, "drop")),
            guess=ids is not False,
            precomputed=options.precomputed,
            numeric=frozenset(
                j for j, name in enumerate(names or ()) if name in options.numeric
            ),
        )  # fmt: skip

    @property
    def features(self) -> list[int]:
        """The requested columns, or all but labels and ids, as far as numeric."""
        others = {*self.dropped, *self.categorical}
        if self.requested is not None:
            return [j for j in self.requested if j not in others]
        taken = {self.label, self.id, *self.aside, *others}
        return [j for j in range(self.width) if j not in taken]

    def may_hold_ids(self, column: int) -> bool:
        """Return whether a column may hold ids without being declared."""
        taken = {self.label, self.id, *(self.requested or ()), *self.numeric}
        taken |= {*self.dropped, *self.categorical}
        return self.guess and column < self.width and column not in taken

    def may_be_names(self, column: int) -> bool:
        """Return whether a column of text is ids if all cells differ."""
        named = self.names is not None and is_name_of_names(self.names[column])
        return self.may_hold_ids(column) and (column == 0 or named)

    def first_may_hold_ids(self) -> bool:
        """Return whether the contents of the first column decide if it holds ids."""
        return self.id is None and not self.aside and self.may_hold_ids(0)

    def set_aside(self, columns: Iterable[int]) -> Self:
        """Return the roles without some columns of ids among the features."""
        return replace(self, aside=frozenset(columns))

    def without_text(
        self, columns: Sequence[int], categories: Sequence[int] = ()
    ) -> Self:
        """Return the roles without columns of text, and say so in one line.

        ``categories`` are those that look like categories.
        """
        if not columns:
            return self
        named = f"columns {', '.join(map(self.title, columns))} hold"
        if len(columns) == 1:
            named = f"column {self.title(columns[0])} holds"
        left = "are left out" if len(columns) > 1 else "is left out"
        roles = replace(self, dropped=self.dropped | set(columns))
        such = ", ".join(map(self.title, categories))
        return roles.noted(
            f"{named} text and {left}. Use categories{such and f' such as {such}'} "
            "with categorical (--categorical), or name the ids with id_column "
            "(--id-column)."
        )

    def is_square(self, rows: int) -> bool:
        """Return whether the table holds similarities and no other column."""
        return self.precomputed and rows == self.width

    def without_row_numbers(
        self, X: FloatArray
    ) -> tuple[Self, FloatArray, dict[int, list[str]]]:
        """Return the roles, features and texts with row numbers set aside as ids.

        If all features number the rows, they are ranks. Postal codes are left out.
        """
        if self.requested is not None or not self.guess or self.is_square(len(X)):
            return self, X, {}
        roles, X = self._without_codes(X)
        features = roles.features
        distinct = [p for p in distinct_wholes(X) if features[p] not in self.numeric]
        numbered = [
            p for p in distinct
            if np.ptp(X[:, p]) == len(X) - 1
            or (self.names and names_numbers(self.names[features[p]]))
        ]  # fmt: skip
        if len(numbered) == X.shape[1]:
            return roles, X, {}
        texts = {features[p]: [str(int(x)) for x in X[:, p]] for p in numbered}
        roles = roles.set_aside({*self.aside, *texts})
        others = [self.title(features[p]) for p in distinct if p not in numbered]
        if 0 < len(others) <= _FEW and len(distinct) < X.shape[1]:
            one = len(others) == 1
            roles = roles.noted(
                f"column{'' if one else 's'} {' and '.join(others)} with a different "
                f"whole number in every row {'is a feature' if one else 'are features'}"
                ". Pass id_column (--id-column) if these are ids."
            )
        return roles, np.delete(X, numbered, axis=1) if numbered else X, texts

    def _without_codes(self, X: FloatArray) -> tuple[Self, FloatArray]:
        """Return the roles and features without postal codes, and say so."""
        features = self.features
        codes = [
            p for p, j in enumerate(features)
            if self.names and names_codes(self.names[j]) and j not in self.numeric
        ]  # fmt: skip
        if not codes or len(codes) == X.shape[1]:
            return self, X
        columns = [features[p] for p in codes]
        roles = replace(self, dropped=self.dropped | set(columns)).noted(
            f"column {' and '.join(map(self.title, columns))} holds postal codes and "
            "is left out, because near numbers are not alike. Choose otherwise with "
            "columns (--columns) or categorical (--categorical)."
        )
        return roles, np.delete(X, codes, axis=1)

    def noted(self, note: str) -> Self:
        """Return the roles with a note for the user."""
        return replace(self, notes=(*self.notes, note))

    def with_ids(
        self, texts: Callable[[int], Sequence[str]], index: Sequence[str] = ()
    ) -> Self:
        """Return the roles with the first column set aside as ids, if all differ.

        If none qualifies, an error is raised, unless one is an index, which may repeat.
        """
        roles, columns = self, sorted(self.aside)
        if self.id is None:
            unique = (j for j in columns if _first_duplicate(texts(j)) is None)
            roles = replace(self, id=next(unique, None))
        repeated = [j for j in columns if not self.names or self.names[j] not in index]
        if repeated and roles.id is None and self.requested is None:
            raise self._duplicate_ids(repeated[0], texts(repeated[0]))
        for j in columns if self.requested is None else []:
            if j not in self.numeric and is_mostly_text(texts(j)[:100]):
                continue  # it cannot be a feature
            own = j == roles.id
            use = "used as such, not as a feature" if own else "left out"
            roles = roles.noted(
                f"column {self.title(j)} looks like ids and is {use}. "
                "Choose otherwise with columns (--columns) or id_column (--id-column)."
            )
        return roles

    def title(self, column: int) -> str:
        """Return a column's name in a message."""
        return repr(self.names[column]) if self.names else f"{column} (from 0)"

    def _duplicate_ids(self, column: int, cells: Sequence[str]) -> ContentError:
        """Return the error for ids that occur twice."""
        first, again = _first_duplicate(cells) or (0, 0)
        return ContentError(
            f"column {self.title(column)} looks like ids, but {quoted(cells[again])} "
            f"is in samples {first} and {again} (from 0). Declare it with id_column "
            "(--id-column) or label_column (--label-column), or leave it out with "
            "columns (--columns)."
        )

    def table(self, X: FloatArray, texts: Callable[[int], Sequence[str]]) -> Table:
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
            notes=self.notes,
            categories={
                name(j) or str(j): [
                    "" if is_missing(c) else c.strip() for c in texts(j)
                ]
                for j in self.categorical
            },
        )


def _first_duplicate(cells: Sequence[str]) -> tuple[int, int] | None:
    """Return where the first cell that occurs twice is, or None if all differ."""
    if len(set(cells)) == len(cells):
        return None
    seen: dict[str, int] = {}
    return next(
        (seen[cell], row)
        for row, cell in enumerate(cells)
        if seen.setdefault(cell, row) != row
    )


def quoted(text: str) -> str:
    """Return text in quotes, shortened."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def position(column: str | int, names: list[str] | None, width: int, what: str) -> int:
    """Return the position of a column, given by its name or its position from 0."""
    if names is not None and column in names:
        if names.count(str(column)) > 1:
            raise ContentError(
                f"{what} is {column!r}, but {names.count(str(column))} columns have "
                "that name. Rename them, or pass positions from 0."
            )
        return names.index(str(column))
    if str(column).isdecimal() and int(column) < width:
        return int(column)
    known = "no header" if names is None else f"columns {shortened(names)}"
    raise ContentError(
        f"{what} is {column!r}, but the file has {known} and {width} columns. Pass a "
        f"name from the header, or a position from 0 to {width - 1}."
    )


def not_numeric(what: str) -> ContentError:
    """Return the error for a column that cannot be a feature."""
    return ContentError(
        f"column {what}, but features must be numbers. Correct the cell, leave the "
        "column out with drop (--drop), or declare it with categorical "
        "(--categorical), label_column (--label-column) or id_column (--id-column)."
    )


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


def checked(table: Table, *, precomputed: bool, missing: str = "error") -> Table:
    """Return the table with X in float64, if a method can use it."""
    X = _real(check_sparse(table.X))
    if X.shape[0] == 0 or (X.shape[1] == 0 and not table.categories):
        raise ContentError(
            f"the data have shape {X.shape}. Pass at least one sample and one feature."
        )
    _check_finite(X, table, missing)
    if precomputed and X.shape[0] != X.shape[1]:
        raise ContentError(
            f"similarities must be a square matrix, got shape {X.shape}. Pass those "
            "of all pairs of samples, or features without precomputed."
        )
    for name, values in (("ids", table.ids), ("labels", table.labels)):
        if values is not None and len(values) != X.shape[0]:
            raise ContentError(
                f"there are {len(values)} {name} for {X.shape[0]} samples. Pass one "
                "for each."
            )
    return replace(table, X=X)


def _real(X: Matrix) -> Matrix:
    """Return X as float64 of two dimensions."""
    if X.ndim != 2:
        raise ContentError(
            f"the data have shape {X.shape}, but a table of samples and features is "
            "needed. Reshape them with X.reshape(len(X), -1)."
        )
    if X.dtype.kind not in "biuf":
        raise ContentError(
            f"the data are of type {X.dtype}, but real numbers are needed. Convert "
            "them with X.astype(float)."
        )
    with np.errstate(over="ignore"):
        X = X.astype(np.float64, copy=False)
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    X = sparse.csr_array(X)
    X.sum_duplicates()
    return X


def _check_finite(X: Matrix, table: Table, missing: str) -> None:
    """Raise an error for NaN or infinity, with the position of the first."""
    values = X.data if sparse.issparse(X) else X
    keep = missing == "keep" and not sparse.issparse(X)
    bad: BoolArray = np.isinf(values) if keep else ~np.isfinite(values)
    if not bad.any():
        return
    row, *rest = np.argwhere(bad)[0]
    if sparse.issparse(X):
        coo = X.tocoo()
        row, rest = coo.row[row], [coo.col[row]]
    column = int(rest[0])
    name = table.names[column] if table.names is not None else column
    raise ContentError(
        f"values are missing or infinite in {np.count_nonzero(bad)} of {values.size} "
        f"entries, the first in row {row}, column {name!r} (counted from 0). Fill "
        "them, or leave these rows out; --missing median and --missing drop do so."
    )
