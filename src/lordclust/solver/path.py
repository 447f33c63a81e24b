"""Continuation in tau: all tau from soft to hard, each from the one before.

At tau = 0 the problem is convex with the trivial optimum 1 mu'/n. As tau grows,
clusters split off; following them gives better optima than dozens of random starts
at one tau, for the price of a few.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from lordclust._typing import FloatArray, Graph
from lordclust._validation import (
    check_choice,
    check_known_labels,
    check_n_clusters,
    check_proportions,
    check_room,
    check_similarity,
    check_weights,
    split_proportions,
)
from lordclust.result import TauPath
from lordclust.rounding import canonical_order, labels_from, membership_from
from lordclust.solver import problem
from lordclust.solver.descent import settled
from lordclust.solver.engine import Engine, Solver
from lordclust.solver.omega import Omega
from lordclust.solver.problem import Spectrum
from lordclust.solver.start import given_start, random_start, spectral_start
from lordclust.threads import count_threads

#: Steps in tau: the first and smallest, the largest, and by how much they grow.
SMALLEST_STEP, LARGEST_STEP, GROWTH = 0.02, 0.1, 1.5
#: Where coarse paths from other starts compete with the path, how many, how coarse.
MEETING, SCOUTS, SCOUT_STEP, SCOUT_TOL = 0.4, 2, 0.06, 1e-3
#: Above this many samples they stay at home: a path takes long, and on the 70,000
#: images of MNIST they did not change the accuracy.
RACE_UP_TO = 20_000
#: Steps of LoRD's own path.
LORD_STEPS = 20
#: Relative change of V in one step below which steps grow, above which they halve.
SMALL_CHANGE, LARGE_CHANGE = 0.1, 0.3


def adaptive_taus(engine: Solver, last: float) -> Iterator[float]:
    """Yield a grid up to ``last``: fine where V changes much.

    The engine must be solved at each tau before the next one is asked for.
    """
    tau, step, marked = min(SMALLEST_STEP, last), SMALLEST_STEP, False
    while True:
        yield tau
        if tau >= last:
            return
        if marked:
            change = engine.change()
            if change < SMALL_CHANGE:
                step = min(step * GROWTH, LARGEST_STEP)
            elif change > LARGE_CHANGE:
                step = max(step / 2, SMALLEST_STEP)
        engine.mark()
        marked = True
        # No last step shorter than half a step.
        tau = last if last - tau < 1.5 * step else tau + step


def _solve(
    engine: Solver, ends: Spectrum, tau: float, tol: float, max_iter: int
) -> int:
    """Solve at tau from the engine's V; return the iterations."""
    engine.aim(problem.blord_step(ends, tau), ends.gamma(tau))
    return engine.run(tol, max_iter)[0].n_iter


def _race(engine: Solver, ends: Spectrum, tau: float, tol: float, max_iter: int) -> int:
    """Let other ways to tau compete with the path, and go on with the best.

    Where two branches cross, a path stays on the one it is on. Coarse steps and a
    loose tolerance, not other seeds alone, lead to other branches; so do the clusters
    of the graph's leading eigenvectors.
    """
    best, own = engine.progress().objective, engine.get()
    n_iter, champion = 0, None
    for start, stops in _scouts(engine, tau):
        engine.put(start)
        for stop in stops:
            n_iter += _solve(engine, ends, stop, SCOUT_TOL, max_iter)
        if engine.progress().objective > best + 1e-6 * abs(best):
            best, champion = engine.progress().objective, engine.get()
    engine.put(own if champion is None else _aligned(champion, own, engine.omega))
    return n_iter + _solve(engine, ends, tau, tol, max_iter)


def _scouts(engine: Solver, tau: float) -> Iterator[tuple[FloatArray, list[float]]]:
    """Yield where other ways to tau begin, and their stops."""
    coarse = np.arange(SMALLEST_STEP, tau - SCOUT_STEP / 2, SCOUT_STEP)
    for seed in range(SCOUTS):
        rng = np.random.default_rng(seed)
        yield random_start(engine.omega, rng), [*coarse, tau]
    if engine.omega.known is None:
        yield spectral_start(engine.S, engine.omega), [tau]


