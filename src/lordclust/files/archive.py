"""Archives of plain arrays and one document, for fitted models.

An archive is a zip file of ``document.json`` and of arrays as ``NAME.npy``. The
document lists the arrays with their types and shapes. Nothing in it can run code.
"""

import json
import re
from collections.abc import Mapping
from typing import IO, Any, TypeAlias
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

from lordclust._core.typing import PathLike
from lordclust.files.arrays import npy_bytes, open_zip, read_member, read_npy
from lordclust.files.atomic import atomic_file
from lordclust.files.error import InputError, allowance, input_errors
from lordclust.files.source import Source

DOCUMENT = "document.json"
#: Largest size of a document in bytes: parsing it takes up to thirty times the memory.
LONGEST_DOCUMENT = 8 * 2**20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}")
_DAMAGED = (
    "it is not a model file, or damaged or truncated ({reason}). Save the model again."
)

Arrays: TypeAlias = dict[str, Any]


def write_archive(
    path: PathLike,
    document: Mapping[str, object],
    arrays: Arrays,
    *,
    force: bool = False,
    private: bool = False,
) -> None:
    """Write a document and arrays to one file, atomically.

    Parameters
    ----------
    path : str or Path
        The file.
    document : dict
        Contents that JSON can hold; the key "arrays" is set here.
    arrays : dict of str to ndarray
        Numbers only.
    force : bool, default=False
        Replace an existing file.
    private : bool, default=False
        Only the owner may read a new file.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/two.lord"
    >>> write_archive(path, {"k": 2}, {"x": np.arange(3)})
    >>> document, arrays = read_archive(path)
    >>> document["k"], arrays["x"]
    (2, array([0, 1, 2]))
    """
    listed = {name: _described(array) for name, array in arrays.items()}
    head = json.dumps({**document, "arrays": listed}, allow_nan=False, indent=1)
    if len(head) > LONGEST_DOCUMENT:
        raise InputError(
            path,
            f"names and settings must take at most {LONGEST_DOCUMENT >> 20} MB, got "
            f"{len(head) >> 20} MB. Store large data, such as arrays, in a separate "
            "file.",
        )
    with atomic_file(path, force, private=private) as file:
        _write_members(file, head, arrays, ZIP_DEFLATED)
        packed = file.tell()
        if sum(array.nbytes for array in arrays.values()) > allowance(packed) // 2:
            # It compresses so well that a reader would consider it a zip bomb.
            file.seek(0)
            file.truncate()
            _write_members(file, head, arrays, ZIP_STORED)


def _write_members(file: IO[bytes], head: str, arrays: Arrays, method: int) -> None:
    """Write the members of an archive; equal contents give equal bytes."""

    def write(name: str, content: bytes) -> None:
        member = ZipInfo(name)  # dated 1980, for reproducible files
        member.compress_type = method
        archive.writestr(member, content)

    with ZipFile(file, "w", method, compresslevel=1) as archive:
        write(DOCUMENT, head.encode())
        for name, array in arrays.items():
            write(f"{name}.npy", npy_bytes(array))


def read_archive(path: PathLike) -> tuple[dict[str, Any], Arrays]:
    """Return the document and the arrays of an archive, if they are valid.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    document : dict
    arrays : dict of str to ndarray

    Raises
    ------
    InputError
        If it is truncated, damaged, or not such an archive. No more memory is
        allocated than is plausible for the size of the file.
    """
    source, arrays = Source(str(path)), {}
    with input_errors(source.path, _DAMAGED), open_zip(source) as archive:
        document = _document(archive)
        listed = document["arrays"]
        expected = sorted([DOCUMENT, *(f"{name}.npy" for name in listed)])
        if sorted(archive.namelist()) != expected:
            raise ValueError("its members differ from its list")
        for name, description in listed.items():
            if not _NAME.fullmatch(name):
                raise ValueError(f"an array is called {name[:100]!r}")
            array = read_npy(read_member(archive, f"{name}.npy"))
            if _described(array) != description:
                raise ValueError(f"array {name!r} is not of the type and shape listed")
            arrays[name] = array
    return document, arrays


def read_document(path: PathLike) -> dict[str, Any]:
    """Return the document of an archive without reading its arrays."""
    source = Source(str(path))
    with input_errors(source.path, _DAMAGED), open_zip(source) as archive:
        return dict(_document(archive))


def _document(archive: ZipFile) -> Any:
    """Return the document of an open archive."""
    if archive.getinfo(DOCUMENT).file_size > LONGEST_DOCUMENT:
        raise ValueError(f"its document is longer than {LONGEST_DOCUMENT >> 20} MB")
    return json.loads(read_member(archive, DOCUMENT).decode())


def _described(array: npt.ArrayLike) -> list[object]:
    """Return the type and the shape of an array of numbers."""
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an archive holds numbers, not {array.dtype}")
    return [array.dtype.name, list(array.shape)]
