"""Memory: how much a run needs, and how much the process may still take.

A run that cannot fit is refused before it begins, by a MemoryError that states how much
is needed and how much is free. Limits are read on Linux; elsewhere none is known, and
nothing is refused.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Arrays of n x k that the solver holds, in its own dtype; temporary ones in float64,
#: at the beginning and between two values of tau; copies of S, each entry a number and
#: an index. ``python -m qa.faults memory`` measures how good the estimate is.
SOLVER, PASSING, GRAPHS = 10.2, 3.5, 1.1
INDEX = 4
#: Memberships whose fit takes some tens of MB: too little to look at the limits.
LITTLE = 2**18

_PROC, _CGROUP = Path("/proc"), Path("/sys/fs/cgroup")
#: The folder, the limit and the usage of control groups, by version.
_VERSION_1 = ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
_VERSION_2 = ("", "memory.max", "memory.current")


class NoRoomError(MemoryError):
    """Refused before the work: how much is needed, how much is free, what to do."""


class Room(NamedTuple):
    """The bytes that the process may still take, and what limits them."""

    free: int
    limit: str


def solver_bytes(
    n: int, k: int, edges: int, itemsize: int = 8, paths: int = 1
) -> float:
    """Return about how many bytes LoRD and B-LoRD add at their peak.

    ``edges`` counts the stored entries of a sparse S (0 for a dense one, which is not
    copied); ``paths`` are followed at the same time.
    """
    arrays = (SOLVER * itemsize + PASSING * 8) * n * k
    return paths * (arrays + GRAPHS * edges * (itemsize + INDEX))


def solver_advice(*, single: bool = False, paths: int = 1) -> str:
    """Return advice for a fit of LoRD or B-LoRD that needs too much memory."""
    ways = [] if single else ['dtype="float32", which takes a third less,']
    ways += ["n_jobs=1, for one path at a time,"] if paths > 1 else []
    return f"Use {' '.join([*ways, 'fewer clusters, or a part of the samples'])}."


def check_dense_memory(n: int, what: str) -> None:
    """Raise MemoryError if an n x n matrix of float64 and a copy of it cannot fit."""
    check_memory(
        2 * 8.0 * n * n,
        f"{what} holds n x n matrices, and for {n} samples",
        "Cluster a part of the samples, or use a method for large graphs such as "
        "BLoRD.",
    )


def check_memory(needed: float, what: str, advice: str) -> None:
    """Raise NoRoomError if fewer bytes are free than needed.

    ``needed`` is a low estimate: what would fit must not be refused. The sentence is
    about ``what``, and ends with ``advice``.

    Examples
    --------
    >>> check_memory(1e18, "A matrix", "Give fewer samples.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    lordclust._core.memory.NoRoomError: A matrix needs about 931322574.6 GB ...
    """
    room = free()
    if room is not None and needed > room.free:
        raise NoRoomError(
            f"{what} needs about {_amount(needed)} of memory, but this process may "
            f"take {_amount(max(room.free, 0))} more ({room.limit}). {advice}"
        )


def free() -> Room | None:
    """Return the smallest room that any limit leaves, None where none is known."""
    swap = 1024 * (_number(_PROC / "meminfo", "SwapFree:") or 0)
    rooms = [*_limits(), *_groups(swap)]
    left = _number(_PROC / "meminfo", "MemAvailable:")
    if left:
        rooms.append(Room(1024 * left + swap, "what the machine has left"))
    return min(rooms, default=None)


def _limits() -> Iterator[Room]:
    """Yield what ``ulimit`` leaves."""
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
            yield Room(limit - int(used) * page, f"{name} allows {_amount(limit)}")


def _groups(swap: int) -> Iterator[Room]:
    """Yield what each control group around the process leaves, of version 2 or 1."""
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
        # In a container the group's own path may not be there, but its root is.
        for part in [group, *group.parents] if group.exists() else [root]:
            if not part.is_relative_to(root):
                break
            limit, now = _number(part / most), _number(part / used)
            if limit is not None and now is not None:
                cache = "total_inactive_file" if kinds else "inactive_file"
                free = limit - now + (_number(part / "memory.stat", cache) or 0)
                text = f"the control group of the process has {_amount(limit)}"
                yield Room(free + swap, text)


def _number(path: Path, name: str = "") -> int | None:
    """Return the number in a file of the kernel, or the one that follows a name.

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
    """Return a number of bytes for people."""
    if count < 2**30:
        return f"{count / 2**20:.1f} MB"
    return f"{count / 2**30:.1f} GB"
