"""The paper's algorithm and ours from the same random start: how they converge."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from lordclust._core.colors import BLUE, ORANGE, QUIET
from lordclust._core.typing import FloatArray
from lordclust.datasets import CATALOG
from lordclust.plots._axes import quiet
from lordclust.result import SolverResult
from lordclust.solver.solve import Limits, make_solver, solve, solve_by_paper
from lordclust.solver.start import random_start
from reproduction import inputs
from reproduction.experiments._sheet import Sheet, legend, sheet, title
from reproduction.experiments.tau_grid import TOL
from reproduction.paper import SETS
from reproduction.results import Entry, Results, find
from reproduction.store import Cell, Record

#: Points kept of a curve.
POINTS = 80
#: The paper's algorithm with its own rule for the end of a projection, with ours
#: (nonnegative *and* on the affine set), and our algorithm.
WAYS = {
    "paper": ("the paper's algorithm", ORANGE),
    "strict": ("the same, exact sums", QUIET),
    "fast": ("lordclust", BLUE),
}
#: Marks of the axes of samples and of clusters, which are logarithmic.
TICKS = {"n": (200, 1000, 5000, 50_000), "k": (3, 10, 30, 100)}
NAMES = {"lord": "LoRD", "blord": "B-LoRD"}


def run(cell: Cell) -> Record:
    """Return the curves of the three ways, and the iterations of their projections.

    ``settings["tau"]`` for B-LoRD; ``settings["max_iter"]`` bounds all of them,
    ``settings["strict_iter"]`` that with the stricter projection.
    """
    lord = cell.method == "lord"
    problem, t = inputs.problem(cell.data, lord=lord), cell.settings.get("tau", 1.0)
    V0 = random_start(problem.omega, np.random.default_rng(cell.seed))
    limits = Limits(TOL, cell.settings["max_iter"])
    fewer = Limits(TOL, cell.settings["strict_iter"])

    def fast() -> SolverResult:
        solver = make_solver(problem)
        solver.put(V0)
        return solve(solver, problem, t, limits)

    paper = partial(solve_by_paper, problem, t, V0, limits, early=True)
    strict = partial(solve_by_paper, problem, t, V0, fewer)
    return {
        "paper": _measure(paper), "strict": _measure(strict), "fast": _measure(fast)
    }  # fmt: skip


def _measure(descend: Callable[[], SolverResult]) -> Record:
    """Run a descent and return what is kept of it."""
    start = time.process_time()
    result = descend()
    seconds = time.process_time() - start
    iterations, curve = _thin(result.history)
    return {
        "n_iter": result.n_iter,
        "converged": result.converged,
        "objective": float(f"{result.objective:.9g}"),
        "passes": round(result.passes / max(result.n_iter, 1), 2),
        "seconds": round(seconds, 3),
        "iterations": iterations,
        "curve": [float(f"{x:.6g}") for x in curve],
    }


def _thin(history: FloatArray) -> tuple[list[int], FloatArray]:
    """Return some iterations, denser at the beginning, and their objectives."""
    places = np.geomspace(1, len(history), POINTS).round().astype(int) - 1
    places = np.unique(places)
    return places.tolist(), history[places]


def summarise(group: list[Record]) -> Entry:
    """Return the curves as they are."""
    (record,) = group
    kept = {name: record[name] for name in ("method", "data")}
    kept |= {name: record["settings"][name] for name in ("max_iter", "strict_iter")}
    return kept | {name: record[name] for name in WAYS}


# -- figures --------------------------------------------------------------------------


def _entries(results: Results, method: str) -> list[Entry]:
    found = [find(results, "descent", method=method, data=data) for data in SETS]
    return [entry for entry in found if entry is not None]


def convergence(results: Results) -> Sheet:
    """Draw the objective over iterations, from the same start."""
    complete = {
        method: [e for e in _entries(results, method) if e["paper"]["converged"]]
        for method in NAMES
    }
    columns = 5
    rows = {method: -(-len(found) // columns) for method, found in complete.items()}
    figure, panels = sheet(sum(rows.values()) * columns, columns, size=(2.2, 1.8))
    for panel in panels:
        panel.axis("off")
    first = 0
    for method, found in complete.items():
        for place, entry in enumerate(found):
            panel = panels[first + place]
            panel.axis("on")
            for way in ("paper", "fast"):
                label, colour = WAYS[way]
                x = np.array(entry[way]["iterations"]) + 1
                panel.plot(x, entry[way]["curve"], color=colour, lw=1.4, label=label)
            panel.set_xscale("log")
            quiet(panel, title(entry["data"]))
            panel.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
            panel.yaxis.offsetText.set_fontsize(7)
            if place % columns == 0:
                panel.set_ylabel(NAMES[method])
            if place + columns >= len(found):
                panel.set_xlabel("iteration")
        first += rows[method] * columns
    if first:
        legend(figure, panels[0])
    return figure


def inner_iterations(results: Results) -> Sheet:
    """Draw the cost of a projection against the samples and the clusters.

    Iterations of Dykstra's method, by the paper's rule for its end and by ours, and
    passes of Newton's, the mean of a descent.
    """
    figure, panels = sheet(4, 4, size=(2.8, 2.5))
    cases = [(method, axis) for method in NAMES for axis in "nk"]
    for panel, (method, axis) in zip(panels, cases, strict=True):
        found = _entries(results, method)
        x = [getattr(CATALOG[e["data"]], axis) for e in found]
        for way, label in (
            ("paper", "Dykstra's iterations, the paper's stop"),
            ("strict", "with exact sums"),
            ("fast", "Newton's passes"),
        ):
            y = [e[way]["passes"] for e in found]
            colour = WAYS[way][1]
            panel.plot(x, y, "o", color=colour, ms=5, alpha=0.8, mew=0, label=label)
        panel.set(xscale="log", yscale="log", ylim=(0.8, 2000))
        panel.minorticks_off()
        ticks = TICKS[axis]
        panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        panel.set_xlabel("samples n" if axis == "n" else "clusters k")
        quiet(panel, NAMES[method] if axis == "n" else "")
    panels[0].set_ylabel("per projection")
    legend(figure, panels[0])
    return figure
