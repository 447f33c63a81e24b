"""``lordclust.files.read``: valid files of every format, changed, and random text."""

import gzip
import json
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy import sparse

from lordclust import files
from qa.fuzz import mutate, seeds
from qa.fuzz.outcome import (
    Outcome,
    recorded_warnings,
    require,
    require_finite,
    require_input_error,
)

SECONDS = 10.0
_CELLS = [
    "$1,200.50", "12%", "yes", "no", "2024-03-01", "1.234,5", "3/25/2024", "(7)", "NA",
    "1", "2.5", "-3e5", "1e400", "nan", "", "a", "b c", '"', '"x"', "1,5", "1_0", " 7 ",
    "0x1", "é", "\ufeff", "٣", "-0.0", "9" * 40,
]  # fmt: skip
_COLUMNS = [
    None,
    "x",
    "0",
    "1",
    "x,y",
    "array:X",
    "array:no",
    "obsm:X_pca",
    [0, 1],
    [9],
]
_NAMES = [None, None, None, "x", "y", "name", "kind", "0", "2", "no", "id"]
_HEADS = {"mtx": "%%MatrixMarket matrix array real general\n"}
_KINDS = [
    "<f8", "<f4", ">f8", "|b1", "<U2", "|O", "|V8", "<c16", "<M8[s]", "|S0", "<f16",
    "(3,)<f8", "no", [("a", "<f8")], "",
]  # fmt: skip
_LENGTHS = [0, 1, 2, 3, 6, -1, 2**31, 2**62]


def prepare() -> None:
    """Import what the formats need."""
    for name, content in seeds.files().items():
        check({"name": name, "content": content, "options": {}})


def make(rng: Random) -> dict[str, Any]:
    """Return a file to read, and options."""
    name, content = rng.choice(_WAYS)(rng)
    return {"name": name, "content": content, "options": _options(rng)}


def _options(rng: Random) -> dict[str, Any]:
    """Return the options of a reader; mostly none."""
    if rng.random() < 0.6:
        return {}
    options = {
        "columns": rng.choice(_COLUMNS),
        "label_column": rng.choice(_NAMES),
        "id_column": rng.choice(_NAMES),
        "header": rng.choice(["auto", True, False]),
        "precomputed": rng.random() < 0.3,
        "drop": rng.choice([None, None, "x", "kind", "0,1"]),
        "categorical": rng.choice([None, None, "kind", "x", "0"]),
        "missing": rng.choice(["error", "keep"]),
        "encoding": rng.choice([None, None, "utf-8", "cp1252", "utf-16"]),
        "decimal": rng.choice([None, None, ".", ","]),
        "cells": rng.random() < 0.3,
    }
    return {name: value for name, value in options.items() if value is not None}


def _bytes(rng: Random) -> tuple[str, bytes]:
    """Return a valid file with some bytes changed."""
    name = rng.choice(sorted(seeds.files()))
    return name, mutate.changed(rng, seeds.files()[name])


def _inside(rng: Random) -> tuple[str, bytes]:
    """Return a valid archive of changed content, so that its checksum is correct."""
    packed = [n for n in sorted(seeds.files()) if n.endswith((".npz", ".gz", ".xlsx"))]
    name = rng.choice(packed)
    content = seeds.files()[name]
    if name.endswith(".gz"):
        text = mutate.changed(rng, gzip.decompress(content))
        return name, gzip.compress(text, mtime=0)
    parts = seeds.members(content)
    at = rng.randrange(len(parts))
    parts[at] = (parts[at][0], mutate.changed(rng, parts[at][1]))
    if rng.random() < 0.2:
        parts.insert(0, rng.choice(parts))
    return name, seeds.packed(parts)


def _table(rng: Random) -> tuple[str, bytes]:
    """Return text of cells."""
    suffix = rng.choice(["csv", "csv", "tsv", "edges", "mtx"])
    sign = rng.choice([",", ";", "\t", " "])
    width, cells = rng.randint(1, 4), rng.choice([_CELLS, _CELLS[9:12], _CELLS[:9]])
    rows = [rng.choices(cells, k=width) for _ in range(rng.randint(0, 8))]
    end = rng.choice(["\n", "\n", "\r\n", "\n\n", "\r"])
    text = end.join(sign.join(row) for row in rows)
    return f"table.{suffix}", (_HEADS.get(suffix, "") + text).encode()


def _header(rng: Random) -> tuple[str, bytes]:
    """Return an .npy file with a random header."""
    head = {
        "descr": rng.choice(_KINDS),
        "fortran_order": rng.choice([True, False, 0]),
        "shape": tuple(rng.choices(_LENGTHS, k=rng.randint(0, 4))),
    }
    text = mutate.changed(rng, (repr(head) + " \n").encode(), most=1)
    version = bytes([rng.choice([1, 2, 3, 9]), 0])
    size = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
    data = rng.randbytes(rng.choice([0, 8, 16, 24, 32, 64]))
    return "header.npy", b"\x93NUMPY" + version + size + text + data


#: Ways to generate a file; changed bytes most often.
_WAYS = [_bytes, _bytes, _bytes, _inside, _inside, _table, _header]


def check(case: dict[str, Any]) -> Outcome:
    """Read a file: a consistent table of finite samples, or an InputError."""
    name, content, options = case["name"], case["content"], case["options"]
    kind = name.removesuffix(".gz").rpartition(".")[2]
    with tempfile.TemporaryDirectory(prefix="reader-") as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        try:
            with recorded_warnings():
                table = files.read(path, **options)
        except Exception as error:
            require_input_error(error)
            return Outcome(kind, "refused")
        require(list(Path(folder).iterdir()) == [path], "reading writes nothing")
    _check_table(table, options.get("missing") == "keep")
    return Outcome(kind, "read")


def _check_table(table: Any, may_miss: bool) -> None:
    """Fail unless a table is as documented."""
    X = table.X
    require(X.ndim == 2 and X.dtype == np.float64, "X is a matrix of float64")
    require(X.shape[0] > 0, "there is a sample")
    values = X.data if sparse.issparse(X) else X
    require_finite(values[~np.isnan(values)] if may_miss else values, "X")
    if sparse.issparse(X):
        X.check_format(full_check=True)
    for values, length in (
        (table.ids, X.shape[0]),
        (table.labels, X.shape[0]),
        (table.names, X.shape[1]),
        (table.kinds, X.shape[1]),
        *((cells, X.shape[0]) for cells in table.categories.values()),
        *((cells, X.shape[0]) for cells in table.cells.values()),
    ):
        require(values is None or len(values) == length, "names and labels match X")
    json.dumps([table.ids, table.names, table.id_name, table.label_name])
