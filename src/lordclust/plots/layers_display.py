"""Nested clusterings as rows of blocks, from one cluster to many."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lordclust._core.colors import nested_colours
from lordclust._core.typing import Axes
from lordclust.methods.layers import Layers
from lordclust.plots._axes import Display, ink, quiet

#: Mean of red, green and blue from which on the number of a block is black.
LIGHT = 0.62


@dataclass(kw_only=True, eq=False, repr=False)
class LayersDisplay(Display):
    """One row per level, one block per cluster; parts lie below their cluster.

    Parts have the hue of the cluster at the recommended level that they belong to.

    Parameters
    ----------
    layers : Layers
        From :func:`lordclust.layers`.

    Attributes
    ----------
    ax_, figure_
        Where the display was last drawn.
    blocks_ : list of BarContainer
        The blocks of each level, in the order of the numbers of the clusters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import layers
    >>> from lordclust.plots import LayersDisplay
    >>> display = LayersDisplay.from_layers(layers(load_iris().data, 5))
    >>> len(display.blocks_)
    5
    """

    layers: Layers

    @classmethod
    def from_layers(cls, layers: Layers, *, ax: Axes = None, **kwargs: Any) -> Self:
        """Draw nested clusterings.

        Parameters
        ----------
        layers : Layers
            From :func:`lordclust.layers`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : LayersDisplay
        """
        return cls(layers=layers).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes = None, **kwargs: Any) -> Self:
        """Draw the blocks; the recommended level has a frame.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For ``Axes.barh``.

        Returns
        -------
        self : LayersDisplay
        """
        found = self.layers
        levels = len(found.labels)
        ax = self._open(ax, (7.0, 1.2 + 0.34 * levels))
        colours, _ = nested_colours(found.parents, found.best_k)
        order = np.lexsort(found.labels[::-1])  # parts side by side, outliers first
        order = order[found.labels[0][order] >= 0]
        self.blocks_ = []
        for k in range(1, levels + 1):
            labels = found.at(k)[order]
            left = [int((labels == j).argmax()) for j in range(k)]
            look = {"color": colours[:k], "edgecolor": "white", "lw": 1.5} | kwargs
            bars = ax.barh([k] * k, found.sizes(k), 0.82, left, **look)
            self.blocks_.append(bars)
            wide = [f"{j}" if s > 0.03 * len(order) else ""
                    for j, s in enumerate(found.sizes(k))]  # fmt: skip
            for text, colour in zip(
                ax.bar_label(bars, wide, label_type="center", size=8.5),
                colours,
                strict=False,
            ):
                text.set_color("white" if colour.mean() < LIGHT else "black")
        frame = ax.barh(found.best_k, len(order), 0.98, facecolor="none", lw=2)
        frame[0].set_edgecolor(ink())
        ax.invert_yaxis()
        ax.set_yticks(range(1, levels + 1))
        ax.set_ylabel("clusters")
        ax.set_xlabel("samples")
        quiet(ax, f"Recommended: {found.best_k} clusters", grid=False)
        return self
