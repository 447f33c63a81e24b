"""LoRD and B-LoRD: clustering as a low-rank doubly stochastic factorisation.

Both share ``fit``: check, graph, problem, solve or choose, round, keep.
"""

import logging
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lordclust._core.blas import serial_if_small
from lordclust._core.threads import count_threads, fit_threads
from lordclust._core.typing import (
    Affinity,
    ArrayLike,
    FloatArray,
    Graph,
    IntArray,
    PathLike,
    Seed,
)
from lordclust._core.validation import check_count, in_dtype, is_auto
from lordclust._core.warn import warn_user
from lordclust.choose.agreement import compared, other_paths
from lordclust.methods import _callbacks as callbacks
from lordclust.methods._answers import ProbabilityAnswers
from lordclust.methods._choosing import choose_partition, suggest_clusters
from lordclust.methods._descents import Solution, solve_from_starts
from lordclust.methods._left_out import leave_out, put_back
from lordclust.methods._refit import LabelledModel, RefitModel
from lordclust.methods._request import (
    Automatic,
    FitRequest,
    Samples,
    check_blord_parameters,
    check_parameters,
    check_request,
    check_samples,
)
from lordclust.methods._rounding import Demands, broken_links, numbered
from lordclust.methods._saving import SavedProbabilities
from lordclust.result import Agreement, Selection, SolverResult
from lordclust.rounding.labels import (
    labels_from,
    membership_from,
    reordered,
    row_entropy,
    top_entries,
)
from lordclust.rounding.transport import check_bounds, counts_within
from lordclust.solver.loop import Solver
from lordclust.solver.omega import Omega
from lordclust.solver.problem import BLoRDProblem, LoRDProblem, Problem
from lordclust.solver.seeds import Seeds
from lordclust.solver.solve import Limits, make_solver, solve_from_labels
from lordclust.solver.start import start_seeds
from lordclust.solver.tau_rules import TAU_RULES

LOG = logging.getLogger("lordclust.fit")


