"""How many of the noise samples are found, compared with HDBSCAN and others.

Usage: python -m benchmarks.outliers writes outliers.json and the tables of
docs/guide/outliers.md, in some ten minutes. The suite is read as in benchmarks.quality.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from benchmarks.common import ROOT, Results, Row, save, table, with_block
from benchmarks.quality import suite_files
from lordclust import BLoRD
from lordclust._core.typing import BoolArray, FloatArray
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.graph.novelty import far_out, novelty_of_samples

RESULTS = Path(__file__).parent / "outliers.json"
PAGE = ROOT / "docs" / "guide" / "outliers.md"

Case = tuple[str, FloatArray, BoolArray]


def cases() -> Iterator[Case]:
    """Yield name, samples and which of them are noise."""
    for file in suite_files():
        with np.load(file) as data:
            noisy = [y == 0 for y in data["labels"] if (y == 0).any()]
            if noisy:
                yield file.stem.split("-")[1], data["X"], noisy[0]
    for d in (2, 5, 10, 30):
        X, _ = make_blobs(1000, d, centers=5, cluster_std=[0.5, 1, 1, 1.5, 2],
                          random_state=d)  # fmt: skip
        yield with_noise(f"blobs in {d}-d", X, 100)
    X, _ = make_moons(1000, noise=0.06, random_state=0)
    yield with_noise("moons", X, 100)
    for d in (2, 20):
        yield (
            f"clean blobs in {d}-d",
            make_blobs(1000, d, centers=5, random_state=0)[0],
            np.zeros(1000, dtype=bool),
        )


def with_noise(name: str, X: FloatArray, count: int) -> Case:
    """Return samples with uniform noise in their box, a tenth wider."""
    low, high = X.min(axis=0), X.max(axis=0)
    edge = 0.1 * (high - low)
    rng = np.random.default_rng(0)
    noise = rng.uniform(low - edge, high + edge, (count, X.shape[1]))
    return name, np.vstack([X, noise]), np.arange(len(X) + count) >= len(X)


def measure(case: Case) -> Row:
    """Return the precision of every ranking, and of the automatic shares."""
    name, X, noise = case
    m, q = int(noise.sum()), len(X).bit_length()
    peer = HDBSCAN(max(5, len(X) // 50), copy=True).fit(X)
    lof = LocalOutlierFactor(q).fit(X)
    novelty = novelty_of_samples(X, KNNGraph())
    order = np.argsort(-novelty.fitted, kind="stable")
    auto = np.isin(np.arange(len(X)), order[: far_out(novelty.local).sum()])
    rng = np.random.default_rng(0)
    rankings = {
        "BLoRD": novelty.fitted,
        "HDBSCAN": 1 - peer.probabilities_ + (peer.labels_ == -1),
        "LOF": -lof.negative_outlier_factor_,
        "distance": NearestNeighbors(n_neighbors=q).fit(X).kneighbors()[0][:, -1],
    }
    row: Row = {"data": name, "n": len(X), "noise": m}
    for method, score in rankings.items():
        first = np.lexsort((rng.random(len(X)), -score))[:m]  # ties at random
        row[method] = f"{noise[first].mean():.2f}" if m else ""
    for method, found in {
        "BLoRD auto": auto, "HDBSCAN alone": peer.labels_ == -1
    }.items():  # fmt: skip
        count = int(found.sum())
        right = int((found & noise).sum())
        row[method] = f"{count}: {right / max(count, 1):.2f}, {right / max(m, 1):.2f}"
        if not m:
            row[method] = f"{count}"
    return row


def left_out() -> Iterator[Row]:
    """Yield how well the rest of MNIST is clustered, if a share is left out."""
    data = load("mnist")
    X, y = data.prepared(), np.asarray(data.y)
    full = BLoRD(10).fit(X).labels_
    for share in (0.02, 0.05, 0.1):
        labels = BLoRD(10, outliers=share).fit(X).labels_
        rest = labels >= 0
        yield {
            "left out": f"{share:.0%}",
            "ARI of the rest": adjusted_rand_score(y[rest], labels[rest]),
            "of a fit to all": adjusted_rand_score(y[rest], full[rest]),
        }


def with_table(page: str, results: Results) -> str:
    """Return the page with its tables regenerated."""
    rows = [row for row in results["rows"] if "left out" in row]
    page = with_block(page, "outliers-mnist", table(rows))
    titles = {"BLoRD auto": "`\"auto\"`: number, precision, recall",
              "HDBSCAN alone": "HDBSCAN: number, precision, recall",
              "distance": "distance to the q-th neighbour"}  # fmt: skip
    rows = [
        {titles.get(a, a): b for a, b in row.items()}
        for row in results["rows"]
        if "data" in row
    ]
    return with_block(page, "outliers", table(rows))


def main() -> None:
    """Measure, and write the results."""
    rows = [*(measure(case) for case in cases()), *left_out()]
    PAGE.write_text(with_table(PAGE.read_text(), save(RESULTS, rows)))


if __name__ == "__main__":
    main()
