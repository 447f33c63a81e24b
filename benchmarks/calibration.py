"""How honest memberships are: certainty compared with accuracy, and with posteriors.

Usage: python -m benchmarks.calibration writes calibration.json and the tables of
docs/calibration.md. It reads the paper's data sets, and NAME.npz (X, and labels from 1,
0 for noise) of suite/, in the folder LORDCLUST_DATA.
"""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.mixture import GaussianMixture

from benchmarks.common import (
    ROOT,
    Results,
    Row,
    save,
    shuffled,
    table,
    where,
    with_block,
    with_range,
)
from benchmarks.quality import EIGHT, EQUAL
from lordclust import BLoRD
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.choose.calibrate import Walk, calibrated, partition_stability
from lordclust.datasets import load
from lordclust.datasets.load import FOLDER_VARIABLE
from lordclust.methods import NCut
from lordclust.metrics import accuracy, calibration_error

RESULTS = Path(__file__).parent / "calibration.json"
PAGE = ROOT / "docs" / "calibration.md"
#: Larger sets of the suite are left out.
LARGEST = 2100
OURS = "`BLoRD(k)`"
GROUPS = ("the eight", "shapes", "graves", "mixtures")


class Case(NamedTuple):
    """Samples with classes, -1 for noise, and exact posteriors if they are known."""

    group: str
    name: str
    X: FloatArray
    y: IntArray
    posterior: FloatArray | None = None


def cases() -> Iterator[Case]:
    for name in EIGHT:
        data = load(name)
        y = np.unique(data.y, return_inverse=True)[1]
        yield Case("the eight", name, data.prepared(), y)
    folder = Path(os.environ[FOLDER_VARIABLE]) / "suite"
    for group, names in (("shapes", ("wut-*", "fcps-*")), ("graves", ("graves-*",))):
        for place in sorted(p for name in names for p in folder.glob(f"{name}.npz")):
            with np.load(place) as file:
                X, y = file["X"], np.atleast_2d(file["labels"])[0].astype(int) - 1
            if len(X) <= LARGEST:
                yield Case(group, place.stem, X.astype(float), y)
    for d in (2, 10, 50):
        for k in (2, 3, 4, 5):
            for uneven in (False, True):
                for distance in (2.0, 3.0, 4.0, 6.0):
                    yield mixture(d, k, distance, uneven=uneven)


def mixture(d: int, k: int, distance: float, *, uneven: bool) -> Case:
    """Return 1000 samples of k Gaussians N(m_j, I), neighbours ``distance`` apart."""
    rng = np.random.default_rng(0)
    shares = 0.6 ** np.arange(k) if uneven else np.ones(k)
    shares = shares / shares.sum()
    means = np.zeros((k, d))
    if d >= k:  # all at the same distance
        means[np.arange(k), np.arange(k)] = distance / np.sqrt(2)
    else:  # on a circle
        angle = 2 * np.pi * np.arange(k) / k
        radius = distance / (2 * np.sin(np.pi / k))
        means[:, 0], means[:, 1] = radius * np.cos(angle), radius * np.sin(angle)
    y = rng.choice(k, 1000, p=shares)
    X = means[y] + rng.standard_normal((1000, d))
    log = np.log(shares) - ((X[:, None] - means) ** 2).sum(axis=2) / 2
    P = np.exp(log - log.max(axis=1, keepdims=True))
    name = f"d = {d}, k = {k}, {'uneven' if uneven else 'equal'}, distance {distance:g}"
    return Case("mixtures", name, X, y, P / P.sum(axis=1, keepdims=True))


