"""The paper's algorithms: what is printed fails, what is corrected works."""

import numpy as np
import pytest

from lordclust.graph import scale_to_unit_sum
from lordclust.solver import objective
from lordclust.solver.omega import Omega
from lordclust.solver.paper import dykstra, project_affine
from lordclust.solver.projection import project_omega
from lordclust.solver.solve import Limits, solve_by_paper
from lordclust.solver.spectrum import find_spectrum
from lordclust.solver.start import sinkhorn_start
from oracles import off_omega, uniform_mass
from problems import blord_problem, lord_problem
from strategies import block_graph, random_feasible


def printed_affine(Y, mu):
    """The bracket in Algorithm 2, as printed."""
    n = len(Y)
    total = Y.sum(axis=0) @ mu
    return Y + total / n * mu - Y.sum(axis=0) / n - np.outer(Y @ mu, mu)


def corrected_affine(Y, mu):
    """The Lemma: the same with (1'Y mu + 1) / n."""
    return printed_affine(Y, mu) + mu / len(Y)


def printed_beta(alpha, grown):
    return 1 + (1 - alpha) / grown


def corrected_beta(alpha, grown):
    return 1 + (alpha - 1) / grown


def algorithm_2(U, mu, affine, beta, max_iter, tol=1e-5):
    """Algorithm 2 line by line; stops on min(V) alone. Returns V and iterations."""
    V, Z, alpha = U.copy(), np.zeros_like(U), 1.0
    limit = tol * min(mu.max(), 1 / (len(U) * mu.min()))
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        grown = 0.5 * (1 + np.sqrt(4 * alpha**2 + 1))
        step = beta(alpha, grown)
        alpha = grown
        Y = (1 - step) * V + step * np.maximum(V - Z, 0)
        Z = Y - V + Z
        V = (1 - step) * Y + step * affine(Y, mu)
        if -V.min() <= limit:
            break
    return np.maximum(V, 0), n_iter


