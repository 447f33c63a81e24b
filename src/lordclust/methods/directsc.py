"""DirectSC: a graph with exactly k components, learned from the given one."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lordclust._core.typing import Affinity, FloatArray, Graph, IntArray, Seed
from lordclust._core.validation import check_positive, unknown_name
from lordclust._core.warn import warn_user
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import discretize
from lordclust.rounding.spectral import (
    components,
    degrees,
    leading_eigenvectors,
    unit_rows,
    warn_of_components,
)

#: The first lam of the search, as in the code of the authors' earlier method.
FIRST_LAM = 0.1


@dataclass(eq=False, repr=False)
class DirectSC(RestartClusterer):
    """Direct spectral clustering: the labels are the components of a learned graph.

    Approximates the graph W nearest to the given one that has exactly k connected
    components, by

        min ||W - A||_F^2 + 2 lam Tr(F'L_W F)
        over W >= 0, W1 = 1, W_ij = 0 where A_ij = 0, and F'F = I (n x k)

    with A the graph S without its diagonal and rows scaled to sum 1, and L_W the
    Laplacian of (W + W')/2. The trace is 0 exactly when W has k components or more;
    lam is doubled while W has fewer, and halved when it has more.

    A reconstruction: the paper [1]_ could not be read, and no code of its authors was
    found. Known from the abstract: a discrete indicator and a similarity with exactly
    k components are learned together, and either gives the labels. The problem and
    the search for lam solved here are those of an earlier method by some of the same
    authors [2]_, read in a public copy of their code. Using it in place of the newer
    one, the scaling of the rows, and the fallback if the search fails, are ours.

    Parameters
    ----------
    n_clusters
    lam : float or "auto", default="auto"
        Weight of the trace. "auto" searches for one that gives k components. With a
        number, W and F are improved in turn at this lam.
    affinity, metric, n_neighbors
    max_iter : int, default=30
        Maximum number of updates of W and F.
    tol : float, default=1e-6
        For a given lam: stop when the objective falls by less than this share of it.
    n_init : int or "auto", default="auto"
        Unused: the algorithm is deterministic.
    random_state : int, RandomState or None, default=None
        Unused: the algorithm is deterministic.
    verbose

    Attributes
    ----------
    labels_, sizes_
    W_ : csr_array of shape (n, n)
        The learned graph; rows sum to 1.
    n_components_ : int
        Number of components of ``W_``. If it is k, they are the labels.
    embedding_ : ndarray of shape (n, k)
        F, the bottom eigenvectors of L_W.
    lam_ : float
        The lam of ``W_``; 0 if S itself has k components or more.
    objective_, n_iter_, converged_, history_
        Final state, and the objective after each update, which never rises while lam
        stays the same.
    all_objectives_ : ndarray of shape (1,)
        ``objective_``: nothing is random.
    affinity_matrix_

    Notes
    -----
    If no lam gives k components, the labels are the discretisation of Yu and Shi of F
    for the last graph with fewer. Components have at least two samples, unless S has
    isolated ones: k must be small compared to n. If a graph has more than k
    components, the smallest ones join the largest: nothing in S determines where they
    belong. Both cases issue a warning.

    An update costs O(nnz(S) k) and the eigenvectors of a sparse graph that is almost
    disconnected, which converge slowly. A variant with a discrete F is not implemented.

    References
    ----------
    .. [1] Nie, Liu, Wang, Li, "A Novel and Effective Method to Directly Solve
       Spectral Clustering", IEEE TPAMI 46(12), 2024.
    .. [2] Nie, Wang, Jordan, Huang, "The Constrained Laplacian Rank Algorithm for
       Graph-Based Clustering", AAAI 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import DirectSC
    >>> model = DirectSC(3).fit(load_iris().data)
    >>> model.n_components_
    3
    """

    n_clusters: int = 8
    _: KW_ONLY
    lam: float | str = "auto"
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    max_iter: int = 30
    tol: float = 1e-6
    n_init: int | str = "auto"
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.lam, str):
            check_positive(self.lam, "lam")
        elif self.lam != "auto":
            raise unknown_name("lam", self.lam, ["auto"])

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        A = row_scaled(data)
        if self.lam == "auto":
            state = search(A, k, max_iter=self.max_iter)
        else:
            state = descend(A, k, float(self.lam), max_iter=self.max_iter, tol=self.tol)
        warn_of_components(state.W, k, "DirectSC")
        yield Run(
            labels_of(state, k), objective(state.W, A, state.F, state.lam),
            len(state.history), state.converged, np.array(state.history),
            fitted={
                "W_": state.W,
                "n_components_": int(state.parts.max()) + 1,
                "embedding_": state.F,
                "lam_": state.lam,
            },
        )  # fmt: skip

    def _warn(self, run: Run, k: int) -> None:
        if run.converged or self.lam != "auto":
            super()._warn(run, k)
            return
        warn_user(
            f"DirectSC found no graph with {k} components in max_iter={self.max_iter} "
            f"steps, only one with {run.fitted['n_components_']}, whose embedding gave "
            "the labels. Raise max_iter, lower n_clusters, or pass a number as lam.",
            ConvergenceWarning,
        )


class State(NamedTuple):
    """The result of the updates; ``parts`` has the component of each sample."""

    W: Graph
    F: FloatArray
    parts: IntArray
    lam: float
    history: list[float]
    converged: bool


def row_scaled(S: Graph) -> Graph:
    """Return S in CSR form without its diagonal, rows scaled to sum 1.

    An isolated sample gets a link to itself.
    """
    A = sparse.coo_array(S, dtype=np.float64)
    links = (A.row != A.col) & (A.data > 0)
    rows, cols, values = A.row[links], A.col[links], A.data[links]
    total = np.bincount(rows, values, minlength=A.shape[0])
    alone = np.flatnonzero(total == 0)
    values = np.concatenate([values / total[rows], np.ones(len(alone))])
    rows, cols = np.concatenate([rows, alone]), np.concatenate([cols, alone])
    return sparse.csr_array((values, (rows, cols)), A.shape)


def search(A: Graph, k: int, *, max_iter: int) -> State:
    """Search for a lam at which W has exactly k components.

    If none is found, return the last W with fewer.
    """
    F, parts = bottom_eigenvectors(A, k)
    if parts.max() + 1 >= k:
        return State(A, F, parts, 0.0, [0.0], True)
    lam = FIRST_LAM
    history: list[float] = []
    best = State(A, F, parts, 0.0, history, False)
    while not best.converged and len(history) < max_iter:
        W, F, parts = improve(A, best.F, lam, history)
        count = parts.max() + 1
        if count <= k:
            best = State(W, F, parts, lam, history, bool(count == k))
        lam = 2 * lam if count < k else lam / 2
    return best


def descend(A: Graph, k: int, lam: float, *, max_iter: int, tol: float) -> State:
    """Improve W and F in turn at a given lam."""
    F, _ = bottom_eigenvectors(A, k)
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        W, F, parts = improve(A, F, lam, history)
        fall = history[-2] - history[-1] if len(history) > 1 else history[-1]
        converged = bool(fall <= tol * history[-1])
    return State(W, F, parts, lam, history, converged)


def improve(
    A: Graph, F: FloatArray, lam: float, history: list[float]
) -> tuple[Graph, FloatArray, IntArray]:
    """Return the best W for F, eigenvectors and components; record the objective."""
    W = improve_graph(A, F, lam)
    F, parts = bottom_eigenvectors(W, F.shape[1])
    history.append(objective(W, A, F, lam))
    return W, F, parts


def objective(W: Graph, A: Graph, F: FloatArray, lam: float) -> float:
    """Return ||W - A||_F^2 + 2 lam Tr(F'L_W F); W and A have the same pattern."""
    gap = W.data - A.data
    return float(gap @ gap + lam * (W.data @ link_lengths(W, F)))


def improve_graph(A: Graph, F: FloatArray, lam: float) -> Graph:
    """Return the best W for this F: simplex projections of a_i - (lam/2) d_i.

    The trace is sum_ij w_ij d_ij / 2 with d_ij = ||f_i - f_j||^2.
    """
    values = project_rows(A.data - (lam / 2) * link_lengths(A, F), A.indptr)
    return sparse.csr_array((values, A.indices, A.indptr), A.shape)


def link_lengths(A: Graph, F: FloatArray) -> FloatArray:
    """Return ||f_i - f_j||^2 for each entry of A, column by column to save memory."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    lengths = np.zeros(len(rows))
    for f in F.T:
        lengths += (f[rows] - f[A.indices]) ** 2
    return lengths


def project_rows(values: FloatArray, indptr: IntArray) -> FloatArray:
    """Project each row of a CSR matrix onto the simplex over its own entries.

    Michelot's method: subtract what makes the entries sum to 1, drop those that
    become negative, and repeat. Rows must not be empty.
    """
    starts, lengths = indptr[:-1], np.diff(indptr)
    # Shift the largest entry of each row to 0: no digits are lost to a large offset.
    values = values - np.repeat(np.maximum.reduceat(values, starts), lengths)
    kept = np.ones(len(values), dtype=bool)
    while True:
        total = np.add.reduceat(np.where(kept, values, 0.0), starts)
        shift = (total - 1) / np.add.reduceat(kept, starts, dtype=np.int64)
        over = values - np.repeat(shift, lengths)
        if not (kept & (over <= 0)).any():
            return np.where(kept, over, 0.0)
        kept &= over > 0


def bottom_eigenvectors(W: Graph, k: int) -> tuple[FloatArray, IntArray]:
    """Return k eigenvectors of L_W for its smallest eigenvalues, and its components.

    Components have the eigenvalue 0, with their indicators: these are set directly,
    largest first, so that their number does not depend on rounding.
    """
    both = sparse.csr_array((W + W.T) / 2)
    parts = components(both)
    parts = np.argsort(np.argsort(-np.bincount(parts), kind="stable"))[parts]
    c = min(int(parts.max()) + 1, k)
    U = (parts[:, None] == np.arange(c)).astype(np.float64)
    U /= np.linalg.norm(U, axis=0)
    if c == k:
        return U, parts
    d = degrees(both)
    # Eigenvalues of L lie between 0 and 2 max(d): these lie between 1 and 0.
    turned = sparse.diags_array(1 - d / (2 * d.max())) + both / (2 * d.max())
    rest = leading_eigenvectors(sparse.csr_array(turned), k - c, known=U)
    return np.hstack([U, rest.vectors]), parts


def labels_of(state: State, k: int) -> IntArray:
    """Return the components if there are enough, otherwise clusters of F's rows."""
    if state.parts.max() + 1 >= k:
        return np.where(state.parts < k, state.parts, 0)
    return discretize(unit_rows(state.F), 0).labels
