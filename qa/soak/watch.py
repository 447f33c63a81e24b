"""Memory, open files and threads of this process, and their growth."""

import ctypes
import gc
import os
import threading
from typing import Any

import numpy as np
from scipy.stats import theilslopes

#: Largest growth of memory in %.
ALLOWED = 2.0
#: Minutes until everything is imported, compiled and used once.
WARM_UP = 15.0
#: The parameter of glibc's mallopt for the number of arenas.
M_ARENA_MAX = -8


def use_one_arena() -> None:
    """Let all threads share the arena of glibc whose free end can be returned.

    Threads otherwise have arenas of their own, with free memory of up to 20 MB in all
    that ``malloc_trim`` does not return: noise, beside which a leak could not be seen.
    """
    ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def sample(minute: float) -> dict[str, Any]:
    """Return the resources of the process, after returning freed memory."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    with open("/proc/self/status") as file:
        native = next(int(x.split()[1]) for x in file if x.startswith("Threads:"))
    return {
        "minute": round(minute, 2),
        "MB": round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 2),
        "files": len(os.listdir("/proc/self/fd")) - 1,  # not the folder itself
        "threads": native,
        "python threads": threading.active_count(),
    }


def warm_up(minutes: float) -> float:
    """Return the minutes that do not count; a quarter of a short run."""
    return min(WARM_UP, minutes / 4)


def growth(samples: list[dict[str, Any]], after: float, what: str = "MB") -> float:
    """Return the growth in % from ``after`` to the end, by a robust line.

    The Theil-Sen line, the median of the slopes of all pairs, is not affected by a
    minute in which a large fit was running.
    """
    rows = [row for row in samples if row["minute"] >= after]
    if len(rows) < 2:
        return 0.0
    t = np.array([row["minute"] for row in rows])
    y = np.array([row[what] for row in rows], dtype=float)
    slope, level, *_ = theilslopes(y, t)
    return float(100 * slope * (t[-1] - t[0]) / (level + slope * t[0]))
