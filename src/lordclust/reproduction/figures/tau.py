"""What tau does to the accuracy and to the objective."""

from typing import Any

import numpy as np

from lordclust._core.colors import BLUE, INK, ORANGE, QUIET
from lordclust.plots._axes import quiet
from lordclust.reproduction.figures._sheet import legend, sheet, titles
from lordclust.reproduction.paper import SETS
from lordclust.reproduction.results import Results, find


def _pairs(results: Results) -> list[tuple[Any, Any]]:
    """Return grid and path of each set that has both."""
    found = [
        (find(results, "grid", data=d, shares="equal"), find(results, "path", data=d))
        for d in SETS
    ]
    return [(grid, path) for grid, path in found if grid and path]


def tau_acc(results: Results) -> Any:
    """Draw the accuracy over tau: best of random starts, and the path."""
    pairs = _pairs(results)
    figure, panels = sheet(len(pairs), 4)
    for panel, (grid, path) in zip(panels, pairs, strict=True):
        panel.axvline(
            path["tau_0"], color=QUIET, lw=1, ls=":", label="tau_0 (gamma = 0)"
        )
        panel.plot(
            grid["taus"],
            grid["curve"],
            color=ORANGE,
            lw=1.2,
            label="best of random starts",
        )
        panel.plot(path["taus"], path["curve"], color=BLUE, lw=1.6, label="one path")
        panel.plot(grid["tau"], grid["acc"], "o", color=ORANGE, ms=5, label="best tau")
        panel.set(xlim=(0, 1))
        quiet(panel, titles([grid["data"]])[0])
    for panel in panels[-4:]:
        panel.set_xlabel("tau")
    if panels:
        panels[0].set_ylabel("ACC")
        legend(figure, panels[0])
    return figure


def landscape(results: Results) -> Any:
    """Draw how far the starts stay behind the path, tau by tau.

    The objective less that of the path, in percent of the path's height over the
    trivial solution V = 1 mu'/n.
    """
    pairs = _pairs(results)
    figure, panels = sheet(len(pairs), 4)
    for panel, (grid, path) in zip(panels, pairs, strict=True):
        taus = np.array(grid["taus"])
        ours = np.interp(taus, path["taus"], path["objectives"])
        low, middle, high = np.array(grid["cloud"])
        scale = np.ptp(path["objectives"]) / 100 or 1.0
        gap = [(x - ours) / scale for x in (low, middle, high)]
        panel.axhline(0, color=BLUE, lw=1.6, label="one path")
        panel.fill_between(taus, gap[0], gap[2], color=ORANGE, alpha=0.25, lw=0,
                           label="all random starts")  # fmt: skip
        panel.plot(taus, gap[1], color=ORANGE, lw=1, label="their median")
        panel.plot(taus, gap[2], color=INK, lw=0.9, label="the best of them")
        panel.set(xlim=(0, 1))
        quiet(panel, titles([grid["data"]])[0])
    for panel in panels[-4:]:
        panel.set_xlabel("tau")
    if panels:
        panels[0].set_ylabel("behind the path, %")
        legend(figure, panels[0])
    return figure
