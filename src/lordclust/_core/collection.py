"""No garbage collection while much is made that stays: modules and compiled code.

Python looks for dead cycles among all objects whenever their number has grown enough.
That takes a tenth of an import and an eighth of a compilation, and finds nothing.
"""

import gc
import os
import threading
from typing import Any


class Pause:
    """A context without collection; the last thread to leave ends the pause."""

    def __init__(self) -> None:
        self.inside, self.ends = 0, False
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self.inside == 0:
                self.ends = gc.isenabled()
                gc.disable()
            self.inside += 1

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self.inside -= 1
            if self.inside == 0 and self.ends:
                gc.enable()


_pause = Pause()


def paused() -> Pause:
    """Return the pause of this process."""
    return _pause


def _begin_again() -> None:
    """End the pause in a forked process, which has none of the threads inside."""
    global _pause
    if _pause.inside and _pause.ends:
        gc.enable()
    _pause = Pause()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)
