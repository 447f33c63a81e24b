"""S3NMF: self-supervised symmetric nonnegative matrix factorisation."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from lordclust._core.typing import Affinity, FloatArray, Graph, IntArray, Seed
from lordclust._core.validation import check_choice, check_count
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.methods._solvers.factor import (
    Factor,
    check_exponent,
    labels_of_rows,
    multiplicative,
    square_norm,
)
from lordclust.result import Run
from lordclust.rounding.labels import shares_of_rows

#: Losses count as at least this fraction of ||S||_F^2, so that weights stay bounded
#: when members fit S exactly.
SMALLEST_LOSS = 1e-10
#: Mean NMI at which the members agree.
AGREED = 0.999
#: Rounds without a larger mean NMI before stopping.
PATIENCE = 2


@dataclass(eq=False, repr=False)
class S3NMF(RestartClusterer):
    """Self-supervised symmetric nonnegative matrix factorisation.

    An ensemble of ``n_members`` symmetric factorisations supervises itself [1]_. Each
    round solves

        min sum_m a_m^2 ||S - V_m V_m'||_F^2   over   V_m >= 0,  a >= 0,  sum_m a_m = 1

    with every V_m from its own random start, then replaces S by the consensus of the
    members: sum_m a_m B_m B_m' with B_m the partition of member m ("hard"), or
    sum_m a_m V_m V_m' ("soft"). ``labels_`` are those of the member with the largest
    weight in the last round.

    This is the published algorithm, with ``exponent=0.25`` and at least 300 iterations
    for each member, as read in the authors' public code; their paper was not read.
    Differences: the code measures the loss in the weights by the spectral norm (see
    ``weight_norm``); it stops all members together, by the weighted sum of their
    losses, while here each stops by its own, at the change that is the same on
    average; and it always runs all rounds, while here they end early if the members
    agree (mean NMI above 0.999) or the mean NMI has not increased for two rounds.

    Parameters
    ----------
    n_clusters
    affinity : str, KNNGraph or callable, default="knn"
        How the first S is computed from X, as in :class:`lordclust.BLoRD`. S must be
        nonnegative.
    metric, n_neighbors
    n_members : int, default=20
        Factorisations per round.
    n_rounds : int, default=10
        Maximum number of rounds.
    mode : {"hard", "soft"}, default="hard"
        Whether S is rebuilt from the partitions or from the factors.
    weight_norm : {"fro", "spectral"}, default="fro"
        Norm of S - V_m V_m' that determines the weights.
    exponent : {"auto", 0.25, 0.5, 0.75}, default=0.25
        Exponent of the multiplicative update, as in :class:`SymNMF`. "auto" needs
        about a third of the iterations: lower ``min_iter`` with it.
    min_iter, max_iter : int, default=300 and 500
        Minimum and maximum number of iterations of a member.
    tol : float, default=1e-3
        A member stops when its loss changes by at most ``tol * n_members`` times the
        square of the largest entry of S.
    random_state : int, RandomState or None, default=None
        Seed for the starts of the members.
    n_init : int or "auto", default="auto"
        Unused: the members take the place of restarts.
    verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Labels of the member with the largest weight, 0 to k-1. Clusters are ordered
        by decreasing size, then by their first sample. Isolated vertices join the
        largest cluster.
    sizes_
    membership_ : ndarray of shape (n, k)
        Rows of its V scaled to sum to 1.
    V_ : ndarray of shape (n, k)
        Its factor.
    members_labels_ : ndarray of int, shape (n_members, n)
        Labels of all members in the last round, each in its own numbering.
    weights_ : ndarray of shape (n_members,)
        The weights a of the last round.
    mean_nmi_ : ndarray of shape (rounds,)
        Mean NMI over the pairs of members after each round.
    objective_ : float
        The objective of the last round, for its S; not comparable between rounds.
    n_iter_, history_
        Number of rounds, and the objective of each.
    converged_ : bool
        Whether all members of the last round met ``tol``, or, as in the code, the
        objective changed by at most ``tol`` times the square of the largest entry of
        S in their last iteration.
    all_objectives_ : ndarray of shape (1,)
        ``objective_``: the members replace restarts.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The first S.

    Notes
    -----
    The rebuilt S is never formed. In hard mode a product S V costs
    O(n k + p n_members k) where p is the number of different rows of labels, and
    memory is O(n k n_members); in soft mode the product costs O(n k^2 n_members).

    Studies report the mean score of the members: use ``members_labels_``.

    References
    ----------
    .. [1] Jia, Liu, Hou, Kwong, Zhang, "Self-supervised symmetric nonnegative matrix
       factorization", IEEE Transactions on Circuits and Systems for Video Technology
       32(7), 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import S3NMF
    >>> model = S3NMF(3, n_members=5, n_rounds=2, random_state=0)
    >>> model.fit(load_iris().data).members_labels_.shape
    (5, 150)
    """

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    n_members: int = 20
    n_rounds: int = 10
    mode: str = "hard"
    weight_norm: str = "fro"
    exponent: float | str = 0.25
    min_iter: int = 300
    max_iter: int = 500
    tol: float = 1e-3
    random_state: Seed = None
    n_init: int | str = "auto"
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("n_members", "n_rounds", "min_iter"):
            check_count(getattr(self, name), name)
        check_choice(self.mode, ["hard", "soft"], "mode")
        check_choice(self.weight_norm, ["fro", "spectral"], "weight_norm")
        check_exponent(self.exponent)

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        n = data.shape[0]
        S: Similarity = Given(data.astype(np.float64, copy=False))
        rounds: list[Round] = []
        while len(rounds) < self.n_rounds and not has_settled(rounds):
            if rounds and self.mode == "hard":
                S = Consensus(rounds[-1].labels, rounds[-1].weights, k)
            elif rounds:
                S = Blend([m.V for m in rounds[-1].members], rounds[-1].weights)
            starts = (1 - rngs[0].random((n, k)) for _ in range(self.n_members))
            members = [self._member(S, V) for V in starts]
            rounds.append(summary(S, members, k, self.weight_norm))
        last = rounds[-1]
        best = int(np.argmax(last.weights))
        V = last.members[best].V
        converged = all(factor.converged for factor in last.members)
        yield Run(
            last.labels[best], last.objective, len(rounds),
            converged or last.change <= self.tol * S.largest**2,
            np.array([r.objective for r in rounds]),
            membership=shares_of_rows(V), columns={"V_": V},
            fitted={
                "members_labels_": last.labels,
                "weights_": last.weights,
                "mean_nmi_": np.array([r.mean_nmi for r in rounds]),
            },
        )  # fmt: skip

    def _member(self, S: "Similarity", V: FloatArray) -> Factor:
        """Return the factor of S from the start V."""
        limit = self.tol * self.n_members * S.largest**2

        def stop(history: list[float], change: float) -> bool:
            if len(history) <= self.min_iter + 1:
                return False
            return 2 * abs(history[-2] - history[-1]) <= limit

        return multiplicative(
            S, V, S.square, stop, max_iter=self.max_iter, exponent=self.exponent
        )


# -- the three kinds of S: products with it, ||S||_F^2 and its largest entry ----------


class Given:
    """The given S."""

    def __init__(self, S: Graph) -> None:
        self.S, self.square, self.largest = S, square_norm(S), float(S.max())

    def __matmul__(self, V: FloatArray) -> FloatArray:
        return np.asarray(self.S @ V)


class Consensus:
    """sum_m a_m B_m B_m' for partitions B_m: the weight of members that join i and j.

    Samples with the same labels in all members have the same row: the product is
    computed once for each of these groups.
    """

    def __init__(self, labels: IntArray, weights: FloatArray, k: int) -> None:
        n = labels.shape[1]
        rows, self.group = np.unique(labels.T, axis=0, return_inverse=True)
        self.group = self.group.ravel()
        p, ones = len(rows), np.ones(n)
        self.sums = sparse.csr_array((ones, (self.group, np.arange(n))), (p, n))
        self.weights = np.repeat(weights, k)[:, None]
        self.parts = _indicators(rows.T, k)
        C = _joint_counts(labels, k)
        self.square = float((self.weights * C**2 * self.weights.T).sum())
        self.largest = 1.0  # on the diagonal, where all members agree

    def __matmul__(self, V: FloatArray) -> FloatArray:
        inner = self.weights * (self.parts.T @ (self.sums @ V))
        return np.asarray((self.parts @ inner)[self.group])


class Blend:
    """sum_m a_m V_m V_m', stored as its factor."""

    def __init__(self, factors: list[FloatArray], weights: FloatArray) -> None:
        scaled = [np.sqrt(a) * V for a, V in zip(weights, factors, strict=True)]
        self.F = np.hstack(scaled)
        self.square = square_norm(self.F.T @ self.F)
        self.largest = float((self.F**2).sum(axis=1).max())  # on the diagonal

    def __matmul__(self, V: FloatArray) -> FloatArray:
        return np.asarray(self.F @ (self.F.T @ V))


