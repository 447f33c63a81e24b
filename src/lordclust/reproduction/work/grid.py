"""One random start of B-LoRD, solved for every tau of a grid."""

import time
from collections.abc import Iterator

import numpy as np

from lordclust._core.typing import FloatArray, Graph
from lordclust.reproduction import inputs
from lordclust.reproduction.store import Cell, Record
from lordclust.rounding.labels import labels_from, membership_from
from lordclust.solver import descent
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.problem import Spectrum
from lordclust.solver.start import random_start

#: The paper's tolerance and limit of iterations.
TOL, MAX_ITER = 1e-4, 4000


def taus(count: int) -> FloatArray:
    """Return ``count`` equal steps up to 1; 100 is the paper's grid.

    Examples
    --------
    >>> taus(4).tolist()
    [0.25, 0.5, 0.75, 1.0]
    """
    return np.round(np.arange(1, count + 1) / count, 6)


def run(cell: Cell) -> Record:
    """Return objective and scores for each of ``settings["taus"]`` taus."""
    known = inputs.data(cell.data)
    S, ends = inputs.graph(cell.data)
    omega = inputs.omega(cell.data, cell.settings.get("shares", "equal"))
    grid = taus(cell.settings["taus"])
    start = time.process_time()
    found = [
        (objective, labels_from(P))
        for objective, P in descend(S, ends, omega, cell.seed, grid)
    ]
    seconds = time.process_time() - start
    scored = [inputs.scores(known.y, labels) for _, labels in found]
    return {
        "taus": grid.tolist(),
        "objective": [float(f"{objective:.9g}") for objective, _ in found],
        "seconds": round(seconds, 3),
        **{x: [round(s[x], 5) for s in scored] for x in inputs.SCORES},
    }


def descend(
    S: Graph, ends: Spectrum, omega: Omega, seed: int, grid: FloatArray
) -> Iterator[tuple[float, FloatArray]]:
    """Yield objective and membership for each tau, all from the same random V."""
    V0 = random_start(omega, np.random.default_rng(seed))
    engine = Engine(S, omega)
    for tau in grid.tolist():
        engine.put(V0)
        result = descent.solve_blord(engine, S, ends, tau, tol=TOL, max_iter=MAX_ITER)
        yield result.objective, membership_from(result.V, omega.mu)
