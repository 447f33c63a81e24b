"""Sizes of the clusters, and the sizes requested."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lordclust._core.colors import QUIET, cluster_colours
from lordclust._core.typing import Axes, Estimator, FloatArray, IntArray
from lordclust.plots._axes import Display, ink, quiet
from lordclust.plots.fitted import labels_of, membership_of, path_of, shares_of
from lordclust.result import TauPath


@dataclass(kw_only=True, eq=False, repr=False)
class SizesDisplay(Display):
    """Samples per cluster, with lines at the sizes requested.

    Parameters
    ----------
    sizes : ndarray of int, shape (k,)
        Number of samples with each label.
    asked : ndarray of shape (k,) or None
        The proportions times the number of samples.

    Attributes
    ----------
    ax_, figure_
        Where the display was last drawn.
    bars_ : BarContainer
        One bar per cluster.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> from lordclust.plots import SizesDisplay
    >>> model = BLoRD(3, proportions=[0.2, 0.3, 0.5]).fit(load_iris().data)
    >>> SizesDisplay.from_estimator(model).asked
    array([30., 45., 75.])
    """

    sizes: IntArray
    asked: FloatArray | None = None

    @classmethod
    def from_estimator(
        cls, model: Estimator, *, ax: Axes = None, **kwargs: Any
    ) -> Self:
        """Draw the sizes of a fitted model.

        Parameters
        ----------
        model : fitted clusterer
            Lines show its ``proportions_``, if it has them. With sample weights these
            are shares of weight, not of samples, and are left out. Outliers are not
            counted.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : SizesDisplay
        """
        labels, shares = labels_of(model), shares_of(model)
        labels = labels[labels >= 0]
        asked = None if shares is None else shares * len(labels)
        sizes = np.bincount(labels, minlength=membership_of(model).shape[1])
        return cls(sizes=sizes, asked=asked).plot(ax=ax, **kwargs)

    @classmethod
    def from_path(
        cls, path: TauPath, tau: float | None = None, *, ax: Axes = None, **kwargs: Any
    ) -> Self:
        """Draw the sizes at one tau of a path.

        Parameters
        ----------
        path : TauPath
            From :func:`lordclust.tau_path`.
        tau : float, optional
            The tau of the path nearest to it is drawn; by default the last.
        ax, **kwargs
            As in :meth:`from_estimator`.

        Returns
        -------
        display : SizesDisplay
        """
        sizes = path_of(path).sizes[-1 if tau is None else path.at(tau)]
        asked = path.proportions * sizes.sum()
        return cls(sizes=sizes, asked=asked).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes = None, **kwargs: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For ``Axes.bar``.

        Returns
        -------
        self : SizesDisplay
        """
        k = len(self.sizes)
        ax = self._open(ax, (min(3.2 + 0.28 * k, 9), 3.0))
        settings = {"width": 0.72, "color": cluster_colours(k)} | kwargs
        self.bars_ = ax.bar(range(k), self.sizes, **settings)
        tops, note = self.sizes, ""
        if self.asked is not None:
            left = np.arange(k) - 0.45
            ax.hlines(self.asked, left, left + 0.9, color=ink(), lw=2)
            tops, note = np.maximum(tops, self.asked), "; lines: requested size"
        for j, size in enumerate(self.sizes if k <= 12 else []):
            ax.annotate(
                f"{size}", (j, tops[j]), xytext=(0, 3), textcoords="offset points",
                ha="center", va="bottom", color=QUIET, size=8.5,
            )  # fmt: skip
        ax.set_xticks(range(0, k, -(-k // 20)))  # no more ticks than can be read
        ax.set_xlabel(f"cluster{note}")
        ax.margins(y=0.12)
        quiet(ax, "Samples per cluster")
        return self
