"""Kill or interrupt a command repeatedly, and check the files it leaves."""

import random
import shutil
import signal
from pathlib import Path
from typing import Any

from qa.faults.runs import Moment, Outcome, run
from qa.faults.targets import Target, check_folder, content, parts

#: After this many strikes in a row a run may finish, so that results are compared.
IN_A_ROW = 6
#: The message of a run that stopped early and wrote its best result.
KEPT = "the best result so far has been kept"
#: Allowed exit codes after Ctrl-C.
ENDS = (0, 130)


class Campaign:
    """Signal one target until it was hit often enough.

    A run that was hit is started again, as a user would do; when it finishes, its
    files are compared with those of an undisturbed run, and all starts again.
    """

    def __init__(self, target: Target, folder: Path, number: int, seed: int) -> None:
        self.target, self.folder, self.number = target, folder, number
        self.rng = random.Random(f"{seed} {target.name} {number}")
        self.counts = {
            "strikes": 0,
            "while importing": 0,
            "while working": 0,
            "at a file event": 0,
            "finished and compared": 0,
            "hidden parts left": 0,
        }
        self.faults: list[str] = []

    @property
    def kills(self) -> bool:
        """Whether the signal cannot be handled."""
        return self.number == signal.SIGKILL

    def run(self, strikes: int) -> dict[str, Any]:
        """Strike this often; return the counts and faults."""
        self._begin()
        row = 0
        while self.counts["strikes"] < strikes:
            moment = self._moment() if row < IN_A_ROW else None
            outcome = self._once(moment)
            row = row + 1 if outcome.struck else 0
            self._look(outcome, moment)
            if KEPT in outcome.stderr and not any(self.work.glob("*.ckpt")):
                self._restore()  # stopped before there was a checkpoint
            elif not outcome.struck and not self._compare(outcome):
                break
        return {**self.counts, "faults": self.faults}

    def _once(self, moment: Moment | None) -> Outcome:
        return run(
            self.target.arguments, self.work, moment, self.number, self.target.watched
        )

    def _begin(self) -> None:
        """Run the command undisturbed, twice: forked and in a new Python."""
        self.start, self.work = self.folder / "start", self.folder / "work" / "here"
        self.target.prepare(self.start)
        for arguments in self.target.before:
            first = run(arguments, self.start)
            assert first.code == 0, first.stderr
        self.earlier = content(self.start, self.target.outputs)
        for fresh in (False, True):
            self._restore()
            complete = self._once(Moment(1e9, fresh=fresh))
            assert complete.code == 0, complete.stderr
            found = content(self.work, self.target.outputs)
            if fresh:
                assert found == self.undisturbed, "two undisturbed runs differ"
                self.fresh_seconds = complete.seconds
            else:
                self.undisturbed, self.seconds = found, complete.seconds
                self.events = complete.events
        self._restore()

    def _restore(self) -> None:
        """Restore the folder as it was before the first run."""
        shutil.rmtree(self.work.parent, ignore_errors=True)
        self.work.parent.mkdir(parents=True)
        shutil.copytree(self.start, self.work)

    def _moment(self) -> Moment:
        """Draw a moment: at a time or at a file event; some in a new Python."""
        draw, rng = self.rng.random(), self.rng
        again = None
        if not self.kills and rng.random() < 0.3:
            again = rng.uniform(0.0, 0.05)
        if draw < 0.45:
            event = rng.randint(1, self.events)
            return Moment(rng.choice([0.0, rng.uniform(0, 2e-3)]), event, again=again)
        if draw < 0.85:
            return Moment(rng.uniform(0, self.seconds), again=again)
        return Moment(rng.uniform(0, self.fresh_seconds), fresh=True, again=again)

    def _look(self, outcome: Outcome, moment: Moment | None) -> None:
        """Record what a strike left."""
        if outcome.struck and moment is not None:
            kind = "at a file event" if moment.event else "while working"
            if moment.fresh and moment.seconds < self.fresh_seconds - self.seconds:
                kind = "while importing"
            self.counts["strikes"] += 1
            self.counts[kind] += 1
        self.faults += [f"incomplete: {fault}" for fault in check_folder(self.work)]
        hidden = len(parts(self.work))
        self.counts["hidden parts left"] = max(self.counts["hidden parts left"], hidden)
        if self.kills:
            self._look_at_outputs()
            return
        if hidden:
            self.faults.append(f"left: {parts(self.work)} {moment}")
        if "Traceback" in outcome.stderr:
            self.faults.append(f"a traceback: {outcome.stderr[-2000:]} {moment}")
        # A run hit at the very end has written all files: the next one is refused.
        complete = "this file exists already" in outcome.stderr
        if outcome.struck and outcome.code not in ENDS and not complete:
            self.faults.append(
                f"exit code {outcome.code}: {outcome.stderr[-300:]} {moment}"
            )

    def _look_at_outputs(self) -> None:
        """Check that after a kill a file is the earlier or the final one."""
        for name, found in content(self.work, self.target.outputs).items():
            if name.endswith(".jsonl"):  # grows line by line
                continue
            if found is not None and found not in (
                self.earlier[name],
                self.undisturbed[name],
            ):
                self.faults.append(f"{name} is neither the earlier nor the final one")

    def _compare(self, outcome: Outcome) -> bool:
        """Compare a finished run with the undisturbed one; return whether to go on."""
        found = content(self.work, self.target.outputs)
        complete = "this file exists already" in outcome.stderr  # struck at the end
        if outcome.code != 0 and not complete:
            self.faults.append(f"exit code {outcome.code}: {outcome.stderr[-500:]}")
            return False
        for name, data in found.items():
            if data != self.undisturbed[name]:
                self.faults.append(f"{name} differs from the undisturbed run")
        left = [p.name for p in self.work.glob("*.ckpt*")]
        if left:
            self.faults.append(f"left: {left}")
        self.counts["finished and compared"] += 1
        self._restore()
        return not self.faults
