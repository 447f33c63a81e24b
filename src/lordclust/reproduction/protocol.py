"""The paper's protocol: how a method is run on a data set, and what is scored."""

import time
from functools import lru_cache
from typing import Any

import numpy as np

from lordclust import metrics
from lordclust._typing import IntArray
from lordclust.datasets import Dataset, load
from lordclust.graph import KNNGraph, self_tuning_kernel
from lordclust.registry import METHODS, make_method
from lordclust.reproduction.store import Cell, Record

#: Random starts, and roundings of one learned Z, in the paper.
RESTARTS = 50

#: Methods scored by the mean over roundings of one solution.
ROUNDED = ("sc", "sdp", "dsn", "sds", "dvd", "dsni")
#: Methods without chance.
DETERMINISTIC = ("gkkm", "directsc", "lord", "blord")
#: Methods scored by the mean over their members.
MEMBERS = ("s3nmf",)


def cells(method: str, data: str, restarts: int = RESTARTS) -> list[Cell]:
    """Return the cells that make one entry of a table.

    A method with random starts has a cell for each; the others have one.
    """
    if method in (*ROUNDED, *DETERMINISTIC, *MEMBERS):
        return [Cell(method, data, 0, {"restarts": restarts})]
    return [Cell(method, data, seed) for seed in range(restarts)]


def run(cell: Cell) -> Record:
    """Return the scores of a cell, with its objective and its time."""
    data = _data(cell.data)
    model = _estimator(cell, data.n_clusters)
    start = time.process_time()  # not the wall: other cells run beside it
    model.fit(_input(cell.method, cell.data))
    seconds = time.process_time() - start
    partitions = _partitions(cell, model)
    scores = [_scores(data.y, labels) for labels in partitions]
    return {
        "method": cell.method,
        "data": cell.data,
        "seed": cell.seed,
        "settings": cell.settings,
        "objective": model.objective_,
        "converged": model.converged_,
        "n_iter": model.n_iter_,
        "seconds": round(seconds, 3),
        **{name: float(np.mean([s[name] for s in scores])) for name in scores[0]},
    }


def entry(method: str, records: list[Record]) -> Record:
    """Return the record a table shows: the best objective, or the only one."""
    best = max if METHODS[method].load().maximises else min
    return best(records, key=lambda r: r["objective"])


def _estimator(cell: Cell, k: int) -> Any:
    """Return the estimator of a cell: one start, the cell's seed."""
    settings = {x: v for x, v in cell.settings.items() if x != "restarts"}
    model = make_method(cell.method, k, **settings)
    known = model.get_params()
    if "random_state" in known and cell.method not in DETERMINISTIC:
        model.set_params(random_state=cell.seed)
    if "n_init" in known and cell.method not in (*ROUNDED, *DETERMINISTIC):
        model.set_params(n_init=1)
    if "affinity" in known:
        model.set_params(affinity="precomputed")
    return model


def _partitions(cell: Cell, model: Any) -> list[IntArray]:
    """Return the partitions that are scored and averaged."""
    if cell.method in ROUNDED:
        return [model.relabel(seed) for seed in range(cell.settings["restarts"])]
    if cell.method in MEMBERS:
        return list(model.members_labels_)
    return [model.labels_]


def _scores(y: IntArray, labels: IntArray) -> dict[str, float]:
    """Return the four scores of the paper."""
    return {
        "acc": metrics.accuracy(y, labels),
        "nmi": metrics.nmi(y, labels),
        "pur": metrics.purity(y, labels),
        "f1": metrics.f1(y, labels),
    }


@lru_cache(maxsize=2)
def _data(name: str) -> Dataset:
    return load(name)


@lru_cache(maxsize=4)
def _input(method: str, data: str) -> Any:
    return _made(METHODS[method].takes, data)


@lru_cache(maxsize=3)
def _made(takes: str, data: str) -> Any:
    """Return what a method works on, prepared as in the paper."""
    X = _data(data).prepared()
    if takes == "features":
        return X
    return self_tuning_kernel(X) if takes == "kernel" else KNNGraph().build(X)
