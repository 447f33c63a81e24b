"""The demo's tables on the terminal."""

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from lordclust.cli.demo_run import Demo, K, path_rows

#: Lines of the table of the path.
LINES = 8


def print_tables(demo: Demo) -> None:
    """Print the comparison and the path."""
    console = Console(highlight=False)
    n = len(demo.data.y)
    console.print(
        f"\n{n} handwritten digits, {K} clusters, one graph of nearest neighbours "
        f"({demo.data.graph_seconds:.2f} s)."
    )
    console.print(_comparison(demo))
    console.print(
        "ACC, NMI, purity: 1 is best. B-LoRD and LoRD were asked for ten equal\n"
        f"clusters (n/k = {n / K:.1f}). KMeans sees the pixels, the others the graph.\n"
    )
    taus = len(demo.path.taus)
    console.print(
        f"B-LoRD from soft to hard: {taus} values of tau in {demo.path_seconds:.2f} s."
    )
    console.print(_path(demo))
    console.print("Certainty is the mean of each sample's largest probability.\n")


def _table(*numbers: str, first: str) -> Table:
    """Return an empty table: a column of names, then columns of numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _comparison(demo: Demo) -> Table:
    """Return one line a method."""
    table = _table(
        "Seconds", "ACC", "NMI", "Purity", "Smallest", "Largest", first="Method"
    )
    for s in demo.scores:
        quality = [f"{x:.3f}" for x in (s.accuracy, s.nmi, s.purity)]
        sizes = [str(s.smallest), str(s.largest)]
        ours = "bold" if "LoRD" in s.method else None
        table.add_row(s.method, f"{s.seconds:.2f}", *quality, *sizes, style=ours)
    return table


def _path(demo: Demo) -> Table:
    """Return a few lines of the path."""
    table = _table(
        "ACC", "NMI", "Certainty", "Smallest", "Largest", "Iterations", first="tau"
    )
    rows = path_rows(demo)
    for i in np.unique(np.linspace(0, len(rows) - 1, LINES).round().astype(int)):
        row = rows[i]
        names = ("accuracy", "nmi", "certainty")
        sizes = ("smallest", "largest", "iterations")
        table.add_row(
            f"{row['tau']:.2f}",
            *(f"{row[name]:.3f}" for name in names),
            *(str(row[name]) for name in sizes),
        )
    return table
