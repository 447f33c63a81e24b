"""Tell users that kernels are being compiled, and keep the time that it takes.

numba compiles one function at a time, whatever the number of threads.
"""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lordclust._core.collection import paused

LOG = logging.getLogger("lordclust")
NOTICE = "compiling for this machine, once: a few seconds ..."


class Clock:
    """The seconds of compilation in this process."""

    def __init__(self) -> None:
        self.seconds, self.noticed = 0.0, False
        self._depth, self._since, self._pause = 0, 0.0, paused()

    def begin(self) -> None:
        """Begin to compile a kernel, or one that is part of it."""
        self._depth += 1
        if self._depth == 1:
            self._since, self._pause = time.perf_counter(), paused()
            self._pause.__enter__()
            self._notify()

    def end(self) -> None:
        """End what was begun last."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._since
            self._pause.__exit__(None, None, None)

    @contextmanager
    def silently(self) -> Iterator[None]:
        """Compile something small without a notice."""
        before, self.noticed = self.noticed, True
        try:
            yield
        finally:
            self.noticed = before

    def _notify(self) -> None:
        """Log the notice once; show it to somebody who waits and reads no log."""
        if self.noticed:
            return
        self.noticed = True
        LOG.info(NOTICE)
        is_read = LOG.isEnabledFor(logging.INFO) and LOG.hasHandlers()
        if not is_read and is_interactive():
            print(f"lordclust: {NOTICE}", file=sys.stderr, flush=True)


def is_interactive() -> bool:
    """Return whether somebody waits: in a notebook, a Python shell or a terminal."""
    if sys.stderr is None:  # without a console, on Windows
        return False
    return hasattr(sys, "ps1") or "ipykernel" in sys.modules or sys.stderr.isatty()


CLOCK = Clock()
