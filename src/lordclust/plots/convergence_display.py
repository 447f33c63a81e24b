"""The objective at each iteration of a fit."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lordclust._core.colors import BLUE
from lordclust._core.typing import Axes, Estimator, FloatArray
from lordclust._core.validation import check_choice
from lordclust.plots._axes import Display, quiet
from lordclust.plots.fitted import labels_of

#: Smallest range of the y axis, relative to the objective.
FLAT = 1e-3


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The objective at each iteration of the best run.

    Parameters
    ----------
    history : ndarray of shape (n_iter + 1,)
        The objective, iteration 0 first.
    name : str, default=""
        Name of the method.
    note : str, default=""
        How the fit ended.

    Attributes
    ----------
    ax_, figure_
        Where the display was last drawn.
    line_ : Line2D
        The curve.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import LoRD
    >>> from lordclust.plots import ConvergenceDisplay
    >>> model = LoRD(3, start="random", random_state=0).fit(load_iris().data)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> len(display.history) == model.n_iter_ + 1
    True
    """

    history: FloatArray
    name: str = ""
    note: str = ""

    @classmethod
    def from_estimator(
        cls, model: Estimator, *, ax: Axes = None, **kwargs: Any
    ) -> Self:
        """Draw ``history_`` of a fitted model.

        Parameters
        ----------
        model : fitted clusterer
            One with ``history_``, which covers only the last step of a path.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. Draw several models on the same
            axes to compare them.
        **kwargs
            For :meth:`plot`.

        Returns
        -------
        display : ConvergenceDisplay
        """
        labels_of(model)
        history = np.asarray(getattr(model, "history_", []), dtype=float)
        name = type(model).__name__
        if history.size == 0:
            raise ValueError(
                f"model must have a history of its objective, but {name} has none. "
                "Pass an iterative method such as BLoRD."
            )
        note = "converged" if model.converged_ else "stopped at max_iter"
        if getattr(model, "residual_", None) is not None:
            note += f", residual {model.residual_:.1e}"
        return cls(history=history, name=name, note=note).plot(ax=ax, **kwargs)

    @property
    def gap(self) -> FloatArray:
        """Relative difference between the objective and its last value."""
        last = self.history[-1]
        return np.asarray(np.abs(self.history - last) / (abs(last) or 1.0))

    def plot(self, ax: Axes = None, *, show: str = "objective", **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        show : {"objective", "gap"}, default="objective"
            The objective, or its distance from the last value on a logarithmic scale.
        **kwargs
            For ``Axes.plot``, such as ``label`` and ``color``.

        Returns
        -------
        self : ConvergenceDisplay
        """
        check_choice(show, ("objective", "gap"), "show")
        ax = self._open(ax, (5.4, 3.2))
        values = self.history
        if show == "gap":
            values = np.where(self.gap > 0, self.gap, np.nan)  # no logarithm of 0
            ax.set_yscale("log")
        settings = {"lw": 2, "color": BLUE, "label": self.name} | kwargs
        dots = {"marker": "o", "ms": 3.5} if len(values) <= 40 else {}
        (self.line_,) = ax.plot(values, **dots | settings)
        low, high = ax.get_ylim()
        least = FLAT * abs(self.history[-1])
        if show == "objective" and high - low < least:
            # Smaller changes are rounding errors: do not magnify them.
            middle = (low + high) / 2
            ax.set_ylim(middle - least / 2, middle + least / 2)
        ax.set_xlabel("iteration" + (self.note and f" ({self.note})"))
        ax.xaxis.get_major_locator().set_params(integer=True)
        quiet(ax, "Distance from the last objective" if show == "gap" else "Objective")
        return self
