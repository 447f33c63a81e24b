"""Arrays without pickles: npy, npz and MatrixMarket files."""

import io
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from lordclust.files.error import InputError, allowance
from lordclust.files.source import Source
from lordclust.files.table import (
    Places,
    Table,
    Wish,
    as_labels,
    position,
    shortened,
    sound,
)

_SPARSE = {"format", "data", "shape"}
#: Packings of numpy; others, as lzma, take as much memory as a file asks them to.
_PACKINGS = (ZIP_STORED, ZIP_DEFLATED)
#: Rows without any entry that a sparse matrix may have.
_EMPTY_ROWS = 10_000_000


def npy_bytes(array: Any) -> bytes:
    """Return an array as the bytes of a .npy file.

    Examples
    --------
    >>> read_npy(npy_bytes(np.arange(3)), "x.npy")
    array([0, 1, 2])
    """
    buffer = io.BytesIO()
    npy.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def read_npy(content: bytes, path: str) -> Any:
    """Return the array in the bytes of a .npy file.

    The type and the shape it claims are compared with what there is before any
    memory is asked for. Pickled objects are refused.
    """
    stream = io.BytesIO(content)
    shape, fortran, dtype = _npy_header(stream, path)
    if dtype.hasobject:
        raise InputError(
            path,
            "it holds pickled Python objects, which could run any code. Save plain "
            "arrays of numbers or text.",
        )
    data = memoryview(content)[stream.tell() :]
    count = 1
    for length in shape:
        count *= length
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(data):
        raise InputError(
            path,
            f"it claims an array of shape {_short(shape)} and type {_short(dtype)}, "
            f"but holds {len(data)} bytes of data. It is cut or damaged: write it "
            "again.",
        )
    flat = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
    return flat.reshape(shape, order="F" if fortran else "C")


