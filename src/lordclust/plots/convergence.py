"""How a fit came to its end: the objective at each iteration."""

from typing import Any, Self

import numpy as np

from lordclust._core.typing import FloatArray
from lordclust._core.validation import check_choice
from lordclust.plots._axes import one_axes, quiet
from lordclust.plots._reading import labels_of
from lordclust.plots.palette import BLUE

#: Smallest height of the picture, relative to the objective.
FLAT = 1e-3


class ConvergenceDisplay:
    """The objective at each iteration of the kept descent.

    Parameters
    ----------
    history : ndarray of shape (n_iter + 1,)
        The objective, iteration 0 first.
    name : str, default=""
        Whose it is.
    note : str, default=""
        How it ended.

    Attributes
    ----------
    ax_, figure_
        Where it was last drawn.
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

    def __init__(self, *, history: FloatArray, name: str = "", note: str = "") -> None:
        self.history = history
        self.name = name
        self.note = note

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw ``history_`` of a fitted model.

        Parameters
        ----------
        model : fitted clusterer
            One that keeps ``history_``. Of a path it is the last step alone.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. Draw several models into the same
            to compare them.
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
                f"{name} kept no history of its objective, so there is nothing to "
                "draw. Pass an iterative method such as BLoRD."
            )
        return cls(history=history, name=name, note=_ending(model)).plot(
            ax=ax, **kwargs
        )

    @property
    def gap(self) -> FloatArray:
        """Distance of the objective to its last value, relative to that."""
        last = self.history[-1]
        return np.asarray(np.abs(self.history - last) / (abs(last) or 1.0))

    def plot(self, ax: Any = None, *, show: str = "objective", **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        show : {"objective", "gap"}, default="objective"
            The objective, or its distance to the last one on a logarithmic scale.
        **kwargs
            For ``Axes.plot``, such as ``label`` and ``color``.

        Returns
        -------
        self : ConvergenceDisplay
        """
        check_choice(show, ("objective", "gap"), "show")
        self.ax_ = one_axes(ax, (5.4, 3.2))
        self.figure_ = self.ax_.figure
        values = self.history
        if show == "gap":
            values = np.where(self.gap > 0, self.gap, np.nan)  # no logarithm of 0
            self.ax_.set_yscale("log")
        settings = {"lw": 2, "color": BLUE, "label": self.name} | kwargs
        dots = {"marker": "o", "ms": 3.5} if len(values) <= 40 else {}
        (self.line_,) = self.ax_.plot(values, **dots | settings)
        if show == "objective":
            self._keep_flat()
        what = "Distance to the last objective" if show == "gap" else "Objective"
        self.ax_.set_xlabel("iteration" + (self.note and f" ({self.note})"))
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        quiet(self.ax_, what)
        return self

    def _keep_flat(self) -> None:
        """Do not blow up changes of less than a thousandth: those are rounding."""
        low, high = self.ax_.get_ylim()
        least = FLAT * abs(self.history[-1])
        if high - low < least:
            middle = (low + high) / 2
            self.ax_.set_ylim(middle - least / 2, middle + least / 2)


def _ending(model: Any) -> str:
    """Say how the fit ended."""
    end = "converged" if model.converged_ else "stopped at max_iter"
    residual = getattr(model, "residual_", None)
    return end if residual is None else f"{end}, residual {residual:.1e}"
