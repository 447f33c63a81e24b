"""Choosing a partition and its shares without labels.

Omega, the set of all doubly stochastic V, is the disjoint union of the cells
Omega(mu), one for each vector of shares (Theorem 1 of the paper). Seeds propose cells,
B-LoRD solves within them, and the partition with the most evidence
(:mod:`lordclust.choose.evidence`) is kept.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import NamedTuple

import numpy as np

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.choose.elliptical import Mixture
from lordclust.choose.evidence import BALANCE, NOTHING, Evidence, Score
from lordclust.result import Selection
from lordclust.rounding.labels import labels_from, named_like
from lordclust.rounding.surprise import is_clear
from lordclust.solver.aggregate import Aggregate
from lordclust.solver.links import Links
from lordclust.solver.omega import Omega
from lordclust.solver.path import SHORT_FROM, late_taus, solve_at
from lordclust.solver.problem import Problem
from lordclust.solver.seeds import EVEN, Seeds, completed, smallest
from lordclust.solver.solve import Limits, is_large, make_solver, solve_from_labels
from lordclust.solver.start import hard_start

LOG = logging.getLogger("lordclust.fit")
#: Taus at which B-LoRD changes a partition within its own cell.
WITHIN = (1.0, 0.3, 0.2)
#: How often shares are taken from the best partitions so far, of how many that differ
#: in more than this share of the samples: evidence before improvement says little.
ROUNDS, LEADERS, APART = 4, 3, 0.05
#: From this size of V on only the most promising seeds and partitions are improved, and
#: paths with equal shares end where partitions hardly change any more.
LARGE, PROMISING, UNDECIDED = 500_000, 2, 0.4
#: Difference in evidence, balance aside, and share of samples, by which partitions are
#: nearly equal.
NEARLY, FEW = 0.1, 0.01
#: Surprise, in nats, below which clusters are separate on a graph of one scale.
SEPARATE = 1e-3
#: Labels from the graph or the features whose cells are searched.
SEEDS = ("cut", "centres", "tree", "uneven_tree", "linkage", "halves", "gaps")
#: Approximate fraction of the work before the shares are changed.
FIRST_ROUND = 0.6


@dataclass(frozen=True)
class Search:
    """Settings that all candidates share.

    Attributes
    ----------
    evidence : Evidence
        Scores partitions of the samples.
    seeds : Seeds
        Labels and starts from the graph.
    draws : sequence of int
        A random seed for each start that mixes eigenvectors.
    limits : Limits
        Of each solve.
    n_threads : int
        Paths that are followed at the same time.
    rounded : callable
        Returns the labels of V, given the set that V is in.
    notify : callable
        Called with what was solved and its share of the work; returns whether to stop.
    links : Links, optional
        Pairs of samples that belong together, and pairs that do not.
    enough : Event
        Set once ``notify`` has returned True: the best candidate so far is kept.
    found : list of Candidate
        What was compared so far.
    done : list of float
        Shares of the work that were reported.
    """

    evidence: Evidence
    seeds: Seeds
    draws: Sequence[int]
    limits: Limits
    n_threads: int = 1
    rounded: Callable[[Graph, Omega], IntArray] = lambda V, omega: labels_from(
        V * omega.mu
    )
    notify: Callable[[str, float], bool] = lambda name, part: False
    links: Links | None = None
    enough: Event = field(default_factory=Event)
    found: list["Candidate"] = field(default_factory=list)
    done: list[float] = field(default_factory=list)

    def rivals(self) -> list[IntArray]:
        """Return the partitions of NCut and of B-LoRD with the shares of the problem.

        More seeds would make every partition look doubtful: trees and linkage are
        often far off.
        """
        first = [one for one in self.found if one.round == 0 and one.allowed]
        ends = [one for one in first if one.source.startswith(("from", "sized"))]
        if ends:  # the hardest; of these the best objective
            ends = [max(ends, key=lambda one: (one.tau, one.objective))]
        return [one.labels for one in first if one.source == "cut"] + [
            one.labels for one in ends
        ]


class Candidate(NamedTuple):
    """A partition with its evidence."""

    round: int
    source: str
    tau: float  # 1 for a seed
    labels: IntArray
    score: Score
    sizes: FloatArray
    allowed: bool  # k clusters of some size, and no pieces of the graph mixed up
    broken: int = 0  # links, and known labels that their neighbours contradict
    objective: float = np.inf  # of B-LoRD
    mixture: Mixture | None = None  # whose labels these are

    def renumbered(self, names: IntArray) -> "Candidate":
        """Return it with clusters 0, 1, ... called by these names."""
        mixture = self.mixture
        if mixture is not None:
            mixture = mixture.renumbered(names)
        return self._replace(labels=names[self.labels], mixture=mixture)

    @property
    def evidence(self) -> float:
        """The evidence; a broken link costs as much as a factor of e in surprise."""
        return self.score.total - self.broken

    @property
    def merit(self) -> tuple[bool, float]:
        """The larger, the better."""
        return self.allowed, self.evidence

    @property
    def is_even(self) -> bool:
        """Whether no cluster is so small that it may be a group of outliers."""
        return bool(len(self.sizes) * self.sizes.min() >= EVEN * self.sizes.sum())

    @property
    def is_separate(self) -> bool:
        """Whether a graph sees next to nothing between the clusters."""
        return self.allowed and self.broken == 0 and self.score.surprise < NOTHING

    @property
    def is_clear(self) -> bool:
        """Whether the clusters are separate on every graph.

        Single linkage and trees find a gap wherever density varies: for them the graph
        of one scale must see nothing at all.
        """
        n, one_scale = len(self.labels), self.score.nothing == NOTHING
        clear = is_clear(self.score.on_graph, n) and is_clear(self.score.on_reach, n)
        both = one_scale and self.score.on_reach < SEPARATE
        separate = self.source == "cut" or both
        return self.allowed and self.broken == 0 and clear and separate


class Trail(NamedTuple):
    """A path to follow: its problem, where it starts, and its taus."""

    name: str
    problem: Problem
    start: Graph  # V, or labels of a large problem
    taus: Sequence[float]
    groups: Aggregate | None = None  # of samples, which move together while V is soft


def choose(
    problem: Problem, search: Search, *, shares: bool
) -> tuple[Candidate, Selection]:
    """Return the partition with the most evidence, and all that were compared.

    With ``shares``, the shares of the problem are only where the search begins.
    """
    found, k = search.found, len(problem.omega.mu)
    # Clusters that join pieces of the graph are as separate in any other combination.
    joins = shares and len(np.setdiff1d(search.seeds.pieces, -1)) > k
    for name, labels in _proposed(problem.omega, search.seeds) if shares else ():
        one = _judged(search, problem.omega, labels, 0, name)
        if name == "gaps" and one.score.on_graph >= NOTHING:
            continue  # outliers, which single linkage always finds
        found.append(one)
        if one.is_clear and one.is_even and not joins:
            LOG.debug("seeds: the clusters of the %s are separate", one.source)
            return one, _record(found, one)
    if separate := [one for one in found if one.is_separate]:
        one = max(separate, key=lambda one: one.merit)
        apart = one is max(found, key=lambda one: one.merit)
        apart = apart or search.seeds.stand_apart(one.labels)
        if one.is_clear and not one.is_even and apart:
            LOG.debug("seeds: the clusters of the %s are separate", one.source)
            return one, _record(found, one)
    LOG.debug("seeds: %s", [(one.source, round(one.evidence, 3)) for one in found])
    if is_large(problem):  # all further starts are labels
        search.seeds.forget_eigenvectors()
    large = np.prod(problem.omega.shape) >= LARGE
    promising = sorted(found, key=lambda one: one.merit)[-PROMISING if large else 0 :]
    soft = np.prod(problem.omega.shape) >= SHORT_FROM and not is_large(problem)
    groups, hasty = Aggregate.of(problem) if soft else None, bool(large and shares)
    trails = [
        _within(problem, one, groups if hasty else None)
        for one in promising
        if one.sizes.min() > 0
    ]
    # Together, so that no thread waits for the slowest of the first.
    trails += _late(problem, search, groups, hasty=hasty)
    ends = _followed(search, trails, 0, FIRST_ROUND if shares else 1.0)
    found += [one for one in ends if _is_best(one, ends)]
    followed: list[Candidate] = []
    for turn in range(1, ROUNDS + 1 if shares else 1):
        leaders = _leaders(found, followed, PROMISING if large else LEADERS)
        if search.enough.is_set() or not leaders:
            break
        followed += leaders
        part = (1 - FIRST_ROUND) / ROUNDS
        trails = [_within(problem, one) for one in leaders]
        found += _followed(search, trails, turn, part)
    best = max(found, key=lambda one: one.merit)
    best = _smoothest(found, best)
    if shares:
        best = _by_posterior(problem.omega, search, best)
    LOG.debug(
        "choice: %s at tau %g, evidence %.3f, of %d partitions",
        best.source, best.tau, best.evidence, len(found),
    )  # fmt: skip
    return best, _record(found, best)


def _leaders(
    found: list[Candidate], followed: list[Candidate], number: int
) -> list[Candidate]:
    """Return the best partitions that are not nearly the same, but those followed."""
    ranked = sorted(found, key=lambda one: one.merit, reverse=True)
    leaders: list[Candidate] = []
    for one in (one for one in ranked if one.allowed == ranked[0].allowed):
        k = len(one.sizes)
        if all(
            np.mean(named_like(one.labels, other.labels, k) != other.labels) > APART
            for other in leaders
        ):
            leaders.append(one)
        if len(leaders) == number:
            break
    return [one for one in leaders if all(one is not x for x in followed)]


def _smoothest(found: list[Candidate], best: Candidate) -> Candidate:
    """Return the best candidate, or a nearly equal one with far less surprise on S.

    Balance rewards a small cluster that takes a few samples from a large one. Where
    that is its only advantage, the graph decides.
    """
    k, rest = len(best.sizes), best.evidence - BALANCE * best.score.balance
    nearly = [
        one
        for one in found
        if one.allowed == best.allowed
        and one.evidence - BALANCE * one.score.balance >= rest - NEARLY
        and np.mean(named_like(one.labels, best.labels, k) != best.labels) <= FEW
    ]
    other = min(nearly, key=lambda one: one.score.on_graph)
    return other if other.score.on_graph < best.score.on_graph / 2 else best


def _by_posterior(omega: Omega, search: Search, best: Candidate) -> Candidate:
    """Return the best candidate, or the most probable clusters of a mixture.

    No labels are better if clusters are elliptical. Nothing else may be worse for it:
    pieces of the graph, links, sizes. The EM algorithm begins with the best candidate
    and with the seeds; of the most likely mixtures the evidence chooses.
    """
    seeds = [one for one in search.found if one.objective == np.inf and one.allowed]
    ranked = (best, *sorted(seeds, key=lambda one: -one.evidence))
    several = {one.labels.tobytes(): one.labels for one in ranked}
    pairs = [
        (mixture, _judged(search, omega, mixture.labels, best.round, "t mixture"))
        for mixture in search.evidence.mixtures(list(several.values()))
    ]
    pairs = [
        (mixture, one)
        for mixture, one in pairs
        if one.allowed >= best.allowed and one.broken <= best.broken
    ]
    if not pairs:
        return best
    likely = max(mixture.likelihood - mixture.chance for mixture, _ in pairs)
    mixture, one = max(
        (pair for pair in pairs if pair[0].likelihood >= likely),
        key=lambda pair: pair[1].evidence,
    )
    search.found.append(one._replace(mixture=mixture))
    return search.found[-1]


def given(
    search: Search, omega: Omega, labels: IntArray
) -> tuple[Candidate, Selection]:
    """Return given labels as the only candidate."""
    best = _judged(search, omega, labels, 0, "given")
    return best, _record([best], best)


def _proposed(omega: Omega, seeds: Seeds) -> Iterator[tuple[str, IntArray]]:
    """Yield labels whose shares are those of a cell, with their names."""
    for name in SEEDS:
        labels = getattr(seeds, name)
        if labels is not None:
            yield name, labels
    if seeds.core is not None:
        kept, inner = seeds.core
        for name in SEEDS[:5]:
            labels = getattr(inner, name)
            if labels is not None:
                yield f"{name} of the core", seeds.placed(labels, kept)
    known = omega.known
    if known is not None and len(np.unique(known[known >= 0])) == len(omega.mu):
        yield "known labels", completed(known, seeds)


def _is_best(one: Candidate, others: list[Candidate]) -> bool:
    """Return whether no path from the same kind of start is better at the same tau."""
    # Of several draws the objective decides; the judge chooses between kinds of starts,
    # whose optima differ more, and between cells.
    rivals = [
        other.objective
        for other in others
        if (other.source, other.tau) == (one.source, one.tau)
        and other.allowed >= one.allowed
    ]
    return one.objective >= max(rivals) - 1e-6 * abs(max(rivals))


def cell_of(labels: IntArray, problem: Problem) -> Problem:
    """Return the problem whose shares are those of the labels."""
    omega = problem.omega
    sizes = np.bincount(labels, omega.weight, minlength=len(omega.mu))
    return replace(problem, omega=replace(omega, mu=np.sqrt(sizes / sizes.sum())))


def _within(problem: Problem, one: Candidate, groups: Aggregate | None = None) -> Trail:
    """Return a path from a partition, within its own cell."""
    cell = cell_of(one.labels, problem)
    name = "within the best" if one.objective < np.inf else f"within {one.source}"
    if is_large(cell):
        return Trail(name, cell, one.labels, (1.0,))
    groups = None if groups is None else groups.with_mu(cell.omega.mu)
    return Trail(name, cell, hard_start(one.labels, cell.omega), WITHIN, groups)


def _late(
    problem: Problem, search: Search, groups: Aggregate | None, *, hasty: bool
) -> list[Trail]:
    """Return short paths for the shares of the problem; a large one, hard at once."""
    hard, (n, k) = [], problem.omega.shape
    crowded = is_large(problem) or 2 * k > n  # most clusters have one sample
    if problem.omega.exact and (crowded or not hasty):
        labels = search.seeds.sized_cut(problem.omega)
        hard = [Trail("sized cut", problem, labels, (1.0,))]
        if crowded:
            return hard
    last, draws = (UNDECIDED, ()) if hasty else (1.0, search.draws)
    # Paths of the same name are compared by their objectives.
    return hard + [
        Trail("from the seeds" if hasty else f"from the {name}", problem, V,
              (*late_taus(problem, last, from_labels=labels), last), groups)
        for name, V, labels in search.seeds.starts(problem.omega, draws)
    ]  # fmt: skip


def _followed(
    search: Search, trails: list[Trail], turn: int, part: float
) -> list[Candidate]:
    """Follow paths in parallel and return their candidates.

    Paths that have not begun when the search is stopped are left out, but for the
    first. ``part`` is their share of all work.
    """
    gain = part / sum(len(trail.taus) for trail in trails)

    def follow(trail: Trail) -> list[Candidate]:
        found: list[Candidate] = []
        if search.enough.is_set() and trail is not trails[0]:
            return found
        for tau, V, value in _solutions(search, trail):
            omega = trail.problem.omega
            labels = search.rounded(V, omega)
            one = _judged(search, omega, labels, turn, trail.name, tau)
            found.append(one._replace(objective=value))
            search.done.append(gain)
            if search.notify(f"tau {tau:.3f}", gain):
                search.enough.set()
            if search.enough.is_set():  # on this path or another
                break
        return found

    with ThreadPoolExecutor(min(search.n_threads, len(trails))) as pool:
        return [one for found in pool.map(follow, trails) for one in found]


def _solutions(search: Search, trail: Trail) -> Iterator[tuple[float, Graph, float]]:
    """Yield tau, V and objective along a path, each solved from the one before."""
    if trail.start.ndim == 1:
        result = solve_from_labels(
            trail.problem, trail.start, 1.0, search.limits, dense=False
        )
        yield 1.0, result.V, result.objective
        return
    V, level = trail.start, None
    for tau in trail.taus:
        groups = trail.groups if tau <= UNDECIDED else None
        problem = trail.problem if groups is None else groups.problem
        if problem is not level:
            solver, level = make_solver(problem), problem
            solver.put(V if groups is None else groups.of_groups(V))
        solve_at(solver, problem, tau, search.limits.loose)
        V = solver.get() if groups is None else groups.of_samples(solver.get())
        yield tau, V, solver.progress().objective


def _judged(
    search: Search,
    omega: Omega,
    labels: IntArray,
    turn: int,
    source: str,
    tau: float = 1.0,
) -> Candidate:
    """Return a partition with its evidence; known labels take precedence."""
    k, broken = len(omega.mu), 0
    if omega.known is not None:
        labels = named_like(labels, omega.known, k)
        labels = np.where(omega.known >= 0, omega.known, labels)
        broken = _contradicted(search.seeds.S, labels, omega.known, k)
    if search.links is not None:
        broken += len(search.links.broken(labels))
    sizes = np.bincount(labels, omega.weight, minlength=k).astype(float)
    least = smallest(len(labels), k)
    allowed = bool(np.bincount(labels, minlength=k).min() >= least)
    allowed &= bool(sizes.min() > 0) and keeps_pieces(labels, search.seeds.pieces)
    score = search.evidence.score(labels)
    return Candidate(turn, source, tau, labels, score, sizes, allowed, broken)


def _contradicted(S: Graph, labels: IntArray, known: IntArray, k: int) -> int:
    """Return how many known samples have neighbours of mostly another label."""
    rows = np.flatnonzero(known >= 0)
    votes = np.asarray(S[rows] @ np.eye(k)[labels])
    own = votes[np.arange(len(rows)), known[rows]]
    return int((votes.max(axis=1) > own).sum())


def keeps_pieces(labels: IntArray, pieces: IntArray) -> bool:
    """Return whether no cluster joins pieces of the graph while another is cut.

    Samples of piece -1 have no edges and are ignored.

    Examples
    --------
    >>> keeps_pieces(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
    False
    """
    sizes = np.bincount(pieces[pieces >= 0]) if (pieces >= 0).any() else np.ones(1)
    linked = (pieces >= 0) & (sizes[pieces] >= 0.1 * len(labels) / (labels.max() + 1))
    meets = np.zeros((len(sizes), int(labels.max()) + 1), dtype=bool)
    meets[pieces[linked], labels[linked]] = True
    cut, joined = meets.sum(axis=1) > 1, meets.sum(axis=0) > 1
    return not (cut.any() and joined.any())


def _record(found: list[Candidate], best: Candidate) -> Selection:
    """Return all candidates as a record."""
    return Selection(
        rounds=np.array([one.round for one in found]),
        sources=[one.source for one in found],
        taus=np.array([one.tau for one in found]),
        surprise=np.array([one.score.surprise for one in found]),
        balance=np.array([one.score.balance for one in found]),
        features=np.array([one.score.features for one in found]),
        evidence=np.array([one.evidence for one in found]),
        sizes=np.array([np.sort(one.sizes)[::-1] for one in found]),
        best=next(i for i, one in enumerate(found) if one is best),
    )
