"""Finished cells on disk: appended one by one, never lost, never counted twice."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One piece of work: a method on a data set, from one seed.

    Attributes
    ----------
    method, data : str
    seed : int
        Of the start; 0 for a method without one.
    settings : dict of str to anything
        Parameters other than the defaults.
    """

    method: str
    data: str
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What tells two cells apart."""
        return json.dumps(
            [self.method, self.data, self.seed, self.settings], sort_keys=True
        )


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

    def append(self, cell: Cell, record: Record) -> None:
        """Add a finished cell, durably."""
        self._drop_torn_line()
        line = json.dumps({"key": cell.key, **record}, sort_keys=False)
        with open(self.path, "ab") as out:
            out.write(line.encode() + b"\n")
            out.flush()
            os.fsync(out.fileno())

    def _drop_torn_line(self) -> None:
        """Cut off what follows the last line break."""
        if not self.path.exists():
            return
        with open(self.path, "r+b") as file:
            whole = file.read()
            end = whole.rfind(b"\n") + 1
            if end < len(whole):
                file.truncate(end)


def _parsed(line: bytes) -> Record | None:
    """Return the record of a line, or None for anything else."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "key" in record else None
