"""Labels, memberships and shares of a fitted model, for displays and reports."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from lordclust._core.typing import Estimator, FloatArray, IntArray
from lordclust.result import TauPath


def labels_of(model: Estimator) -> IntArray:
    """Return the labels of a fitted clusterer, -1 for outliers."""
    if not hasattr(model, "fit"):
        raise TypeError(
            f"model must be a clustering estimator, got {type(model).__name__}. Pass "
            "for example BLoRD(3).fit(X)."
        )
    check_is_fitted(model)
    if not hasattr(model, "labels_"):
        raise TypeError(
            f"model must have labels_ after fit, got {type(model).__name__}. "
            "Pass a clustering estimator such as BLoRD(3).fit(X)."
        )
    labels = np.asarray(model.labels_)
    if labels.max() < 0:
        raise ValueError(
            f"{type(model).__name__} found no clusters: all labels_ are -1. Pass other "
            "parameters to it."
        )
    return labels


def membership_of(model: Estimator) -> FloatArray:
    """Return probabilities of the clusters.

    Those of a method with labels only are 0 and 1, and equal for outliers.
    """
    labels = labels_of(model)
    P = getattr(model, "membership_", None)
    if P is not None:
        return np.asarray(P.toarray() if sparse.issparse(P) else P)
    given = getattr(model, "n_clusters", None)  # some may be empty
    k = max(int(labels.max()) + 1, given if isinstance(given, int) else 1)
    return np.vstack([np.eye(k), np.full(k, 1 / k)])[labels]


def shares_of(model: Estimator) -> FloatArray | None:
    """Return the requested shares, if they are shares of samples, not of weight."""
    shares = getattr(model, "proportions_", None)
    labels = labels_of(model)
    weight = getattr(model, "_weight", np.ones(len(labels)))[labels >= 0]
    equal = np.ptp(weight) < 1e-9  # up to rounding
    return None if shares is None or not equal else np.asarray(shares)


def path_of(path: TauPath) -> TauPath:
    """Return the path, or raise an error that explains how to get one."""
    if not isinstance(path, TauPath):
        raise TypeError(
            f"path must be a TauPath, got {type(path).__name__}. Pass the result of "
            "tau_path(S, n_clusters)."
        )
    return path
