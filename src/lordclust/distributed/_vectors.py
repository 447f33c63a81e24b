"""A worker's numbering of rows, and products of S with a vector."""

import numpy as np
import scipy.sparse as sp

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.distributed._edges import EdgeKeeper
from lordclust.solver.engine import allocate, csr_parts
from lordclust.solver.kernels import Shared
from lordclust.solver.lanes import LANES


class VectorKeeper(EdgeKeeper):
    """Numbers its rows, and those that it borrows; multiplies a vector by S."""

    #: The compiled solver's arrays, once rows are numbered.
    shared: Shared
    is_numbered = False

    async def stored(self) -> dict[int, int]:
        """Return how many entries of S each of its blocks has."""
        if self.is_numbered:
            rows = np.diff(self.shared.indptr)
            parts = np.add.reduceat(rows, self._offsets())
            return dict(zip(self.mine, parts.tolist(), strict=True))
        return {block: S.nnz for block, S in self.blocks.items()}

    # -- numbering ----------------------------------------------------------------

    async def number(self, mu: FloatArray) -> list[int]:
        """Number rows for this worker; return how many rows others lend, by peer.

        Own rows come first, each block from a multiple of 16 on, then the rows of
        others that its entries of S refer to.
        """
        # A received array is read-only: to numba a type of its own to compile.
        self.mu = mu = np.array(mu)
        self.k, n = len(mu), int(self.starts[-1])
        sizes = np.diff(self.starts)[self.mine]
        tiles = -(-sizes // LANES)
        starts = np.concatenate([[0], np.cumsum(tiles)]).astype(np.int64)
        offset = np.full(len(self.owners), -1)
        offset[self.mine] = starts[:-1] * LANES
        blocks = [self.blocks.pop(b) for b in self.mine]
        columns = [S.indices for S in blocks]
        homes = [np.searchsorted(self.starts, c, "right") - 1 for c in columns]
        pairs = list(zip(columns, homes, strict=True))
        foreign = [np.unique(c[offset[h] < 0]) for c, h in pairs]
        halo = np.unique(np.concatenate(foreign)) if foreign else np.zeros(0, np.int64)
        first = int(starts[-1]) * LANES
        local = [
            np.where(o < 0, first + np.searchsorted(halo, c), o + c - self.starts[h])
            for c, h, o in ((c, h, offset[h]) for c, h in pairs)
        ]
        counts = np.zeros(first, np.int64)
        mass = np.zeros((int(starts[-1]), LANES))
        width = first + len(halo)
        #: The global number of each local row.
        self.numbers = np.full(width, -1)
        self.numbers[first:] = halo
        for b, m, S in zip(self.mine, sizes, blocks, strict=True):
            at = slice(offset[b], offset[b] + m)
            counts[at] = np.diff(S.indptr)
            mass.reshape(-1)[at] = 1 / n
            self.numbers[at] = self.starts[b] + np.arange(m)
        data = np.concatenate([S.data for S in blocks]).astype(np.float64)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        parts = (data, np.concatenate(local), indptr)
        self.S = sp.csr_array(parts, shape=(first, width))
        self.shared = allocate(
            csr_parts(self.S), mu, mass, np.where(mass > 0, 1.0, 0.0),
            np.zeros((0, LANES), np.int64), n_rows=width,
            block_starts=starts, hessian_size=self.k**2,
        )  # fmt: skip
        self.sizes, self.first, self.halo = sizes, first, halo
        self.lenders = self.owners[np.searchsorted(self.starts, halo, "right") - 1]
        self.lent: dict[int, IntArray] = {}
        self.vector = np.zeros(width)
        self.count = 0
        self.is_numbered = True
        return [int((self.lenders == p).sum()) for p in range(len(self.peers))]

    async def borrow(self) -> None:
        """Inform other keepers which of their rows are needed here."""
        for peer in np.unique(self.lenders):
            ids = self.halo[self.lenders == peer]
            await self._ask(int(peer), "promise", self.me, ids)

    async def promise(self, peer: int, ids: IntArray) -> None:
        """Remember which rows a keeper needs."""
        own = self.numbers[: self.first]
        order = np.argsort(own, kind="stable")
        self.lent[peer] = order[np.searchsorted(own, ids, sorter=order)]

    def _blocks_of_S(self) -> list[Graph]:
        """Return its blocks of S, with columns numbered as the samples are."""
        n, out = int(self.starts[-1]), []
        for at, m in zip(self._offsets(), self.sizes, strict=True):
            part = self.S[at : at + m]
            parts = (part.data, self.numbers[part.indices], part.indptr)
            out.append(sp.csr_array(parts, shape=(int(m), n)))
        return out

    async def unnumber(self) -> None:
        """Turn the numbered rows back into blocks of S, in the order of their rows."""
        if not self.is_numbered:
            return
        self.blocks = dict(zip(self.mine, self._blocks_of_S(), strict=True))
        self.is_numbered = False
        del self.shared, self.numbers, self.S, self.lent

    async def lend_graph(self) -> list[tuple[FloatArray, IntArray, IntArray]]:
        """Return values and columns of S, and entries per row, by block."""
        fits = self.starts[-1] <= np.iinfo(np.int32).max
        narrow = np.int32 if fits else np.int64
        return [
            (S.data, S.indices.astype(narrow), np.diff(S.indptr))
            for S in self._blocks_of_S()
        ]

    async def set_shares(self, mu: FloatArray) -> None:
        """Take other shares for the same rows."""
        self.mu[:] = mu
        self.shared.mu[:] = mu

    # -- vectors, for the spectrum ------------------------------------------------

    async def hold_vector(self, pieces: list[FloatArray]) -> None:
        """Take a vector, a piece for each block."""
        for at, piece in zip(self._offsets(), pieces, strict=True):
            self.vector[at : at + len(piece)] = piece

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

    def _offsets(self) -> IntArray:
        """Return the first row of each block, in this worker's numbers."""
        return np.asarray(self.shared.block_starts[:-1] * LANES)

    def _pieces(self, y: FloatArray) -> list[FloatArray]:
        places = zip(self._offsets(), self.sizes, strict=True)
        return [np.array(y[at : at + m]) for at, m in places]

    async def lanczos_begin(self) -> list[float]:
        """Start from the positive vector of the local solver; return its norms."""
        self.previous, self.next = np.zeros(self.first), np.zeros(self.first)
        norms = []
        for b, at, m in zip(self.mine, self._offsets(), self.sizes, strict=True):
            piece = stream(0, int(self.starts[b])).random(int(m)) + 0.1
            self.next[at : at + m] = piece
            norms.append(float(piece @ piece))
        return norms

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


def stream(seed: int, skip: int) -> np.random.Generator:
    """Return a generator that has drawn ``skip`` doubles already."""
    rng = np.random.default_rng(seed)
    rng.bit_generator.advance(skip)  # type: ignore[attr-defined]
    return rng
