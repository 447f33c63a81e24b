"""Disks that are full, folders that cannot be written to: what a command says then."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from qa.faults.runs import Moment, Outcome, run
from qa.faults.targets import Target, check_folder, content, parts

#: Bytes that are left on the disk when the command begins, beside none.
LEFT = (0, 4_096, 12_288, 24_576, 49_152, 98_304)
#: Bytes that a file may have (RLIMIT_FSIZE, as ``ulimit -f`` sets it).
LIMITS = (1_000, 5_000, 15_000, 40_000)
SIZE = 4 * 2**20
#: What the command says when it gives up.
FAILED = 1


@contextmanager
def disk(folder: Path) -> Iterator[Path]:
    """Give a small file system of its own; only root can."""
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], check=True
    )
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, left: int) -> Path:
    """Take all room of a file system but so many bytes."""
    ballast = folder.parent / "ballast"
    state = os.statvfs(folder)
    with open(ballast, "wb") as file:
        file.write(bytes(max(state.f_bavail * state.f_bsize - left, 0)))
    return ballast


class Disk:
    """One target on disks that are full, read only, or limited."""

    def __init__(self, target: Target) -> None:
        # Files that are there before must be as they were afterwards.
        force = () if target.key == "reproduce" else ("--force",)
        arguments = tuple(a for a in target.arguments if a != "--force")
        self.target = replace(target, arguments=(*arguments, *force))
        self.counts = {"refused": 0, "done": 0}
        self.faults: list[str] = []
        self.said: set[str] = set()

    def full(self, lefts: tuple[int, ...] = LEFT) -> dict[str, Any]:
        """Run with little room, and a little more."""
        with tempfile.TemporaryDirectory() as base, disk(Path(base) / "d") as root:
            self._begin(root / "here")
            for left in lefts:
                ballast = fill(root / "here", left)
                self._once(f"{left} bytes left")
                ballast.unlink()
            self._ends_well()
        return self._result()

    def read_only(self) -> dict[str, Any]:
        """Run in a folder of a file system that is read only."""
        with tempfile.TemporaryDirectory() as base, disk(Path(base) / "d") as root:
            self._begin(root / "here")
            _remount(root, "ro")
            self._once("read only")
            _remount(root, "rw")
            self._ends_well()
        return self._result()

    def limited(self) -> dict[str, Any]:
        """Run where files may not be large."""
        with tempfile.TemporaryDirectory() as base:
            self._begin(Path(base) / "here")
            for limit in LIMITS:
                self._once(f"files of {limit} bytes", limit)
            self._ends_well()
        return self._result()

    def _begin(self, folder: Path) -> None:
        """Write what is read, and outputs of an earlier run: other ones, but whole."""
        self.folder = folder
        self.target.prepare(folder)
        for arguments in self.target.before:
            first = run(arguments, folder)
            assert first.code == 0, first.stderr
        whole = self._run()
        assert whole.code == 0, whole.stderr
        self.whole = content(folder, self.target.outputs)
        if self.target.key == "reproduce":  # its cells are never replaced: begin anew
            shutil.rmtree(folder / "out")
            (folder / "out").mkdir()
        for name in self.target.outputs:
            path = folder / name
            if path.exists():
                path.write_bytes(path.read_bytes()[:-1] + b" \n")
        self.earlier = self._there()

    def _there(self) -> dict[str, bytes]:
        """Return the bytes of all outputs that exist."""
        paths = [self.folder / name for name in self.target.outputs]
        return {p.name: p.read_bytes() for p in paths if p.exists()}

    def _run(self, limit: int | None = None) -> Outcome:
        return run(
            self.target.arguments,
            self.folder,
            Moment(1e9),
            watched=self.target.watched,
            file_limit=limit,
        )

    def _once(self, case: str, limit: int | None = None) -> None:
        """Run once, and look at what is there."""
        outcome = self._run(limit)
        told = [x for x in outcome.stderr.splitlines() if x.startswith("Error: ")]
        if "Traceback" in outcome.stderr:
            self.faults.append(f"{case}: a traceback: {outcome.stderr[-1500:]}")
        if parts(self.folder):
            self.faults.append(f"{case}: left behind {parts(self.folder)}")
        if outcome.code == 0:
            self.counts["done"] += 1
            return
        self.counts["refused"] += 1
        self.said.update(told)
        if outcome.code != FAILED or len(told) != 1:
            self.faults.append(f"{case}: {outcome.code}: {outcome.stderr[-500:]}")
        there = self._there()
        for name, data in self.earlier.items():
            if there.get(name) != data:
                self.faults.append(f"{case}: {name} is not as it was")
        for fault in check_folder(self.folder) if not self.earlier else ():
            self.faults.append(f"{case}: not whole: {fault}")

    def _ends_well(self) -> None:
        """With room again, the same command does its work."""
        outcome = self._run()
        if outcome.code != 0:
            self.faults.append(f"with room again: {outcome.stderr[-500:]}")
        elif content(self.folder, self.target.outputs) != self.whole:
            self.faults.append("with room again the result differs")

    def _result(self) -> dict[str, Any]:
        said = sorted({text.replace(str(self.folder), "") for text in self.said})
        return {**self.counts, "said": said, "faults": self.faults}


def _remount(root: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(root)], check=True)
