"""Run benchmarks; write results.json, results.md and the README's lines on speed.

Usage: python -m benchmarks [NAME ...], all by default: see BENCHMARKS.
"""

import json
import sys
from pathlib import Path

from benchmarks import (
    constraints,
    methods,
    mnist,
    predict,
    solver,
    startup,
)
from benchmarks.common import README, Results, table, where
from benchmarks.summary import with_summary
from lordclust._core.versions import machine_facts

BENCHMARKS = {
    "digits": methods.DIGITS,
    "fit": solver.FIT,
    "path": solver.PATH,
    "lord": solver.LORD,
    "mnist": mnist.PATH,
    "methods": methods.SPECTRAL,
    "factors": methods.FACTORS,
    "large": mnist.METHODS,
    "sizes": constraints.SIZES,
    "predict": predict.BENCHMARK,
    "partial_labels": constraints.KNOWN_LABELS,
    "startup": startup.BENCHMARK,
}
HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results.json", HERE / "results.md"


def page(results: Results) -> str:
    """Return results as a Markdown page."""
    parts = ["# Benchmarks", "Written by `make bench`; each table is one run."]
    for name, benchmark in BENCHMARKS.items():
        if name in results:
            parts += [
                f"## {benchmark.title}",
                benchmark.note,
                table(results[name]["rows"]),
                f"Measured with {where(results[name])}.",
            ]
    return "\n\n".join(parts) + "\n"


def main(names: list[str]) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names or BENCHMARKS:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        rows = BENCHMARKS[name].run()
        results[name] = {"facts": machine_facts(), "rows": rows}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
        README.write_text(with_summary(README.read_text(), results))
        print(table(rows), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
