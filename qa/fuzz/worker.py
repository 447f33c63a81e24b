"""The process that runs the inputs; if it dies, its supervisor starts another.

It writes each input to a file before running it, so that the one that killed it is
known. It reports its progress in lines of JSON on a pipe.
"""

import faulthandler
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from qa.fuzz.case import encoded
from qa.fuzz.guard import bound_addresses
from qa.fuzz.session import Session, Tally

#: Seconds between two reports.
EVERY = 0.5


class Reporter:
    """Send reports to the supervisor."""

    def __init__(self, pipe: int) -> None:
        self.pipe, self.last = os.fdopen(pipe, "w"), time.monotonic()

    def send(self, tally: Tally, *, now: bool = False) -> None:
        """Send a tally and reset it, if the last report is some time ago."""
        if not now and time.monotonic() - self.last < EVERY:
            return
        outcomes = [[*outcome, count] for outcome, count in tally.outcomes.items()]
        failures = list(tally.failures.values())
        line = {"done": tally.done, "outcomes": outcomes, "failures": failures}
        self.pipe.write(encoded(line) + "\n")
        self.pipe.flush()
        tally.done, self.last = 0, time.monotonic()
        tally.outcomes.clear()
        tally.failures.clear()


def main(job: dict[str, Any]) -> None:
    """Run the inputs of a job."""
    faulthandler.enable()
    reporter = Reporter(job["pipe"])
    target = import_module(job["module"])
    target.prepare()
    bound_addresses()
    current = os.open(job["current"], os.O_WRONLY | os.O_CREAT)

    def note(case: Any) -> None:
        reporter.send(session.tally)
        text = encoded(case).encode()
        os.pwrite(current, text, 0)
        os.ftruncate(current, len(text))

    session = Session(target, note, lambda: reporter.send(session.tally, now=True))
    reporter.send(session.tally, now=True)  # ready
    if getattr(target, "GUIDED", False):
        target.drive(session, job["inputs"], job["seed"], job["end"])
    else:
        for _ in session.generate(job["inputs"], job["seed"]):
            if time.time() > job["end"]:
                break
    session.after()


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    sys.path[:0] = [p for p in given["paths"] if p not in sys.path]
    os.chdir(Path(given["folder"]))
    main(given)
    sys.stderr.flush()
    os._exit(0)  # do not wait for threads
