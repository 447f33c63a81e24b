"""Start of the ``lordclust`` command, before anything else is loaded."""

import os
import signal
from types import FrameType

#: Exit code after Ctrl-C.
INTERRUPTED = 130


def run() -> None:
    """Run the command line; Ctrl-C exits without a traceback even while it loads."""
    before = signal.signal(signal.SIGINT, _leave)
    from lordclust.cli.app import main

    signal.signal(signal.SIGINT, before)
    main(prog_name="lordclust")


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit at once: no work has begun."""
    os.write(2, b"\nInterrupted. Nothing was written.\n")
    os._exit(INTERRUPTED)
