"""Finished cells on disk: appended one by one, never lost, never counted twice."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One piece of work: a method on a data set, from one seed.

    Attributes
    ----------
    kind : str
        What is done: a name of ``reproduction.work.KINDS``.
    method, data : str
    seed : int
        Of the start; 0 for a method without one.
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
        """What tells two cells apart."""
        return json.dumps(
            [self.kind, self.method, self.data, self.seed, self.settings],
            sort_keys=True,
        )

    @property
    def place(self) -> Record:
        """The cell as a record begins with it."""
        return {
            "kind": self.kind,
            "method": self.method,
            "data": self.data,
            "seed": self.seed,
            "settings": self.settings,
        }


class Store:
    """A file of finished cells, one JSON object a line.

    A line is written whole and synced before the next cell counts. A last line cut
    short by a crash is ignored and replaced.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)

    def records(self) -> dict[str, Record]:
        """Return the finished cells by key."""
        if not self.path.exists():
            return {}
        found: dict[str, Record] = {}
        whole, _, _torn = self.path.read_bytes().rpartition(b"\n")
        for line in whole.splitlines():
            record = _parsed(line)
            if record is not None:
                found.setdefault(record["key"], record)
        return found

    @contextmanager
    def writing(self) -> Iterator["Writer"]:
        """Open the file for one writer; a second one is refused."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            _lock(file, self.path)
            _drop_torn_line(self.path)
            yield Writer(file)

    def append(self, cell: Cell, record: Record) -> None:
        """Add a single finished cell, durably."""
        with self.writing() as writer:
            writer.append(cell, record)


class Writer:
    """Appends finished cells to an open file."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def append(self, cell: Cell, record: Record) -> None:
        """Add a finished cell; it is on disk when this returns, or not at all."""
        end = self.file.seek(0, os.SEEK_END)
        try:
            self.file.write(json.dumps({"key": cell.key, **record}).encode() + b"\n")
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError:
            os.ftruncate(self.file.fileno(), end)
            raise


def _lock(file: BinaryIO, path: Path) -> None:
    """Hold the file for this process, where the system can."""
    try:
        import fcntl
    except ImportError:  # Windows: duplicates are still counted once
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ValueError(
            f"{path} is in use by another run. Wait for it, or give this one a file "
            "of its own."
        ) from error


def _drop_torn_line(path: Path) -> None:
    """Cut off what follows the last line break."""
    with open(path, "r+b") as file:
        whole = file.read()
        end = whole.rfind(b"\n") + 1
        if end < len(whole):
            file.truncate(end)


def _parsed(line: bytes) -> Record | None:
    """Return the record of a line, or None for anything else."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    known = isinstance(record, dict) and isinstance(record.get("key"), str)
    return record if known else None
