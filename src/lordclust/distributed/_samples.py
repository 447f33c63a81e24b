"""What a worker computes of its samples for the choice: moments, scores, k-means."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lordclust._core.typing import FloatArray, IntArray
from lordclust.distributed._blocks import BlockKeeper


class Origin(NamedTuple):
    """The unit that samples are multiplied by, and their mean in this unit."""

    unit: float
    mean: FloatArray

    def centred(self, X: FloatArray) -> FloatArray:
        """Return samples relative to their mean, in this unit."""
        return np.asarray(X.astype(np.float64) * self.unit - self.mean)


class Tally(NamedTuple):
    """A block's part of the centres of clusters."""

    sums: FloatArray
    counts: IntArray
    squares: float
    moved: int


class SampleKeeper(BlockKeeper):
    """Sums over the samples of its blocks."""

    async def _each(self, task: Callable[..., Any], *args: Any) -> list[Any]:
        """Return the results of a task for each of its blocks."""
        calls = (self._work(task, block, *args) for block in self.mine)
        return list(await asyncio.gather(*calls))

    async def covariance(
        self, origin: Origin, B: FloatArray | None
    ) -> list[FloatArray]:
        """Return Y'Y, or Y'Y B, of its centred samples Y by block."""

        def product(block: int) -> FloatArray:
            Y = origin.centred(self.features[block])
            return np.asarray(Y.T @ (Y if B is None else Y @ B))

        return await self._each(product)

    async def scores(self, origin: Origin, axes: FloatArray) -> list[FloatArray]:
        """Return the coordinates of its samples along some axes, by block."""
        return await self._each(lambda b: origin.centred(self.features[b]) @ axes)

    async def adopt(
        self, labels: list[IntArray], origin: Origin, k: int
    ) -> list[Tally]:
        """Take labels of its samples, by block; return their tallies."""
        self.labels = dict(zip(self.mine, labels, strict=True))
        return await self._each(
            lambda b: tally(origin.centred(self.features[b]), self.labels[b], k)
        )

    async def assign(self, origin: Origin, centres: FloatArray) -> list[Tally]:
        """Label its samples by the nearest of the centres; return the tallies."""
        half = 0.5 * np.einsum("ij,ij->i", centres, centres)

        def nearest(block: int) -> Tally:
            Y = origin.centred(self.features[block])
            before = self.labels[block]
            new = self.labels[block] = (half - Y @ centres.T).argmin(axis=1)
            moved = int((new != before).sum())
            return tally(Y, new, len(centres))._replace(moved=moved)

        return await self._each(nearest)

    async def assigned(self) -> list[IntArray]:
        """Return the labels of its samples by block, and forget them."""
        labels = [self.labels[b] for b in self.mine]
        del self.labels
        return labels

    async def drop_features(self) -> None:
        """Release X."""
        self.features.clear()

    async def lend_scales(self) -> list[FloatArray]:
        """Return the local scales of its samples by block."""
        return [self.scales[b] for b in self.mine]


def tally(Y: FloatArray, labels: IntArray, k: int) -> Tally:
    """Return the sums and sizes of clusters, and the sum of all squares."""
    ones = (np.ones(len(Y)), (labels, np.arange(len(Y))))
    sums = sp.csr_array(ones, shape=(k, len(Y))) @ Y
    return Tally(sums, np.bincount(labels, minlength=k), float((Y * Y).sum()), 0)
