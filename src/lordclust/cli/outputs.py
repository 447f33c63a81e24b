"""The files of a command: checked before the work, and there together or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lordclust.cli.exits import Failure, Interrupts
from lordclust.files.atomic import check_target
from lordclust.files.error import InputError, WriteError

STDOUT = "-"


class Outputs:
    """Where a command writes, by option.

    Parameters
    ----------
    targets : dict of str to str or None
        File for each option, "-" for stdout, None if it is not asked for.
    inputs : tuple of str
        Files that are read, and so never written.
    force : bool
        Whether files that exist may be replaced.
    checkpoint : str, optional
        The file of an unfinished run. What was written since that run began is its
        own, and may be replaced: it was killed, or interrupted, after writing.
    """

    def __init__(
        self,
        targets: dict[str, str | None],
        inputs: tuple[str, ...],
        *,
        force: bool,
        checkpoint: str | None = None,
    ) -> None:
        self.targets = {o: t for o, t in targets.items() if t is not None}
        self.files = {o: Path(t) for o, t in self.targets.items() if t != STDOUT}
        self.inputs, self.force, self.checkpoint = inputs, force, checkpoint
        self.own: set[Path] = set()
        self._check()

    def __contains__(self, option: str) -> bool:
        return option in self.targets

    def to_stdout(self, option: str) -> bool:
        """Tell whether an option's output goes to stdout."""
        return self.targets.get(option) == STDOUT

    def _check(self) -> None:
        """Refuse what could not be written, before the work begins."""
        streams = [option for option in self.targets if self.to_stdout(option)]
        if len(streams) > 1:
            raise click.UsageError(
                f"{' and '.join(streams)} both go to stdout. Give one of them a file."
            )
        if self.checkpoint == STDOUT:
            raise click.UsageError("--checkpoint needs a file, not stdout.")
        seen = {Path(name).resolve(): "the input" for name in self.inputs}
        kept = {} if self.checkpoint is None else {"--checkpoint": self.checkpoint}
        for option, path in (self.files | kept).items():
            other = seen.setdefault(Path(path).resolve(), option)
            if other != option:
                raise click.UsageError(
                    f"{option} {path} is also {other}. Give it another name."
                )
        if self.checkpoint is not None:
            self._place(Path(self.checkpoint), force=True)
            self.own = self._written_by_the_same_run(self.checkpoint)
        for path in self.files.values():
            self._place(path)

    def _written_by_the_same_run(self, checkpoint: str) -> set[Path]:
        """Return the files that the unfinished run of a checkpoint has written."""
        from lordclust.solver.checkpoint import began

        since = began(checkpoint)
        there = [path for path in self.files.values() if path.is_file()]
        return {p for p in there if since is not None and p.stat().st_mtime >= since}

    def _place(self, path: Path, *, force: bool = False) -> Path:
        """Return where a file will be, links followed, if it may be written there."""
        if is_stream(path):
            return path
        try:
            return check_target(path, force or self.force or path in self.own)
        except InputError as error:
            raise Failure(str(error)) from None

    def leave_out(self, option: str) -> None:
        """Forget an option whose file cannot be made."""
        self.targets.pop(option, None)
        self.files.pop(option, None)

    @contextmanager
    def together(self, interrupts: Interrupts) -> Iterator[dict[str, Path]]:
        """Give a temporary name for each file; at the end all get their own."""
        places = {option: self._place(path) for option, path in self.files.items()}
        names = {option: _temporary(place) for option, place in places.items()}
        with interrupts.writing():
            try:
                yield names
                for path in self.files.values():
                    self._place(path)  # one may have come meanwhile
                for option, place in places.items():
                    if names[option] != place:
                        os.replace(names[option], place)
            except OSError as error:
                raise Failure(str(self._told(error, names))) from error
            finally:
                for option, name in names.items():
                    if name != places[option]:
                        name.unlink(missing_ok=True)

    def _told(self, error: OSError, names: dict[str, Path]) -> WriteError:
        """Return an error that names the file asked for, not the temporary one."""
        by_name = {str(names[option]): path for option, path in self.files.items()}
        name = str(error.filename or "an output")
        return WriteError(by_name.get(name, name), error)

    def remove_checkpoint(self, count: int = 1) -> None:
        """Remove the files of a run that is done: one for each of its paths.

        The first goes last: as long as it is there, the run may be taken up again.
        """
        if self.checkpoint is None:
            return
        from lordclust.solver.checkpoint import places

        for place in reversed(places(self.checkpoint, count)):
            Path(place).unlink(missing_ok=True)

    def say(self, *, quiet: bool) -> None:
        """Tell which files are there now."""
        for path in self.files.values() if not quiet else ():
            click.echo(f"wrote {path}", err=True)


def is_stream(path: Path) -> bool:
    """Tell whether a path is a pipe or a device, such as /dev/stdout."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _temporary(place: Path) -> Path:
    """Return a name in the same folder, of the same suffix; a device is itself."""
    if is_stream(place):
        return place
    return place.with_name(f".lordclust-{secrets.token_hex(8)}.part{place.suffix}")
