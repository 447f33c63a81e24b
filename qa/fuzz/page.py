"""The results of a campaign: results.json and its part of docs/trust/fuzzing.md."""

import json
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.common import table as markdown
from benchmarks.common import with_block
from lordclust._core.versions import machine_facts
from qa.fuzz.session import Tally

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE.parents[1] / "docs" / "trust" / "fuzzing.md"
#: Further packages whose version matters: they read files or generate inputs.
OTHERS = ("hypothesis", "atheris", "pyarrow", "h5py", "anndata")


def row(name: str, tally: Tally, seconds: float) -> dict[str, Any]:
    """Return the results of one target."""
    outcomes: dict[str, dict[str, int]] = {}
    for (group, kind), count in sorted(tally.outcomes.items()):
        outcomes.setdefault(group, {})[kind] = count
    return {
        "target": name,
        "inputs": tally.done,
        "outcomes": outcomes,
        "failures": tally.n_failures,
        "seconds": round(seconds, 1),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return a table with one line per target."""
    return markdown(
        [
            {
                "target": row["target"],
                "inputs": row["inputs"],
                "outcomes": _in_words(_kinds(row["outcomes"])),
                "failures": row["failures"],
                "seconds": round(row["seconds"]),
                "inputs/s": round(row["inputs"] / max(row["seconds"], 1e-9)),
            }
            for row in rows
        ]
    )


def _kinds(outcomes: dict[str, dict[str, int]]) -> Counter[str]:
    """Return the number of outcomes of each kind, over all groups."""
    total: Counter[str] = Counter()
    for kinds in outcomes.values():
        total.update(kinds)
    return total


def _in_words(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())


def record(row: dict[str, Any], seed: int) -> None:
    """Write the results of a target to results.json, replacing older ones."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    made = {"date": datetime.now(UTC).date().isoformat(), "seed": seed}
    results[row["target"]] = row | made | {"facts": machine_facts() | _others()}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def _others() -> dict[str, str]:
    """Return the versions of the further packages."""
    found = {}
    for name in OTHERS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def results_text(results: dict[str, Any]) -> str:
    """Return the results as text of the page."""
    rows = list(results.values())
    inputs = sum(row["inputs"] for row in rows)
    failures = sum(row["failures"] for row in rows)
    groups = [
        {"target": row["target"], "input": group, "outcomes": _in_words(Counter(kinds))}
        for row in rows
        for group, kinds in row["outcomes"].items()
        if len(row["outcomes"]) > 1
    ]
    dates = sorted({row["date"] for row in rows})
    where = ", ".join(f"{name} {value}" for name, value in _all_facts(rows).items())
    return "\n\n".join([
        f"{inputs:,} inputs, {failures or 'no'} failure{'s' * (failures != 1)}.",
        table(rows),
        "By kind of input:",
        markdown(groups),
        f"Measured on {' to '.join(dates[:1] + dates[1:][-1:])} with {where}.",
    ])  # fmt: skip


def _all_facts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return versions and machine of all runs."""
    found: dict[str, Any] = {}
    for row in rows:
        found |= row["facts"]
    return found


def write() -> int:
    """Write the results into the page."""
    shown = results_text(json.loads(RESULTS.read_text()))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_block(text, "results", shown), encoding="utf-8")
    return 0
