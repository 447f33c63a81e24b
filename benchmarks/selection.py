"""Choosing tau and shares without labels: accuracy and cost."""

import time
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks.common import Benchmark, Row, clock
from lordclust import BLoRD
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.choose.evidence import Evidence
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy

EIGHT = ("yale", "orl", "chart", "semeion", "mnist2000", "wine", "yeast", "ecoli")
OTHERS = ("usps1000", "digits", "iris", "breast_cancer", "isolet")
LARGE = 100_000
ACCURACIES = (
    "tau = 1",
    "rule n",
    "rule blocks",
    "auto tau",
    "auto both",
    "graph alone",
    "true shares",
)


def run() -> list[Row]:
    rows = [measure(name) for name in (*EIGHT, *OTHERS)]
    heads = [head for head, value in rows[0].items() if isinstance(value, float)]
    mean = {h: float(np.mean([r[h] for r in rows[: len(EIGHT)]])) for h in heads}
    blank = dict.fromkeys(rows[0], "") | {"data": "mean of eight"}
    return [*rows[: len(EIGHT)], blank | mean, *rows[len(EIGHT) :], large()]


def measure(name: str) -> Row:
    data = load(name)
    X, y, k = (
        data.prepared(),
        np.unique(data.y, return_inverse=True)[1],
        data.n_clusters,
    )
    return compare(name, X, y, k)


def large() -> Row:
    """Return the cost of a choice for many samples: ten Gaussians of uneven sizes."""
    sizes = np.round(LARGE * 1.3 ** -np.arange(10) / (1.3 ** -np.arange(10)).sum())
    sizes[0] += LARGE - sizes.sum()
    X, y = make_blobs(sizes.astype(int), 20, center_box=(-1, 1), random_state=0)
    S = KNNGraph().build(X)
    row = chosen(X, y, S, 10)
    name = f"{LARGE:,} Gaussians"
    return {"data": name} | dict.fromkeys(ACCURACIES, "") | row


def chosen(X: FloatArray, y: IntArray, S: Graph, k: int) -> Row:
    """Return tau = 1 with equal shares, and the automatic choice, with seconds."""
    seconds, plain = clock(lambda: BLoRD(k, affinity="precomputed").fit(S))
    scoring = Stopwatch()
    auto_seconds, auto = clock(
        lambda: BLoRD(k, tau="auto", proportions="auto", affinity=lambda _: S).fit(X)
    )
    return {
        "tau = 1": float(accuracy(y, plain.labels_)),
        "auto both": float(accuracy(y, auto.labels_)),
        "k": k,
        "clusters": int((auto.sizes_ > 0).sum()),
        "fit s": seconds,
        "auto s": auto_seconds,
        "evidence s": scoring.stop(),
    }


def compare(name: str, X: FloatArray, y: IntArray, k: int) -> Row:
    S = KNNGraph().build(X)
    graph: dict[str, Any] = {"affinity": "precomputed"}
    BLoRD(k, **graph).fit(S)  # compile
    models = {
        "rule n": (BLoRD(k, tau="n", **graph), S),
        "rule blocks": (BLoRD(k, tau="blocks", **graph), S),
        "auto tau": (BLoRD(k, tau="auto", affinity=lambda _: S), X),
        "graph alone": (BLoRD(k, tau="auto", proportions="auto", **graph), S),
        "true shares": (BLoRD(k, proportions=np.bincount(y) / len(y), **graph), S),
    }
    others = {
        head: float(accuracy(y, model.fit(data).labels_))
        for head, (model, data) in models.items()
    }
    return {"data": name} | dict.fromkeys(ACCURACIES, 0.0) | others | chosen(X, y, S, k)


class Stopwatch:
    """Sum the time that scoring takes."""

    def __init__(self) -> None:
        self.seconds, self.score = 0.0, Evidence._score
        watch = self

        def timed(self: Any, labels: IntArray) -> Any:
            start = time.perf_counter()
            score = watch.score(self, labels)
            watch.seconds += time.perf_counter() - start
            return score

        Evidence._score = timed  # type: ignore[method-assign]

    def stop(self) -> float:
        Evidence._score = self.score  # type: ignore[method-assign]
        return self.seconds


BENCHMARK = Benchmark(
    "Without labels: tau and proportions",
    "Accuracy of B-LoRD: at tau = 1 with equal shares; at the taus of the paper's two "
    'rules; with `tau="auto"`; with `proportions="auto"` as well; the same from the '
    "graph alone, without features; and, for comparison, with the true shares given at "
    "tau = 1. Only the last of these columns uses labels. `clusters` is the number of "
    "the k clusters that have samples. Seconds: one fit at tau = 1, a fit with both "
    "chosen, and the part of the latter spent on the evidence (summed over two "
    "threads). The mean is over the first eight data sets.",
    run,
)
