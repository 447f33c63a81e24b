"""Label propagation: each sample goes to the seed that its random walk reaches first.

A complete small method. Copy it to ``src/lordclust/methods/``, rename the class, and
replace ``_solve`` and the docstrings.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.result import Run
from lordclust.rounding.labels import labels_from, shares_of_rows
from lordclust.rounding.spectral import degrees, ncut_value


class LabelPropagation(RestartClusterer):
    """Label propagation from random seeds.

    Draws k samples as seeds, one per cluster, and solves

        F = D^-1 S F,   F_s = one-hot for each seed s

    (D the degrees of S) by repeated multiplication [1]_: F_ij is the probability that
    a random walk from sample i reaches seed j before the other seeds. Of several
    starts, the one with the smallest normalised cut is kept. The propagation is the
    published algorithm; random seeds in place of known labels are our addition.

    Parameters
    ----------
    n_clusters, affinity, metric, n_neighbors
    n_init : int or "auto", default="auto"
        Number of starts ("auto": 20), each with its own seeds.
    max_iter : int, default=1000
        Largest number of multiplications per start.
    tol : float, default=1e-3
        Stop when no probability changes by more.
    random_state : int, RandomState or None, default=None
        Determines the seeds. Pass an int for reproducible results.
    verbose

    Attributes
    ----------
    labels_, sizes_
    membership_ : ndarray of shape (n, k)
        The probabilities F.
    objective_ : float
        The normalised cut of the labels.
    n_iter_, converged_
        Multiplications of the kept start, and whether it reached ``tol``.
    all_objectives_ : ndarray of shape (n_init,)
        The normalised cut of every start.
    affinity_matrix_

    References
    ----------
    .. [1] Zhu, Ghahramani, "Learning from Labeled and Unlabeled Data with Label
       Propagation", Technical Report CMU-CALD-02-107, 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> LabelPropagation(3, random_state=0).fit(load_iris().data).labels_.shape
    (150,)
    """

    auto_starts = 20

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: Any = "knn",
        metric: str = "euclidean",
        n_neighbors: int | None = None,
        n_init: int | str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        for rng in rngs:
            seeds = rng.choice(data.shape[0], k, replace=False)
            F, n_iter, converged = self._propagate(data, seeds)
            labels = labels_from(F)
            cut = ncut_value(data, labels, k)
            yield Run(labels, cut, n_iter, converged, membership=shares_of_rows(F))

    def _propagate(self, S: Graph, seeds: IntArray) -> tuple[FloatArray, int, bool]:
        """Return F, the number of multiplications, and whether they converged."""
        d = np.maximum(degrees(S), np.finfo(float).tiny)[:, None]
        one_hot = np.eye(len(seeds))
        F = np.zeros((S.shape[0], len(seeds)))
        F[seeds] = one_hot
        for n_iter in range(1, self.max_iter + 1):
            before, F = F, (S @ F) / d
            F[seeds] = one_hot
            if abs(F - before).max() <= self.tol:
                return F, n_iter, True
        return F, self.max_iter, False
