"""Will it fit? What a run needs, and what the process may still take.

A run that cannot fit is refused before it begins, by a MemoryError that says how much
is needed and how much there is. Limits are read from Linux; elsewhere nothing is known
and nothing refused.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Arrays of n x k that the solver holds, in its own type; those in float64 that come
#: and go at the beginning and between two taus; copies of S, each entry a number and
#: an index. ``python -m qa.faults memory`` measures how good that is.
SOLVER, PASSING, GRAPHS = 10.2, 3.5, 1.1
INDEX = 4

_PROC, _CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


class NoRoomError(MemoryError):
    """Refused before the work, with what is needed, what there is, and what to do."""


class Room(NamedTuple):
    """Bytes that the process may still take, and what limits them."""

    free: int
    limit: str


def solver_bytes(
    n: int, k: int, edges: int, itemsize: int = 8, paths: int = 1
) -> float:
    """Return about how many bytes LoRD and B-LoRD add at their peak.

    Parameters
    ----------
    n, k : int
        Samples and clusters.
    edges : int
        Entries of a sparse S; 0 for a dense one, which is not copied.
    itemsize : int, default=8
        4 for float32.
    paths : int, default=1
        Paths that are followed side by side.

    Examples
    --------
    >>> round(solver_bytes(10**6, 10, 45 * 10**6) / 2**30, 2)
    1.57
    """
    arrays = (SOLVER * itemsize + PASSING * 8) * n * k
    return paths * (arrays + GRAPHS * edges * (itemsize + INDEX))


def solver_advice(*, single: bool = False, paths: int = 1) -> str:
    """Return what to do where LoRD or B-LoRD do not fit.

    Examples
    --------
    >>> solver_advice(single=True)
    'Use fewer clusters, or a part of the samples.'
    """
    ways = [] if single else ['dtype="float32", which takes a third less,']
    ways += ["n_jobs=1, for one path at a time,"] if paths > 1 else []
    return f"Use {' '.join([*ways, 'fewer clusters, or a part of the samples'])}."


def check_dense_memory(n: int, what: str) -> None:
    """Refuse n x n matrices that cannot fit: one of float64, and a copy of it."""
    check_memory(
        2 * 8.0 * n * n,
        f"{what} holds n x n matrices, and for {n} samples",
        "Cluster a part of the samples, or use a method for large graphs such as "
        "BLoRD.",
    )


def check_memory(needed: float, what: str, advice: str) -> None:
    """Refuse what cannot fit.

    Parameters
    ----------
    needed : float
        Bytes, rather too few than too many: what would fit must not be refused.
    what : str
        What needs them.
    advice : str
        What to do, one sentence.

    Raises
    ------
    NoRoomError
        If fewer are free.

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
    """Return the smallest room that a limit leaves, None where none is known."""
    rooms = [room for source in (_limits, _groups, _machine) for room in source()]
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


def _groups() -> Iterator[Room]:
    """Yield what the control groups of the process leave, of version 2 or 1."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, place = line.split(":", 2)
        if not kinds:
            names = ("memory.max", "memory.current")
            yield from _group(_CGROUP, place, *names, "inactive_file")
        elif "memory" in kinds.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            yield from _group(_CGROUP / "memory", place, *names, "total_inactive_file")


def _group(root: Path, place: str, limit: str, used: str, cache: str) -> Iterator[Room]:
    """Yield what a group and those around it leave; files in its cache give way."""
    folder = root / place.strip("/")
    # In a container the group's own path may not be there, but its root is.
    folders = [folder, *folder.parents] if folder.exists() else [root]
    for part in folders:
        if not part.is_relative_to(root):
            return
        most, now = _number(part / limit), _number(part / used)
        if most is None or now is None:
            continue
        left = most - now + _line(part / "memory.stat", cache) + _swap()
        yield Room(left, f"the control group of the process has {_amount(most)}")


def _machine() -> Iterator[Room]:
    """Yield what the machine has left, swap included."""
    left = _line(_PROC / "meminfo", "MemAvailable:") * 1024
    if left:
        yield Room(left + _swap(), "what the machine has left")


def _swap() -> int:
    return _line(_PROC / "meminfo", "SwapFree:") * 1024


def _line(path: Path, name: str) -> int:
    """Return the number beside a name in one of the kernel's files, 0 without it."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    found = [line.split()[1] for line in lines if line.split()[:1] == [name]]
    return int(found[0]) if found else 0


def _number(path: Path) -> int | None:
    """Return the number in a file; None for no file, and for "max"."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _amount(count: float) -> str:
    """Return a number of bytes as people read it."""
    if count < 2**30:
        return f"{count / 2**20:.1f} MB"
    return f"{count / 2**30:.1f} GB"
