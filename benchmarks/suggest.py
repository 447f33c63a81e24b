"""How often suggest_k and other methods find the number of classes.

Usage: python -m benchmarks.suggest writes suggest.json, and the tables and picture of
docs/choosing-k.md. Data sets that are not part of the package are read from the folder
LORDCLUST_DATA.
"""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture

from benchmarks.common import (
    ROOT,
    Results,
    Row,
    clock,
    save,
    shuffled,
    table,
    with_block,
    with_range,
)
from benchmarks.quality import suite_files
from lordclust import suggest_k
from lordclust._core.typing import FloatArray
from lordclust.datasets import load
from lordclust.graph import KNNGraph

RESULTS = Path(__file__).parent / "suggest.json"
PAGE = ROOT / "docs" / "choosing-k.md"
PICTURE = PAGE.with_suffix(".png")

DATA = (
    *("iris", "wine", "digits", "chart", "semeion", "mnist2000", "usps1000"),
    *("orl", "yale", "ecoli", "yeast", "breast_cancer", "synthetic-50-50-50-50"),
    *("synthetic-40-50-50-60", "synthetic-30-45-55-70"),
    *("synthetic-20-40-60-80", "synthetic-10-30-60-100"),
)
SHOWN = "digits"
#: More features are replaced by principal components for the mixture of Gaussians.
WIDE, COMPONENTS = 64, 20

# Group, name, X, numbers of classes, largest k.
Case = tuple[str, str, FloatArray, int | list[int], int]


def cases() -> Iterator[Case]:
    """Yield all data sets."""
    for name in DATA:
        data = load(name)
        last = 60 if name == "orl" else 20
        yield "data sets", name, data.prepared(), len(np.unique(data.y)), last
    for file in suite_files():
        data = np.load(file)
        found = sorted({int(y.max()) for y in data["labels"]})
        yield "suite", file.stem, data["X"], found, 20
    for k in range(3, 13):
        box, std = (-10.0, 10.0), 3.0
        X, _ = make_blobs(60 * k, 5, centers=k, center_box=box, cluster_std=std,
                          random_state=k)  # fmt: skip
        yield "blobs", f"{k} blobs", X, k, 20
    for seed in range(24):
        yield ("uneven clusters", *uneven(seed), 20)
    for seed in range(24):
        yield ("touching clusters", *touching(seed), 20)
    yield from curves()


def uneven(seed: int) -> tuple[str, FloatArray, int]:
    """Return clear clusters of very different sizes."""
    rng = np.random.default_rng([1, seed])
    k, d, apart = 2 + seed % 11, (2, 5, 20)[seed % 3], np.geomspace(7, 50, 24)[seed]
    sizes = 500 // np.arange(1, k + 1) if seed % 2 else rng.choice([12, 50, 500], k)
    X = gaussians(rng, np.maximum(sizes, 12), d, apart)
    return f"{k} in {d}-d, {apart:.0f} apart", X, k


