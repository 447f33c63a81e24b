"""Partitions with given cluster sizes: exact transport between rows and clusters."""

from typing import NamedTuple

import numpy as np

from lordclust._core.typing import ArrayLike, FloatArray, IntArray
from lordclust._core.validation import (
    check_count,
    check_not_both,
    check_proportions,
    to_array,
)
from lordclust.rounding.labels import canonical_order

#: Remainders of n * share closer than this are equal up to rounding.
TIE = 1e-9
#: Prices, relative to the largest cost, that are 0 up to rounding.
ROUNDING = 1e-13
#: Sweeps that improve the prices before rows are moved one by one.
SWEEPS = 2
#: Up to this many moves per cluster, filling heaps does not pay off.
FEW = 20


class Bounds(NamedTuple):
    """The least and the largest size of each cluster."""

    low: IntArray
    high: IntArray

    def hold(self, labels: IntArray) -> bool:
        """Return whether the sizes of labels are within the bounds."""
        sizes = np.bincount(labels, minlength=len(self.low))
        return bool(((self.low <= sizes) & (sizes <= self.high)).all())

    def kinds(self) -> FloatArray:
        """Return a number for each cluster, the same for clusters of equal bounds."""
        _, kinds = np.unique(np.array(self), axis=1, return_inverse=True)
        return np.asarray(kinds.ravel(), dtype=np.float64)

    def matched(self, labels: IntArray) -> IntArray:
        """Return the clusters in the order of the bounds: large ones to large bounds.

        Of clusters of equal size the one with the first sample comes first.
        """
        k = len(self.low)
        largest = canonical_order(labels, np.ones(k))
        order = np.empty(k, dtype=np.int64)
        order[np.argsort(-(self.low + self.high), kind="stable")] = largest
        return order


class Assignment(NamedTuple):
    """A partition of least cost with given sizes, and the prices that certify it."""

    labels: IntArray
    prices: FloatArray


def assign_sizes(cost: ArrayLike, sizes: ArrayLike | Bounds) -> IntArray:
    """Return labels of least total cost, with ``sizes[j]`` rows in each cluster j.

    Or, with :class:`Bounds`, at least ``sizes.low[j]`` and at most ``sizes.high[j]``.
    """
    return priced_assignment(cost, sizes).labels


