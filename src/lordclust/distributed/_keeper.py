"""What a worker does: keep some blocks of rows, pass over them, lend rows to others.

A :class:`Keeper` is an actor. Its methods run on the worker's event loop, so that it
answers others while its own pass runs in threads. Blocks begin at a tile of the
compiled kernels, and sums are kept by block: whoever keeps a block, its sums have the
same bits.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from distributed import get_worker
from distributed.protocol import to_serialize

from lordclust._typing import FloatArray, IntArray
from lordclust.distributed import _neighbours as neighbours
from lordclust.rounding import labels_from, membership_from
from lordclust.solver import kernels
from lordclust.solver.engine import allocate, csr_parts, from_tiles, to_tiles
from lordclust.solver.lanes import LANES

#: The keepers of this process by name, for tasks that bring or fetch blocks.
KEEPERS: dict[str, "Keeper"] = {}
NO_GRAM = np.empty((0, 0))


class Keeper:
    """The rows of some blocks, on one worker.

    Parameters
    ----------
    name : str
        Its key, unique among all actors.
    graph : bool
        Whether the blocks that it is given are of S, not of X.
    """

    def __init__(self, name: str, graph: bool) -> None:
        self.graph = graph
        self.worker = get_worker()
        self.threads = int(self.worker.state.nthreads)
        self.pool = ThreadPoolExecutor(self.threads)
        self.name = name
        self.blocks: dict[int, Any] = {}
        self.features: dict[int, FloatArray] = {}
        self.scales: dict[int, FloatArray] = {}
        self.saves: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = {}
        #: The compiled solver's arrays, once rows are numbered.
        self.shared: Any = None
        self.bytes = 0
        KEEPERS[name] = self

    # -- talking ------------------------------------------------------------------

    async def _ask(self, peer: int, method: str, *args: Any) -> Any:
        """Return another keeper's answer."""
        if peer == self.me:
            return await getattr(self, method)(*args)
        address, name = self.peers[peer]
        answer = await self.worker.rpc(address).actor_execute(
            function=method,
            actor=name,
            args=[to_serialize(x) for x in args],
            kwargs={},
        )
        if answer["status"] != "OK":
            raise answer["exception"]
        self.bytes += _size(args) + _size(answer["result"])
        return answer["result"]

    async def _work(self, task: Callable[..., Any], *args: Any) -> Any:
        """Run a task in a thread, so that others are answered meanwhile."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.pool, task, *args)

    async def spent(self) -> int:
        """Return the bytes exchanged with workers it asked; count from 0 again."""
        spent, self.bytes = self.bytes, 0
        return spent

    async def close(self) -> None:
        """Let go of everything."""
        KEEPERS.pop(self.name, None)
        self.__dict__.clear()

    # -- blocks -------------------------------------------------------------------

    async def meet(
        self, me: int, peers: list[tuple[str, str]], starts: IntArray, owners: IntArray
    ) -> None:
        """Learn who keeps what; let go of blocks that others keep."""
        self.me, self.peers, self.starts, self.owners = me, peers, starts, owners
        self.mine: list[int] = np.flatnonzero(owners == me).tolist()
        for kept in (self.blocks, self.features, self.scales):
            for block in set(kept) - set(self.mine):
                del kept[block]

    async def take(self, block: int, content: Any) -> tuple[int, ...]:
        """Take a block of S, sparse, or of X; return its shape."""
        return self.store(block, content)

    async def read(self, block: int, path: str) -> tuple[int, ...]:
        """Take a block from a file; return its shape."""
        return self.store(block, await self._work(neighbours.read_block, path))

    def store(self, block: int, content: Any) -> tuple[int, ...]:
        """Take a block of S or of X; return its shape."""
        content = neighbours.check_block(block, content, self.graph)
        if self.graph:
            self.blocks[block] = content
        else:
            self.features[block] = content
        shape: tuple[int, ...] = content.shape
        return shape

    async def stored(self) -> dict[int, int]:
        """Return how many entries of S each of its blocks has."""
        if self.shared is not None:
            rows = np.diff(self.shared.indptr)
            parts = np.add.reduceat(rows, self.shared.edges[:-1] * LANES)
            return dict(zip(self.mine, parts.tolist(), strict=True))
        return {block: S.nnz for block, S in self.blocks.items()}

    # -- the graph, from samples --------------------------------------------------

    async def extent(self) -> list[Any]:
        """Return largest size, sums, minima and maxima of the blocks of X."""
        return [neighbours.extent(self.features[b]) for b in self.mine]

    async def lend_features(self, block: int) -> FloatArray:
        """Return a block of X."""
        return self.features[block]

    async def find(
        self, targets: IntArray, count: int, unit: float, mean: FloatArray
    ) -> None:
        """Find the nearest neighbours of the rows of its targets, block by block."""
        own = [b for b in self.mine if b in targets]
        self.near = {b: neighbours.Nearest(self.features[b], count, unit) for b in own}
        for other in range(len(self.owners)) if own else ():
            X = await self._ask(int(self.owners[other]), "lend_features", other)
            for b in own:
                first = int(self.starts[other])
                same = b == other
                await self._work(self.near[b].offer, X, first, mean, same)

    async def drop_features(self) -> None:
        """Let go of X."""
        self.features.clear()

    async def widths(self, nth: int) -> None:
        """Keep the distance of each row to its nth neighbour."""
        for block, near in self.near.items():
            self.scales[block] = near.distance[:, nth - 1].copy()

    async def ranks(self, which: str, limits: IntArray) -> IntArray:
        """Count positive widths (or distances) up to each limit.

        Positive doubles sort as their bits do, read as integers.
        """
        kept = [self.scales[b] for b in self.mine]
        if which == "distances":
            kept = [near.distance.ravel() for near in self.near.values()]
        bits = [np.sort(x[x > 0].view(np.int64)) for x in kept]
        counts = [np.searchsorted(x, limits, "right") for x in bits]
        return np.asarray(np.sum(counts, axis=0))

    async def floor_widths(self, targets: IntArray, floor: float | None) -> None:
        """Raise small widths to the floor; without one all are 1."""
        for block in set(self.scales) & set(targets.tolist()):
            x = self.scales[block]
            self.scales[block] = (
                np.ones_like(x) if floor is None else np.maximum(x, floor)
            )

    async def lend_widths(self, block: int, rows: IntArray) -> FloatArray:
        """Return widths of rows of a block."""
        return self.scales[block][rows]

    async def weigh(self, q: int) -> None:
        """Turn the q nearest neighbours of its targets into directed edges."""
        for block, near in self.near.items():
            columns, d = near.index[:, :q], near.distance[:, :q]
            widths = await self._widths_of(np.unique(columns))
            own = self.scales[block]
            edges = neighbours.weighted(columns, d, own, widths, int(self.starts[-1]))
            self.blocks[block] = edges
        del self.near

    async def _widths_of(self, ids: IntArray) -> tuple[IntArray, FloatArray]:
        """Return ids and the widths of these rows, whoever keeps them."""
        home = np.searchsorted(self.starts, ids, "right") - 1
        found = np.empty(len(ids))
        for block in np.unique(home):
            at = home == block
            rows = ids[at] - self.starts[block]
            found[at] = await self._ask(
                int(self.owners[block]), "lend_widths", int(block), rows
            )
        return ids, found

    async def lend_edges(self, block: int) -> list[Any]:
        """Return its edges into a block, turned round: rows, columns, weights."""
        low, high = self.starts[block], self.starts[block + 1]
        return [
            neighbours.edges_into(self.blocks[b], int(self.starts[b]), low, high)
            for b in self.mine
            if b in self.blocks
        ]

    async def gather_edges(self, targets: IntArray) -> None:
        """Ask all keepers for edges into its targets."""
        self.joining: dict[int, list[Any]] = {}
        for block in [b for b in self.mine if b in targets]:
            lists = [
                await self._ask(p, "lend_edges", block) for p in range(len(self.peers))
            ]
            self.joining[block] = [edges for one in lists for edges in one]

    async def join_edges(self, diagonal: float) -> None:
        """Make its targets symmetric: an edge in one direction is one in both."""
        for block, edges in self.joining.items():
            first, W = int(self.starts[block]), self.blocks[block]
            self.blocks[block] = neighbours.joined(W, edges, first, diagonal)
        del self.joining

    async def lend_blocks(self) -> list[Any]:
        """Return its blocks of S."""
        return [self.blocks[b] for b in self.mine]

    # -- numbering ----------------------------------------------------------------

    async def number(self, mu: FloatArray) -> list[int]:
        """Number rows for this worker; return how many rows others lend, by peer.

        Own rows come first, each block from a multiple of 16 on, then the rows of
        others that its entries of S refer to.
        """
        self.mu, self.k, n = mu, len(mu), int(self.starts[-1])
        sizes = np.diff(self.starts)[self.mine]
        tiles = -(-sizes // LANES)
        edges = np.concatenate([[0], np.cumsum(tiles)]).astype(np.int64)
        offset = np.full(len(self.owners), -1)
        offset[self.mine] = edges[:-1] * LANES
        blocks = [self.blocks.pop(b) for b in self.mine]
        columns = [S.indices for S in blocks]
        homes = [np.searchsorted(self.starts, c, "right") - 1 for c in columns]
        foreign = [
            np.unique(c[offset[h] < 0]) for c, h in zip(columns, homes, strict=True)
        ]
        halo = np.unique(np.concatenate(foreign)) if foreign else np.zeros(0, np.int64)
        first = int(edges[-1]) * LANES
        local = [
            np.where(
                offset[h] < 0,
                first + np.searchsorted(halo, c),
                offset[h] + c - self.starts[h],
            )
            for c, h in zip(columns, homes, strict=True)
        ]
        counts = np.zeros(first, np.int64)
        for b, S in zip(self.mine, blocks, strict=True):
            at = offset[b]
            counts[at : at + S.shape[0]] = np.diff(S.indptr)
        mass = np.zeros((int(edges[-1]), LANES))
        for b, m in zip(self.mine, sizes, strict=True):
            mass.reshape(-1)[offset[b] : offset[b] + m] = 1 / n
        width = first + len(halo)
        S = sp.csr_array(
            (
                np.concatenate([S.data for S in blocks]).astype(np.float64),
                np.concatenate(local),
                np.concatenate([[0], np.cumsum(counts)]),
            ),
            shape=(first, width),
        )
        self.S = S
        self.shared = allocate(
            csr_parts(S), mu, mass, np.where(mass > 0, 1.0, 0.0),
            np.zeros((0, LANES), np.int64), n_rows=width, edges=edges,
            room=self.k**2,
        )  # fmt: skip
        self.sizes, self.first, self.halo = sizes, first, halo
        #: The global number of each local row, to name columns again.
        self.numbers = np.full(width, -1)
        self.numbers[first:] = halo
        for b, m in zip(self.mine, sizes, strict=True):
            self.numbers[offset[b] : offset[b] + m] = self.starts[b] + np.arange(m)
        self.lenders = self.owners[np.searchsorted(self.starts, halo, "right") - 1]
        self.lent: dict[int, IntArray] = {}
        self.vector = np.zeros(width)
        self.count = 0
        return [int((self.lenders == p).sum()) for p in range(len(self.peers))]

    async def borrow(self) -> None:
        """Tell other keepers which of their rows are needed here."""
        for peer in np.unique(self.lenders):
            await self._ask(
                int(peer), "promise", self.me, self.halo[self.lenders == peer]
            )

    async def promise(self, peer: int, ids: IntArray) -> None:
        """Remember which rows a keeper needs."""
        own = self.numbers[: self.first]
        order = np.argsort(own, kind="stable")
        self.lent[peer] = order[np.searchsorted(own, ids, sorter=order)]

    async def unnumber(self) -> None:
        """Turn the numbered rows back into blocks of S, in the order of their rows."""
        if self.shared is None:
            return
        n = int(self.starts[-1])
        for b, tile, m in zip(
            self.mine, self.shared.edges[:-1], self.sizes, strict=True
        ):
            part = self.S[tile * LANES : tile * LANES + m]
            columns = self.numbers[part.indices]
            self.blocks[b] = sp.csr_array(
                (part.data, columns, part.indptr), shape=(int(m), n)
            )
        self.shared = None
        del self.numbers, self.S, self.lent

    # -- vectors, for the spectrum ------------------------------------------------

    async def hold_vector(self, pieces: list[FloatArray]) -> None:
        """Take a vector, a piece for each block."""
        for tile, piece in zip(self.shared.edges[:-1], pieces, strict=True):
            self.vector[tile * LANES : tile * LANES + len(piece)] = piece

    async def lend_vector(self, peer: int) -> FloatArray:
        """Return the entries of the vector that a keeper needs."""
        return self.vector[self.lent[peer]]

    async def _times(self) -> FloatArray:
        """Return S times the vector."""
        for peer in np.unique(self.lenders):
            at = self.first + np.flatnonzero(self.lenders == peer)
            self.vector[at] = await self._ask(int(peer), "lend_vector", self.me)
        return np.asarray(await self._work(self.S.__matmul__, self.vector))

    async def times(self) -> list[FloatArray]:
        """Return S times the vector, a piece for each block."""
        return self._pieces(await self._times())

    def _pieces(self, y: FloatArray) -> list[FloatArray]:
        at = self.shared.edges[:-1] * LANES
        return [np.array(y[i : i + m]) for i, m in zip(at, self.sizes, strict=True)]

    async def lanczos_begin(self) -> list[float]:
        """Start from the positive vector of the local solver; return its norms."""
        pieces = []
        for b, m in zip(self.mine, self.sizes, strict=True):
            pieces.append(_stream(0, int(self.starts[b])).random(int(m)) + 0.1)
        self.previous = np.zeros(self.first)
        self.next = np.zeros(self.first)
        at = self.shared.edges[:-1] * LANES
        for i, piece in zip(at, pieces, strict=True):
            self.next[i : i + len(piece)] = piece
        return [float(piece @ piece) for piece in pieces]

    async def lanczos_turn(self, beta: float) -> None:
        """Make the next vector the current one, of length 1."""
        self.previous = self.vector[: self.first].copy()
        self.vector[: self.first] = self.next / beta

    async def lanczos_times(self, beta: float) -> list[float]:
        """Multiply by S, less the vector before; return the products by block."""
        self.next = await self._times() - beta * self.previous
        y, v = self._pieces(self.next), self._pieces(self.vector)
        return [float(a @ b) for a, b in zip(y, v, strict=True)]

    async def lanczos_part(self, alpha: float) -> list[float]:
        """Take the current vector's part out of the next; return its norms."""
        self.next -= alpha * self.vector[: self.first]
        return [float(y @ y) for y in self._pieces(self.next)]

    # -- V ------------------------------------------------------------------------

    def _tiles(self, i: int) -> slice:
        """Return the tiles of its i-th block."""
        return slice(int(self.shared.edges[i]), int(self.shared.edges[i + 1]))

    def _now(self) -> FloatArray:
        """Return the tiles of the current V."""
        s = self.shared
        return np.asarray(s.V[s.slots[kernels.NOW]])

    def _rows_of(self, i: int) -> FloatArray:
        """Return the rows of V in its i-th block."""
        return from_tiles(self._now()[self._tiles(i)], int(self.sizes[i]))

    def _put(self, V: list[FloatArray], b: list[FloatArray] | None) -> None:
        """Take V, tiles by block, as the current iterate, and row multipliers."""
        s, slots = self.shared, self.shared.slots
        slots[:] = 0
        slots[kernels.BEFORE], slots[kernels.SPARE] = 1, 2
        slots[kernels.SV_BEFORE] = 1
        for i, tiles in enumerate(V):
            at = self._tiles(i)
            s.V[0, at] = s.V[1, at] = tiles
            s.b[at] = np.where(s.mass[at] > 0, 0.0, 1e300) if b is None else b[i]
        s.rows[0, : self.first, : self.k] = from_tiles(s.V[0], self.first)

    async def draw(self, seed: int) -> list[FloatArray]:
        """Draw its rows of a random matrix; return their column sums by block.

        The rows are those that one generator draws for all samples in turn.
        """
        self.random = []
        for b, m in zip(self.mine, self.sizes, strict=True):
            rng = _stream(seed, int(self.starts[b]) * self.k)
            P = rng.random((int(m), self.k)) * self.mu
            self.random.append(np.maximum(P, 1e-20))
        return [P.T @ np.ones(len(P)) for P in self.random]

    async def scale(self, right: FloatArray) -> list[FloatArray]:
        """Return the column sums of the random rows, scaled to their masses."""
        mass = 1 / int(self.starts[-1])
        return [P.T @ (mass / (P @ right)) for P in self.random]

    async def place(self, right: FloatArray, share: float) -> None:
        """Take the scaled random rows as V, mixed with the point 1 mu'/n."""
        mass, V = 1 / int(self.starts[-1]), []
        for i, P in enumerate(self.random):
            point = (mass / (P @ right))[:, None] * P * (right / self.mu)
            tiles = self._tiles(i)
            mixed = share * point + (1 - share) * mass * self.mu if share < 1 else point
            V.append(to_tiles(mixed, tiles.stop - tiles.start))
        self._put(V, None)
        del self.random

    async def off_level(self) -> list[tuple[float, float]]:
        """Return |V - 1 mu'/n|^2 and |1 mu'/n|^2 by block."""
        level, out = self.mu / int(self.starts[-1]), []
        for i, m in enumerate(self.sizes):
            off = float(((self._rows_of(i) - level) ** 2).sum())
            out.append((off, float(m * (level**2).sum())))
        return out

    async def columns(self) -> list[FloatArray]:
        """Return the column sums of V by block."""
        return [self._rows_of(i).sum(axis=0) for i in range(len(self.mine))]

    # -- a pass -------------------------------------------------------------------

    def _move(self, tick: tuple[int, str]) -> None:
        """Accept the last pass, or go back, unless that has been done."""
        count, what = tick
        if count <= self.count:
            return
        slots, self.count = self.shared.slots, count
        now, before, spare = slots[:3]
        slots[kernels.SV_NOW], slots[kernels.SV_BEFORE] = (
            slots[kernels.SV_BEFORE], slots[kernels.SV_NOW],
        )  # fmt: skip
        if what == "back":
            slots[:2] = before, now
            return
        slots[:3] = spare, now, before
        slots[kernels.ROWS_NOW] = 1 - slots[kernels.ROWS_NOW]
        slots[kernels.SV_KNOWN] = 0

    async def lend(self, tick: tuple[int, str], peer: int) -> FloatArray:
        """Return the rows of V that a keeper needs.

        Its question may come before the driver's own word of the last decision.
        """
        self._move(tick)
        s = self.shared
        rows = s.rows[s.slots[kernels.ROWS_NOW]]
        return np.asarray(rows[self.lent[peer], : self.k])

    async def sweep(
        self,
        tick: tuple[int, str],
        a: FloatArray,
        theta: float,
        step: tuple[float, float] | None,
        measure: bool,
        curved: bool,
    ) -> FloatArray:
        """Pass over the rows as the compiled solver does; return sums by block."""
        self._move(tick)
        # What comes from the wire is read-only: another type to numba, to compile.
        s, a = self.shared, np.array(a)
        if step is not None:
            s.memory[kernels.STEP], s.memory[kernels.TILT] = step
            if not s.slots[kernels.SV_KNOWN]:
                await self._fetch(tick)
        cuts = np.linspace(0, len(self.mine), self.threads + 1).astype(int)
        ranges = [(int(x), int(y)) for x, y in pairwise(cuts)]

        def part(blocks: tuple[int, int]) -> None:
            kernels.sweep(
                s, s.slots, s.memory, blocks, 0, a, NO_GRAM, step is not None,
                float(theta), measure, curved,
            )  # fmt: skip

        await asyncio.gather(*(self._work(part, r) for r in ranges if r[0] < r[1]))
        if step is not None:
            s.slots[kernels.SV_KNOWN] = 1
        k = self.k
        return np.array(s.parts[0, :, : k + kernels.HESSIAN + (k * k if curved else 0)])

    async def _fetch(self, tick: tuple[int, str]) -> None:
        """Bring the rows of V that others keep up to date."""
        s = self.shared
        rows = s.rows[s.slots[kernels.ROWS_NOW]]
        peers = [int(p) for p in np.unique(self.lenders)]
        lent = await asyncio.gather(
            *(self._ask(p, "lend", tick, self.me) for p in peers)
        )
        for peer, new in zip(peers, lent, strict=True):
            rows[self.first + np.flatnonzero(self.lenders == peer), : self.k] = new

    # -- saves --------------------------------------------------------------------

    async def save(
        self, tick: tuple[int, str], stamp: int, keep: list[int], second: int
    ) -> None:
        """Copy V and b, here and to a second keeper; forget old saves."""
        self._move(tick)
        own = {}
        for i, b in enumerate(self.mine):
            at = self._tiles(i)
            own[b] = (self._now()[at].copy(), self.shared.b[at].copy())
        await self.hold(stamp, own, keep)
        if second != self.me:
            await self._ask(second, "hold", stamp, own, keep)

    async def hold(self, stamp: int, states: dict[int, Any], keep: list[int]) -> None:
        """Keep copies of V and b of some blocks."""
        old = [key for key in self.saves if key[0] not in (*keep, stamp)]
        for key in old:
            del self.saves[key]
        for block, state in states.items():
            self.saves[stamp, block] = state

    async def held(self) -> list[tuple[int, int]]:
        """Return the stamps and blocks of the copies here."""
        return list(self.saves)

    async def lend_save(self, stamp: int, block: int) -> tuple[FloatArray, FloatArray]:
        """Return a copy of V and b."""
        return self.saves[stamp, block]

    async def restore(self, stamps: list[int], holders: dict[Any, int]) -> None:
        """Fetch the copies of its blocks, and take up the first stamp's."""
        for stamp in stamps:
            for b in self.mine:
                if (stamp, b) not in self.saves:
                    self.saves[stamp, b] = await self._ask(
                        holders[stamp, b], "lend_save", stamp, b
                    )
        states = [self.saves[stamps[0], b] for b in self.mine]
        self.count = 0
        self._put([V for V, _ in states], [b for _, b in states])

    async def change(
        self, tick: tuple[int, str], stamp: int
    ) -> list[tuple[float, float]]:
        """Return |V - V at the stamp|^2 and |V|^2 by block."""
        self._move(tick)
        out = []
        for i, b in enumerate(self.mine):
            V = self._now()[self._tiles(i)]
            gap = V - self.saves[stamp, b][0]
            out.append((float((gap * gap).sum()), float((V * V).sum())))
        return out

    # -- answers ------------------------------------------------------------------

    async def sizes_of(self) -> list[tuple[IntArray, IntArray]]:
        """Return how many rows each cluster has, and its first, by block."""
        out: list[tuple[IntArray, IntArray]] = []
        for i, b in enumerate(self.mine):
            labels = labels_from(membership_from(self._rows_of(i), self.mu))
            firsts = np.full(self.k, self.starts[-1])
            found, where = np.unique(labels, return_index=True)
            firsts[found] = where + self.starts[b]
            out.append((np.bincount(labels, minlength=self.k), firsts))
        return out

    def membership(self, block: int, order: IntArray) -> FloatArray:
        """Return the memberships of a block, clusters in order."""
        i = self.mine.index(block)
        P = membership_from(self._rows_of(i), self.mu)
        return np.ascontiguousarray(P[:, order])


def bring(content: Any, name: str, block: int) -> tuple[int, ...]:
    """Give a block to a keeper of this process: a task, for what a task made."""
    return KEEPERS[name].store(block, content)


def fetch_membership(name: str, block: int, order: IntArray) -> FloatArray:
    """Return memberships from a keeper of this process: a task, so dask holds them."""
    return KEEPERS[name].membership(block, order)


def _stream(seed: int, skip: int) -> np.random.Generator:
    """Return a generator that has drawn so many doubles already."""
    rng = np.random.default_rng(seed)
    rng.bit_generator.advance(skip)  # type: ignore[attr-defined]
    return rng


def _size(x: Any) -> int:
    """Return the bytes of arrays, alone or in lists, tuples and dicts."""
    if isinstance(x, dict):
        return sum(_size(y) for y in x.values())
    if isinstance(x, list | tuple):
        return sum(_size(y) for y in x)
    return int(getattr(x, "nbytes", 8))
