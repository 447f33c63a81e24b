"""DCD: a doubly stochastic matrix of k clusters that fits S by relative entropy."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from lordclust._core.typing import Affinity, ArrayLike, FloatArray, Graph, Seed
from lordclust._core.validation import check_choice
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import kmeans_labels, labels_from, shares_of_rows
from lordclust.rounding.spectral import degrees, normalized_eigenvectors

#: Added to the indicator of the initial labels, so that nothing is zero.
SOFTENING = 0.2
#: Multiplicative steps keep zeros at zero: memberships stay above this.
FLOOR = 1e-16
#: Two columns whose cosine is this close to 1 stay the same cluster.
SAME = 1e-6
#: Factor by which the limit of extrapolations grows when one reaches it.
FARTHER = 4.0

#: From W to the next W and the objective at W.
Step: TypeAlias = Callable[[FloatArray], tuple[FloatArray, float]]


class Descent(NamedTuple):
    """The result of a descent; ``history`` holds the objective at each iterate."""

    W: FloatArray
    residual: float  # how far one step moves W
    converged: bool
    history: FloatArray


@dataclass(eq=False, repr=False)
class DCD(RestartClusterer):
    """Data-cluster-data random walks: a Kullback-Leibler fit of S.

    Solves

        min -sum_ij S_ij log B_ij - (alpha - 1) sum_ik log W_ik
        over W >= 0, W1 = 1,   where B_ij = sum_k W_ik W_jk / sum_v W_vk

    with alpha = 1. W_ik is the probability of cluster k given sample i, and B, which
    is doubly stochastic, that of walking from i to a cluster and on to j. A prior
    alpha > 1 pulls W towards equal memberships and is used only for initialisation:
    from each start the problem is solved with every alpha of ``alphas``, each time
    continued with alpha = 1, and the smallest objective is kept [1]_ [2]_.

    The problem is the authors', and so is the bound that is minimised in each step.
    ``algorithm="paper"`` minimises it as they do, with multipliers that only drive the
    row sums towards 1; their formula and the initialisation are written from memory
    and were derived again. ``"fast"`` is our solver: it minimises the same bound on
    the simplex exactly and extrapolates (SQUAREM [3]_), never taking a step that
    raises the objective, with about a tenth of the passes over S.

    Parameters
    ----------
    n_clusters
    affinity : str, KNNGraph or callable, default="knn"
        How S is computed from X, as in :class:`lordclust.BLoRD`. S must be nonnegative
        and should be sparse.
    metric, n_neighbors
    init : {"ncut", "random"} or array of shape (n, n_clusters), default="ncut"
        "ncut": the labels of one k-means run on the eigenvectors of the normalised
        cut, as indicators + 0.2. "random": uniformly random memberships, much worse.
        An array: nonnegative memberships, scaled to row sums of 1.
    alphas : sequence of float, default=(1.0, 1.2, 2.0, 5.0)
        Priors, at least 1, for S scaled to a largest entry of 1. A prior whose
        solution has two equal clusters is skipped.
    n_init : int or "auto", default="auto"
        Starts ("auto": 10); the one with the best objective is kept. An array is one
        start.
    max_iter : int, default=1000
        Maximum number of iterations of each descent.
    tol : float, default=1e-4
        Tolerance on the residual.
    algorithm : {"fast", "paper"}, default="fast"
        See above. "paper" takes short steps: it needs ``tol=1e-6`` and thousands of
        iterations.
    random_state, verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The most probable cluster of each sample, ordered by decreasing size.
    sizes_
    membership_ : ndarray of shape (n, k)
        W: rows sum to 1.
    objective_ : float
        -sum_ij S_ij log B_ij at ``membership_``.
    residual_ : float
        ||W' - W||_F / ||W||_F, with W' one step of the algorithm (not extrapolated)
        from W: 0 at a stationary point.
    alpha_ : float
        The prior of the kept solution.
    n_iter_, converged_, history_
        Of the last descent, with alpha = 1, of the kept start.
    all_objectives_, affinity_matrix_

    Notes
    -----
    An iteration takes two passes over the stored entries of S ("paper": one), of
    O(nnz k) operations, and memory for O(nnz + nk) numbers: S may be large if it is
    sparse. A sample without similarities keeps its initial membership. The objective
    has many local optima, and convergence is slow if clusters overlap: with tens of
    thousands of samples, begin with ``n_init=1``.

    References
    ----------
    .. [1] Yang and Oja, "Clustering by low-rank doubly stochastic matrix
       decomposition", ICML 2012.
    .. [2] Yang, Corander and Oja, "Low-rank doubly stochastic matrix decomposition
       for cluster analysis", JMLR 17(187), 2016.
    .. [3] Varadhan and Roland, "Simple and globally convergent methods for
       accelerating the convergence of any EM algorithm", 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import DCD
    >>> model = DCD(3, random_state=0).fit(load_iris().data)
    >>> model.membership_.shape
    (150, 3)
    """

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    init: str | ArrayLike = "ncut"
    alphas: Sequence[float] = (1.0, 1.2, 2.0, 5.0)
    n_init: int | str = "auto"
    max_iter: int = 1000
    tol: float = 1e-4
    algorithm: str = "fast"
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.algorithm, ("fast", "paper"), "algorithm")
        if isinstance(self.init, str):
            check_choice(self.init, ("ncut", "random"), "init")
        check_alphas(self.alphas)

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        S, scale = unit_graph(data)
        for W in self._starts(S, k, rngs):
            alpha, (W, residual, converged, path) = self._best_prior(S, W)
            history = scale * path
            yield Run(
                labels_from(W), float(history[-1]), len(history) - 1, converged,
                history, membership=W,
                fitted={"alpha_": alpha, "residual_": residual},
            )  # fmt: skip

    def _starts(self, S: Graph, k: int, rngs: Rngs) -> Iterator[FloatArray]:
        """Yield W for each start."""
        n = S.shape[0]
        if not isinstance(self.init, str):
            W = np.array(self.init, dtype=np.float64)
            if W.shape != (n, k) or not np.isfinite(W).all() or W.min() < 0:
                raise ValueError(
                    f"init must hold nonnegative memberships of shape ({n}, {k}), got "
                    f'shape {W.shape}. Pass one row per sample, or "ncut".'
                )
            yield _floored(shares_of_rows(W))
        elif self.init == "random":
            yield from (shares_of_rows(rng.random((n, k))) for rng in rngs)
        else:
            Y = ncut_embedding(S, k)
            for rng in rngs:
                labels = kmeans_labels(Y, k, rng).labels
                yield shares_of_rows(np.eye(k)[labels] + SOFTENING)

    def _best_prior(self, S: Graph, W: FloatArray) -> tuple[float, Descent]:
        """Return the best descent from W through the priors, and its prior."""
        alphas = check_alphas(self.alphas)
        starts = {alpha: self._descend(S, W, alpha).W for alpha in alphas if alpha > 1}
        starts = {alpha: V for alpha, V in starts.items() if not has_twins(V)}
        if 1.0 in alphas or not starts:
            starts[1.0] = W
        ends = {alpha: self._descend(S, V, 1.0) for alpha, V in starts.items()}
        return min(ends.items(), key=lambda item: float(item[1].history[-1]))

    def _descend(self, S: Graph, W: FloatArray, alpha: float) -> Descent:
        step, descend = {
            "fast": (exact_step, extrapolated_descent),
            "paper": (relaxed_step, plain_descent),
        }[self.algorithm]
        return descend(partial(step, S, alpha), W, max_iter=self.max_iter, tol=self.tol)


def check_alphas(alphas: Sequence[float]) -> tuple[float, ...]:
    """Return the priors as floats of at least 1."""
    try:
        found = tuple(float(alpha) for alpha in alphas)
    except (TypeError, ValueError):
        found = ()
    if not found or not all(1 <= alpha < np.inf for alpha in found):
        raise ValueError(
            f"alphas must be a sequence of numbers of at least 1, got {alphas!r}. "
            "Pass (1.0,) to use no prior."
        )
    return found


def ncut_embedding(S: Graph, k: int) -> FloatArray:
    """Return D^-1/2 times the k leading eigenvectors of D^-1/2 S D^-1/2."""
    d = degrees(S)
    if not d.any():
        return np.zeros((len(d), k))
    U = normalized_eigenvectors(S, k).vectors
    return np.asarray(U / np.sqrt(np.where(d > 0, d, 1.0))[:, None])


def unit_graph(S: Graph) -> tuple[Graph, float]:
    """Return S as a CSR array with a largest entry of 1, and its scale."""
    S = sparse.csr_array(S, dtype=np.float64)
    scale = float(S.data.max(initial=0.0)) or 1.0
    return sparse.csr_array((S.data / scale, S.indices, S.indptr), S.shape), scale


def explained(S: Graph, W: FloatArray) -> tuple[FloatArray, float]:
    """Return A_ik = sum_j S_ij W_ik W_jk / (s_k B_ij), and -sum_ij S_ij log B_ij.

    A_ik is the part of row i of S that cluster k explains.
    """
    from lordclust.methods._solvers._dcd_kernels import products_at

    walk = W / W.sum(axis=0)
    B = np.empty(S.nnz)
    products_at(S.indices, S.indptr, walk, W, B)
    Z = sparse.csr_array((S.data / B, S.indices, S.indptr), S.shape)
    return np.asarray(walk * (Z @ W)), -float(S.data @ np.log(B))


def with_prior(J: float, W: FloatArray, alpha: float) -> float:
    """Return J - (alpha - 1) sum_ik log W_ik."""
    return J if alpha == 1 else J - (alpha - 1) * float(np.log(W).sum())


def exact_step(S: Graph, alpha: float, W: FloatArray) -> tuple[FloatArray, float]:
    """Return the minimiser of the bound at W, and the objective at W.

    Jensen's inequality for log B and the tangent of log s_k bound the objective by

        sum_ik (A_k / s_k) W'_ik - (2 A_ik + alpha - 1) log W'_ik + constant

    with A_k = sum_i A_ik, equal at W' = W: it falls wherever the bound does.
    """
    from lordclust.methods._solvers._dcd_kernels import minimise_rows

    A, J = explained(S, W)
    new = W.copy()
    minimise_rows(2 * A + (alpha - 1), A.sum(axis=0) / W.sum(axis=0), new)
    return _floored(new), with_prior(J, W, alpha)


def relaxed_step(S: Graph, alpha: float, W: FloatArray) -> tuple[FloatArray, float]:
    """Return the authors' step from W, rows scaled to 1, and the objective at W.

    The gradient is P / W - N / W; a multiplier drives the row sums towards 1.
    """
    A, J = explained(S, W)
    N = 2 * A + alpha
    P = W * (A.sum(axis=0) / W.sum(axis=0)) + 1
    a = (W * W / P).sum(axis=1, keepdims=True)
    b = (W * N / P).sum(axis=1, keepdims=True)
    return _floored(W * (a * N + W) / (a * P + b * W)), with_prior(J, W, alpha)


def plain_descent(step: Step, W: FloatArray, *, max_iter: int, tol: float) -> Descent:
    """Repeat the step until it moves W by no more than tol."""
    history = []
    for _ in range(max_iter + 1):
        new, J = step(W)
        history.append(J)
        residual = _change(new, W)
        if residual <= tol or len(history) > max_iter:
            break
        W = new
    return Descent(W, residual, residual <= tol, np.array(history))


def extrapolated_descent(
    step: Step, W: FloatArray, *, max_iter: int, tol: float
) -> Descent:
    """Repeat two steps and an extrapolation, kept only if the objective falls.

    The limit of the extrapolation grows on success and shrinks on failure.
    """
    W1, J = step(W)
    history, reach = [J], FARTHER
    while (residual := _change(W1, W)) > tol and len(history) <= max_iter:
        W2, J1 = step(W1)
        bend = float(np.linalg.norm(W2 - 2 * W1 + W))
        a = max(1.0, float(np.linalg.norm(W1 - W)) / bend) if bend > 0 else 1.0
        a = min(reach, a)
        E = extrapolated(W, W1, W2, a)
        E1, J = step(E)
        if J <= J1:
            W, W1 = E, E1
            reach = FARTHER * reach if a == reach else reach
        else:
            W, W1, J = W1, W2, J1
            reach = max(1.0, a / FARTHER)
        history.append(J)
    return Descent(W, residual, residual <= tol, np.array(history))


def extrapolated(W: FloatArray, W1: FloatArray, W2: FloatArray, a: float) -> FloatArray:
    """Return W + 2a (W1 - W) + a^2 (W2 - 2 W1 + W), which is W2 at a = 1.

    No entry falls below a thousandth of W2's.
    """
    E = W + (2 * a) * (W1 - W) + a * a * (W2 - 2 * W1 + W)
    return _floored(np.maximum(E, 1e-3 * W2))


def has_twins(W: FloatArray) -> bool:
    """Return whether two columns are equal up to scale: they would stay equal."""
    U = W / np.linalg.norm(W, axis=0)
    cosines = np.triu(U.T @ U, 1)
    return bool(cosines.max() > 1 - SAME)


def _floored(W: FloatArray) -> FloatArray:
    """Return W with rows of sum 1 and no zeros."""
    return shares_of_rows(np.maximum(W, FLOOR))


def _change(new: FloatArray, W: FloatArray) -> float:
    """Return ||new - W||_F / ||W||_F."""
    return float(np.linalg.norm(new - W) / np.linalg.norm(W))
