"""Gower's distance between samples with numeric and categorical columns."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lordclust._core.typing import ArrayLike, FloatArray, Samples

#: A category that is missing; it equals itself.
MISSING = "nan"


class Columns(NamedTuple):
    """The columns of fitted samples: their ranges, or their categories.

    Gower's distance is the mean over columns of |x - y| / range, or of [x != y]. It is
    the sum of absolute differences (``metric="manhattan"``) between encoded samples: a
    number is divided by its range, a category becomes a column of 0 and 1/2, with one
    more column for those that were not fitted; all are divided by the number of
    columns.
    """

    ranges: FloatArray  # NaN for categories
    categories: tuple[tuple[str, ...], ...]  # empty for numbers

    @classmethod
    def of(cls, X: Samples, categorical: ArrayLike | None = None) -> "Columns":
        """Return the columns of X; those of text are categorical if none are named."""
        names, columns = _columns(X)
        chosen = _chosen(names, columns, categorical)
        ranges = np.full(len(columns), np.nan)
        kinds: list[tuple[str, ...]] = []
        for j, column in enumerate(columns):
            kinds.append(tuple(np.unique(_texts(column))) if j in chosen else ())
            if j not in chosen:
                ranges[j] = np.ptp(_numbers(column, names[j]))
        return cls(ranges, tuple(kinds))

    def encoded(self, X: Samples) -> FloatArray:
        """Return samples whose sums of absolute differences are Gower's distances."""
        names, columns = _columns(X)
        if len(columns) != len(self.ranges):
            raise ValueError(
                f"X has {len(columns)} columns, but {len(self.ranges)} were fitted. "
                "Pass the same columns."
            )
        parts = []
        for j, column in enumerate(columns):
            if self.categories[j]:
                known = np.array(self.categories[j])
                texts = _texts(column)
                one_hot = texts[:, None] == known
                other = ~one_hot.any(axis=1, keepdims=True)
                parts.append(np.hstack([one_hot, other]) / 2)
            else:
                scale = self.ranges[j] if self.ranges[j] > 0 else 1.0
                parts.append(_numbers(column, names[j])[:, None] / scale)
        return np.ascontiguousarray(np.hstack(parts) / len(columns))

    def decoded(self, Z: FloatArray) -> FloatArray:
        """Return numbers in their own units, and a column of 0 and 1 per category."""
        parts, start = [], 0
        for scale, known in zip(self.ranges, self.categories, strict=True):
            part = Z[:, start : start + max(1, len(known))]
            scale = len(self.ranges) * (scale if scale > 0 else 1.0)
            parts.append(np.where(part > 0, 1.0, 0.0) if known else part * scale)
            start += len(known) + 1 if known else 1  # one for other categories
        return np.hstack(parts)

    def features(self, names: Sequence[object]) -> list[str]:
        """Return the names of the decoded columns, such as age and city=Rome."""
        return [
            f"{name}={level}" if known else str(name)
            for name, known in zip(names, self.categories, strict=True)
            for level in known or ("",)
        ]


def _columns(X: Samples) -> tuple[list[object], list[npt.NDArray[Any]]]:
    """Return the names (or numbers) of the columns of a table, and their values."""
    if hasattr(X, "columns"):
        return list(X.columns), [np.asarray(X[name]) for name in X.columns]
    rows = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if rows.ndim != 2:
        raise ValueError(
            f'metric="gower" needs dense samples of shape (n, d), got {rows.ndim} '
            "dimensions. Pass a data frame or an array."
        )
    return list(range(rows.shape[1])), list(rows.T)


def _chosen(
    names: list[object], columns: list[npt.NDArray[Any]], categorical: ArrayLike | None
) -> set[int]:
    """Return the positions of the categorical columns."""
    if categorical is None:
        return {j for j, column in enumerate(columns) if not _is_numeric(column)}
    found = set()
    for one in np.ravel(np.array(categorical, dtype=object)).tolist():
        if one in names:
            found.add(names.index(one))
        elif isinstance(one, int) and 0 <= one < len(names):
            found.add(one)
        else:
            raise ValueError(
                f"categorical must hold names or numbers of columns, got {one!r}. "
                f"The columns are {', '.join(map(str, names[:10]))}"
                f"{', ...' if len(names) > 10 else ''}."
            )
    return found


def _is_numeric(column: npt.NDArray[Any]) -> bool:
    """Return whether a column holds numbers only."""
    if column.dtype.kind != "O":
        return column.dtype.kind in "iuf"
    return all(
        isinstance(x, int | float | np.number) and not isinstance(x, bool)
        for x in column
    )


def _texts(column: npt.NDArray[Any]) -> npt.NDArray[np.str_]:
    """Return categories as text; 1 and 1.0 are the same, and so are None and NaN."""
    texts = []
    for x in column.tolist():
        number = isinstance(x, int | float | np.number) and not isinstance(x, bool)
        missing = x is None or x != x
        texts.append(MISSING if missing else str(float(x) if number else x))
    return np.array(texts, dtype=np.str_)


def _numbers(column: npt.NDArray[Any], name: object) -> FloatArray:
    """Return a column of finite numbers."""
    try:
        values = column.astype(np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not np.all(np.isfinite(values)):
        raise ValueError(
            f'metric="gower" needs finite numbers, but column {name!r} holds others. '
            f"Fill in missing values, or pass categorical=[{name!r}, ...]."
        )
    return values
