"""The compiled passes of the sparse solver: over the entries of V, not over n x k.

Layout. A row with one positive entry is *hard*: ``hard[i]`` is its column, its value
is unit / mu, and nothing else is stored. The entries of all other rows, of S V and of
U are in a :class:`Table`: row i has ``count[i]`` of them from ``start[i]`` on, within
the part of its block, ``base[block]`` to ``base[block + 1]``. If a part is too short,
the pass writes what fits and reports in ``need`` how long it has to be; the caller
makes it longer and repeats the pass, which does not change what it reads.

Absent entries. Where row i of U has no entry, U_ij = 0, and the projection is
V_ij = max(-a_j - b_i mu_j, 0): positive exactly where -a_j / mu_j > b_i. With the
columns in decreasing order of -a_j / mu_j, these are the first ones. So each pass
accounts for all n k entries, and for a row it looks at one absent entry more than
become positive (and at those of its own that come before them in the order).

Threads. A pass is called once per thread, for some of the blocks. Sums are kept by
block and added in block order, and one thread adds up H, to which only rows that are
not hard contribute: results do not depend on the number of threads.
"""
# mypy: disable-error-code="no-untyped-def"

from collections import namedtuple

import numpy as np

from lordclust._core.jit import inlined, njit_with
from lordclust.solver import rules
from lordclust.solver.rules import ROOT_EPSILON, ROOT_ERROR, ROOT_STEPS

njit = njit_with(rules)
cg_continues = inlined(rules.cg_continues)

# Entries by rows: where they start, how many, their columns, and one or two values:
# V; or V and S Q V; or U and W.
Table = namedtuple("Table", ["base", "start", "count", "columns", "values", "others"])
# What does not change: S Q in CSR form, mu, unit / mu, the value of V mu in each row,
# weights, known clusters (empty if none is known), and the first rows of the blocks.
Fixed = namedtuple(
    "Fixed",
    ["indptr", "indices", "data", "mu", "top", "unit", "weight", "known", "first"],
)
# Where the rows are looked for: the multipliers a, and the columns in decreasing order
# of -a / mu.
Place = namedtuple("Place", ["a", "order", "ratio"])

# A row of ``parts``: k column sums, then these.
DUAL, MOVED, QUAD, NORM2, TRACE, PAIRS, ENTRIES, SUMS = range(8)


@njit
def multiply(f, V, hard, old, stale, P, need, blocks):
    """Write the rows of V and of S Q V: where either has an entry, both have one.

    Rows that have not changed, and of which no neighbour has, are those of ``old``.
    """
    k = f.mu.shape[0]
    indptr, indices, data, top = f.indptr, f.indices, f.data, f.top
    starts, counts, columns, values = V.start, V.count, V.columns, V.values
    old_start, old_count, old_columns = old.start, old.count, old.columns
    old_values, old_products = old.values, old.others
    new_start, new_count, new_columns = P.start, P.count, P.columns
    new_values, new_products = P.values, P.others
    mark, place = np.full(k, -1), np.empty(k, np.int64)
    found, own, total = np.empty(k, np.int64), np.empty(k), np.empty(k)
    for block in range(blocks[0], blocks[1]):
        at, end = P.base[block], P.base[block + 1]
        for i in range(f.first[block], f.first[block + 1]):
            m = 0
            if stale[i] == 0:
                m, low = old_count[i], old_start[i]
                for x in range(m if at + m <= end else 0):
                    new_columns[at + x] = old_columns[low + x]
                    new_values[at + x] = old_values[low + x]
                    new_products[at + x] = old_products[low + x]
            else:
                for e in range(indptr[i] - 1, indptr[i + 1]):
                    # The row itself comes first: it has places, and adds nothing.
                    row, s = i, 0.0
                    if e >= indptr[i]:
                        row, s = indices[e], data[e]
                    low, high, column = starts[row], starts[row] + counts[row], -1
                    if hard[row] >= 0:
                        low, high, column = 0, 1, hard[row]
                    for x in range(low, high):
                        value = top[column] if hard[row] >= 0 else values[x]
                        if hard[row] < 0:
                            column = columns[x]
                        if mark[column] != i:
                            mark[column], place[column] = i, m
                            found[m], total[m] = column, 0.0
                            own[m] = value if e < indptr[i] else 0.0
                            m += 1
                        total[place[column]] += s * value
                for x in range(m if at + m <= end else 0):
                    new_columns[at + x] = found[x]
                    new_values[at + x] = own[x]
                    new_products[at + x] = total[x]
            new_start[i], new_count[i] = at, m
            at += m
        need[block] = at - P.base[block]