def touching(seed: int) -> tuple[str, FloatArray, int]:
    """Return clusters that overlap, of equal sizes or not."""
    rng = np.random.default_rng([2, seed])
    k, d, apart = 3 + seed % 10, (2, 3, 10)[seed % 3], (3.5, 4.0, 5.0, 6.0)[seed % 4]
    sizes = np.full(k, 1500 // k)
    if seed % 2:
        sizes = (1500 / np.arange(1, k + 1) / np.log(k + 1)).astype(int)
    X = gaussians(rng, sizes, d, apart)
    return f"{k} in {d}-d, {apart} apart", X, k


def gaussians(rng: Any, sizes: Any, d: int, apart: float) -> FloatArray:
    """Return unit Gaussians whose centres are random, at least ``apart``."""
    centres: list[FloatArray] = []
    box = apart * len(sizes) ** (1 / d) / 2
    while len(centres) < len(sizes):
        c = rng.uniform(-box, box, d)
        if all(np.linalg.norm(c - other) >= apart for other in centres):
            centres.append(c)
        box *= 1.002
    parts = [rng.standard_normal((m, d)) + c
             for m, c in zip(sizes, centres, strict=True)]  # fmt: skip
    return np.asarray(rng.permutation(np.vstack(parts)))


def curves() -> Iterator[Case]:
    """Yield two moons, two circles and parallel lines."""
    for noise in (0.04, 0.06, 0.08):
        X, _ = make_moons(800, noise=noise, random_state=1)
        yield "curves", f"moons, noise {noise}", X, 2, 20
    for noise in (0.03, 0.05, 0.07):
        X, _ = make_circles(1000, noise=noise, factor=0.5, random_state=1)
        yield "curves", f"circles, noise {noise}", X, 2, 20
    for k in (2, 3, 4):
        rng = np.random.default_rng(k)
        line = rng.integers(k, size=300 * k)
        X = np.c_[rng.uniform(0, 5, len(line)), line + rng.normal(0, 0.12, len(line))]
        yield "curves", f"{k} lines", X, k, 20


def by_features(X: FloatArray, last: int) -> int:
    return suggest_k(X, range(2, last + 1), affinity="knn").best_k


def by_graph(X: FloatArray, last: int) -> int:
    return suggest_k(KNNGraph().build(X), range(2, last + 1)).best_k


def by_eigengap(X: FloatArray, last: int) -> int:
    values = suggest_k(KNNGraph().build(X), [last]).eigenvalues
    return int(np.diff(values)[1:last].argmax()) + 2


def by_silhouette(X: FloatArray, last: int) -> int:
    scores = [
        silhouette_score(X, KMeans(k, n_init=3, random_state=0).fit_predict(X))
        for k in range(2, last + 1)
    ]
    return int(np.argmax(scores)) + 2


def by_mixture(X: FloatArray, last: int) -> int:
    if X.shape[1] > WIDE:
        count = min(COMPONENTS, len(X) // 5)
        X = PCA(count, svd_solver="full").fit_transform(X)
    models = (GaussianMixture(k, random_state=0) for k in range(2, last + 1))
    return int(np.argmin([model.fit(X).bic(X) for model in models])) + 2


def by_density(X: FloatArray, last: int) -> int:
    return int(HDBSCAN(min_cluster_size=5, copy=True).fit_predict(X).max()) + 1


METHODS: dict[str, Callable[[FloatArray, int], int]] = {
    "suggest_k": by_features,
    "graph only": by_graph,
    "eigengap": by_eigengap,
    "silhouette": by_silhouette,
    "BIC": by_mixture,
    "HDBSCAN": by_density,
}


def measure(case: Case) -> Row:
    group, name, X, classes, last = case
    X, last = np.asarray(X, dtype=np.float64), min(last, len(X) // 2)
    row: Row = {"group": group, "data": name, "n": len(X), "classes": classes}
    for method, find in METHODS.items():
        row[f"{method} seconds"], row[method] = clock(lambda f=find: f(X, last))
    row["orders"] = [by_features(Y, last) for Y, _ in shuffled(X, np.zeros(len(X)))]
    return row


def totals(rows: list[Row]) -> list[Row]:
    """Count where each method is right, and within one, for each group and for all."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    found = []
    for group in (*groups, "all"):
        part = [row for row in rows if group in (row["group"], "all")]
        one: Row = {"data": group, "sets": len(part)}
        for method in METHODS:
            off = [_off(row, row[method]) for row in part]
            one[method] = f"{off.count(0)}, {off.count(0) + off.count(1)}"
        orders = np.array([[_off(row, k) for k in row["orders"]] for row in part])
        right, near = ((orders <= most).sum(axis=0) for most in (0, 1))
        one["suggest_k, ten orders"] = f"{with_range(right, 1)}, {with_range(near, 1)}"
        found.append(one)
    seconds = {m: sum(row[f"{m} seconds"] for row in rows) for m in METHODS}
    times = {m: f"{value:.0f} s" for m, value in seconds.items()}
    times["suggest_k, ten orders"] = ""
    return [*found, {"data": "time", "sets": "", **times}]


def _off(row: Row, k: int) -> int:
    """Return how far k is from the nearest number of classes."""
    return int(np.abs(np.subtract(k, row["classes"])).min())


def with_table(page: str, results: Results) -> str:
    """Return the page with its tables regenerated."""
    rows = results["rows"]
    columns = ("data", "n", "classes", *METHODS)
    named = [row for row in rows if row["group"] == "data sets"]
    shown = [{name: row[name] for name in columns} for row in named]
    page = with_block(page, "totals", table(totals(rows)))
    return with_block(page, "table", table(shown))


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    warnings.simplefilter("ignore")  # of mixtures that do not converge
    suggest_k(load("iris").X, [2, 3], affinity="knn")  # compile
    rows = []
    for case in cases():
        rows.append(measure(case))
        print(rows[-1], flush=True)
    shown = suggest_k(load(SHOWN).prepared(), affinity="knn")
    shown.plot()[0].figure.savefig(PICTURE, dpi=110)
    results = save(RESULTS, rows)
    PAGE.write_text(with_table(PAGE.read_text(), results))


if __name__ == "__main__":
    main()
