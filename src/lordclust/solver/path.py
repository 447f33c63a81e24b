"""Continuation in tau: all tau from soft to hard, each from the one before.

At tau = 0 the problem is convex with the trivial optimum 1 mu'/n. As tau grows,
clusters split off; following them gives better optima than dozens of random starts
at one tau, for the price of a few.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from lordclust._core.memory import check_memory, solver_advice, solver_bytes
from lordclust._core.threads import count_threads
from lordclust._core.typing import FloatArray, Graph
from lordclust._core.validation import (
    check_choice,
    check_known_labels,
    check_n_clusters,
    check_proportions,
    check_room,
    check_similarity,
    check_weights,
    in_dtype,
    split_proportions,
)
from lordclust.result import TauPath
from lordclust.rounding.labels import canonical_order, labels_from, membership_from
from lordclust.solver import problem
from lordclust.solver.checkpoint import ROUNDING, Checkpoint, Place, fingerprint
from lordclust.solver.descent import blord_end, settled
from lordclust.solver.engine import Engine, Solver
from lordclust.solver.omega import Omega
from lordclust.solver.problem import Spectrum
from lordclust.solver.start import given_start, random_start, spectral_start

#: Steps in tau: the first and smallest, the largest, and by how much they grow.
SMALLEST_STEP, LARGEST_STEP, GROWTH = 0.02, 0.1, 1.5
#: Where coarse paths from other starts compete with the path, how many, how coarse.
MEETING, SCOUTS, SCOUT_STEP, SCOUT_TOL = 0.4, 2, 0.06, 1e-3
#: Above this many samples they stay at home: a path takes long, and on the 70,000
#: images of MNIST they did not change the accuracy.
RACE_UP_TO = 20_000
#: Steps of LoRD's own path.
LORD_STEPS = 20
#: Relative change of V in one step below which steps grow, above which they halve.
SMALL_CHANGE, LARGE_CHANGE = 0.1, 0.3


def adaptive_taus(
    engine: Solver, last: float, place: Place | None = None
) -> Iterator[tuple[float, float]]:
    """Yield a grid up to ``last``, fine where V changes much, and its steps.

    The engine must be solved at each tau before the next one is asked for. A grid
    that is gone on with begins at a ``place``.
    """
    tau, step, marked = min(SMALLEST_STEP, last), SMALLEST_STEP, False
    if place is not None:
        # The steps of a file may be too small to get anywhere.
        tau, step, marked = place.tau, max(place.step, SMALLEST_STEP), True
        engine.mark()
    while True:
        yield tau, step
        if tau >= last:
            return
        if marked:
            change = engine.change()
            if change < SMALL_CHANGE:
                step = min(step * GROWTH, LARGEST_STEP)
            elif change > LARGE_CHANGE:
                step = max(step / 2, SMALLEST_STEP)
        engine.mark()
        marked = True
        # No last step shorter than half a step.
        tau = last if last - tau < 1.5 * step else tau + step


def _solve(
    engine: Solver, ends: Spectrum, tau: float, tol: float, max_iter: int
) -> int:
    """Solve at tau from the engine's V; return the iterations."""
    engine.aim(problem.blord_step(ends, tau), ends.gamma(tau))
    return engine.run(tol, max_iter)[0].n_iter


def _race(engine: Solver, ends: Spectrum, tau: float, tol: float, max_iter: int) -> int:
    """Let other ways to tau compete with the path, and go on with the best.

    Where two branches cross, a path stays on the one it is on. Coarse steps and a
    loose tolerance, not other seeds alone, lead to other branches; so do the clusters
    of the graph's leading eigenvectors.
    """
    best, own = engine.progress().objective, engine.get()
    n_iter, champion = 0, None
    for start, stops in _scouts(engine, tau):
        engine.put(start)
        for stop in stops:
            n_iter += _solve(engine, ends, stop, SCOUT_TOL, max_iter)
        if engine.progress().objective > best + 1e-6 * abs(best):
            best, champion = engine.progress().objective, engine.get()
    engine.put(own if champion is None else _aligned(champion, own, engine.omega))
    return n_iter + _solve(engine, ends, tau, tol, max_iter)


def _scouts(engine: Solver, tau: float) -> Iterator[tuple[FloatArray, list[float]]]:
    """Yield where other ways to tau begin, and their stops."""
    coarse = np.arange(SMALLEST_STEP, tau - SCOUT_STEP / 2, SCOUT_STEP)
    for seed in range(SCOUTS):
        rng = np.random.default_rng(seed)
        yield random_start(engine.omega, rng), [*coarse, tau]
    if engine.omega.known is None:
        yield spectral_start(engine.S, engine.omega), [tau]


