"""The tasks of a soak test, one function each, with one random generator."""

import contextlib
import io
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from sklearn.datasets import make_blobs

from lordclust import BLoRD, LoRD, layers, list_methods, make_method, tau_path
from lordclust.cli.app import main
from lordclust.graph import KNNGraph
from lordclust.report import write_report

#: Dense methods that decompose n x n matrices hundreds of times.
SLOW = ("nlr", "dcd", "sdp", "dsn", "sds", "dvd", "dsni", "s3nmf", "gkkm")

#: What commands print; click keeps every stream that it has ever written to.
MESSAGES = io.StringIO()


class Bench(NamedTuple):
    """The random generator and the folder of the tasks."""

    rng: Generator
    folder: Path

    def samples(self, n: int = 0) -> np.ndarray:
        """Return blobs: mostly hundreds of samples, sometimes enough for threads."""
        rng = self.rng
        n = n or int(rng.choice([60, 150, 400, 900, 2400], p=[0.3, 0.3, 0.2, 0.1, 0.1]))
        d, centers = int(rng.integers(1, 21)), int(rng.integers(2, 7))
        X, _ = make_blobs(n, d, centers=centers, random_state=int(rng.integers(2**31)))
        return X

    def k(self) -> int:
        return int(self.rng.integers(2, 9))

    def jobs(self) -> int:
        return int(self.rng.integers(1, 3))

    def dtype(self) -> str:
        return str(self.rng.choice(["float64", "float32"]))


def check(holds: bool, what: str) -> None:
    """Fail with a message; unlike assert, also under ``python -O``."""
    if not holds:
        raise RuntimeError(f"{what} does not hold")


def check_shares(model: BLoRD | LoRD) -> None:
    """Check the sums of the memberships."""
    P, slack = model.membership_, 1e-5 if model.dtype == "float32" else 1e-9
    check(np.allclose(P.sum(axis=1), 1, atol=slack), "rows sum to 1")
    check(np.allclose(P.mean(axis=0), model.proportions_, atol=slack), "shares are met")


def blord(bench: Bench) -> None:
    tau = [0.1, 0.3, 1.0, "n"][bench.rng.integers(4)]
    model = BLoRD(bench.k(), tau=tau, dtype=bench.dtype(), n_jobs=bench.jobs())
    check_shares(model.fit(bench.samples()))


def lord(bench: Bench) -> None:
    model = LoRD(bench.k(), dtype=bench.dtype(), n_jobs=bench.jobs())
    check_shares(model.fit(bench.samples()))


def random_starts(bench: Bench) -> None:
    seed = int(bench.rng.integers(2**31))
    settings = {"start": "random", "n_init": 3, "random_state": seed, "tol": 1e-3}
    model = BLoRD(4, tau=0.3, proportions=None, n_jobs=bench.jobs(), **settings)
    check_shares(model.fit(bench.samples()))


def known_labels(bench: Bench) -> None:
    X, k = bench.samples(200), bench.k()
    known = np.full(len(X), -1)
    few = bench.rng.choice(len(X) - 2, 2 * k, replace=False) + 2  # none is linked
    known[few] = np.arange(2 * k) % k
    model = BLoRD(k, tau=0.3).fit(X, known_labels=known, must_link=[[0, 1]])
    check((model.labels_[few] == known[few]).all(), "known labels stay")


def auto(bench: Bench) -> None:
    BLoRD(bench.k(), tau="auto", proportions="auto").fit(bench.samples(120))


def exact_sizes(bench: Bench) -> None:
    sizes = np.sort(bench.rng.multinomial(157, np.full(3, 1 / 3)) + 1)[::-1]
    model = BLoRD(3, cluster_sizes=sizes).fit(bench.samples(160))
    check((model.sizes_ == sizes).all(), "sizes are met")


def weights_and_few_kept(bench: Bench) -> None:
    X = bench.samples(300)
    model = BLoRD(6, tau=0.2, proba_top=2)
    model.fit(X, sample_weight=bench.rng.uniform(0.5, 2, len(X)))


def outliers(bench: Bench) -> None:
    X = bench.samples(200)
    model = BLoRD(bench.k(), outliers=0.1).fit(X)
    check((model.labels_ == -1).sum() == 20, "a tenth is left out")
    model.predict(X[:20] + 9.0, outliers=True)


def bounds_and_links(bench: Bench) -> None:
    pairs = bench.rng.choice(160, (8, 2), replace=False)
    model = BLoRD(4, size_min=30, size_max=55, links="hard")
    model.fit(bench.samples(160), must_link=pairs[:4], cannot_link=pairs[4:])
    a, b = model.labels_[pairs].T
    check(((model.sizes_ >= 30) & (model.sizes_ <= 55)).all(), "sizes are in bounds")
    check((a == b)[:4].all() and (a != b)[4:].all(), "links are met")


def nested(bench: Bench) -> None:
    found = layers(BLoRD(None).fit(bench.samples(150)), 6)
    check(found.labels.shape[1] == 150, "each level has all samples")


def refits(bench: Bench) -> None:
    X = bench.samples(240)
    model = BLoRD(3, tau=0.5).fit(X[:200]).refit(X, rows=np.arange(200))
    check(len(model.change_.now) == len(X), "each sample has a cluster")
    check_shares(BLoRD.from_labels(X, model.labels_))


