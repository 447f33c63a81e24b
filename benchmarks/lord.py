"""LoRD's own path against fifty random starts."""

from typing import Any

import numpy as np

from benchmarks.common import clock
from lordclust import LoRD
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy

TITLE = "LoRD: one path against 50 random starts"
NOTE = (
    "One thread. `rank` counts the random starts (of 50) that end in a lower objective "
    "than the path, beyond 1e-6 relative; `gap` is (path - best) / best: 0 is the best "
    "of all starts, negative is better than all."
)
CASES = ("yale", "orl", "chart", "semeion", "mnist2000", "wine", "ecoli")


def run() -> list[dict[str, Any]]:
    return [measure(name) for name in CASES]


def measure(name: str) -> dict[str, Any]:
    data = load(name)
    S = KNNGraph().build(data.prepared())
    model = LoRD(data.n_clusters, affinity="precomputed", n_jobs=1)
    model.fit(S)  # compile
    t_path, path = clock(lambda: model.fit(S), 2)
    many = LoRD(data.n_clusters, affinity="precomputed", n_jobs=1)
    many.set_params(start="random", n_init=50, random_state=0)
    t_many, many = clock(lambda: many.fit(S))
    ours, all_others = path.objective_, many.all_objectives_
    return {
        "data": name,
        "path ms": 1e3 * t_path,
        "50 starts ms": 1e3 * t_many,
        "rank": int(np.sum(all_others < ours * (1 - 1e-6))),
        "gap": float((ours - all_others.min()) / all_others.min()),
        "ACC path": accuracy(data.y, path.labels_),
        "ACC best of 50": accuracy(data.y, many.labels_),
    }
