"""Every table and figure by name: its cells, and what is made of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from lordclust._core.validation import unknown_name
from lordclust.reproduction import figures, tables
from lordclust.reproduction.plan import Plan
from lordclust.reproduction.results import Results
from lordclust.reproduction.store import Cell
from lordclust.reproduction.table import Table


@dataclass(frozen=True)
class Item:
    """A line of the list.

    Attributes
    ----------
    name, title : str
    cells : callable
        From a plan to the cells it takes.
    make : callable
        From results to the tables of it, or to a figure.
    """

    name: str
    title: str
    cells: Callable[[Plan], Iterable[Cell]]
    make: Callable[[Results], Any]

    @property
    def is_table(self) -> bool:
        """Whether it makes tables, not a figure."""
        return self.name.startswith("table-")

    def tables(self, results: Results) -> list[Table]:
        """Return its tables."""
        made = self.make(results)
        return made if isinstance(made, list) else [made]


def _mixtures(results: Results) -> list[Table]:
    return [tables.synthetic(results, score) for score in tables.NAMES]


# One line an item, read as a table, hence the width.
# fmt: off
# ruff: noqa: E501
_LINES = (
    Item("table-acc", "accuracy of 20 methods on 12 sets", Plan.tables, partial(tables.scores, score="acc")),
    Item("table-nmi", "normalised mutual information of the same", Plan.tables, partial(tables.scores, score="nmi")),
    Item("table-pur", "purity of the same", Plan.tables, partial(tables.scores, score="pur")),
    Item("table-f1", "pairwise F1 of the same", Plan.tables, partial(tables.scores, score="f1")),
    Item("table-r2", "R2 of objective and accuracy over the starts", Plan.r2, tables.r2),
    Item("table-tau", "the rules for tau, and the accuracies they give", Plan.tau, tables.tau),
    Item("table-mu", "equal beside true shares on uneven sets", Plan.mu, tables.mu),
    Item("table-synthetic", "four Gaussians, five imbalances; needs no data", Plan.synthetic, _mixtures),
    Item("fig-tau-blocks", "VV' as tau grows", Plan.tau_blocks, figures.tau_blocks),
    Item("fig-tau-acc", "accuracy over tau, with tau_0", Plan.tau, figures.tau_acc),
    Item("fig-learned-z", "Z of LoRD and B-LoRD", Plan.learned_z, figures.learned_z),
    Item("fig-convergence", "objective over iterations", Plan.descent, figures.convergence),
    Item("fig-synthetic", "clusters and probabilities of the Gaussians", Plan.synthetic, figures.synthetic),
    Item("fig-objective-acc", "accuracy over objective, start by start", Plan.r2, figures.objective_acc),
    Item("fig-inner-iterations", "iterations of Dykstra's and Newton's projections", Plan.descent, figures.inner_iterations),
    Item("fig-init", "Dykstra's beside Sinkhorn's starts", Plan.init, figures.init),
    Item("fig-landscape", "one path among the random starts (ours)", Plan.landscape, figures.landscape),
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
