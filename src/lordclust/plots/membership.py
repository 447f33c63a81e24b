"""Samples in the plane: colour says which cluster, opacity how probable it is."""

from typing import Any, Self

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.plots._axes import bare, one_axes
from lordclust.plots._layout import given_plane, plane, spectral_plane
from lordclust.plots._reading import labels_of, membership_of, path_of
from lordclust.plots.palette import INK, QUIET, cluster_colours, cluster_mark
from lordclust.result import TauPath
from lordclust.rounding.labels import labels_from

#: Opacity of a sample that could be in any cluster: still to be seen.
FAINTEST = 0.12


class MembershipDisplay:
    """Samples in the plane, coloured by cluster, the doubtful ones faint.

    Parameters
    ----------
    coordinates : ndarray of shape (n, 2)
        Where the samples lie.
    labels : ndarray of int, shape (n,)
        Their clusters, from 0 to n_clusters-1.
    probability : ndarray of shape (n,)
        Probability of each sample's own cluster.
    n_clusters : int
        Number of clusters; some may be empty.
    axis_names : pair of str, default=("", "")
        What the coordinates are.

    Attributes
    ----------
    ax_, figure_
        Where it was last drawn.
    points_ : list of PathCollection
        The points of each cluster that has samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> from lordclust.plots import MembershipDisplay
    >>> X = load_iris().data
    >>> display = MembershipDisplay.from_estimator(BLoRD(3, tau=0.1).fit(X), X)
    >>> display.coordinates.shape
    (150, 2)
    """

    def __init__(
        self,
        *,
        coordinates: FloatArray,
        labels: IntArray,
        probability: FloatArray,
        n_clusters: int,
        axis_names: tuple[str, str] = ("", ""),
    ) -> None:
        self.coordinates = coordinates
        self.labels = labels
        self.probability = probability
        self.n_clusters = n_clusters
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        *,
        coordinates: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the fitted samples of a model.

        Parameters
        ----------
        model : fitted clusterer
            ``BLoRD``, ``LoRD`` or another; one without ``membership_`` is sure of all.
        X : array-like or sparse of shape (n, d), optional
            The samples the model was fitted with: two columns are the coordinates, of
            more the first two principal components. Without it, and with
            ``affinity="precomputed"``, samples are laid out by the leading
            eigenvectors of ``affinity_matrix_``.
        coordinates : array-like of shape (n, 2), optional
            Your own layout, such as UMAP's.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : MembershipDisplay
        """
        labels, P = labels_of(model), membership_of(model)
        places, names = _places(model, X, coordinates, P)
        return cls._of(P, labels, places, names).plot(ax=ax, **kwargs)

    @classmethod
    def from_path(
        cls,
        path: TauPath,
        tau: float | None = None,
        *,
        X: Any = None,
        coordinates: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the samples at one tau of a path.

        Parameters
        ----------
        path : TauPath
            With the memberships kept: ``tau_path(S, k, keep="all")``.
        tau : float, optional
            The kept tau nearest to it is drawn; by default the last.
        X, coordinates
            Where the samples lie, as in :meth:`from_estimator`; one is needed.
        ax, **kwargs
            As in :meth:`from_estimator`.

        Returns
        -------
        display : MembershipDisplay
        """
        P = path_of(path).membership(tau)
        if X is None and coordinates is None:
            raise ValueError(
                "A path does not say where its samples lie. Pass X or coordinates."
            )
        places, names = _places(None, X, coordinates, P)
        return cls._of(P, labels_from(P), places, names).plot(ax=ax, **kwargs)

    @classmethod
    def _of(
        cls, P: FloatArray, labels: IntArray, places: FloatArray, names: tuple[str, str]
    ) -> Self:
        """Return the display of memberships."""
        return cls(
            coordinates=places,
            labels=labels,
            probability=P[np.arange(len(P)), labels],
            n_clusters=P.shape[1],
            axis_names=names,
        )

    @property
    def opacity(self) -> FloatArray:
        """Opacity of each sample: 1 if sure, faint at the probability 1/k."""
        others = max(self.n_clusters - 1, 1)
        sure = 1 - (1 - self.probability) * self.n_clusters / others
        return np.asarray(FAINTEST + (1 - FAINTEST) * np.clip(sure, 0, 1))

    def plot(self, ax: Any = None, *, numbers: bool = True, **kwargs: Any) -> Self:
        """Draw the samples.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        numbers : bool, default=True
            Write the number of each cluster in its middle.
        **kwargs
            For ``Axes.scatter``, such as the size ``s`` of the points.

        Returns
        -------
        self : MembershipDisplay
        """
        self.ax_ = one_axes(ax, (5.2, 4.4))
        self.figure_ = self.ax_.figure
        colours = cluster_colours(self.n_clusters)
        settings = {"s": np.clip(12_000 / len(self.labels), 3, 26), "lw": 0} | kwargs
        self.points_ = []
        for j in np.unique(self.labels).tolist():
            own = self.labels == j
            x, y = self.coordinates[own].T
            look = {"c": np.tile(colours[j], (len(x), 1)), "alpha": self.opacity[own]}
            look |= {"marker": cluster_mark(j)} | settings
            self.points_.append(self.ax_.scatter(x, y, **look))
            if numbers:
                _write_number(self.ax_, j, self.coordinates[own])
        self.ax_.set(xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        bare(self.ax_)
        for label in (self.ax_.xaxis.label, self.ax_.yaxis.label):
            label.set(color=QUIET, size=9)
        return self


def _places(
    model: Any, X: Any, coordinates: Any, P: FloatArray
) -> tuple[FloatArray, tuple[str, str]]:
    """Return the coordinates asked for, and what they are called."""
    n, k = P.shape
    if coordinates is not None:
        return given_plane(coordinates, n), ("", "")
    precomputed = getattr(model, "affinity", None) == "precomputed"
    if X is not None and not precomputed:
        return plane(X, n)
    if not hasattr(model, "affinity_matrix_"):
        raise ValueError(
            f"X is needed to lay out the samples of {type(model).__name__}, which has "
            "no graph. Pass X or coordinates."
        )
    return spectral_plane(model.affinity_matrix_, k), ("spectral layout", "")


def _write_number(ax: Any, j: int, places: FloatArray) -> None:
    """Write the number of a cluster on its middle sample, readable on any colour."""
    from matplotlib.patheffects import withStroke

    away = np.abs(places - np.median(places, axis=0)).sum(axis=1)
    x, y = places[away.argmin()]
    halo = [withStroke(linewidth=2.5, foreground="white")]
    ax.text(
        x, y, str(j), ha="center", va="center", size=10, weight="bold", color=INK,
        path_effects=halo,
    )  # fmt: skip
