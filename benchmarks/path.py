"""The whole path in tau: its cost, its optima, its accuracy."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import SpectralClustering

from benchmarks.common import clock
from lordclust import BLoRD, tau_path
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.solver.omega import Omega
from lordclust.solver.problem import BLoRDProblem
from lordclust.solver.solve import Limits, make_solver, solve
from lordclust.solver.start import random_start

TITLE = "The path in tau"
NOTE = (
    "All on one thread, same graph. `50 taus`: 0.02, 0.04, ... 1. `adaptive`: the "
    "default grid. `20 starts`: random starts of the fast solver at one tau. "
    "`spectral`: scikit-learn's SpectralClustering. `path wins`: of the taus >= 0.4 "
    "of the 50, at how many the path's objective is at least the best of 50 random "
    "starts there, to 1e-6 relative, and `loses at` the others; `smallest lead` is the "
    "path's smallest lead over that best, relative."
)
GRID = np.linspace(0.02, 1, 50)
CASES = (("semeion", 0.42), ("orl", 0.62), ("chart", 0.44), ("wine", 0.43))


def run() -> list[dict[str, Any]]:
    return [measure(name, tau) for name, tau in CASES]


def measure(name: str, tau: float) -> dict[str, Any]:
    data = load(name)
    S = KNNGraph().build(data.prepared())
    k = data.n_clusters

    def path(taus: Any = None) -> Any:
        return tau_path(S, k, taus=taus, random_state=0, n_jobs=1)

    def starts() -> Any:
        model = BLoRD(k, tau=tau, start="random", n_init=20, affinity="precomputed")
        return model.set_params(n_jobs=1, random_state=0).fit(S)

    def spectral() -> Any:
        model = SpectralClustering(k, affinity="precomputed", random_state=0)
        return model.fit(sp.csr_matrix(S))

    path()  # compile
    t_grid, grid = clock(lambda: path(GRID), 3)
    t_adaptive, adaptive = clock(path, 3)
    t_starts, _ = clock(starts, 2)
    t_spectral, _ = clock(spectral, 3)
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


def against_restarts(S: Any, k: int, grid: Any) -> dict[float, float]:
    """Return the path's relative lead over the best of 50 random starts, by tau."""
    n = S.shape[0]
    omega = Omega.of(np.full(k, k**-0.5), n)
    problem = BLoRDProblem.of(S, omega)
    solver = make_solver(problem)
    leads = {}
    for tau, ours in zip(grid.taus, grid.objectives, strict=True):
        if tau < 0.4 - 1e-9:
            continue
        best = -np.inf
        for seed in range(50):
            solver.put(random_start(omega, np.random.default_rng(seed)))
            result = solve(solver, problem, tau, Limits())
            best = max(best, result.objective)
        leads[float(tau)] = float((ours - best) / abs(best))
    return leads
