"""A path in tau: what becomes of the clusters from soft to hard."""

from typing import Any, Self

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust._core.validation import to_array
from lordclust.metrics import accuracy
from lordclust.plots._axes import ink, quiet, stacked_axes
from lordclust.plots._reading import path_of
from lordclust.plots.palette import BLUE, ORANGE, QUIET, cluster_colours
from lordclust.result import TauPath
from lordclust.rounding.labels import normalized_entropy


class PathDisplay:
    """Accuracy, doubt, sizes and objective along a path in tau.

    Parameters
    ----------
    path : TauPath
        From :func:`lordclust.tau_path`.
    accuracy : ndarray of shape (m,) or None
        Of the labels at each tau, if classes are known.

    Attributes
    ----------
    axes_ : list of Axes
        The panels, from the top.
    ax_, figure_
        The top panel, and the figure.

    Examples
    --------
    >>> from lordclust import tau_path
    >>> from lordclust.datasets import block_graph
    >>> from lordclust.plots import PathDisplay
    >>> S, y = block_graph([20, 20, 20], p_in=0.5, p_out=0.05)
    >>> display = PathDisplay.from_path(tau_path(S, 3, keep="all"), y)
    >>> float(display.accuracy[-1])
    1.0
    >>> len(display.axes_)
    4
    """

    def __init__(self, *, path: TauPath, accuracy: FloatArray | None = None) -> None:
        self.path = path
        self.accuracy = accuracy

    @classmethod
    def from_path(
        cls, path: TauPath, y: Any = None, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : TauPath
            From :func:`lordclust.tau_path`; with ``keep="all"`` the entropy is shown.
        y : array-like of shape (n,), optional
            Known classes, for the accuracy.
        ax : matplotlib Axes, optional
            Whose place the panels take; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : PathDisplay
        """
        path = path_of(path)
        found = None if y is None else _accuracies(path, y)
        return cls(path=path, accuracy=found).plot(ax=ax, **kwargs)

    @property
    def softness(self) -> FloatArray:
        """How far V is from orthogonal: 1 at tau = 0, 0 for a partition."""
        n, k = self.path.labels.shape[1], len(self.path.proportions)
        return np.asarray(self.path.block_diagonality * n / max(k - 1, 1))

    @property
    def entropy(self) -> FloatArray | None:
        """Mean entropy of the memberships in units of log k, if all were kept."""
        kept = self.path.memberships
        if len(kept) < len(self.path.taus):
            return None
        return np.array([normalized_entropy(P).mean() for P in kept.values()])

    @property
    def sizes(self) -> FloatArray:
        """Samples a cluster at each tau, shape (m, k)."""
        k = len(self.path.proportions)
        return np.array([np.bincount(row, minlength=k) for row in self.path.labels])

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Whose place the panels take; a new figure by default.
        **kwargs
            For ``Axes.plot``, for the curves.

        Returns
        -------
        self : PathDisplay
        """
        curves = self._curves()
        heights = [1.0] * len(curves) + [1.5]
        self.axes_ = stacked_axes(ax, heights, (5.6, 1.3 * sum(heights) + 0.6))
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        look = {"lw": 2, "marker": "o", "ms": 3, "clip_on": False}  # whole dots at ends
        for panel, (title, values, colour) in zip(self.axes_, curves, strict=False):
            panel.plot(self.path.taus, values, **look | {"color": colour} | kwargs)
            quiet(panel, title)
        self._draw_sizes(self.axes_[-1])
        for panel in self.axes_[:-1]:
            panel.tick_params(labelbottom=False)
        return self

    def _curves(self) -> list[tuple[str, FloatArray, str]]:
        """Return title, values and colour of each curve."""
        entropy = self.entropy
        doubt = (
            ("Softness", self.softness, BLUE)
            if entropy is None
            else ("Mean entropy", entropy, BLUE)
        )
        curves = [doubt, ("Objective", self.path.objectives, ink())]
        if self.accuracy is None:
            return curves
        return [("Accuracy", self.accuracy, ORANGE), *curves]

    def _draw_sizes(self, panel: Any) -> None:
        """Draw the sizes as layers, cluster 0 at the bottom."""
        k = len(self.path.proportions)
        panel.stackplot(
            self.path.taus, self.sizes.T, colors=cluster_colours(k), lw=0.5,
            edgecolor="white", step="mid",
        )  # fmt: skip
        panel.set_xlim(self.path.taus[0], self.path.taus[-1])
        panel.set_ylim(0, self.path.labels.shape[1])
        panel.set_xlabel("tau", color=QUIET)
        quiet(panel, "Samples a cluster", grid=False)


def _accuracies(path: TauPath, y: Any) -> FloatArray:
    """Return the accuracy of the labels at each tau."""
    n = path.labels.shape[1]
    classes = to_array(y, "y")
    if classes.shape != (n,):
        raise ValueError(
            f"y must hold n_samples={n} classes, got shape {classes.shape}. Pass one "
            "for each sample of the path."
        )
    return np.array([accuracy(classes, row) for row in path.labels])
