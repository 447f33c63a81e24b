"""Write docs/reproduction.md and its figures from a finished run.

Usage: lordclust reproduce all && python -m benchmarks.reproduction [FOLDER]

FOLDER is that of the run, reproduction-output by default.
"""

import json
import sys
from pathlib import Path
from typing import Any

from lordclust.reproduction import Reproduction
from lordclust.reproduction.items import ITEMS
from lordclust.reproduction.page import render
from lordclust.reproduction.reproduce import write_item
from lordclust.reproduction.results import to_text

DOCS = Path(__file__).parent.parent / "docs"
PAGE, FOLDER = DOCS / "reproduction.md", DOCS / "reproduction"
RESULTS = FOLDER / "results.json"


def read() -> dict[str, Any]:
    """Return the committed results."""
    return json.loads(RESULTS.read_text())


def main(folder: str = "reproduction-output") -> None:
    FOLDER.mkdir(exist_ok=True)
    RESULTS.write_text(to_text(Reproduction("all", folder).results()))
    results = read()
    for item in ITEMS.values():
        if not item.is_table:
            write_item(item, results, FOLDER)
    PAGE.write_text(render(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
