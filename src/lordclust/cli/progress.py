"""Progress on stderr, if it is a terminal."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Self

from lordclust.cli.exits import Interrupts, say
from lordclust.files.error import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

#: Width of the bar in characters: 80 columns leave space for text and the time.
BAR = 20


class Display(logging.Handler):
    """Show the stage of the work, the time elapsed and the time left.

    Silent if ``quiet``, or if stderr is not a terminal. While it is open, messages that
    the library logs (a path resumes from a checkpoint) are always shown.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(logging.INFO)
        from rich.console import Console

        self.console = Console(stderr=True)
        self.quiet, self.on = quiet, self.console.is_terminal and not quiet
        self._logger = logging.getLogger("lordclust")
        self._level_before = self._logger.level
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def stage(self, text: str, total: float | None = None) -> None:
        """Begin a stage; with a total it has a bar and the time left."""
        self.close()
        if not self.on:
            return
        self._progress = _bar(self.console, total is not None)
        self._progress.start()
        self._task = self._progress.add_task(printable(text), total=total)

    def at(self, done: float, text: str | None = None) -> None:
        """Show how much of the stage is done, and a new text for it."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, description=text)

    def emit(self, record: logging.LogRecord) -> None:
        """Show a line of the log, above the bar, unless the summary says the same."""
        if record.name == "lordclust.fit":
            return
        text = printable(record.getMessage())
        if self.on:
            self.console.print(text, markup=False, highlight=False)
        elif not self.quiet:
            say(text)

    def close(self) -> None:
        """Remove the bar from the terminal."""
        super().close()
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def __enter__(self) -> Self:
        self._logger.addHandler(self)
        self._logger.setLevel(logging.INFO)
        return self

    def __exit__(self, *error: object) -> None:
        self._logger.removeHandler(self)
        self._logger.setLevel(self._level_before)
        self.close()


class FitProgress:
    """Show the progress of a fit, and stop it with the result so far after Ctrl-C.

    A :class:`lordclust.methods._callbacks.Listener`.
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
        return self.interrupts.requested


def _bar(console: Console, bounded: bool) -> Progress:
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
    return parts.Progress(*columns, console=console, transient=True)