@njit
def take_step(f, P, before, U, theta, keep, step, parts, need, blocks):
    """Write U = keep W + step S Q W and W, where W = V + theta (V - V_before).

    A known row has an entry in its column only.
    """
    k = f.mu.shape[0]
    weight, known = f.weight, f.known
    start, count, columns, values, products = (
        P.start, P.count, P.columns, P.values, P.others,
    )  # fmt: skip
    b_start, b_count, b_columns, b_values, b_products = (
        before.start, before.count, before.columns, before.values, before.others,
    )  # fmt: skip
    u_start, u_count, u_columns, u, ahead = (
        U.start, U.count, U.columns, U.values, U.others,
    )  # fmt: skip
    seen, v_before, sv_before = np.full(k, -1), np.zeros(k), np.zeros(k)
    for block in range(blocks[0], blocks[1]):
        at, end = U.base[block], U.base[block + 1]
        all_quad = all_norm2 = 0.0
        for i in range(f.first[block], f.first[block + 1]):
            low, now, first = start[i], count[i], b_start[i]
            more = b_count[i] if theta != 0.0 else 0
            for x in range(first, first + more):
                v_before[b_columns[x]] = b_values[x]
                sv_before[b_columns[x]] = b_products[x]
            only = known[i] if known.shape[0] > 0 else -1
            quad = norm2 = 0.0
            m = 0
            for x in range(now + more):
                v = sv = 0.0
                if x < now:
                    column, v, sv = columns[low + x], values[low + x], products[low + x]
                    seen[column] = i
                else:
                    column = b_columns[first + x - now]
                    if seen[column] == i:
                        continue
                if only >= 0 and column != only:
                    continue
                quad += v * sv
                norm2 += v * v
                w, sw = v, sv
                if more > 0:
                    w += (v - v_before[column]) * theta
                    sw += (sv - sv_before[column]) * theta
                if at + m < end:
                    u_columns[at + m] = column
                    u[at + m], ahead[at + m] = w * keep + sw * step, w
                m += 1
            for x in range(first, first + more):
                v_before[b_columns[x]] = sv_before[b_columns[x]] = 0.0
            all_quad += quad * weight[i]
            all_norm2 += norm2 * weight[i]
            u_start[i], u_count[i] = at, m
            at += m
        need[block] = at - U.base[block]
        parts[block, k + QUAD], parts[block, k + NORM2] = all_quad, all_norm2


@inlined
def find_row(low, high, u_columns, u, mu, top, unit, a, order, ratio, i, free, b, mark,
             columns, values):  # fmt: skip
    """Solve sum_j mu_j max(U_ij - a_j - b mu_j, 0) = unit for b, from an old b.

    Newton's method on a convex piecewise linear function: finite, and from the old b
    mostly one step. The list of entries begins with those of U; absent ones join it
    when they are positive at some b, the first ``free`` of the order at most. Returns
    b and the number of positive entries, which ``columns`` and ``values`` receive.
    """
    n_listed, next_absent, lost = 0, 0, False
    for e in range(low, high):
        column = u_columns[e]
        mark[column] = i
        columns[n_listed], values[n_listed] = column, u[e] - a[column]
        n_listed += 1
    for _ in range(ROOT_STEPS):
        if lost:  # no entry is positive: b at or below the root
            best, largest = -1, -np.inf
            for x in range(n_listed):
                if values[x] / mu[columns[x]] > largest:
                    best, largest = columns[x], values[x] / mu[columns[x]]
            if next_absent < free and ratio[next_absent] > largest:
                best, largest = order[next_absent], ratio[next_absent]
            b = largest - unit / (mu[best] * mu[best])
        while next_absent < free and ratio[next_absent] > b:
            column = order[next_absent]
            if mark[column] != i:
                columns[n_listed], values[n_listed] = column, -a[column]
                n_listed += 1
            next_absent += 1
        total = slope = 0.0
        for x in range(n_listed):
            size = mu[columns[x]]
            v = values[x] - b * size
            if v > 0.0:
                total += v * size
                slope += size * size
        lost = slope == 0.0
        if not lost:
            excess = total - unit
            move = excess / slope
            if abs(excess) <= ROOT_ERROR * unit or abs(move) <= ROOT_EPSILON * abs(b):
                break
            b += move
    m = 0
    for x in range(n_listed):
        v = values[x] - b * mu[columns[x]]
        if v > 0.0:
            columns[m], values[m] = columns[x], v
            m += 1
    if m == 1:
        values[0] = top[columns[0]]
    return b, m


