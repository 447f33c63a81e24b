"""New samples: held-out accuracy next to that of the fitted samples."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.model_selection import ShuffleSplit

from benchmarks.common import Benchmark, Row
from lordclust import BLoRD, LoRD
from lordclust._core.typing import FloatArray, IntArray
from lordclust.datasets import load

NAMES = ("digits", "mnist2000", "semeion")
MODELS = {
    "`BLoRD(10)`": BLoRD(10),
    "`BLoRD(10, tau=0.3)`": BLoRD(10, tau=0.3),
    "`LoRD(10)`": LoRD(10),
}


def run(n_splits: int = 10) -> list[Row]:
    return [
        compare(name, title, model, n_splits)
        for name in NAMES
        for title, model in MODELS.items()
    ]


def compare(name: str, title: str, model: Any, n_splits: int) -> Row:
    data = load(name)
    X, y = data.prepared(), np.unique(data.y, return_inverse=True)[1]
    splits = ShuffleSplit(n_splits, test_size=0.3, random_state=0).split(X)
    scores = np.array([held_out(model, X, y, *split) for split in splits])
    fitted, new, assigned = scores.mean(axis=0)
    gaps = scores[:, 0] - scores[:, 1]
    return {
        "data": name,
        "method": title,
        "ACC fitted": fitted,
        "ACC new": new,
        "difference": gaps.mean(),
        "error": gaps.std(ddof=1) / np.sqrt(n_splits),
        "ACC new, by assign": assigned,
    }


def held_out(
    model: Any, X: FloatArray, y: IntArray, known: Any, new: Any
) -> tuple[float, ...]:
    """Return the accuracy on fitted samples, on new ones, and with proportions."""
    model.fit(X[known])
    name = matching(y[known], model.labels_)
    labels = (model.predict(X[new]), model.assign(X[new]))
    fitted = np.mean(name[model.labels_] == y[known])
    return (fitted, *(np.mean(name[found] == y[new]) for found in labels))


def matching(y: IntArray, labels: IntArray) -> Any:
    """Return the class of each cluster that makes the most samples correct."""
    table = np.zeros((labels.max() + 1, y.max() + 1))
    np.add.at(table, (labels, y), 1)
    return linear_sum_assignment(-table)[1]


BENCHMARK = Benchmark(
    "New samples: held-out accuracy",
    "Fitted on 70 % of the samples, predicted on the other 30 %; means over 10 random "
    "splits. Clusters are matched with classes on the fitted samples, and the same "
    "matching is used for the new ones. `error` is the standard error of the mean "
    "difference; `assign` gives the new samples the fitted proportions.",
    run,
)
