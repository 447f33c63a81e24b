"""LoRD and B-LoRD: clustering as a low-rank doubly stochastic factorisation.

Both share ``fit``: check, graph, problem, starts, solve or choose, round, keep.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from numbers import Real
from threading import Event
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lordclust._core.memory import (
    LITTLE,
    check_memory,
    solver_advice,
    solver_bytes,
)
from lordclust._core.threads import count_threads
from lordclust._core.typing import (
    Affinity,
    ArrayLike,
    FloatArray,
    Graph,
    IntArray,
    PathLike,
    Seed,
)
from lordclust._core.validation import (
    check_choice,
    check_count,
    check_dtype,
    check_n_clusters,
    check_not_both,
    check_positive,
    check_tau,
    in_dtype,
    is_auto,
    unknown_name,
)
from lordclust._core.warn import warn_user
from lordclust.choose.agreement import compared, other_paths
from lordclust.choose.calibrate import calibrated, partition_stability
from lordclust.choose.evidence import Evidence
from lordclust.choose.n_clusters import MAX_CLUSTERS, best_n_clusters
from lordclust.choose.search import (
    Candidate,
    Search,
    cell_of,
    choose,
    given,
)
from lordclust.methods import _callbacks as callbacks
from lordclust.methods._answers import ProbabilityAnswers
from lordclust.methods._base import NAN
from lordclust.methods._outliers import check_outliers, fit_without_outliers
from lordclust.methods._refit import RefitModel
from lordclust.methods._saving import SavedProbabilities
from lordclust.methods._weightless import put_back, selected, selected_pairs
from lordclust.result import Agreement, Selection, SolverResult
from lordclust.rounding.labels import (
    canonical_order,
    labels_from,
    membership_from,
    reordered,
    row_entropy,
    top_entries,
)
from lordclust.rounding.linked import linked_labels
from lordclust.rounding.transport import (
    Bounds,
    assign_sizes,
    check_bounds,
    check_sizes,
    whole_sizes,
)
from lordclust.solver.arrays import load_torch
from lordclust.solver.checkpoint import (
    Checkpoint,
    check_place,
    fingerprint,
    places,
    with_saved_spectrum,
)
from lordclust.solver.engine import Solver
from lordclust.solver.links import Links, check_links
from lordclust.solver.omega import Omega, make_omega
from lordclust.solver.path import RACE, SHORT_FROM, follow, late_taus, solve_at
from lordclust.solver.problem import BLoRDProblem, LoRDProblem, Problem
from lordclust.solver.seeds import Seeds, completed
from lordclust.solver.solve import (
    Limits,
    is_large,
    make_solver,
    solve,
    solve_by_paper,
    solve_from_labels,
)
from lordclust.solver.start import (
    check_start_labels,
    count_starts,
    given_start,
    random_start,
    start_seeds,
)
from lordclust.solver.tau_rules import TAU_RULES

LOG = logging.getLogger("lordclust.fit")
ALGORITHMS = ("fast", "paper")
STARTS = ("auto", "path", "random")
ROUNDINGS = ("argmax", "exact")
LINKS = ("soft", "hard")
#: From this tau on V is nearly hard.
HARD = 0.8
#: Starts that mix eigenvectors, beside those from labels of the graph.
MIXTURES = 2


#: sample_weight, known_labels, must_link, cannot_link, checkpoint.
Extras: TypeAlias = tuple[
    ArrayLike | None,
    ArrayLike | None,
    ArrayLike | None,
    ArrayLike | None,
    PathLike | None,
]


class Demands(NamedTuple):
    """What all labels must meet: bounds on the sizes, and hard links."""

    bounds: Bounds | None
    links: Links | None = None

    def met(self, labels: IntArray) -> bool:
        """Return whether labels are within the bounds and break no link."""
        within = self.bounds is None or self.bounds.hold(labels)
        return within and (self.links is None or not len(self.links.broken(labels)))


class FitRequest(NamedTuple):
    """The checked arguments of a fit."""

    X: Graph
    omega: Omega
    shares: FloatArray
    links: Links | None
    checkpoint: PathLike | None
    scales: FloatArray | None = None  # of a self-tuning graph
    demands: Demands | None = None


class Start(NamedTuple):
    """The start of a descent, the taus on its way, and the checkpoint of its path."""

    V: Graph  # or labels that have the requested shares
    taus: tuple[float, ...] = ()
    checkpoint: Checkpoint | None = None
    reached: float = 0.0  # the tau that V was solved at


class Solution(NamedTuple):
    """The result that a fit keeps, the problem it solves, and how it was found."""

    result: SolverResult
    problem: Problem
    omega: Omega
    shares: FloatArray
    t: float
    objectives: FloatArray
    labels: IntArray | None = None
    selection: Selection | None = None
    demands: Demands | None = None


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

    # Parameters, set by the constructors of the two models.
    n_clusters: Any  # None if BLoRD chooses it
    proportions: object
    strength: float | None = None
    cluster_sizes: ArrayLike | None
    size_min: ArrayLike | None
    size_max: ArrayLike | None
    rounding: str | None
    links: str
    outliers: object = None  # of BLoRD
    affinity: Affinity
    n_neighbors: int | None = None
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
        extras: Extras = (
            sample_weight, known_labels, must_link, cannot_link, checkpoint
        )  # fmt: skip
        if self.outliers is not None:
            fit_without_outliers(self, X, *extras)
            return self
        request = whole = self._check(X, *extras)
        if whole.omega.weight.min() == 0 and self._can_leave_out():
            extras, request = self._without_light(whole, sample_weight)
        callbacks.begin(self)
        build = self._affinity()
        S = self._built(build, request.X)
        if self.n_clusters is None:
            k = self._count_clusters(S, request)
            request = self._check(request.X, *extras, n_clusters=k)
        request = request._replace(scales=getattr(build, "scales_", None))
        if np.dtype(self.dtype) == np.float32:
            S = in_dtype(S, self.dtype)
        LOG.debug(
            "graph: %d samples, %d entries", S.shape[0], getattr(S, "nnz", S.size)
        )
        callbacks.step(self, "graph")
        problem = self.problem_class.of(S, request.omega, request.links)
        if self._chooses():
            solution = self._choose(problem, request)
        else:
            starts = self._starts(problem, request)
            solution = self._solve(problem, starts, request)
        callbacks.end(self)
        self._keep(solution._replace(demands=request.demands), S, request.X)
        if len(self.labels_) < whole.X.shape[0]:
            put_back(self, *whole[:2], whole.links, whole.omega.weight > 0)
        links, none = whole.links, np.empty((0, 2), dtype=np.int64)
        self.broken_links_ = none if links is None else links.broken(self.labels_)
        if broken := len(self.broken_links_):
            warn_user(
                f"Labels break {broken} link{'s'[: broken - 1]}, see broken_links_. "
                'Use links="hard" to meet all, or to learn why that is impossible.',
                UserWarning,
            )
        return self

    def fit_predict(self, X: Graph, y: object = None, **kwargs: ArrayLike) -> IntArray:
        """Cluster the samples and return ``labels_``."""
        self.fit(X, y, **kwargs)
        return self.labels_

    def fit_transform(self, X: Graph, y: object = None, **kwargs: ArrayLike) -> Graph:
        """Cluster the samples and return ``membership_``."""
        self.fit(X, y, **kwargs)
        return self.membership_

    # -- check --------------------------------------------------------------------

    def _check(
        self,
        X: Graph,
        sample_weight: ArrayLike | None,
        known_labels: ArrayLike | None,
        must_link: ArrayLike | None,
        cannot_link: ArrayLike | None,
        checkpoint: PathLike | None,
        n_clusters: int | None = None,
    ) -> FitRequest:
        """Return the arguments of a fit; raise an error if any cannot be used."""
        X = self._check_X(X) if n_clusters is None else X  # checked before
        n, proportions = X.shape[0], self.proportions
        # If it is still to be chosen, any number serves to check the rest.
        k = self.n_clusters if n_clusters is None else n_clusters
        k = check_n_clusters(1 if k is None else k, n)
        self._check_parameters()
        if self.cluster_sizes is not None:
            sizes = check_sizes(self.cluster_sizes, k, n, name="cluster_sizes")
            if sizes.min() == 0:
                raise ValueError(
                    "cluster_sizes must be positive, got 0 at position "
                    f"{sizes.argmin()}. Lower n_clusters to leave out an empty cluster."
                )
            proportions = sizes / n
        auto = is_auto(proportions)
        if isinstance(proportions, str) and proportions == "equal":
            proportions = None
        if self.strength is not None:
            proportions = (proportions, self.strength)
        omega, shares = make_omega(
            n, k, proportions, sample_weight, known_labels, auto=auto
        )
        bounds = None
        bounded = self.size_min is not None or self.size_max is not None
        if bounded and (n_clusters or self.n_clusters) is not None:
            bounds = check_bounds(self.size_min, self.size_max, k, n, least=1)
            if omega.known is not None:
                _check_places(omega.known, bounds.high, "size_max")
        links = None
        if must_link is not None or cannot_link is not None:
            links = check_links(must_link, cannot_link, omega.known, n)
        demands = None if bounds is None else Demands(bounds)
        if self.links == "hard" and links is not None:
            demands = Demands(bounds, links)
            if (n_clusters or self.n_clusters) is not None:
                if self.cluster_sizes is not None:
                    bounds = Bounds(sizes, sizes)
                elif bounds is None:
                    bounds = check_bounds(None, None, k, n, least=1)
                # Links that no labels can meet raise an error.
                even = np.full((n, k), 1 / k)
                numbered(even, shares, omega, False, demands=Demands(bounds, links))
        if self.algorithm == "paper":
            self._check_paper(omega)
        elif self.device is None and n * k > LITTLE:
            self._check_memory(X, omega)
        if checkpoint is not None:
            self._check_checkpoint(checkpoint)
        return FitRequest(X, omega, shares, links, checkpoint, demands=demands)

    def _can_leave_out(self) -> bool:
        """Return whether all samples of weight 0 can be left out of a fit."""
        counted = self.cluster_sizes is not None or self.rounding == "exact"
        counted |= self.size_min is not None or self.size_max is not None
        counted |= self.links == "hard"
        return isinstance(self.start, str) and not counted

    def _without_light(
        self, whole: FitRequest, sample_weight: ArrayLike | None
    ) -> tuple[Extras, FitRequest]:
        """Return the arguments of the fit without the samples of weight 0."""
        omega, links, kept = whole.omega, whole.links, whole.omega.weight > 0
        extras: Extras = (
            np.asarray(sample_weight)[kept],
            None if omega.known is None else omega.known[kept],
            None if links is None else selected_pairs(links.must, kept),
            None if links is None else selected_pairs(links.cannot, kept),
            whole.checkpoint,
        )
        X = selected(whole.X, kept, square=self._is_precomputed())
        k = 1 if self.n_clusters is None else self.n_clusters
        return extras, self._check(X, *extras, n_clusters=k)

    def _check_parameters(self) -> None:
        """Raise an error for parameters that no fit can use."""
        if self.rounding is not None:
            check_choice(self.rounding, ROUNDINGS, "rounding")
        if self.cluster_sizes is not None:
            given = None if is_auto(self.proportions) else self.proportions
            check_not_both(given, "proportions", "cluster_sizes")
            if self.rounding == "argmax":
                raise ValueError(
                    "cluster_sizes require exact rounding, got rounding='argmax'. "
                    "Leave rounding out, or pass proportions, nearly met by argmax."
                )
        for other in ("cluster_sizes", "rounding"):
            value = getattr(self, other)
            bounded = self.size_min is not None or self.size_max is not None
            if bounded and value is not None:
                raise ValueError(
                    f"size_min and size_max cannot be combined with {other}, got "
                    f"{other}={value!r}. Leave one of them out."
                )
        if self.strength is not None:
            check_not_both(self.cluster_sizes, "cluster_sizes", "strength")
            if is_auto(self.proportions):
                raise ValueError(
                    f"strength is for given shares, got strength={self.strength!r} and "
                    'proportions="auto". Pass the shares, or proportions="equal".'
                )
        check_choice(self.algorithm, ALGORITHMS, "algorithm")
        check_choice(self.links, LINKS, "links")
        if isinstance(self.start, str):
            check_choice(self.start, STARTS, "start")
        if not is_auto(self.n_init):
            check_count(self.n_init, "n_init")
        check_count(self.max_iter, "max_iter")
        check_positive(self.tol, "tol")
        count_threads(self.n_jobs)
        if self.device is not None:
            load_torch(self.device)  # before the graph is built
            if self.algorithm == "paper":
                raise ValueError(
                    f'algorithm="paper" runs on NumPy, got device={self.device!r}. '
                    'Leave device out, or use algorithm="fast".'
                )
        if self.proba_top is not None:
            check_count(self.proba_top, "proba_top")
        check_dtype(self.dtype)

    def _check_paper(self, omega: Omega) -> None:
        """Raise an error for options that the paper's algorithm does not support."""
        for needed, fine, got in (
            ("equal weights", omega.equal, "a sample_weight that is not constant"),
            ("no known labels", omega.known is None, "known_labels"),
            ("exact proportions", omega.exact, f"a strength of {omega.strength:g}"),
        ):
            if not fine:
                raise ValueError(
                    f'algorithm="paper" requires {needed}, got {got}. Use '
                    'algorithm="fast".'
                )

    def _check_checkpoint(self, checkpoint: PathLike) -> None:
        """Raise an error if a checkpoint cannot be written, or there is no path."""
        check_place(checkpoint)
        if not self._uses_path():
            raise ValueError(
                "checkpoint saves a path, but "
                f"start={self.start if isinstance(self.start, str) else 'an array'!r} "
                f'and algorithm={self.algorithm!r} follow none. Use start="path" and '
                'algorithm="fast", or leave checkpoint out.'
            )
        if self.device is not None:
            raise ValueError(
                "checkpoint saves a path of the compiled solver, got "
                f"device={self.device!r}. Leave one of them out."
            )
        if self._chooses():
            raise ValueError(
                'checkpoint saves a path to one tau, but "auto" compares many. Pass '
                "tau and proportions, or leave checkpoint out."
            )

    def _check_memory(self, X: Graph, omega: Omega) -> None:
        """Raise an error, before the graph is built, if memory will not suffice."""
        n, k = omega.shape
        edges = 0  # S has at least this many entries; a dense one is not copied
        if self._is_precomputed():
            edges = int(X.nnz) if sp.issparse(X) else 0
        elif isinstance(self.affinity, str):
            # The default graph has floor(log2 n) + 1 neighbours per sample.
            edges = n * min(self.n_neighbors or n.bit_length(), n - 1)
        n_init = self.n_init if isinstance(self.start, str) else 1
        paths = count_starts(n_init, omega, path=self._uses_path())
        paths = min(count_threads(self.n_jobs), paths)
        single = np.dtype(self.dtype) == np.float32
        check_memory(
            solver_bytes(n, k, edges, 4 if single else 8, paths),
            f"{type(self).__name__} of {n} samples and {k} clusters",
            solver_advice(single=single, paths=paths),
        )

    def _count_clusters(self, S: Graph, request: FitRequest) -> int:
        """Return the number of clusters with the most evidence."""
        raise TypeError(
            f"{type(self).__name__} needs n_clusters, got None. Use BLoRD to have it "
            "chosen, or suggest_k."
        )

    def _uses_path(self) -> bool:
        """Return whether a whole path can be followed, which a checkpoint needs."""
        path = isinstance(self.start, str) and self.start in ("auto", "path")
        return path and self.algorithm == "fast"

    def _chooses(self) -> bool:
        """Return whether tau or the shares are to be chosen."""
        return False

    # -- starts -------------------------------------------------------------------

    def _starts(self, problem: Problem, request: FitRequest) -> list[Start]:
        """Return the starts of the descents or paths."""
        omega, kind = problem.omega, self.start
        if not isinstance(kind, str):
            return [Start(given_start(kind, omega))]
        if kind == "auto" and self.algorithm == "fast" and request.checkpoint is None:
            return self._seeded(problem)
        # A path without random_state is the same every time.
        fixed = self._uses_path() and self.random_state is None
        count = count_starts(self.n_init, omega, path=self._uses_path())
        seeds = start_seeds(count, 0 if fixed else self.random_state)
        starts = [random_start(omega, np.random.default_rng(s)) for s in seeds]
        if request.checkpoint is None:
            return [Start(V) for V in starts]
        more = self._goal(problem), float(self.tol), self.max_iter, str(self.dtype)
        every = zip(places(request.checkpoint, len(starts)), starts, strict=True)
        return [
            Start(V, checkpoint=Checkpoint(place, fingerprint(problem, V, *more)))
            for place, V in every
        ]

    def _seeded(self, problem: Problem) -> list[Start]:
        """Return short paths that start from what the graph suggests."""
        omega, (n, k) = problem.omega, problem.omega.shape
        if omega.one_each:
            return [Start(np.arange(n))]
        seeds, crowded = Seeds(problem.S, k), 2 * k > n  # most have one sample
        hard = []
        if not problem.lord and omega.exact:
            hard = [Start(seeds.sized_cut(omega))]
            large = is_large(problem) and self._goal(problem) >= HARD
            if large or crowded or seeds.clear_cut(omega) is not None:
                return hard
        few = 1 if crowded else MIXTURES
        count = few if is_auto(self.n_init) else int(self.n_init)
        seed = 0 if self.random_state is None else self.random_state
        goal, draws = self._goal(problem), start_seeds(count, seed)
        starts = [
            Start(V, late_taus(problem, goal, from_labels=labels))
            for _, V, labels in seeds.starts(omega, draws)
        ]
        starts += hard
        return starts if is_auto(self.n_init) and not crowded else starts[:count]

    # -- solve --------------------------------------------------------------------

    def _goal(self, problem: Problem) -> float:
        """Return the t that the problem is solved at."""
        return 1.0

    def _solve(
        self, problem: Problem, starts: list[Start], request: FitRequest
    ) -> Solution:
        """Return the best result of all starts, one by one or in parallel.

        Starts that have not begun when a callback stops the fit are left out.
        """
        if request.checkpoint is not None:
            problem = with_saved_spectrum(problem, [one.checkpoint for one in starts])
        t, threads = self._goal(problem), count_threads(self.n_jobs)
        n, k = problem.omega.shape
        if is_auto(self.n_init) and n * k >= SHORT_FROM and len(starts) > 1:
            starts = self._raced(problem, starts, threads)
        parallel, n_starts, enough = min(threads, len(starts)), len(starts), Event()
        n_threads = threads if parallel == 1 else 1
        run = partial(self._descend, problem, t, n_threads, n_starts, enough)
        if parallel == 1:
            results = [run(start) for start in starts]
        else:
            with ThreadPoolExecutor(parallel) as pool:
                results = list(pool.map(run, starts))
        found = [result for result in results if result is not None]
        objectives = np.array([result.objective for result in found])
        best = found[int(np.argmin(problem.sign * objectives))]
        return Solution(best, problem, problem.omega, request.shares, t, objectives)

    def _raced(
        self, problem: Problem, starts: list[Start], n_threads: int
    ) -> list[Start]:
        """Return the starts, but of several short paths only the best, halfway.

        A path with the best objective halfway nearly always ends with the best.
        """
        paths = [one for one in starts if len(one.taus) > 1]
        others = [one for one in starts if len(one.taus) <= 1]
        for until, count in RACE:
            if len(paths) <= count or paths[0].taus[-1] <= until:
                break
            part = (until - paths[0].reached) / len(paths) / (1 + len(others))
            run = partial(self._scout, problem, until, part)
            with ThreadPoolExecutor(min(n_threads, len(paths))) as pool:
                found = list(pool.map(run, paths))
            found.sort(key=lambda pair: -pair[0])
            paths = [one for _, one in found[:count]]
        return paths + others

    def _scout(
        self, problem: Problem, until: float, part: float, start: Start
    ) -> tuple[float, Start]:
        """Follow a short path up to some tau; return the objective, and the rest."""
        taus = tuple(tau for tau in start.taus if tau <= until)
        solver = self._make_solver(problem, dtype=self.dtype, device=self.device)
        limits = Limits(self.tol, self.max_iter).loose
        solver.put(start.V)
        for tau in taus:
            solver.leave_saddle()
            solve_at(solver, problem, tau, limits)
        callbacks.step(self, f"tau {until:.3f}", part)
        rest = Start(solver.get(), start.taus[len(taus) :], reached=until)
        return solver.progress().objective, rest

    def _descend(
        self,
        problem: Problem,
        t: float,
        n_threads: int,
        n_starts: int,
        enough: Event,
        start: Start,
    ) -> SolverResult | None:
        """Return where one start leads, or None if the fit was stopped before it."""
        if enough.is_set():
            return None
        limits, part = Limits(self.tol, self.max_iter), 1 / n_starts
        if self.algorithm == "paper":
            result = solve_by_paper(problem, t, start.V, limits)
        elif start.V.ndim == 1:
            result = self._solve_from_labels(
                problem, start.V, t, limits,
                n_threads=n_threads, dtype=self.dtype, device=self.device,
            )  # fmt: skip
        else:
            solver = self._make_solver(
                problem, n_threads=n_threads, dtype=self.dtype, device=self.device
            )
            if start.taus or (self._uses_path() and isinstance(self.start, str)):
                part = 0.0  # its stops report
                result = follow(
                    solver, problem, t, limits,
                    start=start.V,
                    taus=start.taus,
                    reached=start.reached,
                    checkpoint=start.checkpoint,
                    notify=lambda name, x: callbacks.step(self, name, x / n_starts),
                )  # fmt: skip
            else:
                solver.put(start.V)
                result = solve(solver, problem, t, limits)
        if callbacks.step(self, "start", part):
            enough.set()
        return result

    def _choose(self, problem: Problem, request: FitRequest) -> Solution:
        """Return the result whose tau and shares have the most evidence."""
        raise NotImplementedError

    # -- round and keep -----------------------------------------------------------

    def _rounds_exactly(self, omega: Omega) -> bool:
        """Return whether labels meet the shares exactly, not only nearly."""
        if self.rounding is None:
            # Shares of the weight are not counts of samples.
            given = self._gives_shares() and omega.equal
            return self.cluster_sizes is not None or given
        return self.rounding == "exact"

    def _gives_shares(self) -> bool:
        """Return whether exact shares were requested."""
        given = self.proportions is not None or self.strength is not None
        return given and not is_auto(self.proportions)

    def _keep(self, found: Solution, S: Graph, X: Graph) -> None:
        """Set the fitted attributes, clusters in canonical order."""
        result, problem, omega = found.result, found.problem, found.omega
        P = membership_from(result.V, omega.mu)
        shares = found.shares if omega.exact else omega.weight @ P / len(P)
        exact = self._rounds_exactly(omega)
        # Clusters of given labels keep their numbers.
        fixed = not isinstance(self.start, str) and np.ndim(self.start) == 1
        order, self.labels_ = numbered(
            P, shares, omega, exact, found.labels, fixed, found.demands
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
        self._samples = None if self._is_precomputed() else X
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


class LoRD(DoublyStochasticClusterer):
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
    cluster_sizes : int or array-like of int, shape (n_clusters,), optional
        Number of samples with label j, or one number for all, instead of
        ``proportions``. They must sum to n, and are met exactly.
    size_min, size_max : float or array-like of shape (n_clusters,), optional
        Bounds on the number of samples with each label, one for all clusters or one for
        each; numbers below 1 are shares of the samples. Of all labels within the bounds
        those with the largest total membership are found. Different bounds go to
        clusters by size, the largest to the largest.
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
        "auto": from a cut of the graph, its spanning tree and mixtures of its
        eigenvectors; the best objective is kept. "path": add tilt ||V||_F^2 with tilt
        from -lambda_max(S), where the problem is concave, up to 0, following the
        solution. "random": Sinkhorn-scaled random points. An array of shape
        (n, n_clusters) is taken as V, one of shape (n,) as the labels of another
        clustering.
    n_init : int or "auto", default="auto"
        Number of starts; the best objective is kept. "auto": up to 4 starts (1 if
        k > n/2), 1 path (5 if unequal shares are given), or 10 random starts.
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
        The most probable cluster of each sample, 0 to k-1, except where exact sizes
        require another one. Clusters of equal share are numbered by decreasing size,
        then by their first sample; clusters with known samples keep their number.
    membership_ : ndarray of shape (n, k), or csr_array with ``proba_top``
        P(y_i = j | x_i). Rows sum to 1; column means, weighted by ``sample_weight``,
        are ``proportions_``.
    proportions_ : ndarray of shape (k,)
        The shares requested, or those found if they are soft or automatic.
    sizes_ : ndarray of int, shape (k,)
        Number of samples with each label: close to n * proportions_, and equal to it
        with exact rounding.
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
        penalty of soft shares.
    all_objectives_ : ndarray
        Final objective of every start that was followed to the end: with
        ``n_init="auto"`` and a large V only the best of the short paths is.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S, without must-links and cannot-links.
    recall_ : float
        Fraction of the true nearest neighbours that the graph was built from, 1 if the
        search was exact; only with "knn" or a KNNGraph.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        proportions: object = None,
        strength: float | None = None,
        cluster_sizes: ArrayLike | None = None,
        size_min: ArrayLike | None = None,
        size_max: ArrayLike | None = None,
        rounding: str | None = None,
        links: str = "soft",
        affinity: Affinity = "knn",
        metric: str = "euclidean",
        n_neighbors: int | None = None,
        start: str | Graph = "auto",
        n_init: int | str = "auto",
        max_iter: int = 4000,
        tol: float = 1e-4,
        algorithm: str = "fast",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        device: str | None = None,
        proba_top: int | None = None,
        dtype: np.dtype | str = "float64",
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.proportions = proportions
        self.strength = strength
        self.cluster_sizes = cluster_sizes
        self.size_min = size_min
        self.size_max = size_max
        self.rounding = rounding
        self.links = links
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
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
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if is_auto(self.proportions):
            raise ValueError(
                'LoRD does not support proportions="auto": it has no path of '
                "partitions to choose from. Use BLoRD, or pass the shares."
            )


class BLoRD(DoublyStochasticClusterer):
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
        suggest, from 2 to 20. If it is n, each sample is a cluster of its own.
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
    array([64, 50, 36])

    The paper's model, with equal shares and a given tau:

    >>> model = BLoRD(3, tau=0.3, proportions="equal").fit(X)
    >>> model.membership_.mean(axis=0).round(6)
    array([0.333333, 0.333333, 0.333333])

    Labels with given sizes:

    >>> BLoRD(3, cluster_sizes=[50, 60, 40]).fit(X).sizes_
    array([50, 60, 40])

    Or within bounds:

    >>> BLoRD(3, size_min=40, size_max=60).fit(X).sizes_
    array([60, 50, 40])
    """

    maximises = True
    problem_class = BLoRDProblem
    gamma: float | None = None

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        tau: float | str = "auto",
        gamma: float | None = None,
        proportions: object = "auto",
        strength: float | None = None,
        cluster_sizes: ArrayLike | None = None,
        size_min: ArrayLike | None = None,
        size_max: ArrayLike | None = None,
        rounding: str | None = None,
        links: str = "soft",
        outliers: object = None,
        affinity: Affinity = "knn",
        metric: str = "euclidean",
        n_neighbors: int | None = None,
        start: str | Graph = "auto",
        n_init: int | str = "auto",
        max_iter: int = 4000,
        tol: float = 1e-4,
        algorithm: str = "fast",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        device: str | None = None,
        proba_top: int | None = None,
        dtype: np.dtype | str = "float64",
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.tau = tau
        self.gamma = gamma
        self.proportions = proportions
        self.strength = strength
        self.cluster_sizes = cluster_sizes
        self.size_min = size_min
        self.size_max = size_max
        self.rounding = rounding
        self.links = links
        self.outliers = outliers
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
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
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        labels = not isinstance(self.start, str) and np.ndim(self.start) == 1
        free = (is_auto(self.start) or labels) and self.algorithm == "fast"
        if self._chooses() and not free:
            raise ValueError(
                'tau="auto" and proportions="auto" compare many starts, got '
                f"start={self.start if isinstance(self.start, str) else 'an array'!r} "
                f"and algorithm={self.algorithm!r}. Leave both out, or pass tau and "
                "proportions."
            )
        if self._chooses() and self.device is not None:
            raise ValueError(
                f'"auto" runs on the compiled solver, got device={self.device!r}. '
                "Leave device out, or pass tau and proportions."
            )
        if self.outliers is not None:
            check_outliers(self.outliers)
        if self.gamma is not None:
            if not is_auto(self.tau):
                raise ValueError(
                    f"tau={self.tau!r} and gamma={self.gamma!r} determine each other. "
                    "Pass only one of them."
                )
            if isinstance(self.gamma, bool) or not isinstance(self.gamma, Real):
                raise TypeError(f"gamma must be a number, got {self.gamma!r}.")
        if not isinstance(self.tau, str):
            check_tau(self.tau)
        elif self.tau not in ("auto", *TAU_RULES):
            raise unknown_name("tau rule", self.tau, ["auto", *TAU_RULES])

    def _goal(self, problem: Problem) -> float:
        if self.gamma is not None and isinstance(problem, BLoRDProblem):
            return problem.tau_of(float(self.gamma))
        if isinstance(self.tau, str):
            return TAU_RULES[self.tau](problem.S, len(problem.omega.mu))
        return float(self.tau)

    def _count_clusters(self, S: Graph, request: FitRequest) -> int:
        if self.cluster_sizes is not None or self._gives_shares():
            raise ValueError(
                "Shares or sizes were given without n_clusters. Pass n_clusters, or "
                "leave them out."
            )
        graph_only = self._is_precomputed() or self._has_metric(NAN)
        X = None if graph_only else request.X
        self.suggestion_ = best_n_clusters(S, X, request.omega.weight, MAX_CLUSTERS)
        return self.suggestion_.best_k

    def _chooses(self) -> bool:
        return (self.gamma is None and is_auto(self.tau)) or self._finds_shares()

    def _finds_shares(self) -> bool:
        """Return whether the shares are to be chosen."""
        return is_auto(self.proportions) and self.cluster_sizes is None

    def _choose(self, problem: Problem, request: FitRequest) -> Solution:
        omega, limits = problem.omega, Limits(self.tol, self.max_iter)
        graph_only = self._is_precomputed() or self._has_metric(NAN)
        X = None if graph_only else request.X
        seeds = self._seeds_from(problem.S, len(omega.mu), X, request.scales)
        seed = 0 if self.random_state is None else self.random_state
        # Links are edges of S alone; known labels tell more of shapes than Gaussians.
        reach = seeds.reach if request.links is None else None
        features = X if omega.known is None else None
        search = Search(
            Evidence(problem.S, len(omega.mu), features, omega.weight, reach),
            seeds,
            start_seeds(MIXTURES if is_auto(self.n_init) else int(self.n_init), seed),
            limits,
            count_threads(self.n_jobs),
            partial(self._rounded, request.demands),
            lambda name, part: callbacks.step(self, name, part),
            request.links,
        )
        keeps_names = omega.known is not None
        if isinstance(self.start, str) and omega.one_each:
            best, selection = given(search, omega, np.arange(len(omega.mu)))
        elif isinstance(self.start, str):
            best, selection = choose(problem, search, shares=self._finds_shares())
        else:
            start = completed(check_start_labels(self.start, *omega.shape), seeds)
            best, selection = given(search, omega, start)
            keeps_names = True
        callbacks.step(self, "choice", max(0.0, 1 - sum(search.done)))
        if not self._finds_shares():
            return self._within(problem, best, request.shares, selection, search)
        labels, demands = best.labels, request.demands
        if not keeps_names:
            # Numbered by size: the shares to start from are equal.
            labels = np.argsort(canonical_order(labels, omega.mu))[labels]
            if demands is not None and demands.bounds is not None:
                labels = np.argsort(demands.bounds.matched(labels))[labels]
        while True:  # once more with the shares of labels that meet all demands
            cell, best = cell_of(labels, problem), best._replace(labels=labels)
            shares = cell.omega.mu**2
            found = self._within(cell, best, shares, selection, search)
            if demands is None or demands.met(labels):
                return found
            P = membership_from(found.result.V, cell.omega.mu)
            labels = numbered(P, shares, cell.omega, False, labels, True, demands)[1]

    def _rounded(
        self, demands: Demands | None, V: FloatArray, omega: Omega
    ) -> IntArray:
        """Return the labels of V, which meet given shares."""
        P, exact = membership_from(V, omega.mu), self._rounds_exactly(omega)
        return numbered(P, omega.mu**2, omega, exact, demands=demands)[1]

    def _within(
        self,
        problem: Problem,
        best: Candidate,
        shares: FloatArray,
        selection: Selection,
        search: Search,
    ) -> Solution:
        """Return the solution in a cell, from the chosen labels."""
        auto, omega = self.gamma is None and is_auto(self.tau), problem.omega
        t = 1.0 if auto else self._goal(problem)
        result = self._solve_from_labels(
            problem, best.labels, t, search.limits,
            n_threads=count_threads(self.n_jobs), dtype=self.dtype,
        )  # fmt: skip
        labels = None
        if auto and not omega.one_each:  # where nothing is in doubt
            # Labels that were given may not have the requested sizes.
            labels = best.labels if isinstance(self.start, str) else None
            if self._finds_shares():
                labels = best.labels
            # Soft shares are those that were reached.
            mu = omega.mu if omega.exact else cell_of(best.labels, problem).omega.mu
            S, weight, known = problem.S, omega.weight, omega.known
            stability = partition_stability(
                S, best.labels, search.rivals(), len(omega.mu), weight
            )
            P = calibrated(
                S, best.labels, mu, weight, stability,
                known=known, n_threads=count_threads(self.n_jobs),
            )  # fmt: skip
            V = (P * (omega.mass[:, None] / omega.mu)).astype(result.V.dtype)
            result = replace(result, V=V)
            selection = replace(selection, stability=stability)
            LOG.debug("calibration: stability %.3f", stability)
        objectives = np.array([result.objective])
        return Solution(
            result, problem, omega, shares, t, objectives, labels, selection
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the constructor call, and whether other partitions are as good."""
        text = str(super().__repr__(N_CHAR_MAX))
        selection: Selection | None = getattr(self, "selection_", None)
        if selection is None or selection.is_stable:
            return text
        return f"{text}  # stability {selection.stability:.0%}: others are as good"

    @classmethod
    def from_labels(
        cls, X: Graph, labels: ArrayLike, *, noise: str = "join", **parameters: Any
    ) -> Self:
        """Return a fitted model whose clusters are those of another clustering.

        It has calibrated probabilities for these labels, and all that a fitted model
        can do: predict, save, exact sizes, doubt.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n) if precomputed
            Samples, or their similarities with ``affinity="precomputed"``.
        labels : array-like of int, shape (n,)
            Clusters 0 to k-1, which keep their numbers; also as texts such as "0", as
            scanpy stores those of Leiden.
        noise : {"join", "keep"}, default="join"
            What becomes of samples labelled -1 (the noise of HDBSCAN, for example):
            they get the cluster of their neighbours, or stay outliers.
        **parameters
            Of the constructor.

        Returns
        -------
        model : BLoRD

        Examples
        --------
        >>> from lordclust import BLoRD
        >>> from sklearn.cluster import KMeans
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> labels = KMeans(3, random_state=0).fit_predict(X)
        >>> model = BLoRD.from_labels(X, labels)
        >>> bool((model.labels_ == labels).all())
        True
        """
        check_choice(noise, ("join", "keep"), "noise")
        y = np.asarray(labels)
        if y.dtype.kind not in "iu":
            try:
                y = y.astype(str).astype(np.int64)
            except ValueError:
                raise TypeError(
                    f"labels must be whole numbers from 0, or -1, got {y.dtype}. "
                    "Number them, for example by pandas.factorize(labels)[0]."
                ) from None
        if noise == "keep" and y.min(initial=0) < 0:
            parameters = {"outliers": y < 0, **parameters}
        k = int(y.max(initial=0)) + 1
        model = cls(**{"n_clusters": k, **parameters}, start=y)
        model.fit(X)
        return model

    def agreement(self, n_paths: int = 5, *, random_state: Seed = 0) -> Agreement:
        """Return how much the labels depend on the path that led to them.

        Solves the fitted problem again along other paths to ``tau_``: from other
        random points, at other first taus, in other steps. If the objective has several
        good optima, they end in different ones. Each path costs about one fit.

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
            labels and their objectives.

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
        return compared(own, labels, objectives, len(self.sizes_))


def numbered(
    P: FloatArray,
    shares: FloatArray,
    omega: Omega,
    exact: bool,
    labels: IntArray | None = None,
    fixed: bool = False,
    demands: Demands | None = None,
) -> tuple[IntArray, IntArray]:
    """Return the canonical order of the columns of P, and labels numbered by it.

    Clusters of equal mu may change places, unless they are ``fixed``, have known
    samples or different bounds; samples without weight do not affect the order.
    ``labels`` are used if given and if they meet the demands. Otherwise, if ``exact``,
    labels have n * shares samples per cluster (those of P, if the shares of ``omega``
    are soft), rounded to whole numbers, and the largest total membership; if there are
    demands, the largest that meets them; if not, each label is the most probable
    cluster.
    """
    heavy = omega.weight > 0
    bounds, links = (None, None) if demands is None else demands
    alike = None if omega.known is None else omega.open_clusters()
    given, labels = labels is not None, labels_from(P) if labels is None else labels
    named = fixed or omega.known is not None or np.ptp(omega.mu) > 0
    differ = bounds is not None and bounds.kinds().any()
    alike = np.arange(0) if fixed or differ else alike
    order = canonical_order(labels[heavy], omega.mu, alike)
    if bounds is not None and differ and not named:
        order = bounds.matched(labels[heavy])
    labels = np.argsort(order)[labels]
    if demands is None and (given or not exact):
        return order, labels
    if bounds is None and exact:
        # If sizes cannot be equal, the first clusters have one sample more.
        shares = shares if omega.exact else omega.weight @ P[:, order] / len(P)
        sizes = whole_sizes(shares, len(P))
        bounds = Bounds(sizes, sizes)
    if demands is not None and Demands(bounds, links).met(labels):
        return order, labels
    if omega.known is not None and bounds is not None:
        _check_places(omega.known, bounds.high, "exact size")
    if links is not None:
        labels = linked_labels(P[:, order], labels, *links, bounds, omega.known)
    elif bounds is not None:
        cost = -P[:, order]
        if omega.known is not None:
            cost[omega.known >= 0] *= len(P)  # known labels always take precedence
        labels = assign_sizes(cost, bounds)
    again = canonical_order(labels[heavy], omega.mu, alike)
    return order[again], np.argsort(again)[labels]


def _check_places(known: IntArray, sizes: IntArray, what: str) -> None:
    """Raise an error if a cluster has more known samples than exact labels."""
    taken = np.bincount(known[known >= 0], minlength=len(sizes))
    worst = int((taken - sizes).argmax())
    if taken[worst] > sizes[worst]:
        hint = "" if what == "size_max" else ', or use rounding="argmax"'
        raise ValueError(
            f"known_labels assign {taken[worst]} samples to cluster {worst}, whose "
            f"{what} is {sizes[worst]}. Pass a larger size or proportion{hint}."
        )
