"""Memberships along tau, as a report shows them: one snapshot per tau."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from lordclust._core.typing import BoolArray, Estimator, FloatArray, IntArray
from lordclust.plots.fitted import labels_of, membership_of, shares_of
from lordclust.result import TauPath
from lordclust.rounding.labels import labels_from, normalized_entropy

#: A tau of the path this close to the model's own is left out as a duplicate.
SAME_TAU = 0.004
#: Length of the list of uncertain samples, and the least uncertainty in it.
UNCERTAIN, LEAST_UNCERTAINTY = 12, 0.005


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The clusters at one tau.

    Attributes
    ----------
    tau : float or None
        None for a model that has no tau.
    P : ndarray of shape (n, k)
        Memberships.
    labels : ndarray of int, shape (n,)
        The cluster of each sample.
    """

    tau: float | None
    P: FloatArray
    labels: IntArray


@dataclass(frozen=True)
class Snapshots:
    """All snapshots of a report, with matching columns.

    Attributes
    ----------
    all : list of Snapshot
        By increasing tau.
    start : int
        The snapshot that is shown first: the model's own, or the last.
    shares : ndarray of shape (k,) or None
        The requested shares of the samples.
    weight : ndarray of shape (n,)
        Sample weights, 1 on average.
    outliers : ndarray of bool, shape (n,)
        Samples that belong nowhere; their labels are the most probable clusters.
    """

    all: list[Snapshot]
    start: int
    shares: FloatArray | None
    weight: FloatArray
    outliers: BoolArray

    @property
    def n(self) -> int:
        """Return the number of samples."""
        return len(self.weight)

    @property
    def k(self) -> int:
        """Return the number of clusters."""
        return int(self.all[0].P.shape[1])

    @property
    def first(self) -> Snapshot:
        """Return the snapshot that is shown first."""
        return self.all[self.start]

    def thinned(self, most: int) -> "Snapshots":
        """Return at most this many snapshots, including the one shown first."""
        if len(self.all) <= most:
            return self
        spread = np.linspace(0, len(self.all) - 1, most).round().astype(int)
        spread[np.abs(spread - self.start).argmin()] = self.start
        kept = [self.all[i] for i in spread]
        return replace(self, all=kept, start=kept.index(self.first))


def take_snapshots(model: Estimator | None, path: TauPath | None) -> Snapshots:
    """Return the snapshots of a model, of a path, or of a model on its path."""
    if model is None:
        if path is None:
            raise ValueError(
                "A report needs a model or a path, got neither. Pass model=, a "
                'fitted estimator, or path_=, from tau_path(S, k, keep="all").'
            )
        found = _of_path(path)
        ones = np.ones(len(found[0].P))
        return Snapshots(found, len(found) - 1, path.proportions, ones, ones < 0)
    P, labels = membership_of(model), labels_of(model)
    outliers = labels < 0
    labels = np.where(outliers, labels_from(P), labels)
    own = Snapshot(getattr(model, "tau_", None), P, labels)
    found = [own] if path is None else _joined(own, path)
    weight = np.asarray(getattr(model, "_weight", np.ones(len(own.P))))
    return Snapshots(found, found.index(own), shares_of(model), weight, outliers)


def _of_path(path: TauPath) -> list[Snapshot]:
    """Return the kept memberships of a path."""
    kept = sorted(path.memberships.items())
    return [Snapshot(float(tau), P, labels_from(P)) for tau, P in kept]


def _joined(own: Snapshot, path: TauPath) -> list[Snapshot]:
    """Return the path's snapshots with the model's own among them."""
    if own.tau is None:
        raise ValueError(
            "path_ is a path in tau, but the model has no tau. Pass a fitted BLoRD, "
            "or leave out one of the two."
        )
    nearest = path.membership(own.tau)
    if nearest.shape != own.P.shape:
        raise ValueError(
            f"path_ must be of the model's samples and clusters, {own.P.shape}, got "
            f"{nearest.shape}. Compute it with tau_path(model.affinity_matrix_, "
            f'{own.P.shape[1]}, keep="all").'
        )
    order = matching_columns(nearest, own.P)
    place = np.argsort(order)
    others = [
        Snapshot(other.tau, other.P[:, order], place[other.labels])
        for other in _of_path(path)
        if other.tau is not None and abs(other.tau - own.tau) > SAME_TAU
    ]
    return sorted([own, *others], key=lambda snapshot: snapshot.tau or 0.0)


def matching_columns(P: FloatArray, reference: FloatArray) -> IntArray:
    """Return the order of the columns of P that fits the reference best."""
    _, columns = linear_sum_assignment(-(reference.T @ P))
    return np.asarray(columns, dtype=np.int64)


def most_uncertain(P: FloatArray, outliers: BoolArray) -> IntArray:
    """Return the samples of largest uncertainty, the most uncertain first."""
    entropy = normalized_entropy(P) * ~outliers
    first = np.argsort(-entropy, kind="stable")[:UNCERTAIN]
    return np.asarray(first[entropy[first] > LEAST_UNCERTAINTY])


def circular_order(snapshots: Snapshots) -> list[int]:
    """Return the clusters in an order in which neighbours share many samples.

    Greedy: each cluster is followed by the remaining one that shares most with it over
    all snapshots.
    """
    shared = np.sum([found.P.T @ found.P for found in snapshots.all], axis=0)
    ring, left = [0], set(range(1, snapshots.k))
    while left:
        last = ring[-1]
        ring.append(max(sorted(left), key=lambda j: shared[last, j]))
        left.remove(ring[-1])
    return ring
