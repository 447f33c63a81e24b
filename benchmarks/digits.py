"""The digits of scikit-learn: what each method makes of them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering

from benchmarks.common import clock
from lordclust import BLoRD, LoRD
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import METRICS

TITLE = "The digits of scikit-learn"
NOTE = "The same graph of nearest neighbours for all but k-means, which sees pixels."


def run() -> list[dict[str, Any]]:
    data = load("digits")
    S = KNNGraph().build(data.X)
    graph: dict[str, Any] = {"affinity": "precomputed"}
    BLoRD(10, **graph).fit(S)  # compile
    cases = {
        "`BLoRD(10)`": (BLoRD(10, **graph), S),
        '`BLoRD(10, tau="n")`': (BLoRD(10, tau="n", **graph), S),
        "`LoRD(10)`": (LoRD(10, **graph), S),
        "`SpectralClustering`": (
            SpectralClustering(10, random_state=0, **graph),
            sp.csr_matrix(S),
        ),
        "`KMeans`, 10 starts": (KMeans(10, n_init=10, random_state=0), data.X),
    }
    return [score(name, *case, data.y) for name, case in cases.items()]


def score(name: str, model: Any, X: Any, y: Any) -> dict[str, Any]:
    seconds, labels = clock(lambda: model.fit_predict(X))
    sizes = np.bincount(labels)
    return {
        "method": name,
        "ACC": METRICS["accuracy"](y, labels),
        "NMI": METRICS["nmi"](y, labels),
        "smallest and largest cluster": f"{sizes.min()}, {sizes.max()}",
        "seconds": seconds,
    }
