"""From finished cells to the small file that tables and figures are made from."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lordclust.registry import METHODS
from lordclust.reproduction.inputs import SCORES
from lordclust.reproduction.plan import CORRELATED
from lordclust.reproduction.store import Cell, Record
from lordclust.reproduction.work.scores import VARIANTS

#: Sections of a results file: lists of entries, one line each.
Results = dict[str, Any]


def collect(cells: Iterable[Cell], records: dict[str, Record]) -> Results:
    """Return the results of those cells that are finished.

    Parameters
    ----------
    cells : iterable of Cell
        What was asked for; a cell that is not finished is left out.
    records : dict of str to record
        The finished cells by key.
    """
    keys = dict.fromkeys(cell.key for cell in cells)
    found = [records[key] for key in keys if key in records]
    groups: dict[str, dict[tuple[str, str, str], list[Record]]] = {}
    for record in found:
        kind = groups.setdefault(record["kind"], defaultdict(list))
        kind[_group(record)].append(record)
    sections = {
        kind: [_ENTRIES[kind](sorted(g, key=_seed)) for g in groups[kind].values()]
        for kind in _ENTRIES
        if kind in groups
    }
    facts = {json.dumps(record["facts"], sort_keys=True) for record in found}
    return {
        "facts": [json.loads(text) for text in sorted(facts)],
        "asked": len(keys),
        "finished": len(found),
        **sections,
    }


def to_text(results: Results) -> str:
    """Return results as JSON, one line an entry, so that changes can be read."""
    parts = []
    for name, value in results.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(entry) for entry in value)
            parts.append(f"{json.dumps(name)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(name)}: {json.dumps(value)}")
    return "{" + ",\n".join(parts) + "}\n"


def find(results: Results, kind: str, **wanted: Any) -> Any:
    """Return the first entry of a kind that has these values, or None."""
    for entry in results.get(kind, ()):
        if all(entry.get(name) == value for name, value in wanted.items()):
            return entry
    return None


def _seed(record: Record) -> int:
    return int(record["seed"])


def _group(record: Record) -> tuple[str, str, str]:
    """Return what the starts of one entry share."""
    settings = json.dumps(record["settings"], sort_keys=True)
    return record["method"], record["data"], settings


def _place(group: list[Record]) -> dict[str, Any]:
    """Return what an entry begins with."""
    first = group[0]
    seconds = round(sum(r["seconds"] for r in group), 2)
    return {"method": first["method"], "data": first["data"], "seconds": seconds}


# -- one method on one data set -----------------------------------------------------


def maximises(method: str) -> bool:
    """Tell whether a larger objective is better."""
    name, _ = VARIANTS.get(method, (method, {}))
    return bool(METHODS[name].load().maximises)


def _scores(group: list[Record]) -> dict[str, Any]:
    """Return an entry: the scores of the start with the best objective."""
    method = group[0]["method"]
    best = max if maximises(method) else min
    chosen = best(group, key=lambda r: r["objective"])
    accuracies = [r["acc"] for r in group]
    objectives = [r["objective"] for r in group]
    entry = {
        **_place(group),
        "starts": group[0]["settings"].get("roundings", len(group)),
        **{name: round(chosen[name], 4) for name in SCORES},
        "worst": round(min(accuracies), 4),
        "best": round(max(accuracies), 4),
        "r2": signed_r2(objectives, accuracies, rises=maximises(method)),
        "converged": sum(r["converged"] for r in group),
    }
    if "max_iter" in group[0]["settings"]:
        entry["max_iter"] = group[0]["settings"]["max_iter"]
    # What is drawn start by start: correlated methods, and LoRD's kinds of start.
    if method.split("-")[0] in CORRELATED and len(group) > 1:
        entry["objectives"] = [float(f"{x:.7g}") for x in objectives]
        entry["accuracies"] = [round(x, 4) for x in accuracies]
    return entry


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


# -- B-LoRD over tau ----------------------------------------------------------------


def _grid(group: list[Record]) -> dict[str, Any]:
    """Return the paper's protocol: at each tau the start with the best objective.

    ``tau`` is the one with the best accuracy, chosen by the labels as the paper does;
    the scores are those at it.
    """
    objective = np.array([r["objective"] for r in group])
    best, starts = objective.argmax(axis=0), np.arange(objective.shape[1])
    chosen = {s: np.array([r[s] for r in group])[best, starts] for s in SCORES}
    star = int(chosen["acc"].argmax())
    at_star = objective[:, star].tolist(), [r["acc"][star] for r in group]
    return {
        **_place(group),
        "shares": group[0]["settings"]["shares"],
        "starts": len(group),
        "tau": group[0]["taus"][star],
        **{name: round(float(values[star]), 4) for name, values in chosen.items()},
        "r2": signed_r2(*at_star),
        "objectives": [float(f"{x:.7g}") for x in at_star[0]],
        "accuracies": [round(x, 4) for x in at_star[1]],
        "taus": group[0]["taus"],
        "curve": [round(float(x), 4) for x in chosen["acc"]],
        "cloud": [
            [float(f"{x:.6g}") for x in np.quantile(objective, q, axis=0)]
            for q in (0, 0.5, 1)
        ],
    }


def _path(group: list[Record]) -> dict[str, Any]:
    """Return a path as it is, its objectives and accuracies shorter."""
    (record,) = group
    return {
        **_place(group),
        **{x: record[x] for x in ("tau_0", "tau_n", "tau_blocks", "taus")},
        "objectives": [float(f"{x:.6g}") for x in record["objective"]],
        "curve": [round(x, 4) for x in record["acc"]],
    }


# -- the others ---------------------------------------------------------------------


def _descent(group: list[Record]) -> dict[str, Any]:
    """Return both curves as they are."""
    (record,) = group
    ways = {name: record[name] for name in ("paper", "fast")}
    place = {name: record[name] for name in ("method", "data")}
    return {**place, "max_iter": record["settings"]["max_iter"], **ways}


def _blocks(group: list[Record]) -> dict[str, Any]:
    """Return the pictures as they are."""
    (record,) = group
    names = ("method", "data", "side", "pictures")
    taus = record["settings"].get("taus", [])
    return {**{name: record[name] for name in names}, "taus": taus}


def _synthetic(group: list[Record]) -> dict[str, Any]:
    """Return means and deviations over the draws, and the first draw."""
    means = {s: round(float(np.mean([r[s] for r in group])), 4) for s in SCORES}
    spread = round(float(np.std([r["acc"] for r in group])), 4)
    settings = group[0]["settings"]
    entry = {
        **_place(group),
        "shares": settings["shares"],
        "draws": len(group),
        "starts": settings["starts"],
        **means,
        "spread": spread,
    }
    if "curve" in group[0]:
        curves = np.mean([r["curve"] for r in group], axis=0)
        entry |= {"curve": curves.round(4).tolist(), "tau": group[0]["tau"]}
    shown = ("x", "labels", "chance")
    return entry | {name: group[0][name] for name in shown if name in group[0]}


_ENTRIES: dict[str, Callable[[list[Record]], dict[str, Any]]] = {
    "scores": _scores,
    "grid": _grid,
    "path": _path,
    "descent": _descent,
    "blocks": _blocks,
    "synthetic": _synthetic,
}
