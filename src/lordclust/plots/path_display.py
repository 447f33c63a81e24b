"""A path in tau: the clusters from soft to hard."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lordclust import metrics
from lordclust._core.colors import BLUE, ORANGE, QUIET, cluster_colours
from lordclust._core.typing import ArrayLike, Axes, FloatArray, IntArray
from lordclust._core.validation import to_array
from lordclust.plots._axes import Display, ink, quiet, stacked_axes
from lordclust.plots.fitted import path_of
from lordclust.result import TauPath
from lordclust.rounding.labels import normalized_entropy


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay(Display):
    """Accuracy, uncertainty, sizes and objective along a path in tau.

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

    path: TauPath
    accuracy: FloatArray | None = None

    @classmethod
    def from_path(
        cls,
        path: TauPath,
        y: ArrayLike | None = None,
        *,
        ax: Axes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : TauPath
            From :func:`lordclust.tau_path`; with ``keep="all"`` the entropy is shown.
        y : array-like of shape (n,), optional
            Known classes, for the accuracy.
        ax : matplotlib Axes, optional
            The panels replace it; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : PathDisplay
        """
        path = path_of(path)
        if y is None:
            return cls(path=path).plot(ax=ax, **kwargs)
        n, classes = path.labels.shape[1], to_array(y, "y")
        if classes.shape != (n,):
            raise ValueError(
                f"y must hold n_samples={n} classes, got shape {classes.shape}. Pass "
                "one for each sample of the path."
            )
        found = np.array([metrics.accuracy(classes, row) for row in path.labels])
        return cls(path=path, accuracy=found).plot(ax=ax, **kwargs)

    @property
    def softness(self) -> FloatArray:
        """How far V is from orthogonal: 1 at tau = 0, 0 for a partition."""
        return self.path.softness

    @property
    def entropy(self) -> FloatArray | None:
        """Mean entropy of the memberships in units of log k, if all were kept."""
        kept = self.path.memberships
        if len(kept) < len(self.path.taus):
            return None
        return np.array([normalized_entropy(P).mean() for P in kept.values()])

    @property
    def sizes(self) -> IntArray:
        """Samples per cluster at each tau, shape (m, k)."""
        return self.path.sizes

    def plot(self, ax: Axes = None, **kwargs: Any) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The panels replace it; a new figure by default.
        **kwargs
            For ``Axes.plot``, for the curves.

        Returns
        -------
        self : PathDisplay
        """
        entropy = self.entropy
        curves = [
            ("Softness", self.softness, BLUE)
            if entropy is None
            else ("Mean entropy", entropy, BLUE),
            ("Objective", self.path.objectives, ink()),
        ]
        if self.accuracy is not None:
            curves.insert(0, ("Accuracy", self.accuracy, ORANGE))
        heights = [1.0] * len(curves) + [1.5]
        self.axes_ = stacked_axes(ax, heights, (5.6, 1.3 * sum(heights) + 0.6))
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        look = {"lw": 2, "marker": "o", "ms": 3, "clip_on": False}  # full dots at ends
        for panel, (title, values, colour) in zip(self.axes_, curves, strict=False):
            panel.plot(self.path.taus, values, **look | {"color": colour} | kwargs)
            panel.tick_params(labelbottom=False)
            quiet(panel, title)
        self._draw_sizes(self.axes_[-1])
        return self

    def _draw_sizes(self, panel: Axes) -> None:
        """Draw the sizes as layers, cluster 0 at the bottom."""
        taus, sizes = self.path.taus, self.sizes
        panel.stackplot(
            taus, sizes.T, colors=cluster_colours(sizes.shape[1]), lw=0.5,
            edgecolor="white", step="mid",
        )  # fmt: skip
        panel.set_xlim(taus[0], taus[-1])
        panel.set_ylim(0, self.path.labels.shape[1])
        panel.set_xlabel("tau", color=QUIET)
        quiet(panel, "Samples per cluster", grid=False)
