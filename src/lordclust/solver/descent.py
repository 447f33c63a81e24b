"""One descent: from a start to a stationary V, with its certificate."""

from collections.abc import Callable

import numpy as np

from lordclust._core.typing import FloatArray, Graph
from lordclust.result import SolverResult
from lordclust.solver import paper, problem
from lordclust.solver.engine import Callback, Solver
from lordclust.solver.omega import Omega
from lordclust.solver.problem import Spectrum
from lordclust.solver.projection import feasibility_error, project_newton

#: Relative error of a row or column sum that counts as rounding.
FEASIBLE = 1e-12


def solve_blord(
    engine: Solver,
    S: Graph,
    ends: Spectrum,
    tau: float,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> SolverResult:
    """Solve B-LoRD at ``tau`` from the engine's current V."""
    # The paper's own step: from a random start a longer one picks worse basins.
    step = 2 / problem.blord_lipschitz(ends, ends.gamma(tau))
    engine.aim(step, ends.gamma(tau))
    engine.run(tol, max_iter, callback)
    return blord_result(engine, S, ends, tau)


def blord_result(engine: Solver, S: Graph, ends: Spectrum, tau: float) -> SolverResult:
    """Return where the engine stands, with its certificate."""
    progress = engine.progress()
    gamma, q = ends.gamma(tau), engine.omega.weight
    V, objective = blord_end(engine, S, gamma)
    return SolverResult(
        V,
        objective,
        _residual(engine, V, lambda: problem.blord_gradient(S, V, gamma, q)),
        progress.n_iter,
        engine.converged,
        engine.history(),
        engine.passes,
    )


def blord_end(engine: Solver, S: Graph, gamma: float) -> tuple[FloatArray, float]:
    """Return V, feasible to rounding, and its objective.

    A descent that converged has just measured this V; a product S V in the order of
    the samples costs as much as ten in the engine's.
    """
    V, is_last = settled(engine)
    if is_last and V.dtype == np.float64:
        return V, float(engine.history()[-1])
    omega = engine.omega
    return V, problem.blord_objective(S, V, gamma, omega.weight) - omega.penalty(V)


def solve_lord(
    engine: Solver,
    S: Graph,
    ends: Spectrum,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> SolverResult:
    """Solve LoRD from the engine's current V; the weighted sum of S is 1."""
    engine.aim(problem.lord_step(ends, engine.omega.bound))
    engine.run(tol, max_iter, callback)
    return lord_result(engine, S)


def lord_result(engine: Solver, S: Graph) -> SolverResult:
    """Return where an engine for LoRD stands, the objective measured anew."""
    progress = engine.progress()
    V, q = settled(engine)[0], engine.omega.weight
    objective = problem.lord_objective(S, V, q)
    # The engine climbs h = <V, SV> - |V'V|^2/2; the model is |S|^2 - 2 h.
    QV = engine.omega.weighted(V)
    norm2 = objective + 2 * float((QV * (S @ QV)).sum())
    norm2 -= float(((QV.T @ V) ** 2).sum())
    objective += 2 * engine.omega.penalty(V)
    history = norm2 - 2 * engine.history()
    residual = _residual(engine, V, lambda: problem.lord_gradient(S, V, q) / 2)
    return SolverResult(
        V,
        objective,
        residual,
        progress.n_iter,
        engine.converged,
        history,
        engine.passes,
    )


def _residual(
    engine: Solver, V: FloatArray, gradient: Callable[[], FloatArray]
) -> float:
    """Return ||V - P(V - c gradient / 2)|| / ||V|| at the engine's step c.

    A descent that converged has just measured it at this V.
    """
    if engine.converged:
        return engine.progress().residual
    omega, step = engine.omega, engine.step
    U = V - step * gradient() / 2
    moved = project_newton(U, omega, ease=omega.ease(step))[0] - V
    return float(np.sqrt(omega.norm2(moved) / omega.norm2(V)))


def settled(engine: Solver) -> tuple[FloatArray, bool]:
    """Return V, feasible to rounding, and if it is the one a descent converged to.

    A descent may be cut short. Its last projection may also have run out of digits: of
    a nearly hard V all but none of the rows tell the columns where to go. V itself is
    easier to project.
    """
    V, omega = engine.get(), engine.omega
    if not omega.exact:
        return V, engine.converged
    # float32 has no digits to win.
    single = V.dtype == np.float32
    if engine.converged and (single or feasibility_error(V, omega) <= FEASIBLE):
        return V, True
    if not single:
        mended = engine.projected()
        if feasibility_error(mended, omega) <= FEASIBLE:
            return mended, False
        del mended
    # With more care, and half a dozen arrays of n x k more.
    return project_newton(V, omega)[0], False


def paper_blord(
    S: Graph,
    V: FloatArray,
    ends: Spectrum,
    tau: float,
    omega: Omega,
    *,
    tol: float,
    max_iter: int,
) -> SolverResult:
    """Solve B-LoRD by the paper's own algorithm, for samples of equal weight."""
    gamma = ends.gamma(tau)
    result = paper.paper_descent(
        V,
        lambda V: -problem.blord_objective(S, V, gamma),
        lambda V: problem.blord_gradient(S, V, gamma),
        problem.blord_lipschitz(ends, gamma) or 1.0,
        omega.mu,
        omega.mass,
        tol=tol,
        max_iter=max_iter,
    )
    return SolverResult(
        result.V,
        -result.objective,
        result.residual,
        result.n_iter,
        result.converged,
        -np.asarray(result.history),
        result.passes,
    )


def paper_lord(
    S: Graph,
    V: FloatArray,
    ends: Spectrum,
    omega: Omega,
    *,
    tol: float,
    max_iter: int,
) -> SolverResult:
    """Solve LoRD by the paper's own algorithm, for samples of equal weight."""
    return paper.paper_descent(
        V,
        lambda V: problem.lord_objective(S, V),
        lambda V: problem.lord_gradient(S, V),
        problem.lord_lipschitz(ends, omega.mass.max()),
        omega.mu,
        omega.mass,
        tol=tol,
        max_iter=max_iter,
    )
