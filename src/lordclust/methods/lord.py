"""LoRD and B-LoRD: clustering as a low-rank doubly stochastic factorisation."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lordclust._core.threads import count_threads
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.validation import check_count, check_tau, is_auto, unknown_name
from lordclust.choose.evidence import Evidence
from lordclust.choose.shares import (
    STEPS,
    Task,
    choose_shares,
    choose_tau,
    go_to,
    whole,
)
from lordclust.graph import scale_to_unit_sum
from lordclust.methods import _callbacks as callbacks
from lordclust.methods._agreement import Posed, compared, other_paths
from lordclust.methods._doubly_stochastic import (
    DoublyStochasticClusterer,
    Wish,
    numbered,
)
from lordclust.methods._wishes import Links
from lordclust.result import Agreement, SolverResult
from lordclust.rounding.labels import membership_from
from lordclust.solver import descent, problem
from lordclust.solver.checkpoint import Checkpoint
from lordclust.solver.omega import Omega
from lordclust.solver.path import walk, walk_lord
from lordclust.solver.problem import Spectrum


def _ends(saves: list[Checkpoint | None]) -> Spectrum | None:
    """Return the ends of the spectrum that paths on disk began with, if there are."""
    ends = (save.ends for save in saves if save is not None)
    return next((end for end in ends if end is not None), None)


class LoRD(DoublyStochasticClusterer):
    """Low-rank doubly stochastic clustering.

    Solves

        min ||S - VV'||_F^2   over   V >= 0,  V'1 = mu,  V mu = 1/n

    with S scaled so that its entries sum to 1 and mu the square roots of the cluster
    proportions: kernel k-means with only the orthogonality of V relaxed, so that
    V gives probabilities [1]_. The model is theirs; ``algorithm="paper"`` is their
    algorithm, ``"fast"`` solves the same problem by accelerated steps with an exact
    projection.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    proportions : array-like of shape (n_clusters,) or (prior, strength), optional
        Shares of the clusters, summing to 1; equal by default. The mean membership
        of cluster j is exactly ``proportions[j]``. With a ``strength`` they are a
        wish, at a price in the objective: 10 keeps them nearly, 1 lets them move by
        some hundredths, 0.1 by far, infinity not at all. ``prior=None`` is equal.
    cluster_sizes : array-like of int, shape (n_clusters,), optional
        How many samples get label j, instead of ``proportions``; they sum to n, and
        are met exactly.
    rounding : {"argmax", "exact"}, optional
        How probabilities become labels. "argmax", the default without
        ``cluster_sizes``: the most probable cluster of each sample. "exact": of all
        labels with exactly n * proportions samples a cluster (whole numbers by
        largest remainders), those of the largest total membership. Samples are
        counted, whatever their weights.
    affinity : {"knn", "precomputed"}, KNNGraph or callable, default="knn"
        How X becomes S: the self-tuning graph of nearest neighbours, X itself, a
        :class:`lordclust.graph.KNNGraph` with its own settings, or ``f(X) -> S``.
        S may be any symmetric matrix, dense or sparse; entries may be negative.
    start : {"path", "random"} or array of shape (n, n_clusters) or (n,), default="path"
        "path": add tilt ||V||_F^2 with tilt from -lambda_max(S), where the problem is
        concave, up to 0, following the solution. "random": Sinkhorn-scaled random
        points. An array is V, or the labels of another clustering.
    n_init : int or "auto", default="auto"
        Starts; the best objective is kept. "auto": 1 for a given start or a path, 5
        paths if shares are given that differ, 10 random starts.
    max_iter : int, default=4000
        Limit of iterations of each descent.
    tol : float, default=1e-4
        Residual ||V - P(V - grad/L)||_F / ||V||_F to stop at.
    algorithm : {"fast", "paper"}, default="fast"
        "paper" is Algorithms 1 to 3 of the paper with their misprints corrected
        (plain steps, Dykstra, Sinkhorn-scaled random starts): the slow reference.
    random_state : int, RandomState or None, default=None
        For the starts. A path without it is the same every time.
    n_jobs : int, optional
        Threads. By default all cores; results do not depend on it.
    device : {"cpu", "cuda"}, optional
        Solve on tensors of PyTorch there. By default the compiled solver, which is the
        faster one on a CPU. Results are NumPy's arrays.
    proba_top : int, optional
        Keep only the m most probable clusters of each sample, for many clusters:
        ``membership_`` and ``V_`` are then sparse, n x m numbers in place of n x k.
        Rows still sum to 1, as what is kept is scaled up; column means are only near
        ``proportions_`` then. ``labels_``, ``sizes_`` and ``uncertainty_`` are made
        from all clusters, before.
    dtype : {"float64", "float32"}, default="float64"
        What S, V and all else of n x k numbers is kept in. "float32" halves the
        memory; arithmetic is float64, and rows of ``membership_`` sum to 1 up to 1e-6.
        On a device S and its products are float32 then, V stays float64.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The most probable cluster of each sample, 0 to k-1, or nearly so where exact
        sizes ask for it. Clusters of equal share are numbered by falling size, then
        by their first sample; clusters with known samples keep their number.
    membership_ : ndarray of shape (n, k), or csr_array with ``proba_top``
        P(y_i = j | x_i). Rows sum to 1, column means (weighted as the samples are)
        are ``proportions_``.
    proportions_ : ndarray of shape (k,)
        The shares asked for, or those reached if they may give way.
    sizes_ : ndarray of int, shape (k,)
        How many samples have each label. Close to n * proportions_, and equal with
        exact rounding.
    uncertainty_ : ndarray of shape (n,)
        Entropy of each sample's membership in units of log k, 0 to 1.
    V_ : ndarray of shape (n, k), or csr_array with ``proba_top``
        The factor: P(x_i) membership_ / mu, P(x_i) = 1/n for equal weights.
    objective_, residual_, n_iter_, converged_, history_
        Where the kept descent ended, and its objective at each iteration, the price
        of shares that give way included.
    all_objectives_ : ndarray of shape (n_init,)
        Final objective of every start.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S, without must-links and cannot-links.
    recall_ : float
        Part of the true nearest neighbours that the graph was built from, 1 if the
        search was exact; not with other affinities.

    References
    ----------
    .. [1] Lyu, Jia, Liu, Hou, "Graph-based Clustering Revisited: A Relaxation of
       Kernel k-Means Perspective", 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import LoRD
    >>> model = LoRD(3).fit(load_iris().data)
    >>> model.membership_.mean(axis=0).round(6)
    array([0.333333, 0.333333, 0.333333])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        proportions: Any = None,
        cluster_sizes: Any = None,
        rounding: str | None = None,
        affinity: Any = "knn",
        start: Any = "path",
        n_init: Any = "auto",
        max_iter: int = 4000,
        tol: float = 1e-4,
        algorithm: str = "fast",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
        proba_top: int | None = None,
        dtype: Any = "float64",
    ) -> None:
        self.n_clusters = n_clusters
        self.proportions = proportions
        self.cluster_sizes = cluster_sizes
        self.rounding = rounding
        self.affinity = affinity
        self.start = start
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.proba_top = proba_top
        self.dtype = dtype

    def _descend(
        self, S: Graph, omega: Omega, links: Links, checkpoint: Any = None
    ) -> list[SolverResult]:
        scaled = scale_to_unit_sum(S, None if omega.equal else omega.weight)
        scaled = links.into(scaled)
        starts: list[Any] = self._starts(omega)
        saves = self._saves(checkpoint, starts, scaled, omega)
        ends = _ends(saves) or problem.spectrum(scaled, omega.weight)
        omega = omega.beside(ends.width)
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}

        def paper(V: FloatArray, threads: int) -> SolverResult:
            return descent.paper_lord(scaled, V, ends, omega, **limits)

        def fast(V: FloatArray, threads: int) -> SolverResult:
            engine = self._engine(scaled, omega, threads, lord=True)
            engine.put(V)
            return descent.solve_lord(engine, scaled, ends, **limits)

        def path(start: Any, threads: int) -> SolverResult:
            V, saved = start
            engine = self._engine(scaled, omega, threads, lord=True)
            if saved is None or not saved.resume(engine):
                engine.put(V)
            before = 0.0
            for part in walk_lord(engine, ends, **limits, checkpoint=saved):
                gain, before = (part - before) / len(starts), part
                if callbacks.step(self, f"step {part:.2f}", gain) and part < 1:
                    return descent.solve_lord(engine, scaled, ends, **limits)
            return descent.lord_result(engine, scaled)

        task: Any = paper if self.algorithm == "paper" else fast
        gain = 1 / len(starts)
        if self._uses_path():
            # The steps of a path tell how far it is.
            task, starts, gain = path, list(zip(starts, saves, strict=True)), 0.0
        return self._run_all(task, starts, gain)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if is_auto(self.proportions):
            raise ValueError(
                'LoRD cannot choose proportions, got proportions="auto": it has no '
                "path of partitions to choose from. Use BLoRD, or pass shares."
            )


