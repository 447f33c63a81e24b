"""One path of B-LoRD over the paper's grid of tau: no restarts, no labels."""

import time

from lordclust import tau_path
from lordclust.reproduction import inputs
from lordclust.reproduction.store import Cell, Record
from lordclust.reproduction.work.grid import MAX_ITER, TOL, taus
from lordclust.solver.problem import TAU_RULES


def run(cell: Cell) -> Record:
    """Return objective and scores for each tau of the path."""
    known = inputs.data(cell.data)
    S, ends = inputs.graph(cell.data)
    start = time.process_time()
    path = tau_path(
        S,
        known.n_clusters,
        taus=taus(cell.settings["taus"]),
        tol=TOL,
        max_iter=MAX_ITER,
        n_jobs=1,
    )
    seconds = time.process_time() - start
    scored = [inputs.scores(known.y, labels) for labels in path.labels]
    return {
        "taus": path.taus.tolist(),
        "objective": [float(f"{x:.9g}") for x in path.objectives],
        "tau_0": round(ends.high / (ends.high - ends.low), 4),
        "seconds": round(seconds, 3),
        **{
            f"tau_{name}": round(float(rule(S, known.n_clusters)), 4)
            for name, rule in TAU_RULES.items()
        },
        **{x: [round(s[x], 5) for s in scored] for x in inputs.SCORES},
    }
