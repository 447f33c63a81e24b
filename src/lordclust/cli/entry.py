"""Where the ``lordclust`` command begins, before anything is loaded."""

import os
import signal
from types import FrameType

#: As in ``lordclust.cli.exits``, which is not loaded yet.
INTERRUPTED = 130


def run() -> None:
    """Run the command line; Ctrl-C ends it quietly while it is still being loaded."""
    before = signal.signal(signal.SIGINT, _leave)
    from lordclust.cli.app import main

    signal.signal(signal.SIGINT, before)
    main(prog_name="lordclust")


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: nothing has begun."""
    os.write(2, b"\nInterrupted. Nothing was written.\n")
    os._exit(INTERRUPTED)
