"""The paper's tables, ours beside theirs."""

from typing import Any

import numpy as np

from lordclust.datasets.synthetic import MIXTURES
from lordclust.metrics import imbalance_rate
from lordclust.reproduction.paper import (
    ERRATA,
    METHODS,
    NINE,
    SETS,
    printed,
    printed_synthetic,
)
from lordclust.reproduction.plan import (
    BESIDE,
    CORRELATED,
    OWN,
    RESTARTS,
    UNEVEN,
    left_out,
)
from lordclust.reproduction.results import Results, find
from lordclust.reproduction.table import Figure, Table
from lordclust.reproduction.work.scores import DETERMINISTIC, MEMBERS, ROUNDED

#: Sets whose figures can be compared: the 1000 USPS digits are others than the paper's.
COMPARABLE = tuple(name for name in NINE if name != "usps1000")
NAMES = {
    "acc": "Accuracy (ACC)",
    "nmi": "Normalised mutual information (NMI)",
    "pur": "Purity (PUR)",
    "f1": "Pairwise F1",
}
#: What ours is called in a table.
ROWS = {
    "lord-path": "`lord`, one path",
    "blord-path": "`blord`, one path, tau = 1",
    "blord-auto": "`blord`, tau and shares chosen",
}


def scores(results: Results, score: str) -> Table:
    """Return the table of one score: 20 methods, 12 sets and two averages."""
    paper = printed(score)
    rows = {}
    for method in (*METHODS, *OWN, *BESIDE):
        ours = {data: _score(results, method, data, score) for data in SETS}
        if any(x is not None for x in ours.values()):
            theirs = paper.get(method, {})
            rows[ROWS.get(method, f"`{method}`")] = [
                *(
                    Figure(ours[d], theirs.get(d), _star(score, method, d))
                    for d in SETS
                ),
                Figure(
                    _mean(ours, NINE),
                    theirs.get("average"),
                    _star(score, method, "average"),
                ),
                Figure(_mean(ours, COMPARABLE), _mean(theirs, COMPARABLE)),
            ]
    head = ["method", *SETS, "average of nine", "of the comparable eight"]
    return Table(NAMES[score], head, rows, _notes(results)).without_empty()


def entry(results: Results, method: str, data: str) -> Any:
    """Return the entry of a table of scores, or None."""
    if method == "blord":
        return find(results, "grid", data=data, shares="equal")
    return find(results, "scores", method=method, data=data)


def _score(results: Results, method: str, data: str, score: str) -> float | None:
    found = entry(results, method, data)
    return None if found is None else float(found[score])


def _mean(values: dict[str, Any], names: tuple[str, ...]) -> float | None:
    """Return the mean over the names, None if one is missing."""
    found = [values.get(name) for name in names]
    return (
        None if None in found else float(np.mean([x for x in found if x is not None]))
    )


def _star(score: str, method: str, data: str) -> str:
    return "*" if (score, method, data) in ERRATA else ""


def _notes(results: Results) -> list[str]:
    """Return what is thinned and what is left out, and why."""
    thinned: dict[str, dict[str, list[str]]] = {}
    empty: dict[str, dict[str, list[str]]] = {}
    for method in METHODS:
        for data in SETS:
            found, reason = entry(results, method, data), left_out(method, data)
            if reason is not None:
                empty.setdefault(reason, {}).setdefault(method, []).append(data)
            elif found is not None and (what := _thinned(method, found)):
                thinned.setdefault(what, {}).setdefault(method, []).append(data)
    return [
        *(f"Thinned to {what}: {_places(places)}." for what, places in thinned.items()),
        *(f"Empty, {why}: {_places(places)}." for why, places in empty.items()),
    ]


def _thinned(method: str, found: dict[str, Any]) -> str | None:
    """Return how an entry is less than the protocol, or None if it is not."""
    if found["starts"] >= RESTARTS or method in (*DETERMINISTIC, *MEMBERS):
        return None
    what = "rounding" if method in ROUNDED else "start"
    text = f"{found['starts']} {what}{'s' * (found['starts'] > 1)}"
    if method == "blord":
        text += f" and {len(found['taus'])} taus"
    if "max_iter" in found:
        text += f", stopped after {found['max_iter']} iterations"
    return text


def _places(places: dict[str, list[str]]) -> str:
    """Return methods with their data sets."""
    return "; ".join(
        f"{method} on {', '.join(sets)}" for method, sets in places.items()
    )


def r2(results: Results) -> Table:
    """Return how far the objective tells the accuracy, over the starts."""
    paper = printed("r2")
    rows = {}
    for method in CORRELATED:
        ours = {
            data: None if (e := entry(results, method, data)) is None else e["r2"]
            for data in SETS
        }
        if any(x is not None for x in ours.values()):
            known = [x for x in ours.values() if x is not None]
            figures = [Figure(ours[data], paper[method].get(data)) for data in SETS]
            average = Figure(float(np.mean(known)), paper[method]["average"])
            rows[f"`{method}`"] = [*figures, average]
    notes = [
        "Negative where better objectives have worse accuracies; empty where neither "
        "varies from start to start.",
        "`blord` at its best tau.",
    ]
    head = ["method", *SETS, "average"]
    table = Table("R² of objective and accuracy", head, rows, notes, digits=2)
    return table.without_empty()


