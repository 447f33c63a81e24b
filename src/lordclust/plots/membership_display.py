"""Samples in the plane: colour shows the cluster, opacity its probability."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lordclust._core.colors import INK, QUIET, cluster_colours, cluster_marker
from lordclust._core.typing import (
    ArrayLike,
    Axes,
    Estimator,
    FloatArray,
    IntArray,
    Samples,
)
from lordclust.plots._axes import Display, bare
from lordclust.plots.fitted import labels_of, membership_of, path_of
from lordclust.plots.layout import Layout, make_layout
from lordclust.result import TauPath
from lordclust.rounding.labels import labels_from

#: Opacity of a sample that could be in any cluster: still visible.
FAINTEST = 0.12


@dataclass(kw_only=True, eq=False, repr=False)
class MembershipDisplay(Display):
    """Samples in the plane, coloured by cluster; uncertain ones are faint.

    Parameters
    ----------
    coordinates : ndarray of shape (n, 2)
        Positions of the samples.
    labels : ndarray of int, shape (n,)
        Clusters, from 0 to n_clusters-1.
    probability : ndarray of shape (n,)
        Probability of each sample's own cluster.
    n_clusters : int
        Number of clusters; some may be empty.
    axis_names : pair of str, default=("", "")
        Names of the coordinates.

    Attributes
    ----------
    ax_, figure_
        Where the display was last drawn.
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

    coordinates: FloatArray
    labels: IntArray
    probability: FloatArray
    n_clusters: int
    axis_names: tuple[str, str] = ("", "")

    @classmethod
    def from_estimator(
        cls,
        model: Estimator,
        X: Samples = None,
        *,
        coordinates: ArrayLike | None = None,
        ax: Axes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the fitted samples of a model.

        Parameters
        ----------
        model : fitted clusterer
            Any method; without ``membership_`` all labels are taken as certain.
        X : array-like or sparse of shape (n, d), optional
            The samples the model was fitted with. Two columns are the coordinates; of
            more columns the first two principal components are shown. Without X, and
            with ``affinity="precomputed"``, the layout is computed from the leading
            eigenvectors of ``affinity_matrix_``.
        coordinates : array-like of shape (n, 2), optional
            Your own layout, such as a UMAP embedding.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : MembershipDisplay
        """
        labels, P = labels_of(model), membership_of(model)
        affinity = getattr(model, "affinity", None)
        X = None if str(affinity).startswith("precomputed") else X
        S = getattr(model, "affinity_matrix_", None)
        layout = make_layout(*P.shape, X=X, S=S, coordinates=coordinates)
        if layout is None:
            raise ValueError(
                f"X is needed to lay out the samples of {type(model).__name__}, which "
                "has no graph. Pass X or coordinates."
            )
        return cls._of(P, labels, layout).plot(ax=ax, **kwargs)

    @classmethod
    def from_path(
        cls,
        path: TauPath,
        tau: float | None = None,
        *,
        X: Samples = None,
        coordinates: ArrayLike | None = None,
        ax: Axes = None,
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
            Positions of the samples, as in :meth:`from_estimator`; one is required.
        ax, **kwargs
            As in :meth:`from_estimator`.

        Returns
        -------
        display : MembershipDisplay
        """
        P = path_of(path).membership(tau)
        layout = make_layout(*P.shape, X=X, coordinates=coordinates)
        if layout is None:
            raise ValueError("A path does not hold the samples. Pass X or coordinates.")
        return cls._of(P, labels_from(P), layout).plot(ax=ax, **kwargs)

    @classmethod
    def _of(cls, P: FloatArray, labels: IntArray, layout: Layout) -> Self:
        """Return the display of memberships."""
        return cls(
            coordinates=layout.coordinates,
            labels=labels,
            probability=np.where(labels < 0, 0, P[np.arange(len(P)), labels]),
            n_clusters=P.shape[1],
            axis_names=layout.axis_names,
        )

    @property
    def opacity(self) -> FloatArray:
        """Opacity of each sample: 1 if certain, faint at the probability 1/k."""
        others = max(self.n_clusters - 1, 1)
        sure = 1 - (1 - self.probability) * self.n_clusters / others
        return np.asarray(FAINTEST + (1 - FAINTEST) * np.clip(sure, 0, 1))

    def plot(self, ax: Axes = None, *, numbers: bool = True, **kwargs: Any) -> Self:
        """Draw the samples.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        numbers : bool, default=True
            Write the number of each cluster at its centre.
        **kwargs
            For ``Axes.scatter``, such as the size ``s`` of the points.

        Returns
        -------
        self : MembershipDisplay
        """
        ax = self._open(ax, (5.2, 4.4))
        colours = cluster_colours(self.n_clusters)
        settings = {"s": np.clip(12_000 / len(self.labels), 3, 26), "lw": 0} | kwargs
        self.points_ = []
        if len(apart := self.coordinates[self.labels < 0]):  # outliers, grey crosses
            ax.scatter(*apart.T, **settings | {"marker": "x", "c": QUIET, "lw": 0.8})
        for j in np.unique(self.labels[self.labels >= 0]).tolist():
            own = self.labels == j
            x, y = self.coordinates[own].T
            look = {"c": np.tile(colours[j], (len(x), 1)), "alpha": self.opacity[own]}
            look |= {"marker": cluster_marker(j)} | settings
            self.points_.append(ax.scatter(x, y, **look))
            if numbers:
                _write_number(ax, j, self.coordinates[own])
        bare(ax)
        ax.set_xlabel(self.axis_names[0], color=QUIET, size=9)
        ax.set_ylabel(self.axis_names[1], color=QUIET, size=9)
        return self


def _write_number(ax: Axes, j: int, places: FloatArray) -> None:
    """Write the number of a cluster on its central sample, readable on any colour."""
    from matplotlib.patheffects import withStroke

    away = np.abs(places - np.median(places, axis=0)).sum(axis=1)
    x, y = places[away.argmin()]
    halo = [withStroke(linewidth=2.5, foreground="white")]
    ax.text(
        x, y, str(j), ha="center", va="center", size=10, weight="bold", color=INK,
        path_effects=halo,
    )  # fmt: skip
