"""V or an embedding -> labels and probabilities."""

from typing import NamedTuple

import numpy as np

from lordclust._typing import FloatArray, IntArray


def membership_from(V: FloatArray, mu: FloatArray, mass: FloatArray) -> FloatArray:
    """Return P = diag(mass)^-1 V diag(mu): rows sum to 1, P_ij = P(y_i = j | x_i).

    A row without mass (weight 0) is nobody's sample: it gets the proportions.
    """
    P = V * mu
    total = P.sum(axis=1, keepdims=True)
    empty = (mass <= 0) | (total[:, 0] <= 0)  # so light that V underflowed
    P[empty], total[empty] = mu * mu, 1.0
    return np.asarray(P / total)


def labels_from(P: FloatArray) -> IntArray:
    """Return the most probable cluster of each row."""
    return np.asarray(P.argmax(axis=1), dtype=np.int64)


def canonical_order(labels: IntArray, proportions: FloatArray) -> IntArray:
    """Return the clusters in an order that does not depend on the run.

    Clusters of equal proportion are interchangeable: the largest comes first, then
    the one whose first sample comes first. Clusters of different proportions keep
    the places the user gave them.
    """
    k = len(proportions)
    sizes = np.bincount(labels, minlength=k)
    firsts = np.full(k, len(labels))
    found, where = np.unique(labels, return_index=True)
    firsts[found] = where
    order = np.empty(k, dtype=np.int64)
    for share in np.unique(proportions):
        places = np.flatnonzero(proportions == share)
        order[places] = sorted(places, key=lambda j: (-sizes[j], firsts[j]))
    return order


class KMeansLabels(NamedTuple):
    """A k-means partition of an embedding."""

    labels: IntArray
    inertia: float
    n_iter: int


def kmeans_labels(
    U: FloatArray, k: int, rng: np.random.Generator, *, n_init: int = 1
) -> KMeansLabels:
    """Return the clusters of the rows of U by scikit-learn's k-means."""
    from sklearn.cluster import KMeans

    seed = int(rng.integers(np.iinfo(np.int32).max))
    model = KMeans(k, n_init=n_init, max_iter=1000, random_state=seed).fit(U)
    labels = model.labels_.astype(np.int64)
    return KMeansLabels(labels, float(model.inertia_), model.n_iter_)


def shares_of_rows(V: FloatArray) -> FloatArray:
    """Return nonnegative V with rows scaled to sum 1; a zero row becomes uniform."""
    total = V.sum(axis=1, keepdims=True)
    empty = ~(total[:, 0] > 0)
    P = V / np.where(total > 0, total, 1.0)
    P[empty] = 1 / V.shape[1]
    return np.asarray(P)
