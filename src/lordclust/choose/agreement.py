"""Other paths through the same problem: how much the labels depend on the path."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lordclust._core.typing import IntArray
from lordclust.result import Agreement, SolverResult
from lordclust.rounding.labels import named_like
from lordclust.solver.path import SCOUT_STEP, walk
from lordclust.solver.problem import Problem
from lordclust.solver.solve import Limits, make_solver, result_of
from lordclust.solver.start import random_start

#: Steps in tau of the paths: different steps lead to different optima, seeds seldom do.
STEPS = (0.02, 0.03, 0.04, 0.06)
#: An objective that is lower by less than this fraction is as good. Paths that miss
#: clear clusters lose more (0.8 % and more), those through one cloud of noise less.
AS_GOOD = 5e-3


def other_paths(
    problem: Problem, tau: float, seeds: Sequence[int], n_threads: int, limits: Limits
) -> list[SolverResult]:
    """Return the last solution of one path per seed.

    Paths have equal steps and begin at a random point and a random small tau.
    """
    found = []
    for i, seed in enumerate(seeds):
        step, rng = STEPS[i % len(STEPS)], np.random.default_rng(seed)
        solver = make_solver(problem, n_threads=n_threads)
        solver.put(random_start(problem.omega, rng))
        # Paths that begin this late skip the race of starts, which would unite them.
        begin = SCOUT_STEP + step * rng.random()
        taus = np.append(np.arange(begin, tau - step / 2, step), tau)
        for _ in walk(solver, problem, tau, limits, taus=taus):
            pass
        found.append(result_of(solver, problem, tau))
    return found


def compared(
    own: IntArray, objective: float, others: list[IntArray], objectives: list[float]
) -> Agreement:
    """Return how well labels of other paths agree with ``own``, and with each other."""
    from sklearn.metrics import adjusted_rand_score

    k = 1 + max(int(one.max()) for one in (own, *others))
    labels = np.array([named_like(other, own, k) for other in others])
    pairs = combinations([own, *labels], 2)
    ari = np.mean([adjusted_rand_score(a, b) for a, b in pairs])
    share, reached = (labels == own).mean(axis=0), np.array(objectives)
    as_good = reached >= objective - AS_GOOD * abs(objective)
    return Agreement(share, float(ari), labels, reached, as_good)