def memberships(X: FloatArray, k: int) -> Iterator[tuple[str, IntArray, Graph]]:
    """Yield the name of each estimator, its labels and its memberships."""
    own = BLoRD(k).fit(X)
    S = own.affinity_matrix_
    equal = BLoRD(k, affinity="precomputed", **EQUAL).fit(S)
    ncut = NCut(k, affinity="precomputed", random_state=0).fit(S)
    yield OURS, own.labels_, own.membership_
    yield "equal shares, tau = 1", equal.labels_, equal.membership_
    finished = [own.labels_, equal.labels_, ncut.labels_]
    walk = Walk.of(S, np.ones(len(X)))
    for name, labels in ((OURS, own.labels_), ("NCut", ncut.labels_)):
        mu = np.sqrt(np.bincount(labels, minlength=k) / len(labels))
        vote = walk.step(np.eye(k)[labels])
        vote[walk.alone] = mu**2
        yield f"{name}, vote of neighbours", labels, vote
        yield f"{name}, calibrated alone", labels, calibrated(S, labels, mu)
    stability = partition_stability(S, labels, finished, k)
    P = calibrated(S, labels, mu, stability=stability)
    yield "NCut, calibrated", labels, P
    model = GaussianMixture(k, random_state=0, reg_covar=1e-4).fit(X)
    P = model.predict_proba(X)
    yield "GaussianMixture", P.argmax(axis=1), P


def measure(case: Case) -> Iterator[Row]:
    seen, k = case.y >= 0, int(case.y.max()) + 1
    orders = [
        calibration_error(y[y >= 0], BLoRD(k).fit(X).membership_[y >= 0])
        for X, y in shuffled(case.X, case.y)
    ]
    for name, labels, P in memberships(case.X, k):
        certainty = P.max(axis=1)
        row = {
            "group": case.group,
            "data": case.name,
            "memberships": name,
            "error": calibration_error(case.y[seen], P[seen]),
            "accuracy": float(accuracy(case.y[seen], P[seen].argmax(axis=1))),
            "certainty": float(certainty.mean()),
            "not the label": float(np.mean(P.argmax(axis=1) != labels)),
        }
        if name == OURS:
            row["orders"] = orders
        if case.posterior is not None:
            exact = case.posterior.max(axis=1)
            row["samples"] = float(np.abs(certainty - exact).mean())
            row["means"] = float(abs(certainty.mean() - exact.mean()))
        yield row


def errors(rows: list[Row]) -> list[Row]:
    """Return the mean error of each estimator in each group."""
    shown = []
    for name in dict.fromkeys(row["memberships"] for row in rows):
        mine = [row for row in rows if row["memberships"] == name]
        line: Row = {"memberships": name}
        for group in GROUPS:
            line[group] = mean(mine, "error", (group,))
            if group == "shapes":
                line["these 29"] = mean(mine, "error", ("the eight", "shapes"))
        line["accuracy"] = mean(mine, "accuracy", GROUPS)
        line["certainty"] = mean(mine, "certainty", GROUPS)
        line["not the label"] = mean(mine, "not the label", GROUPS)
        shown.append(line)
    return shown


def distances(rows: list[Row]) -> list[Row]:
    """Return how far certainty is from that of exact posteriors, by dimension."""
    shown = []
    for name in dict.fromkeys(row["memberships"] for row in rows):
        line: Row = {"memberships": name}
        for d in (2, 10, 50):
            mine = [
                row
                for row in rows
                if row["memberships"] == name and row["data"].startswith(f"d = {d},")
            ]
            line[f"d = {d}, means"] = mean(mine, "means", GROUPS)
            line[f"d = {d}, samples"] = mean(mine, "samples", GROUPS)
        shown.append(line)
    return shown


def mean(rows: list[Row], column: str, groups: tuple[str, ...]) -> str:
    """Return the mean of a column; of our errors, over orders of the rows."""
    mine = [row for row in rows if row["group"] in groups]
    if column == "error" and all("orders" in row for row in mine):
        return with_range(np.mean([row["orders"] for row in mine], axis=0))
    return f"{np.mean([row[column] for row in mine]):.3f}"


def with_tables(page: str, results: Results) -> str:
    """Return the page with its tables regenerated."""
    rows = results["rows"]
    facts = f"Measured with {where(results)}."
    page = with_block(page, "errors", f"{table(errors(rows))}\n\n{facts}")
    return with_block(page, "posteriors", table(distances(rows)))


def main() -> None:
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases():
            rows += measure(case)
            print(case.group, case.name, flush=True)
    rows = [
        {x: round(v, 4) if isinstance(v, float) else v for x, v in row.items()}
        for row in rows
    ]
    results = save(RESULTS, rows)
    PAGE.write_text(with_tables(PAGE.read_text(), results))
    print(table(errors(rows)))


if __name__ == "__main__":
    main()
