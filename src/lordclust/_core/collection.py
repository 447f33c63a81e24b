"""No garbage collection while much is made that stays: modules and compiled code.

Python looks for dead cycles among all objects whenever their number has grown enough.
That takes a tenth of an import and an eighth of a compilation, and finds nothing.
"""

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Pause:
    """How many threads are inside the context, and whether the last one ends it."""

    def __init__(self) -> None:
        self.inside, self.ends, self.lock = 0, False, threading.Lock()


_pause = _Pause()


@contextmanager
def paused() -> Iterator[None]:
    """Collect nothing; the last thread to leave ends the pause."""
    pause = _pause
    with pause.lock:
        if pause.inside == 0:
            pause.ends = gc.isenabled()
            gc.disable()
        pause.inside += 1
    try:
        yield
    finally:
        with pause.lock:
            pause.inside -= 1
            if pause.inside == 0 and pause.ends:
                gc.enable()


def _begin_again() -> None:
    """End the pause in a forked process, which has none of the threads inside."""
    global _pause
    if _pause.inside and _pause.ends:
        gc.enable()
    _pause = _Pause()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)
