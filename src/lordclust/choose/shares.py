"""Choosing tau, and the shares of the clusters, without labels.

Every tau of every path gives a partition into the most probable clusters. The
partition with the most evidence (:mod:`lordclust.choose.evidence`) is kept. To choose
the shares too, its sizes become the requested shares and B-LoRD is solved again from
there, as long as the evidence increases.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import NamedTuple

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust.choose.evidence import Evidence, Score
from lordclust.result import Selection, SolverResult
from lordclust.rounding.labels import labels_from, named_like
from lordclust.solver.omega import Omega
from lordclust.solver.path import solve_at
from lordclust.solver.problem import Problem
from lordclust.solver.solve import Limits, make_solver, result_of
from lordclust.solver.start import (
    random_start,
    scaled_start,
    spectral_labels,
    spectral_start,
)

#: Steps in tau of the paths: different steps lead to different optima, seeds seldom do.
STEPS = (0.02, 0.03, 0.04, 0.06)
#: Above this many samples only the two coarsest paths and half the rounds are used.
MANY = 20_000
#: Where paths begin, and the taus back from a hard partition.
FIRST, BACK = 0.02, tuple(np.round(np.arange(1.0, 0.05, -0.1), 1))
#: Where the path from the clusters of leading eigenvectors begins.
LATE = 0.4
#: Steps of the path that continues from the kept partition, and of a new one.
ON, FRESH = 0.05, 0.06
#: A piece of the graph smaller than this fraction of an equal share is not a cluster.
SMALL_PIECE = 0.1
#: How often shares are taken from the kept partition.
ROUNDS = 4
#: Approximate share of the work that the first round takes.
FIRST_ROUND = 0.5


@dataclass(frozen=True)
class Search:
    """Settings that all candidates share.

    Attributes
    ----------
    evidence : Evidence
        Scores partitions of the samples.
    seeds : sequence of int
        One for the start of each path.
    limits : Limits
        Of each solve.
    n_threads : int
        Paths that are followed at the same time.
    notify : callable
        Called with what was solved and its share of the work; returns whether to stop.
    enough : Event
        Set once ``notify`` has returned True: the best candidate so far is kept.
    """

    evidence: Evidence
    seeds: Sequence[int]
    limits: Limits
    n_threads: int = 1
    notify: Callable[[str, float], bool] = lambda name, part: False
    enough: Event = field(default_factory=Event)

    def solved(self, tau: float, part: float) -> bool:
        """Report a solved tau; return whether to stop, on this path or another."""
        if self.notify(f"tau {tau:.3f}", part):
            self.enough.set()
        return self.enough.is_set()


class Candidate(NamedTuple):
    """One tau of one path."""

    round: int
    path: str
    tau: float
    score: Score
    sizes: FloatArray


class Kept(NamedTuple):
    """The best candidate so far, with what is needed to continue from it."""

    candidate: Candidate
    V: FloatArray
    problem: Problem
    clusters: IntArray  # numbers of the columns of V at the beginning

    @property
    def merit(self) -> tuple[float, float]:
        """Evidence; of equal partitions the softest is better."""
        return self.candidate.score.total, -self.candidate.tau

    @property
    def labels(self) -> IntArray:
        """The partition."""
        return labels_from(self.V * self.problem.omega.mu)


class Trail(NamedTuple):
    """A path to follow: where it starts, and its taus."""

    name: str
    start: FloatArray
    taus: Sequence[float] | FloatArray


class Round(NamedTuple):
    """Paths to the same shares; the clusters keep the numbers of the beginning."""

    problem: Problem
    clusters: IntArray
    trails: list[Trail]


def choose(problem: Problem, search: Search, *, shares: bool) -> tuple[Kept, Selection]:
    """Return the partition with the most evidence: its tau, and its shares on request.

    Starts from the shares of the problem. With ``shares``, what is kept may have fewer
    clusters; if the graph consists of as many pieces as clusters are requested, they
    are the clusters.
    """
    if not shares:
        kept, seen = _explore(search, _begin(search, problem), 0)
        return kept, _record(seen, kept)
    pieces = _pieces(search, problem)
    if pieces is not None:
        return _keep_pieces(search, problem, pieces)
    if not search.evidence.has_features:
        rounds = 1  # eigenvectors of the graph carry too little information on sizes
    else:
        rounds = ROUNDS if len(problem.omega.mass) <= MANY else ROUNDS // 2
    kept, seen = _explore(search, _begin(search, problem), 0, FIRST_ROUND)
    for turn in range(1, rounds + 1):
        if search.enough.is_set():
            break
        part = (1 - FIRST_ROUND) / rounds
        found, more = _explore(search, _resized(search, kept), turn, part)
        seen += more
        worse = found.candidate.score.total <= kept.candidate.score.total
        if worse and search.enough.is_set():
            break  # an interrupted round need not be as good
        # Its sizes become the shares, also if B-LoRD then finds nothing better.
        kept = found
        if worse:
            break
    return kept, _record(seen, kept)


def _pieces(search: Search, problem: Problem) -> IntArray | None:
    """Return the pieces of the graph as clusters, if it consists of separate pieces.

    Given the labels of neighbours, all labels together must carry less than one nat of
    information. Pieces far below an equal share are outliers, not clusters.
    """
    omega = problem.omega
    n, k = omega.shape
    labels = spectral_labels(problem.S, k)
    sizes = np.bincount(labels, omega.weight, minlength=k)
    if search.evidence.surprise(labels) >= 1 or sizes.min() < SMALL_PIECE * n / k:
        return None
    if omega.known is None:
        return labels
    labels = named_like(labels, omega.known, k)
    agree = (labels == omega.known) | (omega.known < 0)
    return labels if np.all(agree) else None


def _keep_pieces(
    search: Search, problem: Problem, labels: IntArray
) -> tuple[Kept, Selection]:
    """Return the pieces as the kept partition, at the softest tau that yields them."""
    omega = problem.omega
    shares = np.bincount(labels, omega.weight) / omega.weight.sum()
    omega = replace(omega, mu=np.sqrt(shares))
    problem = problem.with_omega(omega)
    hard = (labels[:, None] == np.arange(len(shares))) * omega.mass[0] / omega.mu
    found = []
    for tau, V in _solutions(search, problem, Trail("the pieces", hard, BACK)):
        if not np.array_equal(labels_from(V * omega.mu), labels):
            break
        name = "back from the pieces of the graph"
        candidate = _judge(search, omega, V, 0, name, tau)
        found.append(Kept(candidate, V, problem, np.arange(len(shares))))
    seen = [kept.candidate for kept in found]
    return found[-1], _record(seen, found[-1])


def solve_kept(kept: Kept, limits: Limits, tau: float) -> SolverResult:
    """Return the solution at tau on the branch of the kept candidate."""
    between = np.arange(
        kept.candidate.tau, tau, ON if tau > kept.candidate.tau else -ON
    )
    solver = make_solver(kept.problem)
    solver.put(kept.V)
    for stop in [*between, tau]:
        solve_at(solver, kept.problem, stop, limits)
    return result_of(solver, kept.problem, tau)


def with_all_columns(
    result: SolverResult, kept: Kept, requested: Omega
) -> tuple[SolverResult, Omega]:
    """Return a result with a column for every cluster requested, used or not.

    Clusters come in the order of their shares, unless known labels name them.
    """
    k, omega = len(requested.mu), kept.problem.omega
    places = kept.clusters
    if requested.known is None and omega.exact:
        places = np.argsort(np.argsort(-omega.mu, kind="stable"))
    V, mu = np.zeros((len(result.V), k)), np.zeros(k)
    V[:, places], mu[places] = result.V, omega.mu
    return replace(result, V=V), replace(omega, mu=mu, known=requested.known)


def _begin(search: Search, problem: Problem) -> Round:
    """Return paths of several steps from random points, and one from eigenvectors."""
    omega = problem.omega
    trails, paths = [], list(zip(STEPS, search.seeds, strict=True))
    for step, seed in paths if len(omega.mass) <= MANY else paths[2:]:
        start = random_start(omega, np.random.default_rng(seed))
        trails.append(Trail(f"steps of {step:g}", start, _grid(FIRST, step)))
    if omega.known is None:
        start = spectral_start(problem.S, omega)
        trails.append(Trail("from leading eigenvectors", start, _grid(LATE, FRESH)))
    return Round(problem, np.arange(len(omega.mu)), trails)


def _resized(search: Search, kept: Kept) -> Round:
    """Return paths for the shares of the kept partition.

    One leads from the partition itself, which is hard, back to small tau; one continues
    from where it was found, with its memberships; one starts from a random point.
    """
    labels, old = kept.labels, kept.problem.omega
    sizes = np.bincount(labels, old.weight, minlength=len(old.mu))
    used = np.flatnonzero(sizes)
    mu = np.sqrt(sizes[used] / sizes.sum())
    known = old.known
    if known is not None:  # all known clusters are used
        known = np.where(known >= 0, np.searchsorted(used, known), -1)
    omega = replace(old, mu=mu, known=known)
    hard = (labels[:, None] == used) * (omega.mass[:, None] / mu)
    mixed = scaled_start(hard * mu + kept.V[:, used] * old.mu[used], omega)
    fresh = random_start(omega, np.random.default_rng(search.seeds[-1]))
    trails = [
        Trail("back from the partition", hard, BACK),
        Trail("on from the partition", mixed, _grid(min(kept.candidate.tau, 0.9), ON)),
        Trail(f"steps of {FRESH:g}", fresh, _grid(FIRST, FRESH)),
    ]
    if not search.evidence.has_features:
        trails = trails[:1]
    return Round(kept.problem.with_omega(omega), kept.clusters[used], trails)


def _explore(
    search: Search, what: Round, turn: int, part: float = 1.0
) -> tuple[Kept, list[Candidate]]:
    """Follow the paths in parallel; return the best candidate, and all of them.

    Paths that have not begun when the search is stopped are left out. ``part`` is the
    round's share of all work.
    """
    gain = part / sum(len(trail.taus) for trail in what.trails)

    def follow(trail: Trail) -> tuple[list[Kept], list[Candidate]]:
        kept: list[Kept] = []
        seen: list[Candidate] = []
        if search.enough.is_set():
            return kept, seen
        for tau, V in _solutions(search, what.problem, trail):
            seen.append(_judge(search, what.problem.omega, V, turn, trail.name, tau))
            kept.append(Kept(seen[-1], V, what.problem, what.clusters))
            kept = [max(kept, key=lambda one: one.merit)]
            if search.solved(tau, gain):
                break
        return kept, seen

    with ThreadPoolExecutor(min(search.n_threads, len(what.trails))) as pool:
        found = list(pool.map(follow, what.trails))
    seen = [candidate for _, part in found for candidate in part]
    ends = [end for kept, _ in found for end in kept]
    return max(ends, key=lambda one: one.merit), seen


def _solutions(
    search: Search, problem: Problem, trail: Trail
) -> Iterator[tuple[float, FloatArray]]:
    """Yield tau and V along a path, each solved from the one before."""
    solver = make_solver(problem)
    solver.put(trail.start)
    for tau in trail.taus:
        solve_at(solver, problem, tau, search.limits)
        yield float(tau), solver.get()


def _judge(
    search: Search, omega: Omega, V: FloatArray, turn: int, name: str, tau: float
) -> Candidate:
    """Score the partition of V."""
    labels = labels_from(V * omega.mu)
    sizes = np.bincount(labels, omega.weight, minlength=search.evidence.k).astype(float)
    score = search.evidence.score(labels)
    return Candidate(turn, name, tau, score, np.sort(sizes)[::-1])


def _grid(first: float, step: float) -> FloatArray:
    """Return taus from ``first`` to 1."""
    return np.append(np.arange(first, 1 - step / 2, step), 1.0)


def _record(seen: list[Candidate], kept: Kept) -> Selection:
    """Return all candidates as a record."""
    return Selection(
        rounds=np.array([c.round for c in seen]),
        paths=[c.path for c in seen],
        taus=np.array([c.tau for c in seen]),
        features=np.array([c.score.features for c in seen]),
        graph=np.array([c.score.graph for c in seen]),
        n_components=np.array([c.score.n_components for c in seen]),
        sizes=np.array([c.sizes for c in seen]),
        best=next(i for i, c in enumerate(seen) if c is kept.candidate),
    )
