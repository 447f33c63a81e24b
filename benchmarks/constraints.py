"""Exact cluster sizes, and a few known labels."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from benchmarks.common import Benchmark, Row, clock
from lordclust import BLoRD, LoRD, make_method
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy

EACH, DIM, K = 2300, 50, 10
PER_CLASS = (0, 1, 5, 10)
DRAWS = 5

# -- exact sizes ----------------------------------------------------------------------


def exact_sizes() -> list[Row]:
    sizes = np.full(K, EACH)
    rows = []
    for data, (X, y) in {"Gaussians": gaussians(), "MNIST": digits()}.items():
        BLoRD(K, rounding="exact").fit(X[:6000])  # compile
        make_method("balanced_kmeans", K, n_init=1, random_state=0).fit(X)
        found = [score(*case, X, y, sizes) for case in models(sizes).items()]
        fastest = found[0]["seconds"]
        rows += [
            {"data": data} | row | {"times BLoRD's": row["seconds"] / fastest}
            for row in found
        ]
    return rows


def gaussians() -> tuple[FloatArray, IntArray]:
    """Return Gaussians that overlap: one sample in eight is nearer to another mean."""
    box = (-0.7, 0.7)
    return make_blobs(K * EACH, DIM, centers=K, center_box=box, random_state=0)


def digits() -> tuple[FloatArray, IntArray]:
    """Return the same number of images of each digit, in principal components."""
    data = load("mnist")
    y = np.asarray(data.y)
    kept = np.sort([np.flatnonzero(y == digit)[:EACH] for digit in np.unique(y)], None)
    X = data.X[kept].astype(np.float64)
    return PCA(DIM, random_state=0).fit_transform(X), y[kept]


def models(sizes: IntArray) -> dict[str, Any]:
    """Return the estimators by title."""
    found = {
        "`BLoRD`": BLoRD(K, cluster_sizes=sizes),
        "`BalancedKMeans`, one start": balanced(sizes, 1),
        "`BalancedKMeans`, 10 starts": balanced(sizes, 10),
    }
    if find_spec("k_means_constrained"):
        found |= {
            "`KMeansConstrained`, one start": constrained(sizes, 1),
            "`KMeansConstrained`, 10 starts": constrained(sizes, 10),
        }
    return found


def balanced(sizes: IntArray, n_init: int) -> Any:
    return make_method(
        "balanced_kmeans", K, cluster_sizes=sizes, n_init=n_init, random_state=0
    )


def constrained(sizes: IntArray, n_init: int) -> Any:
    from k_means_constrained import KMeansConstrained

    each = int(sizes[0])
    return KMeansConstrained(
        K, size_min=each, size_max=each, n_init=n_init, random_state=0
    )


def score(name: str, model: Any, X: FloatArray, y: IntArray, sizes: IntArray) -> Row:
    seconds, labels = clock(lambda: model.fit_predict(X))
    return {
        "method": name,
        "ACC": accuracy(y, labels),
        "sizes met": bool((np.bincount(labels) == sizes).all()),
        "seconds": seconds,
    }


SIZES = Benchmark(
    "Exact cluster sizes: 23,000 samples in 10 clusters of 2,300",
    "Ten overlapping Gaussians in 50 dimensions, where k-means is at its best, and the "
    "first 2,300 images of each digit of MNIST in 50 principal components. All labels "
    "have exactly the requested sizes. The time of `BLoRD` includes its graph. "
    "`KMeansConstrained` (the package k-means-constrained, on one core because its "
    "workers fail on arrays this large) is left out where it is not installed: "
    '`pip install "lordclust[bench]"`.',
    exact_sizes,
)


# -- known labels ---------------------------------------------------------------------


def known_labels() -> list[Row]:
    rows = []
    for name in ("digits", "mnist2000", "semeion"):
        data = load(name)
        S = KNNGraph().build(data.prepared())
        for Model in (BLoRD, LoRD):
            model = Model(data.n_clusters, affinity="precomputed")
            rows += [measure(name, model, S, data.y, count) for count in PER_CLASS]
    return rows


def measure(name: str, model: Any, S: Graph, y: IntArray, count: int) -> Row:
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


def draw(y: IntArray, count: int, rng: np.random.Generator) -> Any:
    """Return labels with ``count`` of each class known, -1 for the others."""
    known = np.full(len(y), -1)
    for j in np.unique(y):
        known[rng.choice(np.flatnonzero(y == j), count, replace=False)] = j
    return known


KNOWN_LABELS = Benchmark(
    "A few known labels",
    "Accuracy on the samples without a known label, mean of five random draws of the "
    "known ones. `direct`: cluster j is class j, as the known labels define it. "
    "`matched`: clusters are matched with classes in the best way, which is all that "
    "is possible without known labels.",
    known_labels,
)