@inlined
def distance(low, high, u_columns, W, columns, values, m, dense):
    """Return |V - W|^2 for a row, given the positive entries of V."""
    for x in range(m):
        dense[columns[x]] = values[x]
    total = 0.0
    for e in range(low, high):
        d = dense[u_columns[e]] - W[e]
        total += d * d
        dense[u_columns[e]] = 0.0
    for x in range(m):  # where U has no entry W is 0
        total += dense[columns[x]] * dense[columns[x]]
        dense[columns[x]] = 0.0
    return total


@njit
def find_rows(f, U, p, b, single, measure, parts, blocks):
    """Find the roots of all rows for the multipliers a, and add up what they give.

    ``single`` receives the columns of the hard rows, -1 for others. A row is hard in
    the column of its largest (U_ij - a_j) / mu_j, if in any: if the second largest,
    absent entries included, is at or below the b of this column alone.
    """
    k = f.mu.shape[0]
    mu, top, unit, weight, known = f.mu, f.top, f.unit, f.weight, f.known
    a, order, ratio, inverse = p.a, p.order, p.ratio, 1.0 / f.mu
    start, count, u_columns, u, W = U.start, U.count, U.columns, U.values, U.others
    mark, dense = np.full(k, -1), np.zeros(k)
    columns, values = np.empty(k, np.int64), np.empty(k)
    for block in range(blocks[0], blocks[1]):
        part = parts[block]
        for j in range(k):
            part[j] = 0.0
        dual = moved = trace = 0.0
        pairs = entries = 0
        for i in range(f.first[block], f.first[block + 1]):
            free = 0 if known.shape[0] > 0 and known[i] >= 0 else k
            low, high = start[i], start[i] + count[i]
            best, largest, second = -1, -np.inf, ratio[0] if free > 0 else -np.inf
            for e in range(low, high):
                x = (u[e] - a[u_columns[e]]) * inverse[u_columns[e]]
                if x > largest:
                    best, largest, second = e, x, max(largest, second)
                elif x > second:
                    second = x
            q, m, norm2 = weight[i], 1, 0.0
            if best >= 0:
                columns[0] = u_columns[best]
                values[0] = top[u_columns[best]]
                root = largest - values[0] * inverse[u_columns[best]]
            if best < 0 or second > root:
                root, m = find_row(
                    low, high, u_columns, u, mu, top, unit, a, order, ratio, i, free,
                    b[i], mark, columns, values,
                )  # fmt: skip
            b[i] = root
            single[i] = columns[0] if m == 1 else -1
            for x in range(m):
                part[columns[x]] += q * values[x]
                norm2 += values[x] * values[x]
            dual += q * (0.5 * norm2 + root * unit)
            trace += q * (m - 1)
            pairs += m * (m - 1) // 2
            entries += m
            if measure:
                moved += q * distance(
                    low, high, u_columns, W, columns, values, m, dense
                )
        part[k + DUAL], part[k + MOVED], part[k + TRACE] = dual, moved, trace
        part[k + PAIRS], part[k + ENTRIES] = pairs, entries


