"""Write docs/reproduction.md and its figures from a finished run.

Usage: lordclust reproduce all && python -m benchmarks.reproduction [FOLDER]

FOLDER is that of the run, reproduction-output by default.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.summary import with_block
from lordclust.reproduction import Reproduction, tables
from lordclust.reproduction.items import ITEMS
from lordclust.reproduction.page import render
from lordclust.reproduction.reproduce import write_item
from lordclust.reproduction.results import to_text
from lordclust.reproduction.table import markdown, short

DOCS = Path(__file__).parent.parent / "docs"
PAGE, FOLDER = DOCS / "reproduction.md", DOCS / "reproduction"
RESULTS = FOLDER / "results.json"
RANKING = DOCS / "accuracy.md"
#: The column of the ranking.
MEAN = "of the comparable eight"


def read() -> dict[str, Any]:
    """Return the committed results."""
    return json.loads(RESULTS.read_text())


def with_ranking(text: str, results: dict[str, Any]) -> str:
    """Return the page with its table of mean accuracies, best first."""
    table = tables.scores(results, "acc")
    place = table.head.index(MEAN) - 1
    figures = {name: row[place] for name, row in table.rows.items()}
    known = {name: f for name, f in figures.items() if f.ours is not None}
    rows = [
        [name, short(f.ours), "" if f.theirs is None else short(f.theirs) + f.mark]
        for name, f in sorted(known.items(), key=lambda item: -item[1].ours)
    ]
    ranking = markdown(["method", "mean accuracy", "in the paper"], rows)
    return with_block(text, "ranking", ranking, "benchmarks.reproduction")


def main(folder: str = "reproduction-output") -> None:
    FOLDER.mkdir(exist_ok=True)
    RESULTS.write_text(to_text(Reproduction("all", folder).results()))
    results = read()
    for item in ITEMS.values():
        if not item.is_table:
            write_item(item, results, FOLDER)
    PAGE.write_text(render(results))
    RANKING.write_text(with_ranking(RANKING.read_text(), results))


if __name__ == "__main__":
    main(*sys.argv[1:])
