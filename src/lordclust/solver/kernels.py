"""The compiled core: one function, :func:`advance`, runs the whole descent.

Layout. An n x k array is kept in *tiles* of 16 rows, shape ``(tiles, k, 16)``, so that
the 16 rows of a tile are one vector and every row operation (gradient step, row
root, sums) is a vector operation. Only the product S V needs rows, so V is kept by rows
as well, padded to a multiple of 4 columns. V, U, S V and S may be kept in single
precision; arithmetic is double, so that row and column sums are exact to rounding.

Threads. Every thread runs :func:`advance` on its own tiles and meets the others at a
barrier after each pass. Sums are kept by block, and every thread adds them in block
order: all threads take the same decisions, and results do not depend on their number.

Decisions. Loops, sums and memory are here; what to do next is decided by rules.py, as
in :class:`lordclust.solver.loop.Ascent`, the same algorithm in Python: read that first.

Compilation. Only the functions that Python calls are compiled on their own; all others
become part of them, see :func:`lordclust._core.jit.inlined`. The time of a first fit is
the time it takes to compile :func:`advance`: a large function has one call, structs are
read once, arrays are allocated by the caller, and an argument is None where code is
not needed: numba leaves out what follows ``is not None``.
"""
# mypy: disable-error-code="no-untyped-def"

from collections import namedtuple
from functools import partial

import numpy as np

from lordclust._core import jit
from lordclust.solver import lanes, rules
from lordclust.solver.lanes import (
    LANES,
    any_positive,
    fetch_add,
    load,
    maximum,
    minimum,
    row_product,
    splat,
    store,
    sum_lanes,
    where_positive,
    yield_thread,
)
from lordclust.solver.rules import (
    CG_STEPS,
    CONVERGED,
    HALVINGS,
    NEWTON_STEPS,
    ROOT_EPSILON,
    ROOT_ERROR,
    ROOT_STEPS,
    ROUNDING,
    ROUNDING_SINGLE_V,
    STRICT,
)

PAD = 4
EXHAUSTED = rules.EXHAUSTED

njit = jit.njit_with(lanes, lanes.implementation, rules, counts=lanes.ALLOCATES)
inlined = partial(jit.inlined, counts=lanes.ALLOCATES)

# The rules, compiled.
is_exhausted = inlined(rules.is_exhausted)
objective_of = inlined(rules.objective)
next_momentum = inlined(rules.next_momentum)
extrapolation = inlined(rules.extrapolation)
is_measured = inlined(rules.is_measured)
projection_tolerance = inlined(rules.projection_tolerance)
has_fallen = inlined(rules.has_fallen)
is_verified = inlined(rules.is_verified)
must_verify = inlined(rules.must_verify)
column_slack = inlined(rules.column_slack)
column_penalty = inlined(rules.column_penalty)
is_cheap = inlined(rules.is_cheap)
cheap_tolerance = inlined(rules.cheap_tolerance)
damping_of = inlined(rules.damping)
cg_accuracy = inlined(rules.cg_accuracy)
cg_continues = inlined(rules.cg_continues)
falls_enough = inlined(rules.falls_enough)
must_renew = inlined(rules.must_renew)
is_at_rounding = inlined(rules.is_at_rounding)

# What the threads share; engine.allocate makes it and describes the arrays.
Shared = namedtuple(
    "Shared",
    [
        "indptr", "indices", "data", "dense",
        "mu", "mass", "weight", "known", "V", "SV", "U", "b", "rows", "a",
        "parts", "block_starts", "hessian_size", "sync", "memory", "slots", "history",
    ],
)  # fmt: skip

# What a thread uses alone; engine.work_of makes it and describes the arrays.
Work = namedtuple(
    "Work",
    [
        "total", "a", "memory", "slots", "steps", "factor", "gram", "lanes", "product",
        "active",
    ],
)  # fmt: skip

