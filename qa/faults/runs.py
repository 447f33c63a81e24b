"""Run a command in a process group of its own, and signal it at a chosen moment."""

import ctypes
import os
import pkgutil
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
from importlib import import_module
from pathlib import Path
from typing import Any

#: inotify: a file was created, written to, closed after writing, renamed or removed.
WATCHED = 0x100 | 0x2 | 0x8 | 0x40 | 0x80 | 0x200
_EVENT = struct.Struct("iIII")
#: What a console script does, after it has reported that Python is up.
FRESH = "import os, sys; os.write({ready}, b'.'); from {module} import run; run()"
#: Largest number of seconds of a run.
LIMIT = 600.0
ROOT = Path(__file__).parents[2]


def program(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the module whose ``run`` is the command, and the command's arguments.

    Arguments are those of ``lordclust``, or "reproduction" and those of the study.
    """
    words = list(map(str, arguments))
    if words[0] == "reproduction":
        return "reproduction.__main__", words[1:]
    return "lordclust.cli.entry", words


@dataclass(frozen=True)
class Moment:
    """When to send the signal.

    Attributes
    ----------
    seconds : float
        Delay after the process is up, or after the event.
    event : int
        0, or the number of the file event in the folder to wait for.
    fresh : bool
        Start a new Python, which has everything to import; otherwise fork this
        process, in which the library is already loaded, so that the work is hit.
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
    """Count the changes to the files of a folder."""

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if libc.inotify_add_watch(self.handle, str(folder).encode(), WATCHED) < 0:
            raise OSError(ctypes.get_errno(), "inotify cannot watch", str(folder))
        self.count = 0

    def wait(self, seconds: float) -> None:
        """Wait for events, at most this long, and count them."""
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
    """Run the command in a folder, and signal its process group at a moment."""
    errors = Path(tempfile.gettempdir()) / f"faults-stderr-{os.getpid()}.txt"
    watch = Watch(folder / watched)
    module, words = program(arguments)
    if moment is None or moment.fresh:
        process = _fresh(module, words, folder, errors)
    else:
        process = _forked(module, words, folder, errors, file_limit)
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
    """Wait for the moment and send the signal; return whether it was in time."""
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


def _fresh(module: str, arguments: list[str], folder: Path, errors: Path) -> Any:
    """Start a new Python, and return when it is up."""
    seen, ready = os.pipe()
    code = FRESH.format(ready=ready, module=module)
    with open(errors, "wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=stderr, process_group=0, pass_fds=(ready,), env=_environment(),
        )  # fmt: skip
    os.close(ready)
    os.read(seen, 1)
    os.close(seen)
    return process


def _environment() -> dict[str, str]:
    """Return an environment in which Python finds the packages of the repository."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


class _Child:
    """A fork, with the part of Popen's interface that is needed."""

    def __init__(self, pid: int) -> None:
        self.pid, self.returncode = pid, 0
        self._ended = False

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        if not self._ended:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if not pid:
                return None
            self._ended = True
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _forked(
    module: str,
    arguments: list[str],
    folder: Path,
    errors: Path,
    file_limit: int | None,
) -> Any:
    """Fork this process; return when the child leads a process group."""
    _load()
    seen, ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        if file_limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
        _become(module, arguments, folder, errors, ready)
    os.close(ready)
    os.read(seen, 1)
    os.close(seen)
    return _Child(pid)


def _load() -> None:
    """Import what the commands need; no thread may have been started."""
    import lordclust.cli
    import reproduction.command  # noqa: F401

    for module in pkgutil.iter_modules(lordclust.cli.__path__, "lordclust.cli."):
        import_module(module.name)


def _become(
    module: str, arguments: list[str], folder: Path, errors: Path, ready: int
) -> None:
    """Run the command by the same function that the console script calls."""
    code = 99
    try:
        os.setpgid(0, 0)
        out = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 2)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.chdir(folder)
        sys.argv = ["lordclust", *arguments]
        run = import_module(module).run
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
