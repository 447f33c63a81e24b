"""PHALS: symmetric nonnegative matrix factorisation, one column at a time."""

from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray, Graph
from lordclust.methods._solvers.symnmf import Factor, loss
from lordclust.methods._symnmf import SymmetricFactorClusterer


class PHALS(SymmetricFactorClusterer):
    """Symmetric nonnegative matrix factorisation by columns.

    Solves

        min 1/2 ||S - VV'||_F^2   over   V >= 0

    and gives each sample to the largest entry of its row of V, like
    :class:`SymNMF`. The columns v of V move in turn [1]_: with the other columns
    fixed and E = S - (the others)(the others)', the target max(Ev, 0) / ||v||^2 is a
    direction of descent d away from v, along which the loss is a quartic; its first
    minimum on the way to the target is taken.

    The algorithm was read in the public code of the first author of [2]_; the paper
    [1]_ itself was not read. Differences: small changes are judged relative to v, not
    absolutely; S V is kept up to date instead of being multiplied anew; only the
    change of V ends a run (see Notes).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    affinity : {"knn", "self_tuning", "precomputed"}, KNNGraph or callable, \
default="knn"
        How X becomes S: the self-tuning graph of nearest neighbours, the full
        self-tuning kernel, X itself, a :class:`lordclust.graph.KNNGraph` with its
        own settings, or ``f(X) -> S``. S is nonnegative.
    normalize : {None, "ncut"}, default=None
        None fits S itself, "ncut" fits D^-1/2 S D^-1/2 with D the degrees.
    n_init : int, default=10
        Random starts; the smallest objective is kept.
    max_iter : int, default=1000
        Limit of sweeps over the columns for each start.
    tol : float, default=1e-4
        Change ||V_new - V||_F / ||V||_F in a sweep to stop at.
    random_state : int, RandomState or None, default=None
        For the starts.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The largest entry of each row of V, 0 to k-1. Clusters are numbered by falling
        size, then by their first sample. Isolated vertices have a zero row and join
        the largest cluster.
    membership_ : ndarray of shape (n, k)
        Rows of V scaled to sum to 1; uniform for isolated vertices.
    V_ : ndarray of shape (n, k)
        The factor.
    objective_ : float
        1/2 ||S - VV'||_F^2, of the normalised S if that was asked for.
    residual_ : float
        ||V - max(V - (VV'V - SV) / ||V'V||_2, 0)||_F / ||V||_F: 0 where the conditions
        of optimality hold.
    n_iter_, converged_, history_
        Where the kept start ended, and its objective after each sweep.
    all_objectives_ : ndarray of shape (n_init,)
        Final objective of every start.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S.

    Notes
    -----
    A sweep costs k products of S with a vector and O(n k^2); memory is O(nnz + n k).

    The code also stops when the loss falls by less than 1e-4 of itself. On a sparse
    graph most of the loss can not be fitted by any V, a share that grows with n, so
    that this would end large problems at once; the rule is left out.

    A column can die (become zero), and stays so: its cluster is empty. Raise
    ``n_init`` then.

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
    [72, 50, 28]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: Any = "knn",
        normalize: str | None = None,
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.normalize = normalize
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _descend(self, S: Graph, V: FloatArray, square: float) -> Factor:
        return by_columns(S, V, square, max_iter=self.max_iter, tol=self.tol)


def by_columns(
    S: Graph, V: FloatArray, square: float, *, max_iter: int, tol: float
) -> Factor:
    """Minimise 1/2 ||S - VV'||_F^2 over V >= 0, column after column.

    Parameters
    ----------
    S : ndarray or sparse array, shape (n, n)
        Symmetric.
    V : ndarray of shape (n, k)
        Where to start; left alone.
    square : float
        ||S||_F^2.
    max_iter : int
        Limit of sweeps.
    tol : float
        Relative change of V in a sweep to stop at.

    Returns
    -------
    factor : Factor
    """
    SV = np.ascontiguousarray((S @ V).T)
    V = np.array(V.T, order="C")
    V[:, ~SV.any(axis=0)] = 0.0  # isolated vertices are best there
    G = V @ V.T
    history = [loss(square, V, SV, G)]
    converged = False
    while not converged and len(history) <= max_iter:
        moved = sweep(S, V, SV, G, tol)
        history.append(loss(square, V, SV, G))
        converged = moved <= tol**2 * float(np.trace(G))
    return Factor(np.ascontiguousarray(V.T), np.array(history), converged)


def sweep(S: Graph, V: FloatArray, SV: FloatArray, G: FloatArray, tol: float) -> float:
    """Move every column once, in place; return the square of the way.

    V and SV are transposed, (k, n), and G = V'V; all three are kept up to date.
    """
    from lordclust.methods import _phals_kernels as kernels

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
