"""Run workers one after the other until all inputs of a target are done.

A worker that dies, or is silent for too long in compiled code, costs one input, which
is recorded as a failure; another worker continues.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from qa.fuzz.case import decoded
from qa.fuzz.outcome import Outcome
from qa.fuzz.session import Tally

#: Seconds that a worker may take to start, including compilation.
WARM_UP = 600.0
#: Seconds beyond the limit of an input after which a silent worker is killed, and how
#: many times longer it may be silent without taking CPU time.
GRACE, IDLE = 15.0, 4.0
#: Where inputs are written: in memory if possible, because half of the time of small
#: files goes to the disk.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
#: Workers that may die one after the other without finishing an input.
PATIENCE = 3


class Supervisor:
    """Run the inputs of one target.

    Parameters
    ----------
    module : str
        Name of the target's module.
    inputs : int
        Number of inputs.
    seconds : float
        Time after which to stop with fewer.
    seed : int
        Seed of the generated inputs.
    """

    def __init__(self, module: str, inputs: int, seconds: float, seed: int) -> None:
        self.module, self.inputs, self.seed = module, inputs, seed
        self.end = time.time() + seconds
        self.limit = import_module(module).SECONDS + GRACE
        self.tally = Tally()

    def run(self, report: Callable[[Tally], Any] = lambda tally: None) -> Tally:
        """Run workers until all is done; ``report`` is called with the tally."""
        idle = 0
        while self.tally.done < self.inputs and time.time() < self.end:
            before = self.tally.done
            ended = self._one_worker(report)
            idle = 0 if self.tally.done > before + 1 else idle + 1
            if ended or idle == PATIENCE:
                break
            self.seed += 1_000_003  # not the same inputs again
        return self.tally

    def _one_worker(self, report: Callable[[Tally], Any]) -> bool:
        """Run one worker; return whether it finished."""
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY) as folder:
            current = Path(folder, "current.json")
            log = Path(folder, "stderr.txt")
            ours, theirs = os.pipe()
            with open(log, "wb") as errors:
                worker = self._started(folder, current, theirs, errors)
            os.close(theirs)
            silent = self._listen(ours, worker.pid, report)
            os.close(ours)
            if silent:
                worker.kill()
            code = worker.wait()
            if not silent and code == 0:
                return True
            self._note_death(current, "hang" if silent else f"exit {code}", log)
            report(self.tally)
            return False

    def _started(self, folder: str, current: Path, pipe: int, errors: Any) -> Any:
        """Start a worker."""
        job = {
            "module": self.module,
            "inputs": self.inputs - self.tally.done,
            "seed": self.seed,
            "end": self.end,
            "pipe": pipe,
            "current": str(current),
            "folder": folder,
            "paths": [str(Path(p).resolve()) for p in sys.path if p],
        }
        paths = os.pathsep.join([os.getcwd(), *job["paths"]])
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        return subprocess.Popen(
            [sys.executable, "-m", "qa.fuzz.worker", json.dumps(job)],
            pass_fds=[pipe],
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            env=os.environ | single | {"PYTHONPATH": paths, "TMPDIR": folder},
        )

    def _listen(self, pipe: int, pid: int, report: Callable[[Tally], Any]) -> bool:
        """Read the reports of a worker; return whether it fell silent.

        Both processes may be stopped for a while: what counts are the CPU time of the
        worker, and seconds in which this process ran.
        """
        patience, rest, since, waited = WARM_UP, b"", cpu_seconds(pid), 0.0
        while cpu_seconds(pid) - since < patience and waited < IDLE * patience:
            if not select.select([pipe], [], [], 1.0)[0]:
                waited += 1.0
                continue
            block = os.read(pipe, 1 << 20)
            if not block:
                return False
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                self._add(decoded(line.decode()))
                patience, since, waited = self.limit, cpu_seconds(pid), 0.0
            report(self.tally)
        return True

    def _add(self, news: dict[str, Any]) -> None:
        """Add a report of a worker."""
        self.tally.done += news["done"]
        for group, kind, count in news["outcomes"]:
            self.tally.outcomes[Outcome(group, kind)] += count
        for failure in news["failures"]:
            self.tally.add_failure(failure)

    def _note_death(self, current: Path, how: str, log: Path) -> None:
        """Record the input that killed a worker."""
        text = current.read_text() if current.exists() else ""
        words = log.read_text(errors="replace").partition("Extension modules:")[0]
        words = words[-6000:]
        where = next((x for x in words.splitlines() if x.startswith("  File ")), "")
        failure = {
            "where": f"{how} {where.strip()}".strip(),
            "what": f"the process ended: {how}",
            "traceback": words,
            "input": decoded(text) if text else None,
            "count": 1,
        }
        self.tally.add_failure(failure)
        self.tally.done += 1
        self.tally.outcomes[Outcome("all", "failed")] += 1


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, 0 where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
