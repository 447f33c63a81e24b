"""Memberships along tau, told as a page shows them: one frame a tau."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from lordclust._core.typing import FloatArray, IntArray
from lordclust.result import TauPath
from lordclust.rounding.labels import labels_from, normalized_entropy

#: A kept tau this near to the model's own would be the same frame twice.
SAME_TAU = 0.004
#: Weights that differ by less are equal, but for rounding.
SAME_WEIGHT = 1e-9
#: Lengths of the lists of a frame.
DOUBTFUL, PAIRS = 12, 8
#: A smaller uncertainty is no doubt, a smaller share no confusion.
SOME_DOUBT, SOME_SHARE = 0.005, 0.001


@dataclass(frozen=True, eq=False)
class Frame:
    """The clusters at one tau.

    Attributes
    ----------
    tau : float or None
        None for a model that has no tau.
    P : ndarray of shape (n, k)
        Memberships.
    labels : ndarray of int, shape (n,)
        The cluster of each sample.
    own : bool
        Whether it is the model's own answer, not one of the path.
    """

    tau: float | None
    P: FloatArray
    labels: IntArray
    own: bool = False


@dataclass(frozen=True)
class Story:
    """All frames of a page, columns aligned.

    Attributes
    ----------
    frames : list of Frame
        By rising tau.
    start : int
        Where the page opens: the model's own frame, or the last.
    shares : ndarray of shape (k,) or None
        What was asked for, if it can be compared with numbers of samples.
    weight : ndarray of shape (n,)
        How much each sample counts, 1 on average.
    """

    frames: list[Frame]
    start: int
    shares: FloatArray | None
    weight: FloatArray

    @property
    def n(self) -> int:
        """Return the number of samples."""
        return len(self.weight)

    @property
    def k(self) -> int:
        """Return the number of clusters."""
        return int(self.frames[0].P.shape[1])

    @property
    def first_seen(self) -> Frame:
        """Return the frame that the page opens with."""
        return self.frames[self.start]


def tell(model: Any, path: TauPath | None) -> Story:
    """Return the frames of a model, of a path, or of a model on its path."""
    own = None if model is None else _own_frame(model)
    shares = None if model is None else _shares(model)
    if path is None:
        if own is None:
            raise ValueError(
                "A report needs a model or a path, got neither. Pass model=, a "
                'fitted estimator, or path_=, from tau_path(S, k, keep="all").'
            )
        return Story([own], 0, shares, _weight(model, len(own.P)))
    if own is None:
        frames = _path_frames(path)
        weight = np.ones(len(frames[0].P))
        return Story(frames, len(frames) - 1, path.proportions, weight)
    frames = _joined(own, path)
    return Story(frames, frames.index(own), shares, _weight(model, len(own.P)))


def _own_frame(model: Any) -> Frame:
    """Return what a fitted model says; labels alone are certain memberships."""
    labels = getattr(model, "labels_", None)
    if labels is None:
        raise ValueError(
            f"model must be fitted, got {type(model).__name__} without labels_. Call "
            "its fit first."
        )
    labels = np.asarray(labels)
    P = getattr(model, "membership_", None)
    if P is None:
        P = np.eye(max(int(labels.max()) + 1, getattr(model, "n_clusters", 1)))[labels]
    return Frame(getattr(model, "tau_", None), np.asarray(P), labels, own=True)


def _shares(model: Any) -> FloatArray | None:
    """Return the shares asked for; of weight, they are no shares of the samples."""
    equal = np.ptp(getattr(model, "_weight", [1.0])) < SAME_WEIGHT
    return getattr(model, "proportions_", None) if equal else None


def _weight(model: Any, n: int) -> FloatArray:
    """Return how much each sample counts."""
    return np.asarray(getattr(model, "_weight", np.ones(n)))


def _path_frames(path: TauPath) -> list[Frame]:
    """Return the kept memberships of a path."""
    kept = sorted(path.memberships.items())
    return [Frame(float(tau), P, labels_from(P)) for tau, P in kept]


def _joined(own: Frame, path: TauPath) -> list[Frame]:
    """Return the path's frames with the model's own among them."""
    if own.tau is None:
        raise ValueError(
            "path_ is a path in tau, but the model has no tau. Pass a fitted BLoRD, "
            "or leave out one of the two."
        )
    nearest = path.membership(own.tau)
    if nearest.shape != own.P.shape:
        raise ValueError(
            f"path_ must be of the model's samples and clusters, {own.P.shape}, got "
            f"{nearest.shape}. Make it with tau_path(model.affinity_matrix_, "
            f'{own.P.shape[1]}, keep="all").'
        )
    order = matching_columns(nearest, own.P)
    place = np.argsort(order)
    others = [
        replace(frame, P=frame.P[:, order], labels=place[frame.labels])
        for frame in _path_frames(path)
        if frame.tau is not None and abs(frame.tau - own.tau) > SAME_TAU
    ]
    return sorted([*others, own], key=lambda frame: frame.tau or 0.0)


def matching_columns(P: FloatArray, reference: FloatArray) -> IntArray:
    """Return the order of the columns of P that fits the reference best.

    Examples
    --------
    >>> matching_columns(np.eye(3)[:, [2, 0, 1]], np.eye(3))
    array([1, 2, 0])
    """
    _, columns = linear_sum_assignment(-(reference.T @ P))
    return np.asarray(columns, dtype=np.int64)


def evenly(story: Story, most: int) -> Story:
    """Return the story with at most so many frames, the first seen among them."""
    if len(story.frames) <= most:
        return story
    spread = np.linspace(0, len(story.frames) - 1, most).round().astype(int)
    spread[np.abs(spread - story.start).argmin()] = story.start
    frames = [story.frames[i] for i in spread]
    return replace(story, frames=frames, start=frames.index(story.first_seen))


def most_doubtful(P: FloatArray, count: int = DOUBTFUL) -> IntArray:
    """Return the samples of largest uncertainty, the most uncertain first.

    Examples
    --------
    >>> most_doubtful(np.array([[1.0, 0.0], [0.6, 0.4], [0.5, 0.5]]))
    array([2, 1])
    """
    doubt = normalized_entropy(P)
    first = np.argsort(-doubt, kind="stable")[:count]
    return np.asarray(first[doubt[first] > SOME_DOUBT])


def shared_pairs(
    P: FloatArray, weight: FloatArray, count: int = PAIRS
) -> list[tuple[int, int, float]]:
    """Return clusters a < b and how much of the smaller they share, most first.

    This is the share of ``confusable_pairs``.

    Examples
    --------
    >>> shared_pairs(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), np.ones(3))
    [(0, 1, 0.3333333333333333)]
    """
    k = P.shape[1]
    columns = np.ascontiguousarray(P.T)
    mass = columns @ weight
    pairs = []
    for a in range(k - 1):
        both = np.minimum(columns[a], columns[a + 1 :]) @ weight
        smaller = np.minimum(mass[a], mass[a + 1 :])
        share = np.divide(both, smaller, out=np.zeros_like(both), where=smaller > 0)
        pairs += [(a, a + 1 + i, float(s)) for i, s in enumerate(share)]
    pairs = [pair for pair in pairs if pair[2] > SOME_SHARE]
    return sorted(pairs, key=lambda pair: -pair[2])[:count]


def neighbours_in_a_ring(story: Story) -> list[int]:
    """Return the clusters in an order that puts those that share samples side by side.

    Greedy: after each cluster comes the one, of those left, that shares most with it
    over all frames.
    """
    shared = np.sum([frame.P.T @ frame.P for frame in story.frames], axis=0)
    ring, left = [0], set(range(1, story.k))
    while left:
        last = ring[-1]
        ring.append(max(sorted(left), key=lambda j: shared[last, j]))
        left.remove(ring[-1])
    return ring
