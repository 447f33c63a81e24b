"""The four Gaussians: colour is the cluster, opacity its probability."""

from typing import Any

import numpy as np

from lordclust._core.colors import BLUE, ORANGE, cluster_colours
from lordclust.datasets.synthetic import MIXTURES
from lordclust.plots._axes import bare, quiet
from lordclust.reproduction.figures._sheet import sheet
from lordclust.reproduction.results import Results, find
from lordclust.reproduction.work.grid import taus

#: Rows of the figure: method, shares, and what they are called.
ROWS = (
    ("lord", "true", "LoRD, true shares"),
    ("lord", "equal", "LoRD, equal shares"),
    ("blord", "true", "B-LoRD, true shares"),
    ("blord", "equal", "B-LoRD, equal shares"),
)


def synthetic(results: Results) -> Any:
    """Draw one draw of each mixture, and the accuracy of B-LoRD over tau."""
    figure, panels = sheet(5 * (len(ROWS) + 1), 5, size=(2.0, 1.8))
    for column, (data, counts) in enumerate(MIXTURES.items()):
        for row, (method, shares, name) in enumerate(ROWS):
            panel = panels[5 * row + column]
            entry = find(results, "synthetic", method=method, data=data, shares=shares)
            if row == 0:
                panel.set_title(" ".join(map(str, counts)), size=10, weight="bold")
            if column == 0:
                panel.set_ylabel(name, size=9)
            _samples(panel, entry)
        panel = panels[5 * len(ROWS) + column]
        for shares, colour in (("true", BLUE), ("equal", ORANGE)):
            entry = find(results, "synthetic", method="blord", data=data, shares=shares)
            if entry is not None:
                grid = taus(len(entry["curve"]))
                panel.plot(grid, entry["curve"], color=colour, label=f"{shares} shares")
        panel.set(ylim=(0.3, 1), xlabel="tau")
        quiet(panel)
        if column == 0:
            panel.set_ylabel("B-LoRD, mean ACC")
            if panel.lines:
                panel.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def _samples(panel: Any, entry: Any) -> None:
    """Draw the samples of the first draw, with the accuracy on it."""
    bare(panel)
    if entry is None or "x" not in entry:
        return
    X, labels = np.array(entry["x"]), np.array(entry["labels"])
    chance = np.array(entry["chance"])
    colours = np.column_stack([cluster_colours(4)[_by_corner(X, labels)], chance**2])
    panel.scatter(X[:, 0], X[:, 1], c=colours, s=11, lw=0)
    panel.set_aspect("equal", adjustable="datalim")


def _by_corner(X: Any, labels: Any) -> Any:
    """Return clusters numbered by the corner they are in, so that colours stay."""
    from scipy.optimize import linear_sum_assignment

    from lordclust.datasets.synthetic import MEANS

    distance = np.full((4, 4), 1e3)
    for j in np.unique(labels):
        distance[j] = np.linalg.norm(X[labels == j].mean(axis=0) - MEANS, axis=1)
    return linear_sum_assignment(distance)[1][labels]
