"""Atomic writing of one file, or of several files together."""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lordclust.files.error import InputError, WriteError, visible

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

    def publish(self) -> None:
        """Give the hidden file its name; without force, never in place of another."""
        try:
            if self.force or not _linked(self.hidden, self.target):
                os.replace(self.hidden, check_target(self.path, self.force))
        except FileExistsError:  # another process was faster
            check_target(self.path)
            raise
        except OSError as error:
            raise WriteError(self.path, error) from error


#: The files of the innermost ``all_or_none``, and every hidden file of the process.
_BATCH: ContextVar[list[_Part] | None] = ContextVar("batch", default=None)
_HIDDEN: set[Path] = set()


@contextmanager
def atomic_file(
    path: PathLike, force: bool = False, *, text: bool = False, private: bool = False
) -> Iterator[IO[Any]]:
    """Open a file for writing, which appears under its name once it is complete.

    Everything is written to a hidden file in the same folder, which is synced to disk
    and renamed at the end. If anything fails, including by an interrupt, the hidden
    file is removed and an existing file of that name is left unchanged. Inside
    :func:`all_or_none` the file is renamed together with the others. A file that is
    replaced keeps its permissions.

    Parameters
    ----------
    path : str or Path
        The file; "-" is standard output, where terminals get control characters in a
        visible form. Pipes and devices are written to directly.
    force : bool, default=False
        Replace an existing file.
    text : bool, default=False
        Write text in UTF-8, with line ends unchanged; otherwise bytes.
    private : bool, default=False
        Only the owner may read a new file.

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
        with _standard_output(text) as out:
            yield out
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
        mode = _mode_of(target)
        with _opened(path, hidden, "x", text, private or mode is not None) as file:
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.complete = True


@contextmanager
def _standard_output(text: bool) -> Iterator[IO[Any]]:
    """Yield standard output as a file: text in UTF-8, whatever the locale."""
    buffer = getattr(sys.stdout, "buffer", None)
    if not text:
        yield sys.stdout.buffer
    elif sys.stdout.isatty():
        yield _Terminal()
    elif buffer is None:  # a notebook
        yield sys.stdout
    else:
        sys.stdout.flush()
        out = io.TextIOWrapper(buffer, "utf-8", newline="", write_through=True)
        try:
            yield out
        finally:
            out.detach()  # it would close standard output


class _Terminal(io.StringIO):
    """A terminal, which obeys no characters of a table but the ends of its cells."""

    def write(self, text: str, /) -> int:
        return sys.stdout.write(visible(text, keep="\n\t"))


@contextmanager
def all_or_none(
    before: Callable[[dict[Path, Path]], None] | None = None,
) -> Iterator[list[_Part]]:
    """Rename all files written inside at the end, or none of them if anything fails.

    ``before`` is called before they are renamed, with their hidden files by name. What
    it writes itself is renamed at once.

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
        if before is not None:
            _BATCH.set(None)
            before({part.target: part.hidden for part in complete})
        _publish_all(complete)
    finally:
        _BATCH.reset(token)
        for part in batch:
            part.hidden.unlink(missing_ok=True)
            _HIDDEN.discard(part.hidden)


def _publish_all(parts: list[_Part]) -> None:
    """Publish files, those that may not replace others first: they can be undone."""
    new: list[Path] = []
    try:
        for part in sorted(parts, key=lambda part: part.force):
            part.publish()
            if not part.force:
                new.append(part.target)
    except BaseException:
        for target in new:
            target.unlink(missing_ok=True)
        raise


def _linked(hidden: Path, target: Path) -> bool:
    """Give a file a second name unless another file has it; False if unsupported."""
    try:
        os.link(hidden, target)
    except FileExistsError:
        raise
    except (OSError, AttributeError):  # a file system without links
        return False
    return True


def _mode_of(target: Path) -> int | None:
    """Return the permissions of a file, or None if there is none."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        return None


def remove_hidden_files() -> None:
    """Remove every incomplete file, for a process that is about to exit."""
    for hidden in list(_HIDDEN):
        hidden.unlink(missing_ok=True)


def check_target(path: PathLike, force: bool = False) -> Path:
    """Return the target of a file, links resolved, if it may be written."""
    target = Path(os.path.realpath(path))
    if os.path.islink(path) and not os.path.exists(path):
        raise InputError(
            path,
            "this is a link to itself or to a file that does not exist. Pass the name "
            "of the file.",
        )
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
def _opened(
    path: PathLike, place: Path, mode: str, text: bool, private: bool = False
) -> Iterator[IO[Any]]:
    """Open a file at its place; errors name the path that was given."""
    settings: Any = {"encoding": "utf-8", "newline": ""} if text else {}
    if private:
        settings["opener"] = lambda name, flags: os.open(name, flags, 0o600)
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