class DoublyStochasticClusterer(
    callbacks.CallbackSupportMixin, SavedProbabilities, RefitModel, ProbabilityAnswers
):
    """Base class of the two models: everything but the problem that they solve."""

    nonnegative = False
    #: The problem that is solved.
    problem_class: ClassVar[type[Problem]]
    # Where seeds and solutions come from: other places if rows are on workers.
    _seeds_from: Callable[..., Seeds] = Seeds
    _make_solver: Callable[..., Solver] = staticmethod(make_solver)
    _solve_from_labels: Callable[..., SolverResult] = staticmethod(solve_from_labels)

    # Parameters of the constructors.
    n_clusters: Any  # None if BLoRD chooses it
    proportions: object
    strength: float | None
    cluster_sizes: ArrayLike | None
    size_min: ArrayLike | None
    size_max: ArrayLike | None
    rounding: str | None
    links: str
    outliers: object
    affinity: Affinity
    metric: str
    n_neighbors: int | None
    start: str | Graph
    n_init: int | str
    max_iter: int
    tol: float
    algorithm: str
    random_state: Seed
    n_jobs: int | None
    device: str | None
    proba_top: int | None
    dtype: np.dtype | str
    verbose: int

    @callbacks.with_callbacks
    @serial_if_small
    def fit(
        self,
        X: Graph,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        known_labels: ArrayLike | None = None,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
        checkpoint: PathLike | None = None,
    ) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n) if precomputed
            Samples, or their similarities with ``affinity="precomputed"``. The model
            keeps a copy.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Weights of the samples, P(x_i) up to a factor; equal by default. In a given
            S, a weight of 2 counts the sample twice. A graph that is built from X does
            not depend on positive weights: a copy would be the nearest neighbour.
            The model is fitted without the samples of weight 0, links of theirs
            included, and they get a membership from the samples they are similar to.
            Only with ``cluster_sizes``, ``rounding="exact"`` or an array as ``start``,
            which count all samples, they are part of the graph.
        known_labels : array-like of int, shape (n,), optional
            Clusters of samples, from 0 to n_clusters-1, or -1 if unknown. Their
            memberships are fixed, and influence those of other samples. Clusters with
            known samples keep their number; the others are numbered by size.
        must_link, cannot_link : array-like of int, shape (m, 2), optional
            Pairs of samples that belong together, and pairs that do not: edges of
            weight +w and -w in S, where w is as large as the weight of all neighbours
            of the two samples. By default these are soft constraints: nearly all are
            met, and ``broken_links_`` lists the others. See ``links``.
        checkpoint : str or Path, optional
            A file that is rewritten after each tau of the path (each step, for
            LoRD). If the process ends before the fit does, the same call resumes after
            the last finished tau, with the same result bit for bit. A file of another
            problem raises an error. The file is kept when the fit is done; with several
            paths (``n_init``) each has its own file, with .2, .3 and so on appended.
            The graph is built again: build it beforehand if that takes long. This is
            not a parameter of the constructor, because a file belongs to one fit:
            copies of a model (in a grid search, say) would write to the same file.

        Returns
        -------
        self : object
        """
        X = self._check_X(X)
        every = check_samples(
            self, X, sample_weight, known_labels, must_link, cannot_link
        )
        samples, kept, out = leave_out(self, every)
        with fit_threads(self.n_jobs):
            S, request = self._graph(samples, checkpoint)
            problem = self.problem_class.of(S, request.omega, samples.links)
            solve = choose_partition if any(self._automatic()) else solve_from_starts
            solution = solve(self, problem, request)
        callbacks.end(self)
        self._keep(solution, S, request)
        if samples is not every:
            put_back(self, every, kept, out)
        self.broken_links_ = broken_links(every.links, self.labels_)
        return self

    def fit_predict(self, X: Graph, y: object = None, **kwargs: ArrayLike) -> IntArray:
        """Cluster the samples and return ``labels_``."""
        self.fit(X, y, **kwargs)
        return self.labels_

    def fit_transform(self, X: Graph, y: object = None, **kwargs: ArrayLike) -> Graph:
        """Cluster the samples and return ``membership_``."""
        self.fit(X, y, **kwargs)
        return self.membership_

    # -- graph --------------------------------------------------------------------

    def _graph(
        self, samples: Samples, checkpoint: PathLike | None
    ) -> tuple[Graph, FitRequest]:
        """Return S, and what to solve on it; n_clusters=None is chosen on S."""
        if self.n_clusters is not None:  # errors first
            request = check_request(self, samples, self.n_clusters, checkpoint)
        else:
            counts_within(self.size_min, self.size_max, samples.X.shape[0])
        callbacks.begin(self)
        build = self._affinity()
        S = self._built(build, samples.X)
        if self.n_clusters is None:
            self.suggestion_ = suggest_clusters(self, S, samples)
            k = self.suggestion_.best_k
            request = check_request(self, samples, k, checkpoint)
        S = S if np.dtype(self.dtype) == np.float64 else in_dtype(S, self.dtype)
        entries = getattr(S, "nnz", S.size)
        LOG.debug("graph: %d samples, %d entries", S.shape[0], entries)
        callbacks.step(self, "graph")
        return S, request._replace(scales=getattr(build, "scales_", None))

    # -- what the two models decide -----------------------------------------------

    _check_parameters = check_parameters

    def _automatic(self) -> Automatic:
        """Return whether tau and the shares are to be chosen."""
        return Automatic()

    def _goal(self, problem: Problem) -> float:
        """Return the t that the problem is solved at."""
        return 1.0

    # -- what the parameters mean -------------------------------------------------

    def _uses_path(self) -> bool:
        """Return whether a whole path can be followed, which a checkpoint needs."""
        path = isinstance(self.start, str) and self.start in ("auto", "path")
        return path and self.algorithm == "fast"

    def _rounds_exactly(self, omega: Omega) -> bool:
        """Return whether labels meet the shares exactly, not only nearly."""
        if self.rounding is not None or self.cluster_sizes is not None:
            return self.rounding != "argmax"
        given = self.proportions is not None or self.strength is not None
        # Shares of the weight are not counts of samples.
        return given and not is_auto(self.proportions) and omega.equal

    # -- round and keep -----------------------------------------------------------

    def _keep(self, found: Solution, S: Graph, request: FitRequest) -> None:
        """Set the fitted attributes, clusters in canonical order."""
        result, problem, omega = found.result, found.problem, found.problem.omega
        P = membership_from(result.V, omega.mu)
        shares = found.shares if omega.exact else omega.weight @ P / len(P)
        # Clusters of given labels keep their numbers.
        fixed = not isinstance(self.start, str) and np.ndim(self.start) == 1
        order, self.labels_ = numbered(
            P, shares, omega, request.exact, found.labels, fixed, request.demands
        )
        self.n_clusters_ = len(shares)
        self._norm2 = omega.norm2(result.V)
        self.__dict__.pop("_nats", None)  # of an earlier fit
        if self.proba_top is None:
            # In place: no third array of n x k numbers is needed.
            V = np.ascontiguousarray(result.V)
            self.V_ = reordered(V, order, omega.weight)
            self.membership_ = reordered(P, order)
        else:
            self._keep_largest(self.proba_top, result.V, P, order, omega)
        self.proportions_ = shares[order]
        self.sizes_ = np.bincount(self.labels_, minlength=len(shares))
        self.objective_, self.residual_ = result.objective, result.residual
        self.n_iter_, self.converged_ = max(1, result.n_iter), result.converged
        self.history_, self.all_objectives_ = result.history, found.objectives
        self.affinity_matrix_, self._weight = S, omega.weight
        self.__dict__.pop("selection_", None)  # of an earlier fit
        if self.n_clusters is not None:
            self.__dict__.pop("suggestion_", None)
        if found.selection is not None:
            self.selection_ = found.selection
        LOG.info(
            "%s: %d samples in clusters of %s; objective %.6g, %d iterations, residual "
            "%.1e", type(self).__name__, len(P), self.sizes_.tolist(), self.objective_,
            self.n_iter_, self.residual_,
        )  # fmt: skip
        if isinstance(problem, BLoRDProblem):
            self.tau_, self.gamma_ = found.t, problem.tilt(found.t) - problem.shift
            self._problem = problem
        self._samples = None if self._is_precomputed() else request.samples.X
        self._extensions, self._novelties = [], []
        if not result.converged:
            warn_user(
                f"{type(self).__name__} stopped at max_iter={self.max_iter}, residual "
                f"{result.residual:.1e} > tol={self.tol:.1e}. Raise max_iter or "
                "loosen tol.",
                ConvergenceWarning,
            )

    def _keep_largest(
        self, m: int, V: FloatArray, P: FloatArray, order: IntArray, omega: Omega
    ) -> None:
        """Set ``membership_`` and ``V_``: the largest entries of each row."""
        self._nats = row_entropy(P)
        self.membership_ = top_entries(P, m)
        M = self.membership_
        i, j = np.repeat(np.arange(len(P)), np.diff(M.indptr)), M.indices
        V_ = M.copy()
        # Scaled by the same factors as the memberships.
        V_.data[:] = omega.weight[i] * V[i, j] * (M.data / P[i, j])
        self.membership_, self.V_ = M[:, order], V_[:, order]
        self.membership_.sort_indices()
        self.V_.sort_indices()


@dataclass(eq=False, repr=False)
class BLoRD(LabelledModel, DoublyStochasticClusterer):
    """Block-diagonal low-rank doubly stochastic clustering.

    Solves

        max Tr(V'SV) + gamma ||V||_F^2   over   V >= 0,  V'1 = mu,  V mu = 1/n

    with gamma = -lambda_max(S) + tau (lambda_max(S) - lambda_min(S)) and mu the
    square roots of the cluster proportions. tau turns the clustering from soft (0:
    every membership equals the proportions) to hard (1: memberships are mostly 0
    or 1) [1]_. The model is the published one; ``algorithm="paper"`` is the published
    algorithm, and ``"fast"`` solves the same problem by accelerated steps with an exact
    projection.

    By default neither tau nor the shares have to be known. Cuts of the graph, trees and
    centres propose shares, B-LoRD solves the problem for them, and the partition with
    the most evidence is kept (``selection_``); its probabilities are calibrated. Both
    rules are our own and use no labels.

    Parameters
    ----------
    n_clusters : int or None, default=8
        Number of clusters k. None: the number that :func:`lordclust.suggest_k` would
        suggest, from 2 to 20, of those that ``size_min`` and ``size_max`` allow. If it
        is n, each sample is a cluster of its own.
    tau : float or {"auto", "n", "blocks"}, default="auto"
        "auto": the labels with the most evidence, with calibrated probabilities. A
        number: B-LoRD at this tau, from soft (0) to hard (1). "n" and "blocks": the
        paper's rules min(2 n^-0.24, 1) and min(0.34 exp(50 b - 0.03 log n), 1), where b
        is the share of the k smallest Laplacian eigenvalues.
    gamma : float, optional
        The paper's gamma, instead of ``tau``: from -lambda_max(S), where tau = 0, to
        -lambda_min(S), where tau = 1.
    proportions : "auto", "equal" or array-like of shape (n_clusters,), default="auto"
        Shares of the clusters. "auto", the default: those of the partition with the
        most evidence. "equal": the paper's choice. Given shares must sum to 1;
        percentages, and numbers of at least 1, are divided by their sum. The mean
        membership of cluster j is exactly ``proportions[j]``, and labels meet them, see
        ``rounding``.
    strength : float, optional
        Turns given or equal shares into a soft constraint, with a penalty in the
        objective: at 10 they are nearly met, at 1 they move by a few hundredths, at
        0.1 by more (at 0 one cluster takes everything). By default they are met
        exactly.
    cluster_sizes : int or array-like of int, shape (n_clusters,), optional
        Number of samples with label j, or one number for all, instead of
        ``proportions``. They must sum to n, and are met exactly.
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on the number of samples with each label, one for all clusters or one for
        each; numbers below 1 are shares of the samples. Of all labels within the bounds
        those with the largest total membership are found. The search goes on as
        without bounds; if its labels exceed them, automatic shares become those of the
        labels within the bounds. Different bounds go to clusters by size, the largest
        to the largest.
    rounding : {"argmax", "exact"}, optional
        How probabilities become labels. "argmax": the most probable cluster of each
        sample; the default if no shares are given. "exact": of all labels with exactly
        n * proportions samples per cluster (rounded to whole numbers by largest
        remainders), those with the largest total membership; the default for given
        shares of samples of equal weight, and for ``cluster_sizes``. Samples are
        counted regardless of their weights.
    links : {"soft", "hard"}, default="soft"
        Whether labels may break some must-links and cannot-links. "hard": none. Labels
        that break any are changed, groups of must-linked samples as one, towards the
        largest total membership. Links that no labels can meet, or for which none are
        found, raise an error that names the samples.
    outliers : float, "auto" or array-like of bool, shape (n,), optional
        Samples that belong nowhere get the label -1: a share of the samples, those of
        the largest ``novelty_``; "auto", as many as are far out of their region; or
        those that an array marks. The model is fitted without them, so that shares and
        sizes are those of the others, and they get probabilities from the samples near
        them. Samples with a known label are never found to be outliers.
    affinity : str, KNNGraph or callable, default="knn"
        How S is computed from X. "knn" or "nearest_neighbors": the self-tuning graph of
        nearest neighbours. "self_tuning" and "rbf": full kernels, self-tuning or
        Gaussian with the median distance. "precomputed": X is S. A
        :class:`lordclust.graph.KNNGraph` has its own settings;
        "precomputed_nearest_neighbors" is one with ``metric="precomputed"``. A function
        ``f(X) -> S``. S may be any symmetric matrix, dense or sparse; entries may be
        negative.
    metric : str, default="euclidean"
        Distance of the nearest neighbours, as in :class:`lordclust.graph.KNNGraph`.
    n_neighbors : int, optional
        Number of nearest neighbours. By default floor(log2 n) + 1.
    start : {"auto", "path", "random"} or array, default="auto"
        For given tau and proportions. "auto": short paths in tau, from a cut of the
        graph, its spanning tree and mixtures of its eigenvectors; the best objective is
        kept. "path": follow the solution from tau = 0.02 up to ``tau``. "random":
        Sinkhorn-scaled random points. An array of shape (n, n_clusters) is taken as V,
        one of shape (n,) as the labels of another clustering.
    n_init : int or "auto", default="auto"
        Number of starts; the best objective is kept. "auto": up to 4 short paths (1
        if k > n/2), 1 path (5 if unequal shares are given), or 10 random starts.
    max_iter : int, default=4000
        Maximum number of iterations of each descent.
    tol : float, default=1e-4
        Residual ||V - P(V - grad/L)||_F / ||V||_F at which a descent stops.
    algorithm : {"fast", "paper"}, default="fast"
        "paper" runs Algorithms 1 to 3 of the paper with their misprints corrected
        (plain steps, Dykstra, Sinkhorn-scaled random starts): slow, for reference.
    random_state : int, RandomState or None, default=None
        Seed for the random starts. Without it a path is the same every time.
    n_jobs : int or None, default=-1
        Number of threads, -1 for all cores. None: one, unless a
        ``joblib.parallel_config`` context says otherwise. Results do not depend on it.
    device : {"cpu", "cuda"}, optional
        Solve with PyTorch on this device. By default the compiled solver is used, which
        is faster on a CPU. Results are NumPy arrays.
    proba_top : int, optional
        Keep only the m most probable clusters of each sample, for many clusters:
        ``membership_`` and ``V_`` are then sparse, with n x m numbers instead of n x k.
        Rows are rescaled to sum to 1; column means are then only close to
        ``proportions_``. ``labels_``, ``sizes_`` and ``uncertainty_`` are computed
        before, from all clusters.
    dtype : {"float64", "float32"}, default="float64"
        Type in which S, V and other arrays of n x k numbers are stored. "float32"
        halves the memory; arithmetic is float64, and rows of ``membership_`` sum to 1
        up to 1e-6. On a device, S and its products are then float32, and V is float64.
    verbose : int, default=0
        1: print each finished step. 2: also each tau on a path.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The cluster of each sample, 0 to k-1: with ``tau="auto"`` the partition with the
        most evidence, otherwise the most probable cluster, except where exact sizes
        require another one. Clusters are numbered by decreasing size, then by their
        first sample, if their shares are equal or automatic; clusters with known
        samples keep their number. Outliers have the label -1.
    membership_ : ndarray of shape (n, k), or csr_array with ``proba_top``
        P(y_i = j | x_i). Rows sum to 1; column means, weighted by ``sample_weight``,
        are ``proportions_``.
    proportions_ : ndarray of shape (k,)
        The shares requested, or those found if they are soft or automatic.
    sizes_ : ndarray of int, shape (k,)
        Number of samples with each label: close to n * proportions_, and equal to it
        with exact rounding. Outliers are not counted.
    outliers_ : ndarray of int
        The samples with the label -1.
    novelty_ : ndarray of shape (n,)
        How little the samples around support each sample, see ``novelty``.
    broken_links_ : ndarray of int, shape (m, 2)
        The must-links and cannot-links that ``labels_`` break; none with
        ``links="hard"``.
    uncertainty_ : ndarray of shape (n,)
        Entropy of each sample's membership in units of log k, 0 to 1.
    exemplars_ : list of ndarray of int, length k
        The most typical samples of each cluster, at most five, the most typical first.
    V_ : ndarray of shape (n, k), or csr_array with ``proba_top``
        The factor: P(x_i) membership_ / mu, P(x_i) = 1/n for equal weights.
    objective_, residual_, n_iter_, converged_, history_
        Result of the best descent, and its objective at each iteration, including the
        penalty of soft shares. With ``tau="auto"``, of the descent at tau = 1 from the
        labels.
    all_objectives_ : ndarray
        Final objective of every start that was followed to the end: with
        ``n_init="auto"`` and a large V only the best of the short paths is.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S, without must-links and cannot-links.
    recall_ : float
        Fraction of the true nearest neighbours that the graph was built from, 1 if the
        search was exact; only with "knn" or a KNNGraph.
    tau_, gamma_ : float
        The tau of the objective (1 with ``tau="auto"``), and its gamma.
    selection_ : Selection
        With "auto": all candidates with their evidence and sizes.
    n_clusters_ : int
        The number of clusters.
    suggestion_ : KSuggestion
        With ``n_clusters=None``: how well each number of clusters fits.

    References
    ----------
    .. [1] Lyu, Jia, Liu, Hou, "Graph-based Clustering Revisited: A Relaxation of
       Kernel k-Means Perspective", 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lordclust import BLoRD
    >>> X = load_iris().data
    >>> model = BLoRD(3).fit(X)
    >>> model.sizes_
    array([51, 50, 49])

    The paper's model, with equal shares and a given tau:

    >>> model = BLoRD(3, tau=0.3, proportions="equal").fit(X)
    >>> model.membership_.mean(axis=0).round(6)
    array([0.333333, 0.333333, 0.333333])

    Labels with given sizes:

    >>> BLoRD(3, cluster_sizes=[50, 60, 40]).fit(X).sizes_
    array([50, 60, 40])

    Or within bounds:

    >>> BLoRD(3, size_min=40, size_max=60).fit(X).sizes_
    array([51, 50, 49])
    """

    maximises = True
    problem_class = BLoRDProblem

    n_clusters: int | None = 8
    _: KW_ONLY
    tau: float | str = "auto"
    gamma: float | None = None
    proportions: object = "auto"
    strength: float | None = None
    cluster_sizes: ArrayLike | None = None
    size_min: ArrayLike | None = None
    size_max: ArrayLike | None = None
    rounding: str | None = None
    links: str = "soft"
    outliers: object = None
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    start: str | Graph = "auto"
    n_init: int | str = "auto"
    max_iter: int = 4000
    tol: float = 1e-4
    algorithm: str = "fast"
    random_state: Seed = None
    n_jobs: int | None = -1
    device: str | None = None
    proba_top: int | None = None
    dtype: np.dtype | str = "float64"
    verbose: int = 0

    _check_parameters = check_blord_parameters

    def _automatic(self) -> Automatic:
        tau = self.gamma is None and is_auto(self.tau)
        return Automatic(tau, is_auto(self.proportions) and self.cluster_sizes is None)

    def _goal(self, problem: Problem) -> float:
        if self.gamma is not None and isinstance(problem, BLoRDProblem):
            return problem.tau_of(float(self.gamma))
        if isinstance(self.tau, str):
            return TAU_RULES[self.tau](problem.S, len(problem.omega.mu))
        return float(self.tau)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the constructor call, and whether other partitions are as good."""
        text = str(super().__repr__(N_CHAR_MAX))
        selection: Selection | None = getattr(self, "selection_", None)
        if selection is None or selection.is_stable:
            return text
        return f"{text}  # stability {selection.stability:.0%}: others are as good"

    def agreement(self, n_paths: int = 5, *, random_state: Seed = 0) -> Agreement:
        """Return how much the labels depend on the path that led to them.

        Solves the fitted problem again along other paths to ``tau_``: from other
        random points, at other first taus, in other steps. If the objective has several
        good optima, they end in different ones. Paths that end in a worse optimum than
        the fitted model say little: ``as_good`` tells them apart. Each path costs about
        one fit.

        Parameters
        ----------
        n_paths : int, default=5
            Number of paths.
        random_state : int, RandomState or None, default=0
            Seed for their starts.

        Returns
        -------
        agreement : Agreement
            For each sample the fraction of paths that give it the same label (with
            clusters matched), the mean adjusted Rand index between all of them, their
            labels, their objectives, and which of these are as good as the model's.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from lordclust import BLoRD
        >>> model = BLoRD(3, tau=0.3, proportions="equal").fit(load_iris().data)
        >>> model.agreement(3)
        Agreement of 3 paths: mean ARI 1.000, all agree on 100.0% of 150 samples
        """
        check_is_fitted(self)
        seeds = start_seeds(check_count(n_paths, "n_paths"), random_state)
        problem, limits = self._problem, Limits(self.tol, self.max_iter)
        ends = other_paths(
            problem, self.tau_, seeds, count_threads(self.n_jobs), limits
        )
        omega, labels, demands = problem.omega, [], None
        if self.size_min is not None or self.size_max is not None:
            k, n = len(self.sizes_), len(self.labels_)
            demands = Demands(check_bounds(self.size_min, self.size_max, k, n, least=1))
        for end in ends:
            P = membership_from(end.V, omega.mu)
            shares = omega.mu**2 if omega.exact else self.proportions_
            exact = self._rounds_exactly(omega)
            labels.append(numbered(P, shares, omega, exact, demands=demands)[1])
        objectives = [end.objective for end in ends]
        own = np.where(self.labels_ < 0, labels_from(self.membership_), self.labels_)
        return compared(own, float(self.objective_), labels, objectives)


@dataclass(eq=False, repr=False)
class LoRD(DoublyStochasticClusterer, texts=BLoRD):
    """Low-rank doubly stochastic clustering.

    Solves

        min ||S - VV'||_F^2   over   V >= 0,  V'1 = mu,  V mu = 1/n

    with S scaled so that its entries sum to 1 and mu the square roots of the cluster
    proportions: kernel k-means with only the orthogonality of V relaxed, so that
    V gives probabilities [1]_. The model is the published one; ``algorithm="paper"`` is
    the published algorithm, and ``"fast"`` solves the same problem by accelerated steps
    with an exact projection.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    proportions : array-like of shape (n_clusters,), optional
        Shares of the clusters, summing to 1; equal by default. The mean membership
        of cluster j is exactly ``proportions[j]``, unless they have a ``strength``.
    strength : float, optional
        Turns the shares into a soft constraint, with a penalty in the objective: at 10
        they are nearly met, at 1 they move by a few hundredths, at 0.1 by more. By
        default they are met exactly.
    cluster_sizes
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on the number of samples with each label, one for all clusters or one for
        each; numbers below 1 are shares of the samples. Of all labels within the bounds
        those with the largest total membership are found. Different bounds go to
        clusters by size, the largest to the largest.
    rounding, links, outliers, affinity, metric, n_neighbors
    start : {"auto", "path", "random"} or array, default="auto"
        "auto": from a cut of the graph, its spanning tree and mixtures of its
        eigenvectors; the best objective is kept. "path": add tilt ||V||_F^2 with tilt
        from -lambda_max(S), where the problem is concave, up to 0, following the
        solution. "random": Sinkhorn-scaled random points. An array of shape
        (n, n_clusters) is taken as V, one of shape (n,) as the labels of another
        clustering.
    n_init : int or "auto", default="auto"
        Number of starts; the best objective is kept. "auto": up to 4 starts (1 if
        k > n/2), 1 path (5 if unequal shares are given), or 10 random starts.
    max_iter, tol, algorithm, random_state, n_jobs, device, proba_top, dtype, verbose

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        The most probable cluster of each sample, 0 to k-1, except where exact sizes
        require another one. Clusters of equal share are numbered by decreasing size,
        then by their first sample; clusters with known samples keep their number.
        Outliers have the label -1.
    membership_, proportions_, sizes_, outliers_, novelty_, broken_links_
    uncertainty_, exemplars_, V_
    objective_, residual_, n_iter_, converged_, history_
        Result of the best descent, and its objective at each iteration, including the
        penalty of soft shares.
    all_objectives_, affinity_matrix_, recall_

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

    problem_class = LoRDProblem

    n_clusters: int = 8
    _: KW_ONLY
    proportions: object = None
    strength: float | None = None
    cluster_sizes: ArrayLike | None = None
    size_min: ArrayLike | None = None
    size_max: ArrayLike | None = None
    rounding: str | None = None
    links: str = "soft"
    outliers: object = None
    affinity: Affinity = "knn"
    metric: str = "euclidean"
    n_neighbors: int | None = None
    start: str | Graph = "auto"
    n_init: int | str = "auto"
    max_iter: int = 4000
    tol: float = 1e-4
    algorithm: str = "fast"
    random_state: Seed = None
    n_jobs: int | None = -1
    device: str | None = None
    proba_top: int | None = None
    dtype: np.dtype | str = "float64"
    verbose: int = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_clusters is None:
            raise TypeError(
                "LoRD needs n_clusters, got None. Use BLoRD to have it chosen, or "
                "suggest_k."
            )
        if is_auto(self.proportions):
            raise ValueError(
                'LoRD does not support proportions="auto": it has no path of '
                "partitions to choose from. Use BLoRD, or pass the shares."
            )