# Places in ``memory``: numbers that survive between calls.
MOMENTUM, OBJECTIVE, SLACK, RESIDUAL, THETA, STEP, TILT, QUARTIC = range(8)
PRICE, EASE, PENALTY = range(8, 11)
# Places in ``slots``: which layer of V and SV is which, and counters.
NOW, BEFORE, SPARE, SV_NOW, SV_BEFORE, ROWS_NOW = range(6)
ITERATION, SV_KNOWN, STATUS, SWEEPS, VERIFY = range(6, 11)
# A row of ``parts``: k column sums, then these, then H (``hessian_size`` numbers: the
# matrix, or its diagonal for many clusters), then (LoRD) two Gram matrices.
DUAL, MOVED, QUAD, NORM2, HESSIAN = range(5)


@inlined
def barrier(sync, n_threads):
    """Wait until all threads arrive. Waits are short, so it spins first."""
    if n_threads == 1:
        return
    generation = fetch_add(sync, 8, 0)
    if fetch_add(sync, 0, 1) == n_threads - 1:
        fetch_add(sync, 0, -n_threads)
        fetch_add(sync, 8, 1)
        return
    spins = 0
    while fetch_add(sync, 8, 0) == generation:
        spins += 1
        if spins > 500:
            yield_thread()


# Loops, not slices: numba compiles a slice assignment with its whole error message.
@inlined
def copy_to(target, source):
    """Copy a vector."""
    for x in range(source.shape[0]):
        target[x] = source[x]


@inlined
def clear(target, count):
    """Set the first ``count`` entries to 0."""
    for x in range(count):
        target[x] = 0.0


