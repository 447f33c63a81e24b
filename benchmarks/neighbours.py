"""Neighbours of many samples: the ways to search, side by side.

Usage: python -m benchmarks.neighbours

neighbours.json and a part of docs/guide/scale.md are written anew. MNIST is read from
the folder in LORDCLUST_DATA.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import SCALE, clock, facts, peak, table, where, with_part
from benchmarks.growth import in_process, mixture

N = 200_000
SEARCHES = ("exact", "cells")
RESULTS = Path(__file__).parent / "neighbours.json"


def mnist() -> Any:
    from lordclust.datasets import load

    return np.asarray(load("mnist").X, dtype=np.float32)


DATA = {
    f"{N:,} x 32, 10 Gaussians": lambda: mixture(N, 10)[0],
    "MNIST, 70,000 x 784": mnist,
}


def measure(data: str, search: str) -> dict[str, Any]:
    """Run one case in this process."""
    from lordclust.graph import KNNGraph

    graph = KNNGraph(search=search)
    graph.build(mixture(6000, 3)[0])  # compile
    X = DATA[data]()
    seconds, _ = clock(lambda: graph.build(X))
    return {
        "samples": data,
        "search": search,
        "seconds": seconds,
        "recall": graph.recall_,
        "peak GB": peak() / 1024,
    }


def part(results: dict[str, Any]) -> str:
    """Return what the guide tells of the ways to search."""
    return (
        f"The whole graph, each in a process of its own ({where(results)}).\n\n"
        f"{table(results['rows'])}"
    )


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(*sys.argv[1:])))
        return
    rows = []
    for data in DATA:
        for search in SEARCHES:
            row = in_process("benchmarks.neighbours", data, search)
            rows.append({"samples": data, "search": search} | row)
            print(rows[-1], file=sys.stderr, flush=True)
    results = {"facts": facts(), "rows": rows}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    SCALE.write_text(with_part(SCALE.read_text(), "neighbours", part(results)))


if __name__ == "__main__":
    main()
