"""How descents converge, and what their projections cost."""

from typing import Any

import numpy as np

from lordclust._core.colors import BLUE, ORANGE
from lordclust.datasets import CATALOG
from lordclust.plots._axes import quiet
from lordclust.reproduction.figures._sheet import legend, sheet, titles
from lordclust.reproduction.paper import SETS
from lordclust.reproduction.results import Results, find

WAYS = {"paper": ("the paper's algorithm", ORANGE), "fast": ("lordclust", BLUE)}
NAMES = {"lord": "LoRD", "blord": "B-LoRD"}


def _entries(results: Results, method: str) -> list[Any]:
    found = [find(results, "descent", method=method, data=data) for data in SETS]
    return [entry for entry in found if entry is not None]


def convergence(results: Results) -> Any:
    """Draw the objective over iterations, both algorithms from the same start."""
    whole = {
        method: [e for e in _entries(results, method) if e["paper"]["converged"]]
        for method in NAMES
    }
    columns = 5
    rows = {method: -(-len(found) // columns) for method, found in whole.items()}
    figure, panels = sheet(sum(rows.values()) * columns, columns, size=(2.2, 1.8))
    used, first = set(), 0
    for method, found in whole.items():
        for place, e in enumerate(found):
            panel = panels[first + place]
            used.add(id(panel))
            for way, (label, colour) in WAYS.items():
                panel.plot(
                    np.array(e[way]["iterations"]) + 1, e[way]["curve"],
                    color=colour, lw=1.4, label=label,
                )  # fmt: skip
            panel.set_xscale("log")
            quiet(panel, titles([e["data"]])[0])
            panel.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3))
            panel.yaxis.offsetText.set_size(7)
            if place % columns == 0:
                panel.set_ylabel(NAMES[method])
            if place + columns >= len(found):
                panel.set_xlabel("iteration")
        first += rows[method] * columns
    for panel in panels:
        if id(panel) not in used:
            panel.axis("off")
    if used:
        legend(figure, panels[0])
    return figure


def inner_iterations(results: Results) -> Any:
    """Draw what a projection takes, over the samples and the clusters.

    Iterations of Dykstra's method beside passes of Newton's, the mean of a descent.
    """
    figure, panels = sheet(4, 4, size=(2.8, 2.5))
    for place, (panel, (method, axis)) in enumerate(
        zip(panels, [(m, a) for m in NAMES for a in "nk"], strict=True)
    ):
        found = _entries(results, method)
        x = [getattr(CATALOG[e["data"]], axis) for e in found]
        for way, (_, colour) in WAYS.items():
            y = [e[way]["passes"] for e in found]
            label = "Dykstra's iterations" if way == "paper" else "Newton's passes"
            panel.plot(x, y, "o", color=colour, ms=5, alpha=0.8, mew=0, label=label)
        panel.set(xscale="log", yscale="log", ylim=(0.8, 2000))
        panel.minorticks_off()
        panel.set_xlabel("samples n" if axis == "n" else "clusters k")
        quiet(panel, NAMES[method] if axis == "n" else "")
        if place == 0:
            panel.set_ylabel("per projection")
    legend(figure, panels[0])
    return figure
