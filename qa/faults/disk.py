"""Commands on disks that are full, read-only or limited."""

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

#: Bytes that are left on the disk when the command starts.
LEFT = (0, 4_096, 12_288, 24_576, 49_152, 98_304)
#: Largest size of a file in bytes (RLIMIT_FSIZE, as set by ``ulimit -f``).
LIMITS = (1_000, 5_000, 15_000, 40_000)
SIZE = 4 * 2**20
#: The exit code of a command that fails.
FAILED = 1


@contextmanager
def disk(folder: Path) -> Iterator[Path]:
    """Mount a small file system, which only root can."""
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], check=True
    )
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, left: int) -> Path:
    """Fill a file system except for this many bytes."""
    ballast = folder.parent / "ballast"
    state = os.statvfs(folder)
    with open(ballast, "wb") as file:
        file.write(bytes(max(state.f_bavail * state.f_bsize - left, 0)))
    return ballast


class Disk:
    """One target on disks that are full, read-only or limited."""

    def __init__(self, target: Target) -> None:
        # Files that existed before must be unchanged afterwards.
        force = () if target.key == "reproduce" else ("--force",)
        arguments = tuple(a for a in target.arguments if a != "--force")
        self.target = replace(target, arguments=(*arguments, *force))
        self.counts = {"refused": 0, "done": 0}
        self.faults: list[str] = []
        self.said: set[str] = set()

    def full(self, lefts: tuple[int, ...] = LEFT) -> dict[str, Any]:
        """Run with little space left, and with a little more."""
        with tempfile.TemporaryDirectory() as base, disk(Path(base) / "d") as root:
            self._begin(root / "here")
            for left in lefts:
                ballast = fill(root / "here", left)
                self._once(f"{left} bytes left")
                ballast.unlink()
            self._ends_well()
        return self._result()

    def read_only(self) -> dict[str, Any]:
        """Run in a folder of a read-only file system."""
        with tempfile.TemporaryDirectory() as base, disk(Path(base) / "d") as root:
            self._begin(root / "here")
            _remount(root, "ro")
            self._once("read only")
            _remount(root, "rw")
            self._ends_well()
        return self._result()

    def limited(self) -> dict[str, Any]:
        """Run with a limit on the size of files."""
        with tempfile.TemporaryDirectory() as base:
            self._begin(Path(base) / "here")
            for limit in LIMITS:
                self._once(f"files of {limit} bytes", limit)
            self._ends_well()
        return self._result()

    def _begin(self, folder: Path) -> None:
        """Write the input, and complete but different outputs of an earlier run."""
        self.folder = folder
        self.target.prepare(folder)
        for arguments in self.target.before:
            first = run(arguments, folder)
            assert first.code == 0, first.stderr
        complete = self._run()
        assert complete.code == 0, complete.stderr
        self.undisturbed = content(folder, self.target.outputs)
        if self.target.key == "reproduce":  # its cells are never replaced: start again
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
        """Run once, and check the files."""
        outcome = self._run(limit)
        messages = [x for x in outcome.stderr.splitlines() if x.startswith("Error: ")]
        if "Traceback" in outcome.stderr:
            self.faults.append(f"{case}: a traceback: {outcome.stderr[-1500:]}")
        if parts(self.folder):
            self.faults.append(f"{case}: left {parts(self.folder)}")
        if outcome.code == 0:
            self.counts["done"] += 1
            return
        self.counts["refused"] += 1
        self.said.update(messages)
        if outcome.code != FAILED or len(messages) != 1:
            self.faults.append(f"{case}: {outcome.code}: {outcome.stderr[-500:]}")
        there = self._there()
        for name, data in self.earlier.items():
            if there.get(name) != data:
                self.faults.append(f"{case}: {name} has changed")
        for fault in check_folder(self.folder) if not self.earlier else ():
            self.faults.append(f"{case}: incomplete: {fault}")

    def _ends_well(self) -> None:
        """With enough space again, the same command must succeed."""
        outcome = self._run()
        if outcome.code != 0:
            self.faults.append(f"with enough space: {outcome.stderr[-500:]}")
        elif content(self.folder, self.target.outputs) != self.undisturbed:
            self.faults.append("with enough space the result differs")

    def _result(self) -> dict[str, Any]:
        said = sorted({text.replace(str(self.folder), "") for text in self.said})
        return {**self.counts, "said": said, "faults": self.faults}


def _remount(root: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(root)], check=True)
