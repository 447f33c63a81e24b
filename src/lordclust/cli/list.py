"""``lordclust list``: the methods and the data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lordclust.cli.tables import Row


@click.command("list")
@click.argument(
    "what",
    metavar="[methods|datasets]",
    type=click.Choice(["methods", "datasets"]),
    default="methods",
)
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def list_(what: str, json_: bool) -> None:
    """List the methods (the default) or the data sets.

    A table at a terminal, csv otherwise.
    """
    from lordclust.cli.tables import print_json, print_rows

    rows = _methods() if what == "methods" else _datasets()
    if json_:
        print_json(rows)
    else:
        print_rows(rows)


def _methods() -> list[Row]:
    """Return a row for each method."""
    from lordclust.registry import METHODS

    shown = ("name", "title", "takes", "source")
    return [
        {name: getattr(line, name) for name in shown} | {"algorithm": line.status}
        for line in METHODS.values()
    ]


def _datasets() -> list[Row]:
    """Return a row for each data set."""
    from lordclust.datasets.catalog import CATALOG

    return [
        {
            "name": entry.name,
            "title": entry.title,
            "samples": entry.n,
            "features": entry.d,
            "classes": entry.k,
            "from": entry.sources[0],
        }
        for entry in CATALOG.values()
    ]
