"""Scores of a clustering against known classes; the names of labels do not matter.

Labels are any hashable objects: numbers, strings, tuples. Every score is in [0, 1]
and 1 is best, except the imbalance rate, which describes only the classes, and the
calibration error, of which 0 is best.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple, TypeAlias

import numpy as np

from lordclust._core.typing import ArrayLike, BoolArray, FloatArray, Graph, IntArray

__all__ = [
    "accuracy",
    "calibration_error",
    "f1",
    "imbalance_rate",
    "nmi",
    "precision_recall",
    "purity",
    "reliability",
]

#: One label per sample.
Labels: TypeAlias = Iterable[Hashable]


def accuracy(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of samples that the best matching of labels gets right.

    Each cluster is matched with at most one class and vice versa, so that as many
    samples as possible agree (Hungarian method).

    Parameters
    ----------
    y_true, y_pred : sequence of hashable, shape (n,)
        Classes and clusters; their numbers may differ.

    Returns
    -------
    score : float

    Examples
    --------
    >>> accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    return float(_matched(y_true, y_pred).mean())


def nmi(y_true: Labels, y_pred: Labels) -> float:
    """Return the normalized mutual information I / ((H(classes) + H(clusters)) / 2).

    Parameters
    ----------
    y_true, y_pred : sequence of hashable, shape (n,)
        Classes and clusters; their numbers may differ.

    Returns
    -------
    score : float

    Notes
    -----
    The paper does not name its normalization. This is the arithmetic mean of the two
    entropies, the default of scikit-learn.

    Examples
    --------
    >>> nmi([0, 0, 1, 1], [5, 5, 3, 3])
    1.0
    """
    from sklearn.metrics import normalized_mutual_info_score

    true, pred = _encode_pair(y_true, y_pred)
    return float(normalized_mutual_info_score(true, pred))


def purity(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of samples in the largest class of their cluster.

    Parameters
    ----------
    y_true, y_pred : sequence of hashable, shape (n,)
        Classes and clusters; their numbers may differ.

    Returns
    -------
    score : float

    Examples
    --------
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    _, j, count = _joint_counts(y_true, y_pred)
    largest = np.zeros(j.max() + 1, dtype=np.int64)
    np.maximum.at(largest, j, count)
    return float(largest.sum() / count.sum())


def precision_recall(y_true: Labels, y_pred: Labels) -> tuple[float, float]:
    """Return precision and recall over pairs of samples.

    A pair is predicted when both samples share a cluster and true when they share a
    class. Precision is the true share of the predicted pairs, recall the predicted
    share of the true pairs; a share of no pairs is 1.

    Parameters
    ----------
    y_true, y_pred : sequence of hashable, shape (n,)
        Classes and clusters; their numbers may differ.

    Returns
    -------
    precision, recall : float

    Examples
    --------
    >>> precision_recall([0, 0, 1, 1], [0, 0, 1, 2])
    (1.0, 0.5)
    """
    both, true, pred = _pair_counts(y_true, y_pred)
    return (both / pred if pred else 1.0), (both / true if true else 1.0)


def f1(y_true: Labels, y_pred: Labels) -> float:
    """Return the F1 score over pairs of samples.

    With the pairs of :func:`precision_recall`, this is twice the pairs that are true
    and predicted over the sum of true pairs and predicted pairs.

    Parameters
    ----------
    y_true, y_pred : sequence of hashable, shape (n,)
        Classes and clusters; their numbers may differ.

    Returns
    -------
    score : float
        1 when there are neither true nor predicted pairs.

    Examples
    --------
    >>> round(f1([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.6667
    """
    both, true, pred = _pair_counts(y_true, y_pred)
    return 2 * both / (true + pred) if true + pred else 1.0


class Reliability(NamedTuple):
    """How often samples of similar certainty are right; see :func:`reliability`.

    Attributes
    ----------
    certainty : ndarray of shape (bins,)
        Mean of the largest probability, NaN in an empty bin.
    accuracy : ndarray of shape (bins,)
        Share of samples that are right, NaN in an empty bin.
    weight : ndarray of shape (bins,)
        Share of all samples that are in the bin.
    """

    certainty: FloatArray
    accuracy: FloatArray
    weight: FloatArray

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance of accuracy and certainty."""
        gap = np.abs(self.accuracy - self.certainty)
        return float(self.weight @ np.nan_to_num(gap))


def calibration_error(y_true: Labels, P: Graph, *, bins: int = 10) -> float:
    """Return the expected calibration error of cluster probabilities.

    A sample is right if its most probable cluster is matched with its class, and its
    certainty is the largest probability. Samples are sorted into bins of equal width by
    certainty. The error is the difference between the share of samples that are right
    and their mean certainty, averaged over the bins: 0 if, of the samples with a
    certainty of 0.8, eight in ten are right. Clusters are matched with classes as in
    :func:`accuracy`.

    Parameters
    ----------
    y_true : sequence of hashable, shape (n,)
        Classes.
    P : array-like or sparse of shape (n, k)
        Probabilities of the clusters, such as ``membership_``; rows sum to 1.
    bins : int, default=10
        Number of bins.

    Returns
    -------
    error : float
        In [0, 1]; 0 is best.

    Notes
    -----
    The error of few samples is never quite 0: with 100 samples spread over all bins, it
    is about 0.1 for exact probabilities.

    Examples
    --------
    >>> P = [[0.75, 0.25], [0.75, 0.25], [0.75, 0.25], [0.75, 0.25]]
    >>> calibration_error([0, 0, 0, 1], P)
    0.0
    >>> calibration_error([0, 1, 0, 1], P)
    0.25
    """
    return reliability(y_true, P, bins=bins).error


def reliability(y_true: Labels, P: Graph, *, bins: int = 10) -> Reliability:
    """Return certainty and accuracy in bins of equal width by certainty.

    Parameters
    ----------
    y_true, P, bins
        As in :func:`calibration_error`.

    Returns
    -------
    found : Reliability

    Examples
    --------
    >>> P = [[0.75, 0.25], [0.75, 0.25], [0.95, 0.05], [0.05, 0.95]]
    >>> found = reliability([0, 1, 0, 1], P)
    >>> found.certainty[7:], found.accuracy[7:]
    (array([0.75,  nan, 0.95]), array([0.5, nan, 1. ]))
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"bins must be a positive integer, got {bins!r}.")
    dense = _probabilities(P)
    best = dense.argmax(axis=1)
    right = _matched(y_true, best)
    certainty = np.minimum(dense[np.arange(len(best)), best], 1.0)
    place = np.minimum((certainty * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    some = np.where(count > 0, count, np.nan)
    return Reliability(
        np.bincount(place, certainty, minlength=bins) / some,
        np.bincount(place, right, minlength=bins) / some,
        count / len(place),
    )


def imbalance_rate(
    y: Labels | None = None, *, proportions: ArrayLike | None = None
) -> float:
    """Return IBR = 1 - H(pi) / log k of class shares pi: 0 when all are equal.

    Parameters
    ----------
    y : sequence of hashable, shape (n,), optional
        Labels, whose shares are used.
    proportions : array-like, shape (k,), optional
        The shares themselves, or counts, in place of y.

    Returns
    -------
    rate : float
        In [0, 1]; 0 for a single class.

    Examples
    --------
    >>> imbalance_rate(["a", "b", "a", "b"])
    0.0
    >>> round(imbalance_rate(proportions=[20, 40, 60, 80]), 4)
    0.0768
    """
    if (y is None) == (proportions is None):
        raise TypeError(
            "imbalance_rate takes either labels y or proportions, got "
            f"{'neither' if y is None else 'both'}. Pass exactly one of them."
        )
    shares = _shares(proportions if y is None else np.bincount(_encode(y, "y")))
    if shares.size == 1:
        return 0.0
    entropy = -np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)))
    return float(np.clip(1.0 - entropy / np.log(shares.size), 0.0, 1.0))


#: The scores of a clustering by name, in the order of the paper's tables.
METRICS: dict[str, Callable[[Labels, Labels], float]] = {
    "accuracy": accuracy,
    "nmi": nmi,
    "purity": purity,
    "f1": f1,
}


def _matched(y_true: Labels, clusters: Labels) -> BoolArray:
    """Return for each sample whether its cluster is matched with its class."""
    from scipy.optimize import linear_sum_assignment

    true, pred = _encode_pair(y_true, clusters)
    table = np.zeros((true.max() + 1, pred.max() + 1), dtype=np.int64)
    np.add.at(table, (true, pred), 1)
    classes, names = linear_sum_assignment(table, maximize=True)
    match = np.full(table.shape[1], -1)
    match[names] = classes
    return np.asarray(match[pred] == true)


def _probabilities(P: Graph) -> FloatArray:
    """Return probabilities as an array; raise an error for anything else."""
    dense = np.asarray(P.toarray() if hasattr(P, "toarray") else P, dtype=np.float64)
    if dense.ndim != 2 or dense.size == 0:
        raise ValueError(
            "P must have a row for each sample and a column for each cluster, got "
            f"shape {dense.shape}. Pass membership_ of a fitted model."
        )
    total = dense.sum(axis=1)
    if not np.all(np.abs(total - 1) <= 1e-3) or dense.min() < 0:
        raise ValueError(
            "P must contain probabilities, rows that sum to 1, got a row that sums to "
            f"{total[np.argmax(np.abs(total - 1))]:.6g} or a negative entry. "
            "Pass membership_ of a fitted model."
        )
    return dense


def _shares(proportions: ArrayLike | None) -> FloatArray:
    """Return nonnegative numbers divided by their sum."""
    p = np.asarray(proportions, dtype=np.float64)
    if p.ndim != 1 or p.size == 0 or not np.isfinite(p).all() or p.min() < 0:
        raise ValueError(
            "proportions must be a list of nonnegative numbers, got "
            f"{proportions!r}. Pass one share for each class."
        )
    if p.sum() == 0:
        raise ValueError(
            "proportions must have a positive sum, got only zeros. "
            "Pass one share for each class."
        )
    return np.asarray(p / p.sum())


def _encode(labels: Labels, name: str) -> IntArray:
    """Return labels as integers from 0."""
    if getattr(labels, "ndim", 1) != 1 or isinstance(labels, str):
        shape = getattr(labels, "shape", None)
        got = f"{labels!r}" if shape is None else f"shape {shape}"
        raise ValueError(
            f"{name} must be a sequence of labels, one for each sample, got "
            f"{got}. Pass a flat list or array."
        )
    if isinstance(labels, np.ndarray) and labels.dtype.kind != "O":
        codes = np.unique(labels, return_inverse=True)[1].ravel()
    else:
        # Not numpy, which would turn 1 and "1" into the same label.
        seen: dict[Hashable, int] = {}
        codes = np.array([seen.setdefault(v, len(seen)) for v in labels], dtype=np.intp)
    if codes.size == 0:
        raise ValueError(f"{name} must not be empty. Pass at least one label.")
    return codes


def _encode_pair(y_true: Labels, y_pred: Labels) -> tuple[IntArray, IntArray]:
    """Return classes and clusters as integers, of the same length."""
    true, pred = _encode(y_true, "y_true"), _encode(y_pred, "y_pred")
    if true.size != pred.size:
        raise ValueError(
            f"y_true and y_pred must have the same length, got {true.size} and "
            f"{pred.size}. Pass one label of each for every sample."
        )
    return true, pred


def _joint_counts(
    y_true: Labels, y_pred: Labels
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the pairs of class i and cluster j that occur, and their counts."""
    true, pred = _encode_pair(y_true, y_pred)
    width = int(pred.max()) + 1
    code, count = np.unique(true.astype(np.int64) * width + pred, return_counts=True)
    return code // width, code % width, count


def _pair_counts(y_true: Labels, y_pred: Labels) -> tuple[int, int, int]:
    """Return how many pairs of samples share both, a class, and a cluster."""
    i, j, count = _joint_counts(y_true, y_pred)
    sizes = np.bincount(i, count).astype(int), np.bincount(j, count).astype(int)
    both, true, pred = (int((c * (c - 1) // 2).sum()) for c in (count, *sizes))
    return both, true, pred
