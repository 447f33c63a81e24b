"""How good the default call is: labels, the order of the rows, clear cases, cost.

Usage: python -m benchmarks.quality [PART ...], all parts by default. What has
been measured is not measured again; delete its rows to repeat it.

The suite is a folder ``suite`` of .npz files in the folder ``LORDCLUST_DATA``: samples
X and reference partitions, the rows of ``labels``, with classes 1 to k and 0 for noise;
``peers.json`` has the scores of published partitions. Its rules: k is the largest
label, noise takes part in the fit but not in the score, of several references the best
counts.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits, load_iris, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from benchmarks.common import (
    ORDERS,
    README,
    ROOT,
    Results,
    Row,
    clock,
    in_orders,
    table,
    where,
    with_block,
    with_range,
)
from lordclust import BLoRD
from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.versions import machine_facts
from lordclust.datasets import load
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.registry import METHODS, make_method

RESULTS = Path(__file__).parent / "quality.json"
PAGE = ROOT / "docs" / "quality.md"
#: The largest n of methods that keep an n x n matrix, or are slow.
LIMITS = dict.fromkeys(
    ("dsn", "gwl", "nlr", "sdp", "sds", "dbsc"), 1000
) | dict.fromkeys(("dsni", "dvd", "s3nmf", "dsdc"), 400)
EQUAL: dict[str, Any] = {"proportions": "equal", "tau": 1.0}
TITLE_EQUAL = 'BLoRD(k, proportions="equal", tau=1.0)'
#: What is scored in several orders of the rows.
OURS = ("BLoRD(k)", TITLE_EQUAL, "BLoRD(k), graph alone")
EIGHT = ("yale", "orl", "chart", "semeion", "mnist2000", "wine", "yeast", "ecoli")
MORE = ("digits", "iris", "usps1000", "isolet", "mnist")

Case = tuple[str, FloatArray, IntArray]
Model = Callable[[int], Any]


def models() -> dict[str, tuple[Model, int]]:
    """Return every method by name, and the largest n that it is run for."""
    found: dict[str, tuple[Model, int]] = {
        "BLoRD(k)": (BLoRD, 10**9),
        TITLE_EQUAL: (lambda k: BLoRD(k, **EQUAL), 10**9),
        "BLoRD(k), graph alone": (lambda k: _OnGraph(BLoRD(k, affinity="precomputed")),
                                  10**9),
        "KMeans": (lambda k: KMeans(k, n_init=10, random_state=0), 10**9),
        "GaussianMixture": (lambda k: GaussianMixture(k, random_state=0), 10**9),
        "SpectralClustering": (lambda k: SpectralClustering(
            k, affinity="nearest_neighbors", random_state=0), 10**9),
    }  # fmt: skip
    for name in METHODS:
        limit = LIMITS.get(name, 10**9)
        if name not in ("blord",):
            found[name] = (lambda k, name=name: make_method(name, n_clusters=k), limit)
    return found


class _OnGraph:
    """A model that sees similarities only."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit_predict(self, X: FloatArray) -> IntArray:
        return self.model.fit_predict(KNNGraph().build(X))


def suite_files() -> list[Path]:
    return sorted((Path(os.environ["LORDCLUST_DATA"]) / "suite").glob("*.npz"))


def suite(results: Results) -> None:
    """Score every method on the suite."""
    rows = results.setdefault("suite", {})
    peers = json.loads((suite_files()[0].parent / "peers.json").read_text())
    results["peers"] = _peers(peers)
    for name, (make, limit) in models().items():
        if name in rows:
            continue
        files = [file for file in suite_files() if len(np.load(file)["X"]) <= limit]
        seeds, start = range(ORDERS) if name in OURS else [None], time.perf_counter()
        means = [
            float(np.mean([_suite_score(make, file, seed) for file in files]))
            for seed in seeds
        ]
        rows[name] = {
            "sets": len(files),
            "ari": means,
            "seconds": (time.perf_counter() - start) / len(means),
        }
        print(name, rows[name], flush=True)
        write(results)


