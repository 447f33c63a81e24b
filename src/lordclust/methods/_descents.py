"""Solving for a given tau and given shares: starts, a race between them, descents."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lordclust._core.threads import count_threads
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.validation import is_auto
from lordclust.methods import _callbacks as callbacks
from lordclust.methods._request import FitRequest
from lordclust.result import Selection, SolverResult
from lordclust.solver.aggregate import Aggregate
from lordclust.solver.checkpoint import (
    Checkpoint,
    fingerprint,
    places,
    with_saved_spectrum,
)
from lordclust.solver.path import RACE, SHORT_FROM, follow, late_taus, solve_at
from lordclust.solver.problem import Problem
from lordclust.solver.seeds import Seeds
from lordclust.solver.solve import Limits, is_large, solve, solve_by_paper
from lordclust.solver.start import count_starts, given_start, random_start, start_seeds

if TYPE_CHECKING:
    from lordclust.methods.lord import DoublyStochasticClusterer

#: From this tau on V is nearly hard.
HARD = 0.8
#: Starts that mix eigenvectors, beside those from labels of the graph.
MIXTURES = 2


class Start(NamedTuple):
    """The start of a descent, the taus on its way, and the checkpoint of its path."""

    V: Graph  # or labels that have the requested shares
    taus: tuple[float, ...] = ()
    checkpoint: Checkpoint | None = None
    reached: float = 0.0  # the tau that V was solved at


class Solution(NamedTuple):
    """The result that a fit keeps, the problem it solves, and how it was found."""

    result: SolverResult
    problem: Problem
    shares: FloatArray
    t: float
    objectives: FloatArray
    labels: IntArray | None = None
    selection: Selection | None = None


def solve_from_starts(
    model: "DoublyStochasticClusterer", problem: Problem, request: FitRequest
) -> Solution:
    """Return the best result of all starts, one by one or in parallel.

    Starts that have not begun when a callback stops the fit are left out.
    """
    starts = _starts(model, problem, request)
    if request.checkpoint is not None:
        problem = with_saved_spectrum(problem, [one.checkpoint for one in starts])
    t, threads = model._goal(problem), count_threads(model.n_jobs)
    n, k = problem.omega.shape
    parallel = min(threads, len(starts))
    if is_auto(model.n_init) and n * k >= SHORT_FROM and len(starts) > 1:
        starts = _raced(model, problem, starts, threads)
        parallel = 1  # one path is left: all threads share its rows
    descents = Descents(model, problem, t, threads if parallel == 1 else 1, len(starts))
    if parallel == 1:
        results = [descents.run(start) for start in starts]
    else:
        with ThreadPoolExecutor(parallel) as pool:
            results = list(pool.map(descents.run, starts))
    found = [result for result in results if result is not None]
    objectives = np.array([result.objective for result in found])
    best = found[int(np.argmin(problem.sign * objectives))]
    return Solution(best, problem, request.shares, t, objectives)


def _starts(
    model: "DoublyStochasticClusterer", problem: Problem, request: FitRequest
) -> list[Start]:
    """Return the starts of the descents or paths."""
    omega, kind = problem.omega, request.samples.start
    if not isinstance(kind, str):
        return [Start(given_start(kind, omega))]
    if kind == "auto" and model.algorithm == "fast" and request.checkpoint is None:
        return _seeded(model, problem)
    # A path without random_state is the same every time.
    fixed = model._uses_path() and model.random_state is None
    count = count_starts(model.n_init, omega, path=model._uses_path())
    seeds = start_seeds(count, 0 if fixed else model.random_state)
    starts = [random_start(omega, np.random.default_rng(s)) for s in seeds]
    if request.checkpoint is None:
        return [Start(V) for V in starts]
    more = model._goal(problem), float(model.tol), model.max_iter, str(model.dtype)
    every = zip(places(request.checkpoint, len(starts)), starts, strict=True)
    return [
        Start(V, checkpoint=Checkpoint(place, fingerprint(problem, V, *more)))
        for place, V in every
    ]


def _seeded(model: "DoublyStochasticClusterer", problem: Problem) -> list[Start]:
    """Return short paths that start from what the graph suggests."""
    omega, (n, k) = problem.omega, problem.omega.shape
    if omega.one_each:
        return [Start(np.arange(n))]
    seeds, crowded = Seeds(problem.S, k), 2 * k > n  # most have one sample
    hard = []
    if not problem.lord and omega.exact:
        hard = [Start(seeds.sized_cut(omega))]
        large = is_large(problem) and model._goal(problem) >= HARD
        if large or crowded or seeds.clear_cut(omega) is not None:
            return hard
    few = 1 if crowded else MIXTURES
    count = few if is_auto(model.n_init) else int(model.n_init)
    seed = 0 if model.random_state is None else model.random_state
    goal, draws = model._goal(problem), start_seeds(count, seed)
    starts = [
        Start(V, late_taus(problem, goal, from_labels=labels))
        for _, V, labels in seeds.starts(omega, draws)
    ]
    starts += hard
    return starts if is_auto(model.n_init) and not crowded else starts[:count]


def _raced(
    model: "DoublyStochasticClusterer",
    problem: Problem,
    starts: list[Start],
    n_threads: int,
) -> list[Start]:
    """Return the starts, but of several short paths only the best, halfway.

    A path with the best objective halfway nearly always ends with the best.
    """
    paths = [one for one in starts if len(one.taus) > 1]
    others = [one for one in starts if len(one.taus) <= 1]
    first, count = RACE[0]
    races = len(paths) > count and paths[0].taus[-1] > first
    groups = Aggregate.of(problem) if races else None
    if groups is not None:
        problem = groups.problem
        paths = [one._replace(V=groups.of_groups(one.V)) for one in paths]
    for until, count in RACE:
        if len(paths) <= count or paths[0].taus[-1] <= until:
            break
        part = (until - paths[0].reached) / len(paths) / (1 + len(others))
        run = partial(_scout, model, problem, until, part)
        with ThreadPoolExecutor(min(n_threads, len(paths))) as pool:
            found = list(pool.map(run, paths))
        found.sort(key=lambda pair: -pair[0])
        paths = [one for _, one in found[:count]]
    if groups is not None:
        paths = [one._replace(V=groups.of_samples(one.V)) for one in paths]
    return paths + others


def _scout(
    model: "DoublyStochasticClusterer",
    problem: Problem,
    until: float,
    part: float,
    start: Start,
) -> tuple[float, Start]:
    """Follow a short path up to some tau; return the objective, and the rest."""
    taus = tuple(tau for tau in start.taus if tau <= until)
    solver = model._make_solver(problem, dtype=model.dtype, device=model.device)
    limits = Limits(model.tol, model.max_iter).loose
    solver.put(start.V)
    for tau in taus:
        solver.leave_saddle()
        solve_at(solver, problem, tau, limits)
    callbacks.step(model, f"tau {until:.3f}", part)
    rest = Start(solver.get(), start.taus[len(taus) :], reached=until)
    return solver.progress().objective, rest


@dataclass(frozen=True)
class Descents:
    """Descents from several starts to the same t."""

    model: "DoublyStochasticClusterer"
    problem: Problem
    t: float
    n_threads: int
    n_starts: int
    enough: Event = field(default_factory=Event)  # set when a callback stops the fit

    def run(self, start: Start) -> SolverResult | None:
        """Return where one start leads, or None if the fit was stopped before it."""
        if self.enough.is_set():
            return None
        model, problem, t = self.model, self.problem, self.t
        limits, part = Limits(model.tol, model.max_iter), 1 / self.n_starts
        settings = {"dtype": model.dtype, "device": model.device}
        if model.algorithm == "paper":
            result = solve_by_paper(problem, t, start.V, limits)
        elif start.V.ndim == 1:
            result = model._solve_from_labels(
                problem, start.V, t, limits, n_threads=self.n_threads, **settings
            )
        else:
            solver = model._make_solver(problem, n_threads=self.n_threads, **settings)
            if start.taus or model._uses_path():
                part = 0.0  # its stops report
                result = follow(
                    solver, problem, t, limits,
                    start=start.V,
                    taus=start.taus,
                    reached=start.reached,
                    checkpoint=start.checkpoint,
                    notify=lambda name, x: callbacks.step(
                        model, name, x / self.n_starts
                    ),
                )  # fmt: skip
            else:
                solver.put(start.V)
                result = solve(solver, problem, t, limits)
        if callbacks.step(model, "start", part):
            self.enough.set()
        return result
