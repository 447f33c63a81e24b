"""Finished cells on disk: appended one by one, never lost or counted twice."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

from lordclust.files.error import WriteError

Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One run of an experiment: a method on a data set, from one seed.

    Attributes
    ----------
    kind : str
        The experiment: a name of ``reproduction.experiments.RUN``.
    method, data : str
    seed : int
        Seed of the start; 0 for a method without one.
    settings : dict of str to anything
        Parameters other than the defaults.
    """

    kind: str
    method: str
    data: str
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The cell as text, different for different cells."""
        return json.dumps(list(self.place.values()), sort_keys=True)

    @property
    def entry(self) -> str:
        """The entry of the results that the cell is part of: all but its seed."""
        return Cell(self.kind, self.method, self.data, 0, self.settings).key

    @property
    def place(self) -> Record:
        """The fields that a record of the cell begins with."""
        return asdict(self)


class Store:
    """A file of finished cells, one JSON object per line.

    A line is written and synced before the next one begins. A last line that a crash
    cut short is ignored and replaced.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def records(self) -> dict[str, Record]:
        """Return the finished cells by key."""
        if not self.path.exists():
            return {}
        found: dict[str, Record] = {}
        complete, _, _torn = self.path.read_bytes().rpartition(b"\n")
        for line in complete.splitlines():
            record = _parsed(line)
            if record is not None:
                found.setdefault(record["key"], record)
        return found

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """Open the file for one writer; a second one is refused."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered: what a full disk refused must not be written later.
        with open(self.path, "ab", buffering=0) as file:
            _lock(file, self.path)
            _drop_torn_line(self.path)
            yield Writer(file, self.path)

    def append(self, cell: Cell, record: Record) -> None:
        """Add a single finished cell, durably."""
        with self.writing() as writer:
            writer.append(cell, record)


class Writer:
    """Appends finished cells to an open file."""

    def __init__(self, file: FileIO, path: Path) -> None:
        self.file, self.path = file, path

    def append(self, cell: Cell, record: Record) -> None:
        """Add a finished cell; it is on disk when this returns, or not at all."""
        end = self.file.seek(0, os.SEEK_END)
        try:
            rest = json.dumps({"key": cell.key, **record}).encode() + b"\n"
            while rest:
                rest = rest[self.file.write(rest) :]
            os.fsync(self.file.fileno())
        except OSError as error:
            os.ftruncate(self.file.fileno(), end)
            raise WriteError(self.path, error) from error


def _lock(file: FileIO, path: Path) -> None:
    """Lock the file for this process, where the system can."""
    try:
        import fcntl
    except ImportError:  # Windows: duplicates are still counted once
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ValueError(
            f"{path} is in use by another run. Wait for it, or choose another --output."
        ) from error


def _drop_torn_line(path: Path) -> None:
    """Cut off what follows the last line break."""
    with open(path, "r+b") as file:
        file.truncate(file.read().rfind(b"\n") + 1)


def _parsed(line: bytes) -> Record | None:
    """Return the record of a line, or None for anything else."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(record, dict) and isinstance(record.get("key"), str)
    return record if known else None
