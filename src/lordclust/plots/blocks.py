"""The probability that two samples belong together, ordered by cluster."""

from typing import Any, Self

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.validation import check_count
from lordclust.plots._axes import bare, one_axes
from lordclust.plots._reading import labels_of, membership_of, path_of
from lordclust.plots.palette import QUIET
from lordclust.result import TauPath

FADE = ("#FFFFFF", "#9CC9E5", "#0072B2", "#00243D")


class BlocksDisplay:
    """Z_ij = P(samples i and j share a cluster) as a picture of blocks.

    Parameters
    ----------
    Z : ndarray of shape (m, m)
        Probabilities, samples in the order of ``samples``.
    samples : ndarray of int, shape (m,)
        The samples shown, ordered by cluster, the surest of each first.
    labels : ndarray of int, shape (m,)
        Their clusters.
    n_samples : int
        How many there are in all.

    Attributes
    ----------
    ax_, figure_
        Where it was last drawn.
    image_ : AxesImage
        The picture.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> from lordclust.plots import BlocksDisplay
    >>> model = BLoRD(3, tau=0.1).fit(load_iris().data)
    >>> BlocksDisplay.from_estimator(model, max_samples=60).Z.shape
    (60, 60)
    """

    def __init__(
        self, *, Z: FloatArray, samples: IntArray, labels: IntArray, n_samples: int
    ) -> None:
        self.Z = Z
        self.samples = samples
        self.labels = labels
        self.n_samples = n_samples

    @classmethod
    def from_estimator(
        cls, model: Any, *, max_samples: int = 600, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the blocks of a fitted model.

        Parameters
        ----------
        model : fitted clusterer
            ``BLoRD``, ``LoRD`` or another; one without ``membership_`` is sure of all.
        max_samples : int, default=600
            Of more samples so many are shown, evenly chosen in their order, so that
            every cluster keeps its share of the picture.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : BlocksDisplay
        """
        labels, P = labels_of(model), membership_of(model)
        order = np.lexsort((-P[np.arange(len(P)), labels], labels))
        return cls._thinned(P, labels, order, max_samples).plot(ax=ax, **kwargs)

    @classmethod
    def from_path(
        cls,
        path: TauPath,
        tau: float | None = None,
        *,
        max_samples: int = 600,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the blocks at one tau of a path.

        Samples are ordered by the end of the path, so that pictures of several taus
        can be laid side by side.

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
        # The end of a path is sure of all alike: the taus before tell them apart.
        sure = sum(P[np.arange(len(P)), labels] for P in kept)
        order = np.lexsort((-np.asarray(sure), labels))
        shown = cls._thinned(path.membership(tau), labels, order, max_samples)
        return shown.plot(ax=ax, **kwargs)

    @classmethod
    def _thinned(
        cls, P: FloatArray, labels: IntArray, order: IntArray, max_samples: int
    ) -> Self:
        """Return the display of at most so many samples."""
        n = len(P)
        count = min(check_count(max_samples, "max_samples"), n)
        few = order[np.linspace(0, n - 1, count).round().astype(int)]
        return cls(Z=P[few] @ P[few].T, samples=few, labels=labels[few], n_samples=n)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
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
        self.ax_ = one_axes(ax, (4.4, 4.6))
        self.figure_ = self.ax_.figure
        settings = {"cmap": _fade(), "vmin": 0, "vmax": 1} | kwargs
        self.image_ = self.ax_.imshow(self.Z, interpolation="antialiased", **settings)
        bare(self.ax_)
        found, first, sizes = np.unique(
            self.labels, return_index=True, return_counts=True
        )
        wide = sizes >= 0.035 * len(self.labels)  # numbers of thin blocks would collide
        self.ax_.set_yticks((first + (sizes - 1) / 2)[wide], found[wide])
        self.ax_.tick_params(length=0, colors=QUIET, labelsize=9)
        self.ax_.set_ylabel("cluster", color=QUIET, size=10)
        self.ax_.set_xlabel(self._caption(), color=QUIET, size=9)
        return self

    def _caption(self) -> str:
        """Say how many samples are shown, and what the shades are."""
        shown = len(self.samples)
        few = f" of {self.n_samples}" if shown < self.n_samples else ""
        chosen = ", evenly chosen" if few else ""
        shades = "white: never together, dark: surely"
        return f"{shown}{few} samples{chosen}\n{shades}"


def _fade() -> Any:
    """Return colours from white over blue to nearly black."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("fade", FADE)
