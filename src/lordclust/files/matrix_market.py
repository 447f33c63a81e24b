"""MatrixMarket files, dense or sparse, read with numpy only.

A damaged file can crash scipy's reader, which is compiled code.
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray
from lordclust.files.arrays import check_sparse_shape
from lordclust.files.error import ContentError, damaged
from lordclust.files.table import Matrix

_BLOCK = 1 << 24  # bytes that are converted at once
_MAGIC = b"%%matrixmarket"
_LAYOUTS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
#: Factor from an entry below the diagonal to the one above it.
_SYMMETRIES = {"general": 0, "symmetric": 1, "skew-symmetric": -1}


class _Head(NamedTuple):
    """The header of a file, and where the entries begin."""

    layout: str
    field: str
    symmetry: str
    shape: tuple[int, int]
    entries: int
    body: int


def read_mtx(content: bytes) -> Matrix:
    """Return the matrix in the bytes of a MatrixMarket file."""
    head = _head(content)
    width = 1 if head.layout == "array" else 2 + (head.field != "pattern")
    numbers = _numbers(content, head.body, width)
    if len(numbers) != head.entries:
        claimed = f"it claims {head.entries} entries"
        raise damaged(f"{claimed}, but holds {len(numbers)}")
    make = _dense if head.layout == "array" else _sparse
    return make(numbers, head)


def _head(content: bytes) -> _Head:
    """Return the header of a file, if it is valid."""
    lines: list[bytes] = []
    body = 0
    while body < len(content) and len(lines) < 2:
        end = content.find(b"\n", body) + 1 or len(content)
        line = content[body : min(end, body + 200)].strip()
        body = end
        if not lines or (line and not line.startswith(b"%")):
            lines.append(line)
    first = lines[0].lower() if lines else b""
    words = first.decode("ascii", "replace").split()
    if not first.startswith(_MAGIC) or len(words) != 5 or words[1] != "matrix":
        raise ContentError(
            "it does not begin like a MatrixMarket file. It is damaged or of another "
            "format: write it with scipy.io.mmwrite."
        )
    layout, field, symmetry = words[2:]
    if layout not in _LAYOUTS or field not in _FIELDS or symmetry not in _SYMMETRIES:
        raise ContentError(
            f"it holds a matrix of kind {layout} {field} {symmetry}, but only real "
            "ones can be read, coordinate or array, general, symmetric or "
            "skew-symmetric. Convert it."
        )
    shape, entries = _size(lines[1] if len(lines) > 1 else b"", words)
    if entries > len(content):  # an entry takes two bytes or more
        claimed = f"it claims {entries} entries"
        raise damaged(f"{claimed}, but holds {len(content)} bytes")
    check_sparse_shape(shape, entries)
    return _Head(layout, field, symmetry, shape, entries, body)


def _size(line: bytes, words: list[str]) -> tuple[tuple[int, int], int]:
    """Return the shape and the expected number of entries."""
    _, _, layout, _, symmetry = words
    parts = line.split()
    # No real matrix has a size with more digits.
    sound = all(part.isdigit() and len(part) <= 15 for part in parts)
    if not sound or len(parts) != (2 if layout == "array" else 3):
        raise damaged("there is no line with the size of the matrix")
    rows, columns, *rest = (int(part) for part in parts)
    if symmetry != "general" and rows != columns:
        kind = f"a {symmetry} matrix of shape {(rows, columns)}"
        raise damaged(f"it claims {kind}, which is not square")
    if rest:
        return (rows, columns), rest[0]
    below = {"general": rows * columns, "symmetric": rows * (rows + 1) // 2}
    return (rows, columns), below.get(symmetry, rows * (rows - 1) // 2)


def _numbers(content: bytes, start: int, width: int) -> FloatArray:
    """Return the lines from ``start`` on as rows of ``width`` numbers."""
    parts: list[FloatArray] = [np.empty((0, width))]
    line = 0
    while start < len(content):
        end = content.rfind(b"\n", start, start + _BLOCK) + 1
        end = end or content.find(b"\n", start) + 1 or len(content)
        parts.append(_block(content[start:end], width, line))
        line += content.count(b"\n", start, end)
        start = end
    return np.concatenate(parts)


def _block(text: bytes, width: int, line: int) -> FloatArray:
    """Return some lines as rows of numbers; ``line`` lines precede them."""
    letters = np.frombuffer(text, np.uint8)
    space = (letters == 32) | ((letters >= 9) & (letters <= 13))
    begins = ~space
    begins[1:] &= space[:-1]
    first = np.flatnonzero(np.append(True, letters[:-1] == 10))
    words = np.add.reduceat(begins, first, dtype=np.int64)
    wrong = np.flatnonzero((words != 0) & (words != width))
    if wrong.size:
        place = f"line {line + wrong[0] + 1} after the size"
        found = f"{place} has {words[wrong[0]]} words"
        raise damaged(f"an entry must have {width} numbers, but {found}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # about text that is not a number
            numbers = np.fromstring(text, dtype=np.float64, sep=" ")
    except (ValueError, DeprecationWarning):
        numbers = np.empty(0)
    if len(numbers) != words.sum():
        raise damaged("its entries are not all numbers")
    return np.asarray(numbers.reshape(-1, width))


def _dense(numbers: FloatArray, head: _Head) -> FloatArray:
    """Return a matrix written column by column; half of it if symmetric."""
    if head.symmetry == "general":
        return np.ascontiguousarray(numbers.reshape(head.shape, order="F"))
    n, sign = head.shape[0], _SYMMETRIES[head.symmetry]
    X = np.zeros(head.shape)
    column, row = np.triu_indices(n, 1 if sign < 0 else 0)
    X[column, row] = sign * numbers[:, 0]
    X[row, column] = numbers[:, 0]
    return X


def _sparse(numbers: FloatArray, head: _Head) -> Matrix:
    """Return a matrix written entry by entry, with positions from 1."""
    places = numbers[:, :2]
    inside = (places >= 1) & (places <= head.shape) & (places == np.floor(places))
    if not inside.all():
        entry = int((~inside).any(axis=1).argmax()) + 1
        raise damaged(f"entry {entry} is not in a matrix of shape {head.shape}")
    row, column = (places - 1).astype(np.int64).T
    data = numbers[:, 2] if numbers.shape[1] > 2 else np.ones(len(numbers))
    if sign := _SYMMETRIES[head.symmetry]:
        apart = row != column
        row, column = np.append(row, column[apart]), np.append(column, row[apart])
        data = np.append(data, sign * data[apart])
    return sparse.csr_array((data, (row, column)), shape=head.shape)
