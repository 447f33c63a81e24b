"""Continuation in tau: from soft to hard, each tau from the previous solution.

At tau = 0 the problem is convex with the trivial optimum 1 mu'/n. As tau grows,
clusters split off; following them finds better optima than dozens of random starts at
one tau, for the cost of a few.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from lordclust._core.typing import FloatArray
from lordclust.result import SolverResult
from lordclust.solver.checkpoint import Checkpoint, Place
from lordclust.solver.loop import Solver
from lordclust.solver.omega import Omega
from lordclust.solver.problem import Problem
from lordclust.solver.seeds import Seeds
from lordclust.solver.solve import Limits, result_of, solve
from lordclust.solver.start import random_start

#: Steps in tau: the first and smallest, the largest, and the factor of growth.
SMALLEST_STEP, LARGEST_STEP, GROWTH = 0.02, 0.1, 1.5
#: The tau at which coarse paths from other starts compete with the path, their number
#: and their step.
MEETING, SCOUTS, SCOUT_STEP, SCOUT_TOL = 0.4, 2, 0.06, 1e-3
#: Above this many samples they are left out: a path takes long, and on the 70,000
#: images of MNIST they did not change the accuracy.
RACE_UP_TO = 20_000
#: Taus of a short path before the last, its first one from labels, the latest first
#: one, and LoRD's own.
LATE = tuple(np.round(np.arange(0.1, 1.0, 0.05), 2).tolist())
#: From this many entries of V on, steps are twice as large, up to a tau where V is
#: nearly hard, and paths race: up to each of these taus, then so many of the best go
#: on.
SHORT_FROM, NEARLY_HARD, RACE = 20_000, 0.7, ((0.2, 2), (0.4, 1))
FROM_LABELS, LATEST, LORD_LATE = 0.2, 0.3, 0.5
#: Steps of LoRD's own path.
LORD_STEPS = 20
#: Relative change of V in one step below which steps grow, above which they halve.
SMALL_CHANGE, LARGE_CHANGE = 0.1, 0.3


def late_taus(
    problem: Problem, last: float, *, from_labels: bool = False
) -> tuple[float, ...]:
    """Return the taus of a short path before ``last``.

    It begins where clusters exist: before, V is nearly uniform, and dense. The more
    clusters, the later they are all there. Small steps on the way matter more for the
    objective at the end than an early beginning. The clusters of given labels are there
    from the beginning.
    """
    if problem.lord:
        return (LORD_LATE,)
    n, k = problem.omega.shape
    first = max(min(0.015 * np.sqrt(k), LATEST), FROM_LABELS if from_labels else 0.0)
    late = LATE[::2] if n * k >= SHORT_FROM or from_labels else LATE
    until = NEARLY_HARD if n * k >= SHORT_FROM else 1.0
    late = tuple(tau for tau in late if first <= tau < last and tau <= until)
    return late or (last / 2,)


def adaptive_taus(
    solver: Solver, last: float, place: Place | None = None
) -> Iterator[tuple[float, float]]:
    """Yield taus up to ``last`` and their steps, which are small where V changes much.

    The solver must have solved each tau before the next one is requested. A resumed
    grid begins at a ``place``.
    """
    tau, step, marked = min(SMALLEST_STEP, last), SMALLEST_STEP, False
    if place is not None:
        # The steps in a file may be too small to make progress.
        tau, step, marked = place.tau, max(place.step, SMALLEST_STEP), True
        solver.mark()
    while True:
        yield tau, step
        if tau >= last:
            return
        if marked:
            change = solver.change()
            if change < SMALL_CHANGE:
                step = min(step * GROWTH, LARGEST_STEP)
            elif change > LARGE_CHANGE:
                step = max(step / 2, SMALLEST_STEP)
        solver.mark()
        marked = True
        # The last step must not be shorter than half a step.
        tau = last if last - tau < 1.5 * step else tau + step


class Stop(NamedTuple):
    """One solved tau of a path."""

    tau: float
    residual: float
    n_iter: int
    converged: bool


def solve_at(solver: Solver, problem: Problem, t: float, limits: Limits) -> int:
    """Solve at t from the solver's V, as on a path; return the number of iterations."""
    solver.aim(problem.step(t), problem.tilt(t))
    return solver.run(*limits)[0].n_iter