def _short(claim: Any) -> str:
    """Return what a header claims, shortened: it may have thousands of digits."""
    text = str(claim)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _npy_header(stream: IO[bytes], path: str) -> tuple[tuple[int, ...], bool, Any]:
    """Return what a .npy file claims to hold."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of Python 2
            version = npy.read_magic(stream)
            if version == (1, 0):
                return npy.read_array_header_1_0(stream)
            return npy.read_array_header_2_0(stream)
    except Exception as error:  # a damaged header fails in many ways
        raise InputError(
            path,
            "it does not begin like an array of numpy. It is cut or damaged: write it "
            "again with numpy.save.",
        ) from error


def read_npy_file(source: Source, wish: Wish) -> Table:
    """Read one array."""
    with source.open() as file:
        X = read_npy(file.read(), source.path)
    if wish.label_column is not None or wish.id_column is not None:
        return _parted(X, source, wish)
    return Table(_picked(X, source, wish), source=source.path)


def _parted(X: Any, source: Source, wish: Wish) -> Table:
    """Return the columns of one array, some of which are labels or ids."""
    width = X.shape[1] if X.ndim == 2 else 0
    places = Places.of(wish, None, width, source.path)
    label, own = places.label, places.id
    return Table(
        X[:, places.rest(width, own)],
        ids=None if own is None else _texts(X[:, own]),
        labels=None if label is None else as_labels(_texts(X[:, label])),
        source=source.path,
    )


def _picked(X: Any, source: Source, wish: Wish) -> Any:
    """Return the columns asked for, by places."""
    listed = wish.listed()
    if listed is None or wish.named("array") is not None or X.ndim != 2:
        return X
    return X[:, [position(c, None, X.shape[1], source.path, "columns") for c in listed]]


def _texts(values: Any) -> list[str]:
    """Return numbers or texts as texts; 2.0 is the label 2.

    Examples
    --------
    >>> _texts(np.array([2.0, 0.5])), _texts(np.array(["a"]))
    (['2', '0.5'], ['a'])
    """
    items = np.asarray(values).ravel().tolist()
    return [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v)
            for v in items]  # fmt: skip


def read_npz_file(source: Source, wish: Wish) -> Table:
    """Read an archive of arrays, or of one sparse matrix."""
    with source.open() as file, ZipFile(file) as archive:
        check_members(archive, source)
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        arrays = Lazy(
            members, lambda name: read_npy(read_member(archive, name), source.path)
        )
        if set(members) >= _SPARSE:
            X = _sparse_matrix(arrays, source)
            return Table(_picked(X, source, wish), source=source.path)
        return chosen(arrays, source, wish)


def read_arrays(path: str, *names: str) -> list[Any]:
    """Return arrays of a .npz file, by name."""
    source = Source(path)
    with source.open() as file, ZipFile(file) as archive:
        check_members(archive, source)
        return [read_npy(read_member(archive, f"{n}.npy"), path) for n in names]


def check_members(archive: ZipFile, source: Source) -> None:
    """Refuse an archive that unpacks to more than is plausible."""
    if any(i.compress_type not in _PACKINGS for i in archive.infolist()):
        raise InputError(
            source.path,
            "it is packed in a way that numpy does not use, and that may need much "
            "memory to unpack. Write it with numpy.savez, or a model with its save.",
        )
    total, most = sum(i.file_size for i in archive.infolist()), allowance(source.size)
    if total > most:
        raise InputError(
            source.path,
            f"it unpacks to {total / 2**20:.0f} MB, more than the {most // 2**20} MB "
            "that its size makes plausible. Save it without compression if it is "
            "yours.",
        )


def read_member(archive: ZipFile, name: str) -> bytes:
    """Return what a member holds, if it is no more than it claims.

    Asked for everything, zipfile would unpack two gigabytes before it compares.
    """
    with archive.open(name) as file:
        return file.read(archive.getinfo(name).file_size + 1)


class Lazy(Mapping[str, Any]):
    """Arrays by name, read when they are asked for."""

    def __init__(self, members: dict[str, str], load: Any) -> None:
        self.members, self.load = members, load

    def __getitem__(self, name: str) -> Any:
        return self.load(self.members[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)


def chosen(arrays: Mapping[str, Any], source: Source, wish: Wish) -> Table:
    """Return the array of samples among several, with its labels and ids."""
    others = [wish.label_column, wish.id_column]
    name = _name_of_samples([a for a in arrays if a not in others], source, wish)
    parts = {}
    for what in ("label_column", "id_column"):
        column = getattr(wish, what)
        if column is not None and column not in arrays:
            raise InputError(
                source.path,
                f"{what} asks for the array {column!r}, but there are "
                f"{shortened(list(arrays))}. Give one of these.",
            )
        parts[what] = None if column is None else _texts(arrays[str(column)])
    labels, ids = parts["label_column"], parts["id_column"]
    return Table(
        _picked(arrays[name], source, wish),
        ids=ids,
        id_name=None if ids is None else str(wish.id_column),
        labels=None if labels is None else as_labels(labels),
        label_name=None if labels is None else str(wish.label_column),
        source=source.path,
    )


def _name_of_samples(names: Iterable[str], source: Source, wish: Wish) -> str:
    """Return the array asked for, the one called X, or the only one."""
    names = list(names)
    name = wish.named("array") or ("X" if "X" in names or len(names) != 1 else names[0])
    if name not in names:
        known = shortened(names) or "none"
        raise InputError(
            source.path,
            f"there is no array {name!r}; the arrays are: {known}. Name one with "
            'columns="array:NAME".',
        )
    return name


def _sparse_matrix(arrays: Mapping[str, Any], source: Source) -> Any:
    """Return what scipy.sparse.save_npz wrote, if it is sound."""
    kind = np.asarray(arrays["format"]).item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    shape = tuple(int(length) for length in arrays["shape"])
    data = arrays["data"]
    check_sparse_shape(shape, data.size, source.path)
    if kind == "coo":
        return sparse.coo_array((data, (arrays["row"], arrays["col"])), shape=shape)
    if kind not in ("csr", "csc"):
        raise InputError(
            source.path,
            f"it holds a sparse matrix of format {kind!r}, but csr, csc and coo can "
            "be read. Save it with scipy.sparse.save_npz(path, X.tocsr()).",
        )
    parts = (data, arrays["indices"], arrays["indptr"])
    make = sparse.csr_array if kind == "csr" else sparse.csc_array
    return sound(make(parts, shape=shape))


def check_sparse_shape(shape: tuple[int, ...], entries: int, path: str) -> None:
    """Refuse a shape whose bare rows would fill the memory."""
    if len(shape) != 2 or min(shape) < 0 or max(shape) > entries + _EMPTY_ROWS:
        raise InputError(
            path,
            f"it claims a sparse matrix of shape {shape} with {entries} entries, "
            "which is not plausible. Leave out the rows and columns without entries.",
        )


def read_mtx_file(source: Source, wish: Wish) -> Table:
    """Read a MatrixMarket file, dense or sparse."""
    from lordclust.files.matrix_market import read_mtx

    with source.open() as file:
        X = read_mtx(file.read(), source.path)
    return Table(_picked(X, source, wish), source=source.path)
