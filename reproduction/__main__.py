"""``python -m reproduction``: the paper's tables and figures, computed again."""

import os
import signal
from types import FrameType


def run() -> None:
    """Run the command; Ctrl-C ends it quietly while it is still being loaded."""
    before = signal.signal(signal.SIGINT, _leave)
    from reproduction.command import reproduce

    signal.signal(signal.SIGINT, before)
    reproduce(prog_name="python -m reproduction")


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: no work has begun."""
    os.write(2, b"\nInterrupted. Nothing was written.\n")
    os._exit(130)


if __name__ == "__main__":
    run()