def priced_assignment(
    cost: ArrayLike, sizes: ArrayLike | Bounds, prices: ArrayLike | None = None
) -> Assignment:
    """Return the partition of least cost with given sizes, and its prices.

    The label of every row minimises cost[i, j] - prices[j], the optimality certificate
    of linear programming: no partition with these sizes costs less. ``prices`` of a
    similar problem are a good start.

    Sizes may also be bounds. Then a positive price requires the least size, and a
    negative one the largest. Within the bounds a cluster's target size is free: a
    pool, beside the clusters, exchanges targets between them at no cost.

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
    if not isinstance(sizes, Bounds):
        sizes = Bounds(*[check_sizes(sizes, k, n)] * 2)
    low, high = sizes
    # A power of two causes no rounding, and differences of costs cannot overflow.
    exponent = int(np.frexp(np.abs(C).max())[1])
    C = np.ldexp(C, -exponent)
    price = np.zeros(k) if prices is None else np.ldexp(prices, -exponent)
    labels, surplus, target = _cheapest(C, price, sizes)
    if surplus.any():
        from lordclust.rounding import _transport_kernels as kernels

        kernels.improve_prices(C, price, low, high, SWEEPS)
        labels, surplus, target = _cheapest(C, price, sizes)
        few = surplus[surplus > 0].sum() < FEW * k
        shape = (3, 0, k) if few else (3, n, k)
        child, after, before = np.full(shape, kernels.NONE, dtype=np.int32)
        root = np.full((k, k), kernels.NONE, dtype=np.int32)
        heaps = kernels.Heaps(C, child, after, before, root)
        price = np.append(price, 0.0)  # of the pool
        kernels.balance(heaps, labels, price, surplus, target, low, high, bool(few))
        price, pool = price[:k], price[k]
        if (low < high).any():
            price -= pool
            price[np.abs(price) < ROUNDING] = 0.0  # away from the bounds
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
    """Return k integer sizes that sum to n; one number is the size of all."""
    found = to_array(sizes, name)
    if found.ndim == 0 and found.dtype.kind in "iu":
        if int(found) * k != n:
            raise ValueError(
                f"{name}={found} times {k} clusters is {int(found) * k}, but there are "
                f"{n} samples. Pass one size for each cluster, or size_min and "
                "size_max."
            )
        found = np.full(k, found)
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


def check_bounds(
    size_min: ArrayLike | None, size_max: ArrayLike | None, k: int, n: int, least: int
) -> Bounds:
    """Return bounds on the sizes of k clusters of n samples in all.

    No cluster has fewer than ``least`` samples, whatever ``size_min``.
    """
    low = _whole_bounds(least if size_min is None else size_min, k, n, "size_min")
    low = np.maximum(low, least)
    high = _whole_bounds(n if size_max is None else size_max, k, n, "size_max")
    if (low > high).any():
        j = int((low > high).argmax())
        raise ValueError(
            f"size_min must not exceed size_max, got {low[j]} and {high[j]} samples "
            f"for cluster {j}. Lower size_min, or raise size_max."
        )
    for name, wrong, total, what in (
        ("size_min", low.sum() > n, low.sum(), "at least {}. Lower it"),
        ("size_max", high.sum() < n, high.sum(), "at most {}. Raise it"),
    ):
        if wrong:
            raise ValueError(
                f"{name} does not suit {n} samples: {k} clusters hold "
                f"{what.format(total)}, or change n_clusters."
            )
    return Bounds(low, np.minimum(high, n))


def counts_within(
    size_min: ArrayLike | None, size_max: ArrayLike | None, n: int
) -> tuple[int, int]:
    """Return the least and the largest number of clusters that bounds allow.

    Examples
    --------
    >>> counts_within(20, 25, 230)
    (10, 11)
    """
    given = [np.size(b) for b in (size_min, size_max) if b is not None and np.ndim(b)]
    if given:  # one for each cluster
        return max(given), max(given)
    low = _whole_bounds(0 if size_min is None else size_min, 1, n, "size_min").item()
    high = _whole_bounds(n if size_max is None else size_max, 1, n, "size_max").item()
    least, most = -(-n // max(high, 1)), n // max(low, 1)
    if least > most and low <= high:
        raise ValueError(
            f"size_min and size_max do not suit {n} samples: {most} clusters hold at "
            f"most {most * high}, and {least} at least {least * low}. Lower size_min, "
            "or raise size_max."
        )
    return least, max(least, most)


def _whole_bounds(value: ArrayLike, k: int, n: int, name: str) -> IntArray:
    """Return a bound for each cluster as whole numbers: shares are rounded inwards."""
    found = to_array(value, name)
    if found.shape not in ((), (k,)):
        raise ValueError(
            f"{name} must be one number, or n_clusters={k} numbers, got shape "
            f"{found.shape}. Pass one number for each cluster."
        )
    if found.dtype.kind not in "iuf":
        raise ValueError(
            f"{name} must be numbers, got {found.dtype}. Pass numbers of samples, or "
            "shares below 1."
        )
    is_share = (found > 0) & (found < 1)
    wrong = ~(is_share | (found >= 0) & (found == np.floor(found)) & (found < 2**62))
    if wrong.any():
        raise ValueError(
            f"{name} must be whole numbers of samples, or shares below 1, got "
            f"{found[wrong].flat[0]}. Round it."
        )
    exact = np.where(is_share, found * float(n), found)
    inwards = np.ceil(exact - TIE) if name == "size_min" else np.floor(exact + TIE)
    whole = np.where(is_share, inwards, found).astype(np.int64)
    return np.array(np.broadcast_to(whole, k))


def _cheapest(
    cost: FloatArray, price: FloatArray, bounds: Bounds
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the labels that minimise cost - price, each surplus, and target sizes.

    The last surplus is that of the pool: what all clusters together lack.
    """
    labels = (cost - price).argmin(axis=1)
    sizes = np.bincount(labels, minlength=len(price))
    at_bound = np.where(price > 0, *bounds)
    target = np.where(price == 0, np.clip(sizes, *bounds), at_bound)
    surplus = sizes - target
    return labels, np.append(surplus, -surplus.sum()), target


def batch_sizes(
    shares: FloatArray,
    m: int,
    proportions: ArrayLike | None,
    cluster_sizes: ArrayLike | None,
    size_min: ArrayLike | None,
    size_max: ArrayLike | None,
) -> IntArray | Bounds:
    """Return sizes, or bounds, for a batch of m samples; by default the shares."""
    k = len(shares)
    if size_min is not None or size_max is not None:
        check_not_both(proportions, "proportions", "size_min or size_max")
        check_not_both(cluster_sizes, "cluster_sizes", "size_min or size_max")
        return check_bounds(size_min, size_max, k, m, least=0)
    if cluster_sizes is not None:
        check_not_both(proportions, "proportions", "cluster_sizes")
        return check_sizes(cluster_sizes, k, m, name="cluster_sizes")
    if proportions is not None:
        return sizes_from(check_proportions(proportions, k), m)
    return whole_sizes(shares, m)
