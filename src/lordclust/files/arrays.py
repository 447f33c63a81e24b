"""Arrays without pickles: npy, npz and MatrixMarket files."""

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, TypeAlias
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy
from scipy import sparse

from lordclust.files.error import (
    OBJECT,
    ContentError,
    allowance,
    check_unpacked,
    damaged,
)
from lordclust.files.source import Source
from lordclust.files.table import (
    Matrix,
    ReadOptions,
    Roles,
    Table,
    as_labels,
    check_sparse,
    position,
    shortened,
)

_SPARSE = {"format", "data", "shape"}
#: Compression used by numpy; others, such as lzma, can require any amount of memory.
_COMPRESSIONS = (ZIP_STORED, ZIP_DEFLATED)
#: Number of rows without any entry that a sparse matrix may have.
_EMPTY_ROWS = 10_000_000

Array: TypeAlias = npt.NDArray[Any]


def npy_bytes(array: npt.ArrayLike) -> bytes:
    """Return an array as the bytes of a .npy file."""
    buffer = io.BytesIO()
    npy.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def read_npy(content: bytes) -> Array:
    """Return the array in the bytes of a .npy file.

    The declared type and shape are compared with the data before any memory is
    allocated. Pickled objects raise an error.
    """
    stream = io.BytesIO(content)
    shape, fortran, dtype = _npy_header(stream)
    if dtype.hasobject:
        raise ContentError(
            "it holds pickled Python objects, which could run any code. Save plain "
            "arrays of numbers or text."
        )
    data = memoryview(content)[stream.tell() :]
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        claimed = f"an array of shape {_short(shape)} and type {_short(dtype)}"
        raise damaged(f"it claims {claimed}, but holds {len(data)} bytes of data")
    flat = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
    return flat.reshape(shape, order="F" if fortran else "C")


def _short(claim: object) -> str:
    """Return a value from a header, shortened: it may have thousands of digits."""
    text = str(claim)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, the order and the type that a .npy file claims."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of Python 2
            version = npy.read_magic(stream)
            if version == (1, 0):
                return npy.read_array_header_1_0(stream)
            return npy.read_array_header_2_0(stream)
    except Exception as error:  # a damaged header fails in many ways
        raise damaged("it does not begin like a numpy array") from error


def read_npy_file(source: Source, options: ReadOptions) -> Table:
    """Read one array."""
    with source.open() as file:
        X = read_npy(file.read())
    if options.label_column is None and options.id_column is None:
        return Table(_picked(X, options))
    width = X.shape[1] if X.ndim == 2 else 0
    roles = Roles.of(options, None, width)
    return roles.table(X[:, roles.features], lambda j: _texts(X[:, j]))


def _picked(X: Matrix, options: ReadOptions) -> Matrix:
    """Return the requested columns, by position."""
    listed = options.listed()
    if listed is None or options.named("array") is not None or X.ndim != 2:
        return X
    return X[:, [position(c, None, X.shape[1], "columns") for c in listed]]


def _texts(values: Array) -> list[str]:
    """Return numbers or texts as texts; 2.0 is the label 2."""
    items = np.asarray(values).ravel().tolist()
    return [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v)
            for v in items]  # fmt: skip


@contextmanager
def open_zip(source: Source) -> Iterator[ZipFile]:
    """Open an archive; raise an error if its unpacked size is not plausible."""
    with source.open() as file, ZipFile(file) as archive:
        members = archive.infolist()
        if any(member.compress_type not in _COMPRESSIONS for member in members):
            raise ContentError(
                "it is compressed in a way that numpy does not use, and that may need "
                "much memory to unpack. Write it with numpy.savez, or a model with its "
                "save method."
            )
        check_size(source, sum(member.file_size for member in members))
        yield archive


def check_size(source: Source, unpacked: int) -> None:
    """Raise an error for a compressed file that needs more memory than is plausible."""
    advice = "Save it without compression if it is yours."
    check_unpacked(unpacked, allowance(source.size), advice)


