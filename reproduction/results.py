"""The small file of results that tables and figures are made from."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from reproduction.store import Cell, Record

#: One line of a section: a method on a data set, all seeds together.
Entry = dict[str, Any]
#: Sections of a results file: lists of entries, one line each.
Results = dict[str, Any]


def to_text(results: Results) -> str:
    """Return results as JSON, one line per entry, so that changes can be read."""
    parts = []
    for name, value in results.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(entry) for entry in value)
            parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(name)}: {json.dumps(value)}")
    return "{" + ",\n".join(parts) + "}\n"


def identity(kind: str, entry: Entry) -> tuple[str, ...]:
    """Return what distinguishes an entry from all others: kind, method, data, settings.

    Works for a cell's place as well: its settings have the same names.
    """
    at = entry | entry.get("settings", {})
    detail = at.get("taus") if kind == "blocks" else at.get("shares")
    return kind, at["method"], at["data"], json.dumps(detail or [])


def merged(old: Results, new: Results) -> Results:
    """Return old results with the new entries in place of the same old ones."""
    sections = {}
    for kind in dict.fromkeys([*_sections(old), *_sections(new)]):
        entries = [*old.get(kind, ()), *new.get(kind, ())]
        sections[kind] = list({identity(kind, e): e for e in entries}.values())
    facts = {json.dumps(x, sort_keys=True): x for x in [*old["facts"], *new["facts"]]}
    return {"facts": list(facts.values()), **sections}


def _sections(results: Results) -> list[str]:
    """Return the kinds of entries that results hold."""
    return [name for name in results if name not in ("facts", "asked", "finished")]


def lacking(results: Results, cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells whose entries are not there, or have fewer starts or settings.

    Of the settings of a method that is tuned.
    """
    there = {identity(x, e): e for x in _sections(results) for e in results[x]}
    wanted = list(cells)
    count = Counter(identity(cell.kind, cell.place) for cell in wanted)

    def is_short(cell: Cell) -> bool:
        place = identity(cell.kind, cell.place)
        found, asked = there.get(place), cell.settings
        if found is None:
            return True
        if cell.kind == "tuned" and len(found["accuracies"]) < int(asked["grid"]):
            return True
        all_starts = asked.get("starts", asked.get("roundings", count[place]))
        known = int(found.get("starts", all_starts))
        return cell.kind in ("scores", "tuned") and known < int(all_starts)

    return [cell for cell in wanted if is_short(cell)]


def find(results: Results, kind: str, **wanted: object) -> Entry | None:
    """Return the first entry of a kind that has these values, or None."""
    for entry in results.get(kind, ()):
        if all(entry.get(name) == value for name, value in wanted.items()):
            found: Entry = entry
            return found
    return None


def score_entry(results: Results, method: str, data: str) -> Entry | None:
    """Return the entry of a method in the tables of scores, or None.

    "NAME-tuned" is the method tuned by the labels.
    """
    if method.endswith("-tuned"):
        return find(results, "tuned", method=method.removesuffix("-tuned"), data=data)
    if method == "blord":
        return find(results, "grid", data=data, shares="equal")
    return find(results, "scores", method=method, data=data)


def tuned_entry(results: Results, method: str, data: str) -> Entry | None:
    """Return the entry that is compared with the paper: tuned by labels, if it was."""
    tuned = score_entry(results, f"{method}-tuned", data)
    return tuned or score_entry(results, method, data)


def entry_head(group: list[Record]) -> Entry:
    """Return what an entry begins with: method, data set, and total time."""
    first = group[0]
    seconds = round(sum(record["seconds"] for record in group), 2)
    return {"method": first["method"], "data": first["data"], "seconds": seconds}


def signed_r2(x: list[float], y: list[float], *, rises: bool = True) -> float | None:
    """Return the squared correlation, negative if better objectives score worse.

    None where one of them does not vary. ``rises``: larger objectives are better.

    Examples
    --------
    >>> signed_r2([0.0, 1.0, 2.0], [1.0, 3.0, 5.0])
    1.0
    >>> signed_r2([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], rises=False)
    -1.0
    """
    if len(x) < 3 or np.ptp(x) <= 1e-9 * np.abs(x).max() or np.ptp(y) == 0:
        return None
    r = float(np.corrcoef(x, y)[0, 1])
    return round(abs(r) * (r if rises else -r), 3)
