"""Run benchmarks; write results.json, results.md and the README's lines on speed.

Usage: python -m benchmarks [NAME ...], all by default: see NAMES.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.common import facts, table
from benchmarks.summary import with_summary

NAMES = (
    "digits",
    "fit",
    "path",
    "lord",
    "mnist",
    "methods",
    "factors",
    "large",
    "sizes",
    "predict",
    "selection",
    "partial_labels",
    "startup",
)
HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results.json", HERE / "results.md"
README = HERE.parent / "README.md"


def page(results: dict[str, Any]) -> str:
    """Return results as a Markdown page."""
    parts = ["# Benchmarks", "Written by `make bench`; each table is one run."]
    for name in NAMES:
        if name in results:
            module = import_module(f"benchmarks.{name}")
            where = ", ".join(f"{k} {v}" for k, v in results[name]["facts"].items())
            rows = table(results[name]["rows"])
            parts += [
                f"## {module.TITLE}",
                module.NOTE,
                rows,
                f"Measured with {where}.",
            ]
    return "\n\n".join(parts) + "\n"


def main(names: list[str]) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names or NAMES:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        rows = import_module(f"benchmarks.{name}").run()
        results[name] = {"facts": facts(), "rows": rows}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
        README.write_text(with_summary(README.read_text(), results))
        print(table(rows), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
