"""Random tables in many dialects, written by pandas and polars: read right, or refused.

A table that is read has the numbers, the ids and the names that were written; nothing
else counts as right. Most of them must be read, or refusing would be too easy.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lordclust.files import InputError, read

N_TABLES = 300
MISSING = ["", "NA", "#N/A", "<NA>", "NaN", "null", "None", "NaT", "n/a", "nan", "foo"]
IDS = [
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
HEADERS = [
    lambda d: [f"x{j}" for j in range(d)],
    lambda d: list(range(d)),
    lambda d: [f"f, {j}" for j in range(d)],
    lambda d: list(range(2001, 2001 + d)),
]


def numbers(n, d, rng):
    """Draw features: measurements, counts, or numbers of any size."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.normal(size=(n, d))
    if kind == 1:
        return rng.poisson(3, size=(n, d)).astype(float)
    if kind == 2:
        return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-200, 200, size=(n, d))
    return rng.normal(size=(n, d)).round(1)


def written(path, rng):
    """Write a random table; return what a reader should find, and how to read it."""
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
    shown, encoding = write(path, frame, ids is not None, rng)
    if ids is not None and isinstance(ids[0], int) and not shown:
        gaps = max(ids) - min(ids) >= n
        if n < 10 or gaps:  # documented: without a name, these are a feature
            X, ids = np.column_stack([ids, X]), None
    if ids is not None:  # letters that the encoding does not have are lost
        ids = [str(i).encode(encoding, "replace").decode(encoding) for i in ids]
    return X, ids, names if shown else None, missing


def write(path, frame, has_ids, rng):
    """Write a frame in a random dialect; return whether it has a header, and how."""
    dialect = rng.integers(4)
    header = rng.random() < 0.7
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
        path, sep=separator, header=header, index=dialect == 1 and has_ids,
        decimal="," if separator == ";" and frame.shape[1] > 1 and rng.random() < 0.5
        else ".",
        quoting=int(rng.choice([0, 1, 2])),
        lineterminator="\r\n" if rng.random() < 0.3 else "\n",
        encoding=encoding,
        errors="replace",
    )  # fmt: skip
    return header, encoding


def outcome(path, seed):
    """Return whether a table was read right, refused, or read wrong."""
    X, ids, names, missing = written(path, np.random.default_rng(seed))
    try:
        found = read(path)
    except InputError:
        return "refused"
    right = (
        not missing
        and found.X.shape == X.shape
        and np.array_equal(found.X, X)
        and found.ids == ids
        and found.names == names
    )
    return "right" if right else f"wrong: {path.read_bytes()[:200]!r} {found}"


@pytest.mark.parametrize("part", range(3))
def test_tables_are_read_right_or_refused(tmp_path, part):
    seeds = range(part * N_TABLES, (part + 1) * N_TABLES)
    outcomes = [outcome(tmp_path / "t.csv", seed) for seed in seeds]
    assert [o for o in outcomes if o not in ("right", "refused")] == []
    assert outcomes.count("right") > 0.6 * N_TABLES


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_parquet(tmp_path, library):
    rng = np.random.default_rng(0)
    for _ in range(30):
        n, d = int(rng.integers(10, 40)), int(rng.integers(1, 6))
        frame = pd.DataFrame(numbers(n, d, rng)).rename(columns=str)
        X, ids = frame.to_numpy(), IDS[rng.integers(len(IDS))](n, rng)
        if library == "pandas":
            frame.set_index(pd.Index(ids)).to_parquet(tmp_path / "t.parquet")
        else:
            columns = {NAMES[rng.integers(1, len(NAMES))]: ids}
            columns |= {c: frame[c].tolist() for c in frame}
            pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
        found = read(tmp_path / "t.parquet")
        np.testing.assert_array_equal(found.X, X)
        assert found.ids == [str(i) for i in ids]
