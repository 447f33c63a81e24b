"""Other paths to the same problem: how far labels depend on the way taken."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from lordclust._core.typing import Graph, IntArray
from lordclust.choose.shares import STEPS
from lordclust.result import Agreement, SolverResult
from lordclust.rounding.labels import named_like
from lordclust.solver.descent import blord_result
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.path import SCOUT_STEP, walk
from lordclust.solver.problem import Spectrum
from lordclust.solver.start import random_start


class Posed(NamedTuple):
    """A problem of B-LoRD as the solver saw it."""

    S: Graph
    omega: Omega
    ends: Spectrum
    tau: float


def other_paths(
    posed: Posed, seeds: IntArray, n_threads: int, **limits: Any
) -> list[SolverResult]:
    """Return where a path for each seed ends."""
    return [
        _follow(posed, STEPS[i % len(STEPS)], seed, n_threads, **limits)
        for i, seed in enumerate(seeds)
    ]


def _follow(
    posed: Posed, step: float, seed: int, n_threads: int, **limits: Any
) -> SolverResult:
    """Follow a path of equal steps, from a random point at a random small tau."""
    S, omega, ends, tau = posed
    rng = np.random.default_rng(seed)
    engine = Engine(S, omega, n_threads=n_threads)
    engine.put(random_start(omega, rng))
    # Paths that begin this late run no race, which would bring them together.
    begin = SCOUT_STEP + step * rng.random()
    taus = np.append(np.arange(begin, tau - step / 2, step), tau)
    for _ in walk(engine, ends, tau, taus=taus, **limits):
        pass
    return blord_result(engine, S, ends, tau)


def compared(
    own: IntArray, others: list[IntArray], objectives: list[float], k: int
) -> Agreement:
    """Return how far other labels agree with one's own, and with each other."""
    from sklearn.metrics import adjusted_rand_score

    labels = np.array([named_like(other, own, k) for other in others])
    pairs = combinations([own, *labels], 2)
    ari = np.mean([adjusted_rand_score(a, b) for a, b in pairs])
    share = (labels == own).mean(axis=0)
    return Agreement(share, float(ari), labels, np.array(objectives))
