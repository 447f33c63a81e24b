"""The worker's side: keep some blocks of rows, pass over them, lend rows to others.

A :class:`Keeper` is an actor. Its methods run on the worker's event loop, so that it
answers others while its own pass runs in threads. Blocks begin at a tile of the
compiled kernels, and sums are kept by block, so that the bits of a sum do not depend on
who keeps the block.
"""

import asyncio
from itertools import pairwise

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.distributed._blocks import KEEPERS, State
from lordclust.distributed._vectors import VectorKeeper, stream
from lordclust.rounding.labels import labels_from, membership_from
from lordclust.solver import kernels
from lordclust.solver.engine import from_tiles, to_tiles, work_of

LOST = (
    "A worker was lost after the fit, and with it the memberships of its rows. Fit "
    "again, and gather or store them at once."
)


class Keeper(VectorKeeper):
    """The rows of some blocks of S and V, on one worker."""

    # -- V ------------------------------------------------------------------------

    def _tiles(self, i: int) -> slice:
        """Return the tiles of its i-th block."""
        return slice(*self.shared.block_starts[i : i + 2].tolist())

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

    async def put_rows(self, pieces: list[FloatArray]) -> None:
        """Take rows of V, by block, as the current iterate."""
        tiles = [self._tiles(i) for i in range(len(pieces))]
        each = zip(pieces, tiles, strict=True)
        self._put([to_tiles(V, at.stop - at.start) for V, at in each], None)

    async def lend_rows(self) -> list[FloatArray]:
        """Return the rows of V by block."""
        return [self._rows_of(i) for i in range(len(self.mine))]

    async def draw(self, seed: int) -> list[FloatArray]:
        """Draw its rows of a random matrix; return their column sums by block.

        The rows are those that one generator draws for all samples in turn.
        """
        self.random = []
        for b, m in zip(self.mine, self.sizes, strict=True):
            rng = stream(seed, int(self.starts[b]) * self.k)
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

        Its request may arrive before the driver's message about the last decision.
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
        # A received array is read-only: to numba a type of its own to compile.
        s, a = self.shared, np.array(a)
        if step is not None:
            s.memory[kernels.STEP], s.memory[kernels.TILT] = step
            if not s.slots[kernels.SV_KNOWN]:
                await self._fetch(tick)
        cuts = np.linspace(0, len(self.mine), self.threads + 1).astype(int)
        ranges = [(int(x), int(y)) for x, y in pairwise(cuts)]

        def part(blocks: tuple[int, int]) -> None:
            # V is kept because any pass may be the last.
            kernels.pass_over(
                s, work_of(s), blocks, a, step is not None, float(theta), measure,
                curved,
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
        asked = (self._ask(p, "lend", tick, self.me) for p in peers)
        lent = await asyncio.gather(*asked)
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

    async def hold(self, stamp: int, states: dict[int, State], keep: list[int]) -> None:
        """Keep copies of V and b of some blocks."""
        kept = (*keep, stamp)
        self.saves = {key: save for key, save in self.saves.items() if key[0] in kept}
        self.saves |= {(stamp, block): state for block, state in states.items()}

    async def held(self) -> list[tuple[int, int]]:
        """Return the stamps and blocks of the copies here."""
        return list(self.saves)

    async def lend_save(self, stamp: int, block: int) -> State:
        """Return a copy of V and b."""
        return self.saves[stamp, block]

    async def restore(
        self, stamps: list[int], holders: dict[tuple[int, int], int]
    ) -> None:
        """Fetch the copies of its blocks, and return to those of the first stamp."""
        for stamp in stamps:
            for b in self.mine:
                if (stamp, b) not in self.saves:
                    holder = holders[stamp, b]
                    save = await self._ask(holder, "lend_save", stamp, b)
                    self.saves[stamp, b] = save
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

    async def answer(self, order: IntArray) -> None:
        """Compute memberships, clusters in order, and the most probable clusters."""
        rows = (self._rows_of(i) for i in range(len(self.mine)))
        P = [np.ascontiguousarray(membership_from(V, self.mu)[:, order]) for V in rows]
        await self.hold_answers(P, [labels_from(x) for x in P])

    async def hold_answers(self, P: list[FloatArray], labels: list[IntArray]) -> None:
        """Keep memberships and labels, by block, until they are fetched."""
        answers = zip(P, labels, strict=True)
        self.answers = dict(zip(self.mine, answers, strict=True))


def fetch_answer(name: str, block: int, which: int) -> FloatArray | IntArray:
    """Return memberships (0) or labels (1) from a keeper of this process.

    As a task, so that dask holds them from then on.
    """
    keeper = KEEPERS.get(name)
    if not isinstance(keeper, Keeper):
        raise RuntimeError(LOST)
    return keeper.answers[block][which]