@njit
def scatter_rows(tiles, order, out):
    """Put row i of ``tiles`` into row ``order[i]`` of ``out``."""
    for i in range(order.shape[0]):
        tile = tiles[i // LANES]
        for j in range(out.shape[1]):
            out[order[i], j] = tile[j, i % LANES]


@inlined
def multiply_dense(dense, rows, first, out):
    """Put 16 rows of S V into ``out``; S is symmetric, so rows are read as columns."""
    n, count = rows.shape[0], min(LANES, rows.shape[0] - first)
    k = out.shape[0]
    for j in range(k):
        store(out, j, splat(0.0, load(out, j)))
    for c in range(n):
        if count == LANES:
            line = load(dense[c, first:], 0)
            for j in range(k):
                store(out, j, load(out, j) + line * rows[c, j])
        else:
            for j in range(k):
                for lane in range(count):
                    out[j, lane] += dense[c, first + lane] * rows[c, j]


@inlined
def multiply_sparse(indptr, indices, data, rows, first, product, out):
    """Put 16 rows of S V into ``out`` for S in CSR form."""
    n, width = rows.shape
    for lane in range(min(LANES, n - first)):
        low, high = indptr[first + lane], indptr[first + lane + 1]
        column = 0
        while column + 16 <= width:
            row_product(indices, data, low, high, rows, column, product, lane, 16)
            column += 16
        if width - column == 12:
            row_product(indices, data, low, high, rows, column, product, lane, 12)
        elif width - column == 8:
            row_product(indices, data, low, high, rows, column, product, lane, 8)
        elif width - column == 4:
            row_product(indices, data, low, high, rows, column, product, lane, 4)
    for j in range(out.shape[0]):
        for lane in range(min(LANES, n - first)):
            out[j, lane] = product[lane, j]


@inlined
def hold_known(U, known):
    """Exclude all other clusters of a row whose cluster is known."""
    for lane in range(LANES):
        if known[lane] >= 0:
            for j in range(U.shape[0]):
                if j != known[lane]:
                    U[j, lane] = -1e300


@inlined
def restart_lost(U, a, mu, mass, b, slope):
    """Give lanes without a positive entry a b at or below their root."""
    for lane in range(LANES):
        if slope[lane] == 0.0 and mass[lane] > 0.0:
            top = (U[0, lane] - a[0]) / mu[0]
            best = 0
            for j in range(1, U.shape[0]):
                x = (U[j, lane] - a[j]) / mu[j]
                if x > top:
                    top = x
                    best = j
            b[lane] = top - mass[lane] / (mu[best] * mu[best])


@inlined
def root_tile(U, a, mu, mass, b, out, slope):
    """Solve sum_j mu_j max(U_j - a_j - b mu_j, 0) = mass for b, in each lane.

    Newton's method on a convex piecewise linear function: finite, and from the old b
    mostly one step. ``out`` receives max(U - a - b mu, 0), ``slope`` the sum of mu^2
    over its positive entries.
    """
    goal = load(mass, 0)
    root = load(b, 0)
    slopes = splat(0.0, goal)
    for _ in range(ROOT_STEPS):
        total = splat(0.0, goal)
        slopes = splat(0.0, goal)
        for j in range(U.shape[0]):
            x = load(U, j) - a[j] - root * mu[j]
            v = maximum(x, 0.0)
            store(out, j, v)
            total = total + v * mu[j]
            slopes = slopes + where_positive(x, mu[j] * mu[j])
        excess = total - goal
        move = excess / maximum(slopes, 1e-300)
        too_far = maximum(excess, excess * -1.0) - goal * ROOT_ERROR
        resolved = (
            maximum(move, move * -1.0) - maximum(root, root * -1.0) * ROOT_EPSILON
        )
        if not any_positive(minimum(too_far, resolved)):
            break
        if any_positive(where_positive(goal, 1.0) - where_positive(slopes, 1.0)):
            store(slope, 0, slopes)
            store(b, 0, root)
            restart_lost(U, a, mu, mass, b, slope)
            root = load(b, 0)
        else:
            root = root + move
    store(slope, 0, slopes)
    store(b, 0, root)


@inlined
def add_tile(V, slope, mu, mass, weight, b, part, active, mask, curved, many):
    """Add a tile's column sums, dual value and H, if wanted, to ``part``.

    H = sum_i q_i [diag(m_i) - (m_i o mu)(m_i o mu)' / (m_i . mu^2)], q the weights. A
    row with one positive entry adds nothing, so the cost falls as V hardens.
    """
    k = V.shape[0]
    q = load(weight, 0)
    dual = load(b, 0) * load(mass, 0)
    count = splat(0.0, dual)
    for j in range(k):
        v = load(V, j)
        part[j] += sum_lanes(v * q)
        dual = dual + v * v * 0.5
        count = count + where_positive(v, 1.0)
    part[k + DUAL] += sum_lanes(dual * q)
    several = where_positive(count - 1.5, 1.0)
    if not curved or not any_positive(several):
        return
    if many is not None:
        inverse = splat(1.0, q) / maximum(load(slope, 0), 1e-300)
        for j in range(k):
            member = where_positive(load(V, j), several * q)
            own = member - member * inverse * (mu[j] * mu[j])
            part[k + HESSIAN + j] += sum_lanes(own)
        return
    share = several * q / maximum(load(slope, 0), 1e-300)
    n_active = 0
    for j in range(k):
        member = where_positive(load(V, j), several)
        if any_positive(member):
            store(mask, n_active, member)
            active[n_active] = j
            part[k + HESSIAN + j * k + j] += sum_lanes(member * q)
            n_active += 1
    for x in range(n_active):
        row = k + HESSIAN + active[x] * k
        first = load(mask, x) * share * mu[active[x]]
        for y in range(x, n_active):
            both = sum_lanes(first * load(mask, y))
            part[row + active[y]] -= both * mu[active[y]]


@inlined
def apply_tile(V, mu, weight, x, part):
    """Add a tile's share of H x to ``part``: two passes over its rows."""
    k = V.shape[0]
    q = load(weight, 0)
    count = splat(0.0, q)
    slope = splat(0.0, q)
    inner = splat(0.0, q)
    for j in range(k):
        v = load(V, j)
        count = count + where_positive(v, 1.0)
        slope = slope + where_positive(v, mu[j] * mu[j])
        inner = inner + where_positive(v, mu[j] * x[j])
    several = where_positive(count - 1.5, 1.0)
    if not any_positive(several):
        return
    several = several * q
    inner = inner / maximum(slope, 1e-300)
    for j in range(k):
        part[j] += sum_lanes(
            where_positive(load(V, j), several) * (inner * -mu[j] + x[j])
        )


@inlined
def step_tile(V, V_before, SV, SV_before, U, weight, theta, step, tilt, gram, W, part):
    """Write the gradient step from the extrapolated point W into U.

    W = V + theta (V - V_before), and S W follows from S V and S V_before because the
    product is linear. The step is U = W + c (S W + tilt W - W gram): tilt is gamma
    of B-LoRD, gram is W'QW of LoRD (or None). SV stands for S Q V.
    """
    k = U.shape[0]
    keep = 1.0 + step * tilt
    quad = splat(0.0, load(V, 0))
    norm2 = splat(0.0, load(V, 0))
    for j in range(k):
        v, sv = load(V, j), load(SV, j)
        quad = quad + v * sv
        norm2 = norm2 + v * v
        w = v + (v - load(V_before, j)) * theta
        sw = sv + (sv - load(SV_before, j)) * theta
        store(U, j, w * keep + sw * step)
        if gram is not None:
            store(W, j, w)
    q = load(weight, 0)
    part[k + QUAD] += sum_lanes(quad * q)
    part[k + NORM2] += sum_lanes(norm2 * q)
    if gram is not None:
        for j in range(k):
            total = load(U, j)
            for i in range(k):
                total = total - load(W, i) * (step * gram[i, j])
            store(U, j, total)


@inlined
def distance_tile(V, V_before, V_next, weight, theta):
    """Return the weighted |V_next - W|^2 for W = V + theta (V - V_before)."""
    total = splat(0.0, load(V, 0))
    for j in range(V.shape[0]):
        v = load(V, j)
        d = load(V_next, j) - v - (v - load(V_before, j)) * theta
        total = total + d * d
    return sum_lanes(total * load(weight, 0))


@inlined
def sweep(
    s, w, dense, known, many, gram, slots, memory, blocks, parts, a, gradient, theta,
    measure, curved,
):  # fmt: skip
    """Pass over the tiles of ``blocks``: gradient step (or not), roots, sums.

    V is kept, since any sweep may be the last of an iteration.
    """
    mu, masses, weights, roots, starts = s.mu, s.mass, s.weight, s.b, s.block_starts
    Vs, SVs, Us, all_rows, n_sums = s.V, s.SV, s.U, s.rows, s.hessian_size
    indptr, indices, data = s.indptr, s.indices, s.data
    lanes, product, active = w.lanes, w.product, w.active
    k = mu.shape[0]
    slope, mask = lanes[0], lanes[1 : k + 1]
    new = lanes[k + 1 :]  # sums are those of V before it is rounded to its type
    rows = all_rows[slots[ROWS_NOW]]
    for block in range(blocks[0], blocks[1]):
        part = parts[block]
        clear(part, k + HESSIAN + n_sums)
        for tile in range(starts[block], starts[block + 1]):
            V, V_before = Vs[slots[NOW], tile], Vs[slots[BEFORE], tile]
            U, b, q, mass = Us[tile], roots[tile], weights[tile], masses[tile]
            if gradient:
                SV, SV_before = SVs[slots[SV_NOW], tile], SVs[slots[SV_BEFORE], tile]
                if slots[SV_KNOWN] == 0:
                    if dense is None:
                        multiply_sparse(
                            indptr, indices, data, rows, tile * LANES, product, SV
                        )
                    else:
                        multiply_dense(dense, rows, tile * LANES, mask)
                        keep_tile(mask, SV)
                step_tile(
                    V, V_before, SV, SV_before, U, q, theta, memory[STEP],
                    memory[TILT], gram, mask, part,
                )  # fmt: skip
            if known is not None:
                hold_known(U, known[tile])
            root_tile(U, a, mu, mass, b, new, slope)
            add_tile(new, slope, mu, mass, q, b, part, active, mask, curved, many)
            if measure:
                part[k + MOVED] += distance_tile(V, V_before, new, q, theta)
            keep_tile(new, Vs[slots[SPARE], tile])


@inlined
def keep_tile(new, V):
    """Keep a tile of V, rounded to its type."""
    for j in range(new.shape[0]):
        store(V, j, load(new, j))


@inlined
def write_rows(V, weight, starts, blocks, rows):
    """Write V by rows, times its weights."""
    n, k = rows.shape[0], V.shape[1]
    for tile in range(starts[blocks[0]], starts[blocks[1]]):
        for lane in range(min(LANES, n - tile * LANES)):
            for j in range(k):
                rows[tile * LANES + lane, j] = V[tile, j, lane] * weight[tile, lane]


@inlined
def add_blocks(parts, out):
    """Add the parts in block order: the same bits whoever wrote them."""
    for x in range(out.shape[0]):
        out[x] = parts[0, x]
    for block in range(1, parts.shape[0]):
        for x in range(out.shape[0]):
            out[x] += parts[block, x]


@inlined
def close_sums(total, mu, a, ease):
    """Turn the column sums in ``total`` into F, and complete the dual value.

    F = V'1 - mu - ease a: with ease = 0 the columns must equal mu, with more they are a
    soft constraint. The dual value is |V|^2/2 + b.mass + a.mu + ease |a|^2/2.
    """
    k = mu.shape[0]
    for j in range(k):
        total[j] -= mu[j] + ease * a[j]
        total[k + DUAL] += a[j] * (mu[j] + 0.5 * ease * a[j])


@inlined
def factorise(total, k, damping, factor):
    """Find the Cholesky factor of H + damping I; H sits in ``total``."""
    for i in range(k):
        for j in range(i + 1):
            x = total[k + HESSIAN + j * k + i]
            for m in range(j):
                x -= factor[i, m] * factor[j, m]
            if i == j:
                factor[i, i] = np.sqrt(max(x + damping, 1e-300))
            else:
                factor[i, j] = x / factor[j, j]


@inlined
def newton_direction(total, factor, d):
    """Solve (H + damping I) d = F with the Cholesky factor."""
    k = d.shape[0]
    for i in range(k):
        x = total[i]
        for m in range(i):
            x -= factor[i, m] * d[m]
        d[i] = x / factor[i, i]
    for i in range(k - 1, -1, -1):
        x = d[i]
        for m in range(i + 1, k):
            x -= factor[m, i] * d[m]
        d[i] = x / factor[i, i]


@inlined
def marginal_error(total, mu):
    """Return max_j |F_j| / mu_j."""
    worst = 0.0
    for j in range(mu.shape[0]):
        worst = max(worst, abs(total[j]) / mu[j])
    return worst


# Optimised first: otherwise sums over k are added in another order.
@partial(inlined, optimised=True)
def newton_by_cg(
    s, spare, blocks, n_threads, parity, total, damping, accuracy, d, r, p, image
):
    """Solve (H + damping I) d = F by conjugate gradients; return the next parity.

    H is that of the V of the last sweep. It is multiplied with, never formed: n k work
    and k numbers, where forming it for soft V takes n k^2 and factorising it k^3.
    """
    k = s.mu.shape[0]
    V = s.V[spare]
    start = 0.0
    for j in range(k):
        d[j] = 0.0
        r[j] = total[j]
        p[j] = r[j] / (max(total[k + HESSIAN + j], 0.0) + damping)
        start += r[j] * p[j]
    rho = start
    for _ in range(CG_STEPS):
        if not cg_continues(rho, start, accuracy):
            break
        for block in range(blocks[0], blocks[1]):
            part = s.parts[parity, block]
            clear(part, k)
            for tile in range(s.block_starts[block], s.block_starts[block + 1]):
                apply_tile(V[tile], s.mu, s.weight[tile], p, part)
        barrier(s.sync, n_threads)
        add_blocks(s.parts[parity], image)
        parity = 1 - parity
        curvature = 0.0
        for j in range(k):
            image[j] += damping * p[j]
            curvature += p[j] * image[j]
        if not curvature > 0.0:
            break
        length, before = rho / curvature, rho
        rho = 0.0
        for j in range(k):
            d[j] += length * p[j]
            r[j] -= length * image[j]
            rho += r[j] * r[j] / (max(total[k + HESSIAN + j], 0.0) + damping)
        for j in range(k):
            scaled = r[j] / (max(total[k + HESSIAN + j], 0.0) + damping)
            p[j] = scaled + rho / before * p[j]
    return parity


@inlined
def gram_matrices(s, w, slots, memory, blocks, n_threads, parity, total, theta, gram):
    """Put W'QW (times quartic) into ``gram``; return next parity and quartic term.

    The quartic term is |V'QV|^2 / 2, times QUARTIC; W = V + theta (V - V_before), and Q
    holds the weights.
    """
    k = s.mu.shape[0]
    at = k + HESSIAN + s.hessian_size
    W = w.lanes[1 : k + 1]
    for block in range(blocks[0], blocks[1]):
        part = s.parts[parity, block]
        clear(part, part.shape[0])
        for tile in range(s.block_starts[block], s.block_starts[block + 1]):
            V, V_before = s.V[slots[NOW], tile], s.V[slots[BEFORE], tile]
            q = load(s.weight[tile], 0)
            for i in range(k):
                v = load(V, i)
                ahead = v + (v - load(V_before, i)) * theta
                store(W, i, ahead)
                v, ahead = v * q, ahead * q
                for j in range(i + 1):
                    part[at + i * k + j] += sum_lanes(v * load(V, j))
                    part[at + k * k + i * k + j] += sum_lanes(ahead * load(W, j))
    barrier(s.sync, n_threads)
    add_blocks(s.parts[parity], total)
    norm = 0.0
    for i in range(k):
        for j in range(i + 1):
            norm += total[at + i * k + j] ** 2 * (0.5 if i == j else 1.0)
            gram[i, j] = total[at + k * k + i * k + j] * memory[QUARTIC]
            gram[j, i] = gram[i, j]
    return 1 - parity, norm * memory[QUARTIC]


@inlined
def has_worsened(history, slots, memory, quad, norm2, quartic, rounding, tid):
    """Keep the objective of V; return whether it has fallen instead.

    Then the momentum is reset and the last good V restored. ``SLACK`` corrects the
    objective for the small marginal error of the last projection, by 2 a / step for
    each column; soft columns have no such error, but a ``PENALTY``, PRICE |V'1 - mu|^2,
    to subtract.
    """
    known = slots[SV_KNOWN] == 1 and memory[OBJECTIVE] != -np.inf
    slots[SV_KNOWN] = 1
    if known:
        return False
    objective = objective_of(quad, norm2, memory[TILT], quartic, memory[PENALTY])
    if tid == 0:
        history[slots[ITERATION]] = objective
    objective -= memory[SLACK]
    if not has_fallen(objective, memory[OBJECTIVE], rounding, memory[THETA]):
        memory[OBJECTIVE] = objective
        return False
    slots[NOW], slots[BEFORE] = slots[BEFORE], slots[NOW]
    slots[SV_NOW], slots[SV_BEFORE] = slots[SV_BEFORE], slots[SV_NOW]
    memory[MOMENTUM], memory[THETA] = 1.0, 0.0
    slots[VERIFY] = 0
    if tid == 0:
        history[slots[ITERATION]] = memory[OBJECTIVE]
    return True


@inlined
def turn_to_next(slots, memory, total, a, theta, grown):
    """Turn to the next V, and note what the error of its columns is worth."""
    slots[NOW], slots[BEFORE], slots[SPARE] = slots[SPARE], slots[NOW], slots[BEFORE]
    slots[SV_NOW], slots[SV_BEFORE] = slots[SV_BEFORE], slots[SV_NOW]
    slots[ROWS_NOW] = 1 - slots[ROWS_NOW]
    slots[SV_KNOWN] = 0
    slots[ITERATION] += 1
    memory[THETA], memory[MOMENTUM] = theta, grown
    memory[SLACK], memory[PENALTY] = 0.0, 0.0
    for j in range(a.shape[0]):
        if memory[EASE] > 0.0:
            off = total[j] + memory[EASE] * a[j]
            memory[PENALTY] += column_penalty(memory[PRICE], off)
        else:
            memory[SLACK] += column_slack(a[j], memory[STEP], total[j])


@inlined
def find_columns(
    s, w, dense, known, many, gram, slots, memory, blocks, tid, n_threads, parity, a,
    total, theta, tol, measure, quartic, descends,
):  # fmt: skip
    """Sweep at ``a``, then take Newton steps until the columns agree to ``tol``.

    Ends after a sweep at the final ``a``, with F in ``total`` and the next V by rows
    as well. Every step reduces the dual. Where H is costly it is kept while each step
    reduces the error tenfold. Every sweep is one call, as the compiler would repeat
    its code for each. The first one takes the gradient step, if V ``descends``, and
    gives the objective of V; if that has fallen, it is the only one.

    Returns the parity of the next sweep, |V|^2, and whether the objective has fallen.
    """
    mu, all_parts, rows, sync, V = s.mu, s.parts, s.rows, s.sync, s.V
    steps, factor = w.steps, w.factor
    n, k = rows.shape[1], mu.shape[0]
    trial, d = steps[0], steps[1]
    ease = memory[EASE]
    norm2 = before = value = slope = 0.0
    length = 1.0
    newton = halvings = 0
    cheap = False
    # Is H in ``total`` of this a; will it be of the next?
    fresh = curved = newton == 0
    copy_to(trial, a)
    while True:
        sweep(
            s, w, dense, known, many, gram, slots, memory, blocks, all_parts[parity],
            trial, descends and newton == 0, theta, measure, curved,
        )  # fmt: skip
        barrier(sync, n_threads)
        add_blocks(all_parts[parity], total)
        parity = 1 - parity
        slots[SWEEPS] += 1
        if newton == 0:
            norm2 = total[k + NORM2]
            if descends and has_worsened(
                s.history, slots, memory, total[k + QUAD], norm2, quartic,
                ROUNDING if V.itemsize == 8 else ROUNDING_SINGLE_V, tid,
            ):  # fmt: skip
                return parity, norm2, True
            trace = 0.0
            for j in range(k):
                trace += total[k + HESSIAN + (j * k + j if many is None else j)]
            cheap = is_cheap(trace, n)
            if cheap:
                tol = cheap_tolerance(tol, n, k)
        close_sums(total, mu, trial, ease)
        error = marginal_error(total, mu)
        if newton == 0:
            curved = many is not None or cheap
        else:
            halvings += 1
            enough = error <= tol or falls_enough(total[k + DUAL], value, length, slope)
            if not enough and halvings < HALVINGS:
                length *= 0.5
                for j in range(k):
                    trial[j] = a[j] + length * d[j]
                continue
            copy_to(a, trial)
            fresh = curved
            curved = many is not None or cheap or must_renew(error, before)
            if is_at_rounding(error, before, slope, value):
                break
        if not error > tol or newton == NEWTON_STEPS:
            break
        newton, halvings = newton + 1, 0
        before, value, length = error, total[k + DUAL], 1.0
        damping = damping_of(error, n / k, ease)
        if many is not None:
            parity = newton_by_cg(
                s, slots[SPARE], blocks, n_threads, parity, total, damping,
                cg_accuracy(error), d, steps[2], steps[3], steps[4],
            )  # fmt: skip
        else:
            if fresh:
                factorise(total, k, damping, factor)
            newton_direction(total, factor, d)
        slope = 0.0
        for j in range(k):
            slope += d[j] * total[j]
            trial[j] = a[j] + d[j]
    write_rows(
        V[slots[SPARE]], s.weight, s.block_starts, blocks, rows[1 - slots[ROWS_NOW]]
    )
    barrier(sync, n_threads)
    return parity, norm2, False


@njit
def advance(s, w, dense, known, many, lord, tid, n_threads, max_steps, max_iter, tol):
    """Run up to ``max_steps`` iterations: the compiled form of ``loop.Ascent``.

    The objective is <V, S V> + tilt |V|^2 - quartic |V'V|^2 / 2, where row i counts
    by its weight q_i in every sum over rows: B-LoRD with tilt = gamma, LoRD (up to
    constants) with quartic = 1. An iteration is one product
    S V fused with the gradient step and the row roots, then Newton steps for the
    columns. When the objective gets worse, the momentum is reset and the last good V
    restored. With ``max_steps`` = 0 the given U is projected, for one thread.

    ``dense``, ``known``, ``many`` and ``lord`` are None unless S is dense, labels are
    known, there are many clusters, or the model is LoRD: each has code of its own.
    """
    k = s.mu.shape[0]
    n_blocks = s.block_starts.shape[0] - 1
    blocks = (tid * n_blocks // n_threads, (tid + 1) * n_blocks // n_threads)
    total, a, memory, slots = w.total, w.a, w.memory, w.slots
    copy_to(a, s.a)
    copy_to(memory, s.memory)
    copy_to(slots, s.slots)
    gram, quartic = None, 0.0
    if lord is not None:
        gram = w.gram
    theta, grown, accuracy = 0.0, 1.0, STRICT
    parity = np.int64(0)  # a literal has a type of its own, to be compiled again
    descends = max_steps > 0
    for _ in range(max(1, max_steps)):
        verify = slots[VERIFY] == 1
        if descends and is_exhausted(slots[ITERATION], max_iter, verify):
            slots[STATUS] = EXHAUSTED
            break
        measure = descends and is_measured(slots[ITERATION], verify)
        if descends:
            grown = next_momentum(memory[MOMENTUM], memory[RESIDUAL])
            theta = extrapolation(memory[MOMENTUM], grown, verify)
            accuracy = projection_tolerance(memory[RESIDUAL], measure)
        if lord is not None:
            parity, quartic = gram_matrices(
                s, w, slots, memory, blocks, n_threads, parity, total, theta, gram
            )
        parity, norm2, worse = find_columns(
            s, w, dense, known, many, gram, slots, memory, blocks, tid, n_threads,
            parity, a, total, theta, accuracy, measure, quartic, descends,
        )  # fmt: skip
        if worse or not descends:
            continue
        if measure:
            memory[RESIDUAL] = np.sqrt(total[k + MOVED] / norm2)
            if is_verified(memory[RESIDUAL], tol, verify):
                slots[STATUS] = CONVERGED
                break
            slots[VERIFY] = 1 if must_verify(memory[RESIDUAL], tol, verify) else 0
        turn_to_next(slots, memory, total, a, theta, grown)
    barrier(s.sync, n_threads)
    if tid == 0:
        copy_to(s.a, a)
        copy_to(s.memory, memory)
        copy_to(s.slots, slots)
    barrier(s.sync, n_threads)


@njit
def pass_over(s, w, blocks, a, gradient, theta, measure, curved):
    """Pass over ``blocks`` and keep V: a worker's part in a distributed sweep."""
    sweep(
        s, w, None, None, None, None, s.slots, s.memory, blocks, s.parts[0], a,
        gradient, theta, measure, curved,
    )  # fmt: skip
    V, rows = s.V[s.slots[SPARE]], s.rows[1 - s.slots[ROWS_NOW]]
    write_rows(V, s.weight, s.block_starts, blocks, rows)
