"""How a command ends: one sentence on stderr, and an exit code that scripts can ask.

0 done, 1 failed, 2 wrong usage, 3 bad input, 4 not converged under ``--strict``,
130 interrupted. ``LORDCLUST_DEBUG=1`` shows the traceback instead of the sentence.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import click

from lordclust._core.memory import NoRoomError
from lordclust.files.atomic import remove_parts
from lordclust.files.error import WriteError, printable

FAILED, USAGE, BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 4, 130

#: Progress hides the cursor of a terminal; whoever leaves in a hurry brings it back.
SHOW_CURSOR = b"\x1b[?25h\n"

NOTHING_WRITTEN = "Interrupted. Nothing was written."
COMPLETE = "Interrupted; the result was complete, and is kept."
#: What the first Ctrl-C says: before there is a result, when there is one, and when
#: files are being written.
ENDING = "Stopping; Ctrl-C again stops at once."
STOPPING = "Stopping with what there is; Ctrl-C again stops at once and writes nothing."
WRITING = "Writing what there is; Ctrl-C again stops and writes nothing."


class Failure(click.ClickException):
    """A sentence for the user, and the exit code."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__("\n".join(map(printable, message.splitlines())))
        self.exit_code = exit_code  # type: ignore[misc]  # click says: of the class


def debugging() -> bool:
    """Tell whether tracebacks are wanted."""
    return os.environ.get("LORDCLUST_DEBUG") == "1"


def goes_on(checkpoint: str | None) -> str:
    """Return what to add where an interrupted command left a checkpoint."""
    if checkpoint is None or not os.path.exists(checkpoint):
        return ""
    return f" The same command goes on from {checkpoint}."


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what the library raises into a sentence and an exit code."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise  # click knows what to do, also when nobody reads on
    except (Exception, KeyboardInterrupt) as error:
        if debugging():
            raise
        raise _failure(error) from None


def _failure(error: BaseException) -> Failure:
    """Return what to say of an error."""
    if isinstance(error, KeyboardInterrupt):
        return Failure(NOTHING_WRITTEN, INTERRUPTED)
    if isinstance(error, ValueError):
        return Failure(str(error), BAD_INPUT)
    if isinstance(error, NoRoomError):
        return Failure(str(error))
    if isinstance(error, MemoryError):
        return Failure(_too_little_memory(str(error)))
    if isinstance(error, ImportError):  # it names the line that installs an extra
        return Failure(str(error))
    if isinstance(error, WriteError):
        return Failure(str(error))
    if isinstance(error, OSError):
        where = error.filename or "Reading or writing failed"
        return Failure(f"{where}: {error.strerror or error}.")
    return Failure(
        f"Unexpected {type(error).__name__}: {error}. This is a fault of lordclust; "
        "LORDCLUST_DEBUG=1 shows where."
    )


def _too_little_memory(text: str) -> str:
    """Return what to say where memory ran out."""
    told = f" ({text.rstrip('.')})" if text else ""
    return (
        f"The memory that the process may take is not enough{told}. Give fewer "
        "samples or clusters, or a sparse graph with --precomputed."
    )


class Interrupts:
    """What Ctrl-C does to a command.

    As long as nothing is finished, the first one ends the work by KeyboardInterrupt.
    Once there is something to keep, it only asks: ``asked`` is set, and the work ends
    at the next good place. The second one ends the process and waits for nobody; while
    files are written it is a KeyboardInterrupt, so that none of them is left behind.
    """

    def __init__(self) -> None:
        self.asked = False
        self._writing = False
        self._note: str | None = None

    def keep(self, note: str = STOPPING) -> None:
        """There is something to keep: from now on the first Ctrl-C says the note."""
        self._note = note

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let files be finished after the first Ctrl-C, and vanish after the second."""
        self.keep(WRITING)
        self._writing = True
        try:
            yield
        finally:
            self._writing = False

    def heard(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        if self.asked and not self._writing:
            remove_parts()
            if os.isatty(2):
                os.write(2, SHOW_CURSOR)
            os._exit(INTERRUPTED)
        first, self.asked = not self.asked, True
        if first:
            with suppress(RuntimeError):  # stderr may be in the middle of a line
                click.echo(f"\n{self._note or ENDING}", err=True)
        if not first or self._note is None:
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Handle Ctrl-C while a command works."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts  # only the main thread hears signals
        return
    before, shown = signal.signal(signal.SIGINT, interrupts.heard), sys.unraisablehook

    def show(lost: Any) -> None:
        # Where C calls Python back, as LLVM does while it loads code, an exception is
        # lost; ``asked`` tells what was wanted.
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            shown(lost)

    sys.unraisablehook = show
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = shown
