"""Axes of the displays, and the style that all of them share."""

from typing import Any

from lordclust._core.colors import QUIET
from lordclust._core.typing import Axes
from lordclust._core.validation import missing_extra


class Display:
    """Base class of the displays, with the axes of the last plot."""

    def _open(self, ax: Axes, size: tuple[float, float]) -> Axes:
        """Return the given axes, or those of a new figure, and store them."""
        pyplot = _pyplot()
        if ax is None:
            ax = pyplot.subplots(figsize=size, layout="constrained")[1]
        self.ax_ = _checked(ax)
        self.figure_ = self.ax_.figure
        return self.ax_


def stacked_axes(
    ax: Axes, heights: list[float], size: tuple[float, float]
) -> list[Axes]:
    """Return panels one above the other, in place of ax or in a new figure."""
    pyplot = _pyplot()
    if ax is None:
        _, panels = pyplot.subplots(
            len(heights), 1, sharex=True, figsize=size, height_ratios=heights,
            layout="constrained", squeeze=False,
        )  # fmt: skip
        return list(panels[:, 0])
    _checked(ax).axis("off")
    gap = 0.5 * sum(heights) / len(heights)  # space for the titles
    unit = 1 / (sum(heights) + gap * (len(heights) - 1))
    panels, top = [], 1.0
    for height in heights:
        place = [0, top - height * unit, 1, height * unit]
        panels.append(ax.inset_axes(place, sharex=panels[0] if panels else None))
        top -= (height + gap) * unit
    return panels


def quiet(ax: Axes, title: str = "", *, grid: bool = True) -> None:
    """Set the title of axes, and make them less prominent than the data."""
    if title:
        ax.set_title(title, loc="left", size=11, weight="bold")
    ax.tick_params(which="both", colors=QUIET, labelsize=9)
    ax.xaxis.label.set(color=QUIET, size=10)
    ax.yaxis.label.set(color=QUIET, size=10)
    if grid:
        ax.grid(axis="y", color=QUIET, alpha=0.2, lw=0.8)  # on white and on black
        ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color("#BBBBBB")


def ink() -> str:
    """Return the text colour of the current style: dark on white, light on black."""
    colour: str = _pyplot().rcParams["text.color"]
    return colour


def bare(ax: Axes) -> None:
    """Remove the ticks of axes, and draw a thin frame."""
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color="#CCCCCC", lw=0.8)


def _pyplot() -> Any:
    """Return pyplot, or raise an error that explains how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise missing_extra("matplotlib", "plot") from error
    return pyplot


def _checked(ax: Axes) -> Axes:
    """Return ax; raise an error for anything else, such as an array of axes."""
    from matplotlib import axes

    if not isinstance(ax, axes.Axes):
        raise TypeError(
            f"ax must be a matplotlib Axes, got {type(ax).__name__}. Pass one of those "
            "that plt.subplots() returns, or leave it out for a new figure."
        )
    return ax
