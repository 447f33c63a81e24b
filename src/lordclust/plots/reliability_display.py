"""How often samples of a given certainty are right."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lordclust._core.colors import QUIET, cluster_colours
from lordclust._core.typing import Axes, Estimator, Graph
from lordclust.metrics import Labels, Reliability, reliability
from lordclust.plots._axes import Display, quiet
from lordclust.plots.fitted import membership_of

#: Areas of the markers of the smallest and the largest bins, in square points.
SMALLEST, LARGEST = 15.0, 300.0


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Accuracy of samples of similar certainty: on the diagonal if it is deserved.

    Markers are as large as the number of samples in their bin. Below the diagonal the
    model is too certain, above it not certain enough.

    Parameters
    ----------
    found : Reliability
        Certainty, accuracy and weight of each bin.
    name : str, default=""
        Name of the method.

    Attributes
    ----------
    ax_, figure_
        Where the display was last drawn.
    line_ : Line2D
        The curve through the bins that contain samples.
    points_ : PathCollection
        One marker for each of them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> from lordclust.plots import ReliabilityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ReliabilityDisplay.from_estimator(BLoRD(3, tau=0.2).fit(X), y)
    >>> len(display.found.accuracy)
    10
    """

    found: Reliability
    name: str = ""

    @classmethod
    def from_estimator(
        cls,
        model: Estimator,
        y: Labels,
        *,
        bins: int = 10,
        ax: Axes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the reliability of a fitted model.

        Parameters
        ----------
        model : fitted clusterer
            Without probabilities, every sample counts as certain.
        y : sequence of hashable, shape (n,)
            Classes of the samples.
        bins : int, default=10
            Number of bins.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. Draw several models on the same
            axes to compare them.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : ReliabilityDisplay
        """
        found = reliability(y, membership_of(model), bins=bins)
        return cls(found=found, name=type(model).__name__).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y: Labels,
        P: Graph,
        *,
        bins: int = 10,
        name: str = "",
        ax: Axes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the reliability of probabilities.

        Parameters
        ----------
        y : sequence of hashable, shape (n,)
            Classes of the samples.
        P : array-like or sparse of shape (n, k)
            Probabilities of the clusters; rows sum to 1.
        name : str, default=""
            Label of the curve.
        bins, ax, **kwargs
            As in :meth:`from_estimator`.

        Returns
        -------
        display : ReliabilityDisplay
        """
        found = reliability(y, P, bins=bins)
        return cls(found=found, name=name).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For ``Axes.plot``, such as ``label`` and ``color``.

        Returns
        -------
        self : ReliabilityDisplay
        """
        ax = self._open(ax, (4.4, 4.4))
        if not ax.lines:
            ax.plot([0, 1], [0, 1], color=QUIET, lw=1, ls="--", zorder=1)
        before = len(ax.lines) - 1  # curves of other models
        error = f"error {self.found.error:.3f}"
        label = f"{self.name}, {error}" if self.name else error
        colour = cluster_colours(before + 1)[before]
        settings = {"color": colour, "lw": 2, "label": label} | kwargs
        some = self.found.weight > 0
        x, y = self.found.certainty[some], self.found.accuracy[some]
        (self.line_,) = ax.plot(x, y, **settings)
        area = SMALLEST + (LARGEST - SMALLEST) * self.found.weight[some]
        self.points_ = ax.scatter(x, y, s=area, color=self.line_.get_color(), zorder=3)
        ax.set(xlim=(-0.03, 1.05), ylim=(-0.03, 1.05), aspect="equal")
        ax.set_xlabel("largest membership")
        ax.set_ylabel("share of samples that are right")
        ax.set_xticks(np.linspace(0, 1, 6))
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.legend(
            frameon=False, fontsize=9, labelcolor=QUIET,
            loc="upper left", bbox_to_anchor=(-0.03, -0.13),
        )  # fmt: skip
        quiet(ax, "Reliability")
        return self
