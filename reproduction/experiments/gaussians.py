"""The paper's four Gaussians: a draw, a method, true or equal shares."""

import time

import numpy as np
from scipy.optimize import linear_sum_assignment

from lordclust import make_method
from lordclust._core.colors import BLUE, ORANGE, cluster_colours
from lordclust._core.typing import FloatArray, IntArray
from lordclust.datasets import four_gaussians
from lordclust.datasets.synthetic import MEANS, MIXTURES
from lordclust.plots._axes import bare, quiet
from lordclust.rounding.labels import labels_from
from lordclust.solver.omega import Omega
from lordclust.solver.problem import BLoRDProblem
from reproduction import inputs
from reproduction.experiments._sheet import Panel, Sheet, sheet
from reproduction.experiments.tau_grid import descend, taus
from reproduction.results import Entry, Results, entry_head, find
from reproduction.store import Cell, Record

#: The draw whose samples are kept for the figure.
SHOWN = 0
#: Rows of the figure: method, shares and title.
ROWS = (
    ("lord", "true", "LoRD, true shares"),
    ("lord", "equal", "LoRD, equal shares"),
    ("blord", "true", "B-LoRD, true shares"),
    ("blord", "equal", "B-LoRD, equal shares"),
)


def run(cell: Cell) -> Record:
    """Return the scores at the best objective and, for B-LoRD, at the best tau.

    S = XX', as in the paper. Of ``settings["starts"]`` random starts the best
    objective counts; tau is chosen by the labels, as the paper does.
    """
    X, y = four_gaussians(MIXTURES[cell.data], random_state=cell.seed)
    true = cell.settings["shares"] == "true"
    shares = inputs.class_shares(y) if true else np.full(4, 0.25)
    start = time.process_time()
    if cell.method == "blord":
        record, P = _blord(X, y, shares, cell.settings)
    else:
        record, P = {}, _membership(cell.method, X, shares, cell.settings["starts"])
    seconds = time.process_time() - start
    labels = labels_from(P)
    record |= {"seconds": round(seconds, 3), **inputs.scores(y, labels)}
    if cell.seed == SHOWN:
        record |= {
            "x": X.round(3).tolist(),
            "labels": labels.tolist(),
            "chance": P.max(axis=1).round(3).tolist(),
        }
    return record


def _membership(method: str, X: FloatArray, shares: FloatArray, n: int) -> FloatArray:
    """Return the membership of n starts, with a fixed seed and one thread."""
    model = make_method(method, 4, proportions=shares, random_state=0, n_init=n)
    if method == "lord":
        X = X @ X.T
        model.set_params(start="random", affinity="precomputed", n_jobs=1)
    found: FloatArray = model.fit(X).membership_
    return found


def _blord(
    X: FloatArray, y: IntArray, shares: FloatArray, settings: Record
) -> tuple[Record, FloatArray]:
    """Return tau and the accuracies over tau, and the membership at the best tau."""
    S, grid = X @ X.T, taus(settings["taus"])
    problem = BLoRDProblem.of(S, Omega.of(np.sqrt(shares), len(y)))
    starts = [list(descend(problem, seed, grid)) for seed in range(settings["starts"])]
    best = [max(at_tau, key=lambda f: f[0])[1] for at_tau in zip(*starts, strict=True)]
    curve = [round(float(inputs.SCORES["acc"](y, labels_from(P))), 4) for P in best]
    place = int(np.argmax(curve))
    return {"tau": float(grid[place]), "curve": curve}, best[place]


def summarise(group: list[Record]) -> Entry:
    """Return means and deviations over the draws, and the first draw."""
    first, settings = group[0], group[0]["settings"]
    means = {s: round(float(np.mean([r[s] for r in group])), 4) for s in inputs.SCORES}
    entry = {
        **entry_head(group),
        "shares": settings["shares"],
        "draws": len(group),
        "starts": settings["starts"],
        **means,
        "spread": round(float(np.std([r["acc"] for r in group])), 4),
    }
    if "curve" in first:
        curves = np.mean([r["curve"] for r in group], axis=0)
        entry |= {"curve": curves.round(4).tolist(), "tau": first["tau"]}
    shown = ("x", "labels", "chance")
    return entry | {name: first[name] for name in shown if name in first}


# -- figure ---------------------------------------------------------------------------


def synthetic(results: Results) -> Sheet:
    """Draw one draw of each mixture, and the accuracy of B-LoRD over tau."""
    figure, panels = sheet(5 * (len(ROWS) + 1), 5, size=(2.0, 1.8))
    for column, (data, counts) in enumerate(MIXTURES.items()):
        for row, (method, shares, name) in enumerate(ROWS):
            panel = panels[5 * row + column]
            if row == 0:
                panel.set_title(" ".join(map(str, counts)), size=10, weight="bold")
            if column == 0:
                panel.set_ylabel(name, size=9)
            wanted = {"method": method, "data": data, "shares": shares}
            _samples(panel, find(results, "synthetic", **wanted))
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


def _samples(panel: Panel, entry: Entry | None) -> None:
    """Draw the samples of the first draw: colour is cluster, opacity probability."""
    bare(panel)
    if entry is None or "x" not in entry:
        return
    X, labels = np.array(entry["x"]), np.array(entry["labels"])
    colours = cluster_colours(4)[_by_corner(X, labels)]
    colours = np.column_stack([colours, np.array(entry["chance"]) ** 2])
    panel.scatter(X[:, 0], X[:, 1], c=colours, s=11, lw=0)
    panel.set_aspect("equal", adjustable="datalim")


def _by_corner(X: FloatArray, labels: IntArray) -> IntArray:
    """Return clusters numbered by the corner they are in, so that colours agree."""
    distance = np.full((4, 4), 1e3)
    for j in np.unique(labels):
        distance[j] = np.linalg.norm(X[labels == j].mean(axis=0) - MEANS, axis=1)
    found: IntArray = linear_sum_assignment(distance)[1][labels]
    return found
