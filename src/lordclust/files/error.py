"""Errors for invalid files, and limits on the size of unpacked files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imports numpy, which the command line loads late
    from lordclust._core.typing import PathLike

#: Bytes that any compressed file may unpack to; fewer for text, because parsing it
#: takes up to ten times the memory, and two seconds for a million short lines.
ROOM, TEXT_ROOM = 256 * 2**20, 8 * 2**20
#: Larger files may unpack to this many times their size; zip bombs reach 1000.
RATIO, TEXT_RATIO = 200, 100
#: Bytes that a text takes as a Python object, at least.
OBJECT = 64
#: Largest number of characters of a message; names in a file may have any length.
LONGEST = 1000

#: Whether messages are read at the command line, which names parameters otherwise.
IN_SHELL: ContextVar[bool] = ContextVar("IN_SHELL", default=False)
#: A parameter with the option of the same meaning: "columns (--columns)".
_NAMES = re.compile(r"([\w=]+) \((--[a-z-]+(?: [a-z]+)?)\)")


class InputError(ValueError):
    """A file that cannot be read or written, explained in one sentence.

    The message gives parameters as "columns (--columns)"; only one of the two names is
    shown, the option at the command line.

    Attributes
    ----------
    path : str
        The file, as it was given.
    """

    def __init__(self, path: PathLike, message: str) -> None:
        super().__init__(str(path), message)
        self.path = str(path)
        self._message = message

    @property
    def message(self) -> str:
        """What is wrong, with the names that the reader knows."""
        return _NAMES.sub(r"\2" if IN_SHELL.get() else r"\1", self._message)

    def __str__(self) -> str:
        name = {"-": "standard input"}.get(self.path, self.path)
        return printable(f"{name}: {self.message}")


class ContentError(ValueError):
    """What is wrong with the content of a file; ``naming`` makes it an InputError."""


def damaged(what: str) -> ContentError:
    """Return the error for a file that contradicts itself."""
    return ContentError(f"{what}. It is truncated or damaged: write it again.")


class WriteError(OSError):
    """A file that could not be written completely, explained in one sentence."""

    def __init__(self, path: PathLike, error: OSError) -> None:
        super().__init__(error.errno, error.strerror or str(error), str(path))

    def __str__(self) -> str:
        if self.filename == "-":
            return (
                f"standard output: it could not be written ({self.strerror}). Check "
                "where it goes to, or pass the name of a file."
            )
        return printable(
            f"{self.filename}: it could not be written ({self.strerror}). Free some "
            "space, or choose another folder; an existing file of that name is "
            "unchanged."
        )


@contextmanager
def naming(path: PathLike) -> Iterator[None]:
    """Add the name of the file to errors about its content."""
    try:
        yield
    except ContentError as error:
        raise InputError(path, str(error)) from error


@contextmanager
def input_errors(path: str, message: str) -> Iterator[None]:
    """Turn all errors of a reader into an InputError.

    Damaged files fail in many ways; the message has a placeholder {reason}.
    """
    try:
        with naming(path):
            yield
    except (InputError, ImportError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.strerror is not None:
            text = f"it cannot be opened ({error.strerror}). Check the name."
            raise InputError(path, text) from error
        if isinstance(error, MemoryError):
            text = "reading it takes more memory than is available. Read fewer columns."
            raise InputError(path, text) from error
        lines = str(error).splitlines() or [type(error).__name__]
        reason = lines[0].rstrip(".")[:200]
        raise InputError(path, message.format(reason=reason)) from error


def printable(text: str) -> str:
    r"""Return text without control characters, its middle cut out if it is long."""
    if len(text) > LONGEST:
        half = LONGEST // 2
        text = f"{text[:half]} ... {text[-half:]}"
    return visible(text)


def visible(text: str, keep: str = "") -> str:
    r"""Return text with control characters in a visible form, such as \x1b.

    Terminals obey them: they could hide text, or change what was printed before.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)


def allowance(packed: int, *, text: bool = False) -> int:
    """Return how many bytes a compressed file of this size may unpack to."""
    room, ratio = (TEXT_ROOM, TEXT_RATIO) if text else (ROOM, RATIO)
    return room + ratio * packed


def check_unpacked(unpacked: float, most: int, advice: str) -> None:
    """Raise an error for a file that unpacks to more bytes than its allowance."""
    if unpacked > most:
        raise ContentError(
            f"it unpacks to more than the {most // 2**20} MB that are plausible for "
            f"its size. {advice}"
        )
