"""Kernel k-means from random starts."""

import numbers
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from scipy import sparse

from lordclust._core.typing import (
    Affinity,
    ArrayLike,
    FloatArray,
    Graph,
    IntArray,
    Seed,
)
from lordclust._core.validation import (
    check_choice,
    check_count,
    check_n_clusters,
    check_weights,
)
from lordclust.graph.kernel_blocks import KernelBlocks
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.methods._solvers.kernel_kmeans import (
    Asking,
    KernelSteps,
    indicator,
    side_by_side,
)
from lordclust.result import Run

INITS = ("random_points", "k-means++", "random_partition")
#: Numbers in the (k, n) sums of the starts that run together: 128 MB.
GROUP_NUMBERS = 1 << 24


@dataclass(eq=False, repr=False)
class KKM(RestartClusterer):
    """Kernel k-means.

    Solves

        min E = sum_i ||phi(x_i) - c_j(i)||^2 = Tr(S) - sum_j (y_j' S y_j) / n_j

    over partitions into k clusters, where S holds the inner products of phi, y_j is
    the indicator of cluster j and c_j its mean [1]_. This is the published algorithm:
    all samples are assigned at once to the nearest mean, by distances that need S
    alone, until the clusters are stable. Update, start and error were checked against
    the code of the authors of global kernel k-means [2]_. Two changes are ours: empty
    clusters are filled, and steps that would raise E, as they can if S has negative
    eigenvalues, are not taken.

    Parameters
    ----------
    n_clusters
    affinity : str, KNNGraph or callable, default="self_tuning"
        How S is computed from X, as in :class:`lordclust.BLoRD`: by default the full
        self-tuning kernel with diagonal 1. S may be any symmetric matrix, dense or
        sparse; entries may be negative.
    metric : str, default="euclidean"
        Distance of the nearest neighbours, with ``affinity="knn"``.
    n_neighbors : int, optional
        Their number, with ``affinity="knn"``. By default floor(log2 n) + 1.
    init : {"random_points", "k-means++", "random_partition"} or array of int of \
shape (n,), default="random_points"
        "random_points": k samples are the first means. "k-means++": each sample is
        drawn in proportion to its squared distance to the previous ones.
        "random_partition": random labels. An array: initial labels, a single start.
    n_init : int or "auto", default="auto"
        Random starts ("auto": 10); the one with the lowest E is kept.
    max_iter : int, default=300
        Maximum number of steps of each start.
    tol : float, default=1e-6
        A start ends when no sample changes its cluster, or when E changes by less
        than tol times the larger of |E| and sum_i |S_ii|.
    psd_shift : float or "auto", default="auto"
        Steps use S + psd_shift I: E changes by the constant psd_shift (n - k), and
        never rises if the smallest eigenvalue of S is at least -psd_shift; but the
        larger the shift, the fewer samples move. "auto": no shift while E falls. A step
        that would raise E is repeated with a shift, doubled until E falls or no sample
        moves. With a number, such a step ends the run.
    dense_up_to : int, default=10000
        With more samples the self-tuning kernel is not stored but recomputed from X
        in blocks at every step. Other affinities are always stored.
    random_state, verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Clusters 0 to k-1, ordered by decreasing size, then by their first sample.
        None is empty.
    sizes_
    objective_ : float
        E for S itself, without the shift.
    all_objectives_ : ndarray of shape (n_init,)
        E of every start.
    history_ : ndarray
        E of the kept start, at first and after each step that lowered it.
    n_iter_, converged_
        Steps of the kept start, including those undone, and whether it ended before
        ``max_iter``.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S. Missing if it was recomputed in blocks.

    Notes
    -----
    A step sums one row of S for every sample that changed its cluster: n^2 numbers at
    first (nnz of a sparse S), few towards the end. Beyond ``dense_up_to`` the first
    steps cost n^2 d / 2 multiplications; all starts share the blocks.

    The self-tuning kernel is nearly positive semidefinite. Graphs of nearest neighbours
    are not: E then falls in small steps and the result depends more on the start;
    methods designed for graphs are better there.

    References
    ----------
    .. [1] Dhillon, Guan, Kulis, "Kernel k-means, spectral clustering and normalized
       cuts", 2004.
    .. [2] Tzortzis, Likas, "The global kernel k-means algorithm for clustering in
       feature space", 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust.methods import KKM
    >>> model = KKM(3, random_state=0).fit(load_iris().data)
    >>> np.bincount(model.labels_)
    array([65, 50, 35])
    """

    nonnegative = False

    n_clusters: int = 8
    _: KW_ONLY
    affinity: Affinity = "self_tuning"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    init: str | ArrayLike = "random_points"
    n_init: int | str = "auto"
    max_iter: int = 300
    tol: float = 1e-6
    psd_shift: float | str = "auto"
    dense_up_to: int = 10_000
    random_state: Seed = None
    verbose: int = 0

    def fit(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n) if precomputed
            Samples, or their similarities with ``affinity="precomputed"``.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Weights of the samples in E and in the means, scaled to mean 1. S does
            not depend on them. A sample of weight 0 is assigned to the nearest mean
            and has no influence.

        Returns
        -------
        self : object
        """
        data = self._check_X(X)
        k = check_n_clusters(self.n_clusters, data.shape[0])
        w: FloatArray = np.ones(data.shape[0])
        shares = check_weights(sample_weight, len(w))
        if shares is not None:
            w = len(w) * shares
        if (counting := np.count_nonzero(w)) < k:
            raise ValueError(
                f"sample_weight must be positive for at least n_clusters={k} samples, "
                f"got {counting}. Lower n_clusters or give more samples a weight."
            )
        if not isinstance(self.init, str):
            _check_labels(self.init, w, k)
        self._weight = w
        self._fit(data, k, w)
        if isinstance(self.affinity_matrix_, KernelBlocks):
            del self.affinity_matrix_
        return self

    def _read(self, X: Graph) -> Graph:
        named = isinstance(self.affinity, str) and self.affinity == "self_tuning"
        if named and X.shape[0] > self.dense_up_to:
            return KernelBlocks(X)
        return super()._read(X)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count(self.dense_up_to, "dense_up_to")
        if isinstance(self.init, str):
            check_choice(self.init, INITS, "init")
        shift = self.psd_shift
        auto = isinstance(shift, str) and shift == "auto"
        number = isinstance(shift, numbers.Real) and not isinstance(shift, bool)
        if not auto and not (number and 0 <= float(shift) < np.inf):
            raise ValueError(
                f'psd_shift must be "auto" or a finite number >= 0, got {shift!r}. '
                'Pass "auto", or minus the smallest eigenvalue of S.'
            )

    def _solve(
        self, data: Graph, k: int, rngs: Rngs, w: FloatArray | None = None
    ) -> Iterable[Run]:
        blocks = isinstance(data, KernelBlocks)
        S = data if blocks else data.astype(np.float64, copy=False)
        w = np.ones(S.shape[0]) if w is None else w
        shift = None if isinstance(self.psd_shift, str) else float(self.psd_shift)
        steps = KernelSteps(w, S.diagonal(), self.max_iter, self.tol, shift)
        if not isinstance(self.init, str):
            rngs = rngs[:1]
        group = max(1, GROUP_NUMBERS // (S.shape[0] * k))
        for first in range(0, len(rngs), group):
            runs = [self._run(steps, k, rng) for rng in rngs[first : first + group]]
            yield from side_by_side(runs, S)

    def _run(self, steps: KernelSteps, k: int, rng: np.random.Generator) -> Asking[Run]:
        """Return the result of one start."""
        labels = yield from self._start(steps, k, rng)
        sums = yield indicator(labels, steps.w, k)
        found = yield from steps.descend(steps.measure(labels, sums))
        assert found is not None, "nothing to merge with"  # for mypy  # nosec B101
        end, n_iter, converged, history = found
        return Run(end.labels, end.objective, n_iter, converged, np.array(history))

    def _start(
        self, steps: KernelSteps, k: int, rng: np.random.Generator
    ) -> Asking[IntArray]:
        """Return initial labels; every cluster has a sample with a weight."""
        w = steps.w
        if not isinstance(self.init, str):
            return np.asarray(self.init, dtype=np.int64)
        if self.init == "random_partition":
            labels: IntArray = rng.integers(k, size=len(w))
            labels[rng.choice(np.flatnonzero(w), k, replace=False)] = np.arange(k)
            return labels
        if self.init == "k-means++":
            seeds = yield from _spread_seeds(steps, k, rng)
        else:
            seeds = rng.choice(len(w), k, replace=False, p=_shares(w))
        rows = yield _rows_of(seeds, len(w))
        labels = np.argmin(steps.diagonal[seeds, None] - 2 * rows, axis=0)
        labels[seeds] = np.arange(k)  # a seed stays in its own cluster
        return labels


def _spread_seeds(
    steps: KernelSteps, k: int, rng: np.random.Generator
) -> Asking[IntArray]:
    """Return k samples, each drawn by its squared distance to the previous ones."""
    n = len(steps.w)
    seeds = [int(rng.choice(n, p=_shares(steps.w)))]
    gap = np.full(n, np.inf)
    while len(seeds) < k:
        row = yield _rows_of(np.array(seeds[-1:]), n)
        far = steps.diagonal + steps.diagonal[seeds[-1]] - 2 * row[0]
        gap = np.minimum(gap, np.maximum(far, 0.0))
        gap[seeds] = 0.0
        chance = steps.w * gap
        if not chance.any():  # only copies of the seeds are left
            chance = steps.w.copy()
            chance[seeds] = 0.0
        seeds.append(int(rng.choice(n, p=_shares(chance))))
    return np.array(seeds)


def _shares(chance: FloatArray) -> FloatArray:
    """Return probabilities proportional to nonnegative numbers."""
    chance = chance / chance.max()
    return np.asarray(chance / chance.sum())


def _check_labels(init: ArrayLike, w: FloatArray, k: int) -> None:
    """Raise an error unless the labels are k clusters."""
    labels = np.asarray(init)
    if labels.shape != w.shape or labels.dtype.kind not in "iu":
        raise ValueError(
            f"init must be one of {', '.join(INITS)} or n_samples={len(w)} integer "
            f"labels, got an array of {labels.dtype} of shape {labels.shape}. Pass a "
            "label for each sample."
        )
    found, counting = np.unique(labels), np.unique(labels[w > 0])
    if not (np.array_equal(found, np.arange(k)) and np.array_equal(found, counting)):
        raise ValueError(
            f"init must hold each label from 0 to {k - 1}, at samples with a weight, "
            f"got the labels {counting[:10]}. Number the clusters from 0."
        )


def _rows_of(samples: IntArray, n: int) -> Graph:
    """Return the T for which T S are the rows of some samples."""
    m = len(samples)
    return sparse.csr_array((np.ones(m), (np.arange(m), samples)), shape=(m, n))
