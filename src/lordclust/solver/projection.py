"""Projection onto Omega(mu) = { V >= 0 : V'1 = mu, V mu = p }."""

import numpy as np
from numpy.typing import ArrayLike

from lordclust._core.typing import FloatArray
from lordclust._core.validation import check_mu, check_weights, unknown_name
from lordclust.result import Projection
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.paper import dykstra

METHODS = ("newton", "dykstra")
#: Passes after which a given start was too far away to be of use.
FAR_START = 40
#: Factor by which t U grows on the way to U, at most and at least, and the error of a
#: column sum that shows that it grew too fast.
GROWTH, SLOWEST, ASTRAY = 10.0, 1.1, 1e-6
#: How often it may grow too fast: later errors are due to rounding.
RETRIES = 20
#: How often a projection that ended before its last digits is continued.
SHARPENINGS = 5
#: Entries of U as multiples of the largest row sum that still count. The projection of
#: t U stays the same once t is large, and is within 1/t of it before, relative to
#: |U|; digits are lost as eps t: in the middle both errors are about 1e-8.
LARGEST = 1e8


def _check_U(U: ArrayLike, mu: FloatArray) -> FloatArray:
    """Return U as a finite float array with one column for each entry of mu."""
    U = np.asarray(U, dtype=np.float64)
    if U.ndim != 2 or U.shape[1] != len(mu) or U.shape[0] < 1:
        raise ValueError(
            f"U must have one row per sample and {len(mu)} columns (one per entry of "
            f"mu), got shape {U.shape}."
        )
    if not np.all(np.isfinite(U)):
        raise ValueError("U must be finite, got NaN or infinity; remove those rows.")
    if np.abs(U).max() > 1e300:
        raise ValueError(
            f"U must have entries of at most 1e300, got {np.abs(U).max():.3g}; divide "
            "it by that, which hardly changes its projection."
        )
    return np.asarray(U)


def feasibility_error(V: FloatArray, omega: Omega) -> float:
    """Return the largest relative error of a row or column sum of V."""
    mu, p = omega.mu, omega.mass
    rows = np.abs(V @ mu - p)[p > 0] / p[p > 0]
    columns = _column_error(V, omega)
    return float(max(columns, rows.max(initial=0.0), -min(V.min(), 0.0)))


def _column_error(V: FloatArray, omega: Omega) -> float:
    """Return the largest relative error of a column sum of V."""
    off = np.abs(omega.column_sums(V) - omega.mu)
    return float((off / omega.mu).max())


def project_omega(
    U: ArrayLike,
    mu: ArrayLike,
    *,
    method: str = "newton",
    tol: float | None = None,
    start: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_iter: int = 1000,
) -> FloatArray:
    """Project U onto Omega(mu).

    Solves min ||V - U||_F^2 subject to V >= 0, V'1 = mu, V mu = p, where p = 1/n or
    the normalised sample weights.

    Parameters
    ----------
    U : array-like of shape (n, k)
        The matrix to project.
    mu : array-like of shape (k,)
        Positive, of Euclidean norm 1: square roots of the cluster proportions.
    method : {"newton", "dykstra"}
        ``"newton"``: exact. The row multipliers are roots of one-dimensional
        functions, the k column multipliers are found by semismooth Newton steps.
        ``"dykstra"``: the paper's Algorithm 2 with its misprints corrected, with
        constant over-relaxation 1.5 (growth towards 2 can diverge).
    tol : float, optional
        Relative tolerance of the marginals. Newton always goes to rounding, so it
        only affects Dykstra (default 1e-10).
    start : array-like of shape (k,), optional
        Column multipliers to start Newton from.
    sample_weight : array-like of shape (n,), optional
        Weights w; the rows of V mu sum to w / sum(w) in place of 1/n. If they span
        more than eight orders of magnitude, V is feasible, but others may be nearer.
    max_iter : int
        Limit for Dykstra.

    Returns
    -------
    V : ndarray of shape (n, k)

    Notes
    -----
    V is feasible to rounding whatever the size of U. If U exceeds 1e8 times the largest
    row sum, only its first eight digits matter: <U, V> is then within about 1e-8 |U| of
    the maximum.

    Examples
    --------
    >>> import numpy as np
    >>> mu = np.sqrt([0.5, 0.5])
    >>> V = project_omega([[1.0, 0.0], [0.0, 1.0]], mu)
    >>> (2 * V * mu).round(3)
    array([[1., 0.],
           [0., 1.]])
    """
    return project(
        U, mu, method=method, tol=tol, start=start, sample_weight=sample_weight,
        max_iter=max_iter,
    ).V  # fmt: skip


def project(
    U: ArrayLike,
    mu: ArrayLike,
    *,
    method: str = "newton",
    tol: float | None = None,
    start: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_iter: int = 1000,
) -> Projection:
    """Project as :func:`project_omega` does; return the certificate as well."""
    if method not in METHODS:
        raise unknown_name("projection method", method, METHODS)
    mu = check_mu(mu)
    U = _check_U(U, mu)
    p = check_weights(sample_weight, len(U))
    if p is None:
        p = np.full(len(U), 1 / len(U))
    # In the Frobenius norm every row counts the same, whatever its weight.
    omega = Omega(mu, p, np.ones(len(U)))
    if method == "newton":  # which needs neither tolerance nor limit
        V, multipliers, n_iter = project_newton(U, omega, start)
    else:  # with constant over-relaxation
        tol, multipliers = 1e-10 if tol is None else tol, np.zeros(len(mu))
        V, n_iter = dykstra(U, mu, p, tol=tol, max_iter=max_iter, beta=1.5)
    return Projection(V, multipliers, feasibility_error(V, omega), n_iter)


