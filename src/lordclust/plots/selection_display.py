"""The evidence of the candidates of an automatic choice."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lordclust._core.colors import BLUE, ORANGE, PALE, QUIET
from lordclust._core.typing import Axes, Estimator, FloatArray
from lordclust.plots._axes import Display, quiet
from lordclust.plots.fitted import labels_of
from lordclust.result import Selection


@dataclass(kw_only=True, eq=False, repr=False)
class SelectionDisplay(Display):
    """Evidence of every candidate over its tau, the selected one marked.

    Parameters
    ----------
    selection : Selection
        All candidates.

    Attributes
    ----------
    ax_, figure_
        Where the display was last drawn.
    lines_ : list of Line2D
        The paths.
    best_ : Line2D
        The selected candidate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> from lordclust.plots import SelectionDisplay
    >>> model = BLoRD(3).fit(load_iris().data)
    >>> display = SelectionDisplay.from_estimator(model)
    >>> len(display.best_.get_xdata())
    1
    """

    selection: Selection

    @classmethod
    def from_estimator(
        cls, model: Estimator, *, ax: Axes = None, **kwargs: Any
    ) -> Self:
        """Draw ``selection_`` of a model fitted with "auto".

        Parameters
        ----------
        model : fitted BLoRD
            With ``tau="auto"`` or ``proportions="auto"``.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : SelectionDisplay
        """
        labels_of(model)
        if not hasattr(model, "selection_"):
            raise ValueError(
                f"{type(model).__name__} has no selection_: nothing was selected. Fit "
                'BLoRD with tau="auto" or proportions="auto".'
            )
        return cls(selection=model.selection_).plot(ax=ax, **kwargs)

    def plot(self, ax: Axes = None, **kwargs: Any) -> Self:
        """Draw the candidates.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For ``Axes.plot``, for the lines of the paths.

        Returns
        -------
        self : SelectionDisplay
        """
        ax, found = self._open(ax, (5.8, 3.6)), self.selection
        paths = list(self._paths())
        early = {"color": PALE, "lw": 1.2, "marker": "o", "ms": 2.5}
        late = early | {"color": BLUE, "zorder": 3}
        self.lines_ = [
            ax.plot(taus, evidence, **(late if turn else early) | kwargs)[0]
            for turn, taus, evidence in paths
        ]
        tau, top = found.taus[found.best], found.evidence[found.best]
        label = f"selected: tau {tau:.2f}"
        (self.best_,) = ax.plot(
            tau, top, "o", ms=9, color=ORANGE, zorder=4, label=label
        )
        if found.rounds.max() > 0:
            self.lines_[0].set_label("shares as given")
            first = [turn for turn, _, _ in paths].index(1)
            self.lines_[first].set_label("shares of the best so far")
        ax.set_xlabel(f"tau of {len(found.taus)} candidates")
        ax.set(xlim=(0, 1.02), ylim=_window(found.evidence))
        quiet(ax, "Evidence")
        ax.legend(frameon=False, fontsize=9, labelcolor=QUIET)
        return self

    def _paths(self) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """Yield round, taus and evidence of each path."""
        found = self.selection
        names = np.array(found.sources)
        for turn in np.unique(found.rounds):
            for name in dict.fromkeys(names[found.rounds == turn]):
                own = (found.rounds == turn) & (names == name)
                order = np.flatnonzero(own)[np.argsort(found.taus[own])]
                yield int(turn), found.taus[order], found.evidence[order]


def _window(evidence: FloatArray) -> tuple[float, float]:
    """Return limits that leave out the beginnings of paths, which are far below."""
    low, high = np.quantile(evidence, 0.1), evidence.max()
    room = 0.3 * (high - low) or 1.0
    return float(max(low - room, evidence.min() - room / 3)), float(high + room / 3)
