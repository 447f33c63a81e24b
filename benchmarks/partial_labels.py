"""A few known labels: how much they help on the samples that have none."""

from typing import Any

import numpy as np

from lordclust import BLoRD, LoRD
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy

TITLE = "A few known labels"
NOTE = (
    "Accuracy on the samples without a known label, mean of five random draws of the "
    "known ones. `direct`: cluster j is class j, as the known labels name it. "
    "`matched`: clusters matched with classes as well as they can be; all there is "
    "without known labels."
)
DATA = ("digits", "mnist2000", "semeion")
PER_CLASS = (0, 1, 5, 10)
DRAWS = 5


def run() -> list[dict[str, Any]]:
    rows = []
    for name in DATA:
        data = load(name)
        S = KNNGraph().build(data.prepared())
        for Model in (BLoRD, LoRD):
            model = Model(data.n_clusters, affinity="precomputed")
            rows += [measure(name, model, S, data.y, count) for count in PER_CLASS]
    return rows


def measure(name: str, model: Any, S: Any, y: Any, count: int) -> dict[str, Any]:
    scores = []
    for seed in range(DRAWS if count else 1):
        known = draw(y, count, np.random.default_rng(seed))
        labels = model.fit(S, known_labels=known).labels_
        free = known < 0
        scores.append(
            (np.mean(labels[free] == y[free]), accuracy(y[free], labels[free]))
        )
    direct, matched = np.mean(scores, axis=0)
    return {
        "data": name,
        "method": type(model).__name__,
        "known a class": count,
        "direct": float(direct) if count else "-",
        "matched": float(matched),
        "worst draw, direct": float(min(scores)[0]) if count else "-",
    }


def draw(y: Any, count: int, rng: np.random.Generator) -> Any:
    """Return labels with ``count`` of each class known, -1 for the others."""
    known = np.full(len(y), -1)
    for j in np.unique(y):
        known[rng.choice(np.flatnonzero(y == j), count, replace=False)] = j
    return known
