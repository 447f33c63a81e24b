"""Every table and figure by name: its cells, and the function that makes it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from lordclust._core.validation import unknown_name
from reproduction import paper_tables as tables
from reproduction.comparison import Table
from reproduction.experiments import (
    coclustering,
    convergence,
    gaussians,
    models,
    scores,
    tau_grid,
)
from reproduction.plan import Plan
from reproduction.results import Results
from reproduction.store import Cell


@dataclass(frozen=True)
class Item:
    """A table or a figure.

    Attributes
    ----------
    name, title : str
    cells : callable
        From a plan to the cells it needs.
    make : callable
        From results to its tables, or to a figure.
    """

    name: str
    title: str
    cells: Callable[[Plan], Iterable[Cell]]
    make: Callable[[Results], Any]

    @property
    def is_table(self) -> bool:
        """Whether it is a table, not a figure."""
        return self.name.startswith("table-")

    def tables(self, results: Results) -> list[Table]:
        """Return its tables."""
        made = self.make(results)
        return made if isinstance(made, list) else [made]


def _mixtures(results: Results) -> list[Table]:
    return [tables.synthetic(results, score) for score in tables.NAMES]


# One line per item, to be read as a table, hence the width.
# fmt: off
# ruff: noqa: E501
_LINES = (
    Item("table-acc", "accuracy of 20 methods on 12 sets", Plan.tables, partial(tables.scores, score="acc")),
    Item("table-nmi", "normalised mutual information of the same", Plan.tables, partial(tables.scores, score="nmi")),
    Item("table-pur", "purity of the same", Plan.tables, partial(tables.scores, score="pur")),
    Item("table-f1", "pairwise F1 of the same", Plan.tables, partial(tables.scores, score="f1")),
    Item("table-r2", "R2 of objective and accuracy over the starts", Plan.r2, tables.r2),
    Item("table-tau", "the rules for tau, and the accuracies they give", Plan.tau, tables.tau),
    Item("table-mu", "equal and true shares on uneven sets", Plan.mu, tables.mu),
    Item("table-synthetic", "four Gaussians, five imbalances; needs no data", Plan.synthetic, _mixtures),
    Item("fig-models", "the models, and what each one relaxes", Plan.nothing, models.models),
    Item("fig-tau-blocks", "VV' as tau grows", Plan.tau_blocks, coclustering.tau_blocks),
    Item("fig-tau-acc", "accuracy over tau, with tau_0", Plan.tau, tau_grid.tau_acc),
    Item("fig-learned-z", "Z of LoRD and B-LoRD", Plan.learned_z, coclustering.learned_z),
    Item("fig-convergence", "objective over iterations", Plan.descent, convergence.convergence),
    Item("fig-synthetic", "clusters and probabilities of the Gaussians", Plan.synthetic, gaussians.synthetic),
    Item("fig-objective-acc", "accuracy over objective, start by start", Plan.r2, scores.objective_acc),
    Item("fig-inner-iterations", "iterations of Dykstra's and Newton's projections", Plan.descent, convergence.inner_iterations),
    Item("fig-init", "Dykstra's and Sinkhorn's starts", Plan.init, scores.init),
    Item("fig-landscape", "one path among the random starts (ours)", Plan.landscape, tau_grid.landscape),
)
# fmt: on

#: All tables and figures by name.
ITEMS: dict[str, Item] = {item.name: item for item in _LINES}


def chosen(names: Iterable[str]) -> list[Item]:
    """Return the items of these names; "all" is all of them."""
    wanted = list(names)
    for name in wanted:
        if name != "all" and name not in ITEMS:
            raise unknown_name("table or figure", name, [*ITEMS, "all"])
    return [x for x in ITEMS.values() if "all" in wanted or x.name in wanted]
