"""Panels on a sheet, one per data set."""

from typing import TYPE_CHECKING, TypeAlias

from lordclust._core.validation import missing_extra
from lordclust.datasets import CATALOG

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Panel: TypeAlias = "Axes"
Sheet: TypeAlias = "Figure"


def sheet(
    n_panels: int, columns: int, *, size: tuple[float, float] = (2.6, 2.1)
) -> tuple[Sheet, list[Panel]]:
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


def title(data: str) -> str:
    """Return the short title of a data set, with the paper's code.

    Examples
    --------
    >>> title("wine")
    'D10 wine'
    """
    return f"{CATALOG[data].code} {data}"


def legend(figure: Sheet, panel: Panel) -> None:
    """Put the legend of one panel below all of them."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