@njit
def keep_rows(f, U, p, b, single, V, hard, stale, need, blocks):
    """Write the rows at a and b, and mark those that have changed and their neighbours.

    ``hard`` is that of the iterate before.
    """
    k = f.mu.shape[0]
    mu, top, unit, indptr, indices = f.mu, f.top, f.unit, f.indptr, f.indices
    a, order, ratio = p.a, p.order, p.ratio
    start, count, u_columns, u = U.start, U.count, U.columns, U.values
    new_start, new_count, new_columns, new_values = (
        V.start,
        V.count,
        V.columns,
        V.values,
    )
    mark = np.full(k, -1)
    columns, values = np.empty(k, np.int64), np.empty(k)
    for block in range(blocks[0], blocks[1]):
        at, end = V.base[block], V.base[block + 1]
        for i in range(f.first[block], f.first[block + 1]):
            m = 0
            if single[i] < 0:
                # b is the root already: this only evaluates V there. A known row has
                # one entry, so that here all columns are free.
                _, m = find_row(
                    start[i], start[i] + count[i], u_columns, u, mu, top, unit, a,
                    order, ratio, i, k, b[i], mark, columns, values,
                )  # fmt: skip
                for x in range(m if at + m <= end else 0):
                    new_columns[at + x], new_values[at + x] = columns[x], values[x]
            new_start[i], new_count[i] = at, m
            at += m
            if single[i] < 0 or single[i] != hard[i]:
                stale[i] = 1
                # Several threads may write here, but they all write 1.
                for e in range(indptr[i], indptr[i + 1]):
                    stale[indices[e]] = 1
        need[block] = at - V.base[block]


@njit
def add_pairs(f, U, p, b, single, keys, sums):
    """Add up q mu_j mu_l / slope over the rows with positive entries in j and l.

    These are minus the entries of H above its diagonal, j < l. Their key is j k + l;
    without ``keys`` it is their place in ``sums``, otherwise they are a hash table.
    """
    k, last = f.mu.shape[0], keys.shape[0] - 1
    mu, top, unit, weight = f.mu, f.top, f.unit, f.weight
    a, order, ratio = p.a, p.order, p.ratio
    start, count, u_columns, u = U.start, U.count, U.columns, U.values
    mark = np.full(k, -1)
    columns, values = np.empty(k, np.int64), np.empty(k)
    for i in range(single.shape[0]):
        if single[i] >= 0:
            continue
        _, m = find_row(
            start[i], start[i] + count[i], u_columns, u, mu, top, unit, a, order, ratio,
            i, k, b[i], mark, columns, values,
        )  # fmt: skip
        slope = 0.0
        for x in range(m):
            slope += mu[columns[x]] * mu[columns[x]]
        share = weight[i] / slope
        for x in range(m):
            for y in range(x):
                j, el = columns[x], columns[y]
                slot = key = min(j, el) * k + max(j, el)
                if last >= 0:
                    slot = (key ^ (key >> 15)) * 0x9E3779B1 & last
                    while keys[slot] != key and keys[slot] >= 0:
                        slot = (slot + 1) & last
                    keys[slot] = key
                sums[slot] += share * mu[j] * mu[el]


@njit
def conjugate_gradients(firsts, seconds, data, diagonal, F, accuracy, steps):
    """Solve H d = F, scaled by the diagonal of H, damping included.

    ``data`` are the entries above it, in rows ``firsts`` and columns ``seconds``.
    """
    k = F.shape[0]
    d, r, p, image = np.zeros(k), F.copy(), F / diagonal, np.empty(k)
    start = 0.0
    for j in range(k):
        start += r[j] * p[j]
    rho = start
    for _ in range(steps):
        if not cg_continues(rho, start, accuracy):
            break
        for j in range(k):
            image[j] = diagonal[j] * p[j]
        for e in range(data.shape[0]):
            image[firsts[e]] += data[e] * p[seconds[e]]
            image[seconds[e]] += data[e] * p[firsts[e]]
        curvature = 0.0
        for j in range(k):
            curvature += p[j] * image[j]
        if not curvature > 0.0:
            break
        length, before = rho / curvature, rho
        rho = 0.0
        for j in range(k):
            d[j] += length * p[j]
            r[j] -= length * image[j]
            rho += r[j] * r[j] / diagonal[j]
        for j in range(k):
            p[j] = r[j] / diagonal[j] + rho / before * p[j]
    return d
