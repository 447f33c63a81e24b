"""Small valid files of every format, to start from."""

import gzip
import io
import tempfile
import zipfile
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

TEXTS = {
    "plain.csv": "x,y\n1,2\n3.5,-4e-3\n",
    "ids.csv": "name,x,kind\na,1.0,u\nb,2.0,v\nc,3,u\n",
    "quoted.csv": '"a ""b""","c,d"\n"1","2"\n3,4\n',
    "index.csv": ",0,1\n0,1.5,2\n1,2.5,3\n",
    "commas.csv": "a;b\n1,5;2\n-3,25;4\n",
    "bare.csv": "1,2,3\n4,5,6\n7,8,10\n",
    "messy.csv": "name,paid,on,share,ok,kind\na,$1.50,2024-03-01,12%,yes,u\n"
    'b,"$1,200.00",2023-12-31,7.5%,no,v\n',
    "missing.csv": "a,b\n1,NA\n,2\n",
    "dos.csv": "\ufeffa,b\r\n1,2\r\n3,4\r\n",
    "tabs.tsv": "id\tx\ty\n1\t0.5\t2\n2\t1.5\t3\n",
    "graph.edges": "# a graph\na b 1\nb c 0.5\nc a\n",
    "tabs.edges": "one two\tthree\t2\nthree\tfour\t1e-3\n",
    "dense.mtx": "%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4\n5\n6.5\n",
    "sparse.mtx": "%%MatrixMarket matrix coordinate real general\n% c\n3 3 3\n1 1 1.5\n"
    "2 3 -2\n3 1 4\n",
    "pattern.mtx": "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n"
    "3 2\n",
    "integer.mtx": "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n",
    "complex.mtx": "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 3 4\n",
}


@cache
def files() -> dict[str, bytes]:
    """Return valid files by name; the suffix is the format."""
    found = {name: text.encode() for name, text in TEXTS.items()}
    found |= {f"{n}.gz": gzip.compress(found[n], mtime=0)
              for n in ("plain.csv", "tabs.tsv", "sparse.mtx")}  # fmt: skip
    return found | _arrays() | _archives() | _mats() | _frames()


def _arrays() -> dict[str, bytes]:
    X = np.arange(6.0).reshape(3, 2)
    kinds = {
        "double": X, "single": X.astype("f4"), "big": X.astype(">i2"), "flags": X > 2,
        "fortran": np.asfortranarray(X), "text": np.array([["a", "b"]]), "line": X[0],
        "empty": X[:0], "none": np.float64(1.0), "complex": X * 1j,
    }  # fmt: skip
    return {f"{name}.npy": _npy(array) for name, array in kinds.items()}


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _archives() -> dict[str, bytes]:
    X = np.arange(6.0).reshape(3, 2)
    found, S = {}, sparse.csr_array(np.eye(4) + np.eye(4, k=2))
    for name, write in {
        "named.npz": lambda f: np.savez(f, X=X, y=[0, 1, 1], name=["a", "b", "c"]),
        "packed.npz": lambda f: np.savez_compressed(f, A=X),
        "csr.npz": lambda f: sparse.save_npz(f, S),
        "csc.npz": lambda f: sparse.save_npz(f, S.tocsc(), compressed=False),
        "coo.npz": lambda f: sparse.save_npz(f, S.tocoo()),
    }.items():
        buffer = io.BytesIO()
        write(buffer)
        found[name] = buffer.getvalue()
    return found


def _mats() -> dict[str, bytes]:
    X = np.arange(6.0).reshape(3, 2)
    found = {}
    for name, content, how in (
        ("plain.mat", {"X": X, "y": [0, 1, 1]}, {}),
        ("packed.mat", {"X": X}, {"do_compression": True}),
        ("sparse.mat", {"S": sparse.csc_matrix(X)}, {}),
        ("other.mat", {"X": X, "s": {"a": 1}, "t": "text", "c": X > 1}, {}),
        ("old.mat", {"X": X}, {"format": "4"}),
    ):
        buffer = io.BytesIO()
        scipy_io.savemat(buffer, content, **how)
        found[name] = buffer.getvalue()
    return found


def _frames() -> dict[str, bytes]:
    return _parquets() | _h5ads() | _sheets()


def _sheets() -> dict[str, bytes]:
    import pandas as pd

    found = {}
    for name in ("plain.csv", "ids.csv", "messy.csv"):
        frame, buffer = pd.read_csv(io.StringIO(TEXTS[name])), io.BytesIO()
        frame.to_excel(buffer, index=False)
        found[name.replace("csv", "xlsx")] = buffer.getvalue()
    return found


def _parquets() -> dict[str, bytes]:
    import pyarrow
    from pyarrow import parquet

    tables = {
        "plain": {"id": ["a", "b"], "x": [1.0, 2.0], "n": [1, None]},
        "flags": {"x": [True, False], "y": [0.5, 1.5]},
        "dates": {"x": [1.0], "t": [date(2020, 1, 1)]},
    }
    found = {}
    for name, columns in tables.items():
        for packing in ("none", "snappy"):
            buffer = io.BytesIO()
            parquet.write_table(pyarrow.table(columns), buffer, compression=packing)
            found[f"{name}-{packing}.parquet"] = buffer.getvalue()
    return found


def _h5ads() -> dict[str, bytes]:
    import warnings

    import anndata
    import pandas as pd

    X = np.arange(6.0).reshape(3, 2)
    obs = pd.DataFrame({"kind": ["u", "v", "u"]}, index=["a", "b", "c"])
    kinds = {"dense": X, "sparse": sparse.csr_matrix(X)}
    found = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, matrix in kinds.items():
            path = Path(folder, f"{name}.h5ad")
            data = anndata.AnnData(matrix, obs=obs.copy(), obsm={"X_pca": X})
            data.obsp["connectivities"] = sparse.csr_matrix(np.eye(3))
            data.write_h5ad(path)
            found[path.name] = path.read_bytes()
    return found


def members(content: bytes) -> list[tuple[str, bytes]]:
    """Return the members of a zip file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def packed(parts: list[tuple[str, bytes]]) -> bytes:
    """Return members as a valid zip file, whatever their content."""
    import warnings

    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # about duplicate names
        for name, content in parts:
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()
