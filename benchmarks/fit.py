"""One B-LoRD fit from the same V0 to the same tolerance, fast against paper."""

from typing import Any

import numpy as np

from benchmarks.common import clock
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.solver.omega import Omega
from lordclust.solver.problem import BLoRDProblem
from lordclust.solver.solve import Limits, make_solver, solve, solve_by_paper
from lordclust.solver.start import random_start

TITLE = "One fit: the fast solver against the paper's algorithm"
NOTE = (
    "B-LoRD from the same ten starts to the same tolerance 1e-4, one thread. Times are "
    "medians over the starts. `objective gap` is the mean over the starts of (fast - "
    "paper) / |paper|: positive is better."
)
CASES = (("orl", 0.62), ("semeion", 0.42))
N_STARTS = 10


def run() -> list[dict[str, Any]]:
    return [compare(name, tau) for name, tau in CASES]


def compare(name: str, tau: float) -> dict[str, Any]:
    data = load(name)
    S = KNNGraph().build(data.prepared())
    n, k = S.shape[0], data.n_clusters
    omega = Omega.of(np.full(k, k**-0.5), n)
    problem = BLoRDProblem.of(S, omega)
    solver = make_solver(problem)

    def fast(V: Any) -> Any:
        solver.put(V)
        return solve(solver, problem, tau, Limits())

    def paper(V: Any) -> Any:
        return solve_by_paper(problem, tau, V, Limits())

    starts = [random_start(omega, np.random.default_rng(s)) for s in range(N_STARTS)]
    fast(starts[0])  # compile
    ours = [clock(lambda V=V: fast(V), 3) for V in starts]
    theirs = [clock(lambda V=V: paper(V)) for V in starts]
    gap = [(a.objective - b.objective) / abs(b.objective) for (_, a), (_, b) in
           zip(ours, theirs, strict=True)]  # fmt: skip
    seconds = [float(np.median([t for t, _ in side])) for side in (ours, theirs)]
    return {
        "data": name,
        "n": n,
        "k": k,
        "tau": tau,
        "paper s": seconds[1],
        "fast ms": 1e3 * seconds[0],
        "times faster": seconds[1] / seconds[0],
        "paper iterations": float(np.median([r.n_iter for _, r in theirs])),
        "fast iterations": float(np.median([r.n_iter for _, r in ours])),
        "objective gap": float(np.mean(gap)),
    }
