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
    """The clusters at one tau, or at one level of nested clusters."""

    tau: float | None  # None for a model that has no tau, and for a level
    P: FloatArray  # memberships, (n, k)
    labels: IntArray


@dataclass(frozen=True)
class Snapshots:
    """All snapshots of a report, with matching columns, by increasing tau.

    Those of nested clusters are levels, by increasing number of clusters.
    """

    all: list[Snapshot]
    start: int  # the one that is shown first: the model's own, or the last
    shares: FloatArray | None  # the requested or chosen shares of the samples
    weight: FloatArray  # sample weights, 1 on average
    outliers: BoolArray  # samples whose label is only the most probable cluster
    parents: IntArray | None = None  # the cluster that each nested one was split from
    soft: bool = True  # whether there are probabilities, not only labels
    calibrated: bool = False  # whether those of the model are, and so not at a tau
    chosen: bool = False  # whether the shares were chosen automatically

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
        soft=hasattr(model, "membership_"),
        calibrated=getattr(model, "gamma", None) is None and _has_auto(model, "tau"),
        chosen=_has_auto(model, "proportions"),
    )  # fmt: skip


def _has_auto(model: Estimator, name: str) -> bool:
    """Return whether a model has a parameter of this name, which is "auto"."""
    return is_auto(getattr(model, name, None))


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
