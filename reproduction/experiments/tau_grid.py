"""B-LoRD over a grid of tau: random starts, as in the paper, and our path."""

import time
from collections.abc import Iterator

import numpy as np

from lordclust import tau_path
from lordclust._core.colors import BLUE, INK, ORANGE, QUIET
from lordclust._core.typing import FloatArray
from lordclust.plots._axes import quiet
from lordclust.rounding.labels import labels_from, membership_from
from lordclust.solver.problem import Problem
from lordclust.solver.solve import Limits, make_solver, solve
from lordclust.solver.start import random_start
from lordclust.solver.tau_rules import TAU_RULES
from reproduction import inputs
from reproduction.experiments._sheet import Sheet, legend, sheet, title
from reproduction.paper import SETS
from reproduction.results import Entry, Results, entry_head, find, signed_r2
from reproduction.store import Cell, Record

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


def run_grid(cell: Cell) -> Record:
    """Solve one random start for each of ``settings["taus"]`` taus."""
    known = inputs.data(cell.data)
    problem = inputs.problem(cell.data, cell.settings.get("shares", "equal"))
    grid = taus(cell.settings["taus"])
    start = time.process_time()
    found = [
        (objective, labels_from(P))
        for objective, P in descend(problem, cell.seed, grid)
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
    problem: Problem, seed: int, grid: FloatArray
) -> Iterator[tuple[float, FloatArray]]:
    """Yield objective and membership for each tau, all from the same random V."""
    V0 = random_start(problem.omega, np.random.default_rng(seed))
    solver = make_solver(problem)
    for tau in grid.tolist():
        solver.put(V0)
        result = solve(solver, problem, tau, Limits(TOL, MAX_ITER))
        yield result.objective, membership_from(result.V, problem.omega.mu)


def run_path(cell: Cell) -> Record:
    """Follow one path over the grid: no restarts, no labels."""
    known = inputs.data(cell.data)
    problem = inputs.problem(cell.data)
    S, spectrum = problem.S, problem.spectrum
    grid, k = taus(cell.settings["taus"]), known.n_clusters
    start = time.process_time()
    path = tau_path(S, k, taus=grid, tol=TOL, max_iter=MAX_ITER, n_jobs=1)
    seconds = time.process_time() - start
    scored = [inputs.scores(known.y, labels) for labels in path.labels]
    return {
        "taus": path.taus.tolist(),
        "objective": [float(f"{x:.9g}") for x in path.objectives],
        "tau_0": round(spectrum.high / (spectrum.high - spectrum.low), 4),
        "seconds": round(seconds, 3),
        **{f"tau_{x}": round(float(rule(S, k)), 4) for x, rule in TAU_RULES.items()},
        **{x: [round(s[x], 5) for s in scored] for x in inputs.SCORES},
    }


def summarise_grid(group: list[Record]) -> Entry:
    """Return the paper's protocol: at each tau the start with the best objective.

    ``tau`` is the one with the best accuracy, chosen by the labels as the paper does;
    the scores are those at it. ``each`` holds the best of every score over tau.
    """
    objective = np.array([r["objective"] for r in group])
    best, columns = objective.argmax(axis=0), np.arange(objective.shape[1])
    chosen = {s: np.array([r[s] for r in group])[best, columns] for s in inputs.SCORES}
    star = int(chosen["acc"].argmax())
    objectives, accuracies = (
        objective[:, star].tolist(),
        [r["acc"][star] for r in group],
    )
    return {
        **entry_head(group),
        "shares": group[0]["settings"]["shares"],
        "starts": len(group),
        "tau": group[0]["taus"][star],
        **{name: round(float(values[star]), 4) for name, values in chosen.items()},
        "each": {name: round(float(x.max()), 4) for name, x in chosen.items()},
        "r2": signed_r2(objectives, accuracies),
        "objectives": [float(f"{x:.7g}") for x in objectives],
        "accuracies": [round(x, 4) for x in accuracies],
        "taus": group[0]["taus"],
        "curve": [round(float(x), 4) for x in chosen["acc"]],
        "cloud": [
            [float(f"{x:.6g}") for x in np.quantile(objective, q, axis=0)]
            for q in (0, 0.5, 1)
        ],
    }


def summarise_path(group: list[Record]) -> Entry:
    """Return a path as it is, its objectives and accuracies with fewer digits."""
    (record,) = group
    return {
        **entry_head(group),
        **{x: record[x] for x in ("tau_0", "tau_n", "tau_blocks", "taus")},
        "objectives": [float(f"{x:.6g}") for x in record["objective"]],
        "curve": [round(x, 4) for x in record["acc"]],
    }


# -- figures --------------------------------------------------------------------------


def grids_and_paths(results: Results) -> dict[str, tuple[Entry, Entry]]:
    """Return grid and path of each data set that has both."""
    return {
        data: (grid, path)
        for data in SETS
        if (grid := find(results, "grid", data=data, shares="equal"))
        and (path := find(results, "path", data=data))
    }


def tau_acc(results: Results) -> Sheet:
    """Draw the accuracy over tau: best of random starts, and the path."""
    pairs = grids_and_paths(results)
    figure, panels = sheet(len(pairs), 4)
    for panel, (data, (grid, path)) in zip(panels, pairs.items(), strict=True):
        panel.axvline(
            path["tau_0"], color=QUIET, lw=1, ls=":", label="tau_0 (gamma = 0)"
        )
        for entry, colour, width, label in (
            (grid, ORANGE, 1.2, "best of random starts"),
            (path, BLUE, 1.6, "one path"),
        ):
            x, y = entry["taus"], entry["curve"]
            panel.plot(x, y, color=colour, lw=width, label=label)
        panel.plot(grid["tau"], grid["acc"], "o", color=ORANGE, ms=5, label="best tau")
        panel.set(xlim=(0, 1))
        quiet(panel, title(data))
    for panel in panels[-4:]:
        panel.set_xlabel("tau")
    if panels:
        panels[0].set_ylabel("ACC")
        legend(figure, panels[0])
    return figure


def landscape(results: Results) -> Sheet:
    """Draw the objectives of the random starts relative to the path, tau by tau.

    The objective less that of the path, in percent of the path's height over the
    trivial solution V = 1 mu'/n.
    """
    pairs = grids_and_paths(results)
    figure, panels = sheet(len(pairs), 4)
    for panel, (data, (grid, path)) in zip(panels, pairs.items(), strict=True):
        x = np.array(grid["taus"])
        ours = np.interp(x, path["taus"], path["objectives"])
        scale = np.ptp(path["objectives"]) / 100 or 1.0
        low, middle, high = (np.array(grid["cloud"]) - ours) / scale
        panel.axhline(0, color=BLUE, lw=1.6, label="one path")
        panel.fill_between(x, low, high, color=ORANGE, alpha=0.25, lw=0,
                           label="all random starts")  # fmt: skip
        panel.plot(x, middle, color=ORANGE, lw=1, label="their median")
        panel.plot(x, high, color=INK, lw=0.9, label="the best of them")
        panel.set(xlim=(0, 1))
        quiet(panel, title(data))
    for panel in panels[-4:]:
        panel.set_xlabel("tau")
    if panels:
        panels[0].set_ylabel("behind the path, %")
        legend(figure, panels[0])
    return figure
