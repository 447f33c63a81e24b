"""Labels that meet all must-links and cannot-links, and bounds on the sizes.

Must-linked samples form groups, which are placed as one. Groups that cannot-links
connect, directly or through others, form a part: its placement is a graph colouring,
found by branch and bound, the largest total membership first. What remains are single
samples without links, an exact transport problem.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from lordclust._core.typing import FloatArray, IntArray
from lordclust.rounding.transport import Bounds, assign_sizes, priced_assignment

#: Steps of a search that has not found any placement, and those to improve the first.
STEPS, MORE_STEPS = 20_000, 1000
#: Orders in which parts are placed, if bounds on the sizes leave some without a place.
TRIES = 20
#: Samples that an error names.
NAMED = 10


class Groups(NamedTuple):
    """Groups of must-linked samples, and which of them must be apart."""

    of: IntArray  # (n,): the group of each sample
    size: IntArray  # (g,)
    merit: FloatArray  # (g, k): total membership, -inf where known labels differ
    apart: sparse.csr_array  # (g, g): 1 if any of their samples must be apart
    part: IntArray  # (g,): groups connected by cannot-links


def linked_labels(
    P: FloatArray,
    labels: IntArray,
    must: IntArray,
    cannot: IntArray,
    bounds: Bounds | None = None,
    known: IntArray | None = None,
) -> IntArray:
    """Return labels of large total membership that meet all links and bounds.

    Without bounds, parts that meet their links keep their ``labels``.

    Parameters
    ----------
    P : ndarray of shape (n, k)
        Memberships.
    labels : ndarray of int, shape (n,)
        Labels that meet the known ones.
    must, cannot : ndarray of int, shape (m, 2)
        Pairs of samples; no cannot-link is within a group of must-linked samples.
    bounds : Bounds, optional
        Bounds on the sizes.
    known : ndarray of int, shape (n,), optional
        Known labels, -1 if unknown.

    Raises
    ------
    ValueError
        If there are no such labels, or none were found.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
    >>> must, cannot = np.array([[2, 3]]), np.array([[0, 2]])
    >>> linked_labels(P, P.argmax(axis=1), must, cannot)
    array([0, 0, 1, 1])
    """
    groups = _grouped(P, must, cannot, known)
    n, k = P.shape
    fixed = np.isneginf(groups.merit).any(axis=1)
    linked = (groups.size > 1) | (np.diff(groups.apart.indptr) > 0)
    cluster = np.where(fixed, groups.merit.argmax(axis=1), -1)
    cluster[linked] = -1
    if bounds is None:
        room = Bounds(np.zeros(k, dtype=np.int64), np.full(k, n))
        broken = np.concatenate(
            [must[labels[must.T[0]] != labels[must.T[1]]],
             cannot[labels[cannot.T[0]] == labels[cannot.T[1]]]]
        )  # fmt: skip
        kept = ~np.isin(groups.part, groups.part[groups.of[broken.ravel()]])
        first = np.unique(groups.of, return_index=True)[1]
        cluster = np.where(kept, labels[first], cluster)
    else:
        room, price = bounds, priced_assignment(-P, bounds).prices
        groups = groups._replace(merit=groups.merit + groups.size[:, None] * price)
    cluster = _placed(groups, np.flatnonzero(linked & (cluster < 0)), cluster, room)
    found = cluster[groups.of]
    free = found < 0
    if free.any():
        taken = np.bincount(found[~free], minlength=k)
        rest = Bounds(np.maximum(room.low - taken, 0), room.high - taken)
        found[free] = assign_sizes(-P[free], rest)
    if bounds is None and len(np.unique(found)) < len(np.unique(labels)) == k:
        ones = np.ones(k, dtype=np.int64)  # no cluster may become empty
        return linked_labels(P, labels, must, cannot, Bounds(ones, room.high), known)
    return np.asarray(found)


def _grouped(
    P: FloatArray, must: IntArray, cannot: IntArray, known: IntArray | None
) -> Groups:
    """Return the groups and parts of linked samples."""
    n = len(P)
    count, of = _components(must, n)
    sums = sparse.csr_array((np.ones(n), (of, np.arange(n))), shape=(count, n))
    merit = np.asarray(sums @ P, dtype=np.float64)
    if known is not None:
        given = np.flatnonzero(known >= 0)
        allowed = merit[of[given], known[given]]
        merit[of[given]] = -np.inf
        merit[of[given], known[given]] = allowed
    i, j = of[cannot].T
    pairs = sparse.coo_array((np.ones(2 * len(i)), (np.r_[i, j], np.r_[j, i])),
                             shape=(count, count))  # fmt: skip
    part = _components(of[cannot], count)[1]
    return Groups(of, np.bincount(of), merit, sparse.csr_array(pairs), part)


def _components(pairs: IntArray, n: int) -> tuple[int, IntArray]:
    """Return the number of components of a graph, and the component of each vertex."""
    i, j = pairs.T
    graph = sparse.coo_array((np.ones(len(i)), (i, j)), shape=(n, n))
    count, of = connected_components(graph, directed=False)
    return int(count), np.asarray(of, dtype=np.int64)


def _placed(
    groups: Groups, waiting: IntArray, cluster: IntArray, room: Bounds
) -> IntArray:
    """Return the cluster of each group, with all that are waiting in their place.

    Large parts come first; one that finds no place is moved to the front.
    """
    waiting = waiting[np.argsort(groups.part[waiting], kind="stable")]
    ends = np.flatnonzero(np.diff(groups.part[waiting])) + 1
    parts = np.split(waiting, ends) if len(waiting) else []
    parts.sort(key=lambda one: (-len(one), -groups.size[one].sum()))
    for _ in range(TRIES):
        found, failed = cluster.copy(), -1
        taken = np.repeat(cluster, groups.size * (cluster >= 0))
        load = np.bincount(taken, minlength=len(room.low))
        for at, part in enumerate(parts):
            place = _best_place(groups, part, load.copy(), room)
            if place is None:
                failed = at
                break
            found[part] = place
            np.add.at(load, place, groups.size[part])
        if failed < 0:
            return found
        parts.insert(0, parts.pop(failed))
        if failed == 0:
            break
    raise _no_place(groups, parts[0], room)


def _best_place(
    groups: Groups, part: IntArray, load: IntArray, room: Bounds
) -> IntArray | None:
    """Return the clusters of the groups of a part, or None if none were found.

    Depth first: the group with the fewest clusters left comes next, its best cluster
    first. A branch is left if even the best clusters of all others do not improve on
    the best placement so far. ``load`` counts the samples that have their place.
    """
    merit, size = groups.merit[part], groups.size[part]
    left = len(groups.of) - int(load.sum())
    banned, where = np.zeros(merit.shape, dtype=np.int64), np.full(len(part), -1)
    if len(part) == 1:
        _, choices = _next_choice(merit, size, banned, where, load, left, room)
        return np.array(choices[-1:]) if choices else None
    near = groups.apart[part][:, part]
    hope, total, best, most = merit.max(axis=1), 0.0, None, -np.inf
    steps, limit = 0, STEPS
    stack = [_next_choice(merit, size, banned, where, load, left, room)]
    while stack and steps < limit:
        g, choices = stack[-1]
        if where[g] >= 0 or choices:
            # Undo the last choice for this group, make the next one.
            for j, sign in ((where[g], -1), (choices.pop() if choices else -1, 1)):
                if j >= 0:
                    banned[near.indices[near.indptr[g] : near.indptr[g + 1]], j] += sign
                    load[j] += sign * size[g]
                    left -= sign * size[g]
                    total += sign * merit[g, j]
                where[g] = j if sign > 0 else -1
        if where[g] < 0:
            stack.pop()
            continue
        steps += 1
        open_ = where < 0
        if total + hope[open_].sum() <= most + 1e-12 * abs(most):
            continue
        if open_.any():
            stack.append(_next_choice(merit, size, banned, where, load, left, room))
            continue
        if best is None:
            limit = steps + MORE_STEPS
        best, most = where.copy(), total
    return best


def _next_choice(
    merit: FloatArray, size: IntArray, banned: IntArray, where: IntArray,
    load: IntArray, left: int, room: Bounds,
) -> tuple[int, list[int]]:  # fmt: skip
    """Return the group with the fewest clusters left, and these, the best one last."""
    fits = (banned == 0) & (merit > -np.inf) & (load + size[:, None] <= room.high)
    # The samples that remain must fill all clusters up to the lower bounds.
    lack = np.maximum(room.low - load, 0)
    fits &= lack.sum() - np.minimum(lack, size[:, None]) <= left - size[:, None]
    count = np.where(where < 0, fits.sum(axis=1), merit.shape[1] + 1)
    g = int(np.lexsort((-size, count))[0])
    return g, [int(j) for j in np.argsort(merit[g], kind="stable") if fits[g, j]]


def _no_place(groups: Groups, part: IntArray, room: Bounds) -> ValueError:
    """Return the error for groups that find no place, with the least reason found."""
    k = len(room.low)
    allowed = np.where(np.isneginf(groups.merit[part]), 0, room.high).max(axis=1)
    large = part[groups.size[part] > allowed]
    if len(large):
        g = large[0]
        return ValueError(
            f"must_link connects {groups.size[g]} samples, {_named(groups, [g])}, but "
            f"their cluster holds at most {allowed[part == g][0]}. Raise its size, or "
            "remove links."
        )
    clique = _clique(groups, part)
    if len(clique) > k:
        return ValueError(
            f"cannot_link separates {k + 1} samples from each other, "
            f"{_named(groups, clique[: k + 1], each=True)}, directly or through "
            f"must_link, but there are {k} clusters. Raise n_clusters, or remove links."
        )
    core = _core(groups, part, k)
    return ValueError(
        f"No labels with {k} clusters were found that meet all links and sizes of "
        f"{_named(groups, core)}. Remove links, loosen the sizes, or use "
        'links="soft".'
    )


def _clique(groups: Groups, part: IntArray) -> list[int]:
    """Return a large set of groups that are all apart, found greedily."""
    degree, best = np.diff(groups.apart.indptr), list[int]()
    for g in part[np.argsort(-degree[part], kind="stable")]:
        clique, others = [int(g)], groups.apart[[g]].indices
        while len(others):
            h = others[degree[others].argmax()]
            clique.append(int(h))
            others = np.intersect1d(others, groups.apart[[h]].indices)
        best = max(best, clique, key=len)
    return best


def _core(groups: Groups, part: IntArray, k: int) -> IntArray:
    """Return the part without groups of so few cannot-links that they always fit."""
    core = part
    while True:
        degree = np.diff(groups.apart[core][:, core].indptr)
        kept = core[(degree >= k) | np.isneginf(groups.merit[core]).any(axis=1)]
        if len(kept) == len(core) or not len(kept):
            return core
        core = kept


def _named(groups: Groups, some: IntArray | list[int], *, each: bool = False) -> str:
    """Return the samples of groups as text, or one sample of each."""
    samples = np.flatnonzero(np.isin(groups.of, some))
    if each:
        samples = samples[np.unique(groups.of[samples], return_index=True)[1]]
    text = ", ".join(map(str, np.sort(samples)[:NAMED]))
    return f"({text}{', ...' if len(samples) > NAMED else ''})"
