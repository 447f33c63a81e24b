"""Tables that pandas, polars and openpyxl write: read right, or refused.

A table that is read has the numbers, the ids, the names and the categories that were
written; nothing else counts as right.
"""

import tempfile
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl

from lordclust._core.typing import FloatArray
from lordclust.cli.options import InputOptions
from lordclust.cli.preparation import Preparation
from lordclust.cli.samples import read_samples
from lordclust.files import Table, read
from qa.fuzz.outcome import (
    Outcome,
    recorded_warnings,
    require,
    require_finite,
    require_input_error,
)

SECONDS = 20.0
MISSING = ["", "NA", "#N/A", "<NA>", "NaN", "null", "None", "NaT", "n/a", "nan", "foo"]
IDS: list[Callable[[int, np.random.Generator], list[Any]]] = [
    lambda n, rng: [f"s{i}" for i in range(n)],
    lambda n, rng: [f"{i:05d}" for i in rng.permutation(999)[:n]],
    lambda n, rng: [f"x{i:08x}" for i in rng.integers(2**31, size=n)],
    lambda n, rng: [f"a;b, \u00e4\u4e2d {i}" for i in range(n)],
    lambda n, rng: [f'x"{i}' for i in range(n)],
    lambda n, rng: pd.date_range("2020-01-01", periods=n).astype(str).tolist(),
    lambda n, rng: rng.permutation(n).tolist(),
    lambda n, rng: (10**6 + 7 * rng.permutation(n)).tolist(),
]
NAMES = ["", "id", "index", "name", "customer_id", "Unnamed: 0", "SampleID"]
ENCODINGS = ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"]
HEADERS: list[Callable[[int], list[Any]]] = [
    lambda d: [f"x{j}" for j in range(d)],
    lambda d: list(range(d)),
    lambda d: [f"f, {j}" for j in range(d)],
    lambda d: list(range(2001, 2001 + d)),
]
_KINDS = ["plain csv"] * 3 + ["parquet", "xlsx", "messy csv", "messy csv", "prepared"]


class Written(NamedTuple):
    """What a reader should find."""

    X: FloatArray
    ids: list[str] | None
    names: list[str] | None
    missing: bool = False
    categories: dict[str, list[str]] = {}  # noqa: RUF012


def prepare() -> None:
    """Write and read a table of each kind."""
    for kind in dict.fromkeys(_KINDS):
        check({"kind": kind, "seed": 0})


def make(rng: Random) -> dict[str, Any]:
    """Return the kind of a table, and the seed of its contents."""
    return {"kind": rng.choice(_KINDS), "seed": rng.getrandbits(32)}


def check(case: dict[str, Any]) -> Outcome:
    """Write a table and read it."""
    kind, rng = case["kind"], np.random.default_rng(case["seed"])
    suffix = {"plain csv": "csv", "messy csv": "csv", "prepared": "csv"}.get(kind, kind)
    with tempfile.TemporaryDirectory(prefix="table-") as folder:
        path = Path(folder, f"t.{suffix}")
        try:
            with recorded_warnings():
                _CHECKS[kind](path, rng)
        except Exception as error:
            require_input_error(error)
            require("damaged" not in str(error), "a valid table is understood", error)
            return Outcome(kind, "refused")
    return Outcome(kind, "read")


