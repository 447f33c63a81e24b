"""Choosing tau, and the shares of the clusters, without labels.

Every tau of every path gives a partition into the most probable clusters. The
partition with the most evidence (:mod:`lordclust.choose.evidence`) is kept. To choose
the shares too, its sizes become the shares asked for and B-LoRD is solved again from
there, for as long as the evidence grows.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.choose.evidence import Evidence, Score
from lordclust.result import Selection, SolverResult
from lordclust.rounding.labels import labels_from, named_like
from lordclust.solver import problem
from lordclust.solver.descent import blord_result
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.problem import Spectrum
from lordclust.solver.start import (
    random_start,
    scaled_start,
    spectral_labels,
    spectral_start,
)

#: Steps in tau of the paths. Steps lead to different optima, where seeds alone do not.
STEPS = (0.02, 0.03, 0.04, 0.06)
#: Above so many samples the two coarsest of them have to do, and half the rounds.
MANY = 20_000
#: Where paths begin, and the taus back from a hard partition.
FIRST, BACK = 0.02, tuple(np.round(np.arange(1.0, 0.05, -0.1), 1))
#: Where the path from the clusters of leading eigenvectors begins.
LATE = 0.4
#: Steps of the path that goes on from the partition kept, and of a fresh one.
ON, FRESH = 0.05, 0.06
#: A piece of the graph smaller than this part of an equal share is no cluster.
SMALL_PIECE = 0.1
#: How often shares are taken from the partition kept.
ROUNDS = 4
#: How much of the work the first round is, about.
FIRST_ROUND = 0.5


@dataclass(frozen=True)
class Task:
    """B-LoRD on a graph, for whatever shares and tau.

    Attributes
    ----------
    S : ndarray or csr_array of shape (n, n)
    ends : Spectrum
        Of S, with the weights of the samples.
    evidence : Evidence
        Of the same samples.
    seeds : tuple of int
        One for the start of each path.
    tol, max_iter
        Of each solve.
    tell : callable
        Hears what was solved, and how much of the whole it was; returns whether to
        stop there.
    enough : Event
        Set when it has: then the best candidate so far is kept.
    """

    S: Graph
    ends: Spectrum
    evidence: Evidence
    seeds: tuple[int, ...]
    tol: float
    max_iter: int
    tell: Callable[[str, float], bool] = lambda name, gain: False
    enough: Event = field(default_factory=Event)

    def solved(self, tau: float, gain: float) -> bool:
        """Tell of a tau; return whether it is enough, of this path or another."""
        if self.tell(f"tau {tau:.3f}", gain):
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
    """The best candidate so far, with what is needed to go on from it."""

    candidate: Candidate
    V: FloatArray
    omega: Omega
    clusters: IntArray  # what the columns of V were called at the beginning

    @property
    def merit(self) -> tuple[float, float]:
        """Evidence; of equal partitions the softest is better."""
        return self.candidate.score.total, -self.candidate.tau

    @property
    def labels(self) -> IntArray:
        """The partition."""
        return labels_from(self.V * self.omega.mu)


class Trail(NamedTuple):
    """A path to follow: where it starts, and its taus."""

    name: str
    start: FloatArray
    taus: Any


class Round(NamedTuple):
    """Paths to the same shares; the clusters keep the names of the beginning."""

    omega: Omega
    clusters: IntArray
    trails: list[Trail]


def choose_tau(task: Task, omega: Omega, n_threads: int) -> tuple[Kept, Selection]:
    """Return the tau, of several paths, whose partition has most evidence."""
    kept, seen = _explore(task, _begin(task, omega), 0, n_threads)
    return kept, _record(seen, kept)


def choose_shares(task: Task, omega: Omega, n_threads: int) -> tuple[Kept, Selection]:
    """Return shares and tau: shares are those of the partition of most evidence.

    Starts from the shares of ``omega``. What is kept may have fewer clusters. If the
    graph falls apart into as many clusters as asked for, there is nothing to weigh.
    """
    pieces = _pieces(task, omega)
    if pieces is not None:
        return _keep_pieces(task, omega, pieces)
    rounds = _rounds(task, omega)
    kept, seen = _explore(task, _begin(task, omega), 0, n_threads, FIRST_ROUND)
    for turn in range(1, rounds + 1):
        if task.enough.is_set():
            break
        part = (1 - FIRST_ROUND) / rounds
        found, more = _explore(task, _resized(task, kept), turn, n_threads, part)
        seen += more
        worse = found.candidate.score.total <= kept.candidate.score.total
        if worse and task.enough.is_set():
            break  # cut short, it need not be as good
        # Its sizes become the shares, also if B-LoRD then finds nothing better.
        kept = found
        if worse:
            break
    return kept, _record(seen, kept)


def _rounds(task: Task, omega: Omega) -> int:
    """Return how often shares are taken from the partition kept."""
    if not task.evidence.has_features:
        return 1  # eigenvectors of the graph know too little of sizes to go on
    return ROUNDS if len(omega.mass) <= MANY else ROUNDS // 2


def _pieces(task: Task, omega: Omega) -> IntArray | None:
    """Return the clusters that the graph falls apart into, if it does.

    Given the labels of neighbours, all labels together must be less than one nat of
    news. Pieces far below an equal share are outliers, not clusters.
    """
    n, k = omega.shape
    labels = spectral_labels(task.S, k)
    sizes = np.bincount(labels, omega.weight, minlength=k)
    if task.evidence.surprise(labels) >= 1 or sizes.min() < SMALL_PIECE * n / k:
        return None
    return labels if omega.known is None else _named(labels, omega.known, k)


def _named(labels: IntArray, known: IntArray, k: int) -> IntArray | None:
    """Return labels with the names of the known ones, if none contradicts them."""
    labels = named_like(labels, known, k)
    return labels if np.all((labels == known) | (known < 0)) else None


def _keep_pieces(task: Task, omega: Omega, labels: IntArray) -> tuple[Kept, Selection]:
    """Return the pieces as the partition kept, at the softest tau that has them."""
    shares = np.bincount(labels, omega.weight) / omega.weight.sum()
    omega = replace(omega, mu=np.sqrt(shares))
    hard = (labels[:, None] == np.arange(len(shares))) * omega.mass[0] / omega.mu
    found = []
    for tau, V in _solutions(task, omega, Trail("the pieces", hard, BACK)):
        if not np.array_equal(labels_from(V * omega.mu), labels):
            break
        candidate = _judge(task, omega, V, 0, "back from the pieces of the graph", tau)
        found.append(Kept(candidate, V, omega, np.arange(len(shares))))
    seen = [kept.candidate for kept in found]
    return found[-1], _record(seen, found[-1])


def go_to(task: Task, kept: Kept, tau: float) -> SolverResult:
    """Return the solution at tau on the branch of what was kept."""
    between = np.arange(
        kept.candidate.tau, tau, ON if tau > kept.candidate.tau else -ON
    )
    engine = Engine(task.S, kept.omega)
    engine.put(kept.V)
    for stop in [*between, tau]:
        _solve(engine, task, stop)
    return blord_result(engine, task.S, task.ends, tau)


def whole(
    result: SolverResult, kept: Kept, asked: Omega
) -> tuple[SolverResult, FloatArray, Omega]:
    """Return a result with a column for every cluster asked for, used or not.

    Clusters come in the order of their shares, unless known labels name them.
    """
    k = len(asked.mu)
    places = kept.clusters
    if asked.known is None and kept.omega.exact:
        places = np.argsort(np.argsort(-kept.omega.mu, kind="stable"))
    V, mu = np.zeros((len(result.V), k)), np.zeros(k)
    V[:, places], mu[places] = result.V, kept.omega.mu
    omega = replace(kept.omega, mu=mu, known=asked.known)
    return replace(result, V=V), mu**2, omega


def _begin(task: Task, omega: Omega) -> Round:
    """Return paths of several steps from random points, and one from eigenvectors."""
    trails, paths = [], list(zip(STEPS, task.seeds, strict=True))
    for step, seed in paths if len(omega.mass) <= MANY else paths[2:]:
        start = random_start(omega, np.random.default_rng(seed))
        trails.append(Trail(f"steps of {step:g}", start, _grid(FIRST, step)))
    if omega.known is None:
        start = spectral_start(task.S, omega)
        trails.append(Trail("from leading eigenvectors", start, _grid(LATE, FRESH)))
    return Round(omega, np.arange(len(omega.mu)), trails)


def _resized(task: Task, kept: Kept) -> Round:
    """Return paths for the shares of the kept partition.

    One leads from the partition itself, which is hard, back to small tau; one goes
    on from where it was found, with what its memberships were; one starts afresh.
    """
    labels, old = kept.labels, kept.omega
    sizes = np.bincount(labels, old.weight, minlength=len(old.mu))
    used = np.flatnonzero(sizes)
    mu = np.sqrt(sizes[used] / sizes.sum())
    omega = replace(old, mu=mu, known=_reindexed(old.known, used))
    hard = (labels[:, None] == used) * (omega.mass[:, None] / mu)
    mixed = scaled_start(hard * mu + kept.V[:, used] * old.mu[used], omega)
    fresh = random_start(omega, np.random.default_rng(task.seeds[-1]))
    trails = [
        Trail("back from the partition", hard, BACK),
        Trail("on from the partition", mixed, _grid(min(kept.candidate.tau, 0.9), ON)),
        Trail(f"steps of {FRESH:g}", fresh, _grid(FIRST, FRESH)),
    ]
    if not task.evidence.has_features:
        trails = trails[:1]
    return Round(omega, kept.clusters[used], trails)


def _explore(
    task: Task, what: Round, turn: int, n_threads: int, part: float = 1.0
) -> tuple[Kept, list[Candidate]]:
    """Follow the paths side by side; return the best candidate, and all of them.

    Paths that have not begun when it is enough are left out. ``part`` is how much of
    the whole work the round is.
    """
    gain = part / sum(len(trail.taus) for trail in what.trails)

    def follow(trail: Trail) -> tuple[list[Kept], list[Candidate]]:
        kept: list[Kept] = []
        seen: list[Candidate] = []
        if task.enough.is_set():
            return kept, seen
        for tau, V in _solutions(task, what.omega, trail):
            seen.append(_judge(task, what.omega, V, turn, trail.name, tau))
            kept.append(Kept(seen[-1], V, what.omega, what.clusters))
            kept = [max(kept, key=lambda one: one.merit)]
            if task.solved(tau, gain):
                break
        return kept, seen

    with ThreadPoolExecutor(min(n_threads, len(what.trails))) as pool:
        found = list(pool.map(follow, what.trails))
    seen = [candidate for _, part in found for candidate in part]
    ends = [end for kept, _ in found for end in kept]
    return max(ends, key=lambda one: one.merit), seen


def _solutions(
    task: Task, omega: Omega, trail: Trail
) -> Iterator[tuple[float, FloatArray]]:
    """Yield tau and V along a path, each solved from the one before."""
    engine = Engine(task.S, omega)
    engine.put(trail.start)
    for tau in trail.taus:
        _solve(engine, task, tau)
        yield float(tau), engine.get()


def _solve(engine: Engine, task: Task, tau: float) -> None:
    """Solve at tau from the engine's V."""
    engine.aim(problem.blord_step(task.ends, tau), task.ends.gamma(tau))
    engine.run(task.tol, task.max_iter)


def _judge(
    task: Task, omega: Omega, V: FloatArray, turn: int, name: str, tau: float
) -> Candidate:
    """Score the partition of V."""
    labels = labels_from(V * omega.mu)
    sizes = np.bincount(labels, omega.weight, minlength=task.evidence.k).astype(float)
    score = task.evidence.score(labels)
    return Candidate(turn, name, tau, score, np.sort(sizes)[::-1])


def _grid(first: float, step: float) -> FloatArray:
    """Return taus from ``first`` to 1."""
    return np.append(np.arange(first, 1 - step / 2, step), 1.0)


def _reindexed(known: IntArray | None, used: IntArray) -> IntArray | None:
    """Return known labels as places in ``used``, which holds all of them."""
    if known is None:
        return None
    return np.where(known >= 0, np.searchsorted(used, known), -1)


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
