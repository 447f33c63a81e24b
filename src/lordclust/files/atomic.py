"""Atomic writing of one file, or of several files together."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lordclust.files.error import InputError, WriteError

if TYPE_CHECKING:  # imports numpy, which the command line loads late
    from lordclust._core.typing import PathLike

#: Errors of a disk that is full, over a quota or a limit, defective, or read-only.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


@dataclass
class _Part:
    """A hidden file, next to the target that it will replace."""

    path: PathLike  # the target as it was given
    target: Path
    force: bool
    hidden: Path
    complete: bool = False


#: The files of the innermost ``all_or_none``, and every hidden file of the process.
_BATCH: ContextVar[list[_Part] | None] = ContextVar("batch", default=None)
_HIDDEN: set[Path] = set()


@contextmanager
def atomic_file(
    path: PathLike, force: bool = False, *, text: bool = False
) -> Iterator[IO[Any]]:
    """Open a file for writing, which appears under its name once it is complete.

    Everything is written to a hidden file in the same folder, which is synced to disk
    and renamed at the end. If anything fails, including by an interrupt, the hidden
    file is removed and an existing file of that name is left unchanged. Inside
    :func:`all_or_none` the file is renamed together with the others.

    Parameters
    ----------
    path : str or Path
        The file; "-" is standard output. Pipes and devices are written to directly.
    force : bool, default=False
        Replace an existing file.
    text : bool, default=False
        Write text in UTF-8, with line ends unchanged; otherwise bytes.

    Yields
    ------
    file : file object

    Raises
    ------
    InputError
        If the file exists without ``force``, or cannot be opened for writing.
    WriteError
        If the disk is full or fails.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_file(target, text=True) as file:
    ...     _ = file.write("all of it")
    >>> target.read_text()
    'all of it'
    """
    if str(path) == "-":
        yield sys.stdout if text else sys.stdout.buffer
        sys.stdout.flush()
        return
    target = check_target(path, force)
    if is_stream(target):
        with _opened(path, target, "w", text) as file:
            yield file
        return
    hidden = target.with_name(f".lordclust-{secrets.token_hex(8)}.part")
    part = _Part(path, target, force, hidden)
    with all_or_none() as batch:
        _HIDDEN.add(hidden)
        batch.append(part)
        with _opened(path, hidden, "x", text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.complete = True


@contextmanager
def all_or_none() -> Iterator[list[_Part]]:
    """Rename all files written inside at the end, or none of them if anything fails.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with all_or_none():
    ...     for name in ("a", "b"):
    ...         with atomic_file(folder / name, text=True) as file:
    ...             _ = file.write(name)
    ...     print(len(list(folder.glob("?"))))
    0
    >>> sorted(file.name for file in folder.iterdir())
    ['a', 'b']
    """
    outer = _BATCH.get()
    if outer is not None:
        yield outer
        return
    batch: list[_Part] = []
    token = _BATCH.set(batch)
    try:
        yield batch
        complete = [part for part in batch if part.complete]
        for part in complete:  # the target may have appeared in the meantime
            check_target(part.path, part.force)
        for part in complete:
            try:
                os.replace(part.hidden, part.target)
            except OSError as error:
                raise WriteError(part.path, error) from error
    finally:
        _BATCH.reset(token)
        for part in batch:
            part.hidden.unlink(missing_ok=True)
            _HIDDEN.discard(part.hidden)


def remove_hidden_files() -> None:
    """Remove every incomplete file, for a process that is about to exit."""
    for hidden in list(_HIDDEN):
        hidden.unlink(missing_ok=True)


def check_target(path: PathLike, force: bool = False) -> Path:
    """Return the target of a file, links resolved, if it may be written."""
    target = Path(os.path.realpath(path))
    folder = str(target.parent)
    if target.is_dir():
        raise InputError(path, "this is a folder. Pass the name of a file.")
    if target.is_file() and not force:
        raise InputError(
            path,
            "this file exists already. Pass another name, or replace it with "
            "force=True (--force).",
        )
    if not target.parent.is_dir():
        raise InputError(path, f"there is no folder {folder!r}. Create it first.")
    if not os.access(folder, os.W_OK):
        raise InputError(
            path, f"the folder {folder!r} is not writable. Choose another folder."
        )
    return target


def is_stream(path: Path) -> bool:
    """Return whether a path is a pipe or a device, such as /dev/stdout."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def _opened(path: PathLike, place: Path, mode: str, text: bool) -> Iterator[IO[Any]]:
    """Open a file at its place; errors name the path that was given."""
    settings: Any = {"encoding": "utf-8", "newline": ""} if text else {}
    try:
        file = open(place, mode if text else f"{mode}b", **settings)  # noqa: SIM115
    except OSError as error:
        raise InputError(
            path, f"it cannot be written ({error.strerror}). Pass another name."
        ) from error
    try:
        with file:
            yield file
    except OSError as error:
        if error.errno in FULL and not isinstance(error, WriteError):
            raise WriteError(path, error) from error
        raise
