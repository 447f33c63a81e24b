"""The input of cells: data sets prepared as in the paper, and their graphs."""

from functools import lru_cache

import numpy as np

from lordclust import metrics
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.datasets import Dataset, load
from lordclust.graph import KNNGraph, scale_to_unit_sum, self_tuning_kernel
from lordclust.solver import problem
from lordclust.solver.omega import Omega
from lordclust.solver.problem import Spectrum

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
def graph(name: str, *, lord: bool = False) -> tuple[Graph, Spectrum]:
    """Return S, scaled to sum 1 for LoRD, and its extreme eigenvalues."""
    S = prepared("graph", name)
    S = scale_to_unit_sum(S) if lord else S
    return S, problem.spectrum(S)


def shares(name: str, which: str) -> FloatArray | None:
    """Return the class shares of a data set if "true", None (equal) otherwise."""
    return class_shares(data(name).y) if which == "true" else None


def class_shares(y: IntArray) -> FloatArray:
    """Return the share of each class."""
    return np.bincount(y) / len(y)


def omega(name: str, which: str = "equal") -> Omega:
    """Return the feasible set of a data set, for equal or true shares."""
    known = data(name)
    given = shares(name, which)
    k = known.n_clusters
    mu = np.full(k, k**-0.5) if given is None else np.sqrt(given)
    return Omega.of(mu, len(known.y))
