"""How often suggest_k finds the number of classes.

Usage: python -m benchmarks.suggest writes suggest.json, and the table and picture of
docs/choosing-k.md.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks.common import ROOT, Results, Row, clock, save, table, with_block
from lordclust import KSuggestion, suggest_k
from lordclust._core.typing import FloatArray, IntArray
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


def cases() -> Iterator[tuple[str, Any, Any, int]]:
    """Yield name, X, classes, and the largest k."""
    for name in DATA:
        data = load(name)
        yield name, data.prepared(), data.y, 60 if name == "orl" else 20
    for k in range(3, 13):
        box, std = (-10.0, 10.0), 3.0
        X, y = make_blobs(60 * k, 5, centers=k, center_box=box, cluster_std=std,
                          random_state=k)  # fmt: skip
        yield f"{k} blobs", X, y, 20


def measure(
    name: str, X: FloatArray, y: IntArray, last: int
) -> tuple[Row, KSuggestion]:
    S = KNNGraph().build(X)
    suggest_k(S, [2], n_paths=3)  # compile
    seconds, found = clock(lambda: suggest_k(S, range(2, last + 1)))
    row = {
        "data": name,
        "n": S.shape[0],
        "classes": len(np.unique(y)),
        "eigengap": int(found.ks[found.eigengaps.argmax()]),
        "stability": int(found.ks[found.stability.argmax()]),
        "both": found.best_k,
        "runner-up": found.runner_up,
        "within one error": ", ".join(str(k) for k in found.plausible_ks),
        "seconds": seconds,
    }
    return row, found


def summary(rows: list[Row]) -> str:
    """Count the rows in which each rule finds the number of classes."""

    def hits(part: list[Row]) -> str:
        rules = ("eigengap", "stability", "both")
        correct = [sum(r[rule] == r["classes"] for r in part) for rule in rules]
        counts = (f"{rule} {n}" for rule, n in zip(rules, correct, strict=True))
        return f"{', '.join(counts)} of {len(part)}"

    blobs = [r for r in rows if r["data"].endswith("blobs")]
    others = [r for r in rows if r not in blobs]
    return f"Correct on blobs: {hits(blobs)}. On the others: {hits(others)}."


def with_table(page: str, results: Results) -> str:
    """Return the page with its table regenerated."""
    rows = results["rows"]
    shown = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]
    return with_block(page, "table", f"{table(shown)}\n\n{summary(rows)}")


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    rows = []
    for case in cases():
        row, found = measure(*case)
        print(row, flush=True)
        rows.append(row)
        if case[0] == SHOWN:
            found.plot()[0].figure.savefig(PICTURE, dpi=110)
    results = save(RESULTS, rows)
    PAGE.write_text(with_table(PAGE.read_text(), results))


if __name__ == "__main__":
    main()
