"""What speaks for the candidates that a choice without labels weighed."""

from typing import Any, Self

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust.plots._axes import one_axes, quiet
from lordclust.plots._reading import labels_of
from lordclust.plots.palette import BLUE, ORANGE, PALE, QUIET
from lordclust.result import Selection


class SelectionDisplay:
    """Evidence of every candidate over its tau, the kept one marked.

    Parameters
    ----------
    selection : Selection
        All candidates.

    Attributes
    ----------
    ax_, figure_
        Where it was last drawn.
    lines_ : list of Line2D
        The paths.
    best_ : Line2D
        The candidate kept.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> from lordclust.plots import SelectionDisplay
    >>> model = BLoRD(3, tau="auto").fit(load_iris().data)
    >>> display = SelectionDisplay.from_estimator(model)
    >>> bool(display.best_.get_xdata()[0] == model.tau_)
    True
    """

    def __init__(self, *, selection: Selection) -> None:
        self.selection = selection

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **kwargs: Any) -> Self:
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
                f"{type(model).__name__} has no selection_: nothing was chosen. Fit "
                'BLoRD with tau="auto" or proportions="auto".'
            )
        return cls(selection=model.selection_).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
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
        self.ax_ = one_axes(ax, (5.8, 3.6))
        self.figure_ = self.ax_.figure
        found = self.selection
        self.lines_ = [
            self.ax_.plot(x, y, **_look(turn) | kwargs)[0]
            for turn, x, y in self._paths()
        ]
        best = found.best
        x, y = found.taus[best], found.evidence[best]
        (self.best_,) = self.ax_.plot(x, y, "o", ms=9, color=ORANGE, zorder=4)
        self.ax_.set_xlabel(f"tau of {len(found.taus)} candidates")
        self.ax_.set(xlim=(0, 1.02), ylim=_window(found.evidence))
        quiet(self.ax_, "Evidence, in nats")
        self._legend()
        return self

    def _paths(self) -> Any:
        """Yield round, taus and evidence of each path."""
        found = self.selection
        names = np.array(found.paths)
        for turn in np.unique(found.rounds):
            for name in dict.fromkeys(names[found.rounds == turn]):
                own = (found.rounds == turn) & (names == name)
                order = np.flatnonzero(own)[np.argsort(found.taus[own])]
                yield int(turn), found.taus[order], found.evidence[order]

    def _legend(self) -> None:
        """Name the rounds, if there is more than one, and the candidate kept."""
        found = self.selection
        self.best_.set_label(f"kept: tau {found.taus[found.best]:.2f}")
        if found.rounds.max() > 0:
            turns = [turn for turn, _, _ in self._paths()]
            self.lines_[0].set_label("shares as asked for")
            self.lines_[turns.index(1)].set_label("shares of the best so far")
        self.ax_.legend(frameon=False, fontsize=9, labelcolor=QUIET)


def _window(evidence: FloatArray) -> tuple[float, float]:
    """Return what to show: partitions at the very beginning of a path lie far below."""
    low, high = np.quantile(evidence, 0.1), evidence.max()
    room = 0.3 * (high - low) or 1.0
    return float(max(low - room, evidence.min() - room / 3)), float(high + room / 3)


def _look(turn: int) -> dict[str, Any]:
    """Return the look of a path: later rounds are darker."""
    early = {"color": PALE, "lw": 1.2, "marker": "o", "ms": 2.5}
    return early if turn == 0 else early | {"color": BLUE, "zorder": 3}
