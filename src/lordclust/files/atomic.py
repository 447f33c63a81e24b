"""Files that appear whole, or not at all."""

import errno
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from lordclust.files.error import InputError, WriteError

#: What a disk says that is full, over a quota or a limit, broken, or read only.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
#: Hidden files that are being written.
_PARTS: set[Path] = set()


@contextmanager
def whole_file(
    path: str | Path, force: bool = False, *, text: bool = False
) -> Iterator[IO[Any]]:
    """Open a file to write; it gets its name when all is written.

    What is written goes to a hidden file in the same folder, which is synced to disk
    and renamed at the end. If anything fails, an interrupt too, it is removed, and a
    file that had the name before is as it was.

    Parameters
    ----------
    path : str or Path
        The file; "-" is standard output.
    force : bool, default=False
        Replace a file that exists.
    text : bool, default=False
        Write text in UTF-8 with line ends as they are; otherwise bytes.

    Yields
    ------
    file : file object

    Raises
    ------
    InputError
        If the file exists without ``force``, or cannot be opened for writing.
    WriteError
        If the disk is full, or fails.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "note.txt"
    >>> with whole_file(target, text=True) as file:
    ...     _ = file.write("all of it")
    >>> target.read_text()
    'all of it'
    """
    if str(path) == "-":
        yield sys.stdout if text else sys.stdout.buffer
        sys.stdout.flush()
        return
    target = check_target(path, force)
    if target.exists() and not target.is_file():  # a device or a pipe
        with _opened(target, "w", text, path) as file:
            yield file
        return
    part = target.with_name(f".lordclust-{secrets.token_hex(8)}.part")
    _PARTS.add(part)
    try:
        with _opened(part, "x", text, path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        check_target(path, force)  # it may have come meanwhile
        os.replace(part, target)
    except OSError as error:
        if error.errno in FULL and not isinstance(error, WriteError):
            raise WriteError(path, error) from error
        raise
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
        _PARTS.discard(part)


def remove_parts() -> None:
    """Remove what is half written: for a process that ends without further ado."""
    for part in list(_PARTS):
        part.unlink(missing_ok=True)


def check_target(path: str | Path, force: bool = False) -> Path:
    """Return where a file will be, if it may be written there.

    Parameters
    ----------
    path : str or Path
        The file; not "-".
    force : bool, default=False
        Whether it may replace another.

    Returns
    -------
    target : Path
        Links followed, so that a link stays one.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(path, "this is a folder. Give the name of a file.")
    if target.is_file() and not force:
        raise InputError(
            path,
            "this file exists already. Give another name, or replace it with "
            "force=True (--force).",
        )
    if not target.parent.is_dir():
        raise InputError(
            path, f"there is no folder {str(target.parent)!r}. Make it first."
        )
    if not os.access(target.parent, os.W_OK):
        raise InputError(
            path,
            f"the folder {str(target.parent)!r} cannot be written to. Give another.",
        )
    return target


def _opened(target: Path, mode: str, text: bool, path: str | Path) -> IO[Any]:
    """Open a file, or say why not."""
    try:
        if text:
            return open(target, mode, encoding="utf-8", newline="")
        return open(target, f"{mode}b")
    except OSError as error:
        raise InputError(
            path, f"it cannot be written ({error.strerror}). Give another name."
        ) from error
