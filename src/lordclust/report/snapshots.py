"""What the slider of a report moves through: taus of a path, or levels of a tree."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from lordclust._core.typing import BoolArray, Estimator, FloatArray, IntArray
from lordclust._core.validation import is_auto
from lordclust.methods.layers import Layers
from lordclust.plots.fitted import labels_of, membership_of, shares_of
from lordclust.result import TauPath
from lordclust.rounding.labels import labels_from, normalized_entropy
from lordclust.rounding.transport import Bounds, assign_sizes, check_bounds

#: A tau of the path this close to the model's own is left out as a duplicate.
SAME_TAU = 0.004
#: Length of the list of uncertain samples, and the least uncertainty in it.
UNCERTAIN, LEAST_UNCERTAINTY = 12, 0.005


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The clusters at one tau, or at one level of nested clusters.

    Attributes
    ----------
    tau : float or None
        None for a model that has no tau, and for a level.
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
        The requested or chosen shares of the samples.
    weight : ndarray of shape (n,)
        Sample weights, 1 on average.
    outliers : ndarray of bool, shape (n,)
        Samples that belong nowhere; their labels are the most probable clusters.
    parents : ndarray of int, shape (k,), optional
        Of nested clusters: the cluster that each was split from. The snapshots are
        then levels, by increasing number of clusters.
    soft : bool
        Whether there are probabilities, not only labels.
    calibrated : bool
        Whether those of the model are calibrated, so that they are not those at a tau.
    chosen : bool
        Whether the shares were chosen automatically.
    """

    all: list[Snapshot]
    start: int
    shares: FloatArray | None
    weight: FloatArray
    outliers: BoolArray
    parents: IntArray | None = None
    soft: bool = True
    calibrated: bool = False
    chosen: bool = False

    @property
    def n(self) -> int:
        """Return the number of samples."""
        return len(self.weight)

    @property
    def k(self) -> int:
        """Return the number of clusters, at the finest level if there are several."""
        return int(self.all[-1].P.shape[1])

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


def take_snapshots(model: Estimator | Layers | None, path: TauPath | None) -> Snapshots:
    """Return the snapshots of a model, of a path or a model on it, or of levels."""
    if isinstance(model, Layers):
        return _of_layers(model, path)
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
    sizes = _prescribed(model, P.shape[1], int(np.count_nonzero(~outliers)))
    if sizes is not None:
        found = [one if one is own else _rounded(one, sizes, outliers) for one in found]
    weight = np.asarray(getattr(model, "_weight", np.ones(len(own.P))))
    return Snapshots(
        found, found.index(own), shares_of(model), weight, outliers,
        soft=hasattr(model, "membership_"), calibrated=_is_calibrated(model),
        chosen=is_auto(getattr(model, "proportions", None)),
    )  # fmt: skip


def _is_calibrated(model: Estimator) -> bool:
    """Return whether the memberships of a model were calibrated."""
    given = getattr(model, "gamma", None) is not None
    return not given and is_auto(getattr(model, "tau", None))


def _prescribed(model: Estimator, k: int, n: int) -> Bounds | None:
    """Return the sizes that labels of the model must have, or None if they are free."""
    if not hasattr(model, "_problem"):
        return None
    low, high = model.size_min, model.size_max
    if low is not None or high is not None:
        return check_bounds(low, high, k, n, least=1)
    exact = model._rounds_exactly(model._problem.omega)
    return Bounds(model.sizes_, model.sizes_) if exact else None


def _rounded(found: Snapshot, sizes: Bounds, outliers: BoolArray) -> Snapshot:
    """Return a snapshot whose labels have the prescribed sizes, as the model's do."""
    labels = found.labels.copy()
    labels[~outliers] = assign_sizes(-found.P[~outliers], sizes)
    return replace(found, labels=labels)


def _of_layers(found: Layers, path: TauPath | None) -> Snapshots:
    """Return one snapshot per level, the recommended one first shown."""
    if path is not None:
        raise ValueError(
            "path_ is a path in tau, but nested clusters have a slider for their "
            "number. Leave path_ out."
        )
    outliers = found.labels[0] < 0
    levels = []
    for k in range(1, len(found.labels) + 1):
        P = found.membership(k)
        levels.append(
            Snapshot(None, P, np.where(outliers, labels_from(P), found.at(k)))
        )
    weight = found.model._weight
    return Snapshots(levels, found.best_k - 1, None, weight, outliers, found.parents)


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
    all snapshots. Nested clusters are followed by what was split from them.
    """
    if snapshots.parents is not None:
        nested: list[int] = []
        for j, parent in enumerate(snapshots.parents.tolist()):
            nested.insert(nested.index(parent) + 1 if j else 0, j)
        return nested
    shared = np.sum([found.P.T @ found.P for found in snapshots.all], axis=0)
    ring, left = [0], set(range(1, snapshots.k))
    while left:
        last = ring[-1]
        ring.append(max(sorted(left), key=lambda j: shared[last, j]))
        left.remove(ring[-1])
    return ring
