"""The probability that two samples share a cluster, samples ordered by cluster."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lordclust._core.colors import QUIET, RAMP
from lordclust._core.typing import Axes, Estimator, FloatArray, IntArray
from lordclust._core.validation import check_count
from lordclust.plots._axes import Display, bare
from lordclust.plots.fitted import labels_of, membership_of, path_of
from lordclust.result import TauPath


@dataclass(kw_only=True, eq=False, repr=False)
class BlocksDisplay(Display):
    """Z_ij = P(samples i and j share a cluster) as an image of blocks.

    Parameters
    ----------
    Z : ndarray of shape (m, m)
        Probabilities, samples in the order of ``samples``.
    samples : ndarray of int, shape (m,)
        The samples shown, ordered by cluster, the most certain of each first.
    labels : ndarray of int, shape (m,)
        Their clusters.
    n_samples : int
        Total number of samples.

    Attributes
    ----------
    ax_, figure_
        Where the display was last drawn.
    image_ : AxesImage
        The image.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> from lordclust.plots import BlocksDisplay
    >>> model = BLoRD(3, tau=0.1).fit(load_iris().data)
    >>> BlocksDisplay.from_estimator(model, max_samples=60).Z.shape
    (60, 60)
    """

    Z: FloatArray
    samples: IntArray
    labels: IntArray
    n_samples: int

    @classmethod
    def from_estimator(
        cls, model: Estimator, *, max_samples: int = 600, ax: Axes = None, **kwargs: Any
    ) -> Self:
        """Draw the blocks of a fitted model.

        Parameters
        ----------
        model : fitted clusterer
            Any method; without ``membership_`` all labels are taken as certain.
            Outliers are left out.
        max_samples : int, default=600
            Largest number of samples shown, evenly chosen in their order, so that every
            cluster keeps its share of the image.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : BlocksDisplay
        """
        labels, P = labels_of(model), membership_of(model)
        certain = P[np.arange(len(P)), labels]
        return cls._thinned(P, labels, certain, max_samples).plot(ax=ax, **kwargs)

    @classmethod
    def from_path(
        cls,
        path: TauPath,
        tau: float | None = None,
        *,
        max_samples: int = 600,
        ax: Axes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the blocks at one tau of a path.

        Samples are ordered by the end of the path, so that plots of several taus can
        be compared.

        Parameters
        ----------
        path : TauPath
            With the memberships kept: ``tau_path(S, k, keep="all")``.
        tau : float, optional
            The kept tau nearest to it is drawn; by default the last.
        max_samples, ax, **kwargs
            As in :meth:`from_estimator`.

        Returns
        -------
        display : BlocksDisplay
        """
        labels, kept = path_of(path).labels[-1], path.memberships.values()
        # At the end of a path all are equally certain: earlier taus rank them.
        certain = np.sum([P[np.arange(len(P)), labels] for P in kept], axis=0)
        P = path.membership(tau)
        return cls._thinned(P, labels, certain, max_samples).plot(ax=ax, **kwargs)

    @classmethod
    def _thinned(
        cls, P: FloatArray, labels: IntArray, certain: FloatArray, max_samples: int
    ) -> Self:
        """Return the display of at most this many samples."""
        order = np.lexsort((-certain, labels))
        order = order[labels[order] >= 0]
        n = len(order)
        count = min(check_count(max_samples, "max_samples"), n)
        few = order[np.linspace(0, n - 1, count).round().astype(int)]
        return cls(Z=P[few] @ P[few].T, samples=few, labels=labels[few], n_samples=n)

    def plot(self, ax: Axes = None, **kwargs: Any) -> Self:
        """Draw the blocks.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For ``Axes.imshow``.

        Returns
        -------
        self : BlocksDisplay
        """
        ax = self._open(ax, (4.4, 4.6))  # first, because it checks for matplotlib
        from matplotlib.colors import LinearSegmentedColormap

        ramp = LinearSegmentedColormap.from_list("probability", RAMP)
        settings = {"cmap": ramp, "vmin": 0, "vmax": 1} | kwargs
        self.image_ = ax.imshow(self.Z, interpolation="antialiased", **settings)
        bare(ax)
        found, first, sizes = np.unique(
            self.labels, return_index=True, return_counts=True
        )
        wide = sizes >= 0.035 * len(self.labels)  # numbers of thin blocks would collide
        ax.set_yticks((first + (sizes - 1) / 2)[wide], found[wide])
        ax.tick_params(length=0, colors=QUIET, labelsize=9)
        ax.set_ylabel("cluster", color=QUIET, size=10)
        shown, n = len(self.samples), self.n_samples
        samples = (
            f"{shown} of {n} samples, evenly chosen" if shown < n else f"{n} samples"
        )
        caption = f"{samples}\nwhite: never together, dark: always"
        ax.set_xlabel(caption, color=QUIET, size=9)
        return self
