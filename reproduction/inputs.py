"""The input of cells: data sets prepared as in the paper, and their graphs."""

from functools import lru_cache

import numpy as np

from lordclust import metrics
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.datasets import Dataset, load
from lordclust.graph import KNNGraph, self_tuning_kernel
from lordclust.solver.omega import make_omega
from lordclust.solver.problem import BLoRDProblem, LoRDProblem, Problem

#: The paper's four scores.
SCORES = {
    "acc": metrics.accuracy,
    "nmi": metrics.nmi,
    "pur": metrics.purity,
    "f1": metrics.f1,
}


def scores(y: IntArray, labels: IntArray) -> dict[str, float]:
    """Return the four scores of the paper."""
    return {name: float(score(y, labels)) for name, score in SCORES.items()}


@lru_cache(maxsize=2)
def data(name: str) -> Dataset:
    """Return a data set; the last two stay in memory."""
    return load(name)


@lru_cache(maxsize=3)
def prepared(takes: str, name: str) -> Graph:
    """Return a data set as a method takes it: "graph", "kernel" or "features"."""
    X = data(name).prepared()
    if takes == "features":
        return X
    return self_tuning_kernel(X) if takes == "kernel" else KNNGraph().build(X)


@lru_cache(maxsize=2)
def problem(name: str, which: str = "equal", *, lord: bool = False) -> Problem:
    """Return the problem of a data set, for equal or true shares."""
    known = data(name)
    omega, _ = make_omega(len(known.y), known.n_clusters, shares(name, which))
    model = LoRDProblem if lord else BLoRDProblem
    return model.of(prepared("graph", name), omega)


def shares(name: str, which: str) -> FloatArray | None:
    """Return the class shares of a data set if "true", None (equal) otherwise."""
    return class_shares(data(name).y) if which == "true" else None


def class_shares(y: IntArray) -> FloatArray:
    """Return the share of each class."""
    return np.bincount(y) / len(y)
