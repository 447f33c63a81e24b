"""Files made to harm whoever reads them. Small, and quick to make."""

import io
import json
import os
import struct
import zipfile
import zlib

import numpy as np

from lordclust.files.hdf5 import _attribute_texts

MB = 2**20
#: A megabyte of zeros, packed so that many of these one after another are a stream.
_ZEROS = zlib.compressobj(9, zlib.DEFLATED, -15)
ZEROS = _ZEROS.compress(bytes(MB)) + _ZEROS.flush(zlib.Z_FULL_FLUSH)
#: Two gigabytes in two megabytes.
BOMB = 2048
#: Megabytes that are too much for a hundred kilobytes.
MUCH = 110


def repeated(block, count):
    """Return a raw stream that unpacks to many times the same block."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return packed * count + zlib.compressobj(9, zlib.DEFLATED, -15).flush()


def gz(stream):
    """Return a .gz file of a raw stream."""
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + stream + bytes(8)


def npy(shape, descr="<f8", data=bytes(16)):
    """Return a .npy file that claims a shape and a type."""
    head = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    head = head.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + data


class Trap:
    """Something that leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def pickled(mark):
    """Return a .npy file of an object that runs code."""
    stream = io.BytesIO()
    np.save(stream, np.array([[Trap(mark)]], dtype=object), allow_pickle=True)
    return stream.getvalue()


def zipped(members, method=zipfile.ZIP_STORED):
    """Return a .zip file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npz(**arrays):
    """Return a .npz file."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def packed_npz(**arrays):
    """Return a compressed .npz file."""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def forged_zip(name, stream, claimed):
    """Return a .zip file of one member with its declared size."""
    name = name.encode()
    sizes = (0, len(stream), claimed, len(name), 0)
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, *sizes) + name
    entry = struct.pack("<4s6H3L2H3H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, *sizes,
                        0, 0, 0, 0, 0) + name  # fmt: skip
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(entry),
                      len(local) + len(stream), 0)  # fmt: skip
    return local + stream + entry + end


# -- MATLAB -----------------------------------------------------------------------

MATLAB = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H2s", 0x0100, b"IM")
CELL, SPARSE, DOUBLE, COMPLEX = 1, 5, 6, 0x800


