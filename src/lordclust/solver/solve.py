"""One descent: from a start to a stationary V, with its certificate."""

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, IntArray
from lordclust.result import SolverResult
from lordclust.solver import paper
from lordclust.solver.arrays import array_ascent
from lordclust.solver.engine import Callback, Engine
from lordclust.solver.loop import Solver
from lordclust.solver.problem import LoRDProblem, Problem
from lordclust.solver.projection import feasibility_error, project_newton
from lordclust.solver.sparse_engine import SparseEngine
from lordclust.solver.start import hard_start

#: From this many entries of V and clusters on, nearly hard V are kept sparse.
SPARSE_FROM, MANY = 250_000, 25
#: Tolerance on the way of a short path.
LOOSE = 1e-3
#: Relative error of a row or column sum that counts as rounding.
FEASIBLE = 1e-12


class Limits(NamedTuple):
    """The residual and the number of iterations at which a descent stops."""

    tol: float = 1e-4
    max_iter: int = 4000

    @property
    def loose(self) -> Self:
        """The limits on the way of a path."""
        return self._replace(tol=max(self.tol, LOOSE))


def make_solver(
    problem: Problem,
    *,
    n_threads: int = 1,
    dtype: np.dtype | str = "float64",
    device: str | None = None,
) -> Solver:
    """Return the compiled solver for a problem, or the one for a PyTorch device."""
    S, omega, lord = problem.S, problem.omega, problem.lord
    if device is None:
        return Engine(S, omega, lord=lord, n_threads=n_threads, dtype=dtype)
    single = np.dtype(dtype) == np.float32
    return array_ascent(S, omega, device=device, single=single, lord=lord)


def solve(
    solver: Solver,
    problem: Problem,
    t: float,
    limits: Limits,
    callback: Callback | None = None,
) -> SolverResult:
    """Solve the problem at ``t`` from the solver's current V."""
    solver.aim(problem.first_step(t), problem.tilt(t))
    solver.run(*limits, callback)
    return result_of(solver, problem, t)


def result_of(solver: Solver, problem: Problem, t: float) -> SolverResult:
    """Return the current solution of the solver, with its certificate."""
    V, objective = settled(solver, problem, t)
    progress, residual = solver.progress(), solver.progress().residual
    if not solver.converged:  # otherwise it was computed at this V
        U = V - solver.step * problem.gradient(V, t) / problem.factor
        ease = problem.omega.ease(solver.step)
        moved = project_newton(U, problem.omega, ease=ease)[0] - V
        residual = np.sqrt(problem.omega.norm2(moved) / problem.omega.norm2(V))
    history = solver.history()
    if isinstance(problem, LoRDProblem):
        history = problem.history(V, history)
    return SolverResult(
        V, objective, float(residual), progress.n_iter, solver.converged, history,
        solver.passes,
    )  # fmt: skip


def settled(solver: Solver, problem: Problem, t: float) -> tuple[FloatArray, float]:
    """Return V, feasible to rounding, and its objective.

    A descent may have been interrupted. Its last projection may also be inexact: if V
    is nearly hard, very few rows determine the columns. V itself is easier to project.
    """
    V, omega = solver.get(), problem.omega
    single = V.dtype == np.float32  # more care would not help
    last = solver.converged
    if omega.exact and not (
        last and (single or feasibility_error(V, omega) <= FEASIBLE)
    ):
        last, feasible = False, False
        if not single:
            U = solver.projected()
            feasible = feasibility_error(U, omega) <= FEASIBLE
            V = U if feasible else V
            del U
        if not feasible:  # with more care, and half a dozen more n x k arrays
            V = project_newton(V, omega)[0]
    if last and V.dtype == np.float64 and not problem.lord:
        # Already computed; a product S V in the order of the samples takes much longer.
        return V, float(solver.history()[-1])
    return V, problem.value(V, t)


def is_large(problem: Problem) -> bool:
    """Return whether V should be kept sparse, if it is nearly hard.

    Only with many clusters: a dense row of few costs no more than a sparse one.
    """
    n, k = problem.omega.shape
    fits = not problem.lord and sparse.issparse(problem.S) and problem.omega.exact
    return fits and n * k >= SPARSE_FROM and k >= MANY


def solve_from_labels(
    problem: Problem,
    labels: IntArray,
    t: float,
    limits: Limits,
    *,
    n_threads: int = 1,
    dtype: np.dtype | str = "float64",
    device: str | None = None,
    dense: bool = True,
) -> SolverResult:
    """Solve at ``t`` from labels that have the shares of the problem.

    If V is large, only its positive entries are kept, as long as they are few; unless
    ``dense``, V is then returned as a csr_array. On a device V is dense.
    """
    if device is None and is_large(problem):
        few = SparseEngine(problem.S, problem.omega, n_threads=n_threads, dtype=dtype)
        few.put(labels)
        few.aim(problem.step(t), problem.tilt(t))
        progress, converged = few.run(*limits)
        if converged and not few.dense:
            return SolverResult(
                few.get_dense() if dense else few.get(),
                progress.objective, progress.residual,
                progress.n_iter, converged, few.history(), few.passes,
            )  # fmt: skip
    solver = make_solver(problem, n_threads=n_threads, dtype=dtype, device=device)
    solver.put(hard_start(labels, problem.omega))
    solver.aim(problem.step(t), problem.tilt(t))
    solver.run(*limits)
    return result_of(solver, problem, t)


def solve_by_paper(
    problem: Problem, t: float, V: FloatArray, limits: Limits, *, early: bool = False
) -> SolverResult:
    """Solve by the paper's own algorithm, for samples of equal weight.

    With ``early`` a projection ends by the printed rule, which misses the sums.
    """
    sign = problem.sign
    found = paper.paper_descent(
        V,
        lambda V: sign * problem.value(V, t),
        lambda V: problem.gradient(V, t),
        problem.lipschitz(t),
        problem.omega.mu,
        problem.omega.mass,
        tol=limits.tol,
        max_iter=limits.max_iter,
        early=early,
    )
    value, history = sign * found.objective, sign * found.history
    return replace(found, objective=value, history=history)
