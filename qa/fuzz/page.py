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
from lordclust.files.atomic import atomic_file
from qa.fuzz.session import Tally

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE.parents[1] / "docs" / "trust" / "fuzzing.md"
#: Further packages whose version matters: they read files or generate inputs.
OTHERS = ("hypothesis", "atheris", "pyarrow", "h5py", "anndata", "pandas", "polars",
          "openpyxl")  # fmt: skip


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


class Record:
    """The results of a target in results.json, which replace or continue earlier ones.

    Parameters
    ----------
    target : str
        Its name.
    seed : int
        Seed of the first input.
    resume : bool
        Add to what is recorded.
    """

    def __init__(self, target: str, seed: int, *, resume: bool) -> None:
        self.target, self.seed = target, seed
        self.earlier = _results().get(target) if resume else None
        self.done: int = self.earlier["inputs"] if self.earlier else 0

    def write(self, row: dict[str, Any]) -> None:
        """Write the results so far of this run, with the earlier ones."""
        made = {"date": datetime.now(UTC).date().isoformat(), "seed": self.seed}
        results, row = _results(), _added(row, self.earlier)
        results[self.target] = row | made | {"facts": machine_facts() | _others()}
        with atomic_file(RESULTS, True, text=True) as file:
            file.write(json.dumps(results, indent=1) + "\n")


def _results() -> dict[str, Any]:
    """Return what is recorded."""
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def _added(row: dict[str, Any], earlier: dict[str, Any] | None) -> dict[str, Any]:
    """Return the sum of the results of two runs of a target."""
    if earlier is None:
        return row
    counts = {group: Counter(kinds) for group, kinds in earlier["outcomes"].items()}
    for group, kinds in row["outcomes"].items():
        counts.setdefault(group, Counter()).update(kinds)
    sums = {name: row[name] + earlier[name] for name in ("inputs", "failures")}
    seconds = round(row["seconds"] + earlier["seconds"], 1)
    return row | sums | {"seconds": seconds, "outcomes": counts}


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
    shown = results_text(_results())
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_block(text, "results", shown), encoding="utf-8")
    return 0