def numbers(n: int, d: int, rng: np.random.Generator) -> FloatArray:
    """Draw features: measurements, counts, or numbers of any size."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.normal(size=(n, d))
    if kind == 1:
        return rng.poisson(3, size=(n, d)).astype(float)
    if kind == 2:
        return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-200, 200, size=(n, d))
    return rng.normal(size=(n, d)).round(1)


def written(path: Path, rng: np.random.Generator) -> Written:
    """Write a random csv; return what a reader should find."""
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    X = numbers(n, d, rng)
    kinds = len(HEADERS) - (d < 3)  # one or two years may be a sample
    frame = pd.DataFrame(X, columns=HEADERS[rng.integers(kinds)](d))
    names, ids = [str(c) for c in frame.columns], None
    if np.abs(X).max() < 100 and np.array_equal(X, X.round()) and rng.random() < 0.5:
        frame = frame.astype(int)
    if rng.random() < 0.6:
        ids = IDS[rng.integers(len(IDS))](n, rng)
        frame.insert(0, NAMES[rng.integers(len(NAMES))], ids)
    missing = rng.random() < 0.1
    if missing:
        frame = frame.astype(object)
        cell = MISSING[rng.integers(len(MISSING))]
        frame.iloc[rng.integers(n), -int(rng.integers(1, d + 1))] = cell
    shown, encoding = _write(path, frame, ids is not None, rng)
    if ids is not None and isinstance(ids[0], int) and not shown:
        gaps = max(ids) - min(ids) >= n
        if n < 10 or gaps:  # documented: without a name, these are a feature
            X, ids = np.column_stack([ids, X]), None
    if ids is not None:  # letters that the encoding does not have are lost
        ids = [str(i).encode(encoding, "replace").decode(encoding) for i in ids]
    return Written(X, ids, names if shown else None, bool(missing))


def _write(
    path: Path, frame: pd.DataFrame, has_ids: bool, rng: np.random.Generator
) -> tuple[bool, str]:
    """Write a frame in a random dialect; return whether it has a header, and how."""
    dialect = rng.integers(4)
    header = bool(rng.random() < 0.7)
    separator = ",;\t"[rng.integers(3)]
    if dialect == 0:
        frame = frame.rename(columns=str)
        pl.DataFrame({c: frame[c].tolist() for c in frame}, strict=False).write_csv(
            path, separator=separator, include_header=header,
            quote_style=["necessary", "always", "non_numeric"][rng.integers(3)],
            include_bom=bool(rng.random() < 0.3),
        )  # fmt: skip
        return header, "utf-8"
    encoding = str(rng.choice(ENCODINGS, p=[0.5, 0.2, 0.1, 0.1, 0.1]))
    if dialect == 1 and has_ids:
        frame = frame.set_index(frame.columns[0])
    frame.to_csv(
        path, sep=separator, header=header, index=bool(dialect == 1 and has_ids),
        decimal="," if separator == ";" and frame.shape[1] > 1 and rng.random() < 0.5
        else ".",
        quoting=int(rng.choice([0, 1, 2])),
        lineterminator="\r\n" if rng.random() < 0.3 else "\n",
        encoding=encoding,
        errors="replace",
    )  # fmt: skip
    return header, encoding


def differences(found: Table, expected: Written) -> str:
    """Return what was read wrong, "" if nothing was."""
    X = found.X
    for what, same in (
        ("missing cells are refused", not expected.missing),
        ("shape", X.shape == expected.X.shape),
        ("ids", found.ids == expected.ids),
        ("names", found.names == expected.names),
        ("categories", found.categories == expected.categories),
    ):
        if not same:
            return f"{what}: {found}"
    digits = 1e-15 if found.source.endswith("xlsx") else 0.0  # it has 16 of them
    same = np.isclose(X, expected.X, rtol=digits, atol=0, equal_nan=True)
    return "" if same.all() else f"numbers: {X[~same]} for {expected.X[~same]}"


def _plain_csv(path: Path, rng: np.random.Generator) -> None:
    expected = written(path, rng)
    _require(read(path), expected, path)


def _parquet(path: Path, rng: np.random.Generator) -> None:
    """Check columns with types, of pandas or of polars."""
    frame, expected = _typed(rng)
    if rng.random() < 0.5:
        columns = {c: [None if x is pd.NA or x is pd.NaT else x for x in frame[c]]
                   for c in frame}  # fmt: skip
        pl.DataFrame(columns, strict=False).write_parquet(path)
    elif "id" in frame and rng.random() < 0.5:
        frame.set_index("id").to_parquet(path)
    else:
        frame.to_parquet(path, index=False)
    _require(_read_messy(path, expected), expected, path)


def _xlsx(path: Path, rng: np.random.Generator) -> None:
    """Check a sheet that openpyxl writes for pandas; it ends with its last cell."""
    frame, expected = _typed(rng)
    frame.to_excel(path, index=False)
    filled = np.flatnonzero(frame.notna().any(axis=1))
    expected = expected._replace(X=expected.X[: filled.max(initial=-1) + 1])
    _require(_read_messy(path, expected), expected, path)


def _messy_csv(path: Path, rng: np.random.Generator) -> None:
    """Check money, dates, percentages, truth values and categories as text."""
    _require(_read_messy(path, expected := _messy(path, rng)), expected, path)


def _prepared(path: Path, rng: np.random.Generator) -> None:
    """Check that features are finite, and that new samples get the same ones."""
    expected = _messy(path, rng)
    missing = str(rng.choice(["error", "drop", "median"]))
    options = InputOptions(categorical=list(expected.categories), missing=missing)
    samples = read_samples(str(path), options, precomputed=False, join=True)
    scale = str(rng.choice(["auto", "none", "zscore", "minmax"]))
    made, how = Preparation.fit(samples, missing, scale)
    require_finite(made.X, "each feature")
    require_finite(made.raw, "each cell")
    require(made.X.shape == (len(made.ids), len(how.features or ())), "names match")
    again = Preparation.from_json(how.to_json())
    require(again is not None and np.array_equal(again.apply(samples).X, made.X),
            "a saved preparation gives the same bits")  # fmt: skip
    size = np.abs(made.raw).max(axis=0, initial=1.0)
    off = np.abs(how.undo(made.X) - made.raw) / size
    require(off.max(initial=0.0) < 1e-9, "the units can be restored", off.max())


_CHECKS = {
    "plain csv": _plain_csv,
    "parquet": _parquet,
    "xlsx": _xlsx,
    "messy csv": _messy_csv,
    "prepared": _prepared,
}


def _read_messy(path: Path, expected: Written) -> Table:
    """Read a table with its categories; missing cells are NaN."""
    return read(path, missing="keep", categorical=list(expected.categories))


def _require(found: Table, expected: Written, path: Path) -> None:
    """Fail unless a table has what was written."""
    wrong = differences(found, expected)
    shown = path.read_bytes()[:300] if path.suffix == ".csv" else path.name
    require(not wrong, "a table is read right", f"{wrong} {shown!r}")


# -- columns as people have them --------------------------------------------------


class _Cells(NamedTuple):
    """A column as text, as values with a type, and as the numbers that it means."""

    texts: list[str]
    values: list[Any]
    numbers: list[float]


def _money(n: int, rng: np.random.Generator) -> _Cells:
    found = [round(float(x), 2) for x in rng.lognormal(6, 3, n)]
    form: Callable[[float], str] = [
        lambda x: f"${x:,.2f}",
        lambda x: f"{x:.2f} EUR",
        lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")) + " \u20ac",
        lambda x: f"CHF {x:,.2f}".replace(",", "'"),
        lambda x: f"(${x:,.2f})",
    ][which := int(rng.integers(5))]
    numbers = [-x for x in found] if which == 4 else found
    return _Cells([form(x) for x in found], numbers, numbers)


def _percent(n: int, rng: np.random.Generator) -> _Cells:
    found = [round(float(x), 1) for x in rng.normal(0, 40, n)]
    return _Cells([f"{x}%" for x in found], found, found)


def _truth(n: int, rng: np.random.Generator) -> _Cells:
    pair = [("TRUE", "FALSE"), ("yes", "no"), ("Y", "N")][rng.integers(3)]
    found = (rng.random(n) < 0.5).tolist()
    return _Cells([pair[not x] for x in found], found, [float(x) for x in found])


def _date(n: int, rng: np.random.Generator) -> _Cells:
    start = date(1970, 1, 1)
    days = rng.integers(-9000, 30000, n).tolist()
    found = [start + timedelta(days=x) for x in days]
    form = ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d %B %Y",
            "%Y-%m-%d 12:00:00"][which := int(rng.integers(6))]  # fmt: skip
    half = 0.5 * (which == 5)
    values = [pd.Timestamp(x) + pd.Timedelta(days=half) for x in found]
    return _Cells([x.strftime(form) for x in found], values, [x + half for x in days])


def _count(n: int, rng: np.random.Generator) -> _Cells:
    """Return counts with separators of thousands; one of them proves what they are."""
    found = [1_234_567, *rng.integers(0, 10**6, n - 1).tolist()]
    return _Cells([f"{x:,}" for x in found], found, [float(x) for x in found])


def _measured(n: int, rng: np.random.Generator) -> _Cells:
    found = rng.normal(size=n).tolist()
    return _Cells([repr(x) for x in found], found, found)


_COLUMNS = [_money, _percent, _truth, _date, _count, _measured]
_LEVELS = ["red", "blue", "dark green", "Z\u00fcrich", "a, b", "n"]


def _columns(
    n: int, rng: np.random.Generator
) -> tuple[dict[str, _Cells], dict[str, list[str]]]:
    """Return columns of numbers of some kind, and columns of categories."""
    columns = {"c0": _percent(n, rng)}  # dates in the first column may be ids
    columns |= {f"c{j}": _COLUMNS[rng.integers(len(_COLUMNS))](n, rng)
                for j in range(1, 1 + rng.integers(5))}  # fmt: skip
    categories = {f"k{j}": rng.choice(_LEVELS, n).tolist()
                  for j in range(rng.integers(0, 3))}  # fmt: skip
    return columns, categories


def _holes(n: int, rng: np.random.Generator) -> Sequence[int]:
    """Return the rows of a column that are missing; mostly none."""
    if rng.random() < 0.7:
        return []
    return rng.choice(n, int(rng.integers(1, 1 + n // 4)), replace=False).tolist()


def _ids(n: int, rng: np.random.Generator) -> list[str] | None:
    return [f"C-{1000 + i}" for i in range(n)] if rng.random() < 0.7 else None


def _messy(path: Path, rng: np.random.Generator) -> Written:
    """Write a csv of text; return what a reader should find."""
    n = int(rng.integers(4, 40))
    columns, categories = _columns(n, rng)
    ids, frame, found = _ids(n, rng), {}, []
    if ids is not None:
        frame["id"] = ids
    for name, cells in columns.items():
        texts, values = list(cells.texts), np.array(cells.numbers, dtype=float)
        for i in _holes(n, rng):
            texts[i], values[i] = MISSING[rng.integers(10)], np.nan
        frame[name] = texts
        found.append(values)
    expected = {name: list(cells) for name, cells in categories.items()}
    for name, cells in expected.items():
        for i in _holes(n, rng):
            cells[i] = ""
        frame[name] = cells
    names = list(columns)
    pd.DataFrame(frame).to_csv(
        path, index=False, sep=",;\t"[rng.integers(3)], quoting=int(rng.integers(2)),
        encoding=["utf-8", "utf-8-sig", "cp1252", "utf-16"][rng.integers(4)],
    )  # fmt: skip
    return Written(np.column_stack(found), ids, names, False, expected)


def _typed(rng: np.random.Generator) -> tuple[pd.DataFrame, Written]:
    """Return a frame whose columns have types, and what a reader should find."""
    n = int(rng.integers(4, 40))
    columns, categories = _columns(n, rng)
    ids, frame, found = _ids(n, rng), pd.DataFrame(index=range(n)), []
    if ids is not None:
        frame["id"] = ids
    for number, (name, cells) in zip(count(), columns.items(), strict=False):
        values: list[Any] = list(cells.values)
        numbers = np.array(cells.numbers, dtype=float)
        for i in _holes(n, rng):
            values[i], numbers[i] = None, np.nan
        typed = pd.Series(values)
        nullable = number % 2 and typed.dtype != object
        frame[name] = typed.convert_dtypes() if nullable else typed
        found.append(numbers)
    for name, levels in categories.items():
        kind = "category" if rng.random() < 0.5 else object
        frame[name] = pd.Series(levels, dtype=kind)
    names = list(columns)
    return frame, Written(np.column_stack(found), ids, names, False, categories)
