"""Start of the ``lordclust`` command, before anything else is loaded."""

import io
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: Exit code after Ctrl-C.
INTERRUPTED = 130


def run() -> None:
    """Run the command line; Ctrl-C exits without a traceback even while it loads."""
    open_streams()
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # as after nohup, or trap '' INT
        signal.signal(signal.SIGINT, _leave)
    from lordclust.cli.app import main

    signal.signal(signal.SIGINT, before)
    main(prog_name="lordclust")


def open_streams() -> None:
    """Prepare the standard streams for a shell that closed, filled or limited them.

    A closed one would be replaced by the next file that is opened, which would then
    receive what is printed. In its place, reading and writing fail, and messages are
    dropped. Characters that the terminal does not have are printed as escapes.
    """
    for number, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)  # the lowest is free
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if os.name == "posix":
        encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_Messages(2, "w", closefd=False)),
            encoding, "backslashreplace", line_buffering=True,
        )  # fmt: skip


class _Messages(io.FileIO):
    """Standard error: a message that cannot be written does not end the work."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit at once: no work has begun."""
    with suppress(OSError):
        os.write(2, b"\nInterrupted. Nothing was written.\n")
    os._exit(INTERRUPTED)
