"""Exact cluster sizes, beside k-means with constraints."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from benchmarks.common import clock
from lordclust import BLoRD, make_method
from lordclust.datasets import load
from lordclust.metrics import accuracy

EACH, DIM, K = 2300, 50, 10
TITLE = "Exact cluster sizes: 23,000 samples in 10 clusters of 2,300"
NOTE = (
    "Ten overlapping Gaussians in 50 dimensions, where k-means is at its best, and the "
    "first 2,300 images of each digit of MNIST in 50 principal components. All labels "
    "have exactly the sizes asked for. The time of `BLoRD` includes its graph. "
    "`KMeansConstrained` (the package k-means-constrained, on one core: its workers "
    "fail on arrays this large) is left out where it is not installed: "
    '`pip install "lordclust[bench]"`.'
)


def run() -> list[dict[str, Any]]:
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


def gaussians() -> tuple[Any, Any]:
    """Return Gaussians so near to each other that one sample in eight is astray."""
    box = (-0.7, 0.7)
    return make_blobs(K * EACH, DIM, centers=K, center_box=box, random_state=0)


def digits() -> tuple[Any, Any]:
    """Return images, as many of each digit, in principal components."""
    data = load("mnist")
    y = np.asarray(data.y)
    kept = np.sort([np.flatnonzero(y == digit)[:EACH] for digit in np.unique(y)], None)
    X = data.X[kept].astype(np.float64)
    return PCA(DIM, random_state=0).fit_transform(X), y[kept]


def models(sizes: Any) -> dict[str, Any]:
    """Return the estimators by what to call them."""
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


def balanced(sizes: Any, n_init: int) -> Any:
    return make_method("balanced_kmeans", K, sizes=sizes, n_init=n_init, random_state=0)


def constrained(sizes: Any, n_init: int) -> Any:
    from k_means_constrained import KMeansConstrained

    each = int(sizes[0])
    return KMeansConstrained(
        K, size_min=each, size_max=each, n_init=n_init, random_state=0
    )


def score(name: str, model: Any, X: Any, y: Any, sizes: Any) -> dict[str, Any]:
    seconds, labels = clock(lambda: model.fit_predict(X))
    return {
        "method": name,
        "ACC": accuracy(y, labels),
        "sizes met": bool((np.bincount(labels) == sizes).all()),
        "seconds": seconds,
    }