def read_member(archive: ZipFile, name: str) -> bytes:
    """Return the content of a member, at most one byte more than it claims.

    Without a limit, zipfile would unpack two gigabytes before it checks the size.
    """
    with archive.open(name) as file:
        return file.read(archive.getinfo(name).file_size + 1)


def read_npz_file(source: Source, options: ReadOptions) -> Table:
    """Read an archive of arrays, or of one sparse matrix."""
    with open_zip(source) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        total = 0  # of all arrays that were loaded

        def load(name: str) -> Array:
            array = read_npy(read_member(archive, members[name]))
            # Numbers become float64, and texts become objects.
            size = 8 if array.dtype.kind in "biuf" else OBJECT + array.dtype.itemsize
            nonlocal total
            total += size * array.size
            check_size(source, total)
            return array

        if set(members) >= _SPARSE:
            X = _sparse_matrix(load)
            return Table(_picked(X, options))
        return chosen(list(members), load, source, options)


def read_arrays(path: str, *names: str) -> list[Array]:
    """Return arrays of a .npz file, by name."""
    with open_zip(Source(path)) as archive:
        return [read_npy(read_member(archive, f"{n}.npy")) for n in names]


def chosen(
    names: Sequence[str],
    load: Callable[[str], Array],
    source: Source,
    options: ReadOptions,
) -> Table:
    """Return the array of samples among several, with its labels and ids."""

    def texts(what: str, name: str | int | None) -> list[str] | None:
        if name is not None and name not in names:
            raise ContentError(
                f"{what} must be one of the arrays {shortened(names)}, got {name!r}."
            )
        if name is None:
            return None
        array = load(str(name))
        check_size(source, OBJECT * array.size)
        return _texts(array)

    others = [options.label_column, options.id_column]
    name = _name_of_samples([n for n in names if n not in others], options)
    labels = texts("label_column", options.label_column)
    ids = texts("id_column", options.id_column)
    return Table(
        _picked(load(name), options),
        ids=ids,
        id_name=None if ids is None else str(options.id_column),
        labels=None if labels is None else as_labels(labels),
        label_name=None if labels is None else str(options.label_column),
    )


def _name_of_samples(names: list[str], options: ReadOptions) -> str:
    """Return the requested array, the one called X, or the only one."""
    default = names[0] if len(names) == 1 else "X"
    name = options.named("array") or ("X" if "X" in names else default)
    if name not in names:
        known = shortened(names) or "none"
        raise ContentError(
            f"there is no array {name!r}; the arrays are: {known}. Select one with "
            'columns="array:NAME".'
        )
    return name


def _sparse_matrix(load: Callable[[str], Array]) -> Matrix:
    """Return the matrix that scipy.sparse.save_npz wrote, if it is valid."""
    kind = np.asarray(load("format")).item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    shape = tuple(int(length) for length in load("shape"))
    data = load("data")
    check_sparse_shape(shape, data.size)
    if kind == "coo":
        return sparse.coo_array((data, (load("row"), load("col"))), shape=shape)
    if kind not in ("csr", "csc"):
        raise ContentError(
            f"it holds a sparse matrix of format {kind!r}, but only csr, csc and coo "
            "can be read. Save it with scipy.sparse.save_npz(path, X.tocsr())."
        )
    parts = (data, load("indices"), load("indptr"))
    make = sparse.csr_array if kind == "csr" else sparse.csc_array
    return check_sparse(make(parts, shape=shape))


def check_sparse_shape(shape: tuple[int, ...], entries: int) -> None:
    """Raise an error for a shape whose empty rows would fill the memory."""
    if len(shape) != 2 or min(shape) < 0 or max(shape) > entries + _EMPTY_ROWS:
        raise ContentError(
            f"it claims a sparse matrix of shape {shape} with {entries} entries, "
            "which is not plausible. Leave out the rows and columns without entries."
        )


def read_mtx_file(source: Source, options: ReadOptions) -> Table:
    """Read a MatrixMarket file, dense or sparse."""
    from lordclust.files.matrix_market import read_mtx

    with source.open() as file:
        X = read_mtx(file.read())
    return Table(_picked(X, options))
