"""Neighbours of many samples: the search methods side by side.

Usage: python -m benchmarks.neighbours

It writes neighbours.json and a part of docs/guide/scale.md. MNIST is read from the
folder in LORDCLUST_DATA.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    SCALE,
    Results,
    Row,
    clock,
    in_process,
    peak,
    save,
    table,
    where,
    with_block,
)
from benchmarks.growth import mixture

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


def measure(data: str, search: str) -> Row:
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


def part(results: Results) -> str:
    """Return the part of the guide on search methods."""
    return (
        f"Building the graph, each in a separate process ({where(results)}).\n\n"
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
    results = save(RESULTS, rows)
    SCALE.write_text(with_block(SCALE.read_text(), "neighbours", part(results)))


if __name__ == "__main__":
    main()