def element(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(kind, shape, name, *parts, entries=0):
    """Return what is in a matrix of a .mat file, but for its own tag."""
    flags = element(6, struct.pack("<II", kind, entries))
    return b"".join([flags, element(5, np.array(shape, "<i4").tobytes()),
                     element(1, name), *parts])  # fmt: skip


def tagged(content):
    return struct.pack("<II", 14, len(content)) + content


def packed_matrix(stream):
    return MATLAB + struct.pack("<II", 15, len(stream)) + stream


def mat_bomb():
    """A matrix of four numbers, with two gigabytes of data."""
    inner = matrix(DOUBLE, (2, 2), b"X") + struct.pack("<II", 9, BOMB * MB)
    head = zlib.compressobj(9)
    begin = head.compress(tagged(inner)) + head.flush(zlib.Z_FULL_FLUSH)
    return packed_matrix(begin + ZEROS * BOMB)


def mat_claims():
    """A compressed matrix with its declared size."""
    return packed_matrix(zlib.compress(struct.pack("<II", 14, 2**32 - 16) + bytes(64)))


def mat_claim():
    inner = matrix(DOUBLE, (2, 2), b"X") + struct.pack("<II", 9, 2**32 - 16)
    return packed_matrix(zlib.compress(tagged(inner + bytes(32))))


def mat_nested(depth=100_000):
    """Cells in cells in cells, of the name of an honest matrix."""
    honest = tagged(matrix(DOUBLE, (1, 1), b"X", element(9, bytes(8))))
    cell, heads, length = matrix(CELL, (1, 1), b""), [], 0
    for _ in range(depth):
        length += len(cell) + 8
        heads.append(struct.pack("<II", 14, length - 8) + cell)
    named = matrix(CELL, (1, 1), b"X")
    return MATLAB + tagged(named + b"".join(reversed(heads))) + honest


def mat_sparse(index, columns=(0, 1000)):
    """A sparse matrix whose indices point anywhere."""
    count = columns[-1]
    parts = (element(5, np.full(count, index, "<i4").tobytes()),
             element(5, np.array(columns, "<i4").tobytes()),
             element(9, np.ones(count).tobytes()))  # fmt: skip
    shape = (3, len(columns) - 1)
    return MATLAB + tagged(matrix(SPARSE, shape, b"X", *parts, entries=count))


def mat_without_columns():
    """A sparse matrix without the starts of its columns."""
    parts = (element(5, bytes(8)), element(5, b""), element(9, bytes(16)))
    return MATLAB + tagged(matrix(SPARSE, (3, 2), b"X", *parts, entries=2))


# -- h5ad ---------------------------------------------------------------------------


def h5ad(path, change):
    """Write annotated data, and spoil them."""
    import anndata
    import h5py

    anndata.AnnData(np.ones((3, 2))).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        return change(file, h5py)


def annotated(item, kind="array", version="0.2.0", **more):
    """Describe an item as anndata does."""
    item.attrs.update({"encoding-type": kind, "encoding-version": version, **more})
    return item


def secret(folder):
    """Write a malformed file."""
    import h5py

    with h5py.File(folder / "secret.h5", "w") as file:
        annotated(file.create_dataset("s", data=np.arange(6.0).reshape(3, 2)))
    (folder / "secret.bin").write_bytes(np.arange(6.0).tobytes())


def h5ad_files(folder):
    """Write hostile files of annotated data."""
    secret(folder)

    def external(file, h5py):
        del file["X"]
        file["X"] = h5py.ExternalLink("secret.h5", "s")

    def storage(file, h5py):
        del file["X"]
        place = [("secret.bin", 0, 48)]
        annotated(file.create_dataset("X", (3, 2), "<f8", external=place))

    def virtual(file, h5py):
        del file["X"]
        layout = h5py.VirtualLayout((3, 2), "<f8")
        layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "s", (3, 2))
        annotated(file.create_virtual_dataset("X", layout))

    def circle(file, h5py):
        file["uns/again"] = h5py.SoftLink("/uns")

    def laughs(file, h5py):
        group = file["uns"]
        for _ in range(40):
            inner = annotated(group.create_group("a"), "dict", "0.1.0")
            group["b"] = inner
            group = inner

    def often(file, h5py):
        packing = {"chunks": (100, 1000), "compression": "gzip"}
        one = annotated(file.create_dataset("uns/a", (10_000, 1000), "f8", **packing))
        for i in range(100):
            file[f"uns/b{i}"] = one

    def claim(file, h5py):
        annotated(
            file.create_dataset("obsm/X", (10**9, 1000), "f8", chunks=(1000, 1000))
        )

    def wild(file, h5py):
        del file["X"]
        X = annotated(file.create_group("X"), "csc_matrix", "0.1.0", shape=[3, 2])
        X["data"], X["indices"] = np.ones(1000), np.full(1000, 2**30, "i4")
        X["indptr"] = np.array([0, 5, 1000], "i4")

    def chunk(file, h5py):
        item = annotated(file.create_dataset("uns/a", (8,), "f8", chunks=(8,),
                                        compression="gzip"))  # fmt: skip
        item.id.write_direct_chunk((0,), b"\x78\xda" + ZEROS * BOMB)

    def words(file, h5py):
        item = annotated(file.create_dataset("uns/s", (20_000,), h5py.string_dtype()),
                    "string-array")  # fmt: skip
        item[:] = ["a"] * 20_000
        item[0] = "b" * MB
        return item.id.get_offset()

    for make in (external, storage, virtual, circle, laughs, often, claim, wild, chunk):
        h5ad(folder / f"{make.__name__}.h5ad", make)
    at = h5ad(folder / "words.h5ad", words)
    with open(folder / "words.h5ad", "r+b") as file:
        file.seek(at)
        first = file.read(16)
        file.seek(at)
        file.write(20_000 * first)
    for name in ("length", "attribute"):  # texts that claim 4 GB
        at = h5ad(folder / f"{name}.h5ad", words)
        content = bytearray((folder / f"{name}.h5ad").read_bytes())
        if name == "attribute":
            at, _ = next(_attribute_texts(content, b"encoding-type"))
        content[at : at + 4] = b"\xff" * 4
        (folder / f"{name}.h5ad").write_bytes(content)


