"""Objective and accuracy, start by start."""

from typing import Any

import numpy as np

from lordclust._core.colors import BLUE, ORANGE, QUIET
from lordclust.plots._axes import quiet
from lordclust.reproduction.figures._sheet import legend, sheet, titles
from lordclust.reproduction.paper import SETS
from lordclust.reproduction.plan import CORRELATED
from lordclust.reproduction.results import Results, find, maximises
from lordclust.reproduction.table import short
from lordclust.reproduction.tables import entry


def objective_acc(results: Results) -> Any:
    """Draw the accuracy over the objective of each start, better to the right."""
    found = {
        (method, data): e
        for method in CORRELATED
        for data in SETS
        if (e := entry(results, method, data)) and e.get("objectives")
    }
    methods = [m for m in CORRELATED if any(method == m for method, _ in found)]
    sets = [d for d in SETS if any(data == d for _, data in found)]
    count = len(methods) * len(sets)
    figure, panels = sheet(count, len(methods), size=(1.75, 1.25))
    for place, panel in enumerate(panels):
        row, column = divmod(place, len(methods))
        method, data = methods[column], sets[row]
        _cloud(panel, found.get((method, data)), maximises(method))
        if row == 0:
            panel.set_title(method, size=11, weight="bold")
        if column == 0:
            panel.set_ylabel(titles([data])[0], size=9, color="black")
    return figure


def _cloud(panel: Any, e: Any, rises: bool) -> None:
    """Draw the starts of one entry; the one that counts is filled."""
    if e is None:
        panel.axis("off")
        return
    x, y = np.array(e["objectives"]), np.array(e["accuracies"])
    x = _standing(x if rises else -x)
    panel.plot(x, y, "o", color=BLUE, ms=3.5, mew=0, alpha=0.45)
    best = int(x.argmax())
    panel.plot(x[best], y[best], "o", color=ORANGE, ms=5, mew=0)
    quiet(panel)
    panel.set_xticks([])
    panel.margins(0.1)
    if e["r2"] is not None:
        panel.text(
            0.99, 1.0, short(e["r2"], 2), transform=panel.transAxes, size=8,
            color=QUIET, ha="right", va="bottom",
        )  # fmt: skip


def _standing(x: Any) -> Any:
    """Return objectives from 0 for the worst start to 1 for the best."""
    span = np.ptp(x)
    return (x - x.min()) / span if span > 0 else np.full(len(x), 0.5)


def init(results: Results) -> Any:
    """Draw Sinkhorn's beside Dykstra's starts: objective and accuracy of each."""
    pairs = []
    for sinkhorn, dykstra in (
        ("lord", "lord-projected"),
        ("blord-random", "blord-projected"),
    ):
        for data in SETS:
            a = find(results, "scores", method=sinkhorn, data=data)
            b = find(results, "scores", method=dykstra, data=data)
            if a and b and a.get("objectives") and b.get("objectives"):
                pairs.append((sinkhorn, a, b))
    names = {"lord": "LoRD", "blord-random": "B-LoRD"}
    columns = max(1, len(pairs) // 2)
    figure, panels = sheet(len(pairs), columns, size=(1.75, 1.9))
    for place, (panel, (method, a, b)) in enumerate(zip(panels, pairs, strict=True)):
        rises = maximises(method)
        both = _standing(
            np.array(a["objectives"] + b["objectives"]) * (1 if rises else -1)
        )
        split = len(a["objectives"])
        for x, y, colour, label in (
            (both[:split], a["accuracies"], BLUE, "Sinkhorn's starts"),
            (both[split:], b["accuracies"], ORANGE, "Dykstra's starts"),
        ):
            panel.plot(x, y, "o", color=colour, ms=3.5, mew=0, alpha=0.5, label=label)
        quiet(panel, titles([a["data"]])[0])
        panel.set_xticks([])
        if place % columns == 0:
            panel.set_ylabel(f"{names[method]}, ACC")
        panel.set_xlabel("better objective →", size=8)
    if panels:
        legend(figure, panels[0])
    return figure
