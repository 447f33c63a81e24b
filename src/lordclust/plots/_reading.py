"""What the displays read off a fitted model or a path."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lordclust._core.typing import FloatArray, IntArray
from lordclust.result import TauPath


def labels_of(model: Any) -> IntArray:
    """Return the labels of a fitted clusterer."""
    if not hasattr(model, "fit"):
        raise TypeError(
            f"model must be a clustering estimator, got {type(model).__name__}. Pass "
            "for example BLoRD(3).fit(X)."
        )
    check_is_fitted(model)
    if not hasattr(model, "labels_"):
        raise TypeError(
            f"model must have labels_ once it is fitted, got {type(model).__name__}. "
            "Pass a clustering estimator such as BLoRD(3).fit(X)."
        )
    labels = np.asarray(model.labels_)
    if labels.min() < 0:
        raise ValueError(
            "labels_ must be 0 or more, got noise points of label -1. Pass a method "
            "that gives every sample a cluster."
        )
    return labels


def membership_of(model: Any) -> FloatArray:
    """Return probabilities of the clusters; 0 and 1 for a method of labels alone."""
    labels = labels_of(model)
    if hasattr(model, "membership_"):
        return np.asarray(model.membership_)
    return np.eye(labels.max() + 1)[labels]


def counts_alike(model: Any) -> bool:
    """Tell whether all samples weigh the same, but for rounding."""
    return bool(np.ptp(getattr(model, "_weight", [1.0])) < 1e-9)


def path_of(path: Any) -> TauPath:
    """Return the path, or say how to get one."""
    if not isinstance(path, TauPath):
        raise TypeError(
            f"path must be a TauPath, got {type(path).__name__}. Pass what "
            "tau_path(S, n_clusters) returns."
        )
    return path
