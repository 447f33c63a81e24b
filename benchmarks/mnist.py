"""All 70,000 MNIST images: the path from raw pixels, and the other methods.

Each case runs in a fresh process: python -m benchmarks.mnist [METHOD GRAPH].
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy import sparse

from benchmarks.common import (
    Benchmark,
    Row,
    added_memory,
    clock,
    in_process,
    peak,
)
from lordclust import make_method, tau_path
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.registry import METHODS as REGISTRY

LIMITS = {"symnmf": 300, "phals": 100, "nlr": 300, "dcd": 200, "kkm": 20}
NAMES = ("sc", "ncut", "sr", "symnmf", "phals", "nlr", "dcd", "gwl", "dsdc", "kkm")


def measure_path() -> Row:
    """Build the graph from pixels and follow the path, in this process."""
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


PATH = Benchmark(
    "MNIST, 70,000 images, from raw pixels",
    "A separate process; all cores. `iteration / product` is the time of one "
    "iteration of the path over the time of scipy's S @ V of the same size, which "
    "scipy computes on one thread. Memory is the peak of the process minus its memory "
    "when the pixels were loaded.",
    lambda: [in_process("benchmarks.mnist", limit=3600)],
)


def measure_method(name: str, graph: str) -> Row:
    """Fit a method in this process."""
    data = load("mnist")
    takes_graph = REGISTRY[name].takes == "graph"
    A = sparse.load_npz(graph) if takes_graph else data.prepared()
    model = make_method(name, data.n_clusters, n_init=1, random_state=0)
    if takes_graph:
        model.set_params(affinity="precomputed")
    if name in LIMITS:
        model.set_params(max_iter=LIMITS[name])
    if name == "dcd":
        model.set_params(alphas=(1.0,))
    seconds, memory = clock(lambda: added_memory(lambda: model.fit(A)))
    return {
        "method": name,
        "seconds": seconds,
        "memory MB": memory,
        "iterations": model.n_iter_,
        "limit": str(LIMITS.get(name, "")),
        "converged": model.converged_,
        "ACC": accuracy(data.y, model.labels_),
    }


def methods() -> list[Row]:
    """Fit each method in a process of its own."""
    with TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.npz"
        sparse.save_npz(graph, KNNGraph().build(load("mnist").prepared()))
        return [in_process("benchmarks.mnist", name, str(graph)) for name in NAMES]


METHODS = Benchmark(
    "Large input: 70,000 MNIST images without an n x n matrix",
    "One start each, in a separate process; the nearest-neighbour graph is built "
    "beforehand. Memory is the peak minus the memory when the input was loaded (an "
    "n x n matrix would take 39 GB). Iterations are limited where the column "
    "`limit` has a number, and `dcd` uses one prior, alpha = 1.",
    methods,
)

if __name__ == "__main__":
    case = sys.argv[1:]
    print(json.dumps(measure_method(*case) if case else measure_path()))
