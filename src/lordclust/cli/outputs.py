"""The output files of a command: checked at the beginning, written all or none."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

from lordclust.cli.exits import Failure, Interrupts, no_output, say
from lordclust.files.atomic import (
    all_or_none,
    atomic_file,
    check_target,
    is_stream,
)
from lordclust.files.error import InputError, WriteError

STDOUT = "-"
#: What follows the name of a checkpoint in that of its record of written files.
RECORD = ".outputs"

#: Writes an output to a file ("-" for stdout), which ``force`` allows it to replace.
Writer = Callable[[str, bool], object]


class Outputs:
    """The files that a command writes, by option.

    Parameters
    ----------
    targets : dict of str to str or None
        File for each option, "-" for stdout, None if it was not given.
    inputs : tuple of str
        Files that are read, and so never written.
    force : bool
        Whether existing files may be replaced.
    checkpoint : str, optional
        The file of an unfinished run. Outputs that are in the record of that run are
        its own and may be replaced: it was killed or interrupted after writing them.
    """

    def __init__(
        self,
        targets: Mapping[str, str | None],
        inputs: tuple[str, ...],
        *,
        force: bool,
        checkpoint: str | None = None,
    ) -> None:
        self.targets = {o: t for o, t in targets.items() if t is not None}
        self.inputs, self.force, self.checkpoint = inputs, force, checkpoint
        self._check_names()
        self._check_stdout()
        self._own: set[Path] = set()
        if checkpoint is not None:
            self._check_target(checkpoint, force=True)
            self._own = self._written_by_the_same_run(checkpoint)
        for path in self.files.values():
            self._check_target(path)

    @property
    def files(self) -> dict[str, Path]:
        """The options whose output goes to a file."""
        return {o: Path(t) for o, t in self.targets.items() if t != STDOUT}

    def __contains__(self, option: str) -> bool:
        return option in self.targets

    def to_stdout(self, option: str) -> bool:
        """Return whether an option's output goes to stdout."""
        return self.targets.get(option) == STDOUT

    def need_files(self, *options: str) -> None:
        """Raise an error if one of these options goes to stdout."""
        if any(map(self.to_stdout, options)):
            need = "needs a file" if len(options) == 1 else "need a file"
            raise click.UsageError(f"{' and '.join(options)} {need}, not stdout.")

    def _check_names(self) -> None:
        """Raise an error for two outputs in one file, or an output that is an input."""
        streams = [option for option in self.targets if self.to_stdout(option)]
        if len(streams) > 1:
            raise click.UsageError(
                f"{' and '.join(streams)} both go to stdout. Pass a file for one."
            )
        if self.checkpoint == STDOUT:
            raise click.UsageError("--checkpoint needs a file, not stdout.")
        seen = {os.path.realpath(name): "the input" for name in self.inputs}
        files = dict(self.files)
        if self.checkpoint is not None:
            files["--checkpoint"] = Path(self.checkpoint)
        for option, path in files.items():
            other = seen.setdefault(os.path.realpath(path), option)
            if other != option:
                raise click.UsageError(
                    f"{option} {path} is also {other}. Pass another name."
                )

    def _check_stdout(self) -> None:
        """Raise an error, before the work begins, if stdout is needed but closed."""
        if STDOUT not in self.targets.values():
            return
        try:
            os.write(1, b"")
        except OSError as error:
            raise no_output(error) from None

    def _written_by_the_same_run(self, checkpoint: str) -> set[Path]:
        """Return the files that the unfinished run of a checkpoint has written."""
        from lordclust.solver.checkpoint import exists

        record = Path(f"{checkpoint}{RECORD}")
        self._check_target(record, force=True)
        if not exists(checkpoint) and not record.exists():
            return set()
        try:
            known = json.loads(record.read_text("utf-8")) if record.exists() else {}
        except (OSError, ValueError, RecursionError):
            known = None
        if not isinstance(known, dict):  # a file of somebody else, or damaged
            raise Failure(
                f"{record}: this is not the record of a run, which --checkpoint keeps "
                "under that name. Delete it, or pass another checkpoint."
            )
        existing = [path for path in self.files.values() if path.is_file()]
        return {p for p in existing if known.get(os.path.realpath(p)) == _identity(p)}

    def _write_record(self, hidden: Mapping[Path, Path]) -> None:
        """Record the files that are about to get their names."""
        if self.checkpoint is None:
            return
        record = {str(path): _identity(part) for path, part in hidden.items()}
        with atomic_file(f"{self.checkpoint}{RECORD}", force=True, text=True) as file:
            file.write(json.dumps(record))

    def _check_target(self, path: str | Path, *, force: bool = False) -> None:
        """Raise an error if a file cannot be written."""
        if is_stream(Path(path)):
            return
        try:
            check_target(path, force or self._may_replace(Path(path)))
        except InputError as error:
            raise Failure(str(error)) from None

    def _may_replace(self, path: Path) -> bool:
        return self.force or path in self._own

    def leave_out(self, option: str) -> None:
        """Remove an option whose file cannot be written."""
        self.targets.pop(option, None)

    def write(self, writers: Mapping[str, Writer], interrupts: Interrupts) -> None:
        """Write the requested files: all of them, or none."""
        try:
            with interrupts.writing(), all_or_none(self._write_record):
                for option, path in self.files.items():
                    writers[option](str(path), self._may_replace(path))
        except (InputError, WriteError) as error:
            raise Failure(str(error)) from error

    def finish(self, writers: Mapping[str, Writer], *lines: str, quiet: bool) -> None:
        """Print the summary and the files written, then what goes to stdout."""
        wrote = (f"wrote {path}" for path in self.files.values())
        for line in () if quiet else (*lines, *wrote):
            say(line)
        for option in self.targets:
            if self.to_stdout(option):
                writers[option](STDOUT, False)
        sys.stdout.flush()

    def remove_checkpoint(self, count: int = 1) -> None:
        """Remove the files of a finished run, one for each of its paths.

        The first is removed last: as long as it exists, the run can be resumed.
        """
        if self.checkpoint is None:
            return
        from lordclust.solver.checkpoint import places

        for place in reversed(places(self.checkpoint, count)):
            Path(place).unlink(missing_ok=True)
        Path(f"{self.checkpoint}{RECORD}").unlink(missing_ok=True)


def _identity(path: Path) -> list[int]:
    """Return numbers that a file keeps when it is renamed, and no other file has."""
    about = path.stat()
    return [about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns]
