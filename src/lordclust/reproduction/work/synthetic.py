"""The paper's four Gaussians: a draw, a method, true or equal shares."""

import time
from typing import Any

import numpy as np

from lordclust import make_method
from lordclust._core.typing import FloatArray, IntArray
from lordclust.datasets import four_gaussians
from lordclust.datasets.synthetic import MIXTURES
from lordclust.reproduction import inputs
from lordclust.reproduction.store import Cell, Record
from lordclust.reproduction.work.grid import descend, taus
from lordclust.rounding.labels import labels_from
from lordclust.solver import problem
from lordclust.solver.omega import Omega

#: The draw whose samples are kept for the figure.
SHOWN = 0


def run(cell: Cell) -> Record:
    """Return the scores of the start, and for B-LoRD the tau, that count.

    S = XX', as in the paper. ``settings["starts"]`` random starts, the best objective
    counts; tau is chosen by the labels, as the paper does.
    """
    X, y = four_gaussians(MIXTURES[cell.data], random_state=cell.seed)
    true = cell.settings["shares"] == "true"
    given = inputs.class_shares(y) if true else np.full(4, 0.25)
    start = time.process_time()
    record, P = _METHODS[cell.method](X, y, given, cell.settings)
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


Answer = tuple[Record, FloatArray]


def _fitted(method: str, X: Any, given: FloatArray, **settings: Any) -> Any:
    """Return a fitted model; one thread, whatever chance there is the same."""
    model = make_method(method, 4, proportions=given, random_state=0, **settings)
    return model.fit(X)


def _gmm(X: FloatArray, y: IntArray, given: FloatArray, settings: Record) -> Answer:
    model = _fitted("gmm", X, given, n_init=settings["starts"])
    return {}, model.membership_


def _lord(X: FloatArray, y: IntArray, given: FloatArray, settings: Record) -> Answer:
    options = {"start": "random", "affinity": "precomputed", "n_jobs": 1}
    model = _fitted("lord", X @ X.T, given, n_init=settings["starts"], **options)
    return {}, model.membership_


def _blord(X: FloatArray, y: IntArray, given: FloatArray, settings: Record) -> Answer:
    S, grid = X @ X.T, taus(settings["taus"])
    ends, omega = problem.spectrum(S), Omega.of(np.sqrt(given), len(y))
    starts = [
        list(descend(S, ends, omega, seed, grid)) for seed in range(settings["starts"])
    ]
    best = [max(at_tau, key=lambda f: f[0])[1] for at_tau in zip(*starts, strict=True)]
    curve = [round(float(inputs.SCORES["acc"](y, labels_from(P))), 4) for P in best]
    place = int(np.argmax(curve))
    return {"tau": float(grid[place]), "curve": curve}, best[place]


_METHODS = {"gmm": _gmm, "lord": _lord, "blord": _blord}
