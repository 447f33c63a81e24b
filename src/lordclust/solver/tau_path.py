"""B-LoRD for a grid of tau."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from lordclust._core.memory import check_memory, solver_advice, solver_bytes
from lordclust._core.threads import count_threads
from lordclust._core.typing import (
    Affinity,
    ArrayLike,
    FloatArray,
    Graph,
    PathLike,
    Seed,
)
from lordclust._core.validation import check_choice, in_dtype
from lordclust.graph.affinity import make_affinity, named_affinity
from lordclust.result import TauPath
from lordclust.rounding.labels import canonical_order, labels_from, membership_from
from lordclust.solver.checkpoint import (
    ROUNDING,
    Checkpoint,
    fingerprint,
    with_saved_spectrum,
)
from lordclust.solver.loop import Solver
from lordclust.solver.omega import Omega, make_omega
from lordclust.solver.path import Stop, walk
from lordclust.solver.problem import BLoRDProblem
from lordclust.solver.solve import Limits, make_solver, settled
from lordclust.solver.start import given_start, random_start, start_seeds


def _check_taus(taus: ArrayLike | None) -> FloatArray | None:
    """Return an increasing grid in [0, 1], or None for the adaptive one."""
    if taus is None:
        return None
    grid = np.atleast_1d(np.asarray(taus, dtype=np.float64))
    inside = np.all(np.isfinite(grid)) and np.all((grid >= 0) & (grid <= 1))
    if grid.ndim != 1 or grid.size == 0 or not inside or np.any(np.diff(grid) <= 0):
        raise ValueError(
            "taus must be increasing numbers in [0, 1], got "
            f"{np.array2string(grid, threshold=6)}. Pass for example "
            "numpy.linspace(0.02, 1, 50)."
        )
    return grid


def tau_path(
    S: Graph,
    n_clusters: int,
    *,
    taus: ArrayLike | None = None,
    proportions: object = None,
    strength: float | None = None,
    sample_weight: ArrayLike | None = None,
    known_labels: ArrayLike | None = None,
    start: str | Graph = "random",
    keep: str | ArrayLike | None = None,
    tol: float = 1e-4,
    max_iter: int = 4000,
    random_state: Seed = None,
    n_jobs: int | None = -1,
    callback: Callable[[float], object] | None = None,
    checkpoint: PathLike | None = None,
    dtype: np.dtype | str = "float64",
    affinity: Affinity | None = None,
) -> TauPath:
    """Solve B-LoRD along a grid of tau, from soft to hard.

    Solves max Tr(V'SV) + gamma(tau) ||V||_F^2 over Omega(mu) for each tau, starting
    from the previous solution.

    Parameters
    ----------
    S : array-like or sparse of shape (n, n), or samples of shape (n, d)
        Symmetric similarities, or samples.
    n_clusters : int
        Number of clusters.
    taus : array-like, optional
        Increasing grid in [0, 1]. By default adaptive: it starts where the first
        cluster splits off and takes small steps where V changes much.
    proportions : array-like of shape (n_clusters,), optional
        Shares of the clusters, summing to 1; equal by default.
    strength : float, optional
        Turns the shares into a soft constraint, as in :class:`lordclust.BLoRD`.
    sample_weight : array-like of shape (n,), optional
        Weights of the samples.
    known_labels : array-like of int, shape (n,), optional
        Clusters of samples, -1 if unknown, as in ``fit`` of
        :class:`lordclust.BLoRD`.
    start : "random" or array of shape (n, n_clusters)
        V for the first tau. The result hardly depends on it.
    keep : "all" or array-like of taus, optional
        The taus whose memberships are kept (the nearest grid points); by default the
        last.
    tol, max_iter
        Of each solve, as in :class:`lordclust.BLoRD`.
    random_state : int, RandomState or None
        Seed for the random start; with None the path is the same every time.
    n_jobs : int or None, default=-1
        Threads, as in :class:`lordclust.BLoRD`; the result does not depend on it.
    callback : callable, optional
        Called with each tau once it is solved; if it returns True, the path ends there.
    checkpoint : str or Path, optional
        A file that is rewritten after each tau. If the process ends before the path
        does, for any reason, the same call resumes after the last finished tau and
        returns the same path bit for bit. A file of another problem raises an error.
        The file is kept when the path is done, and the same call reads it; delete it.
    dtype : {"float64", "float32"}, default="float64"
        Type in which S and V are stored, as in :class:`lordclust.BLoRD`.
    affinity : str, KNNGraph or callable, optional
        How S is computed from the first argument, as in :class:`lordclust.BLoRD`. By
        default a square array is S itself, and "knn" builds the graph of any other.

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
    S = in_dtype(make_affinity(named_affinity(affinity, S), S), dtype)
    if strength is not None:
        proportions = (proportions, strength)
    omega, shares = make_omega(
        S.shape[0], n_clusters, proportions, sample_weight, known_labels
    )
    grid, limits = _check_taus(taus), Limits(tol, max_iter)
    _check_memory(S, len(shares), keep, 10 if grid is None else len(grid))
    V = _start_of_path(start, omega, random_state)
    problem, saved = BLoRDProblem.of(S, omega), None
    if checkpoint is not None:
        kept = None if keep is None else np.atleast_1d(keep)
        parts = float(tol), int(max_iter), grid, kept, str(np.dtype(dtype))
        saved = Checkpoint(checkpoint, fingerprint("tau_path", problem, V, *parts))
        problem = with_saved_spectrum(problem, [saved])
    solver = make_solver(problem, n_threads=count_threads(n_jobs), dtype=dtype)
    record = _Record(solver, problem, keep)
    if saved is None or not saved.resume(solver):
        solver.put(V)
    if saved is not None:
        record.resume(saved)
    for stop in walk(
        solver, problem, 1.0, limits, taus=grid, callback=callback, checkpoint=saved
    ):
        record.add(stop)
    return record.finished(shares)


def _check_memory(S: Graph, k: int, keep: str | ArrayLike | None, taus: int) -> None:
    """Raise an error if a path does not fit into memory."""
    n, size = S.shape[0], S.dtype.itemsize
    edges = S.nnz if sp.issparse(S) else 0  # a dense one is not copied
    kept = taus if isinstance(keep, str) else 1 if keep is None else np.size(keep)
    check_memory(
        solver_bytes(n, k, edges, size) + kept * n * k * size,
        f"A path of {n} samples and {k} clusters, with {kept} memberships to keep,",
        solver_advice(single=size == 4),
    )


def _start_of_path(start: str | Graph, omega: Omega, seed: Seed) -> FloatArray:
    """Return V for the first tau: random or given."""
    if not isinstance(start, str):
        return given_start(start, omega)
    check_choice(start, ("random",), "start")
    (first,) = start_seeds(1, 0 if seed is None else seed)
    return random_start(omega, np.random.default_rng(first))


class _Record:
    """Collects a path, one row per tau."""

    def __init__(
        self, solver: Solver, problem: BLoRDProblem, keep: str | ArrayLike | None
    ) -> None:
        self.solver, self.problem = solver, problem
        self.every = isinstance(keep, str)
        if self.every:
            check_choice(keep, ("all",), "keep")
        self.requested = [] if keep is None or self.every else list(np.ravel(keep))
        self.rows: list[tuple[object, ...]] = []
        self.kept: dict[float, FloatArray] = {}

    def add(self, stop: Stop) -> None:
        """Add a row for a tau that the solver has just solved."""
        tau, residual, n_iter, converged = stop
        V, objective = settled(self.solver, self.problem, tau)
        omega = self.problem.omega
        P = membership_from(V, omega.mu)
        blocks = len(omega.mu) / len(V) - omega.norm2(V)
        # A path of a million samples may have twenty rows: use a small type.
        labels = P.argmax(axis=1).astype(np.min_scalar_type(P.shape[1] - 1))
        row = (tau, objective, labels, n_iter, residual, converged, blocks)
        self.rows.append(row)
        self.kept[tau] = self.last = P
        self._forget()

    def arrays(self) -> dict[str, Graph]:
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
        """Continue from the rows of a checkpoint, which also stores later rows."""
        saved.more = self.arrays
        if saved.place is None:
            return
        arrays, (n, k) = saved.arrays, self.problem.omega.shape
        saved.check("rows.numbers", "f", (6, None))
        m = arrays["rows.numbers"].shape[1]
        saved.check("rows.labels", "u", (m, n), below=k)
        saved.check("kept.taus", "f", (None,))
        taus, kept = arrays["rows.numbers"][0], arrays["kept.taus"]
        ahead = saved.place.done or taus[-1] < saved.place.tau
        inside = 0 <= taus[0] <= taus[-1] <= 1 and ahead
        if not inside or np.any(np.diff(taus) <= 0) or not np.all(np.isin(kept, taus)):
            raise saved.invalid("its parts are inconsistent (taus)")
        for i, tau in enumerate(kept.tolist()):
            saved.check(f"kept.{i}", "f", (n, k))
            P = self.kept[tau] = arrays[f"kept.{i}"]
            if P.min() < 0 or np.abs(P.sum(axis=1) - 1).max() > ROUNDING:
                raise saved.invalid(f"its parts are inconsistent (kept.{i})")
        tau, objective, n_iter, *rest = arrays["rows.numbers"]
        if not 0 <= n_iter.min() <= n_iter.max() < 2**53:
            raise saved.invalid("its parts are inconsistent (rows.numbers)")
        residual, converged, blocks = rest[0], rest[1].astype(bool), rest[2]
        columns = (tau.tolist(), objective.tolist(), list(arrays["rows.labels"]),
                   n_iter.astype(int).tolist(), residual.tolist(), converged.tolist(),
                   blocks.tolist())  # fmt: skip
        self.rows = list(zip(*columns, strict=True))
        V = settled(self.solver, self.problem, float(tau[-1]))[0]
        self.last = membership_from(V, self.problem.omega.mu)

    def _forget(self) -> None:
        """Remove the memberships that are not the nearest to a requested tau."""
        if self.every:
            return
        grid = np.array(list(self.kept))
        near = {float(grid[np.abs(grid - t).argmin()]) for t in self.requested}
        near |= set() if self.requested else {float(grid[-1])}
        self.kept = {t: self.kept[t] for t in sorted(near)}

    def finished(self, shares: FloatArray) -> TauPath:
        """Return the path with clusters in canonical order, for the user's S."""
        tau, objective, labels, n_iter, residual, converged, blocks = (
            np.array(column) for column in zip(*self.rows, strict=True)
        )
        omega, spectrum = self.problem.omega, self.problem.spectrum
        shift = self.problem.shift
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
            eigenvalues=(spectrum.low + shift, spectrum.high + shift),
        )
