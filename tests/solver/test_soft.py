"""Columns that give way: soft proportions at a price."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.graph import scale_to_unit_sum
from lordclust.solver.objective import blord_objective
from lordclust.solver.omega import Omega
from lordclust.solver.projection import project_newton
from lordclust.solver.start import random_start
from lordclust.solver.tau_path import tau_path
from oracles import qp_projection
from problems import blord_problem, lord_problem, solved
from strategies import block_graph, cases, generators

PRIOR = np.array([0.2, 0.3, 0.5])
STRENGTHS = [0.0, 0.3, 3.0, 30.0, 300.0]


def rows_are_exact(V, omega):
    assert V.min() >= 0
    np.testing.assert_allclose(V @ omega.mu, omega.mass, rtol=1e-12)


# -- the proximal step ---------------------------------------------------------


@given(
    cases(max_n=12, max_k=4, exponents=range(-3, 1)),
    st.sampled_from([1e-3, 0.1, 1.0, 100.0]),
    st.booleans(),
)
def test_the_step_equals_a_generic_quadratic_program(case, ease, weighted):
    n = len(case.U)
    w = case.rng.random(n) + 0.1 if weighted else np.ones(n)
    omega = Omega.of(case.mu, n, w / w.sum())
    V = project_newton(case.U, omega, ease=ease)[0]
    rows_are_exact(V, omega)
    wanted = qp_projection(case.U, case.mu, weight=omega.weight, ease=ease)
    np.testing.assert_allclose(V, wanted, atol=2e-6 * V.max())


@given(cases(exponents=range(-6, 3)), st.sampled_from([1e-6, 1.0, 1e6]))
def test_the_multipliers_are_the_slopes_of_the_price(case, ease):
    # a = (V'1 - mu) / ease: what a unit of the column costs.
    omega = Omega.of(case.mu, len(case.U))
    V, a, _ = project_newton(case.U, omega, ease=ease)
    off = V.sum(axis=0) - case.mu
    np.testing.assert_allclose(ease * a, off, atol=1e-9 * (1 + np.abs(case.U).max()))


def test_no_ease_is_the_projection_and_much_ease_is_each_row_alone():
    rng = np.random.default_rng(0)
    omega, U = Omega.of(np.sqrt(PRIOR), 20), rng.standard_normal((20, 3)) / 20
    firm = project_newton(U, omega)[0]
    nearly = project_newton(U, omega, ease=1e-9)[0]
    np.testing.assert_allclose(nearly, firm, atol=1e-7 * firm.max())
    free = project_newton(U, omega, ease=1e12)[0]
    for u, v in zip(U, free, strict=True):
        # One row: v = max(u - b mu, 0) for one b.
        b = ((u - v) / omega.mu)[v > 0]
        assert np.ptp(b) <= 1e-9
        assert np.all(u[v == 0] <= b[0] * omega.mu[v == 0] + 1e-9)


# -- descents ------------------------------------------------------------------


def objective(S, V, gamma, omega):
    """The penalised objective, written out."""
    off = omega.weighted(V).sum(axis=0) - omega.mu
    return blord_objective(S, V, gamma, omega.weight) - omega.price * (off @ off)


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("weighted", [False, True])
def test_blord_ends_stationary_at_its_own_objective(strength, weighted):
    rng = np.random.default_rng(0)
    S, _ = block_graph(rng, [20, 15, 10], between=0.1)
    w = rng.random(45) + 0.2 if weighted else np.ones(45)
    omega = Omega.of(np.sqrt(PRIOR), 45, w / w.sum(), strength=strength)
    problem = blord_problem(S, omega)
    omega, ends = problem.omega, problem.spectrum
    V0 = random_start(omega, rng)
    result = solved(problem, 0.4, V0, tol=1e-6, max_iter=20000)
    assert result.converged
    rows_are_exact(result.V, omega)
    gamma = ends.gamma(0.4)
    assert result.objective == pytest.approx(objective(S, result.V, gamma, omega))
    assert result.history[0] == pytest.approx(objective(S, V0, gamma, omega))
    assert result.history[-1] == pytest.approx(result.objective, rel=1e-9)
    assert np.diff(result.history).min() >= -1e-6 * np.abs(result.history).max()
    # No feasible direction climbs: towards any other point the slope is not positive.
    for seed in range(20):
        other = random_start(omega, np.random.default_rng(seed))
        other = project_newton(other * rng.random((45, 3)), omega, ease=1e9)[0]
        h = 1e-6
        near = result.V + h * (other - result.V)
        slope = (objective(S, near, gamma, omega) - result.objective) / h
        assert slope <= 1e-4 * abs(result.objective)


@pytest.mark.parametrize("strength", [0.0, 1.0, 100.0])
def test_lord_ends_at_its_own_objective(strength):
    rng = np.random.default_rng(0)
    S = scale_to_unit_sum(block_graph(rng, [20, 15, 10], between=0.1)[0])
    problem = lord_problem(S, Omega.of(np.sqrt(PRIOR), 45, strength=strength))
    omega = problem.omega
    V0 = random_start(omega, rng)
    result = solved(problem, 1.0, V0, tol=1e-6, max_iter=20000)
    assert result.converged
    rows_are_exact(result.V, omega)
    V = result.V
    off = V.sum(axis=0) - omega.mu
    wanted = ((S.toarray() - V @ V.T) ** 2).sum() + 2 * omega.price * (off @ off)
    assert result.objective == pytest.approx(wanted, rel=1e-9)
    assert result.history[-1] == pytest.approx(wanted, rel=1e-9)
    assert np.diff(result.history).max() <= 1e-6 * result.history[0]
    assert np.linalg.norm(V @ V.T, 2) <= omega.bound * (1 + 1e-9)


@given(generators(), st.sampled_from([0.0, 0.7, 20.0]))
def test_the_bound_holds_for_all_rows(rng, strength):
    omega = Omega.of(np.sqrt(PRIOR), 10, strength=strength)
    V = np.eye(3)[rng.integers(0, 3, 10)] / (10 * omega.mu)
    assert np.linalg.norm(V @ V.T, 2) <= omega.bound * (1 + 1e-12)


@pytest.mark.parametrize("max_iter", [1, 6])
def test_cut_short(max_iter):
    rng = np.random.default_rng(0)
    S, _ = block_graph(rng, [20, 15, 10], between=0.1)
    problem = blord_problem(S, Omega.of(np.sqrt(PRIOR), 45, strength=3.0))
    omega = problem.omega
    V0 = random_start(omega, rng)
    result = solved(problem, 0.4, V0, tol=1e-12, max_iter=max_iter)
    assert not result.converged
    rows_are_exact(result.V, omega)
    assert 1e-12 < result.residual < 1


# -- how firm ------------------------------------------------------------------


def shares_reached(strength, taus=(0.3,)):
    # Blocks of 25, 20 and 15 of 60, and a prior of equal shares.
    S, _ = block_graph(np.random.default_rng(0), [25, 20, 15], between=0.05)
    path = tau_path(S, 3, proportions=(None, strength), taus=taus, tol=1e-7)
    return path.membership().mean(axis=0)


def test_shares_come_nearer_to_the_prior_as_it_gets_firmer():
    off = [np.abs(shares_reached(s) - 1 / 3).max() for s in (0.5, 2, 8, 32, 128, 1e6)]
    assert off[0] > 0.02
    assert np.all(np.diff(off) <= 1e-6)
    assert off[-1] <= 1e-6


def test_infinitely_firm_is_exact():
    S, _ = block_graph(np.random.default_rng(0), [25, 20, 15], between=0.05)
    plain = tau_path(S, 3)
    firm = tau_path(S, 3, proportions=(None, np.inf))
    np.testing.assert_array_equal(firm.membership(), plain.membership())


def test_no_strength_at_all():
    P = shares_reached(0.0)
    assert P.sum() == pytest.approx(1)
    assert np.abs(P - 1 / 3).max() > np.abs(shares_reached(0.5) - 1 / 3).max() - 1e-6


def test_known_samples_may_overfill_a_soft_proportion():
    S, _ = block_graph(np.random.default_rng(0), [40, 10, 10], between=0.05)
    known = np.where(np.arange(60) < 30, 0, -1)
    with pytest.raises(ValueError, match=r"share of 0\.5 .* to cluster 0"):
        tau_path(S, 3, known_labels=known)
    path = tau_path(S, 3, proportions=(None, 1.0), known_labels=known)
    P = path.membership()
    np.testing.assert_array_equal(P[:30], np.eye(3)[np.zeros(30, int)])
    assert P[:, 0].mean() >= 0.5
