"""MATLAB files up to version 7."""

import io
import math
import zlib
from inspect import signature
from struct import Struct

from lordclust.files.arrays import Array, check_sparse_shape, chosen
from lordclust.files.error import ContentError, allowance, check_unpacked, damaged
from lordclust.files.source import Source
from lordclust.files.table import ReadOptions, Table, check_sparse

#: Classes of arrays that are read; cells and structs could be nested without end.
_KINDS = frozenset(
    {"double", "single", "logical", "char", "sparse"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
_MATRIX, _COMPRESSED = 14, 15
#: Bytes of a number, by the type of a part.
_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
#: All types of parts: numbers, matrices, compressed ones, and text.
_TYPES = frozenset({*_SIZES, _MATRIX, _COMPRESSED, 16, 17, 18})
#: The classes of sparse arrays and of numbers, and the flag of an imaginary part.
_SPARSE, _NUMBERS, _COMPLEX = 5, range(6, 16), 0x800
#: The positions of the parts of sparse arrays; others have values instead of rows.
_FLAGS, _SHAPE, _, _ROWS, _STARTS, _VALUES = range(6)
#: Bytes before the first array of version 5 to 7.
_HEAD = 128


def read_mat_file(source: Source, options: ReadOptions) -> Table:
    """Read an array of a MATLAB file, with its labels and ids."""
    from scipy.io import loadmat, whosmat

    with source.open() as file:
        content = file.read()
    if content[:512].startswith((b"MATLAB 7.3", b"\x89HDF")):
        raise ContentError(
            "its MATLAB version is 7.3, but only versions up to 7 can be read. "
            "Save it in MATLAB with save(name, '-v7')."
        )
    most = allowance(len(content))
    content = _unpacked(content, most)
    known = whosmat(io.BytesIO(content))
    if len({name for name, *_ in known}) < len(known):
        raise damaged("two arrays have the same name")
    tables = [n for n, shape, kind in known if kind in _KINDS and len(shape) == 2]
    for name, shape, kind in known:
        if kind == "sparse":
            check_sparse_shape(shape, len(content))
        elif min(shape, default=0) < 0 or 8 * math.prod(map(int, shape)) > most:
            claimed = f"an array {name!r} of shape {shape}"
            raise damaged(f"it claims {claimed}, implausible for its size")

    # From 1.18 on, SciPy warns unless the kind of sparse arrays is given.
    new = "spmatrix" in signature(loadmat).parameters
    sparse_kind = {"spmatrix": False} if new else {}

    def load(name: str) -> Array:
        arrays = loadmat(io.BytesIO(content), variable_names=[name], **sparse_kind)
        X: Array = check_sparse(arrays[name])
        return X

    return chosen(tables, load, source, options)


def _unpacked(content: bytes, most: int) -> bytes:
    """Return the file with its arrays uncompressed, if their sizes are plausible.

    SciPy trusts the size that a compressed array claims, and allocates the memory.
    """
    if 0 in content[:4] or len(content) < _HEAD:
        return content  # version 4 has no compression
    tag = Struct("<II" if content[126:128] == b"IM" else ">II")
    parts, at, total = [content[:_HEAD]], _HEAD, 0
    while at + tag.size <= len(content):
        kind, length = tag.unpack_from(content, at)
        begin, at = at + tag.size, at + tag.size + length
        part = content[begin:at]
        if kind != _COMPRESSED:
            _check_parts(part, tag)
            parts += [tag.pack(kind, length), part]
            continue
        packed = zlib.decompressobj()
        claimed = tag.unpack(packed.decompress(part, tag.size))[1]
        total += claimed
        advice = "Save it without compression (-v6) if it is yours."
        check_unpacked(total, most, advice)
        plain = packed.decompress(packed.unconsumed_tail, claimed) if claimed else b""
        _check_parts(plain, tag)
        parts += [tag.pack(_MATRIX, len(plain)), plain]
    return b"".join(parts)


def _check_parts(matrix: bytes, tag: Struct) -> None:
    """Raise an error if the parts of a matrix claim too many bytes, or do not fit."""
    at, parts = 0, []
    while at + tag.size <= len(matrix):
        kind, length = tag.unpack_from(matrix, at)
        if kind >> 16:  # up to four bytes are in the tag itself
            parts.append((kind & 0xFFFF, matrix[at + 4 : at + 4 + (kind >> 16)]))
            at += tag.size
            continue
        begin, at = at + tag.size, at + tag.size + length + -length % 8
        parts.append((kind, matrix[begin : begin + length]))
    if at >= len(matrix) + tag.size:  # the last may lack its padding
        raise damaged("an array claims more than it holds")
    if not _is_trusted(parts, tag.format[0]):
        raise damaged("the parts of an array do not fit")


def _is_trusted(parts: list[tuple[int, bytes]], order: str) -> bool:
    """Return whether SciPy can use the parts of an array, which it does not check."""
    if any(kind not in _TYPES for kind, _ in parts):
        return False
    if len(parts) <= _SHAPE or len(parts[_FLAGS][1]) != 8:
        return True  # not an array, which SciPy notices
    flags, _ = Struct(f"{order}II").unpack(parts[_FLAGS][1])
    sparse = flags & 0xFF == _SPARSE
    if not sparse and flags & 0xFF not in _NUMBERS:
        return True
    # If a part is missing, SciPy takes what follows in the file for it.
    end = (_VALUES if sparse else _ROWS) + (2 if flags & _COMPLEX else 1)
    numbers, shape = parts[_ROWS:end], parts[_SHAPE][1]
    if len(parts) < end or any(
        kind not in _SIZES or len(x) % _SIZES[kind] for kind, x in numbers
    ):
        return False
    if not sparse:
        return True
    if len(shape) != 8:
        return False
    _, columns = Struct(f"{order}ii").unpack(shape)
    kind, starts = parts[_STARTS]
    return bool(len(starts) // _SIZES[kind] == columns + 1 > 0)