def tau(results: Results) -> Table:
    """Return the two rules for tau, the best tau, and the accuracies at each."""
    values, accuracies = printed("tau"), printed("tau-acc")
    names = {"n": "rule by n", "blocks": "rule by n and blocks", "best": "best tau"}
    ours = {data: _taus(results, data) for data in SETS}
    ours = {data: found for data, found in ours.items() if found}
    rows = {}
    for rule, name in names.items():
        figures = [_figure(ours, data, rule, 0, values[rule]) for data in SETS]
        off = [abs(x[rule][0] - x["best"][0]) for x in ours.values()]
        last = Figure(float(np.mean(off)) if off else None, values[rule]["mae"])
        rows[name] = [*figures, last]
    for rule, name in names.items():
        figures = [_figure(ours, data, rule, 1, accuracies[rule]) for data in SETS]
        at = {data: found[rule][1] for data, found in ours.items()}
        last = Figure(_mean(at, NINE), accuracies[rule]["average"])
        rows[f"ACC at {name}"] = [*figures, last]
    head = ["", *SETS, "mean error, average of nine"]
    return Table("Rules for tau", head, rows).without_empty()


def _figure(
    ours: dict[str, Any], data: str, rule: str, place: int, paper: dict[str, float]
) -> Figure:
    found = ours[data][rule][place] if data in ours else None
    return Figure(found, paper[data])


def _taus(results: Results, data: str) -> dict[str, tuple[float, float]]:
    """Return tau and the accuracy at the nearest tau of the grid, by rule."""
    grid, path = (
        find(results, "grid", data=data, shares="equal"),
        find(results, "path", data=data),
    )
    if grid is None or path is None:
        return {}
    wanted = {"n": path["tau_n"], "blocks": path["tau_blocks"], "best": grid["tau"]}
    taus = np.array(grid["taus"])
    return {
        rule: (tau, grid["curve"][int(np.abs(taus - tau).argmin())])
        for rule, tau in wanted.items()
    }


def mu(results: Results) -> Table:
    """Return the gap between equal and true shares on the uneven sets."""
    paper = printed("mu")
    rows = {}
    for method in ("lord", "blord"):
        pair = {}
        for variant, shares in ((method, "equal"), (f"{method}-true", "true")):
            ours = {
                data: _with_shares(results, method, data, shares) for data in UNEVEN
            }
            pair[shares] = ours, paper[variant]
            rows[f"`{method}`, {shares} shares"] = [
                Figure(ours[data], paper[variant][data]) for data in UNEVEN
            ]
        rows[f"`{method}`, gap"] = [
            Figure(_gap(pair, 0, data), _gap(pair, 1, data)) for data in UNEVEN
        ]
    notes = ["`blord` at the tau with the best accuracy, for each of the shares."]
    table = Table("Equal beside true shares", ["", *UNEVEN], rows, notes)
    return table.without_empty()


def _with_shares(results: Results, method: str, data: str, shares: str) -> float | None:
    if method == "blord":
        found = find(results, "grid", data=data, shares=shares)
    else:
        name = "lord" if shares == "equal" else "lord-true"
        found = find(results, "scores", method=name, data=data)
    return None if found is None else float(found["acc"])


def _gap(pair: dict[str, Any], who: int, data: str) -> float | None:
    true, equal = pair["true"][who][data], pair["equal"][who][data]
    return None if true is None or equal is None else true - equal


def synthetic(results: Results, score: str = "acc") -> Table:
    """Return the table of the mixtures for one score."""
    paper = printed_synthetic(score)
    rows = {}
    for method in ("gmm", "lord", "blord"):
        for shares in ("true", "equal"):
            figures = []
            for data in MIXTURES:
                found = find(
                    results, "synthetic", method=method, data=data, shares=shares
                )
                ours = None if found is None else found[score]
                spread = None if found is None or score != "acc" else found["spread"]
                theirs = paper[method, data, shares]
                figures.append(Figure(ours, theirs, spread=spread))
            rows[f"`{method}`, {shares} shares"] = figures
    head = ["", *(_mixture(counts) for counts in MIXTURES.values())]
    first = next(iter(results.get("synthetic", [])), {"draws": 0, "starts": 0})
    notes = [
        f"Ours: mean over {first['draws']} draws of the samples, {first['starts']} "
        "starts each (with the deviation over draws for ACC); the paper has one draw.",
    ]
    table = Table(f"Four Gaussians: {NAMES[score]}", head, rows, notes)
    return table.without_empty()


def _mixture(counts: tuple[int, ...]) -> str:
    """Return the sizes of a mixture, with its imbalance rate."""
    y = np.repeat(np.arange(len(counts)), counts)
    return f"{' '.join(map(str, counts))} (IBR {imbalance_rate(y):.4f})"
