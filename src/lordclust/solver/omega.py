"""The feasible set Omega(mu) of V, with weights, known rows and soft shares."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from lordclust._core.typing import ArrayLike, FloatArray, IntArray
from lordclust._core.validation import (
    check_known_labels,
    check_known_shares,
    check_n_clusters,
    check_proportions,
    check_weights,
    split_proportions,
)
from lordclust.rounding.labels import CACHED, row_blocks


@dataclass(frozen=True)
class Omega:
    """All V >= 0 with V mu = mass in every row and sum_i weight_i V_i = mu.

    The scale of a row does not depend on the weight of its sample: weights enter only
    the sums over rows. With equal weights this is the paper's Omega(mu).

    Attributes
    ----------
    mu : ndarray of shape (k,)
        Square roots of the proportions.
    mass : ndarray of shape (n,)
        Values of V mu.
    weight : ndarray of shape (n,)
        Weight of each row.
    known : ndarray of int, shape (n,), optional
        Clusters of samples, -1 if unknown. Known rows have one entry, which restricts
        V to a face of the set.
    strength : float
        Infinite if the columns must sum to mu exactly. Otherwise deviations have a
        penalty in the objective, ``price`` |sum_i weight_i V_i - mu|^2.
    width : float
        Width of the spectrum of S; ``price`` is strength * width / n.
    """

    mu: FloatArray
    mass: FloatArray
    weight: FloatArray
    known: IntArray | None = None
    strength: float = np.inf
    width: float = 1.0

    @classmethod
    def of(
        cls,
        mu: FloatArray,
        n: int,
        p: FloatArray | None = None,
        *,
        known: IntArray | None = None,
        strength: float = np.inf,
    ) -> Self:
        """Return the set for n samples with probabilities p, equal by default."""
        # n times 1/n need not be 1 to the last bit.
        weight = np.ones(n) if p is None or p.min() == p.max() else n * p
        return cls(mu, np.full(n, 1 / n), weight, known, strength)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and clusters."""
        return len(self.mass), len(self.mu)

    @property
    def one_each(self) -> bool:
        """Whether the only hard V have each sample as a cluster of its own."""
        alike = self.equal and self.known is None and np.ptp(self.mu) == 0
        return len(self.mu) == len(self.mass) and self.exact and bool(alike)

    @property
    def equal(self) -> bool:
        """Whether all samples have the same weight."""
        return bool(np.all(self.weight == 1))

    @property
    def exact(self) -> bool:
        """Whether the columns must sum to mu exactly."""
        return self.strength == np.inf

    @property
    def price(self) -> float:
        """Factor of the penalty |sum_i weight_i V_i - mu|^2."""
        return self.strength * self.width / len(self.mass)

    @property
    def bound(self) -> float:
        """An upper bound on the largest eigenvalue of VV' (Q^1/2 VV' Q^1/2)."""
        # If V'1 = mu, it is the largest mass; otherwise column sums are at most 1/mu.
        return float(self.mass.max() / (1 if self.exact else (self.mu**2).min()))

    def ease(self, step: float) -> float:
        """Return how much a column sum changes with its multiplier, at this step."""
        # No penalty is treated as a very small one, with multipliers of nearly 0.
        least = 1e-9 / len(self.mass)
        return 0.0 if self.exact else 1 / max(step * self.price, least)

    def open_clusters(self) -> IntArray:
        """Return the clusters without known samples."""
        clusters = np.arange(len(self.mu))
        return clusters if self.known is None else np.setdiff1d(clusters, self.known)

    def weighted(self, V: FloatArray) -> FloatArray:
        """Return V with each row times its weight."""
        return np.asarray(self.weight[:, None] * V)

    def column_sums(self, V: FloatArray) -> FloatArray:
        """Return sum_i weight_i V_i."""
        blocks = row_blocks(*V.shape, numbers=CACHED)
        sums = ((self.weight[b, None] * V[b]).sum(axis=0) for b in blocks)
        return sum(sums, start=np.zeros(V.shape[1]))

    def norm2(self, V: FloatArray) -> float:
        """Return sum_i weight_i |V_i|^2."""
        blocks = row_blocks(*V.shape, numbers=CACHED)
        parts = (self.weight[b, None] * V[b] * V[b] for b in blocks)
        return sum(float(part.sum(dtype=np.float64)) for part in parts)

    def penalty(self, V: FloatArray) -> float:
        """Return the penalty of columns that do not sum to mu."""
        if self.exact:
            return 0.0
        return self.price * float(((self.column_sums(V) - self.mu) ** 2).sum())

    def with_known(self, V: FloatArray) -> FloatArray:
        """Return V with the rows of known samples set to their clusters."""
        if self.known is None:
            return V
        rows = np.flatnonzero(self.known >= 0)
        clusters = self.known[rows]
        V = V.copy()
        V[rows] = 0.0
        V[rows, clusters] = self.mass[rows] / self.mu[clusters]
        return V


def make_omega(
    n: int,
    n_clusters: int,
    proportions: object = None,
    sample_weight: ArrayLike | None = None,
    known_labels: ArrayLike | None = None,
    *,
    auto: bool = False,
) -> tuple[Omega, FloatArray]:
    """Return the set that the parameters describe, and its shares; check everything.

    With ``auto`` the shares are chosen later: those returned are as equal as the known
    labels allow.
    """
    k = check_n_clusters(n_clusters, n)
    p = known = None
    if sample_weight is not None:
        p = check_weights(sample_weight, n)
    if known_labels is not None:
        known = check_known_labels(known_labels, n, k)
    shares, strength = np.full(k, 1 / k), np.inf
    if auto and known is not None:
        shares = check_proportions(shares_around(known, k, p), k)
    elif auto:
        shares /= shares.sum()  # to the last bit
    elif proportions is not None:
        prior, strength = split_proportions(proportions)
        shares = check_proportions(prior, k)
    omega = Omega.of(np.sqrt(shares), n, p, known=known, strength=strength)
    if omega.exact and known is not None:
        check_known_shares(known, shares, omega.weight / n)
    return omega, shares


def shares_around(known: IntArray, k: int, p: FloatArray | None) -> FloatArray:
    """Return shares as equal as the known labels allow."""
    mass = np.full(len(known), 1 / len(known)) if p is None else p
    taken = np.bincount(known[known >= 0], mass[known >= 0], minlength=k)
    # A cluster without known samples gets a part of the rest, however small.
    wanted = np.maximum(1 / k - taken, 1e-3 / k)
    return np.asarray(taken + (1 - taken.sum()) * wanted / wanted.sum())
