"""Memory: how much a run needs, and how much is available to the process.

A run that does not fit raises a MemoryError before it begins, which states how much is
needed and how much is available. Limits are read on Linux only; on other systems no
error is raised.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Arrays of n x k that the solver holds, in its own dtype; temporary ones in float64,
#: at the beginning and between two values of tau; copies of S, each entry a number and
#: an index. ``python -m qa.faults memory`` measures how good the estimate is.
SOLVER, PASSING, GRAPHS = 9.6, 3.5, 1.1
INDEX = 4
#: Arrays of n x k numbers, in float64, of a choice that keeps V sparse: eigenvectors,
#: what they are multiplied with, and copies of some rows.
CHOICE = 3.0
#: Memberships whose fit takes some tens of MB: too little to check the limits.
LITTLE = 2**18

_PROC, _CGROUP = Path("/proc"), Path("/sys/fs/cgroup")
#: The folder, the limit and the usage of control groups, by version.
_VERSION_1 = ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
_VERSION_2 = ("", "memory.max", "memory.current")


class NotEnoughMemoryError(MemoryError):
    """Raised before a computation that needs more memory than is available."""


class Available(NamedTuple):
    """The bytes available to the process, and what limits them."""

    free: int
    limit: str


def solver_bytes(
    n: int, k: int, edges: int, itemsize: int = 8, paths: int = 1
) -> float:
    """Return an estimate of the peak memory that LoRD and B-LoRD add, in bytes.

    ``edges`` counts the stored entries of a sparse S (0 for a dense one, which is not
    copied); ``paths`` are followed at the same time.
    """
    arrays = (SOLVER * itemsize + PASSING * 8) * n * k
    return paths * (arrays + GRAPHS * edges * (itemsize + INDEX))


def choice_bytes(n: int, k: int, edges: int) -> float:
    """Return an estimate of what the choice of tau adds, if V is kept sparse."""
    return 8 * CHOICE * n * k + GRAPHS * edges * (8 + INDEX)


def solver_advice(*, single: bool = False, paths: int = 1) -> str:
    """Return advice for a fit of LoRD or B-LoRD that needs too much memory."""
    ways = [] if single else ['dtype="float32", which takes a third less,']
    ways += ["n_jobs=1, for one path at a time,"] if paths > 1 else []
    return f"Use {' '.join([*ways, 'fewer clusters, or a part of the samples'])}."


def check_dense_memory(n: int, what: str) -> None:
    """Raise MemoryError if an n x n float64 matrix and its copy do not fit."""
    check_memory(
        2 * 8.0 * n * n,
        f"{what} holds n x n matrices, and for {n} samples",
        "Cluster a part of the samples, or use a method for large graphs such as "
        "BLoRD.",
    )


def check_memory(needed: float, what: str, advice: str) -> None:
    """Raise NotEnoughMemoryError if less memory is available than needed.

    ``needed`` is a low estimate: what would fit must not be refused. The sentence is
    about ``what``, and ends with ``advice``.

    Examples
    --------
    >>> check_memory(1e18, "A matrix", "Give fewer samples.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lordclust._core.memory.NotEnoughMemoryError: A matrix needs about 931322574.6 GB ...
    """
    room = free()
    if room is not None and needed > room.free:
        raise NotEnoughMemoryError(
            f"{what} needs about {_amount(needed)} of memory, but only "
            f"{_amount(max(room.free, 0))} are available ({room.limit}). {advice}"
        )


def free() -> Available | None:
    """Return the memory that the tightest limit leaves, or None if none is known."""
    swap = 1024 * (_number(_PROC / "meminfo", "SwapFree:") or 0)
    rooms = [*_limits(), *_groups(swap)]
    left = _number(_PROC / "meminfo", "MemAvailable:")
    if left:
        rooms.append(Available(1024 * left + swap, "free memory of the machine"))
    return min(rooms, default=None)


def _limits() -> Iterator[Available]:
    """Yield the memory that each ``ulimit`` leaves."""
    try:
        import resource

        pages = (_PROC / "self" / "statm").read_text().split()
    except (ImportError, OSError):  # not Linux
        return
    page = os.sysconf("SC_PAGE_SIZE")
    for name, kind, used in (
        ("ulimit -v", resource.RLIMIT_AS, pages[0]),
        ("ulimit -d", resource.RLIMIT_DATA, pages[5]),
    ):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY:
            yield Available(limit - int(used) * page, f"{name} allows {_amount(limit)}")


def _groups(swap: int) -> Iterator[Available]:
    """Yield the memory that each control group (version 2 or 1) leaves."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for _, kinds, place in (line.split(":", 2) for line in lines):
        if kinds and "memory" not in kinds.split(","):
            continue
        folder, most, used = _VERSION_1 if kinds else _VERSION_2
        root = _CGROUP / folder
        group = root / place.strip("/")
        # In a container the group's own path may not exist, but its root does.
        for part in [group, *group.parents] if group.exists() else [root]:
            if not part.is_relative_to(root):
                break
            limit, now = _number(part / most), _number(part / used)
            if limit is not None and now is not None:
                cache = "total_inactive_file" if kinds else "inactive_file"
                free = limit - now + (_number(part / "memory.stat", cache) or 0)
                text = f"the control group of the process allows {_amount(limit)}"
                yield Available(free + swap, text)


def _number(path: Path, name: str = "") -> int | None:
    """Return the number in a kernel file, or the one that follows a name.

    None if there is no such file or name, and for the word "max".
    """
    try:
        text = path.read_text()
        if name:
            lines = dict(line.split()[:2] for line in text.splitlines())
            return int(lines[name])
        return int(text)
    except (OSError, KeyError, ValueError):
        return None


def _amount(count: float) -> str:
    """Return a number of bytes as readable text."""
    if count < 2**30:
        return f"{count / 2**20:.1f} MB"
    return f"{count / 2**30:.1f} GB"
