"""Archives of plain arrays and one document, for fitted models.

An archive is a zip file of ``document.json`` and of arrays as ``NAME.npy``. The
document lists the arrays with their types and shapes. Nothing in it can run code.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from lordclust.files.arrays import check_members, npy_bytes, read_member, read_npy
from lordclust.files.atomic import whole_file
from lordclust.files.error import InputError, allowance
from lordclust.files.source import Source

DOCUMENT = "document.json"
#: Bytes of a document: what Python makes of them takes up to thirty times as many.
LONGEST_DOCUMENT = 32 * 2**20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}")

Arrays = dict[str, Any]
Content = TypeVar("Content")


def write_archive(
    path: str | Path, document: dict[str, Any], arrays: Arrays, *, force: bool = False
) -> None:
    """Write a document and arrays into one file, whole or not at all.

    Parameters
    ----------
    path : str or Path
        The file.
    document : dict
        What JSON can hold; the key "arrays" is set here.
    arrays : dict of str to ndarray
        Numbers only.
    force : bool, default=False
        Replace a file that exists.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "two.lord"
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
            f"names and settings of {len(head) >> 20} MB were to be saved, but "
            f"{LONGEST_DOCUMENT >> 20} MB may be. Keep large things, as arrays, in a "
            "file of their own.",
        )
    with whole_file(path, force) as file:
        _write_members(file, head, arrays, ZIP_DEFLATED)
        packed = file.tell()
        if sum(array.nbytes for array in arrays.values()) > allowance(packed) // 2:
            # So regular that a reader would take it for a bomb.
            file.seek(0)
            file.truncate()
            _write_members(file, head, arrays, ZIP_STORED)


def _write_members(file: Any, head: str, arrays: Arrays, method: int) -> None:
    """Write the members of an archive; the same content gives the same bytes."""
    with ZipFile(file, "w", method, compresslevel=1) as archive:
        for name, content in [
            (DOCUMENT, head.encode()),
            *((f"{name}.npy", None) for name in arrays),
        ]:
            member = ZipInfo(name)  # of 1980, whatever the day
            member.compress_type = method
            if content is None:
                content = npy_bytes(arrays[name.removesuffix(".npy")])
            archive.writestr(member, content)


def read_archive(path: str | Path) -> tuple[dict[str, Any], Arrays]:
    """Return the document and the arrays of an archive, if they are sound.

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
        If it is cut, damaged, or not such an archive. Memory is taken only for what
        the size of the file makes plausible.
    """
    return _sound(path, _read)


def read_document(path: str | Path) -> dict[str, Any]:
    """Return the document of an archive without its arrays, however large.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    document : dict

    Raises
    ------
    InputError
        As in :func:`read_archive`.
    """
    return _sound(path, _read_document)


def _sound(path: str | Path, read: Callable[[Source], Content]) -> Content:
    """Read a file, or say in one sentence why it cannot be."""
    source = Source(str(path))
    try:
        return read(source)
    except InputError:
        raise
    except OSError as error:
        if error.strerror is None:
            raise _damaged(source.path, error) from error
        raise InputError(
            source.path, f"it cannot be opened ({error.strerror}). Check the name."
        ) from error
    except Exception as error:  # damaged archives fail in many ways
        raise _damaged(source.path, error) from error


def _damaged(path: str, error: Exception) -> InputError:
    """Return the error for what is no archive of ours."""
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
    return InputError(
        path,
        f"it is no model file, or it is cut or damaged ({reason}). Save the model "
        "again.",
    )


def _read_document(source: Source) -> dict[str, Any]:
    """Return the first member of an archive."""
    with source.open() as file, ZipFile(file) as archive:
        check_members(archive, source)
        document: dict[str, Any] = dict(json.loads(archive.read(DOCUMENT).decode()))
    return document


def _read(source: Source) -> tuple[dict[str, Any], Arrays]:
    """Return the members of an archive."""
    with source.open() as file, ZipFile(file) as archive:
        check_members(archive, source)
        if archive.getinfo(DOCUMENT).file_size > LONGEST_DOCUMENT:
            raise ValueError(f"its document is longer than {LONGEST_DOCUMENT >> 20} MB")
        document = json.loads(read_member(archive, DOCUMENT).decode())
        listed = document["arrays"]
        expected = sorted([DOCUMENT, *(f"{name}.npy" for name in listed)])
        if sorted(archive.namelist()) != expected:
            raise ValueError("its members are not those it lists")
        arrays = {}
        for name, description in listed.items():
            if not _NAME.fullmatch(name):
                raise ValueError(f"an array is called {name[:100]!r}")
            array = read_npy(read_member(archive, f"{name}.npy"), source.path)
            if _described(array) != description:
                raise ValueError(f"array {name!r} is not of the type and shape listed")
            arrays[name] = array
    return document, arrays


def _described(array: Any) -> list[Any]:
    """Return the type and the shape of an array of numbers."""
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an archive holds numbers, not {array.dtype}")
    return [array.dtype.name, list(array.shape)]
