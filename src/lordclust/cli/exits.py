"""How a command ends: one sentence on stderr, and an exit code for scripts.

0 done, 1 failed, 2 wrong usage, 3 bad input, 4 not converged under ``--strict``,
130 interrupted. ``LORDCLUST_DEBUG=1`` shows the traceback instead of the sentence.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

import click

from lordclust._core.memory import NotEnoughMemoryError
from lordclust.cli import entry
from lordclust.files.atomic import FULL, remove_hidden_files
from lordclust.files.error import WriteError, printable

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

FAILED, USAGE, BAD_INPUT, NOT_CONVERGED = 1, 2, 3, 4
INTERRUPTED = entry.INTERRUPTED

#: The progress bar hides the cursor; an immediate exit must show it again.
SHOW_CURSOR = b"\x1b[?25h\n"

NOTHING_WRITTEN = "Interrupted. Nothing was written."
COMPLETE = "Interrupted; the result was complete and has been kept."
#: Messages on the first Ctrl-C: before there is a result, once there is one, and while
#: files are being written.
ENDING = "Stopping; press Ctrl-C again to stop at once."
STOPPING = (
    "Stopping with the result so far; press Ctrl-C again to stop at once and write "
    "nothing."
)
WRITING = "Writing the result so far; press Ctrl-C again to stop and write nothing."


class Failure(click.ClickException):
    """A sentence for the user, and the exit code."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(_printable_lines(message))
        self.exit_code = exit_code  # type: ignore[misc]  # click's is of the class


def say(message: str) -> None:
    """Print a message on stderr."""
    click.echo(_printable_lines(message), err=True)


def _printable_lines(message: str) -> str:
    """Return a message whose names, from files or arguments, do nothing."""
    return "\n".join(map(printable, message.splitlines()))


def debugging() -> bool:
    """Return whether tracebacks are requested."""
    return os.environ.get("LORDCLUST_DEBUG") == "1"


def how_to_resume(checkpoint: str | None) -> str:
    """Return a sentence to add if an interrupted command left a checkpoint."""
    if checkpoint is None or not os.path.exists(checkpoint):
        return ""
    return f" Run the same command to resume from {checkpoint}."


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn exceptions of the library into a sentence and an exit code."""
    try:
        yield
    except click.ClickException as error:
        error.message = _printable_lines(error.message)  # type: ignore[misc]  # final
        raise
    except (click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise  # click handles these, including a closed pipe
    except (Exception, KeyboardInterrupt) as error:
        if debugging():
            raise
        raise _failure(error) from None


def _failure(error: BaseException) -> Failure:
    """Return the message and the exit code for an exception."""
    if isinstance(error, KeyboardInterrupt):
        return Failure(NOTHING_WRITTEN, INTERRUPTED)
    if isinstance(error, ValueError):
        return Failure(str(error), BAD_INPUT)
    if isinstance(
        error, NotEnoughMemoryError | ImportError | WriteError
    ):  # complete sentences
        return Failure(str(error))
    if isinstance(error, MemoryError):
        detail = f" ({str(error).rstrip('.')})" if str(error) else ""
        return Failure(
            f"The process ran out of memory{detail}. Use fewer samples or clusters, or "
            "a sparse graph with --precomputed."
        )
    if isinstance(error, OSError):
        if error.filename is None and error.errno in (*FULL, errno.EBADF):
            return no_output(error)  # errors of files name them
        where = error.filename or "Reading or writing failed"
        return Failure(f"{where}: {error.strerror or error}.")
    return Failure(
        f"Unexpected {type(error).__name__}: {error}. This is a bug in lordclust; set "
        "LORDCLUST_DEBUG=1 to see the traceback."
    )


def no_output(error: OSError) -> Failure:
    """Return the failure of standard output, and drop what has not been written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # otherwise Python fails once more when it exits
    os.close(nowhere)
    return Failure(str(WriteError("-", error)))


class Interrupts:
    """What Ctrl-C does to a command.

    Before there is a result, the first Ctrl-C raises KeyboardInterrupt. Once there is
    one, it only sets ``requested``, and the work stops at the next suitable point. The
    second Ctrl-C exits the process at once; while files are being written it raises
    KeyboardInterrupt instead, so that none of them is left behind.
    """

    def __init__(self) -> None:
        self.requested = False
        self._writing = False
        self._message: str | None = None

    def keep(self, message: str = STOPPING) -> None:
        """Note that there is a result: the first Ctrl-C now only shows the message."""
        self._message = message

    def end(self, message: str = COMPLETE) -> None:
        """Fail with a message after Ctrl-C; do nothing without it."""
        if self.requested:
            raise Failure(message, INTERRUPTED)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Finish files after the first Ctrl-C, and remove them after the second."""
        self.keep(WRITING)
        self._writing = True
        try:
            yield
        finally:
            self._writing = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        if self.requested and not self._writing:
            remove_hidden_files()
            if os.isatty(2):
                os.write(2, SHOW_CURSOR)
            os._exit(INTERRUPTED)
        first, self.requested = not self.requested, True
        if first:
            with suppress(RuntimeError):  # stderr may be in the middle of a line
                say(f"\n{self._message or ENDING}")
        if not first or self._message is None:
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Handle Ctrl-C while a command works, unless whoever started it ignores it."""
    interrupts = Interrupts()
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield interrupts  # only the main thread receives signals
        return
    before, show = signal.signal(signal.SIGINT, interrupts.handle), sys.unraisablehook

    def show_others(lost: UnraisableHookArgs) -> None:
        # If C calls back into Python, as LLVM does while it loads code, an exception
        # is lost; ``requested`` is set nevertheless.
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            show(lost)

    sys.unraisablehook = show_others
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = show
