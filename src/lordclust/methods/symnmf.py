"""SymNMF: symmetric nonnegative matrix factorisation by multiplicative updates."""

from dataclasses import KW_ONLY, dataclass

from lordclust._core.typing import Affinity, FloatArray, Graph, Seed
from lordclust.methods._solvers.factor import (
    Factor,
    SymmetricFactorClusterer,
    check_exponent,
    multiplicative,
)


@dataclass(eq=False, repr=False)
class SymNMF(SymmetricFactorClusterer):
    """Symmetric nonnegative matrix factorisation.

    Solves

        min 1/2 ||S - VV'||_F^2   over   V >= 0

    and assigns each sample to the largest entry of its row of V [1]_, [2]_, by the
    multiplicative update

        V <- V o (SV / VV'V)^exponent

    The exponent 0.25 is that of Long et al. [3]_ (their paper from memory; the same
    update was read in public code of one of the authors of [4]_); with it the loss
    never rises. The default "auto" is ours: it begins with 0.75, which needs about a
    third of the iterations, and repeats a step that raised the loss with a smaller
    exponent. The scale of the start is that of [4]_.

    Parameters
    ----------
    n_clusters, affinity, metric, n_neighbors
    normalize : {None, "ncut"}, default=None
        None fits S itself, "ncut" fits D^-1/2 S D^-1/2 with D the degrees, as the
        code of [1]_ does.
    exponent : {"auto", 0.25, 0.5, 0.75}, default="auto"
        Exponent of the update. A fixed one above 0.25 may raise the loss.
    n_init
    max_iter : int, default=3000
        Maximum number of iterations of each start.
    tol : float, default=1e-4
        Tolerance on the change ||V_new - V||_F / ||V||_F in an iteration.
    random_state, verbose

    Attributes
    ----------
    labels_, sizes_, membership_, V_
    objective_ : float
        1/2 ||S - VV'||_F^2, of the normalised S with ``normalize="ncut"``.
    residual_
    n_iter_, converged_, history_
        Of the kept start; ``history_`` is its objective at each iteration.
    all_objectives_, affinity_matrix_

    Notes
    -----
    An iteration costs one product S V and O(n k^2); memory is O(nnz + n k).

    The decrease of the loss is not a good stopping rule: on a sparse graph no V fits
    most of the loss, a share that grows with n, so that its relative decrease is tiny
    from the first iteration on.

    The loss has many local minima, and clusters may be empty: raise ``n_init``.

    References
    ----------
    .. [1] Kuang, Ding, Park, "Symmetric nonnegative matrix factorization for graph
       clustering", SDM 2012.
    .. [2] Kuang, Yun, Park, "SymNMF: nonnegative low-rank approximation of a similarity
       matrix for graph clustering", Journal of Global Optimization 62, 2015.
    .. [3] Long, Zhang, Wu, Yu, "Relational clustering by symmetric convex coding",
       ICML 2007.
    .. [4] Lyu, Jia, Liu, Hou, "Graph-based Clustering Revisited: A Relaxation of
       Kernel k-Means Perspective", 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import SymNMF
    >>> model = SymNMF(3, random_state=0).fit(load_iris().data)
    >>> [int((model.labels_ == j).sum()) for j in range(3)]
    [71, 50, 29]
    """

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    normalize: str | None = None
    exponent: float | str = "auto"
    n_init: int | str = "auto"
    max_iter: int = 3000
    tol: float = 1e-4
    random_state: Seed = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_exponent(self.exponent)

    def _descend(self, S: Graph, V: FloatArray, square: float) -> Factor:
        return multiplicative(
            S, V, square, lambda history, change: change <= self.tol,
            max_iter=self.max_iter, exponent=self.exponent,
        )  # fmt: skip