class BLoRD(DoublyStochasticClusterer):
    """Block-diagonal low-rank doubly stochastic clustering.

    Solves

        max Tr(V'SV) + gamma ||V||_F^2   over   V >= 0,  V'1 = mu,  V mu = 1/n

    with gamma = -lambda_max(S) + tau (lambda_max(S) - lambda_min(S)) and mu the
    square roots of the cluster proportions. tau turns the clustering from soft (0:
    every membership equals the proportions) to hard (1: memberships are mostly 0
    or 1) [1]_. The model is theirs; ``algorithm="paper"`` is their algorithm,
    ``"fast"`` solves the same problem by accelerated steps with an exact projection,
    following the solution from small tau.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    tau : float or {"auto", "n", "blocks"}, default=1.0
        From soft (0) to hard (1). "auto": the tau, on five paths, whose clusters
        features and graph speak most for (``selection_``); no labels are needed. "n"
        and "blocks": the paper's rules min(2 n^-0.24, 1) and
        min(0.34 exp(50 b - 0.03 log n), 1), b the share of the k smallest Laplacian
        eigenvalues.
    proportions : array-like of shape (n_clusters,), (prior, strength) or "auto"
        Shares of the clusters, summing to 1; equal by default. The mean membership
        of cluster j is exactly ``proportions[j]``. With a ``strength`` they are a
        wish, at a price in the objective: 10 keeps them nearly, 1 lets them move by
        some hundredths, 0.1 by far, infinity not at all (at 0 one cluster takes
        all). ``prior=None`` is equal. "auto": the sizes of the clusters that
        features and graph speak most for; then ``n_clusters`` is the largest number
        of clusters, and some may stay empty.
    cluster_sizes : array-like of int, shape (n_clusters,), optional
        How many samples get label j, instead of ``proportions``; they sum to n, and
        are met exactly.
    rounding : {"argmax", "exact"}, optional
        How probabilities become labels. "argmax", the default without
        ``cluster_sizes``: the most probable cluster of each sample. "exact": of all
        labels with exactly n * proportions samples a cluster (whole numbers by
        largest remainders), those of the largest total membership. Samples are
        counted, whatever their weights.
    affinity : {"knn", "precomputed"}, KNNGraph or callable, default="knn"
        How X becomes S: the self-tuning graph of nearest neighbours, X itself, a
        :class:`lordclust.graph.KNNGraph` with its own settings, or ``f(X) -> S``.
        S may be any symmetric matrix, dense or sparse; entries may be negative.
    start : {"path", "random"} or array of shape (n, n_clusters) or (n,), default="path"
        "path": follow the solution from small tau up to ``tau``; better optima than
        dozens of random starts. "random": Sinkhorn-scaled random points. An array is
        V, or the labels of another clustering: the quick way for many clusters.
    n_init : int or "auto", default="auto"
        Starts; the best objective is kept. "auto": 1 for a given start or a path, 5
        paths if shares are given that differ, 10 random starts.
    max_iter : int, default=4000
        Limit of iterations of each descent.
    tol : float, default=1e-4
        Residual ||V - P(V - grad/L)||_F / ||V||_F to stop at.
    algorithm : {"fast", "paper"}, default="fast"
        "paper" is Algorithms 1 to 3 of the paper with their misprints corrected
        (plain steps, Dykstra, Sinkhorn-scaled random starts): the slow reference.
    random_state : int, RandomState or None, default=None
        For the starts. A path without it is the same every time.
    n_jobs : int, optional
        Threads. By default all cores; results do not depend on it.
    device : {"cpu", "cuda"}, optional
        Solve on tensors of PyTorch there. By default the compiled solver, which is the
        faster one on a CPU. Results are NumPy's arrays.
    proba_top : int, optional
        Keep only the m most probable clusters of each sample, for many clusters:
        ``membership_`` and ``V_`` are then sparse, n x m numbers in place of n x k.
        Rows still sum to 1, as what is kept is scaled up; column means are only near
        ``proportions_`` then. ``labels_``, ``sizes_`` and ``uncertainty_`` are made
        from all clusters, before.
    dtype : {"float64", "float32"}, default="float64"
        What S, V and all else of n x k numbers is kept in. "float32" halves the
        memory; arithmetic is float64, and rows of ``membership_`` sum to 1 up to 1e-6.
        On a device S and its products are float32 then, V stays float64.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The most probable cluster of each sample, 0 to k-1, or nearly so where exact
        sizes ask for it. Clusters of equal share are numbered by falling size, then
        by their first sample; clusters with known samples keep their number.
    membership_ : ndarray of shape (n, k), or csr_array with ``proba_top``
        P(y_i = j | x_i). Rows sum to 1, column means (weighted as the samples are)
        are ``proportions_``.
    proportions_ : ndarray of shape (k,)
        The shares asked for, or those reached if they may give way.
    sizes_ : ndarray of int, shape (k,)
        How many samples have each label. Close to n * proportions_, and equal with
        exact rounding.
    uncertainty_ : ndarray of shape (n,)
        Entropy of each sample's membership in units of log k, 0 to 1.
    V_ : ndarray of shape (n, k), or csr_array with ``proba_top``
        The factor: P(x_i) membership_ / mu, P(x_i) = 1/n for equal weights.
    objective_, residual_, n_iter_, converged_, history_
        Where the kept descent ended, and its objective at each iteration, the price
        of shares that give way included.
    all_objectives_ : ndarray of shape (n_init,)
        Final objective of every start.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S, without must-links and cannot-links.
    recall_ : float
        Part of the true nearest neighbours that the graph was built from, 1 if the
        search was exact; not with other affinities.
    tau_, gamma_ : float
        The tau used and its gamma.
    selection_ : Selection
        With "auto": every candidate, what speaks for it, and its sizes.

    References
    ----------
    .. [1] Lyu, Jia, Liu, Hou, "Graph-based Clustering Revisited: A Relaxation of
       Kernel k-Means Perspective", 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> X = load_iris().data
    >>> model = BLoRD(3, tau=0.3).fit(X)
    >>> model.membership_.mean(axis=0).round(6)
    array([0.333333, 0.333333, 0.333333])

    Labels of exactly the sizes you choose:

    >>> BLoRD(3, cluster_sizes=[50, 60, 40]).fit(X).sizes_
    array([50, 60, 40])
    """

    maximises = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        tau: Any = 1.0,
        proportions: Any = None,
        cluster_sizes: Any = None,
        rounding: str | None = None,
        affinity: Any = "knn",
        start: Any = "path",
        n_init: Any = "auto",
        max_iter: int = 4000,
        tol: float = 1e-4,
        algorithm: str = "fast",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
        proba_top: int | None = None,
        dtype: Any = "float64",
    ) -> None:
        self.n_clusters = n_clusters
        self.tau = tau
        self.proportions = proportions
        self.cluster_sizes = cluster_sizes
        self.rounding = rounding
        self.affinity = affinity
        self.start = start
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.proba_top = proba_top
        self.dtype = dtype

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._selects() and not self._uses_path():
            raise ValueError(
                '"auto" compares whole paths, got '
                f"start={self.start if isinstance(self.start, str) else 'an array'!r} "
                f'and algorithm={self.algorithm!r}. Use start="path" and '
                'algorithm="fast", or give tau and proportions.'
            )
        if self._selects() and self.device is not None:
            raise ValueError(
                f'"auto" runs on the compiled solver, got device={self.device!r}. '
                "Leave device out, or give tau and proportions."
            )
        if not isinstance(self.tau, str):
            check_tau(self.tau)
        elif self.tau not in ("auto", *problem.TAU_RULES):
            raise unknown_name("tau rule", self.tau, ["auto", *problem.TAU_RULES])

    def _check_checkpoint(self, checkpoint: Any) -> None:
        super()._check_checkpoint(checkpoint)
        if checkpoint is not None and self._selects():
            raise ValueError(
                'checkpoint keeps a path to one tau, but "auto" compares many. Give '
                "tau and proportions, or leave checkpoint out."
            )

    def _selects(self) -> bool:
        """Tell whether tau or the shares are to be chosen."""
        return is_auto(self.tau) or is_auto(self.proportions)

    def _solve(
        self, X: Any, S: Graph, wish: Wish
    ) -> tuple[SolverResult, FloatArray, Omega]:
        if not self._selects():
            self.__dict__.pop("selection_", None)  # of an earlier fit
            return super()._solve(X, S, wish)
        S, level = problem.levelled(S, wish.omega.weight)
        S = wish.links.into(S)
        ends = problem.spectrum(S, wish.omega.weight)
        omega = wish.omega.beside(ends.width)
        features = None if self._is_precomputed() else X
        evidence = Evidence(S, len(omega.mu), features, omega.weight)
        tell = partial(callbacks.step, self)
        task = Task(S, ends, evidence, self._seeds(), self.tol, self.max_iter, tell)
        choose = choose_shares if is_auto(self.proportions) else choose_tau
        kept, self.selection_ = choose(task, omega, count_threads(self.n_jobs))
        callbacks.step(self, "choice")
        self.tau_ = self._tau(S) if not is_auto(self.tau) else kept.candidate.tau
        self.gamma_ = ends.gamma(self.tau_) - level
        self._posed = Posed(S, kept.omega, ends, self.tau_)
        result = go_to(task, kept, self.tau_)
        self.all_objectives_ = np.array([result.objective])
        return whole(result, kept, wish.omega)

    def _seeds(self) -> tuple[int, ...]:
        """Return a seed for each path; without random_state always the same."""
        if self.random_state is None:
            return tuple(range(len(STEPS)))
        rng = check_random_state(self.random_state)
        return tuple(rng.randint(np.iinfo(np.int32).max, size=len(STEPS)).tolist())

    def _tau(self, S: Graph) -> float:
        """Return tau as given, or by its rule."""
        if not isinstance(self.tau, str):
            return float(self.tau)
        return float(problem.TAU_RULES[self.tau](S, self.n_clusters))

    def _descend(
        self, S: Graph, omega: Omega, links: Links, checkpoint: Any = None
    ) -> list[SolverResult]:
        S, level = problem.levelled(S, omega.weight)
        S = links.into(S)
        tau = self._tau(S)
        starts: list[Any] = self._starts(omega)
        saves = self._saves(checkpoint, starts, S, omega, tau)
        ends = _ends(saves) or problem.spectrum(S, omega.weight)
        omega = omega.beside(ends.width)
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}

        def paper(V: FloatArray, threads: int) -> SolverResult:
            return descent.paper_blord(S, V, ends, tau, omega, **limits)

        def fast(V: FloatArray, threads: int) -> SolverResult:
            engine = self._engine(S, omega, threads)
            engine.put(V)
            return descent.solve_blord(engine, S, ends, tau, **limits)

        def path(start: Any, threads: int) -> SolverResult:
            V, saved = start
            engine = self._engine(S, omega, threads)
            if saved is None or not saved.resume(engine):
                engine.put(V)
            before = 0.0
            for stop, *_ in walk(engine, ends, tau, **limits, checkpoint=saved):
                gain, before = (stop - before) / (tau or 1.0) / len(starts), stop
                if callbacks.step(self, f"tau {stop:.3f}", gain) and stop < tau:
                    return descent.solve_blord(engine, S, ends, tau, **limits)
            return descent.blord_result(engine, S, ends, tau)

        task: Any = paper if self.algorithm == "paper" else fast
        gain = 1 / len(starts)
        if self._uses_path():
            starts = list(zip(starts, saves, strict=True))
            task, gain = path, 0.0  # its taus tell
        results = self._run_all(task, starts, gain)
        self.tau_, self.gamma_ = tau, ends.gamma(tau) - level
        self._posed = Posed(S, omega, ends, tau)
        return results

    def agreement(self, n_paths: int = 5, *, random_state: Any = 0) -> Agreement:
        """Return how far labels depend on the path that led to them.

        Solves the fitted problem again along other paths to ``tau_``: from other
        random points, at other first taus, in other steps. Where the objective has
        several good optima they end in different ones. Each costs about one fit.

        Parameters
        ----------
        n_paths : int, default=5
            How many paths.
        random_state : int, RandomState or None, default=0
            For their beginnings.

        Returns
        -------
        agreement : Agreement
            For each sample the part of the paths that give it the same label
            (clusters matched as well as possible), the mean adjusted Rand index
            between all of them, their labels and their objectives.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from lordclust import BLoRD
        >>> BLoRD(3, tau=0.3).fit(load_iris().data).agreement(3)
        Agreement of 3 paths: mean ARI 1.000, all agree on 100.0% of 150 samples
        """
        check_is_fitted(self)
        count = check_count(n_paths, "n_paths")
        rng = check_random_state(random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=count)
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        ends = other_paths(self._posed, seeds, count_threads(self.n_jobs), **limits)
        labels = [self._rounded(end.V) for end in ends]
        objectives = [end.objective for end in ends]
        return compared(self.labels_, labels, objectives, len(self.sizes_))

    def _rounded(self, V: FloatArray) -> IntArray:
        """Return labels for another V, made as ``labels_`` were."""
        omega = self._posed.omega
        P = membership_from(V, omega.mu)
        shares = omega.mu**2 if omega.exact else self.proportions_
        return numbered(P, shares, omega, self._rounds_exactly())[1]