def _aligned(V: FloatArray, reference: FloatArray, omega: Omega) -> FloatArray:
    """Return V with its columns in the order that fits the reference best.

    Only columns of equal share may change places, and none with known samples.
    """
    open_ = np.isin(np.arange(len(omega.mu)), omega.open_clusters())
    alike = (omega.mu[:, None] == omega.mu) & open_[:, None] & open_
    np.fill_diagonal(alike, True)
    overlap = omega.weighted(reference).T @ V
    _, columns = linear_sum_assignment(np.where(alike, -overlap, np.inf))
    return V[:, columns]


def walk(
    engine: Solver,
    ends: Spectrum,
    last: float,
    *,
    tol: float,
    max_iter: int,
    taus: FloatArray | None = None,
    callback: Callable[[float], Any] | None = None,
) -> Iterator[tuple[float, float, int, bool]]:
    """Solve along the grid; yield tau, residual, iterations, converged."""
    grid = adaptive_taus(engine, last) if taus is None else iter(taus.tolist())
    meeting = min(MEETING, last if taus is None else float(taus[-1]))
    # A path that begins late is the caller's own choice of branch.
    open_race = taus is None or taus[0] < SCOUT_STEP
    # The race needs S and V on this machine.
    open_race &= engine.n <= RACE_UP_TO and engine.S is not None
    for tau in grid:
        engine.leave_saddle()
        n_iter = _solve(engine, ends, tau, tol, max_iter)
        if open_race and tau >= meeting:
            n_iter += _race(engine, ends, tau, tol, max_iter)
            open_race = False
        yield tau, engine.progress().residual, n_iter, engine.converged
        if callback is not None and callback(tau):
            return


def walk_lord(engine: Solver, ends: Spectrum, *, tol: float, max_iter: int) -> None:
    """Lead an engine for LoRD from the trivial point to its own problem.

    LoRD plus tilt ||V||_F^2 is concave for tilt <= -lambda_max(S), with the trivial
    optimum; the tilt is taken to 0 in steps, each solved from the one before.
    """
    for part in np.linspace(0, 1, LORD_STEPS + 1)[1:]:
        tilt = -ends.high * (1 - part)
        engine.aim(problem.lord_step(ends, engine.omega.bound, tilt), tilt)
        engine.run(tol, max_iter)


def _check_taus(taus: Any) -> FloatArray | None:
    """Return an increasing grid in [0, 1], or None for the adaptive one."""
    if taus is None:
        return None
    grid = np.atleast_1d(np.asarray(taus, dtype=np.float64))
    inside = np.all(np.isfinite(grid)) and np.all((grid >= 0) & (grid <= 1))
    if grid.ndim != 1 or grid.size == 0 or not inside or np.any(np.diff(grid) <= 0):
        raise ValueError(
            "taus must be increasing numbers in [0, 1], got "
            f"{np.array2string(grid, threshold=6)}; use for example "
            "numpy.linspace(0.02, 1, 50)."
        )
    return grid