Similarity: TypeAlias = Given | Consensus | Blend


# -- the result of a round -----------------------------------------------------------


class Round(NamedTuple):
    """The members of a round and their summary."""

    members: list[Factor]
    labels: IntArray
    weights: FloatArray
    objective: float
    change: float  # of the objective in the last iteration of each member
    mean_nmi: float


def summary(S: Similarity, members: list[Factor], k: int, norm: str) -> Round:
    """Return the round of these members."""
    labels = np.array([labels_of_rows(factor.V) for factor in members])
    losses = np.array([2 * factor.history[-1] for factor in members])
    if norm == "spectral":
        losses = np.array([spectral_norm(S, factor.V) ** 2 for factor in members])
    weights = best_weights(losses, SMALLEST_LOSS * S.square)
    changes = np.array([2 * np.ptp(factor.history[-2:]) for factor in members])
    loss, change = float(weights**2 @ losses), float(weights**2 @ changes)
    return Round(members, labels, weights, loss, change, mean_nmi(labels, k))


def best_weights(losses: FloatArray, smallest: float) -> FloatArray:
    """Return the a on the simplex that minimises sum a_m^2 losses_m: a_m ~ 1 / loss_m.

    Losses count as at least ``smallest``; if that is 0, and so is a loss, S is zero
    and all members are equal.
    """
    losses = np.maximum(losses, smallest)
    if not losses.all():
        return np.full(len(losses), 1 / len(losses))
    weights = losses.min() / losses
    return np.asarray(weights / weights.sum())


