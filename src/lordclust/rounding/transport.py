"""Partitions with given cluster sizes: exact transport between rows and clusters."""

from typing import NamedTuple

import numpy as np

from lordclust._core.typing import ArrayLike, FloatArray, IntArray
from lordclust._core.validation import check_count, check_proportions, to_array

#: Remainders of n * share closer than this are equal up to rounding.
TIE = 1e-9
#: Sweeps that improve the prices before rows are moved one by one.
SWEEPS = 2
#: Up to this many moves per cluster, filling heaps does not pay off.
FEW = 20


class Assignment(NamedTuple):
    """A partition of least cost with given sizes, and the prices that certify it."""

    labels: IntArray
    prices: FloatArray


def assign_sizes(cost: ArrayLike, sizes: ArrayLike) -> IntArray:
    """Return labels of least total cost, with ``sizes[j]`` rows in each cluster j."""
    return priced_assignment(cost, sizes).labels


def priced_assignment(
    cost: ArrayLike, sizes: ArrayLike, prices: ArrayLike | None = None
) -> Assignment:
    """Return the partition of least cost with given sizes, and its prices.

    The label of every row minimises cost[i, j] - prices[j], the optimality certificate
    of linear programming: no partition with these sizes costs less. ``prices`` of a
    similar problem are a good start.

    Prices are first improved one after the other. Each row begins where cost - prices
    is least, which is optimal for the sizes that result. Then one row at a time is
    moved from a cluster with a surplus to one with a deficit, along a shortest path
    among the k clusters, which keeps the partition optimal for its sizes. A path costs
    O(k^2 + k log n) if it is short, and there are at most n; memory is O(nk).
    """
    C = np.ascontiguousarray(cost, dtype=np.float64)
    if C.ndim != 2 or C.size == 0:
        raise ValueError(
            f"cost must have a row for each sample and a column for each cluster, got "
            f"shape {C.shape}."
        )
    if not np.isfinite(C).all():
        raise ValueError(
            "cost must be finite, but it contains NaN or infinity. Use a large number "
            "for assignments that are not allowed."
        )
    n, k = C.shape
    wanted = check_sizes(sizes, k, n)
    # A power of two causes no rounding, and differences of costs cannot overflow.
    exponent = int(np.frexp(np.abs(C).max())[1])
    C = np.ldexp(C, -exponent)
    price = np.zeros(k) if prices is None else np.ldexp(prices, -exponent)
    labels, surplus = _cheapest(C, price, wanted)
    if surplus.any():
        from lordclust.rounding import _transport_kernels as kernels

        kernels.improve_prices(C, price, wanted, SWEEPS)
        labels, surplus = _cheapest(C, price, wanted)
        few = surplus[surplus > 0].sum() < FEW * k
        shape = (3, 0, k) if few else (3, n, k)
        child, after, before = np.full(shape, kernels.NONE, dtype=np.int32)
        root = np.full((k, k), kernels.NONE, dtype=np.int32)
        heaps = kernels.Heaps(C, child, after, before, root)
        kernels.balance(heaps, labels, price, surplus, bool(few))
    return Assignment(labels, np.ldexp(price, exponent))


def sizes_from(proportions: ArrayLike, n: int) -> IntArray:
    """Return integer sizes that sum to n and are nearest to n * proportions.

    Every share is rounded down, and the remaining samples go to the largest
    remainders, the first ones in case of ties. The proportions are positive and sum
    to 1.
    """
    shares = check_proportions(proportions, np.size(proportions))
    return whole_sizes(shares, check_count(n, "n"))


def whole_sizes(shares: FloatArray, n: int) -> IntArray:
    """Return the same as :func:`sizes_from`, for shares that may be 0."""
    exact = shares * n
    sizes = np.floor(exact + TIE).astype(np.int64)
    remainder = np.round((exact - sizes) / TIE)
    first = np.argsort(-remainder, kind="stable")[: n - sizes.sum()]
    sizes[first] += 1
    return np.asarray(sizes)


def check_sizes(sizes: ArrayLike, k: int, n: int, *, name: str = "sizes") -> IntArray:
    """Return k integer sizes that sum to n."""
    found = to_array(sizes, name)
    if found.shape != (k,):
        raise ValueError(
            f"{name} must hold n_clusters={k} numbers, got shape {found.shape}. Pass "
            "one size for each cluster."
        )
    if found.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be integers, got {found.dtype}. Pass integers, or "
            "proportions for shares of the samples."
        )
    if found.min() < 0:
        raise ValueError(
            f"{name} must not be negative, got {found.min()} at position "
            f"{int(found.argmin())}. Use 0 for an empty cluster."
        )
    if found.sum() != n:
        raise ValueError(
            f"{name} must sum to the number of samples, {n}, got a sum of "
            f"{found.sum()}. Pass proportions if only shares are known."
        )
    return np.array(found, dtype=np.int64)


def _cheapest(
    cost: FloatArray, price: FloatArray, sizes: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the labels that minimise cost - price, and each cluster's surplus."""
    labels = (cost - price).argmin(axis=1)
    return labels, np.bincount(labels, minlength=len(sizes)) - sizes
