"""The graph of neighbours, built by the keepers of the samples."""

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.distributed import _neighbours as neighbours
from lordclust.distributed._samples import SampleKeeper
from lordclust.graph.kernel import local_scales


class EdgeKeeper(SampleKeeper):
    """Turns blocks of X into blocks of S."""

    async def extent(self) -> list[neighbours.Extent]:
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
                await self._work(self.near[b].offer, X, first, mean, b == other)

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

    async def floor_widths(self, targets: IntArray, typical: float | None) -> None:
        """Raise small widths, given the typical one; without it all are 1."""
        for block in set(self.scales) & set(targets.tolist()):
            self.scales[block] = local_scales(self.scales[block], typical)

    async def lend_widths(self, block: int, rows: IntArray) -> FloatArray:
        """Return widths of rows of a block."""
        return self.scales[block][rows]

    async def weigh(self, q: int) -> None:
        """Turn the q nearest neighbours of its targets into directed edges."""
        for block, near in self.near.items():
            columns, d = near.index[:, :q], near.distance[:, :q]
            widths = await self._widths_of(np.unique(columns))
            own = self.scales[block]
            n = int(self.starts[-1])
            self.blocks[block] = neighbours.weighted(columns, d, own, widths, n)
        del self.near

    async def _widths_of(self, ids: IntArray) -> tuple[IntArray, FloatArray]:
        """Return ids and the widths of these rows, whoever keeps them."""
        home = np.searchsorted(self.starts, ids, "right") - 1
        found = np.empty(len(ids))
        for block in np.unique(home):
            at = home == block
            rows = ids[at] - self.starts[block]
            owner = int(self.owners[block])
            found[at] = await self._ask(owner, "lend_widths", int(block), rows)
        return ids, found

    async def lend_edges(self, block: int) -> list[neighbours.Edges]:
        """Return its edges into a block, reversed."""
        low, high = self.starts[block], self.starts[block + 1]
        return [
            neighbours.edges_into(self.blocks[b], int(self.starts[b]), low, high)
            for b in self.mine
            if b in self.blocks
        ]

    async def gather_edges(self, targets: IntArray) -> None:
        """Request the edges into its targets from all keepers."""
        self.joining: dict[int, list[neighbours.Edges]] = {}
        for block in [b for b in self.mine if b in targets]:
            self.joining[block] = []
            for peer in range(len(self.peers)):
                self.joining[block] += await self._ask(peer, "lend_edges", block)

    async def join_edges(self, diagonal: float) -> None:
        """Make its targets symmetric: an edge in one direction is one in both."""
        for block, edges in self.joining.items():
            first, W = int(self.starts[block]), self.blocks[block]
            self.blocks[block] = neighbours.joined(W, edges, first, diagonal)
        del self.joining
