"""The methods that hold no n x n matrix, on all 70,000 MNIST images."""

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scipy import sparse

from benchmarks.common import added_memory
from lordclust import make_method
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.registry import METHODS

TITLE = "Large input: 70,000 MNIST images without an n x n matrix"
NOTE = (
    "One start each, in a process of its own; the graph of nearest neighbours is made "
    "before. Memory is the peak beyond what the process used when the input was loaded "
    "(an n x n matrix would take 39 GB). Iterations are limited where it says so, and "
    "`dcd` has one prior, alpha = 1."
)
LIMITS = {"symnmf": 300, "phals": 100, "nlr": 300, "dcd": 200, "kkm": 20}
NAMES = ("sc", "ncut", "sr", "symnmf", "phals", "nlr", "dcd", "gwl", "dsdc", "kkm")


def run() -> list[dict[str, Any]]:
    with TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.npz"
        sparse.save_npz(graph, KNNGraph().build(load("mnist").prepared()))
        return [fresh(name, graph) for name in NAMES]


def fresh(name: str, graph: Path) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.large", name, graph]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(name: str, graph: str) -> dict[str, Any]:
    data = load("mnist")
    takes_graph = METHODS[name].takes == "graph"
    A = sparse.load_npz(graph) if takes_graph else data.prepared()
    model = make_method(name, data.n_clusters, n_init=1, random_state=0)
    if takes_graph:
        model.set_params(affinity="precomputed")
    if name in LIMITS:
        model.set_params(max_iter=LIMITS[name])
    if name == "dcd":
        model.set_params(alphas=(1.0,))
    start = time.perf_counter()
    memory = added_memory(lambda: model.fit(A))
    return {
        "method": name,
        "seconds": time.perf_counter() - start,
        "memory MB": memory,
        "iterations": model.n_iter_,
        "limit": str(LIMITS.get(name, "")),
        "converged": model.converged_,
        "ACC": accuracy(data.y, model.labels_),
    }


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
