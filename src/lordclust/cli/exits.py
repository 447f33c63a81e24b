"""How a command ends: one sentence on stderr, and an exit code that scripts can ask.

0 done, 1 failed, 2 wrong usage, 3 bad input, 4 not converged under ``--strict``,
130 interrupted. ``LORDCLUST_DEBUG=1`` shows the traceback instead of the sentence.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

FAILED, USAGE, BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 1, 2, 3, 4, 130

#: Progress hides the cursor of a terminal; whoever leaves in a hurry brings it back.
SHOW_CURSOR = b"\x1b[?25h\n"

NOTHING_WRITTEN = "Interrupted. Nothing was written."


class Failure(click.ClickException):
    """A sentence for the user, and the exit code."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click says: of the class


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what the library raises into a sentence and an exit code."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        raise  # click knows what to do, also when nobody reads on
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("LORDCLUST_DEBUG") == "1":
            raise
        raise _failure(error) from None


def _failure(error: BaseException) -> Failure:
    """Return what to say of an error."""
    if isinstance(error, KeyboardInterrupt):
        return Failure(NOTHING_WRITTEN, INTERRUPTED)
    if isinstance(error, ValueError):
        return Failure(str(error), BAD_INPUT)
    if isinstance(error, MemoryError):
        return Failure(
            "The memory of this machine is not enough. Give fewer samples, or a "
            "sparse graph with --precomputed."
        )
    if isinstance(error, ImportError):  # it names the line that installs an extra
        return Failure(str(error))
    if isinstance(error, OSError):
        where = error.filename or "Reading or writing failed"
        return Failure(f"{where}: {error.strerror or error}.")
    return Failure(
        f"Unexpected {type(error).__name__}: {error}. This is a fault of lordclust; "
        "LORDCLUST_DEBUG=1 shows where."
    )


@contextmanager
def working() -> Iterator[None]:
    """Let Ctrl-C end the work by KeyboardInterrupt, and a second one at once.

    Compiled threads are waited for after the first; the second waits for nobody.
    """

    def first() -> None:
        click.echo("\nStopping; Ctrl-C again stops at once.", err=True)
        raise KeyboardInterrupt

    with _interrupts(first):
        yield


@contextmanager
def stopping(note: str) -> Iterator[threading.Event]:
    """Let Ctrl-C ask work to stop at the next good place, and a second one end it.

    Yields an event that says whether it was asked.
    """
    asked = threading.Event()

    def first() -> None:
        asked.set()
        click.echo(f"\n{note}", err=True)

    with _interrupts(first):
        yield asked


@contextmanager
def _interrupts(first: Callable[[], Any]) -> Iterator[None]:
    """Set what the first Ctrl-C does; the second ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return

    def on_second(number: int, frame: FrameType | None) -> None:
        if os.isatty(2):
            os.write(2, SHOW_CURSOR)
        os._exit(INTERRUPTED)

    def on_first(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, on_second)
        first()

    before = signal.signal(signal.SIGINT, on_first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
