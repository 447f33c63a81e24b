"""DBSC: discrete and balanced spectral clustering."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from lordclust._core.typing import Affinity, FloatArray, Graph, IntArray, Seed
from lordclust._core.validation import check_choice, check_nonnegative, check_positive
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.methods._solvers.coordinate import cd_scaled
from lordclust.result import Run
from lordclust.rounding.labels import procrustes
from lordclust.rounding.spectral import normalized_affinity, normalized_eigenvectors

#: Power steps for F in each iteration.
POWER_STEPS = 15


@dataclass(eq=False, repr=False)
class DBSC(RestartClusterer):
    """Discrete and balanced spectral clustering.

    Finds a spectral embedding F, a rotation R and labels together:

        min Tr(F'LF) + alpha ||FR - G||_F^2 + beta sum_j (k n_j / n)^2
        over F'F = I, R'R = I and labels

    with L = I - D^-1/2 S D^-1/2, n_j the size of cluster j and G = Y (Y'Y)^-1/2 its
    scaled indicator. The last sum is k for equal sizes, and k^2 if one cluster has
    all samples.

    A reconstruction: the paper [1]_ could not be read, and no code of its authors was
    found. Known from the abstract: the embedding and the discrete labels are learned
    in one step, with spectral rotation and a soft regularisation of the sizes. The
    three steps (power steps for F, a singular value decomposition for R, coordinate
    descent for the scaled indicator) are those of related work by some of the same
    authors [2]_. The form of the objective, its parameters, their defaults and the
    order of the steps are ours.

    Parameters
    ----------
    n_clusters
    alpha : float, default=0.01
        Weight of the labels in the embedding. Near 0, F stays at the eigenvectors of
        L; above 0.1, F soon follows the first labels, and the results of the starts
        differ. At 0.01 most starts agree, and Tr(G'LG) of their labels is small.
    beta : float, default=0.001
        Penalty of unequal sizes, 0 or more. For a sample, a cluster of twice the mean
        size costs about 2 beta / alpha of the gain of its right cluster.
    indicator : {"scaled", "plain"}, default="scaled"
        "plain" takes G = Y sqrt(k/n), the same if all clusters are equally large.
    affinity, metric, n_neighbors
    n_init : int or "auto", default="auto"
        Random starts ("auto": 10); the one with the smallest objective is kept.
    max_iter : int, default=100
        Maximum number of iterations of each start.
    tol : float, default=1e-6
        Stop when an iteration lowers the objective by less than this share of it, or
        of alpha k if that is larger.
    random_state : int, RandomState or None, default=None
        Seed for the random initial labels.
    verbose

    Attributes
    ----------
    labels_, sizes_
    embedding_ : ndarray of shape (n, k)
        FR, a column for each cluster: near G.
    objective_, n_iter_, converged_, history_
        Of the kept start; ``history_`` is its objective after each iteration, which
        never rises.
    all_objectives_ : ndarray of shape (n_init,)
        Final objective of every start; not comparable between alphas or betas.
    affinity_matrix_

    Notes
    -----
    An iteration costs O(nnz(S) k + n k^2); a sparse S stays sparse. The variant of
    the paper for large data, with a graph of samples and anchors, is not implemented.
    No cluster is ever empty. If S has more than k connected components, F begins with
    the k largest, and the steps for labels and F assign the others.

    References
    ----------
    .. [1] Wang, Chen, Lu, Zhang, Nie, Li, "Discrete and Balanced Spectral Clustering
       With Scalability", IEEE TPAMI 45(12), 2023.
    .. [2] Lu, Lu, Wang, Nie, Li, on multiple kernel k-means with spectral rotation
       (MKKM-SR), ICASSP 2022; read in their code.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import DBSC
    >>> model = DBSC(3, random_state=0).fit(load_iris().data)
    >>> model.embedding_.shape
    (150, 3)
    """

    n_clusters: int = 8
    _: KW_ONLY
    alpha: float = 0.01
    beta: float = 0.001
    indicator: str = "scaled"
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    n_init: int | str = "auto"
    max_iter: int = 100
    tol: float = 1e-6
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.indicator, ("scaled", "plain"), "indicator")
        check_positive(self.alpha, "alpha")
        check_nonnegative(self.beta, "beta")

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        power = 0.0 if self.indicator == "plain" else 0.5
        P = normalized_affinity(data)
        model = Model(P, float(self.alpha), float(self.beta), power)
        F = normalized_eigenvectors(data, k).vectors
        for rng in rngs:
            start = random_labels(F.shape[0], k, rng)
            yield descend(model, F, start, max_iter=self.max_iter, tol=self.tol)


class Model(NamedTuple):
    """The objective of DBSC."""

    P: Graph  # D^-1/2 S D^-1/2
    alpha: float
    beta: float
    power: float  # 0.5 for the scaled indicator, 0 for the plain one

    def indicator(self, labels: IntArray, k: int) -> FloatArray:
        """Return G, with ||G||_F^2 = k."""
        n = len(labels)
        sizes = np.bincount(labels, minlength=k)
        G = np.zeros((n, k))
        G[np.arange(n), labels] = self._scale(n, k) * sizes[labels] ** -self.power
        return G

    def objective(self, F: FloatArray, R: FloatArray, labels: IntArray) -> float:
        """Return Tr(F'LF) + alpha ||FR - G||_F^2 + beta sum_j (k n_j / n)^2."""
        n, k = F.shape
        G = self.indicator(labels, k)
        rough = k - np.sum(F * (self.P @ F))
        shares = np.bincount(labels, minlength=k) * (k / n)
        return float(
            rough + self.alpha * np.sum((F @ R - G) ** 2) + self.beta * shares @ shares
        )

    def improve_labels(self, Q: FloatArray, labels: IntArray) -> IntArray:
        """Move single samples until none lowers the objective, for Q = FR."""
        n, k = Q.shape
        # Divided by 2 alpha, the terms with labels are -Tr(Q'G) and this price.
        price = self.beta * (k / n) ** 2 / (2 * self.alpha)
        Q = self._scale(n, k) * Q
        return cd_scaled(Q, labels, power=self.power, balance=price).labels

    def improve_embedding(self, F: FloatArray, target: FloatArray) -> FloatArray:
        """Lower Tr(F'LF) + alpha ||F - target||_F^2, for target = GR'.

        With 2I - L = I + P positive semidefinite, maximising the tangent of
        Tr(F'(I + P)F) + 2 alpha Tr(F'target) never lowers it.
        """
        for _ in range(POWER_STEPS):
            F = procrustes(F + self.P @ F + self.alpha * target)
        return F

    def _scale(self, n: int, k: int) -> float:
        return 1.0 if self.power else float(np.sqrt(k / n))


def descend(
    model: Model, F: FloatArray, labels: IntArray, *, max_iter: int, tol: float
) -> Run:
    """Alternate R, labels and F until the objective stops falling."""
    k = F.shape[1]
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        R = procrustes(F.T @ model.indicator(labels, k))
        # Labels before F: otherwise F would follow the random labels of the start.
        labels = model.improve_labels(F @ R, labels)
        F = model.improve_embedding(F, model.indicator(labels, k) @ R.T)
        history.append(model.objective(F, R, labels))
        # The objective itself may be 0: alpha k is the size of its second term.
        enough = tol * max(history[-1], model.alpha * k)
        converged = len(history) > 1 and history[-2] - history[-1] <= enough
    return Run(
        labels, history[-1], len(history), converged, np.array(history),
        columns={"embedding_": F @ R},
    )  # fmt: skip


def random_labels(n: int, k: int, rng: np.random.Generator) -> IntArray:
    """Return uniformly random labels without empty clusters."""
    labels = rng.integers(0, k, n)
    labels[rng.permutation(n)[:k]] = np.arange(k)
    return labels