def tau_path(
    S: Any,
    n_clusters: int,
    *,
    taus: Any = None,
    proportions: Any = None,
    sample_weight: Any = None,
    known_labels: Any = None,
    start: Any = "random",
    keep: Any = None,
    tol: float = 1e-4,
    max_iter: int = 4000,
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[float], Any] | None = None,
) -> TauPath:
    """Solve B-LoRD along a grid of tau, from soft to hard.

    Solves max Tr(V'SV) + gamma(tau) ||V||_F^2 over Omega(mu) for each tau, starting
    from the solution before it.

    Parameters
    ----------
    S : array-like or sparse of shape (n, n)
        Symmetric similarity.
    n_clusters : int
        Number of clusters.
    taus : array-like, optional
        Increasing grid in [0, 1]. By default adaptive: it starts where the first
        cluster splits off and takes small steps where V changes much.
    proportions : array-like of shape (n_clusters,) or (prior, strength), optional
        Shares of the clusters, summing to 1; equal by default. With a strength they
        may give way, as in :class:`lordclust.BLoRD`.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples.
    known_labels : array-like of int, shape (n,), optional
        Clusters of samples, -1 where unknown, as in ``fit`` of
        :class:`lordclust.BLoRD`.
    start : "random" or array of shape (n, n_clusters)
        V for the first tau. On the path the result hardly depends on it.
    keep : "all" or array-like of taus, optional
        At which taus to keep memberships (the nearest grid points); by default at
        the last.
    tol, max_iter
        Of each solve, as in :class:`lordclust.BLoRD`.
    random_state : int, RandomState or None
        For the random start; without it the path is the same every time.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    callback : callable, optional
        Called with tau after each; a true answer ends the path there.

    Returns
    -------
    path : TauPath

    Examples
    --------
    >>> import numpy as np
    >>> S = np.kron(np.eye(2), np.ones((3, 3)))
    >>> path = tau_path(S, 2, random_state=0)
    >>> path.labels[-1]
    array([0, 0, 0, 1, 1, 1])
    """
    S = check_similarity(S)
    n = S.shape[0]
    k = check_n_clusters(n_clusters, n)
    prior, strength = split_proportions(proportions)
    shares = check_proportions(prior, k)
    p, known = check_weights(sample_weight, n), check_known_labels(known_labels, n, k)
    omega = Omega.of(np.sqrt(shares), n, p, known=known, strength=strength)
    if omega.exact:
        check_room(known, shares, omega.weight / n)
    ends = problem.spectrum(S, omega.weight)
    omega = omega.beside(ends.width)
    engine = Engine(S, omega, n_threads=count_threads(n_jobs))
    if isinstance(start, str):
        check_choice(start, ("random",), "start")
        seeds = check_random_state(0 if random_state is None else random_state)
        rng = np.random.default_rng(seeds.randint(np.iinfo(np.int32).max))
        engine.put(random_start(omega, rng))
    else:
        engine.put(given_start(start, omega))
    rows = _Rows(engine, S, ends, keep)
    grid = _check_taus(taus)
    for tau, residual, n_iter, converged in walk(
        engine, ends, 1.0, tol=tol, max_iter=max_iter, taus=grid, callback=callback
    ):
        rows.add(tau, residual, n_iter, converged)
    return rows.record(shares)


class _Rows:
    """Collects a path, one row a tau."""

    def __init__(
        self,
        engine: Solver,
        S: Graph,
        ends: Spectrum,
        keep: Any,
    ) -> None:
        self.engine, self.S, self.ends = engine, S, ends
        self.every = isinstance(keep, str)
        if self.every:
            check_choice(keep, ("all",), "keep")
        self.wanted = [] if keep is None or self.every else list(np.ravel(keep))
        self.rows: list[tuple[Any, ...]] = []
        self.kept: dict[float, FloatArray] = {}

    def add(self, tau: float, residual: float, n_iter: int, converged: bool) -> None:
        """Take down where the engine stands."""
        V, omega = settled(self.engine), self.engine.omega
        P = membership_from(V, omega.mu)
        gamma = self.ends.gamma(tau)
        objective = problem.blord_objective(self.S, V, gamma, omega.weight)
        objective -= omega.penalty(V)
        blocks = len(omega.mu) / len(V) - omega.norm2(V)
        row = (tau, objective, P.argmax(axis=1), n_iter, residual, converged, blocks)
        self.rows.append(row)
        self.kept[tau] = self.last = P
        self._forget()

    def _forget(self) -> None:
        """Drop the memberships that are not the nearest to a wanted tau."""
        if self.every:
            return
        grid = np.array(list(self.kept))
        near = {float(grid[np.abs(grid - t).argmin()]) for t in self.wanted}
        near |= set() if self.wanted else {float(grid[-1])}
        self.kept = {t: self.kept[t] for t in sorted(near)}

    def record(self, shares: FloatArray) -> TauPath:
        """Return the path with clusters in canonical order."""
        tau, objective, labels, n_iter, residual, converged, blocks = (
            np.array(column) for column in zip(*self.rows, strict=True)
        )
        omega = self.engine.omega
        heavy = labels_from(self.last)[omega.weight > 0]
        order = canonical_order(heavy, shares, omega.open_clusters())
        rank = np.argsort(order)
        return TauPath(
            taus=tau,
            objectives=objective,
            labels=rank[labels],
            memberships={t: P[:, order] for t, P in self.kept.items()},
            n_iter=n_iter,
            residuals=residual,
            converged=converged,
            block_diagonality=blocks,
            proportions=shares[order],
            eigenvalues=(self.ends.low, self.ends.high),
        )
