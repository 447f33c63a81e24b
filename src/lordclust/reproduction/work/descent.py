"""One descent by the paper's algorithm and by ours, from the same random start."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust.reproduction import inputs
from lordclust.reproduction.store import Cell, Record
from lordclust.reproduction.work.grid import TOL
from lordclust.result import SolverResult
from lordclust.solver import descent
from lordclust.solver.engine import Engine
from lordclust.solver.start import random_start

#: Points kept of a curve.
POINTS = 80


def run(cell: Cell) -> Record:
    """Return both curves, and the iterations of their projections.

    ``settings["tau"]`` for B-LoRD; ``settings["max_iter"]`` cuts both short.
    """
    lord = cell.method == "lord"
    S, ends = inputs.graph(cell.data, lord=lord)
    omega = inputs.omega(cell.data)
    V0 = random_start(omega, np.random.default_rng(cell.seed))
    limits: dict[str, Any] = {"tol": TOL, "max_iter": cell.settings["max_iter"]}
    if lord:
        ways: dict[str, Callable[[], SolverResult]] = {
            "paper": lambda: descent.paper_lord(S, V0, ends, omega, **limits),
            "fast": lambda: descent.solve_lord(_engine(), S, ends, **limits),
        }
    else:
        tau = cell.settings["tau"]
        ways = {
            "paper": lambda: descent.paper_blord(S, V0, ends, tau, omega, **limits),
            "fast": lambda: descent.solve_blord(_engine(), S, ends, tau, **limits),
        }

    def _engine() -> Engine:
        engine = Engine(S, omega, lord=lord)
        engine.put(V0)
        return engine

    return {name: _told(way) for name, way in ways.items()}


def _told(way: Callable[[], SolverResult]) -> Record:
    """Run a descent and return what is kept of it."""
    start = time.process_time()
    result = way()
    seconds = time.process_time() - start
    iterations, curve = _thinned(result.history)
    return {
        "n_iter": result.n_iter,
        "converged": result.converged,
        "objective": float(f"{result.objective:.9g}"),
        "passes": round(result.passes / max(result.n_iter, 1), 2),
        "seconds": round(seconds, 3),
        "iterations": iterations,
        "curve": [float(f"{x:.6g}") for x in curve],
    }


def _thinned(history: FloatArray) -> tuple[list[int], FloatArray]:
    """Return some iterations, denser at the beginning, and their objectives."""
    last = len(history) - 1
    places = np.geomspace(1, last + 1, POINTS).round().astype(int) - 1
    places = np.unique(places)
    return places.tolist(), history[places]
