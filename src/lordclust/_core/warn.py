"""Warnings that point at the user's own line."""

import sys
import warnings

#: Packages whose frames are between the user and a warning.
INSIDE = ("lordclust", "sklearn")


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning at the line outside lordclust and scikit-learn that led to it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
