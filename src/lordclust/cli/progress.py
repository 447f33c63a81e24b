"""Progress on stderr: only for a person at a terminal."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

from lordclust.cli.exits import Interrupts

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Characters of a bar: a line of 80 has room for words and the time left too.
BAR = 20


class Display:
    """Shows the stage of the work, how long it takes, and how long it will.

    Silent if ``quiet``, or if stderr is not a terminal. While it is open it also says
    what the library logs, at a terminal or not: that a path goes on at a checkpoint.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.console import Console

        self.console = Console(stderr=True)
        self.quiet, self.on = quiet, self.console.is_terminal and not quiet
        self._log = _Log(self)
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def stage(self, text: str, total: float | None = None) -> None:
        """Begin a stage; with a total it has a bar and the time left."""
        self.close()
        if not self.on:
            return
        self._progress = _bar(self.console, total is not None)
        self._progress.start()
        self._task = self._progress.add_task(text, total=total)

    def at(self, done: float, text: str | None = None) -> None:
        """Say how far the stage is, and what it is at."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, description=text)

    def say(self, text: str) -> None:
        """Tell a line that stays."""
        if self.on:  # above the bar
            self.console.print(text, markup=False, highlight=False)
        elif not self.quiet:
            click.echo(text, err=True)

    def close(self) -> None:
        """Remove what is shown: it leaves no trace in the terminal."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def __enter__(self) -> Self:
        self._log.listen()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._log.leave()
        self.close()


class _Log(logging.Handler):
    """Hands what the library logs to a display."""

    def __init__(self, display: Display) -> None:
        super().__init__(logging.INFO)
        self.display, self.logger = display, logging.getLogger("lordclust")
        self.before = self.logger.level

    def listen(self) -> None:
        """Begin to hear."""
        self.logger.addHandler(self)
        self.logger.setLevel(logging.INFO)

    def leave(self) -> None:
        """Hear no more."""
        self.logger.removeHandler(self)
        self.logger.setLevel(self.before)

    def emit(self, record: logging.LogRecord) -> None:
        """Say a line."""
        self.display.say(record.getMessage())


class Hearing:
    """Shows how far a fit is, and ends it with what there is when Ctrl-C asks.

    What a model tells; see :class:`lordclust.methods._callbacks.Listener`.
    """

    def __init__(self, text: str, display: Display, interrupts: Interrupts) -> None:
        self.text, self.display, self.interrupts = text, display, interrupts
        self.done = 0.0

    def graph(self, share: float) -> None:
        """Show how much of the graph is built."""
        self.display.at(share)

    def part(self, name: str, gain: float) -> bool:
        """Show how much of the rest is done; return whether to stop."""
        if name == "graph":
            self.display.stage(self.text, total=1.0)
        else:
            self.interrupts.keep()
            self.done += gain
            self.display.at(self.done)
        return self.interrupts.asked


def _bar(console: object, bounded: bool) -> Progress:
    """Return a line with a spinner, and with a bar if the end is known."""
    from rich import progress as parts

    columns: list[str | parts.ProgressColumn] = [
        parts.SpinnerColumn(),
        parts.TextColumn("{task.description}", markup=False),
    ]
    if bounded:
        columns += [parts.BarColumn(BAR), parts.TimeRemainingColumn()]
    else:
        columns += [parts.TimeElapsedColumn()]
    return parts.Progress(*columns, console=console, transient=True)  # type: ignore[arg-type]
