"""The solver's rows on many workers, saved so that a lost worker can be replaced."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from distributed import Future

from lordclust._core.typing import FloatArray, IntArray
from lordclust.distributed._crew import Crew, GoneError, LostError, again
from lordclust.distributed._keeper import fetch_answer
from lordclust.solver import kernels
from lordclust.solver.engine import Callback, Progress
from lordclust.solver.lanes import LANES
from lordclust.solver.loop import Ascent, Step, Sums
from lordclust.solver.omega import Omega
from lordclust.solver.rules import ROUNDING
from lordclust.solver.start import AT_SADDLE, STIR

T = TypeVar("T")
#: Futures of memberships and of labels, by block.
Answers: TypeAlias = tuple[list[Future], list[Future]]


class Traffic(NamedTuple):
    """What a fit sent, from the first iterate on."""

    #: Gradient steps: before each, workers fetch the rows of V they need.
    steps: int
    #: Passes over the rows, each a reduction of sums to the driver.
    passes: int
    #: Bytes of rows fetched, and of copies saved.
    between_workers: int
    #: Of these, bytes of copies.
    saves: int
    #: Bytes of sums.
    to_driver: int
    #: Rows of V that workers need of others, in total.
    borrowed: int


class WorkerRows:
    """Rows kept by a crew: see :class:`lordclust.solver.loop.Rows`.

    A pass sends k numbers to every worker and returns k + k^2 for each block, which are
    added in the order of the blocks. Workers send each other only the rows of V that S
    refers to. V and the row multipliers are saved, twice, whenever V is changed outside
    a run and at the end of each run: after a loss, computation resumes from there.
    """

    rounding = ROUNDING

    def __init__(self, crew: Crew, mu: FloatArray) -> None:
        self.crew, self.n, self.k, self.mu = crew, crew.n, len(mu), mu
        self.tick = (0, "")
        self.stamp = 0
        self.marked: int | None = None
        self.best: int | None = None
        self.steps = self.passes = self.to_driver = self.saves = 0

    # -- saves --------------------------------------------------------------------

    def save(self) -> None:
        """Copy V and the row multipliers, on their workers and the next ones."""
        count, stamp = len(self.crew.members), self.stamp + 1
        keep = [s for s in (self.stamp, self.marked, self.best) if s]
        self.crew.ask_each(
            "save", [(self.tick, stamp, keep, (i + 1) % count) for i in range(count)]
        )
        self.stamp = stamp
        self.saves += 1 if count > 1 else 0

    def recover(self) -> None:
        """Replace lost workers, and return to the last save, if there is one."""
        while True:
            try:
                self.crew.replace_lost()
                self.tick = (0, "")
                if self.stamp:
                    self.restore(self.stamp)
                return
            except LostError:
                continue

    def restore(self, stamp: int) -> None:
        """Return to a save, and have those that are still needed in place."""
        needed = [stamp, *{s for s in (self.marked, self.best) if s} - {stamp}]
        held = enumerate(self.crew.ask("held"))
        holders = {tuple(key): i for i, keys in held for key in keys}
        blocks = range(len(self.crew.owners))
        if any((s, b) not in holders for s in needed for b in blocks):
            raise GoneError
        self.crew.ask("restore", needed, holders)
        self.stamp, self.tick = stamp, (0, "")

    def mark(self) -> None:
        """Remember the current iterate: the last save."""
        self.marked = self.stamp

    @again
    def change(self) -> float:
        """Return the relative change of V since the mark."""
        parts = self.crew.by_block("change", self.tick, self.marked)
        moved, norm2 = np.sum(parts, axis=0)
        return float(np.sqrt(moved / norm2))

    # -- where to begin -----------------------------------------------------------

    @again
    def set_shares(self, mu: FloatArray) -> None:
        """Take other shares for the same rows; V must be put again."""
        self.mu = self.crew.mu = mu
        self.crew.ask("set_shares", mu)

    @again
    def put(self, V: FloatArray) -> None:
        """Send V to the workers."""
        self.crew.ask_each("put_rows", [(x,) for x in self.crew.dealt(V)])
        self.tick = (self.tick[0], "")
        self.save()

    @again
    def get(self) -> FloatArray:
        """Return V, collected from the workers."""
        return np.concatenate(self.crew.by_block("lend_rows"))

    @again
    def put_random(self, seed: int, share: float = 1.0) -> None:
        """Take the random point of a seed, mixed into 1 mu'/n, as V.

        Sinkhorn's scaling, as on one machine: k numbers per round.
        """
        columns = self.mu**2
        right = columns / np.sum(self.crew.by_block("draw", seed), axis=0)
        for _ in range(1000):
            new = columns / np.sum(self.crew.by_block("scale", right), axis=0)
            if np.abs(right / new - 1).max() <= 1e-12:
                break
            right = new
        self.crew.ask("place", right, share)
        self.tick = (self.tick[0], "")
        self.save()

    @again
    def leave_saddle(self) -> bool:
        """Leave the point that all paths begin with; return whether V was there."""
        if self.k < 2:
            return False
        off, level = np.sum(self.crew.by_block("off_level"), axis=0)
        if off >= AT_SADDLE * level:
            return False
        self.put_random(0, STIR)
        return True

    # -- passes -------------------------------------------------------------------

    def sweep(
        self,
        a: FloatArray,
        theta: float,
        step: Step | None,
        measure: bool,
        curved: bool,
    ) -> Sums:
        """Have all workers pass over their rows, and add their sums."""
        step_ = None if step is None else (float(step.length), float(step.tilt))
        parts = self.crew.by_block(
            "sweep", self.tick, np.asarray(a), float(theta), step_, measure, curved
        )
        self.steps += step is not None
        self.passes += 1
        self.to_driver += sum(part.nbytes for part in parts)
        total = np.sum(parts, axis=0)
        k, hessian = self.k, np.zeros((self.k, self.k))
        if curved:
            hessian = total[k + kernels.HESSIAN :].reshape(k, k)
        dual, moved, quad, norm2 = total[k : k + kernels.HESSIAN].tolist()
        return Sums(total[:k], dual, moved, quad, norm2, hessian)

    def accept(self) -> None:
        """Take the rows of the last sweep; workers learn it with the next request."""
        self.tick = (self.tick[0] + 1, "accept")

    def go_back(self) -> None:
        """Return to the previous iterate; workers learn it with the next request."""
        self.tick = (self.tick[0] + 1, "back")

    def gram(self, theta: float) -> tuple[FloatArray, FloatArray]:
        """Refuse: only LoRD needs it."""
        raise NotImplementedError("LoRD runs on one machine")

    @again
    def columns(self) -> FloatArray:
        """Return the column sums of the current iterate."""
        return np.asarray(np.sum(self.crew.by_block("columns"), axis=0))

    # -- answers ------------------------------------------------------------------

    def traffic(self) -> Traffic:
        """Return what was sent since the last call."""
        tiles = sum(-(-m // LANES) * LANES for m in np.diff(self.crew.starts).tolist())
        saves = self.saves * tiles * (self.k + 1) * 8
        between, borrowed = sum(self.crew.ask("spent")), int(np.sum(self.crew.lent))
        counts = (self.steps, self.passes, between, saves, self.to_driver, borrowed)
        spent = Traffic(*counts)
        self.steps = self.passes = self.to_driver = self.saves = 0
        return spent

    @again
    def go_to_best(self) -> None:
        """Return to the end of the best path."""
        assert self.best is not None  # for mypy  # nosec B101
        self.restore(self.best)

    @again
    def sizes(self) -> tuple[IntArray, IntArray]:
        """Return how many rows each cluster has, and its first."""
        parts = self.crew.by_block("sizes_of")
        sizes = np.sum([size for size, _ in parts], axis=0)
        return sizes, np.min([first for _, first in parts], axis=0)

    @again
    def answers(self, order: IntArray) -> Answers:
        """Have the workers compute memberships, clusters in order, and labels."""
        self.crew.ask("answer", order)
        return self._futures()

    @again
    def hand_out(self, P: FloatArray, labels: IntArray) -> Answers:
        """Send memberships and labels to the workers."""
        pieces = zip(self.crew.dealt(P), self.crew.dealt(labels), strict=True)
        self.crew.ask_each("hold_answers", list(pieces))
        return self._futures()

    def _futures(self) -> Answers:
        """Return futures of memberships and labels by block, done on their workers."""
        crew = self.crew
        found: Answers = [], []
        calls = []
        for block, owner in enumerate(crew.owners.tolist()):
            member = crew.members[owner]
            # Bound to a lost worker it would wait; elsewhere it fails with a message.
            there = {"workers": [member.address], "allow_other_workers": True}
            for which, futures in enumerate(found):
                task = fetch_answer, member.name, block, which
                futures.append(crew.client.submit(*task, pure=False, **there))
                calls.append((member, futures[-1]))
        crew.wait_there(calls)
        return found


class WorkerAscent(Ascent):
    """The ascent over rows on workers: a run that loses a worker starts again.

    Decisions depend on sums alone, added in the order of the blocks, so that the
    second run is the first bit for bit.
    """

    rows: WorkerRows

    def __init__(self, rows: WorkerRows, omega: Omega, *, shift: float = 0.0) -> None:
        super().__init__(rows, omega)
        self.shift = shift

    def aim(self, step: float, tilt: float = 0.0) -> None:
        """Set the step length and gamma, of an S without its constant diagonal."""
        super().aim(step, tilt - self.shift)

    def put_random(self, seed: int) -> None:
        """Begin with the random point of a seed."""
        self.rows.put_random(seed)
        self._forget()

    def run(
        self, tol: float, max_iter: int, callback: Callback | None = None
    ) -> tuple[Progress, bool]:
        """Run until the residual is at most ``tol``, and save V."""
        a, penalty = self.a.copy(), self.penalty

        def begin() -> None:
            self.a, self.penalty = a.copy(), penalty
            self._product_known = False
            self._restart()

        def run() -> tuple[Progress, bool]:
            answer = super(WorkerAscent, self).run(tol, max_iter, callback)
            self.rows.save()
            return answer

        return self._until_done(run, begin)

    def finish(self) -> float:
        """Make V feasible to rounding; return the objective, computed again."""

        def run() -> float:
            self.settle()
            objective = self.measured()
            self.rows.save()
            return objective

        return self._until_done(run, lambda: None)

    def _until_done(self, task: Callable[[], T], begin: Callable[[], None]) -> T:
        """Do a task, again from the last save after each loss."""
        while True:
            try:
                return task()
            except LostError:
                self.rows.recover()
                begin()
