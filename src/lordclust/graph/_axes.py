"""Fewer coordinates for a search, if neighbours stay neighbours in them."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.linalg import eigh, qr

from lordclust._core.typing import FloatArray, IntArray
from lordclust.graph.euclidean import SearchSpace
from lordclust.graph.row_blocks import slices

#: Numbers of axes to try.
AXES = (32, 64, 96, 128, 192, 256)
#: Points that determine the axes, and multiplications with their covariance.
DRAWN, POWERS = 1 << 13, 4
#: Points that are projected at once.
BLOCK = 1 << 11


def reduced_spaces(
    space: SearchSpace, order: IntArray, pool: ThreadPoolExecutor
) -> Iterable[SearchSpace]:
    """Yield the space in its principal axes: the first few, then more, up to half.

    Distances are those of the projections, and never larger; ``measure`` is the same.
    The result does not depend on the order of the samples if ``order`` sorts them by
    content.
    """
    counts = [count for count in AXES if 2 * count <= space.base.shape[1]]
    if not counts:
        return
    V = principal_axes(space.base[order[:DRAWN]], counts[-1])
    P = np.empty((len(order), counts[-1]), dtype=np.float32)

    def task(rows: slice) -> None:
        P[order[rows]] = space.base[order[rows]] @ V

    list(pool.map(task, slices(len(order), BLOCK)))
    for count in counts:
        base, axes = P[:, :count], V[:, :count]

        def queries(
            rows: IntArray, base: FloatArray = base, axes: FloatArray = axes
        ) -> FloatArray:
            return base[rows] if space.symmetric else space.queries(rows) @ axes

        yield SearchSpace(base, queries, space.measure, space.symmetric)


def principal_axes(points: FloatArray, count: int) -> FloatArray:
    """Return orthonormal columns, about those of the largest variance, in this order.

    Examples
    --------
    >>> points = np.array([[0, 3], [0, -3], [1, 0], [-1, 0]], dtype=np.float32)
    >>> abs(principal_axes(points, 1).ravel()).round(2).tolist()
    [0.0, 1.0]
    """
    Y = points - points.mean(axis=0)
    V = np.random.default_rng(0).standard_normal((Y.shape[1], count), np.float32)
    for _ in range(POWERS):
        V = qr(Y.T @ (Y @ V), mode="economic")[0]
    Z = (Y @ V).astype(np.float64)
    return np.asarray(V @ eigh(Z.T @ Z)[1][:, ::-1].astype(np.float32))
