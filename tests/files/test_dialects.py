"""Random tables in many dialects, written by pandas and polars: read right, or refused.

Most of them must be read, or refusing would be too easy.
"""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lordclust.files import read
from qa.fuzz.targets.tables import IDS, NAMES, check, numbers

N_TABLES = 300


@pytest.mark.parametrize("part", range(3))
def test_plain_tables_are_read_right_or_refused(part):
    seeds = range(part * N_TABLES, (part + 1) * N_TABLES)
    outcomes = Counter(check({"kind": "plain csv", "seed": s}).kind for s in seeds)
    assert outcomes["read"] > 0.6 * N_TABLES


@pytest.mark.parametrize("kind", ["messy csv", "xlsx", "parquet", "prepared"])
def test_messy_tables_are_read_right_or_refused(kind):
    outcomes = Counter(check({"kind": kind, "seed": s}).kind for s in range(40))
    assert outcomes["read"] > 0.6 * 40


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
