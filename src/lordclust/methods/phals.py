"""PHALS: symmetric nonnegative matrix factorisation, one column at a time."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from lordclust._core.typing import Affinity, FloatArray, Graph, Seed
from lordclust.methods._solvers.factor import Factor, SymmetricFactorClusterer, loss


@dataclass(eq=False, repr=False)
class PHALS(SymmetricFactorClusterer):
    """Symmetric nonnegative matrix factorisation by columns.

    Solves

        min 1/2 ||S - VV'||_F^2   over   V >= 0

    and assigns each sample to the largest entry of its row of V, like
    :class:`SymNMF`. The columns v of V are updated in turn [1]_: with the other
    columns fixed and E = S - (the others)(the others)', max(Ev, 0) / ||v||^2 - v is a
    direction of descent, along which the loss is a quartic; the step goes to its
    first minimum, or to length 1.

    This is the published algorithm, as read in the public code of the first author of
    [2]_; the paper [1]_ itself was not read. Differences: small changes are judged
    relative to v, not absolutely; S V is updated instead of recomputed; only the
    change of V ends a run (see Notes).

    Parameters
    ----------
    n_clusters, affinity, metric, n_neighbors
    normalize : {None, "ncut"}, default=None
        None fits S itself, "ncut" fits D^-1/2 S D^-1/2 with D the degrees.
    n_init
    max_iter : int, default=1000
        Maximum number of sweeps over the columns for each start.
    tol : float, default=1e-4
        Tolerance on the change ||V_new - V||_F / ||V||_F in a sweep.
    random_state, verbose

    Attributes
    ----------
    labels_, sizes_, membership_, V_
    objective_ : float
        1/2 ||S - VV'||_F^2, of the normalised S with ``normalize="ncut"``.
    residual_
    n_iter_, converged_, history_
        Of the kept start; ``history_`` is its objective after each sweep.
    all_objectives_, affinity_matrix_

    Notes
    -----
    A sweep costs k products of S with a vector and O(n k^2); memory is O(nnz + n k).

    The code also stops when the loss falls by less than 1e-4 of itself. On a sparse
    graph no V fits most of the loss, a share that grows with n, so that large problems
    would end at once; this rule is left out.

    A column can become zero and then stays zero: its cluster is empty. Raise
    ``n_init`` in this case.

    References
    ----------
    .. [1] Hou, Chu, Liao, "A progressive hierarchical alternating least squares method
       for symmetric nonnegative matrix factorization", IEEE Transactions on Pattern
       Analysis and Machine Intelligence 45(5), 2023.
    .. [2] Lyu, Jia, Liu, Hou, "Graph-based Clustering Revisited: A Relaxation of
       Kernel k-Means Perspective", 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import PHALS
    >>> model = PHALS(3, random_state=0).fit(load_iris().data)
    >>> [int((model.labels_ == j).sum()) for j in range(3)]
    [71, 50, 29]
    """

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    normalize: str | None = None
    n_init: int | str = "auto"
    max_iter: int = 1000
    tol: float = 1e-4
    random_state: Seed = None
    verbose: int = 0

    def _descend(self, S: Graph, V: FloatArray, square: float) -> Factor:
        return by_columns(S, V, square, max_iter=self.max_iter, tol=self.tol)


def by_columns(
    S: Graph, V: FloatArray, square: float, *, max_iter: int, tol: float
) -> Factor:
    """Minimise 1/2 ||S - VV'||_F^2 over V >= 0 by columns; V itself is not changed."""
    SV = np.ascontiguousarray((S @ V).T)
    V = np.array(V.T, order="C")
    V[:, ~SV.any(axis=0)] = 0.0  # the optimum for isolated vertices
    G = V @ V.T
    history = [loss(square, V, SV, G)]
    converged = False
    while not converged and len(history) <= max_iter:
        moved = sweep(S, V, SV, G, tol)
        history.append(loss(square, V, SV, G))
        converged = moved <= tol**2 * float(np.trace(G))
    return Factor(np.ascontiguousarray(V.T), np.array(history), converged)


def sweep(S: Graph, V: FloatArray, SV: FloatArray, G: FloatArray, tol: float) -> float:
    """Move every column once, in place; return the squared length of the steps.

    V and SV are transposed, (k, n), and G = V'V; all three are kept up to date.
    """
    from lordclust.methods._solvers import _phals_kernels as kernels

    k, n = V.shape
    d, Vd = np.empty(n), np.empty(k)
    moved = 0.0
    for j in range(k):
        vv = float(G[j, j])
        if vv == 0:
            continue
        dd, dEv, alive = kernels.find_direction(V, SV, G, j, d)
        if not alive:  # the loss falls all the way to v = 0
            V[j] = SV[j] = G[j] = G[:, j] = 0.0
            moved += vv
        elif dd > tol**2 * vv:
            moved += kernels.move(V, SV, G, j, d, S @ d, dd, dEv, Vd)
    return moved