def project_newton(
    U: FloatArray, omega: Omega, start: ArrayLike | None = None, *, ease: float = 0.0
) -> tuple[FloatArray, FloatArray, int]:
    """Project by semismooth Newton, in the norm |V|^2 = sum_i weight_i |V_i|^2.

    With ease > 0 the columns are a soft constraint:
    min |V - U|^2 / 2 + |sum_i weight_i V_i - mu|^2 / (2 ease) over the rows.
    """
    mu, engine = omega.mu, Engine(None, omega)
    # U + 1 a' + b mu' has the same projection: remove the common part, so that large
    # entries leave as many digits as possible. Soft columns depend on a.
    shift = U.mean(axis=0) if ease == 0 else np.zeros(len(mu))
    centred = U - shift
    centred -= np.outer(centred @ mu, mu)
    part = _part_that_counts(U, centred, omega) if ease == 0 else 1.0
    centred *= part
    V, n_iter = centred, 0
    if start is not None:
        start = part * (np.asarray(start, dtype=np.float64) - shift)
        V = engine.project(centred, start, ease)
        n_iter = engine.passes
    if start is None or n_iter > FAR_START:
        V, more = _grow(engine, centred, ease)
        n_iter += more
    if ease == 0:
        V, more = _sharpened(engine, centred, V)
        n_iter += more
    multipliers = engine.shared.a / part + shift
    return V if ease > 0 else _rounded(engine, V), multipliers, n_iter


def _sharpened(engine: Engine, U: FloatArray, V: FloatArray) -> tuple[FloatArray, int]:
    """Continue from the multipliers of V until the columns are mu, or nearly so.

    Newton steps with an old H may end as if only rounding were left. From there, with a
    new H, one or two more find the last digits, sometimes after a bad step.
    """
    least, passes = _column_error(V, engine.omega), 0
    a = engine.shared.a.copy()
    for _ in range(SHARPENINGS):
        if least <= 1e-13:
            break
        other = engine.project(U, engine.shared.a.copy())
        passes += engine.passes
        error = _column_error(other, engine.omega)
        if error < least:
            V, a, least = other, engine.shared.a.copy(), error
    engine.shared.a[:] = a
    return V, passes


def _rounded(engine: Engine, V: FloatArray) -> FloatArray:
    """Return a V that is feasible to rounding.

    Digits are lost next to large entries of U. V itself has none: projecting it moves
    it by no more than its error.
    """
    error = feasibility_error(V, engine.omega)
    for _ in range(20):
        if error <= 1e-13:
            break
        closer, _ = _sharpened(engine, V, _grow(engine, V, 0.0)[0])
        before, error = error, feasibility_error(closer, engine.omega)
        if error >= before:
            break
        V = closer
    return V


def _part_that_counts(U: FloatArray, centred: FloatArray, omega: Omega) -> float:
    """Return a factor for a U so large that its projection would have no digits.

    With a factor below 1, the multipliers are no exact certificate: centring, which may
    also make entries larger, must not cause that.
    """
    limit = LARGEST * float(omega.mass.max())
    top = float(np.abs(centred).max())
    return limit / top if min(top, float(np.abs(U).max())) > limit else 1.0


def _grow(engine: Engine, U: FloatArray, ease: float) -> tuple[FloatArray, int]:
    """Project t U for t up to 1, each from the multipliers of those before.

    The multipliers are of the size of U, which Newton steps on a nearly hard V would
    take long to reach from 0. As long as the same entries of V are positive they are
    an affine function of t, and are predicted exactly. Where the prediction fails, t
    grows in shorter steps.
    """
    top, mass = float(np.abs(U).max()), float(engine.omega.mass.max())
    rounding = 16 * len(U) * float(np.finfo(np.float64).eps) / engine.omega.mu.min()
    before, a_before = 0.0, np.zeros(U.shape[1])
    t, growth, passes = min(1.0, mass / top) if top > 0 else 1.0, GROWTH, 0
    retries = RETRIES
    V = engine.project(t * U, a_before, ease)
    a = engine.shared.a.copy()
    while t < 1:
        passes += engine.passes
        grown = min(1.0, growth * t)
        predicted = a + (grown - t) / (t - before) * (a - a_before)
        V = engine.project(grown * U, predicted, ease)
        astray = ease == 0 and _column_error(V, engine.omega) > (
            ASTRAY + rounding * grown * top
        )
        if astray and growth > SLOWEST and retries > 0:
            growth, retries = growth**0.5, retries - 1
            continue
        before, a_before = t, a
        t, a, growth = grown, engine.shared.a.copy(), min(GROWTH, growth**2)
    return V, passes + engine.passes
