"""All 70,000 MNIST images, from raw pixels to the whole path, in a fresh process."""

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.common import clock, peak

TITLE = "MNIST, 70,000 images, from raw pixels"
NOTE = (
    "A process of its own; all cores. `iteration / product` is the time of one "
    "iteration of the path over the time of scipy's S @ V of the same size, on one "
    "thread as scipy has it. Memory is the process's peak beyond what it used when "
    "the pixels were loaded."
)


def run() -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.mnist"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(done.stdout)]


def measure() -> dict[str, Any]:
    from lordclust import tau_path
    from lordclust.datasets import load
    from lordclust.graph import KNNGraph
    from lordclust.metrics import accuracy

    tau_path(KNNGraph().build(load("digits").X), 10)  # compile
    data = load("mnist")
    X = data.prepared()
    before = peak()
    t_graph, S = clock(lambda: KNNGraph().build(X))
    V = np.random.default_rng(0).random((S.shape[0], 10))
    t_product, _ = clock(lambda: S @ V, 10)
    t_path, path = clock(lambda: tau_path(S, 10, random_state=0))
    n_iter = int(path.n_iter.sum())
    scores = [accuracy(data.y, labels) for labels in path.labels]
    return {
        "graph s": t_graph,
        "path s": t_path,
        "taus": len(path.taus),
        "iterations": n_iter,
        "ms an iteration": 1e3 * t_path / n_iter,
        "scipy product ms": 1e3 * t_product,
        "iteration / product": t_path / n_iter / t_product,
        "best ACC on the path": max(scores),
        "ACC at the end": scores[-1],
        "memory MB": peak() - before,
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
