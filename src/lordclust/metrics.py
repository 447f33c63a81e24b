"""Scores of a clustering against known classes; the names of labels do not matter.

Labels are any hashable objects: numbers, strings, tuples. Every score is in [0, 1]
and 1 is best, except the imbalance rate, which describes only the classes.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeAlias

import numpy as np

from lordclust._core.typing import ArrayLike, FloatArray, IntArray

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
    from scipy.optimize import linear_sum_assignment

    i, j, count = _joint_counts(y_true, y_pred)
    table = np.zeros((i.max() + 1, j.max() + 1), dtype=np.int64)
    table[i, j] = count
    rows, cols = linear_sum_assignment(table, maximize=True)
    return float(table[rows, cols].sum() / count.sum())


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