def _aligned(V: FloatArray, reference: FloatArray, omega: Omega) -> FloatArray:
    """Return V with its columns in the order that fits the reference best.

    Only columns of equal share may change places, and none with known samples.
    """
    open_ = np.isin(np.arange(len(omega.mu)), omega.open_clusters())
    alike = (omega.mu[:, None] == omega.mu) & open_[:, None] & open_
    np.fill_diagonal(alike, True)
    overlap = omega.weighted(reference).T @ V
    _, columns = linear_sum_assignment(np.where(alike, -overlap, np.inf))
    return V[:, columns]


def walk(
    engine: Solver,
    ends: Spectrum,
    last: float,
    *,
    tol: float,
    max_iter: int,
    taus: FloatArray | None = None,
    callback: Callable[[float], Any] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Iterator[tuple[float, float, int, bool]]:
    """Solve along the grid; yield tau, residual, iterations, converged.

    With a checkpoint that an engine was resumed from, go on where it stood.
    """
    place = None if checkpoint is None else checkpoint.place
    grid = _grid(engine, last, taus, place)
    meeting = min(MEETING, last if taus is None else float(taus[-1]))
    # A path that begins late is the caller's own choice of branch.
    open_race = taus is None or taus[0] < SCOUT_STEP
    # The race needs S and V on this machine.
    open_race &= engine.n <= RACE_UP_TO and engine.S is not None
    open_race = open_race if place is None else place.open_race
    enough = False
    for tau, step in grid:
        if checkpoint is not None:  # all before this tau is finished
            checkpoint.at(engine, ends, Place(tau, step, open_race, False))
        if enough:
            return
        engine.leave_saddle()
        n_iter = _solve(engine, ends, tau, tol, max_iter)
        if open_race and tau >= meeting:
            n_iter += _race(engine, ends, tau, tol, max_iter)
            open_race = False
        yield tau, engine.progress().residual, n_iter, engine.converged
        enough = callback is not None and bool(callback(tau))
        if enough and checkpoint is None:
            return
    if checkpoint is not None:
        checkpoint.at(engine, ends, Place(1.0, 0.0, False, True))


def _grid(
    engine: Solver, last: float, taus: FloatArray | None, place: Place | None
) -> Iterator[tuple[float, float]]:
    """Return the taus still to solve, with steps if they are adaptive."""
    if place is not None and place.done:
        return iter(())
    if taus is None:
        return adaptive_taus(engine, last, place)
    ahead = taus if place is None else taus[taus >= place.tau]
    return ((tau, 0.0) for tau in ahead.tolist())


def walk_lord(
    engine: Solver,
    ends: Spectrum,
    *,
    tol: float,
    max_iter: int,
    checkpoint: Checkpoint | None = None,
) -> Iterator[float]:
    """Lead an engine for LoRD from the trivial point to its own problem.

    LoRD plus tilt ||V||_F^2 is concave for tilt <= -lambda_max(S), with the trivial
    optimum; the tilt is taken to 0 in steps, each solved from the one before. Yields
    the part of the way after each, up to 1.
    """
    place = None if checkpoint is None else checkpoint.place
    for part, _ in _grid(engine, 1.0, np.linspace(0, 1, LORD_STEPS + 1)[1:], place):
        if checkpoint is not None:
            checkpoint.at(engine, ends, Place(part, 0.0, False, False))
        tilt = -ends.high * (1 - part)
        engine.aim(problem.lord_step(ends, engine.omega.bound, tilt), tilt)
        engine.run(tol, max_iter)
        yield part
    if checkpoint is not None:
        checkpoint.at(engine, ends, Place(1.0, 0.0, False, True))


def _check_taus(taus: Any) -> FloatArray | None:
    """Return an increasing grid in [0, 1], or None for the adaptive one."""
    if taus is None:
        return None
    grid = np.atleast_1d(np.asarray(taus, dtype=np.float64))
    inside = np.all(np.isfinite(grid)) and np.all((grid >= 0) & (grid <= 1))
    if grid.ndim != 1 or grid.size == 0 or not inside or np.any(np.diff(grid) <= 0):
        raise ValueError(
            "taus must be increasing numbers in [0, 1], got "
            f"{np.array2string(grid, threshold=6)}; use for example "
            "numpy.linspace(0.02, 1, 50)."
        )
    return grid


def tau_path(
    S: Any,
    n_clusters: int,
    *,
    taus: Any = None,
    proportions: Any = None,
    sample_weight: Any = None,
    known_labels: Any = None,
    start: Any = "random",
    keep: Any = None,
    tol: float = 1e-4,
    max_iter: int = 4000,
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[float], Any] | None = None,
    checkpoint: Any = None,
    dtype: Any = "float64",
) -> TauPath:
    """Solve B-LoRD along a grid of tau, from soft to hard.

    Solves max Tr(V'SV) + gamma(tau) ||V||_F^2 over Omega(mu) for each tau, starting
    from the solution before it.

    Parameters
    ----------
    S : array-like or sparse of shape (n, n)
        Symmetric similarity.
    n_clusters : int
        Number of clusters.
    taus : array-like, optional
        Increasing grid in [0, 1]. By default adaptive: it starts where the first
        cluster splits off and takes small steps where V changes much.
    proportions : array-like of shape (n_clusters,) or (prior, strength), optional
        Shares of the clusters, summing to 1; equal by default. With a strength they
        may give way, as in :class:`lordclust.BLoRD`.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples.
    known_labels : array-like of int, shape (n,), optional
        Clusters of samples, -1 where unknown, as in ``fit`` of
        :class:`lordclust.BLoRD`.
    start : "random" or array of shape (n, n_clusters)
        V for the first tau. On the path the result hardly depends on it.
    keep : "all" or array-like of taus, optional
        At which taus to keep memberships (the nearest grid points); by default at
        the last.
    tol, max_iter
        Of each solve, as in :class:`lordclust.BLoRD`.
    random_state : int, RandomState or None
        For the random start; without it the path is the same every time.
    n_jobs : int, optional
        Threads; the result does not depend on it.
    callback : callable, optional
        Called with tau after each; a true answer ends the path there.
    checkpoint : str or Path, optional
        A file that is rewritten after each tau. If the process ends before the path
        does, in whatever way, the same call goes on after the last finished tau and
        returns the same path, in every bit. A file of another problem is refused.
        When the path is done the file stays, and the same call reads it; delete it.
    dtype : {"float64", "float32"}, default="float64"
        What S and V are kept in, as in :class:`lordclust.BLoRD`.

    Returns
    -------
    path : TauPath

    Examples
    --------
    >>> import numpy as np
    >>> S = np.kron(np.eye(2), np.ones((3, 3)))
    >>> path = tau_path(S, 2, random_state=0)
    >>> path.labels[-1]
    array([0, 0, 0, 1, 1, 1])
    """
    S = in_dtype(check_similarity(S), dtype)
    n = S.shape[0]
    k = check_n_clusters(n_clusters, n)
    prior, strength = split_proportions(proportions)
    shares = check_proportions(prior, k)
    p, known = check_weights(sample_weight, n), check_known_labels(known_labels, n, k)
    omega = Omega.of(np.sqrt(shares), n, p, known=known, strength=strength)
    if omega.exact:
        check_room(known, shares, omega.weight / n)
    grid = _check_taus(taus)
    _check_memory(S, k, keep, 10 if grid is None else len(grid))
    V = _start_of_path(start, omega, random_state)
    saved = None
    if checkpoint is not None:
        kept = None if keep is None else np.atleast_1d(keep)
        limits = float(tol), int(max_iter), grid, kept, str(np.dtype(dtype))
        saved = Checkpoint(checkpoint, fingerprint("tau_path", S, omega, V, *limits))
    ends = saved.ends if saved is not None else None
    S, level = problem.levelled(S, omega.weight)
    ends = problem.spectrum(S, omega.weight) if ends is None else ends
    omega = omega.beside(ends.width)
    engine = Engine(S, omega, n_threads=count_threads(n_jobs), dtype=dtype)
    rows = _Rows(engine, S, ends, keep)
    if saved is None or not saved.resume(engine):
        engine.put(V)
    if saved is not None:
        rows.resume(saved)
    for tau, residual, n_iter, converged in walk(
        engine, ends, 1.0, tol=tol, max_iter=max_iter, taus=grid, callback=callback,
        checkpoint=saved,
    ):  # fmt: skip
        rows.add(tau, residual, n_iter, converged)
    return rows.record(shares, level)