def _race(solver: Solver, problem: Problem, tau: float, limits: Limits) -> int:
    """Solve at tau from other starts, and continue from the best; return iterations.

    If two branches cross, a path stays on its own. Coarse steps and a loose tolerance,
    not only other seeds, lead to other branches; so does a cut of the graph.
    """
    best, own, omega = solver.progress().objective, solver.get(), problem.omega
    coarse = [*np.arange(SMALLEST_STEP, tau - SCOUT_STEP / 2, SCOUT_STEP), tau]
    n_iter, champion = 0, None
    for scout in range(SCOUTS + (omega.known is None)):
        if scout < SCOUTS:
            solver.put(random_start(omega, np.random.default_rng(scout)))
        else:
            seeds = Seeds(problem.S, len(omega.mu))
            solver.put(seeds.soft_start(seeds.cut, omega))
        for stop in coarse if scout < SCOUTS else [tau]:
            n_iter += solve_at(solver, problem, stop, limits._replace(tol=SCOUT_TOL))
        if solver.progress().objective > best + 1e-6 * abs(best):
            best, champion = solver.progress().objective, solver.get()
    solver.put(own if champion is None else _aligned(champion, own, omega))
    return n_iter + solve_at(solver, problem, tau, limits)


def _aligned(V: FloatArray, reference: FloatArray, omega: Omega) -> FloatArray:
    """Return V with its columns in the order that fits the reference best.

    Only columns of equal share and without known samples may be exchanged.
    """
    open_ = np.isin(np.arange(len(omega.mu)), omega.open_clusters())
    alike = (omega.mu[:, None] == omega.mu) & open_[:, None] & open_
    np.fill_diagonal(alike, True)
    overlap = omega.weighted(reference).T @ V
    _, columns = linear_sum_assignment(np.where(alike, -overlap, np.inf))
    return V[:, columns]


def walk(
    solver: Solver,
    problem: Problem,
    last: float,
    limits: Limits,
    *,
    taus: FloatArray | None = None,
    way: Limits | None = None,
    callback: Callable[[float], object] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Iterator[Stop]:
    """Solve along a grid up to ``last``, each stop from the previous one.

    B-LoRD follows tau, in adaptive steps unless ``taus`` are given. LoRD plus
    tilt ||V||_F^2 is concave for tilt <= -lambda_max(S), with the trivial optimum; the
    tilt goes to 0 in equal steps. If the solver was resumed from a checkpoint, the path
    continues from there. ``way`` are the limits before the last tau.
    """
    if problem.lord and taus is None:
        taus = np.linspace(0, 1, LORD_STEPS + 1)[1:]
    place = None if checkpoint is None else checkpoint.place
    meeting = min(MEETING, last if taus is None else float(taus[-1]))
    # On a path that begins late or is rough, the caller has chosen the branch. The race
    # needs S and V on this machine.
    open_race = way is None and (taus is None or taus[0] < SCOUT_STEP)
    open_race &= solver.n <= RACE_UP_TO and problem.S is not None and not problem.lord
    open_race = open_race if place is None else place.open_race
    enough = False
    if place is not None and place.done:
        grid: Iterable[tuple[float, float]] = ()
    elif taus is None:
        grid = adaptive_taus(solver, last, place)
    else:  # without steps
        grid = [(t, 0.0) for t in taus.tolist() if place is None or t >= place.tau]
    for tau, step in grid:
        if checkpoint is not None:  # all before this tau is finished
            checkpoint.at(solver, problem, Place(tau, step, open_race, False))
        if enough:
            return
        if not problem.lord:
            solver.leave_saddle()
        rough = way if way is not None and tau < last else limits
        n_iter = solve_at(solver, problem, tau, rough)
        if open_race and tau >= meeting:
            n_iter += _race(solver, problem, tau, limits)
            open_race = False
        yield Stop(tau, solver.progress().residual, n_iter, solver.converged)
        enough = callback is not None and bool(callback(tau))
        if enough and checkpoint is None:
            return
    if checkpoint is not None:
        checkpoint.at(solver, problem, Place(1.0, 0.0, False, True))


def follow(
    solver: Solver,
    problem: Problem,
    last: float,
    limits: Limits,
    *,
    start: FloatArray,
    taus: Sequence[float] = (),
    reached: float = 0.0,
    checkpoint: Checkpoint | None = None,
    notify: Callable[[str, float], bool],
) -> SolverResult:
    """Follow a path from a start or a checkpoint, and return its last solution.

    A short path has ``taus`` before the last, which are solved less accurately; its
    start may be the solution at the tau ``reached``. ``notify`` is called with the name
    of each stop and its share of the path; if it returns True, the path ends there and
    the problem is solved at ``last`` at once.
    """
    if checkpoint is None or not checkpoint.resume(solver):
        solver.put(start)
    before, grid, way = reached, None, None
    if taus:
        grid, way = np.array([*taus, last]), limits.loose
    for stop in walk(
        solver, problem, last, limits, taus=grid, way=way, checkpoint=checkpoint
    ):
        part, before = (stop.tau - before) / (last or 1.0), stop.tau
        if notify(problem.stop_name.format(stop.tau), part) and stop.tau < last:
            return solve(solver, problem, last, limits)
    return result_of(solver, problem, last)