def table_of_customers(bench: Bench) -> None:
    """Cluster a file with categories, dates and missing cells by the command line."""
    table, out = bench.folder / "customers.csv", bench.folder / "labels.csv"
    n, rng = 120, bench.rng
    table.write_text("id,plan,since,paid\n" + "".join(
        f"C{i},{'abc'[rng.integers(3)]},2024-{1 + i % 12:02d}-01,"
        f"{'' if i % 40 == 7 else f'${rng.uniform(1, 9000):.2f}'}\n"
        for i in range(n)
    ))  # fmt: skip
    line = ["fit", str(table), "-k", "3", "--categorical", "plan", "--missing",
            "median", "-o", str(out), "--force"]  # fmt: skip
    MESSAGES.seek(0)
    MESSAGES.truncate()
    with contextlib.redirect_stderr(MESSAGES):
        main(line, standalone_mode=False)
    check(len(out.read_text().splitlines()) == n + 1, "each row has a label")


def method(bench: Bench, name: str = "") -> None:
    """Fit a method of the registry; the slow ones on few samples."""
    name = name or str(bench.rng.choice(list_methods()))
    model = make_method(name, n_clusters=3)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(bench.samples(40 if name in SLOW else 200))


def every_method(bench: Bench) -> None:
    """Fit all methods, so that all are imported and compiled in the warm-up."""
    for name in list_methods():
        method(bench, name)


def graph(bench: Bench) -> None:
    for search in ("exact", "cells"):
        model = KNNGraph(n_jobs=bench.jobs(), search=search)
        S = model.build(bench.samples(0 if search == "exact" else 1500))
        check(S.nnz > 0, "a graph has edges")


def many_features(bench: Bench) -> None:
    """Build a graph large enough for the compiled search of all pairs."""
    KNNGraph(5, n_jobs=bench.jobs()).build(bench.rng.random((5200, 20)))


def predict(bench: Bench) -> None:
    X = bench.samples(300)
    model = BLoRD(4, tau=0.3).fit(X)
    model.predict(X[:50] + 0.1)
    model.predict_proba(X[:50] - 0.1)
    model.assign(X[:50] + 0.2)


def files(bench: Bench) -> None:
    path = bench.folder / "model.lord"
    model = BLoRD(bench.k(), tau=0.4).fit(bench.samples(200))
    model.save(path, force=True)
    again = BLoRD.load(path)
    check(
        np.array_equal(model.membership_, again.membership_),
        "a saved model has the same bits",
    )


def report(bench: Bench) -> None:
    X = bench.samples(200)
    S = KNNGraph().build(X)
    model = BLoRD(3, tau=0.4, affinity="precomputed").fit(S)
    path = tau_path(S, 3, keep="all")
    write_report(bench.folder / "report.html", model, path, X=X, force=True)


def path_with_checkpoint(bench: Bench) -> None:
    S = KNNGraph().build(bench.samples())
    place = bench.folder / "path.checkpoint"
    settings = {"checkpoint": place, "n_jobs": bench.jobs(), "dtype": bench.dtype()}
    first = tau_path(S, 3, **settings)
    again = tau_path(S, 3, **settings)  # from the file
    place.unlink()
    check(
        np.array_equal(first.labels, again.labels),
        "a path from a checkpoint is the same",
    )


def bad_input(bench: Bench) -> None:
    """Check that invalid input is refused."""
    X = bench.samples(60)
    holes, text = np.where(X.mean() < X, np.nan, X), bench.folder / "text.lord"
    text.write_text("no model")
    lopsided = np.triu(np.ones((9, 9)))
    refused: list[Callable[[], object]] = [
        lambda: BLoRD(3).fit(holes),
        lambda: BLoRD(61).fit(X),
        lambda: BLoRD(3, tau=2.0).fit(X),
        lambda: LoRD(3, start="nowhere").fit(X),
        lambda: BLoRD(3, proportions=[0.5, 0.5]).fit(X),
        lambda: BLoRD(2, affinity="precomputed").fit(lopsided),
        lambda: BLoRD.load(text),
        lambda: write_report(text, BLoRD(2).fit(X)),
        lambda: make_method("nothing"),
    ]
    for task in refused:
        with contextlib.suppress(ValueError, TypeError):
            task()
            raise RuntimeError("invalid input was accepted")


def interrupted(bench: Bench) -> None:
    """Raise from a callback half way, as Ctrl-C does."""

    class GaveUpError(Exception):
        pass

    def give_up(tau: float) -> None:
        if tau > 0.3:
            raise GaveUpError

    with contextlib.suppress(GaveUpError):
        tau_path(KNNGraph().build(bench.samples(400)), 4, callback=give_up)
        raise RuntimeError("the callback's error was lost")


#: Each task and its relative frequency; all are run once at the beginning.
KINDS: dict[str, tuple[Callable[[Bench], None], float]] = {
    "B-LoRD": (blord, 4),
    "LoRD": (lord, 3),
    "random starts": (random_starts, 2),
    "known labels": (known_labels, 2),
    "tau and proportions auto": (auto, 1),
    "exact sizes": (exact_sizes, 2),
    "weights, few probabilities kept": (weights_and_few_kept, 2),
    "outliers": (outliers, 2),
    "size bounds and hard links": (bounds_and_links, 2),
    "number of clusters, layers": (nested, 1),
    "refit, from labels": (refits, 2),
    "table of customers": (table_of_customers, 2),
    "a method of the registry": (method, 6),
    "every method of the registry": (every_method, 0),
    "graphs, exact and approximate": (graph, 3),
    "graph of many features": (many_features, 1),
    "predict, assign": (predict, 2),
    "save and load": (files, 2),
    "report": (report, 2),
    "path with checkpoint": (path_with_checkpoint, 2),
    "bad input": (bad_input, 3),
    "interrupted": (interrupted, 1),
}


def canary() -> str:
    """Return a digest of a fit that must always have the same bits."""
    X, _ = make_blobs(150, 3, centers=4, random_state=0)
    model = BLoRD(4, tau=0.3).fit(X)
    return sha256(model.membership_.tobytes()).hexdigest()
