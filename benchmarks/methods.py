"""Our methods and the nearest ones in scikit-learn."""

import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import Benchmark, Row, clock
from lordclust import BLoRD, LoRD, make_method
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.datasets import load
from lordclust.graph import KNNGraph, self_tuning_kernel
from lordclust.metrics import METRICS

# -- the digits -----------------------------------------------------------------------


def digits() -> list[Row]:
    data = load("digits")
    S = KNNGraph().build(data.X)
    graph: dict[str, Any] = {"affinity": "precomputed"}
    equal = BLoRD(10, proportions="equal", tau=1.0, **graph)
    known = BLoRD(10, affinity=lambda _: S)  # features too, for the same graph
    equal.fit(S)  # compile
    known.fit(data.X)
    spectral = SpectralClustering(10, random_state=0, **graph)
    cases = {
        "`BLoRD(10)`": (known, data.X),
        '`BLoRD(10, proportions="equal", tau=1.0)`': (equal, S),
        "`LoRD(10)`": (LoRD(10, **graph), S),
        "`SpectralClustering`": (spectral, sparse.csr_matrix(S)),
        "`KMeans`, 10 starts": (KMeans(10, n_init=10, random_state=0), data.X),
    }
    return [score(name, *case, data.y) for name, case in cases.items()]


def score(name: str, model: Any, X: FloatArray, y: IntArray) -> Row:
    seconds, labels = clock(lambda: model.fit_predict(X))
    sizes = np.bincount(labels)
    return {
        "method": name,
        "ACC": METRICS["accuracy"](y, labels),
        "NMI": METRICS["nmi"](y, labels),
        "smallest and largest cluster": f"{sizes.min()}, {sizes.max()}",
        "seconds": seconds,
    }


DIGITS = Benchmark(
    "The digits of scikit-learn",
    "The same nearest-neighbour graph for all but k-means, which works on the pixels.",
    digits,
)


# -- spectral methods and kernel k-means ----------------------------------------------

LIMIT = 200.0  # seconds for scikit-learn's default on MNIST
PAIRS = (("sc", "kmeans"), ("ncut", "discretize"))


def spectral_methods() -> list[Row]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name in ("digits", "semeion", "mnist2000"):
        data = load(name)
        X, k = data.prepared(), data.n_clusters
        S = KNNGraph().build(X)
        rows += [spectral(name, S, k, *pair) for pair in PAIRS]
        rows += [kernel(name, X, k)]
    S = KNNGraph().build(load("mnist").prepared())
    return [*rows, spectral_on_mnist(S, *PAIRS[0])]


def row(data: str, ours: str, t: float, other: str, its: float) -> Row:
    line = {"data": data, "method": ours, "seconds": t, "beside": other}
    return line | {"its seconds": its, "times faster": its / t}


def spectral(name: str, S: Graph, k: int, ours: str, assign: str) -> Row:
    model = make_method(ours, k, affinity="precomputed", n_init=10, random_state=0)
    other = SpectralClustering(
        k, affinity="precomputed", assign_labels=assign, n_init=10, random_state=0
    )
    S_theirs = sparse.csr_matrix(S)
    t, _ = clock(lambda: model.fit(S), 3)
    t_other, _ = clock(lambda: other.fit(S_theirs), 3)
    return row(name, ours, t, f"SpectralClustering({assign})", t_other)


def spectral_on_mnist(S: Graph, ours: str, assign: str) -> Row:
    model = make_method(ours, 10, affinity="precomputed", n_init=10, random_state=0)
    t, _ = clock(lambda: model.fit(S))
    t_other = bounded_seconds(S, assign)
    line = row("mnist", ours, t, f"SpectralClustering({assign})", t_other)
    if t_other >= LIMIT:
        line["its seconds"] = f"> {LIMIT:.0f}"
        line["times faster"] = f"> {LIMIT / t:.0f}"
    return line


def bounded_seconds(S: Graph, assign: str) -> float:
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


def kernel(name: str, X: FloatArray, k: int) -> Row:
    S = self_tuning_kernel(X)
    model = make_method("kkm", k, affinity="precomputed", n_init=10, random_state=0)
    other = KMeans(k, n_init=10, random_state=0)
    t, _ = clock(lambda: model.fit(S), 3)
    t_other, _ = clock(lambda: other.fit(X), 3)
    return row(name, "kkm", t, "KMeans", t_other)


SPECTRAL = Benchmark(
    "Other methods and scikit-learn",
    "One fit on the same input, smallest time of three (MNIST: one). `sc` and `ncut` "
    "are compared with `SpectralClustering` on the same graph, with 10 starts of "
    "k-means or its discretisation; `kkm` on the kernel with `KMeans` on the samples, "
    "10 starts each. A time with > was stopped.",
    spectral_methods,
)


# -- factorisations -------------------------------------------------------------------

STARTS = {"digits": 8, "semeion": 8, "mnist2000": 8, "mnist": 2}


def factors() -> list[Row]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name, starts in STARTS.items():
        data = load(name)
        S = KNNGraph().build(data.prepared())
        for ours, solver in (("symnmf", "mu"), ("phals", "cd")):
            rows.append(factor(name, S, data.n_clusters, starts, ours, solver))
    return rows


def factor(name: str, S: Graph, k: int, starts: int, ours: str, solver: str) -> Row:
    theirs = [fit_nmf(S, k, solver, seed) for seed in range(starts)]
    t_other, step_other, loss = np.mean(theirs, axis=0)
    found = [fit_ours(S, k, ours, seed, loss) for seed in range(starts)]
    seconds, step = np.array(found).T
    reached = seconds[np.isfinite(seconds)]
    t = float(np.median(reached)) if len(reached) else float("nan")
    return {
        "data": name,
        "method": ours,
        "seconds": t,
        "reached": f"{len(reached)} of {starts}",
        "beside": f"NMF({solver})",
        "its seconds": float(t_other),
        "times faster": float(t_other / t),
        "iteration": float(step_other / step.mean()),
    }


def fit_nmf(S: Graph, k: int, solver: str, seed: int) -> tuple[float, float, float]:
    """Return seconds, seconds per iteration, and half the squared error."""
    model = NMF(k, init="random", solver=solver, random_state=seed)
    t, _ = clock(lambda: model.fit(S))
    return t, t / model.n_iter_, model.reconstruction_err_**2 / 2


def fit_ours(
    S: Graph, k: int, ours: str, seed: int, loss: float
) -> tuple[float, float]:
    """Return the seconds until the loss is reached (or inf), and per iteration."""
    model = make_method(ours, k, affinity="precomputed", n_init=1, random_state=seed)
    model.set_params(max_iter=1000 if S.shape[0] < 10_000 else 300)
    t, _ = clock(lambda: model.fit(S))
    step = t / model.n_iter_
    reached = np.flatnonzero(model.history_ <= loss)
    return (step * reached[0] if len(reached) else np.inf), step


FACTORS = Benchmark(
    "SymNMF, PHALS and NMF",
    "The same S and rank, one thread each. `its seconds`: a fit of scikit-learn's NMF "
    "at its default tolerance, mean over the starts. `seconds`: our time until the "
    "loss is as low as NMF's mean final loss, median over the starts that reach it "
    "(`reached`); our fit then continues to a tighter tolerance. `iteration`: how many "
    "times faster one iteration is. NMF has two free factors, so V V' may not be able "
    "to reach its loss.",
    factors,
)
