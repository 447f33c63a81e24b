"""LoRD and B-LoRD: fast solver and paper's algorithm, path and random starts."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import SpectralClustering

from benchmarks.common import Benchmark, Row, clock
from lordclust import BLoRD, LoRD, tau_path
from lordclust._core.typing import FloatArray, Graph
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.solver.omega import make_omega
from lordclust.solver.problem import BLoRDProblem
from lordclust.solver.solve import Limits, make_solver, solve, solve_by_paper
from lordclust.solver.start import random_start

N_STARTS = 10
#: Tau at which random starts are solved, by data set.
TAUS = {"semeion": 0.42, "orl": 0.62, "chart": 0.44, "wine": 0.43}
GRID = np.linspace(0.02, 1, 50)
LIMITS = Limits(1e-4, 4000)


def graph(name: str) -> tuple[Any, Any, int]:
    """Return a data set, its graph, and its number of clusters."""
    data = load(name)
    return data, KNNGraph().build(data.prepared()), data.n_clusters


class Descents:
    """B-LoRD with equal shares on one graph, from any start."""

    def __init__(self, S: Graph, k: int) -> None:
        self.problem = BLoRDProblem.of(S, make_omega(S.shape[0], k)[0])
        self.solver = make_solver(self.problem)

    def start(self, seed: int) -> Any:
        return random_start(self.problem.omega, np.random.default_rng(seed))

    def fast(self, V: FloatArray, tau: float) -> Any:
        self.solver.put(V)
        return solve(self.solver, self.problem, tau, LIMITS)

    def paper(self, V: FloatArray, tau: float) -> Any:
        return solve_by_paper(self.problem, tau, V, LIMITS)


# -- one fit --------------------------------------------------------------------------


def compare(name: str) -> Row:
    _, S, k = graph(name)
    tau, descents = TAUS[name], Descents(S, k)
    starts = [descents.start(seed) for seed in range(N_STARTS)]
    descents.fast(starts[0], tau)  # compile
    ours = [clock(lambda V=V: descents.fast(V, tau), 3) for V in starts]
    theirs = [clock(lambda V=V: descents.paper(V, tau)) for V in starts]
    gap = [(a.objective - b.objective) / abs(b.objective) for (_, a), (_, b) in
           zip(ours, theirs, strict=True)]  # fmt: skip
    seconds = [float(np.median([t for t, _ in side])) for side in (ours, theirs)]
    return {
        "data": name,
        "n": S.shape[0],
        "k": k,
        "tau": tau,
        "paper s": seconds[1],
        "fast ms": 1e3 * seconds[0],
        "times faster": seconds[1] / seconds[0],
        "paper iterations": float(np.median([r.n_iter for _, r in theirs])),
        "fast iterations": float(np.median([r.n_iter for _, r in ours])),
        "objective gap": float(np.mean(gap)),
    }


FIT = Benchmark(
    "One fit: the fast solver and the paper's algorithm",
    "B-LoRD from the same ten starts to the same tolerance 1e-4, one thread. Times are "
    "medians over the starts. `objective gap` is the mean over the starts of (fast - "
    "paper) / |paper|: positive is better.",
    lambda: [compare(name) for name in ("orl", "semeion")],
)


# -- the path in tau ------------------------------------------------------------------


def measure_path(name: str) -> Row:
    data, S, k = graph(name)

    def path(taus: Any = None) -> Any:
        return tau_path(S, k, taus=taus, random_state=0, n_jobs=1)

    starts = BLoRD(
        k,
        tau=TAUS[name],
        start="random",
        proportions="equal",
        n_init=20,
        random_state=0,
    )
    starts.set_params(affinity="precomputed", n_jobs=1)
    spectral = SpectralClustering(k, affinity="precomputed", random_state=0)
    path()  # compile
    t_grid, grid = clock(lambda: path(GRID), 3)
    t_adaptive, adaptive = clock(path, 3)
    t_starts, _ = clock(lambda: starts.fit(S), 2)
    t_spectral, _ = clock(lambda: spectral.fit(sp.csr_matrix(S)), 3)
    leads = against_restarts(S, k, grid)
    lost = [f"{tau:.2f}" for tau, lead in leads.items() if lead < -1e-6]
    return {
        "data": name,
        "50 taus ms": 1e3 * t_grid,
        "adaptive ms": 1e3 * t_adaptive,
        "20 starts ms": 1e3 * t_starts,
        "spectral ms": 1e3 * t_spectral,
        "iterations (50 / adaptive)": f"{grid.n_iter.sum()} / {adaptive.n_iter.sum()}",
        "ACC at the end": accuracy(data.y, adaptive.labels[-1]),
        "best ACC on the path": max(accuracy(data.y, z) for z in grid.labels),
        "path wins": f"{len(leads) - len(lost)} of {len(leads)}",
        "loses at": " ".join(lost) or "-",
        "smallest lead": min(leads.values()),
    }


def against_restarts(S: Graph, k: int, grid: Any) -> dict[float, float]:
    """Return the path's relative lead over the best of 50 random starts, by tau."""
    descents = Descents(S, k)
    starts = [descents.start(seed) for seed in range(50)]
    leads = {}
    for tau, ours in zip(grid.taus, grid.objectives, strict=True):
        if tau >= 0.4 - 1e-9:
            best = max(descents.fast(V, tau).objective for V in starts)
            leads[float(tau)] = float((ours - best) / abs(best))
    return leads


PATH = Benchmark(
    "The path in tau",
    "All on one thread, with the same graph. `50 taus`: 0.02, 0.04, ... 1. `adaptive`: "
    "the default grid. `20 starts`: random starts of the fast solver at one tau. "
    "`spectral`: scikit-learn's SpectralClustering. `path wins`: the number of taus >= "
    "0.4 of the 50 at which the path's objective is at least the best of 50 random "
    "starts, to 1e-6 relative; `loses at`: the other taus; `smallest lead`: the "
    "path's smallest relative lead over that best.",
    lambda: [measure_path(name) for name in TAUS],
)


# -- LoRD -----------------------------------------------------------------------------


def measure_lord(name: str) -> Row:
    data, S, k = graph(name)
    model = LoRD(k, affinity="precomputed", n_jobs=1)
    model.fit(S)  # compile
    t_path, path = clock(lambda: model.fit(S), 2)
    many = LoRD(k, affinity="precomputed", n_jobs=1)
    many.set_params(start="random", n_init=50, random_state=0)
    t_many, many = clock(lambda: many.fit(S))
    ours, all_others = path.objective_, many.all_objectives_
    return {
        "data": name,
        "path ms": 1e3 * t_path,
        "50 starts ms": 1e3 * t_many,
        "rank": int(np.sum(all_others < ours * (1 - 1e-6))),
        "gap": float((ours - all_others.min()) / all_others.min()),
        "ACC path": accuracy(data.y, path.labels_),
        "ACC best of 50": accuracy(data.y, many.labels_),
    }


LORD = Benchmark(
    "LoRD: one path and 50 random starts",
    "One thread. `rank`: the number of random starts (of 50) that end with a lower "
    "objective than the path, beyond 1e-6 relative. `gap`: (path - best) / best; 0 is "
    "the best of all starts, negative is better than all of them.",
    lambda: [
        measure_lord(name)
        for name in ("yale", "orl", "chart", "semeion", "mnist2000", "wine", "ecoli")
    ],
)
