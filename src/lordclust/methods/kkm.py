"""Kernel k-means from random starts."""

import numbers
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.validation import (
    check_choice,
    check_count,
    check_n_clusters,
    check_weights,
)
from lordclust.graph.kernel_blocks import KernelBlocks
from lordclust.methods import _callbacks as callbacks
from lordclust.methods._base import RestartClusterer, Rngs
from lordclust.methods._kernel_steps import (
    Asking,
    Descent,
    KernelSteps,
    indicator,
    side_by_side,
    to_double,
)
from lordclust.result import Run

INITS = ("random_points", "k-means++", "random_partition")
#: Numbers in the (k, n) sums of the runs that go side by side: 128 MB.
GROUP_NUMBERS = 1 << 24


class KKM(RestartClusterer):
    """Kernel k-means.

    Solves

        min E = sum_i ||phi(x_i) - c_j(i)||^2 = Tr(S) - sum_j (y_j' S y_j) / n_j

    over partitions into k clusters, where S holds the inner products of phi, y_j is
    the indicator of cluster j and c_j its mean [1]_. All samples go at once to the
    nearest mean, whose distances need S alone, until the clusters stay: the published
    algorithm. Update, start and error were checked against the code of the authors
    of global kernel k-means [2]_. New here: empty clusters are filled, and steps that
    would raise E, as they can if S has negative eigenvalues, are not taken.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    affinity : {"self_tuning", "knn", "precomputed"}, KNNGraph or callable, \
default="self_tuning"
        How X becomes S: the full self-tuning kernel with diagonal 1, the graph of
        nearest neighbours, X itself, or ``f(X) -> S`` such as
        :func:`lordclust.graph.linear_kernel`. S may be any symmetric matrix, dense
        or sparse; entries may be negative.
    init : {"random_points", "k-means++", "random_partition"} or array of int of \
shape (n,), default="random_points"
        "random_points": k samples are the first means. "k-means++": samples drawn one
        after the other in proportion to their squared distance to those before.
        "random_partition": random labels. Or labels to begin with (then there is
        one start, whatever ``n_init``).
    n_init : int, default=10
        Random starts; the lowest E is kept.
    max_iter : int, default=300
        Limit of steps of each start.
    tol : float, default=1e-6
        A start ends when no sample changes its cluster, or when E changes by less
        than tol times the larger of |E| and sum_i |S_ii|.
    psd_shift : float or "auto", default="auto"
        Steps are taken on S + psd_shift I: E changes by the constant
        psd_shift (n - k), and can only fall if the smallest eigenvalue of S is at
        least -psd_shift; but the larger the shift, the more samples stay where they
        are. "auto": no shift while E falls. A step that would raise E is taken back
        and tried again with a shift, doubled until E falls or no sample moves. With a
        number, such a step ends the run.
    dense_up_to : int, default=10000
        With more samples the self-tuning kernel is not stored but rebuilt from X in
        blocks at every step. Other affinities are always stored as they come.
    random_state : int, RandomState or None, default=None
        For the starts.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Clusters 0 to k-1 by falling size, then by their first sample. None is empty.
    objective_ : float
        E for S itself, without the shift.
    all_objectives_ : ndarray of shape (n_init,)
        E of every start.
    history_ : ndarray
        E of the kept start: of its first partition, and after each step that lowered
        it.
    n_iter_ : int
        Steps of the kept start, with those taken back.
    converged_ : bool
        Whether the kept start ended before ``max_iter``.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S. Missing if it was rebuilt in blocks.

    Notes
    -----
    A step costs one sum of rows of S for every sample that changed its cluster: n^2
    numbers at first (nnz of a sparse S), few towards the end. Beyond ``dense_up_to``
    it costs n^2 d / 2 multiplications at first; all starts share the blocks.

    The self-tuning kernel need not be positive semidefinite, but nearly is. Graphs of
    nearest neighbours are far from it: E then falls in small steps and the result
    depends more on the start; methods made for graphs do better there.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        affinity: Any = "self_tuning",
        init: Any = "random_points",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-6,
        psd_shift: Any = "auto",
        dense_up_to: int = 10_000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.psd_shift = psd_shift
        self.dense_up_to = dense_up_to
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n) if precomputed
            Samples, or their similarities with ``affinity="precomputed"``.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Weights of the samples in E and in the means, scaled to mean 1. S does
            not depend on them. A sample of weight 0 goes to the nearest mean and
            counts for nothing.

        Returns
        -------
        self : object
        """
        X = self._check_X(X)
        k = check_n_clusters(self.n_clusters, X.shape[0])
        self._check_parameters()
        w = _mean_one(check_weights(sample_weight, X.shape[0]), X.shape[0], k)
        if not isinstance(self.init, str):
            _check_labels(self.init, w, k)
        S = self._read(X)
        callbacks.step(self, "graph")
        best, objectives = self._best(self._solve(S, k, self._rngs(), w))
        self.all_objectives_ = objectives
        if not isinstance(S, KernelBlocks):
            self.affinity_matrix_ = S
        elif hasattr(self, "affinity_matrix_"):  # of an earlier fit
            del self.affinity_matrix_
        return self._keep(best, k)

    def _read(self, X: Any) -> Any:
        named = isinstance(self.affinity, str) and self.affinity == "self_tuning"
        if named and X.shape[0] > self.dense_up_to:
            return KernelBlocks(X)
        return super()._read(X)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count(self.dense_up_to, "dense_up_to")
        if isinstance(self.init, str):
            check_choice(self.init, INITS, "init")
        _check_shift(self.psd_shift)

    def _solve(
        self, data: Any, k: int, rngs: Rngs, w: FloatArray | None = None
    ) -> Iterable[Run]:
        S = to_double(data)
        w = np.ones(S.shape[0]) if w is None else w
        shift = None if isinstance(self.psd_shift, str) else float(self.psd_shift)
        steps = KernelSteps(w, S.diagonal(), self.max_iter, self.tol, shift)
        if not isinstance(self.init, str):
            rngs = rngs[:1]
        group = max(1, GROUP_NUMBERS // (S.shape[0] * k))
        for first in range(0, len(rngs), group):
            runs = [self._run(steps, k, rng) for rng in rngs[first : first + group]]
            yield from (run.to_run() for run in side_by_side(runs, S))

    def _run(
        self, steps: KernelSteps, k: int, rng: np.random.Generator
    ) -> Asking[Descent]:
        """Return one start and what follows from it."""
        labels = yield from self._start(steps, k, rng)
        sums = yield indicator(labels, steps.w, k)
        found = yield from steps.descend(steps.measure(labels, sums))
        assert found is not None, "nothing to merge with"  # for mypy  # nosec B101
        return found

    def _start(
        self, steps: KernelSteps, k: int, rng: np.random.Generator
    ) -> Asking[IntArray]:
        """Return labels to begin with; every cluster has a sample with weight."""
        if not isinstance(self.init, str):
            return np.asarray(self.init, dtype=np.int64)
        if self.init == "random_partition":
            return _random_labels(steps.w, k, rng)
        if self.init == "k-means++":
            seeds = yield from _spread_seeds(steps, k, rng)
        else:
            seeds = rng.choice(len(steps.w), k, replace=False, p=_shares(steps.w))
        return (yield from _nearest_seed(steps, seeds))


def _nearest_seed(steps: KernelSteps, seeds: IntArray) -> Asking[IntArray]:
    """Return the nearest seed of every sample; a seed stays by itself."""
    rows = yield _rows_of(seeds, len(steps.w))
    labels: IntArray = np.argmin(steps.diagonal[seeds, None] - 2 * rows, axis=0)
    labels[seeds] = np.arange(len(seeds))
    return labels


def _spread_seeds(
    steps: KernelSteps, k: int, rng: np.random.Generator
) -> Asking[IntArray]:
    """Return k samples, each drawn by its squared distance to those before."""
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


def _random_labels(w: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """Return random labels; each of the k occurs at a sample with weight."""
    labels = rng.integers(k, size=len(w))
    labels[rng.choice(np.flatnonzero(w), k, replace=False)] = np.arange(k)
    return labels


def _shares(chance: FloatArray) -> FloatArray:
    """Return probabilities in proportion to nonnegative numbers."""
    chance = chance / chance.max()
    return np.asarray(chance / chance.sum())


def _mean_one(shares: FloatArray | None, n: int, k: int) -> FloatArray:
    """Return the weights with mean 1, if enough of them are positive."""
    if shares is None:
        return np.ones(n)
    w = n * shares
    counting = np.count_nonzero(w)
    if counting < k:
        raise ValueError(
            f"sample_weight must be positive for at least n_clusters={k} samples, got "
            f"{counting}. Lower n_clusters or give more samples a weight."
        )
    return w


def _check_shift(psd_shift: Any) -> None:
    """Refuse what is neither "auto" nor a finite number from 0."""
    if isinstance(psd_shift, str) and psd_shift == "auto":
        return
    number = isinstance(psd_shift, numbers.Real) and not isinstance(psd_shift, bool)
    if not number or not 0 <= float(psd_shift) < np.inf:
        raise ValueError(
            f'psd_shift must be "auto" or a finite number from 0, got {psd_shift!r}. '
            'Take "auto", or minus the smallest eigenvalue of S.'
        )


def _check_labels(init: Any, w: FloatArray, k: int) -> None:
    """Refuse labels that are not k clusters."""
    labels = np.asarray(init)
    if labels.shape != w.shape or labels.dtype.kind not in "iu":
        raise ValueError(
            f"init must be one of {', '.join(INITS)} or n_samples={len(w)} whole "
            f"numbers, got an array of {labels.dtype} of shape {labels.shape}. Pass a "
            "label for each sample."
        )
    found, counting = np.unique(labels), np.unique(labels[w > 0])
    if not (np.array_equal(found, np.arange(k)) and np.array_equal(found, counting)):
        raise ValueError(
            f"init must hold each label from 0 to {k - 1}, at samples with a weight, "
            f"got the labels {counting[:10]}. Number the clusters from 0."
        )


def _rows_of(samples: IntArray, n: int) -> Any:
    """Return T such that T S is the rows of S of some samples."""
    m = len(samples)
    return sparse.csr_array((np.ones(m), (np.arange(m), samples)), shape=(m, n))
