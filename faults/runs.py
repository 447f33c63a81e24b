"""The command in a process group of its own, stopped at a chosen moment."""

import ctypes
import os
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: inotify: a file was made, written to, closed after writing, renamed or removed.
WATCHED = 0x100 | 0x2 | 0x8 | 0x40 | 0x80 | 0x200
_EVENT = struct.Struct("iIII")
#: What a console script does, after it has said that Python is up.
FRESH = (
    "import os, sys; os.write({ready}, b'.'); "
    "from lordclust.cli.entry import run; run()"
)
#: Seconds that a run may take at all.
LIMIT = 600.0


@dataclass(frozen=True)
class Moment:
    """When to strike.

    Attributes
    ----------
    seconds : float
        After the process is up, or after the event.
    event : int
        0, or the number of the file event in the folder that is waited for.
    fresh : bool
        A new Python, which has everything to import; otherwise a fork of this
        process, in which the library is already there, so that the work itself is hit.
    again : float, optional
        Seconds after which the signal is sent a second time.
    """

    seconds: float
    event: int = 0
    fresh: bool = False
    again: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    code: int
    struck: bool
    seconds: float
    events: int
    stderr: str


class Watch:
    """Counts what happens to the files of a folder."""

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if libc.inotify_add_watch(self.handle, str(folder).encode(), WATCHED) < 0:
            raise OSError(ctypes.get_errno(), "inotify does not watch", str(folder))
        self.count = 0

    def wait(self, seconds: float) -> None:
        """Wait for events, at most so long, and count them."""
        if not select.select([self.handle], [], [], max(seconds, 0.0))[0]:
            return
        data, place = os.read(self.handle, 1 << 16), 0
        while place < len(data):
            *_, length = _EVENT.unpack_from(data, place)
            place += _EVENT.size + length
            self.count += 1

    def close(self) -> None:
        os.close(self.handle)


def run(
    arguments: Sequence[str],
    folder: Path,
    moment: Moment | None = None,
    number: int = signal.SIGKILL,
    watched: str = ".",
    file_limit: int | None = None,
) -> Outcome:
    """Run the command in a folder; at a moment, signal its whole process group."""
    errors = Path(tempfile.gettempdir()) / f"faults-stderr-{os.getpid()}.txt"
    watch = Watch(folder / watched)
    words = list(map(str, arguments))
    if moment is None or moment.fresh:
        process = _fresh(words, folder, errors)
    else:
        process = _forked(words, folder, errors, file_limit)
    start = time.perf_counter()
    try:
        struck = moment is not None and _strike(process, watch, moment, start, number)
        while process.poll() is None:
            watch.wait(0.05)
            if time.perf_counter() - start > LIMIT:
                os.killpg(process.pid, signal.SIGKILL)
                raise TimeoutError(f"{arguments} took more than {LIMIT:g} s")
    finally:
        watch.wait(0.0)
        watch.close()
        _end_group(process.pid)
    seconds = time.perf_counter() - start
    text = errors.read_text(errors="replace")
    errors.unlink()
    return Outcome(process.returncode, struck, seconds, watch.count, text)


def _strike(
    process: Any, watch: Watch, moment: Moment, start: float, number: int
) -> bool:
    """Wait for the moment and send the signal; tell whether there was time for it."""
    due = None if moment.event else start + moment.seconds
    while due is None or time.perf_counter() < due:
        left = 0.01 if due is None else min(due - time.perf_counter(), 0.01)
        watch.wait(left)
        if process.poll() is not None:
            return False
        if due is None and watch.count >= moment.event:
            due = time.perf_counter() + moment.seconds
        if time.perf_counter() - start > LIMIT:
            return False
    if process.poll() is not None:
        return False
    os.killpg(process.pid, number)
    if moment.again is not None:
        time.sleep(moment.again)
        if process.poll() is None:
            os.killpg(process.pid, number)
    return True


def _end_group(group: int) -> None:
    """Leave no worker behind."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _fresh(arguments: list[str], folder: Path, errors: Path) -> Any:
    """Begin a new Python, and return when it is up."""
    seen, ready = os.pipe()
    with open(errors, "wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", FRESH.format(ready=ready), *arguments],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=stderr, process_group=0, pass_fds=(ready,),
        )  # fmt: skip
    os.close(ready)
    os.read(seen, 1)
    os.close(seen)
    return process


class _Child:
    """A fork, with the little of Popen that is needed."""

    def __init__(self, pid: int) -> None:
        self.pid, self.returncode = pid, 0
        self._ended = False

    def poll(self) -> int | None:
        """Return how it ended, None while it runs."""
        if not self._ended:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if not pid:
                return None
            self._ended = True
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _forked(
    arguments: list[str], folder: Path, errors: Path, file_limit: int | None
) -> Any:
    """Begin a copy of this process; return when it leads a group."""
    _load()
    seen, ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        if file_limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
        _become(arguments, folder, errors, ready)
    os.close(ready)
    os.read(seen, 1)
    os.close(seen)
    return _Child(pid)


def _load() -> None:
    """Import what the commands need; nothing may have begun a thread."""
    import lordclust.cli.fit
    import lordclust.cli.pages
    import lordclust.cli.path
    import lordclust.cli.predict
    import lordclust.cli.reproduce_run
    import lordclust.cli.saved
    import lordclust.cli.summary  # noqa: F401


def _become(arguments: list[str], folder: Path, errors: Path, ready: int) -> None:
    """Be the command: the same function that the console script calls."""
    code = 99
    try:
        os.setpgid(0, 0)
        out = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 2)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.chdir(folder)
        sys.argv = ["lordclust", *arguments]
        from lordclust.cli.entry import run

        os.write(ready, b".")
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
