"""The experiments: what a cell runs, how cells become one entry, how it is drawn."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable

from reproduction.experiments import (
    coclustering,
    convergence,
    gaussians,
    scores,
    tau_grid,
    tuned,
)
from reproduction.results import Entry, Results
from reproduction.store import Cell, Record

#: From the kind of a cell to the function that runs it.
RUN: dict[str, Callable[[Cell], Record]] = {
    "scores": scores.run,
    "grid": tau_grid.run_grid,
    "path": tau_grid.run_path,
    "descent": convergence.run,
    "blocks": coclustering.run,
    "synthetic": gaussians.run,
    "tuned": tuned.run,
}
#: From the kind to the function that makes one entry of the results from its cells.
SUMMARISE: dict[str, Callable[[list[Record]], Entry]] = {
    "scores": scores.summarise,
    "grid": tau_grid.summarise_grid,
    "path": tau_grid.summarise_path,
    "descent": convergence.summarise,
    "blocks": coclustering.summarise,
    "synthetic": gaussians.summarise,
    "tuned": tuned.summarise,
}


def collect(cells: Iterable[Cell], records: dict[str, Record]) -> Results:
    """Return the results of those cells that are finished.

    Parameters
    ----------
    cells : iterable of Cell
        The cells requested; one that is not finished is left out.
    records : dict of str to record
        The finished cells by key.
    """
    keys = dict.fromkeys(cell.key for cell in cells)
    found = [records[key] for key in keys if key in records]
    groups: dict[str, dict[tuple[str, ...], list[Record]]] = {}
    for record in found:  # the seeds of one entry share all but the seed
        settings = json.dumps(record["settings"], sort_keys=True)
        kind = groups.setdefault(record["kind"], defaultdict(list))
        kind[record["method"], record["data"], settings].append(record)
    sections = {
        kind: [
            summarise(sorted(group, key=lambda record: int(record["seed"])))
            for group in groups[kind].values()
        ]
        for kind, summarise in SUMMARISE.items()
        if kind in groups
    }
    facts = {json.dumps(record["facts"], sort_keys=True) for record in found}
    return {
        "facts": [json.loads(text) for text in sorted(facts)],
        "asked": len(keys),
        "finished": len(found),
        **sections,
    }
