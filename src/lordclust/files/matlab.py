"""MATLAB files up to version 7."""

import io
import zlib
from inspect import signature
from struct import Struct
from typing import Any

from lordclust.files.arrays import Lazy, check_sparse_shape, chosen
from lordclust.files.error import InputError, allowance
from lordclust.files.source import Source
from lordclust.files.table import Table, Wish, sound

#: Classes of arrays that are read; cells and structs may be nested without end.
_KINDS = frozenset(
    {"double", "single", "logical", "char", "sparse"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
_MATRIX, _PACKED = 14, 15
#: Bytes of a number, by the type of a part.
_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
#: All types of parts: numbers, matrices, packed ones, and text.
_TYPES = frozenset({*_SIZES, _MATRIX, _PACKED, 16, 17, 18})
#: The class of sparse arrays, and which of their parts is which.
_SPARSE = 5
_FLAGS, _SHAPE, _, _ROWS, _STARTS, _VALUES = range(6)
#: Bytes before the first array of version 5 to 7.
_HEAD = 128


def read_mat_file(source: Source, wish: Wish) -> Table:
    """Read an array of a MATLAB file, with its labels and ids."""
    from scipy.io import loadmat, whosmat

    with source.open() as file:
        content = file.read()
    if content[:512].startswith((b"MATLAB 7.3", b"\x89HDF")):
        raise InputError(
            source.path,
            "it is a MATLAB file of version 7.3, but versions up to 7 can be read. "
            "Save it in MATLAB with save(name, '-v7').",
        )
    most = allowance(len(content))
    content = _unpacked(content, most, source.path)
    known = whosmat(io.BytesIO(content))
    if len({name for name, *_ in known}) < len(known):
        raise InputError(
            source.path, "two arrays have the same name. It is damaged: save it again."
        )
    tables = [n for n, shape, kind in known if kind in _KINDS and len(shape) == 2]
    for name, shape, kind in known:
        if kind == "sparse":
            check_sparse_shape(shape, len(content), source.path)
        elif min(shape, default=0) < 0 or 8 * _count(shape) > most:
            raise InputError(
                source.path,
                f"it claims an array {name!r} of shape {shape}, implausible for its "
                "size. It is damaged: save it again.",
            )

    # SciPy warns who does not say which kind of sparse arrays is wanted, from 1.18 on.
    new = "spmatrix" in signature(loadmat).parameters
    kind_of_sparse = {"spmatrix": False} if new else {}

    def load(name: str) -> Any:
        file = io.BytesIO(content)
        return sound(loadmat(file, variable_names=[name], **kind_of_sparse)[name])

    return chosen(Lazy({name: name for name in tables}, load), source, wish)


def _count(shape: tuple[int, ...]) -> int:
    """Return how many numbers an array of that shape has."""
    count = 1
    for length in shape:
        count *= int(length)
    return count


def _unpacked(content: bytes, most: int, path: str) -> bytes:
    """Return the file with its arrays not packed, if they are plausible.

    SciPy trusts what a packed array claims to hold, and asks for the memory.
    """
    if 0 in content[:4] or len(content) < _HEAD:
        return content  # version 4 packs nothing
    tag = Struct("<II" if content[126:128] == b"IM" else ">II")
    parts, at = [content[:_HEAD]], _HEAD
    while at + tag.size <= len(content):
        kind, length = tag.unpack_from(content, at)
        begin, at = at + tag.size, at + tag.size + length
        part = content[begin:at]
        if kind != _PACKED:
            _check_parts(part, tag, path)
            parts += [tag.pack(kind, length), part]
            continue
        packed = zlib.decompressobj()
        claimed = tag.unpack(packed.decompress(part, tag.size))[1]
        most -= claimed
        if most < 0:
            raise InputError(
                path,
                "it unpacks to more than its size makes plausible. Save it without "
                "compression (-v6) if it is yours.",
            )
        plain = packed.decompress(packed.unconsumed_tail, claimed) if claimed else b""
        _check_parts(plain, tag, path)
        parts += [tag.pack(_MATRIX, len(plain)), plain]
    return b"".join(parts)


def _check_parts(matrix: bytes, tag: Struct, path: str) -> None:
    """Refuse a matrix whose parts claim more bytes than it has, or do not fit."""
    at, parts = 0, []
    while at + tag.size <= len(matrix):
        kind, length = tag.unpack_from(matrix, at)
        if kind >> 16:  # up to four bytes stand in the tag
            parts.append((kind & 0xFFFF, matrix[at + 4 : at + 4 + (kind >> 16)]))
            at += tag.size
            continue
        begin, at = at + tag.size, at + tag.size + length + -length % 8
        parts.append((kind, matrix[begin : begin + length]))
    if at >= len(matrix) + tag.size:  # the last may lack its padding
        raise InputError(
            path, "an array claims more than the file holds. It is cut: save it again."
        )
    if not _is_trusted(parts, tag.format[0]):
        raise InputError(
            path,
            "the parts of an array do not fit. It is damaged: save it again.",
        )


def _is_trusted(parts: list[tuple[int, bytes]], order: str) -> bool:
    """Tell whether SciPy can make an array of parts: it looks at none of them."""
    if any(kind not in _TYPES for kind, _ in parts):
        return False
    if len(parts) <= _SHAPE or len(parts[_FLAGS][1]) != 8:
        return True  # no array, which SciPy sees
    flags, _ = Struct(f"{order}II").unpack(parts[_FLAGS][1])
    if flags & 0xFF != _SPARSE:
        return True
    shape = parts[_SHAPE][1]
    if len(parts) <= _VALUES or len(shape) != 8:
        return False
    numbers = parts[_ROWS : _VALUES + 1]
    if any(kind not in _SIZES or len(x) % _SIZES[kind] for kind, x in numbers):
        return False
    _, columns = Struct(f"{order}ii").unpack(shape)
    kind, starts = parts[_STARTS]
    return bool(len(starts) // _SIZES[kind] == columns + 1 > 0)
