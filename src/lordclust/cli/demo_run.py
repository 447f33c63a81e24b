"""What the demo computes."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering

from lordclust import datasets, graph, metrics
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.methods.lord import BLoRD, LoRD
from lordclust.result import TauPath
from lordclust.solver.tau_path import tau_path

K = 10
#: Samples of the warm-up: imports and compilation do not belong on the clock.
FEW = 200


@dataclass(frozen=True)
class DemoData:
    """Digits, their true classes, and their graph."""

    X: FloatArray
    y: IntArray
    S: Graph
    graph_seconds: float


@dataclass(frozen=True)
class Score:
    """One line of the comparison."""

    method: str
    seconds: float
    accuracy: float
    nmi: float
    purity: float
    smallest: int
    largest: int


@dataclass(frozen=True)
class Demo:
    """Everything the tables, files and the picture show.

    ``model`` is B-LoRD with tau from n alone, soft enough to show doubt.
    """

    data: DemoData
    scores: list[Score]
    model: BLoRD
    path: TauPath
    path_seconds: float


def load_demo() -> DemoData:
    """Load the digits and build their graph, the second time on the clock."""
    X, y = datasets.load("digits")
    graph.make_affinity("knn", X)
    start = time.perf_counter()
    S = graph.make_affinity("knn", X)
    return DemoData(X, y, S, time.perf_counter() - start)


def methods() -> dict[str, tuple[Any, str]]:
    """Return the methods to compare, and whether they see S or X."""
    spectral = SpectralClustering(K, affinity="precomputed", random_state=0)
    return {
        "B-LoRD, tau=1": (BLoRD(K, affinity="precomputed"), "S"),
        'B-LoRD, tau="n"': (BLoRD(K, tau="n", affinity="precomputed"), "S"),
        "LoRD": (LoRD(K, affinity="precomputed"), "S"),
        "SpectralClustering": (spectral, "S"),
        "KMeans, 10 starts": (KMeans(K, n_init=10, random_state=0), "X"),
    }


def warm_up(data: DemoData) -> None:
    """Run every method on a few samples: compiles the solver if need be."""
    few = {"X": data.X[:FEW], "S": graph.make_affinity("knn", data.X[:FEW])}
    with warnings.catch_warnings():
        # So few samples may fall apart, of which spectral clustering warns.
        warnings.simplefilter("ignore", UserWarning)
        for model, needs in methods().values():
            model.fit(few[needs])


def run_demo(data: DemoData) -> Demo:
    """Run all methods, then B-LoRD from soft to hard."""
    models = methods()
    scores = [
        _timed(name, model, getattr(data, needs), data.y)
        for name, (model, needs) in models.items()
    ]
    start = time.perf_counter()
    path = tau_path(data.S, K, keep="all", random_state=0)
    seconds = time.perf_counter() - start
    return Demo(data, scores, models['B-LoRD, tau="n"'][0], path, seconds)


def _timed(name: str, model: Any, X: Any, y: IntArray) -> Score:
    """Fit a model on the clock and score its labels."""
    start = time.perf_counter()
    model.fit(X)
    seconds = time.perf_counter() - start
    labels = model.labels_
    sizes = np.bincount(labels, minlength=K)
    return Score(
        name,
        seconds,
        metrics.accuracy(y, labels),
        metrics.nmi(y, labels),
        metrics.purity(y, labels),
        int(sizes.min()),
        int(sizes.max()),
    )


def path_rows(demo: Demo) -> list[dict[str, float]]:
    """Return one row a tau: how right, how certain, how even."""
    path, y = demo.path, demo.data.y
    rows = []
    for i, tau in enumerate(path.taus):
        labels = path.labels[i]
        sizes = np.bincount(labels, minlength=K)
        row = {
            "tau": float(tau),
            "accuracy": metrics.accuracy(y, labels),
            "nmi": metrics.nmi(y, labels),
            "certainty": float(path.memberships[float(tau)].max(axis=1).mean()),
            "block_diagonality": float(path.block_diagonality[i]),
            "smallest": int(sizes.min()),
            "largest": int(sizes.max()),
            "iterations": int(path.n_iter[i]),
        }
        rows.append(row)
    return rows
