"""Panels on a sheet, one for each data set."""

from collections.abc import Sequence
from typing import Any

from lordclust._core.validation import missing_extra
from lordclust.datasets import CATALOG


def sheet(
    n_panels: int, columns: int, *, size: tuple[float, float] = (2.6, 2.1)
) -> tuple[Any, list[Any]]:
    """Return a figure and its panels, row by row; places left over stay empty."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("matplotlib", "plot") from error
    columns = max(1, min(columns, n_panels))
    rows = max(1, -(-n_panels // columns))
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for panel in panels[n_panels:]:
        panel.axis("off")
    return figure, panels[:n_panels]


def titles(names: Sequence[str]) -> list[str]:
    """Return short titles of data sets, with the paper's codes.

    Examples
    --------
    >>> titles(["wine"])
    ['D10 wine']
    """
    return [f"{CATALOG[name].code} {name}" for name in names]


def legend(figure: Any, panel: Any, columns: int = 4) -> None:
    """Put the legend of one panel below all of them."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=columns, frameon=False,
        fontsize=9,
    )  # fmt: skip