def _check_memory(S: Graph, k: int, keep: Any, taus: int) -> None:
    """Refuse a path that cannot fit into memory; an adaptive one has taus enough."""
    n, size = S.shape[0], S.dtype.itemsize
    edges = S.nnz if sp.issparse(S) else 0  # a dense one is not copied
    kept = taus if isinstance(keep, str) else np.size(keep)  # one by default
    check_memory(
        solver_bytes(n, k, edges, size) + kept * n * k * size,
        f"A path of {n} samples and {k} clusters, with {kept} memberships to keep,",
        solver_advice(single=size == 4),
    )


def _start_of_path(start: Any, omega: Omega, random_state: Any) -> FloatArray:
    """Return V for the first tau: random or given."""
    if not isinstance(start, str):
        return given_start(start, omega)
    check_choice(start, ("random",), "start")
    seeds = check_random_state(0 if random_state is None else random_state)
    rng = np.random.default_rng(seeds.randint(np.iinfo(np.int32).max))
    return random_start(omega, rng)


class _Rows:
    """Collects a path, one row a tau."""

    def __init__(
        self,
        engine: Solver,
        S: Graph,
        ends: Spectrum,
        keep: Any,
    ) -> None:
        self.engine, self.S, self.ends = engine, S, ends
        self.every = isinstance(keep, str)
        if self.every:
            check_choice(keep, ("all",), "keep")
        self.wanted = [] if keep is None or self.every else list(np.ravel(keep))
        self.rows: list[tuple[Any, ...]] = []
        self.kept: dict[float, FloatArray] = {}

    def add(self, tau: float, residual: float, n_iter: int, converged: bool) -> None:
        """Take down where the engine stands."""
        V, objective = blord_end(self.engine, self.S, self.ends.gamma(tau))
        omega = self.engine.omega
        P = membership_from(V, omega.mu)
        blocks = len(omega.mu) / len(V) - omega.norm2(V)
        # A path of a million samples has twenty rows: small numbers will do.
        labels = P.argmax(axis=1).astype(np.min_scalar_type(P.shape[1] - 1))
        row = (tau, objective, labels, n_iter, residual, converged, blocks)
        self.rows.append(row)
        self.kept[tau] = self.last = P
        self._forget()

    def taken(self) -> dict[str, Any]:
        """Return all rows as arrays, for a checkpoint."""
        columns = list(zip(*self.rows, strict=True))
        numbers = [columns[i] for i in (0, 1, 3, 4, 5, 6)]
        kept = {f"kept.{i}": P for i, P in enumerate(self.kept.values())}
        return {
            "rows.numbers": np.array(numbers, dtype=np.float64),
            "rows.labels": np.array(columns[2]),
            "kept.taus": np.array(list(self.kept)),
            **kept,
        }

    def resume(self, saved: Checkpoint) -> None:
        """Take up the rows of a checkpoint; let it keep those to come."""
        saved.beside = self.taken
        if saved.place is None:
            return
        arrays, (n, k) = saved.arrays, self.engine.omega.shape
        saved.check("rows.numbers", "f", (6, None))
        m = arrays["rows.numbers"].shape[1]
        saved.check("rows.labels", "u", (m, n), below=k)
        saved.check("kept.taus", "f", (None,))
        taus, kept = arrays["rows.numbers"][0], arrays["kept.taus"]
        ahead = saved.place.done or taus[-1] < saved.place.tau
        inside = 0 <= taus[0] <= taus[-1] <= 1 and ahead
        if not inside or np.any(np.diff(taus) <= 0) or not np.all(np.isin(kept, taus)):
            raise saved.refused("its parts do not fit together (taus)")
        for i, tau in enumerate(kept.tolist()):
            saved.check(f"kept.{i}", "f", (n, k))
            P = self.kept[tau] = arrays[f"kept.{i}"]
            if P.min() < 0 or np.abs(P.sum(axis=1) - 1).max() > ROUNDING:
                raise saved.refused(f"its parts do not fit together (kept.{i})")
        tau, objective, n_iter, *rest = arrays["rows.numbers"]
        if not 0 <= n_iter.min() <= n_iter.max() < 2**53:
            raise saved.refused("its parts do not fit together (rows.numbers)")
        residual, converged, blocks = rest[0], rest[1].astype(bool), rest[2]
        columns = (tau.tolist(), objective.tolist(), list(arrays["rows.labels"]),
                   n_iter.astype(int).tolist(), residual.tolist(), converged.tolist(),
                   blocks.tolist())  # fmt: skip
        self.rows = list(zip(*columns, strict=True))
        self.last = membership_from(settled(self.engine)[0], self.engine.omega.mu)

    def _forget(self) -> None:
        """Drop the memberships that are not the nearest to a wanted tau."""
        if self.every:
            return
        grid = np.array(list(self.kept))
        near = {float(grid[np.abs(grid - t).argmin()]) for t in self.wanted}
        near |= set() if self.wanted else {float(grid[-1])}
        self.kept = {t: self.kept[t] for t in sorted(near)}

    def record(self, shares: FloatArray, level: float = 0.0) -> TauPath:
        """Return the path with clusters in canonical order, for S + level I."""
        tau, objective, labels, n_iter, residual, converged, blocks = (
            np.array(column) for column in zip(*self.rows, strict=True)
        )
        omega = self.engine.omega
        heavy = labels_from(self.last)[omega.weight > 0]
        order = canonical_order(heavy, shares, omega.open_clusters())
        rank = np.argsort(order)
        return TauPath(
            taus=tau,
            objectives=objective,
            labels=rank[labels],
            memberships={t: P[:, order] for t, P in self.kept.items()},
            n_iter=n_iter,
            residuals=residual,
            converged=converged,
            block_diagonality=blocks,
            proportions=shares[order],
            eigenvalues=(self.ends.low + level, self.ends.high + level),
        )