def _suite_score(make: Model, file: Path, seed: int | None) -> float:
    """Return the ARI with the best reference; the order of the rows may be random."""
    data = np.load(file)
    order = np.arange(len(data["X"]))
    if seed is not None:
        order = np.random.default_rng(seed).permutation(order)
    return max(_ari(make, data["X"][order], y[order]) for y in data["labels"])


def _ari(make: Model, X: FloatArray, y: IntArray) -> float:
    kept = y > 0
    try:
        labels = make(int(y.max())).fit_predict(X)
    except (ValueError, RuntimeError):
        return 0.0  # no partition is the worst
    return float(adjusted_rand_score(y[kept], labels[kept]))


def _peers(peers: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the mean scores of published partitions that cover the suite."""
    names = set.intersection(*(set(scores) for scores in peers.values()))
    return {name: float(np.mean([s[name] for s in peers.values()])) for name in names}


def paper_cases(names: tuple[str, ...]) -> Iterator[Case]:
    for name in names:
        data = load(name)
        X = np.asarray(data.prepared(), dtype=np.float64)
        yield name, X, np.unique(data.y, return_inverse=True)[1]


def paper(results: Results) -> None:
    """Measure accuracies over orders of the rows."""
    rows = results.setdefault("paper", {})
    for name, X, y in paper_cases(EIGHT + MORE):
        if name in rows:
            continue
        k = len(np.unique(y))
        row: Row = {"n": len(X), "k": k}
        for title, settings in (("default", {}), ("equal shares", EQUAL)):
            fit = BLoRD(k, **settings).fit_predict
            row[title], row[f"{title} s"] = in_orders(fit, accuracy, X, y)
        rows[name] = row
        print(name, row, flush=True)
        write(results)


def clear_cases() -> Iterator[Case]:
    """Yield data whose clusters are plain to see."""
    rng = np.random.default_rng
    for sizes, sigma in (
        ((951, 49), 50), ((970, 30), 50), ((20, 200, 400), 8), ((20, 200, 400), 800),
        ((5, 50, 500), 12), ((10, 100, 1000), 12), ((8, 392), 12), ((900, 100), 5),
        ((500, 300, 120, 60, 20), 10),
    ):  # fmt: skip
        centres = sigma * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0]])
        y = np.repeat(np.arange(len(sizes)), sizes)
        X = centres[y] + rng(0).standard_normal((len(y), 2))
        yield f"blobs {'/'.join(map(str, sizes))}, {sigma} sigma", X, y
    for n in (300, 2000, 20_002, 100_000):
        yield (f"moons, n = {n:,}", *make_moons(n, noise=0.06, random_state=0))
        yield (f"circles, n = {n:,}",
               *make_circles(n, noise=0.05, factor=0.5, random_state=0))  # fmt: skip
    yield ("iris", *load_iris(return_X_y=True))
    yield ("digits", *load_digits(return_X_y=True))


def clear(results: Results) -> None:
    """Score the default call where there is no doubt, over orders of the rows."""
    rows = []
    for name, X, y in clear_cases():
        fit = BLoRD(len(np.unique(y))).fit_predict
        found, seconds = in_orders(fit, adjusted_rand_score, X, y)
        rows.append({"data": name, "ARI": found, "seconds": seconds})
        print(rows[-1], flush=True)
    results["clear"] = rows
    write(results)


def mixture(n: int, k: int) -> FloatArray:
    """Return samples of k Gaussians of random sizes in 32 dimensions, well apart."""
    rng = np.random.default_rng(0)
    shares, centres = rng.dirichlet(np.full(k, 3.0)), rng.normal(0, 2.8, (k, 32))
    return centres[rng.choice(k, n, p=shares)] + rng.standard_normal((n, 32))


def cost(results: Results) -> None:
    """Time whole fits from X next to scikit-learn, in one run."""
    rows = []
    for n, k in ((2000, 10), (2000, 40), (10_000, 10), (10_000, 30), (10_000, 100)):
        X, q = mixture(n, k), n.bit_length()
        spectral = SpectralClustering(
            k, affinity="nearest_neighbors", n_neighbors=q, random_state=0
        )
        models = {
            "SpectralClustering": spectral,
            "BLoRD(k)": BLoRD(k),
            "equal shares": BLoRD(k, **EQUAL),
            "ncut": make_method("ncut", n_clusters=k),
        }
        row: Row = {"n": n, "k": k}
        for name, model in models.items():
            model.fit(X)  # compile, and fill the caches
            row[name] = clock(partial(model.fit, X), 3)[0]
        rows.append(row)
        print(row, flush=True)
    results["cost"] = rows
    write(results)


PARTS = {"clear": clear, "cost": cost, "suite": suite, "paper": paper}


def with_tables(text: str, results: Results) -> str:
    """Return the page with its tables regenerated."""
    ours = [{"method": f"`{name}`", "mean ARI": with_range(row["ari"]),
             "sets": row["sets"], "seconds": f"{row['seconds']:.1f}"}
            for name, row in results["suite"].items()]  # fmt: skip
    theirs = [{"method": name, "mean ARI": f"{score:.3f}", "sets": "published",
               "seconds": ""} for name, score in results["peers"].items()]  # fmt: skip
    ranking = sorted(ours + theirs, key=lambda row: row["mean ARI"], reverse=True)
    accuracies = [
        {"data": name, "n": row["n"], "k": row["k"],
         **{title: with_range(row[title]) for title in ("default", "equal shares")},
         "seconds": f"{row['default s']:.2f}"}
        for name, row in results["paper"].items()
    ]  # fmt: skip
    eight = [results["paper"][name] for name in EIGHT if name in results["paper"]]
    means = [f"{title} {with_range(np.mean([row[title] for row in eight], axis=0))}"
             for title in ("default", "equal shares")]  # fmt: skip
    text = with_block(text, "suite", table(ranking))
    clear = [{**row, "ARI": with_range(row["ARI"])} for row in results["clear"]]
    text = with_block(text, "clear", table(clear))
    text = with_block(text, "cost", table(results["cost"]))
    mean = f"Mean over the paper's eight sets: {', '.join(means)}."
    text = with_block(text, "paper", f"{table(accuracies)}\n\n{mean}")
    return with_block(text, "where", f"Measured with {where(results)}.")


def with_line(text: str, results: Results) -> str:
    """Return the README with its line on quality regenerated."""
    ours, peers = results["suite"], results["peers"]
    rows = results["paper"].values()
    spread = max(max(row["default"]) - min(row["default"]) for row in rows)
    best = max((name for name in peers if "Lumbermark" not in name), key=peers.get)
    line = (
        "Over the 39 data sets of a neutral suite the mean adjusted Rand index of "
        f"`BLoRD(k)` is {with_range(ours['BLoRD(k)']['ari'])}, over ten orders of the "
        "rows. "
        f"Lumbermark reaches "
        f"{peers['Lumbermark 0.9.1']:.3f}, the best other published algorithm "
        f"({best.replace('_', ' ')}) {peers[best]:.3f}, and equal shares at tau = 1 "
        f"{np.mean(ours[TITLE_EQUAL]['ari']):.3f}. On {len(rows)} other data sets the "
        f"accuracy differed by at most {spread:.3f} between orders."
    )
    return with_block(text, "quality", line)


def write(results: Results) -> None:
    """Write the results so far."""
    results["facts"] = machine_facts()
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names or PARTS:
        PARTS[name](results)
    PAGE.write_text(with_tables(PAGE.read_text(), results))
    README.write_text(with_line(README.read_text(), results))


if __name__ == "__main__":
    main(sys.argv[1:])
