"""All methods on the paper's nine small data sets: writes docs/methods.md.

Usage: python -m benchmarks.study [--jobs 2] [--methods sc,ncut] [--only wine,ecoli]

Finished starts are kept in study-cells.jsonl, so that a broken run goes on.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import facts
from benchmarks.reasons import reason
from lordclust.registry import METHODS
from lordclust.reproduction import page, protocol
from lordclust.reproduction.paper import NINE
from lordclust.reproduction.runner import run_cells
from lordclust.reproduction.store import Store
from lordclust.reproduction.summary import summarise

HERE = Path(__file__).parent
CELLS = HERE.parent / "study-cells.jsonl"
SUMMARY = HERE / "study.json"
PAGE = HERE.parent / "docs" / "methods.md"

#: Full covariances in hundreds of dimensions: the paper has it for its mixtures only.
LEFT_OUT = ("gmm",)

INTRO = """# Methods

All methods are scikit-learn estimators: `make_method("symnmf", n_clusters=10)` or
`from lordclust.methods import SymNMF`. *graph*: works on a sparse graph of nearest
neighbours; *kernel*: on a full kernel; *features*: on the samples themselves.
*published*: the authors' algorithm; *own solver*: their problem, solved another way;
*reconstruction*: neither their text nor their code could be read, and the model is put
together from what others say of it. Each docstring says which part is which."""

ACCURACY = """## Accuracy beside the paper's

Ours, and in brackets how far it is from the paper's figure. Protocol of the paper: 50
random starts, the best objective counts (never the best accuracy); methods that end
with k-means on an embedding: mean over 50 roundings; `s3nmf`: mean over its members.
All parameters at their defaults, none tuned. `lord` and `blord` are one path with equal
shares, `blord` at tau = 1, where the paper chose tau by the labels; `gwl` and
`balanced_kmeans` have equal shares, and the paper has no figures for them. A star marks
a figure of the paper that cannot be right. `usps1000` holds other digits than the
paper's, so compare its column downwards only."""


def methods_table() -> str:
    """Return the registry as a table."""
    rows = [
        [f"`{m.name}`", f"`{m.class_name}`", m.title, m.source, m.takes, m.status]
        for m in METHODS.values()
    ]
    return page.markdown(["name", "class", "what", "source", "on", "status"], rows)


def far_list(entries: page.Entries) -> str:
    """Return the cells that need a reason, with it."""
    lines = [
        f"- `{method}`, {data} ({page.three(gap, sign=True)}): {reason(method, data)}"
        f"{_spread(entries[method, data])}"
        for method, data, gap in page.far_cells(entries)
        if data != "usps1000"
    ]
    return "\n".join(lines) or "None."


def _spread(entry: dict[str, Any]) -> str:
    """Return the accuracies of single starts."""
    if entry["cells"] == 1:
        return ""
    low, high = page.three(entry["worst"]), page.three(entry["best"])
    return f" Single starts: {low} to {high}."


def render(summary: dict[str, Any]) -> str:
    """Return the page."""
    entries = page.by_place(summary["entries"])
    where = ", ".join(f"{k} {v}" for k, v in summary["facts"].items())
    far = (
        "### Where ours is further away\n\nMore than .04 for `sc`, `ncut` and `sr`, "
        "more than .06 for the others; without `usps1000`:"
    )
    parts = [INTRO, methods_table(), ACCURACY, page.comparison(entries)]
    parts += [far, far_list(entries), _seconds(entries)]
    parts += [f"Measured with {where}; one thread a start."]
    return "\n\n".join(parts) + "\n"


def _seconds(entries: page.Entries) -> str:
    """Return what the entries cost."""
    head = ["method", *NINE]
    rows = [
        [f"`{m}`", *(_time(entries.get((m, data))) for data in NINE)] for m in METHODS
    ]
    table = page.markdown(head, [r for r in rows if any(r[1:])])
    return f"### Seconds\n\nFor all starts of an entry, without the graph.\n\n{table}"


def _time(entry: dict[str, Any] | None) -> str:
    return "" if entry is None else f"{entry['seconds']:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    studied = [name for name in METHODS if name not in LEFT_OUT]
    parser.add_argument("--methods", default=",".join(studied))
    parser.add_argument("--only", default=",".join(NINE))
    args = parser.parse_args()
    cells = [
        cell
        for data in args.only.split(",")
        for method in args.methods.split(",")
        for cell in protocol.cells(method, data)
    ]
    run_cells(cells, CELLS, jobs=args.jobs, report=say)
    entries = summarise(Store(CELLS).records().values())
    order = list(METHODS)
    entries.sort(key=lambda e: (order.index(e["method"]), NINE.index(e["data"])))
    summary = {"facts": facts(), "entries": entries}
    lines = ",\n".join(json.dumps(e) for e in entries)
    SUMMARY.write_text(
        f'{{"facts": {json.dumps(summary["facts"])},\n"entries": [\n{lines}\n]}}\n'
    )
    PAGE.write_text(render(summary))


def say(cell: Any, record: dict[str, Any], left: int) -> None:
    """Print a line for each finished cell."""
    what = record.get("error") or f"{record['acc']:.3f} in {record['seconds']:.1f} s"
    print(f"{left:5d} {cell.method} {cell.data} {cell.seed}: {what}", file=sys.stderr)


if __name__ == "__main__":
    main()
