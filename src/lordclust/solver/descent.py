"""One descent: from a start to a stationary V, with its certificate."""

import numpy as np

from lordclust._typing import FloatArray, Graph
from lordclust.result import SolverResult
from lordclust.solver import kernels, paper, problem
from lordclust.solver.engine import Callback, Engine
from lordclust.solver.problem import Spectrum
from lordclust.solver.projection import project_omega


def solve_blord(
    engine: Engine,
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


def blord_result(engine: Engine, S: Graph, ends: Spectrum, tau: float) -> SolverResult:
    """Return where the engine stands, the objective measured anew."""
    progress = engine.progress()
    V = settled(engine)
    return SolverResult(
        V,
        problem.blord_objective(S, V, ends.gamma(tau)),
        _residual(engine, V, problem.blord_gradient(S, V, ends.gamma(tau))),
        progress.n_iter,
        engine.converged,
        engine.history(),
    )


def solve_lord(
    engine: Engine,
    S: Graph,
    ends: Spectrum,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> SolverResult:
    """Solve LoRD from the engine's current V; S has entries that sum to 1."""
    engine.aim(problem.lord_step(ends, engine.mass.max()))
    engine.run(tol, max_iter, callback)
    return lord_result(engine, S)


def lord_result(engine: Engine, S: Graph) -> SolverResult:
    """Return where an engine for LoRD stands, the objective measured anew."""
    progress = engine.progress()
    V = settled(engine)
    objective = problem.lord_objective(S, V)
    # The engine climbs h = <V, SV> - |V'V|^2/2; the model is |S|^2 - 2 h.
    norm2 = objective + 2 * float((V * (S @ V)).sum()) - float(((V.T @ V) ** 2).sum())
    history = norm2 - 2 * engine.history()
    residual = _residual(engine, V, problem.lord_gradient(S, V) / 2)
    return SolverResult(
        V, objective, residual, progress.n_iter, engine.converged, history
    )


def _residual(engine: Engine, V: FloatArray, gradient: FloatArray) -> float:
    """Return ||V - P(V - c gradient / 2)||_F / ||V||_F at the engine's step c.

    A descent that converged has just measured it at this V.
    """
    if engine.converged:
        return engine.progress().residual
    step = float(engine.shared.memory[kernels.STEP])
    U = V - step * gradient / 2
    moved = project_omega(U, engine.shared.mu, sample_weight=engine.mass) - V
    return float(np.linalg.norm(moved) / np.linalg.norm(V))


def settled(engine: Engine) -> FloatArray:
    """Return V, feasible to rounding also when the descent was cut short."""
    V = engine.get()
    if engine.converged:
        return V
    return project_omega(V, engine.shared.mu, sample_weight=engine.mass)


def paper_blord(
    S: Graph,
    V: FloatArray,
    ends: Spectrum,
    tau: float,
    mu: FloatArray,
    p: FloatArray,
    *,
    tol: float,
    max_iter: int,
) -> SolverResult:
    """Solve B-LoRD by the paper's own algorithm."""
    gamma = ends.gamma(tau)
    result = paper.paper_descent(
        V,
        lambda V: -problem.blord_objective(S, V, gamma),
        lambda V: problem.blord_gradient(S, V, gamma),
        problem.blord_lipschitz(ends, gamma) or 1.0,
        mu,
        p,
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
    )


def paper_lord(
    S: Graph,
    V: FloatArray,
    ends: Spectrum,
    mu: FloatArray,
    p: FloatArray,
    *,
    tol: float,
    max_iter: int,
) -> SolverResult:
    """Solve LoRD by the paper's own algorithm."""
    return paper.paper_descent(
        V,
        lambda V: problem.lord_objective(S, V),
        lambda V: problem.lord_gradient(S, V),
        problem.lord_lipschitz(ends, p.max()),
        mu,
        p,
        tol=tol,
        max_iter=max_iter,
    )
