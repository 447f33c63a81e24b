"""Warnings that point at the user's own line."""

import sys
import warnings

#: Packages whose frames are between the user and a warning.
INSIDE = ("lordclust", "sklearn")


class ScaleWarning(UserWarning):
    """The features have so different scales that few of them decide all distances.

    Examples
    --------
    >>> from lordclust.graph import KNNGraph, ScaleWarning
    >>> X = [[i * i % 7, 1000.0 * i] for i in range(20)]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ScaleWarning)  # the first is not important
    ...     S = KNNGraph().build(X)
    """


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning at the line outside lordclust and scikit-learn that led to it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
