"""How many samples each cluster has, beside how many were asked for."""

from typing import Any, Self

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.plots._axes import ink, one_axes, quiet
from lordclust.plots._reading import counts_alike, labels_of, membership_of, path_of
from lordclust.plots.palette import QUIET, cluster_colours
from lordclust.result import TauPath


class SizesDisplay:
    """Samples a cluster, with marks at the sizes asked for.

    Parameters
    ----------
    sizes : ndarray of int, shape (k,)
        How many samples have each label.
    asked : ndarray of shape (k,) or None
        The proportions times the number of samples.

    Attributes
    ----------
    ax_, figure_
        Where it was last drawn.
    bars_ : BarContainer
        One a cluster.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> from lordclust.plots import SizesDisplay
    >>> model = BLoRD(3, proportions=[0.2, 0.3, 0.5]).fit(load_iris().data)
    >>> SizesDisplay.from_estimator(model).asked
    array([30., 45., 75.])
    """

    def __init__(self, *, sizes: IntArray, asked: FloatArray | None = None) -> None:
        self.sizes = sizes
        self.asked = asked

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the sizes of a fitted model.

        Parameters
        ----------
        model : fitted clusterer
            Marks show its ``proportions_``, if it has them. With sample weights they
            are shares of weight, not of samples, and are left out.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : SizesDisplay
        """
        labels = labels_of(model)
        shares = getattr(model, "proportions_", None) if counts_alike(model) else None
        asked = None if shares is None else np.asarray(shares) * len(labels)
        k = membership_of(model).shape[1]
        sizes = np.bincount(labels, minlength=k)
        return cls(sizes=sizes, asked=asked).plot(ax=ax, **kwargs)

    @classmethod
    def from_path(
        cls, path: TauPath, tau: float | None = None, *, ax: Any = None, **kwargs: Any
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
        labels = path_of(path).labels[-1 if tau is None else path.at(tau)]
        sizes = np.bincount(labels, minlength=len(path.proportions))
        asked = path.proportions * len(labels)
        return cls(sizes=sizes, asked=asked).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
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
        self.ax_ = one_axes(ax, (min(3.2 + 0.28 * k, 9), 3.0))
        self.figure_ = self.ax_.figure
        settings = {"width": 0.72, "color": cluster_colours(k)} | kwargs
        self.bars_ = self.ax_.bar(range(k), self.sizes, **settings)
        if k <= 12:
            self._write_sizes()
        if self.asked is not None:
            self._mark_asked(self.asked)
        every = -(-k // 20)  # no more ticks than can be read
        self.ax_.set_xticks(range(0, k, every))
        lines = "" if self.asked is None else "; lines: asked for"
        self.ax_.set_xlabel(f"cluster{lines}")
        self.ax_.margins(y=0.12)
        quiet(self.ax_, "Samples a cluster")
        return self

    def _write_sizes(self) -> None:
        """Write each size above its bar, and above the mark."""
        tops = self.sizes if self.asked is None else np.maximum(self.sizes, self.asked)
        for j, (size, top) in enumerate(zip(self.sizes, tops, strict=True)):
            self.ax_.annotate(
                f"{size}", (j, top), xytext=(0, 3), textcoords="offset points",
                ha="center", va="bottom", color=QUIET, size=8.5,
            )  # fmt: skip

    def _mark_asked(self, asked: FloatArray) -> None:
        """Draw a line across each bar at the size asked for."""
        j = np.arange(len(asked))
        self.ax_.hlines(asked, j - 0.45, j + 0.45, color=ink(), lw=2)
