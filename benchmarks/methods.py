"""The other methods beside the nearest thing in scikit-learn."""

import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scipy import sparse
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import clock
from lordclust import make_method
from lordclust.datasets import load
from lordclust.graph import KNNGraph, self_tuning_kernel

TITLE = "Other methods beside scikit-learn"
NOTE = (
    "One fit on the same input, smallest time of three (MNIST: one). `sc` and `ncut` "
    "beside `SpectralClustering` on the same graph with 10 starts of k-means, or its "
    "discretisation. `kkm` on the kernel beside `KMeans` on the samples, 10 starts "
    "each. A time with > was cut off."
)
GRAPHS = ("digits", "semeion", "mnist2000")
LIMIT = 200.0  # seconds for scikit-learn's default on MNIST


def run() -> list[dict[str, Any]]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name in GRAPHS:
        data = load(name)
        X, k = data.prepared(), data.n_clusters
        S = KNNGraph().build(X)
        rows += [spectral(name, S, k, *pair) for pair in PAIRS]
        rows += [kernel(name, X, k)]
    S = KNNGraph().build(load("mnist").prepared())
    rows += [spectral_on_mnist(S, *pair) for pair in PAIRS[:1]]
    return rows


PAIRS = (("sc", "kmeans"), ("ncut", "discretize"))


def row(data: str, ours: str, t: float, other: str, its: float) -> dict:
    line = {"data": data, "method": ours, "seconds": t, "beside": other}
    return line | {"its seconds": its, "times faster": its / t}


def spectral(name: str, S: Any, k: int, ours: str, assign: str) -> dict[str, Any]:
    model = make_method(ours, k, affinity="precomputed", n_init=10, random_state=0)
    other = SpectralClustering(
        k, affinity="precomputed", assign_labels=assign, n_init=10, random_state=0
    )
    S_theirs = sparse.csr_matrix(S)
    t, _ = clock(lambda: model.fit(S), 3)
    t_other, _ = clock(lambda: other.fit(S_theirs), 3)
    return row(name, ours, t, f"SpectralClustering({assign})", t_other)


def spectral_on_mnist(S: Any, ours: str, assign: str) -> dict[str, Any]:
    model = make_method(ours, 10, affinity="precomputed", n_init=10, random_state=0)
    t, _ = clock(lambda: model.fit(S))
    t_other = cut_off(S, assign)
    line = row("mnist", ours, t, f"SpectralClustering({assign})", t_other)
    if t_other >= LIMIT:
        line["its seconds"] = f"> {LIMIT:.0f}"
        line["times faster"] = f"> {LIMIT / t:.0f}"
    return line


def cut_off(S: Any, assign: str) -> float:
    """Return the seconds of scikit-learn's default, at most LIMIT."""
    code = (
        "import sys; from scipy import sparse;"
        "from sklearn.cluster import SpectralClustering as SC;"
        "S = sparse.csr_matrix(sparse.load_npz(sys.argv[1]));"
        "SC(10, affinity='precomputed', assign_labels=sys.argv[2], n_init=10,"
        " random_state=0).fit(S)"
    )
    with TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.npz"
        sparse.save_npz(graph, S)
        start = time.perf_counter()
        try:
            subprocess.run(
                [sys.executable, "-c", code, graph, assign], check=True, timeout=LIMIT
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            return LIMIT  # too slow, or out of memory
        return time.perf_counter() - start


def kernel(name: str, X: Any, k: int) -> dict[str, Any]:
    S = self_tuning_kernel(X)
    model = make_method("kkm", k, affinity="precomputed", n_init=10, random_state=0)
    other = KMeans(k, n_init=10, random_state=0)
    t, _ = clock(lambda: model.fit(S), 3)
    t_other, _ = clock(lambda: other.fit(X), 3)
    return row(name, "kkm", t, "KMeans", t_other)