def spectral_norm(S: Similarity, V: FloatArray) -> float:
    """Return ||S - VV'||_2 by power iteration, to about three digits."""
    x = np.random.default_rng(0).standard_normal((len(V), 1))
    before, norm = 0.0, float(np.linalg.norm(x))
    while norm > 0 and abs(norm - before) > 1e-6 * norm:
        x /= norm
        x = S @ x - V @ (V.T @ x)
        before, norm = norm, float(np.linalg.norm(x))
    return norm


def mean_nmi(labels: IntArray, k: int) -> float:
    """Return the mean NMI over all pairs of the rows of ``labels``; 1 for one row.

    NMI is the mutual information over the mean of the two entropies.
    """
    b, n = labels.shape
    if b == 1:
        return 1.0
    joint = _joint_counts(labels, k).reshape(b, k, b, k) / n
    logs = np.log(np.where(joint > 0, joint, 1.0))
    H = -(joint * logs).sum(axis=(1, 3))  # of pairs; of single members on the diagonal
    own = np.diagonal(H)
    total = own[:, None] + own
    nmi = np.where(total > 0, 2 * (total - H) / np.where(total > 0, total, 1.0), 1.0)
    return float((nmi.sum() - np.trace(nmi)) / (b * (b - 1)))


def has_settled(rounds: list[Round]) -> bool:
    """Return whether the members agree, or their agreement has stopped increasing."""
    scores = [r.mean_nmi for r in rounds]
    if not scores:
        return False
    stalled = len(scores) - 1 - int(np.argmax(scores)) >= PATIENCE
    return scores[-1] > AGREED or stalled


def _indicators(labels: IntArray, k: int) -> Graph:
    """Return [B_1, ..., B_b] as a sparse n x bk matrix, from labels (b, n)."""
    b, n = labels.shape
    columns = (labels + k * np.arange(b)[:, None]).T.ravel()
    return sparse.csr_array(
        (np.ones(n * b), columns, np.arange(0, n * b + 1, b)), shape=(n, b * k)
    )


def _joint_counts(labels: IntArray, k: int) -> FloatArray:
    """Return B'B with B = [B_1, ..., B_b]: the number of samples with both labels."""
    B = _indicators(labels, k)
    return np.asarray((B.T @ B).toarray())
