"""LoRD and B-LoRD: clustering as a low-rank doubly stochastic factorisation."""

from typing import Any

from lordclust._typing import FloatArray, Graph
from lordclust._validation import check_tau, unknown_name
from lordclust.graph import scale_to_unit_sum
from lordclust.methods._omega import DoublyStochasticClusterer
from lordclust.result import SolverResult
from lordclust.solver import descent, problem
from lordclust.solver.engine import Engine
from lordclust.solver.path import walk, walk_lord


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
    proportions : array-like of shape (n_clusters,), optional
        Shares of the clusters, summing to 1; equal by default. The mean membership
        of cluster j is exactly ``proportions[j]``.
    affinity : {"knn", "precomputed"}, KNNGraph or callable, default="knn"
        How X becomes S: the self-tuning graph of nearest neighbours, X itself, a
        :class:`lordclust.graph.KNNGraph` with its own settings, or ``f(X) -> S``.
        S may be any symmetric matrix, dense or sparse; entries may be negative.
    start : {"path", "random"} or array of shape (n, n_clusters), default="path"
        "path": add tilt ||V||_F^2 with tilt from -lambda_max(S), where the problem is
        concave, up to 0, following the solution. "random": Sinkhorn-scaled random
        points.
    n_init : int or "auto", default="auto"
        Starts; the best objective is kept. "auto": 1 for a path or a given start,
        10 for random ones.
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

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The most probable cluster of each sample, 0 to k-1. Clusters of equal share
        are numbered by falling size, then by their first sample.
    membership_ : ndarray of shape (n, k)
        P(y_i = j | x_i). Rows sum to 1, column means are ``proportions_``.
    proportions_ : ndarray of shape (k,)
        The shares asked for.
    sizes_ : ndarray of int, shape (k,)
        How many samples have each label. Close to n * proportions_, not equal.
    V_ : ndarray of shape (n, k)
        The factor: membership_ / (n mu).
    objective_, residual_, n_iter_, converged_, history_
        Where the kept descent ended, and its objective at each iteration.
    all_objectives_ : ndarray of shape (n_init,)
        Final objective of every start.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S.

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
        affinity: Any = "knn",
        start: Any = "path",
        n_init: Any = "auto",
        max_iter: int = 4000,
        tol: float = 1e-4,
        algorithm: str = "fast",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.proportions = proportions
        self.affinity = affinity
        self.start = start
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _descend(
        self, S: Graph, mu: FloatArray, mass: FloatArray
    ) -> list[SolverResult]:
        scaled = scale_to_unit_sum(S)
        ends = problem.spectrum(scaled)
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}

        def paper(V: FloatArray, threads: int) -> SolverResult:
            return descent.paper_lord(scaled, V, ends, mu, mass, **limits)

        def fast(V: FloatArray, threads: int) -> SolverResult:
            engine = Engine(scaled, mu, mass, lord=True, n_threads=threads)
            engine.put(V)
            return descent.solve_lord(engine, scaled, ends, **limits)

        def path(V: FloatArray, threads: int) -> SolverResult:
            engine = Engine(scaled, mu, mass, lord=True, n_threads=threads)
            engine.put(V)
            walk_lord(engine, ends, **limits)
            return descent.lord_result(engine, scaled)

        task = paper if self.algorithm == "paper" else fast
        if self._uses_path():
            task = path
        return self._run_all(task, self._starts(S.shape[0], mu, mass))


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
    tau : float or {"auto", "n", "blocks"}, default="auto"
        From soft (0) to hard (1). "auto": 1, the end of the path. "n" and "blocks":
        the paper's rules min(2 n^-0.24, 1) and min(0.34 exp(50 b - 0.03 log n), 1),
        b the share of the k smallest Laplacian eigenvalues.
    proportions : array-like of shape (n_clusters,), optional
        Shares of the clusters, summing to 1; equal by default. The mean membership
        of cluster j is exactly ``proportions[j]``.
    affinity : {"knn", "precomputed"}, KNNGraph or callable, default="knn"
        How X becomes S: the self-tuning graph of nearest neighbours, X itself, a
        :class:`lordclust.graph.KNNGraph` with its own settings, or ``f(X) -> S``.
        S may be any symmetric matrix, dense or sparse; entries may be negative.
    start : {"path", "random"} or array of shape (n, n_clusters), default="path"
        "path": follow the solution from small tau up to ``tau``; better optima than
        dozens of random starts. "random": Sinkhorn-scaled random points.
    n_init : int or "auto", default="auto"
        Starts; the best objective is kept. "auto": 1 for a path or a given start,
        10 for random ones.
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

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The most probable cluster of each sample, 0 to k-1. Clusters of equal share
        are numbered by falling size, then by their first sample.
    membership_ : ndarray of shape (n, k)
        P(y_i = j | x_i). Rows sum to 1, column means are ``proportions_``.
    proportions_ : ndarray of shape (k,)
        The shares asked for.
    sizes_ : ndarray of int, shape (k,)
        How many samples have each label. Close to n * proportions_, not equal.
    V_ : ndarray of shape (n, k)
        The factor: membership_ / (n mu).
    objective_, residual_, n_iter_, converged_, history_
        Where the kept descent ended, and its objective at each iteration.
    all_objectives_ : ndarray of shape (n_init,)
        Final objective of every start.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S.
    tau_, gamma_ : float
        The tau used and its gamma.

    References
    ----------
    .. [1] Lyu, Jia, Liu, Hou, "Graph-based Clustering Revisited: A Relaxation of
       Kernel k-Means Perspective", 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> model = BLoRD(3, tau=0.3).fit(load_iris().data)
    >>> model.membership_.mean(axis=0).round(6)
    array([0.333333, 0.333333, 0.333333])
    """

    maximises = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        tau: Any = "auto",
        proportions: Any = None,
        affinity: Any = "knn",
        start: Any = "path",
        n_init: Any = "auto",
        max_iter: int = 4000,
        tol: float = 1e-4,
        algorithm: str = "fast",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.tau = tau
        self.proportions = proportions
        self.affinity = affinity
        self.start = start
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.tau, str):
            if self.tau not in problem.TAU_RULES:
                raise unknown_name("tau rule", self.tau, problem.TAU_RULES)
        else:
            check_tau(self.tau)

    def _descend(
        self, S: Graph, mu: FloatArray, mass: FloatArray
    ) -> list[SolverResult]:
        ends = problem.spectrum(S)
        tau = self.tau
        tau = problem.TAU_RULES[tau](S, len(mu)) if isinstance(tau, str) else float(tau)
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}

        def paper(V: FloatArray, threads: int) -> SolverResult:
            return descent.paper_blord(S, V, ends, tau, mu, mass, **limits)

        def fast(V: FloatArray, threads: int) -> SolverResult:
            engine = Engine(S, mu, mass, n_threads=threads)
            engine.put(V)
            return descent.solve_blord(engine, S, ends, tau, **limits)

        def path(V: FloatArray, threads: int) -> SolverResult:
            engine = Engine(S, mu, mass, n_threads=threads)
            engine.put(V)
            for _ in walk(engine, ends, tau, **limits):
                pass
            return descent.blord_result(engine, S, ends, tau)

        task = paper if self.algorithm == "paper" else fast
        if self._uses_path():
            task = path
        results = self._run_all(task, self._starts(S.shape[0], mu, mass))
        self.tau_, self.gamma_ = tau, ends.gamma(tau)
        return results
