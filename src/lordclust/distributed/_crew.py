"""The driver's side: keepers on the workers, requests to them, and lost workers."""

import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import wraps
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from distributed import Client, Future, wait
from distributed.scheduler import KilledWorker

from lordclust._core.typing import FloatArray, IntArray
from lordclust.distributed._blocks import bring
from lordclust.distributed._keeper import Keeper
from lordclust.distributed._neighbours import read_block

#: Seconds between two checks of a worker that does not answer.
POLL = 2.0
#: Seconds to wait for a worker in place of a lost one.
PATIENCE = 15.0
#: Lost workers after which a fit gives up.
MOST_LOSSES = 20

T = TypeVar("T")


class LostError(Exception):
    """A worker was lost; what it kept can be restored."""


class GoneError(Exception):
    """Workers were lost, and no copy is left: the fit must start again."""


class Member(NamedTuple):
    """A keeper: its worker's address, its own name, and the actor."""

    address: str
    name: str
    actor: Any


class Crew:
    """Keepers of all blocks, one per worker.

    ``sources`` are the blocks in the order of the rows, of S (``graph``) or of X. Then
    ``build``, called with the crew and the numbers of blocks, builds those of S.
    """

    def __init__(
        self,
        client: Client,
        sources: "list[Source]",
        *,
        graph: bool,
        build: Callable[["Crew", IntArray], None] | None = None,
    ) -> None:
        self.client, self.sources = client, sources
        self.graph, self.build = graph, build
        self.members: list[Member] = []
        self.losses = 0
        try:
            self._assemble()
        except BaseException:
            self.close()
            raise

    def _assemble(self) -> None:
        """Put keepers onto workers, and have them take or make all blocks of S."""
        count = len(self.sources)
        self._enlist(count)
        self.wanted = len(self.members)
        owners = np.linspace(0, len(self.members), count, endpoint=False)
        self.owners = owners.astype(np.int64)
        self._meet(np.zeros(count + 1, np.int64))
        shapes = self._deliver(np.arange(count))
        self._check(shapes)
        self.starts = np.concatenate([[0], np.cumsum([s[0] for s in shapes])])
        self._meet(self.starts)
        if self.build is not None:
            self.build(self, np.arange(count))

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.starts[-1])

    def _check(self, shapes: list[tuple[int, ...]]) -> None:
        """Refuse blocks that do not belong together."""
        widths = {shape[1] for shape in shapes}
        n = sum(shape[0] for shape in shapes)
        if len(widths) > 1:
            raise ValueError(
                f"All blocks must have equally many columns, got {sorted(widths)}."
            )
        if self.graph and widths != {n}:
            raise ValueError(
                f"The blocks of S have {n} rows in all, so each must have {n} columns, "
                f"got {widths.pop()}. Pass row blocks of one square S."
            )

    # -- asking -------------------------------------------------------------------

    def ask(self, method: str, *args: Any) -> list[Any]:
        """Return every keeper's answer."""
        return self.ask_each(method, [args] * len(self.members))

    def ask_each(self, method: str, lists: list[tuple[Any, ...]]) -> list[Any]:
        """Return every keeper's answer to arguments of its own."""
        calls = zip(self.members, lists, strict=True)
        return self._collect([(member, method, args) for member, args in calls])

    def by_block(self, method: str, *args: Any) -> list[Any]:
        """Return answers by block, in the order of the blocks, whoever keeps them."""
        return self.in_order(self.ask(method, *args))

    def in_order(self, answers: list[list[T]]) -> list[T]:
        """Return the parts of every keeper's answer in the order of the blocks."""
        parts: dict[int, T] = {}
        for i, answer in enumerate(answers):
            blocks = np.flatnonzero(self.owners == i).tolist()
            parts |= dict(zip(blocks, answer, strict=True))
        return [parts[block] for block in range(len(self.owners))]

    def dealt(self, x: FloatArray | IntArray) -> list[list[Any]]:
        """Return the rows of an array by block, in a list for each keeper."""
        pieces = np.split(x, self.starts[1:-1])
        return [
            [pieces[b] for b in np.flatnonzero(self.owners == i)]
            for i in range(len(self.members))
        ]

    def _collect(self, calls: list[tuple[Member, str, tuple[Any, ...]]]) -> list[Any]:
        """Call, and wait for all: none is busy when this returns or raises."""
        futures, answers, lost = [], [], False
        for member, method, args in calls:
            try:
                futures.append(getattr(member.actor, method)(*args))
            except RuntimeError:  # dask raises it for an actor whose worker is lost
                futures.append(None)
        for (member, *_), future in zip(calls, futures, strict=True):
            try:
                answers.append(self._wait(member, future))
            except LostError:
                lost = True
        if lost:
            raise LostError
        return answers

    def _wait(self, member: Member, future: Future | None) -> Any:
        """Return an answer; raise LostError if there will be none."""
        done = False
        while future is not None:
            try:
                return future.result(timeout=POLL)
            except TimeoutError:
                if done or member.address not in self._workers():
                    raise LostError from None
                # The answer may have arrived just now: look once more.
                done = future.done()
            except (OSError, CancelledError, KilledWorker):
                raise LostError from None
        raise LostError

    def wait_there(self, calls: list[tuple[Member, Future]]) -> None:
        """Wait for tasks whose results stay on their workers."""
        for member, future in calls:
            while future.status == "pending":
                with suppress(TimeoutError):
                    wait(future, timeout=POLL)
                if future.status == "pending" and member.address not in self._workers():
                    raise LostError
            if future.status != "finished":
                raise LostError

    def _workers(self) -> list[str]:
        """Return the addresses of the present workers."""
        return sorted(self.client.nthreads())

    # -- who keeps what -----------------------------------------------------------

    def _enlist(self, most: int) -> None:
        """Put keepers onto workers that have none, up to ``most`` in all."""
        known = {m.address for m in self.members}
        for address in [x for x in self._workers() if x not in known]:
            if len(self.members) >= most:
                break
            name = f"lordclust-keeper-{uuid.uuid4().hex}"
            future = self.client.submit(
                Keeper, name, self.graph, actor=True, key=name, workers=[address],
                allow_other_workers=False, pure=False,
            )  # fmt: skip
            actor = self._wait(Member(address, name, None), future)
            self.members.append(Member(address, name, actor))
        if not self.members:
            raise RuntimeError("The cluster has no workers; start at least one.")

    def _meet(self, starts: IntArray) -> None:
        """Inform all keepers who keeps which blocks."""
        # By name, because members may change before all have met again.
        self.keepers = [self.members[i].name for i in self.owners]
        peers = [(m.address, m.name) for m in self.members]
        count = len(self.members)
        self.ask_each("meet", [(i, peers, starts, self.owners) for i in range(count)])

    def _deliver(self, blocks: IntArray) -> list[tuple[int, ...]]:
        """Have keepers take blocks from their sources; return their shapes."""
        futures = []
        for block in blocks.tolist():
            member = self.members[self.owners[block]]
            future = self.sources[block].deliver(self.client, member, block)
            futures.append((member, future))
        return [self._wait(member, future) for member, future in futures]

    def number(self, mu: FloatArray) -> None:
        """Prepare all keepers for products and passes."""
        self.mu = mu
        self.lent = self.ask("number", mu)
        self.ask("borrow")

    def close(self) -> None:
        """Have the keepers release everything."""
        with suppress(LostError):
            self.ask("close")
        self.members = []

    # -- after a loss -------------------------------------------------------------

    def replace_lost(self) -> None:
        """Give the blocks of lost workers to others; all of S is in place again.

        The other keepers keep their blocks. The cluster's nannies may start a new
        worker within some seconds, so these are waited for.
        """
        self.losses += 1
        if self.losses > MOST_LOSSES:
            raise RuntimeError(f"The fit gives up after losing {self.losses} workers.")
        self._reassign(self.wanted)
        self.ask("unnumber")
        # If another worker was lost during a recovery, more than its blocks are gone.
        there = [block for answer in self.ask("stored") for block in answer]
        lost = np.setdiff1d(np.arange(len(self.owners)), there)
        if self.build is None:
            self._deliver(lost)
        else:
            self._deliver(np.arange(len(self.owners)))
            self.build(self, lost)
        self.number(self.mu)

    def _reassign(self, wanted: int) -> None:
        """Forget lost keepers, find others, and give them the blocks of the lost."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            there = set(self._workers())
            gone = any(m.address not in there for m in self.members)
            if gone and len(there) >= wanted:
                break
            time.sleep(0.2)
        there = set(self._workers())
        self.members = [m for m in self.members if m.address in there]
        self._enlist(wanted)
        place = {m.name: i for i, m in enumerate(self.members)}
        owners = np.array([place.get(name, -1) for name in self.keepers])
        for block in np.flatnonzero(owners < 0):
            loads = np.bincount(owners[owners >= 0], minlength=len(self.members))
            owners[block] = int(loads.argmin())
        self.owners = owners
        self._meet(self.starts)


def again(method: Callable[..., T]) -> Callable[..., T]:
    """Have a method of the rows start again from the last save after a loss."""

    @wraps(method)
    def safe(self: Any, *args: Any) -> T:
        while True:
            try:
                return method(self, *args)
            except LostError:
                self.recover()

    return safe


class InMemory(NamedTuple):
    """A block that the driver holds."""

    block: Any

    def deliver(self, client: Client, to: Member, block: int) -> Future:
        """Send the block."""
        return to.actor.take(block, self.block)

    def content(self, client: Client) -> Any:
        """Return the block."""
        return self.block


class OnDisk(NamedTuple):
    """A block in a file that the workers see."""

    path: str

    def deliver(self, client: Client, to: Member, block: int) -> Future:
        """Have the worker read the file."""
        return to.actor.read(block, self.path)

    def content(self, client: Client) -> Any:
        """Have a worker read the file."""
        return client.submit(read_block, self.path, pure=False).result()


class Computed(NamedTuple):
    """A chunk of a dask array, computed on the workers."""

    future: Future

    def deliver(self, client: Client, to: Member, block: int) -> Future:
        """Have dask bring the chunk to the worker."""
        return client.submit(
            bring, self.future, to.name, block,
            workers=[to.address], allow_other_workers=False, pure=False,
        )  # fmt: skip

    def content(self, client: Client) -> Any:
        """Have dask bring the chunk to the driver."""
        return self.future.result()


#: Where a block of rows comes from, as often as it is needed.
Source: TypeAlias = InMemory | OnDisk | Computed
