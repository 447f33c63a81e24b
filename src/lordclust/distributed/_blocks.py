"""Blocks of rows on a worker, and messages between the keepers of blocks."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from distributed import get_worker
from distributed.protocol import to_serialize

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.distributed import _neighbours as neighbours

#: The keepers of this process by name, for tasks that bring or fetch blocks.
KEEPERS: dict[str, "BlockKeeper"] = {}

#: V and b of a block.
State: TypeAlias = tuple[FloatArray, FloatArray]


class BlockKeeper:
    """The rows of some blocks, on one worker.

    ``name`` is its key, unique among all actors; ``graph`` is whether the blocks that
    it receives are of S, not of X.
    """

    def __init__(self, name: str, graph: bool) -> None:
        self.graph = graph
        self.worker = get_worker()
        self.threads = int(self.worker.state.nthreads)
        self.pool = ThreadPoolExecutor(self.threads)
        self.name = name
        self.blocks: dict[int, Graph] = {}
        self.features: dict[int, FloatArray] = {}
        self.scales: dict[int, FloatArray] = {}
        self.saves: dict[tuple[int, int], State] = {}
        self.bytes = 0
        KEEPERS[name] = self

    # -- messages -----------------------------------------------------------------

    async def _ask(self, peer: int, method: str, *args: Any) -> Any:
        """Return the answer of another keeper."""
        if peer == self.me:
            return await getattr(self, method)(*args)
        address, name = self.peers[peer]
        sent = [to_serialize(x) for x in args]
        answer = await self.worker.rpc(address).actor_execute(
            function=method, actor=name, args=sent, kwargs={}
        )
        if answer["status"] != "OK":
            raise answer["exception"]
        self.bytes += _size(args) + _size(answer["result"])
        return answer["result"]

    async def _work(self, task: Callable[..., Any], *args: Any) -> Any:
        """Run a task in a thread, so that messages are answered meanwhile."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, task, *args)

    async def spent(self) -> int:
        """Return the bytes exchanged on its requests, and reset the count."""
        spent, self.bytes = self.bytes, 0
        return spent

    async def close(self) -> None:
        """Release everything."""
        KEEPERS.pop(self.name, None)
        self.__dict__.clear()

    # -- blocks -------------------------------------------------------------------

    async def meet(
        self, me: int, peers: list[tuple[str, str]], starts: IntArray, owners: IntArray
    ) -> None:
        """Learn who keeps which blocks; release those that others keep."""
        self.me, self.peers, self.starts, self.owners = me, peers, starts, owners
        self.mine: list[int] = np.flatnonzero(owners == me).tolist()
        for kept in (self.blocks, self.features, self.scales):
            for block in set(kept) - set(self.mine):
                del kept[block]

    async def take(self, block: int, content: object) -> tuple[int, ...]:
        """Take a block of S, sparse, or of X; return its shape."""
        return self.store(block, content)

    async def read(self, block: int, path: str) -> tuple[int, ...]:
        """Take a block from a file; return its shape."""
        return self.store(block, await self._work(neighbours.read_block, path))

    def store(self, block: int, content: object) -> tuple[int, ...]:
        """Take a block of S or of X; return its shape."""
        checked = neighbours.check_block(block, content, self.graph)
        kept: dict[int, Graph] = self.blocks if self.graph else self.features
        kept[block] = checked
        return tuple(checked.shape)


def bring(content: object, name: str, block: int) -> tuple[int, ...]:
    """Give the result of a task to a keeper of this process."""
    return KEEPERS[name].store(block, content)


def _size(x: object) -> int:
    """Return the bytes of arrays, alone or in lists, tuples and dicts."""
    if isinstance(x, dict):
        return sum(_size(y) for y in x.values())
    if isinstance(x, list | tuple):
        return sum(_size(y) for y in x)
    return int(getattr(x, "nbytes", 8))