# -- Parquet ------------------------------------------------------------------------


def parquet_files(folder):
    """Write hostile tables."""
    import pyarrow as pa
    from pyarrow import parquet

    def write(name, n, **columns):
        table = pa.table({"x": pa.array(np.arange(n) % 8), **columns})
        parquet.write_table(table, folder / f"{name}.parquet", store_schema=False)

    n = 50_000
    zeros = pa.array(np.zeros(n, "i4"))
    long = pa.DictionaryArray.from_arrays(zeros, pa.array(["a" * 100_000]))
    write("words", n, y=long)
    write("cells", MB // 4, **{f"c{i}": pa.array(np.zeros(MB // 4)) for i in range(60)})
    fixed = pa.array([b"a" * 10_000], pa.binary(10_000)).take(zeros.slice(0, 1000))
    write("fixed", 1000, y=fixed)
    lists = pa.ListArray.from_arrays([0, 10**6], pa.array(np.zeros(10**6)))
    write("lists", 1, y=lists)
    many = {f"c{i}": pa.array(np.zeros(MB)) for i in range(40)}
    write("rows", MB, **many)


# -- all ------------------------------------------------------------------------------


def model(document, **members):
    return zipped({"document.json": document, **members}, zipfile.ZIP_DEFLATED)


def small_files(mark):
    """Return the content of hostile files by name."""
    wild = {"data": np.ones(1000), "indices": np.full(1000, 2**30), "shape": [1, 2]}
    lie = repeated(npy((2, 1)), 1)[:-2] + ZEROS * BOMB
    mtx = "%%MatrixMarket matrix {} real general\n{}\n1 1 1\n"
    listed = json.dumps({"arrays": {"x": ["float64", [2]]}})
    number = tagged(matrix(DOUBLE, (1, 1), b"y", element(9, bytes(8))))
    return {
        "shape.npy": npy((10**12, 10**6)),
        "negative.npy": npy((-1, -2)),
        "overflow.npy": npy((2**62, 4)),
        "digits.npy": npy(f"({'9' * 4000},)"),
        "nested.npy": npy("(" * 5000),
        "wide.npy": npy((10**6, 10**6), "|V2147483647"),
        "empty.npy": npy((10**18,), "|V0", b""),
        "header.npy": b"\x93NUMPY\x02\0" + struct.pack("<L", 2**32 - 1) + b"{",
        "pickled.npy": pickled(mark),
        "claim.npz": zipped({"X.npy": npy((10**12,))}),
        "pickled.npz": zipped({"X.npy": pickled(mark)}),
        "bomb.npz": forged_zip("X.npy", ZEROS * BOMB, BOMB * MB),
        "narrow.npz": packed_npz(X=np.zeros((40 * MB, 1), np.int8)),
        "lie.npz": forged_zip("X.npy", lie, 144),
        "lzma.npz": zipped({"X.npy": npy((2, 1))}, zipfile.ZIP_LZMA),
        "csr.npz": npz(format=b"csr", indptr=[0, 1000], **wild),
        "csc.npz": npz(format=b"csc", indptr=[0, 500, 1000], **wild),
        "together.npz": packed_npz(
            format=b"coo", shape=[1, 1], data=np.zeros(20 * MB, np.int8),
            **dict.fromkeys(["row", "col"], np.zeros(20 * MB, np.int8))),
        "coo.npz": npz(format=b"coo", row=[0], col=[7], data=[1.0], shape=[1, 2]),
        "none.npz": npz(format=b"csc", data=[1.0], indices=[0], indptr=[0, 9**6, 0],
                        shape=[2, 2]),
        "back.npz": npz(format=b"csr", data=[1.0], indices=[0], indptr=[0, 9, -7, 1],
                        shape=[3, 2]),
        "rows.npz": npz(format=b"csr", indptr=[0, 1000],
                        **wild | {"shape": [2**60, 2]}),
        "bomb.mat": mat_bomb(),
        "claim.mat": mat_claim(),
        "claims.mat": mat_claims(),
        "nested.mat": mat_nested(),
        "wild.mat": mat_sparse(2**30),
        "below.mat": mat_sparse(-(2**30)),
        "columns.mat": mat_without_columns(),
        "type.mat": MATLAB
        + tagged(matrix(DOUBLE, (1, 1), b"X", element(2304, bytes(8)))),
        "values.mat": MATLAB + tagged(matrix(DOUBLE, (3, 2), b"X")) + number,
        "imaginary.mat": MATLAB
        + tagged(matrix(DOUBLE | COMPLEX, (1, 1), b"X", element(9, bytes(8))))
        + number,
        "shape.mat": MATLAB
        + tagged(matrix(DOUBLE, (2**30, 2**30), b"X", element(9, b""))),
        "negative.mat": MATLAB + tagged(matrix(DOUBLE, (-5, 3), b"X", element(9, b""))),
        "four.mat": struct.pack("<5i", 0, 2**30, 2**30, 0, 2) + b"X\0" + bytes(64),
        "shape.mtx": mtx.format("coordinate", "9999999999 3 1").encode(),
        "entries.mtx": mtx.format("coordinate", "3 3 99999999999").encode(),
        "dense.mtx": mtx.format("array", "1000000 1000000").encode(),
        "negative.mtx": mtx.format("coordinate", "-3 -3 1").encode(),
        "wild.mtx": mtx.format("coordinate", "2 2 2").encode() + b"9 9 1\n",
        "bomb.mtx.gz": gz(repeated(b"%" * MB, MUCH)),
        "line.csv.gz": gz(repeated(b"1" * MB, BOMB)),
        "cells.csv": b"1," * 4_100_000 + b"\n",
        "folded.csv.gz": gz(repeated(b'10,"\n",' * (MB // 7), 60)),
        "rows.csv.gz": gz(repeated((b"1." + b"0" * 4998 + b",1\n") * 200, MUCH)),
        "quote.csv.gz": gz(repeated(b'1,"\n' + b"1,1\n" * (MB // 4 - 1), BOMB)),
        "bytes.csv": bytes(range(256)) * 100,
        "nul.csv": b"a,b\n1,\0\n2,2\n",
        "escape.csv": b"a\x1b]0;owned\x07\x1b[2J,b\nx,y\n",
        "lines.csv.gz": gz(repeated(b"1,2\n" * (MB // 4), 8)),
        "lines.edges.gz": gz(repeated(b"1 2\n" * (MB // 4), 8)),
        "rows.edges.gz": gz(repeated((b"a" * 5000 + b" b\n") * 200, MUCH)),
        "lists.lord": model('{"arrays": {}, "x": [' + "[]," * (2 * MB) + "[]]}"),
        "deep.lord": model("[" * 10**6),
        "wide.lord": model('{"arrays": {}, "x": [' + "[]," * (20 * MB) + "[]]}"),
        "bomb.lord": forged_zip("document.json", ZEROS * BOMB, BOMB * MB),
        "lie.lord": forged_zip("document.json", ZEROS * BOMB, 10),
        "digits.lord": model('{"arrays": ' + "9" * 10**6 + "}"),
        "pickled.lord": model(listed, **{"x.npy": pickled(mark)}),
        "claim.lord": model(listed, **{"x.npy": npy((10**12,))}),
        "outside.lord": model('{"arrays": {"../x": 1}}', **{"../x.npy": npy((2,))}),
    }  # fmt: skip


def make(folder, mark):
    """Write them all; return their names."""
    for name, content in small_files(mark).items():
        (folder / name).write_bytes(content)
    with open(folder / "endless.csv", "wb") as file:
        file.truncate(2**30)  # one line of zeros, most of it a hole
    for kind, write in (("h5ad", h5ad_files), ("parquet", parquet_files)):
        inside = folder / kind
        inside.mkdir()
        write(inside)
    files = (p for p in folder.rglob("*") if p.suffix not in (".h5", ".bin"))
    return sorted(str(p.relative_to(folder)) for p in files if p.is_file())
