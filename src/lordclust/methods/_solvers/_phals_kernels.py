"""The steps of PHALS on one column, compiled: NumPy's call overhead dominates here.

V and S V are stored transposed, (k, n), so that columns are contiguous; G is V'V.
"""

# mypy: disable-error-code="no-untyped-def"

from math import sqrt

from lordclust._core.jit import njit

#: Halvings of an interval within [0, 1] down to rounding.
HALVINGS = 54


@njit
def find_direction(V, SV, G, j, d):
    """Write d = max(Ev, 0) / ||v||^2 - v; return ||d||^2, d'Ev and any(Ev > 0).

    v is column j, and E = S minus the part of the other columns.
    """
    v, vv = V[j], G[j, j]
    d[:] = SV[j]
    for m in range(len(G)):
        if m != j:
            g, other = G[j, m], V[m]
            for i in range(len(d)):
                d[i] -= g * other[i]
    dd = dEv = largest = 0.0
    for i in range(len(d)):
        Ev = d[i]
        d[i] = max(Ev, 0.0) / vv - v[i]
        dd += d[i] * d[i]
        dEv += d[i] * Ev
        largest = max(largest, Ev)
    return dd, dEv, largest > 0


@njit
def move(V, SV, G, j, d, Sd, dd, dEv, Vd):
    """Add t d to column j with the best t up to 1; return ||t d||^2. Vd is a buffer."""
    dSd = 0.0
    for i in range(len(d)):
        dSd += d[i] * Sd[i]
    dEd = dSd
    for m in range(len(G)):
        other, total = V[m], 0.0
        for i in range(len(d)):
            total += other[i] * d[i]
        Vd[m] = total
        if m != j:
            dEd -= total * total
    dv, vv = Vd[j], G[j, j]
    a, b, c, e = slope(dd, vv, dv, dEd, dEv)
    t = first_minimum(a, b, c, e)
    for i in range(len(d)):
        V[j, i] += t * d[i]
        SV[j, i] += t * Sd[i]
    for m in range(len(G)):
        G[j, m] += t * Vd[m]
        G[m, j] = G[j, m]
    G[j, j] = vv + 2 * t * dv + t * t * dd
    return t * t * dd


@njit
def slope(dd, vv, dv, dEd, dEv):
    """Return the cubic in t, highest power first, that is half the slope along d.

    Half the derivative of 1/2 ||E - (v + t d)(v + t d)'||_F^2, from the products of
    d, v and E.
    """
    return dd * dd, 3 * dv * dd, 2 * dv * dv + dd * vv - dEd, dv * vv - dEv


@njit
def first_minimum(a, b, c, e):
    """Return the smallest root in (0, 1] of a cubic with e <= 0, or 1 without one."""
    inside = b * b - 3 * a * c
    low, high = 0.0, 1.0
    if inside > 0:
        # Without cancellation: the extrema multiply to c / 3a. The cubic rises up to
        # the first and falls to the second.
        q = -(b + sqrt(inside)) if b >= 0 else sqrt(inside) - b
        one, two = q / (3 * a), c / q if q != 0 else 0.0
        first, second = min(one, two), max(one, two)
        if 0 < first < 1 and value(a, b, c, e, first) >= 0:
            high = first
        elif 0 < second < 1:
            low = second
    if value(a, b, c, e, high) < 0:
        return high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if value(a, b, c, e, middle) < 0:
            low = middle
        else:
            high = middle
    return high


@njit
def value(a, b, c, e, t):
    """Return a t^3 + b t^2 + c t + e."""
    return ((a * t + b) * t + c) * t + e
