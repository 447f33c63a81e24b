"""Limits of time and memory for one input, on systems with POSIX signals."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from qa.fuzz.outcome import Broken

#: Bytes by which one input may raise the peak memory of the process.
MEMORY = 600 * 2**20
#: Address space beyond that of the warm process; above it there is a MemoryError.
ADDRESSES = 3 * 2**30


class Hang(BaseException):
    """An input takes too long. No ``except Exception`` may swallow this."""


def _stop(number: int, frame: Any) -> None:
    raise Hang


@contextmanager
def limits(seconds: float) -> Iterator[None]:
    """Raise :class:`Hang` after this CPU time; fail if much memory was used.

    Time in which other programs run, or the process is stopped, does not count. A loop
    in compiled code receives no signal, and a process that waits takes no time: the
    supervisor ends it then.
    """
    before, handler = _peak(), signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
    grown = _peak() - before
    if grown > MEMORY:
        raise Broken("an input uses little memory", f"{grown / 2**20:.0f} MB")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def bound_addresses() -> None:
    """Limit the address space of this process to ADDRESSES more bytes (Linux)."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ADDRESSES, now + ADDRESSES))
