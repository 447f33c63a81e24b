"""Run inputs one after the other in this process, and count the outcomes."""

import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, settings

from qa.fuzz.case import encoded
from qa.fuzz.guard import Hang, limits
from qa.fuzz.outcome import LIBRARY, Broken, Outcome

#: Inputs generated at once; the time limit is checked in between.
BATCH = 200

Failure = dict[str, Any]


@dataclass
class Tally:
    """Counts of outcomes, and the smallest failing input of each place."""

    done: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)

    def add_failure(self, failure: Failure) -> None:
        """Count a failure, and keep it if it is the smallest of its place."""
        known = self.failures.get(failure["where"])
        count = failure.get("count", 1) + (known["count"] if known else 0)
        larger = known and len(encoded(known["input"])) <= len(
            encoded(failure["input"])
        )
        kept = known if known and larger else failure
        self.failures[failure["where"]] = kept | {"count": count}

    @property
    def n_failures(self) -> int:
        """Number of inputs that failed."""
        return sum(failure["count"] for failure in self.failures.values())


class Session:
    """Run inputs of one target.

    Parameters
    ----------
    target : module
        With ``SECONDS``, ``cases()`` or ``make(rng)``, and ``check(case)``; see
        ``qa/fuzz/targets``.
    before : callable, optional
        Called with each input before it is run.
    after : callable, optional
        Called by a target before it ends the process itself.
    """

    def __init__(
        self,
        target: Any,
        before: Callable[[Any], None] = lambda case: None,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        self.target, self.before, self.after, self.tally = (
            target,
            before,
            after,
            Tally(),
        )
        self.count = 0  # of inputs; the tally may be reset in between

    def run(self, case: Any) -> None:
        """Run one input and count its outcome."""
        self.before(case)
        try:
            with limits(self.target.SECONDS):
                outcome = self.target.check(case)
        except (Exception, Hang) as error:
            outcome = Outcome("all", "failed")
            self.tally.add_failure(described(error, case))
        self.count += 1
        self.tally.done += 1
        self.tally.outcomes[outcome] += 1

    def generate(self, inputs: int, seed: int) -> Iterator[Tally]:
        """Run generated inputs; yield the tally after each batch."""
        goal = self.count + inputs
        while self.count < goal:
            count = min(BATCH, goal - self.count)
            if hasattr(self.target, "make"):
                self._drawn(count, seed)
            else:
                self._given(count, seed)
            seed += 1
            yield self.tally

    def _drawn(self, count: int, seed: int) -> None:
        """Run inputs that the target generates itself."""
        rng = Random(seed)
        for _ in range(count):
            self.run(self.target.make(rng))

    def _given(self, count: int, seed: int) -> None:
        """Run inputs of hypothesis; failures are kept, and do not stop it."""

        @hypothesis.seed(seed)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(self.target.cases())
        def once(case: Any) -> None:
            self.run(case)

        once()


def described(error: BaseException, case: Any) -> Failure:
    """Return the error, the place and the input of a failure."""
    what = "hang" if isinstance(error, Hang) else f"{type(error).__name__}: {error}"
    return {
        "where": f"{type(error).__name__} at {_place(error)}",
        "what": what[:500],
        "traceback": "".join(traceback.format_exception(error))[-6000:],
        "input": case,
        "count": 1,
    }


def _place(error: BaseException) -> str:
    """Return the innermost line of the library, or of the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename.startswith(LIBRARY)]
    last = (own or frames)[-1]
    if isinstance(error, Broken):
        return error.promise
    return f"{last.filename.rpartition('/')[2]}:{last.lineno}"