@pytest.fixture
def spread():
    """A random matrix of the size a descent meets, and uneven proportions."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 3)) / 20, np.sqrt([0.2, 0.3, 0.5])


# -- erratum 1: the +1 of the Lemma is missing in Algorithm 2 ------------------


def test_printed_affine_step_sends_the_sums_to_zero(spread):
    Y, mu = spread
    printed, corrected = printed_affine(Y, mu), corrected_affine(Y, mu)
    np.testing.assert_allclose(printed.sum(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(printed @ mu, 0, atol=1e-14)
    np.testing.assert_allclose(corrected.sum(axis=0), mu, atol=1e-14)
    np.testing.assert_allclose(corrected @ mu, 1 / len(Y), atol=1e-14)


def test_printed_algorithm_2_loses_the_proportions(spread):
    U, mu = spread
    V, _ = algorithm_2(U, mu, printed_affine, lambda *_: 1.0, 1000)
    assert off_omega(V, mu) > 0.9
    V, _ = algorithm_2(U, mu, corrected_affine, lambda *_: 1.0, 1000)
    assert off_omega(V, mu) < 1e-3


def test_ours_is_the_affine_step_of_the_lemma(spread):
    Y, mu = spread
    ours = project_affine(Y, mu, uniform_mass(len(Y)))
    np.testing.assert_allclose(ours, corrected_affine(Y, mu), atol=1e-15)


# -- erratum 2: the printed beta goes to 0, the text says from 1 to 2 ----------


def test_printed_beta_goes_to_zero_and_corrected_beta_to_two():
    alpha, printed, corrected = 1.0, [], []
    for _ in range(2000):
        grown = 0.5 * (1 + np.sqrt(4 * alpha**2 + 1))
        printed.append(printed_beta(alpha, grown))
        corrected.append(corrected_beta(alpha, grown))
        alpha = grown
    assert printed[0] == corrected[0] == 1
    assert np.all(np.diff(printed) < 0)
    assert np.all(np.diff(corrected) > 0)
    assert printed[-1] < 0.01
    assert 1.99 < corrected[-1] < 2


def test_printed_beta_does_not_reach_the_projection(spread):
    U, mu = 10 * spread[0], spread[1]
    exact = project_omega(U, mu)

    def error(V):
        return np.abs(V - exact).max() / exact.max()

    printed, _ = algorithm_2(U, mu, corrected_affine, printed_beta, 3000, tol=0.0)
    constant, _ = dykstra(U, mu, uniform_mass(40), tol=1e-9, max_iter=3000, beta=1.5)
    assert error(printed) > 0.01
    assert error(constant) < 1e-6


# -- erratum 3: stopping on min(V) alone ---------------------------------------


def test_stopping_on_min_v_alone_leaves_the_marginals_off():
    n, k = 60, 3
    mu = np.full(k, k**-0.5)
    vertex = np.eye(k)[np.arange(n) % k] / (n * mu)
    V, n_iter = algorithm_2(3 * vertex, mu, corrected_affine, corrected_beta, 1000)
    assert n_iter < 10
    assert off_omega(V, mu) > 0.02
    early, count = dykstra(3 * vertex, mu, uniform_mass(n), early=True)
    np.testing.assert_allclose(early, V, atol=1e-15)
    assert count == n_iter
    for beta in (None, 1.0, 1.5):
        V, _ = dykstra(3 * vertex, mu, uniform_mass(n), beta=beta)
        assert off_omega(V, mu) < 1e-3
        np.testing.assert_allclose(V, vertex, atol=1e-4 * vertex.max())


# -- erratum 4: Sinkhorn's tolerance, and a product that is not Hadamard's -----


def test_sinkhorn_at_1e_16_requires_exact_equality():
    rng = np.random.default_rng(0)
    n, shares = 50, np.array([0.7, 0.1, 0.1, 0.1])
    mu = np.sqrt(shares)
    U = rng.random((n, 4))
    P, left = np.maximum(U * mu, 1e-20), np.ones(n)
    errors = []
    for _ in range(200):
        right = mu * mu / (P.T @ left)
        left = 1 / n / (P @ right)
        columns = np.abs((P.T @ left) * right - mu * mu).max()
        errors.append(max(columns, np.abs((P @ right) * left - 1 / n).max()))
    # From 1/2 on, neighbouring numbers are further apart than the tolerance ...
    assert np.spacing(shares.max()) > 1e-16
    # ... so what is left is rounding: scaling on, 100 times, changes nothing of note.
    assert errors[10] > 1e-12
    assert max(errors[100:]) <= 1e-14
    assert off_omega(sinkhorn_start(U, mu), mu) <= 1e-12


def test_scaling_is_a_matrix_product_not_a_hadamard_product():
    rng = np.random.default_rng(1)
    mu = np.full(4, 0.5)
    P = rng.random((4, 4)) + 0.1
    V = sinkhorn_start(P, mu)
    left, right = V[:, 0] / P[:, 0], V[0] / P[0] / (V[0, 0] / P[0, 0])
    np.testing.assert_allclose(np.diag(left) @ P @ np.diag(right), V, rtol=1e-9)
    assert off_omega(np.diag(left) * (P @ np.diag(right)), mu) > 0.1


# -- erratum 5: the Laplacian of VV' -------------------------------------------


def test_the_laplacian_of_vvt_is_identity_over_n_less_vvt():
    n, mu = 15, np.sqrt([0.2, 0.3, 0.5])
    V = random_feasible(np.random.default_rng(0), n, mu)
    Z = V @ V.T
    laplacian = np.diag(Z.sum(axis=1)) - Z
    np.testing.assert_allclose(laplacian, np.eye(n) / n - Z, atol=1e-14)
    printed = np.ones((n, n)) / n - Z
    assert np.abs(laplacian - printed).max() > 0.9 / n
    np.testing.assert_allclose(laplacian.sum(axis=1), 0, atol=1e-14)
    assert np.abs(printed.sum(axis=1)).max() > 0.9


# -- Algorithm 1 ---------------------------------------------------------------


@pytest.fixture(scope="module")
def blocks():
    S, _ = block_graph(np.random.default_rng(5), [14, 10, 8], inside=0.6, between=0.1)
    mu = np.sqrt([0.3, 0.3, 0.4])
    V = random_feasible(np.random.default_rng(6), S.shape[0], mu)
    return S, mu, V


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
def test_algorithm_1_for_blord_is_monotone_and_ends_stationary(blocks, tau):
    S, mu, V0 = blocks
    problem = blord_problem(S, Omega.of(mu, len(V0)))
    result = solve_by_paper(problem, tau, V0, Limits(1e-4, 2000))
    assert result.converged
    assert len(result.history) == result.n_iter + 1
    scale = np.abs(result.history).max()
    assert np.all(np.diff(result.history) >= -1e-5 * scale)
    assert result.history[-1] > result.history[0]
    assert result.objective == result.history[-1]
    assert off_omega(result.V, mu) <= 1e-3  # Dykstra's tolerance and its final clip


def test_algorithm_1_for_lord_is_monotone(blocks):
    S, mu, V0 = blocks
    S = scale_to_unit_sum(S)
    problem = lord_problem(S, Omega.of(mu, len(V0)))
    result = solve_by_paper(problem, 1.0, V0, Limits(1e-4, 60))
    assert np.all(np.diff(result.history) <= 1e-5 * result.history[0])
    assert result.history[-1] < result.history[0]
    assert result.objective == result.history[-1]
    assert off_omega(result.V, mu) <= 1e-3


def test_algorithm_1_stops_at_max_iter(blocks):
    S, mu, V0 = blocks
    problem = blord_problem(S, Omega.of(mu, len(V0)))
    result = solve_by_paper(problem, 0.5, V0, Limits(1e-12, 3))
    assert (result.n_iter, result.converged) == (3, False)
    assert len(result.history) == 4


@pytest.mark.parametrize("model", ["lord", "tau 0.3", "tau 0.8"])
def test_convergence_lemma_with_exact_projections(blocks, model):
    # min_i |V^{i+1} - V^i| <= sqrt(2/L (f(V^0) - f*) / (t+1)). The smallest value
    # met is at least f*, so putting it for f* makes the test harder.
    S, mu, V = blocks
    if model == "lord":
        S = scale_to_unit_sum(S)
        ends = find_spectrum(S)
        L = objective.lord_lipschitz(ends, 1 / len(V))
        value, slope = objective.lord_objective, objective.lord_gradient
    else:
        ends = find_spectrum(S)
        gamma = ends.gamma(float(model.split()[1]))
        L = objective.blord_lipschitz(ends, gamma)

        def value(S, V):
            return -objective.blord_objective(S, V, gamma)

        def slope(S, V):
            return objective.blord_gradient(S, V, gamma)

    values, moves = [value(S, V)], []
    for _ in range(300):
        new = project_omega(V - slope(S, V) / L, mu)
        moves.append(np.linalg.norm(new - V))
        V = new
        values.append(value(S, V))
    values, moves = np.array(values), np.array(moves)
    # The step of the proof: f(V^t) - f(V^{t+1}) >= L/2 |V^{t+1} - V^t|^2.
    slack = 1e-13 * np.abs(values).max()
    assert np.all(-np.diff(values) >= L / 2 * moves**2 - slack)
    bound = np.sqrt(2 / L * (values[0] - values.min()) / np.arange(1, 301))
    assert np.all(np.minimum.accumulate(moves) <= bound * (1 + 1e-9))
