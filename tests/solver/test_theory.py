"""The paper's theorems and lemmas, each checked with numbers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.rounding.labels import membership_from
from lordclust.solver import objective
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.paper import project_affine
from lordclust.solver.projection import project_omega
from lordclust.solver.spectrum import find_spectrum
from lordclust.solver.tau_rules import tau_for_samples, tau_from_blocks
from oracles import farthest_along, off_omega, uniform_mass
from strategies import (
    feasible,
    generators,
    graphs,
    mus,
    random_feasible,
    random_graph,
)

MU = np.sqrt([0.2, 0.3, 0.5])


def dense(S):
    return S if isinstance(S, np.ndarray) else S.toarray()


def block_norm(Z, k):
    """Sum of the k smallest Laplacian eigenvalues of Z."""
    return np.linalg.eigvalsh(np.diag(Z.sum(axis=1)) - Z)[:k].sum()


def hard_v(sizes):
    """The orthogonal V of a partition with these sizes, and its mu."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    mu = np.sqrt(np.array(sizes) / len(y))
    return np.eye(len(sizes))[y] / (len(y) * mu), mu


# -- Theorem: the Omega(mu) are a partition of Omega ---------------------------


@given(st.data(), st.integers(1, 30), st.integers(1, 6))
def test_omega_of_mu_is_not_empty(data, n, k):
    mu = data.draw(mus(k))
    assert off_omega(np.outer(uniform_mass(n), mu), mu) <= 1e-13


@given(feasible())
def test_omega_of_mu_is_part_of_omega(pair):
    V, _ = pair
    n = len(V)
    np.testing.assert_allclose(V @ (V.T @ np.ones(n)), 1 / n, rtol=1e-9)


@given(generators(), st.integers(2, 30), st.integers(1, 5))
def test_every_point_of_omega_lies_in_the_omega_of_its_column_sums(rng, n, k):
    # Any V >= 0 is scaled into VV'1 = 1/n by rows: d_i sum_j V_ij (V'd)_j = 1/n.
    V, d = rng.random((n, k)) + 0.1, np.ones(n)
    for _ in range(500):
        d = np.sqrt(d / n / (V @ (V.T @ d)))
    V = d[:, None] * V
    np.testing.assert_allclose(V @ V.sum(axis=0), 1 / n, rtol=1e-9)
    mu = V.sum(axis=0)
    assert np.linalg.norm(mu) == pytest.approx(1, abs=1e-9)
    assert off_omega(V, mu) <= 1e-8


@given(feasible(), generators())
def test_different_mu_have_disjoint_omegas(pair, rng):
    V, mu = pair
    nu = np.sqrt(rng.dirichlet(np.ones(len(mu))) + 1e-3)
    nu /= np.linalg.norm(nu)
    assert off_omega(V, mu) <= 1e-9
    if np.abs(mu - nu).max() > 1e-6:
        assert off_omega(V, nu) > 1e-7


# -- Theorem: V and Z are probabilities ----------------------------------------


@given(feasible())
def test_p_is_a_membership_with_the_proportions_as_column_means(pair):
    V, mu = pair
    P = len(V) * V * mu
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(P.mean(axis=0), mu**2, rtol=1e-9)
    ours = membership_from(V, mu)
    np.testing.assert_allclose(ours, P, atol=1e-9)


@given(feasible())
def test_z_is_a_matrix_of_probabilities(pair):
    V, mu = pair
    n = len(V)
    P = n * V * mu
    Z = n**2 * V @ np.diag(mu**2) @ V.T
    np.testing.assert_allclose(Z, P @ P.T, atol=1e-12)
    assert Z.min() >= 0
    assert Z.max() <= 1 + 1e-9


def test_z_is_the_chance_that_two_independent_draws_agree():
    V = random_feasible(np.random.default_rng(0), 6, MU)
    P = 6 * V * MU
    Z = 36 * V @ np.diag(MU**2) @ V.T
    for i, j in product(range(6), repeat=2):
        agree = sum(P[i, a] * P[j, b] for a, b in product(range(3), repeat=2) if a == b)
        assert Z[i, j] == pytest.approx(agree, rel=1e-12)


def test_bayes_gives_v():
    # V_ij = P(y_i = j | x_i) P(x_i) / sqrt(P(c_j)), also for unequal P(x_i).
    rng = np.random.default_rng(1)
    P, p = rng.dirichlet(np.ones(3), 8), rng.dirichlet(np.ones(8))
    mu = np.sqrt(p @ P)
    assert off_omega(p[:, None] * P / mu, mu, p) <= 1e-12


# -- Theorem: block diagonality is k/n - |V|^2 ---------------------------------


@given(feasible())
def test_block_norm_is_k_over_n_less_the_square_of_v(pair):
    V, mu = pair
    expected = len(mu) / len(V) - (V**2).sum()
    assert block_norm(V @ V.T, len(mu)) == pytest.approx(expected, abs=1e-10)
    assert expected >= -1e-10


@given(feasible())
def test_the_trivial_point_is_the_least_block_diagonal(pair):
    V, mu = pair
    n, k = V.shape
    trivial = np.outer(uniform_mass(n), mu)
    most = block_norm(trivial @ trivial.T, k)
    assert most == pytest.approx((k - 1) / n, abs=1e-12)
    assert block_norm(V @ V.T, k) <= most + 1e-10


@pytest.mark.parametrize("sizes", [[4, 4], [1, 2, 7], [3, 3, 3, 3], [5]])
def test_an_orthogonal_v_is_fully_block_diagonal(sizes):
    V, mu = hard_v(sizes)
    assert off_omega(V, mu) <= 1e-14
    gram = V.T @ V
    np.testing.assert_allclose(gram, np.eye(len(sizes)) / len(V), atol=1e-15)
    assert block_norm(V @ V.T, len(sizes)) == pytest.approx(0, abs=1e-14)


def test_block_norm_zero_only_for_orthogonal_v():
    V, mu = hard_v([5, 7])
    mixed = 0.9 * V + 0.1 * np.outer(uniform_mass(12), mu)
    assert block_norm(mixed @ mixed.T, 2) > 1e-3
    assert abs((mixed.T @ mixed)[0, 1]) > 1e-3


@given(feasible())
def test_the_quartic_is_at_least_one_over_n_squared(pair):
    V, mu = pair
    n = len(V)
    quartic = ((V.T @ V) ** 2).sum()
    assert quartic >= (1 - 1e-9) / n**2
    singular = np.linalg.svd(V, compute_uv=False)
    assert quartic == pytest.approx((singular**4).sum(), rel=1e-9)
    assert singular[0] == pytest.approx(n**-0.5, rel=1e-9)
    trivial = np.outer(uniform_mass(n), mu)
    assert ((trivial.T @ trivial) ** 2).sum() == pytest.approx(n**-2, rel=1e-12)


# -- Lemma: projection onto the affine set -------------------------------------


@given(st.data(), generators(), st.integers(1, 30), st.integers(1, 5))
def test_affine_projection(data, rng, n, k):
    mu, p = data.draw(mus(k)), rng.dirichlet(np.ones(n))
    Y = rng.standard_normal((n, k))
    V = project_affine(Y, mu, p)
    np.testing.assert_allclose(V.sum(axis=0), mu, atol=1e-12)
    np.testing.assert_allclose(V @ mu, p, atol=1e-12)
    # Nearest: Y - V is orthogonal to every direction inside the set.
    D = rng.standard_normal((n, k))
    D = project_affine(D, mu, p) - project_affine(0 * D, mu, p)
    assert ((Y - V) * D).sum() == pytest.approx(0, abs=1e-10 * n * k)


def test_the_trivial_point_is_the_projection_of_zero():
    trivial = np.outer(uniform_mass(9), MU)
    zero = np.zeros((9, 3))
    np.testing.assert_allclose(project_affine(zero, MU, uniform_mass(9)), trivial)
    np.testing.assert_allclose(project_omega(zero, MU), trivial)


# -- Theorem: Lipschitz constants, and gradients -------------------------------


@given(graphs(min_n=3), generators())
def test_lipschitz_constant_of_lord(S, rng):
    n = S.shape[0]
    V, W = (random_feasible(rng, n, MU, sharpness=s) for s in (1.0, 3.0))
    L = objective.lord_lipschitz(find_spectrum(S), 1 / n)
    assert pytest.approx(L, rel=1e-9) == 4 * (3 / n + np.linalg.norm(dense(S), 2))
    moved = objective.lord_gradient(S, V) - objective.lord_gradient(S, W)
    assert np.linalg.norm(moved) <= L * np.linalg.norm(V - W) * (1 + 1e-9)


@given(graphs(min_n=3), generators(), st.floats(0, 1))
def test_lipschitz_constant_of_blord(S, rng, tau):
    n = S.shape[0]
    V, W = (random_feasible(rng, n, MU, sharpness=s) for s in (1.0, 3.0))
    ends = find_spectrum(S)
    gamma = ends.gamma(tau)
    L = objective.blord_lipschitz(ends, gamma)
    exact = 2 * np.linalg.norm(dense(S) + gamma * np.eye(n), 2)
    assert exact == 0 or pytest.approx(L, rel=1e-9, abs=1e-12) == exact
    moved = objective.blord_gradient(S, V, gamma) - objective.blord_gradient(
        S, W, gamma
    )
    assert np.linalg.norm(moved) <= L * np.linalg.norm(V - W) * (1 + 1e-9) + 1e-15


def central_difference(f, V, D, h):
    return (f(V + h * D) - f(V - h * D)) / (2 * h)


@given(graphs(min_n=3, max_n=20), generators())
def test_gradient_of_lord(S, rng):
    V = random_feasible(rng, S.shape[0], MU)
    D = rng.standard_normal(V.shape)
    slope = central_difference(lambda V: objective.lord_objective(S, V), V, D, 1e-5)
    expected = (objective.lord_gradient(S, V) * D).sum()
    assert slope == pytest.approx(expected, rel=1e-5, abs=1e-6)


@given(graphs(min_n=3, max_n=20), generators(), st.floats(-2, 2))
def test_gradient_of_blord(S, rng, gamma):
    V = random_feasible(rng, S.shape[0], MU)
    D = rng.standard_normal(V.shape)
    slope = central_difference(
        lambda V: -objective.blord_objective(S, V, gamma), V, D, 1e-4
    )
    expected = (objective.blord_gradient(S, V, gamma) * D).sum()
    assert slope == pytest.approx(expected, rel=1e-6, abs=1e-8)


@given(graphs(min_n=3, max_n=20), generators())
def test_objectives_are_what_the_models_say(S, rng):
    V, A = random_feasible(rng, S.shape[0], MU), dense(S)
    full = ((A - V @ V.T) ** 2).sum()
    assert objective.lord_objective(S, V) == pytest.approx(full, rel=1e-10)
    trace = np.trace(V.T @ A @ V) - 0.7 * np.linalg.norm(V) ** 2
    assert objective.blord_objective(S, V, -0.7) == pytest.approx(trace, rel=1e-10)


# -- B-LoRD --------------------------------------------------------------------


@given(graphs(min_n=3), generators(), st.floats(0, 1), st.floats(-3, 3))
def test_blord_does_not_see_a_constant_on_the_diagonal(S, rng, tau, shift):
    A = dense(S)
    shifted = A + shift * np.eye(len(A))
    V = random_feasible(rng, len(A), MU)
    values = [
        objective.blord_objective(M, V, find_spectrum(M).gamma(tau))
        for M in (A, shifted)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-8, abs=1e-10)


def test_lord_does_see_a_constant_on_the_diagonal():
    A = random_graph(np.random.default_rng(0), 12)
    V, W = (random_feasible(np.random.default_rng(s), 12, MU) for s in (1, 2))
    shifted = A + np.eye(12)

    def difference(S):
        return objective.lord_objective(S, V) - objective.lord_objective(S, W)

    assert abs(difference(A) - difference(shifted)) > 1e-4


@given(graphs(min_n=3), st.floats(0, 1))
def test_the_trivial_point_is_stationary_at_every_tau(S, tau):
    # S 1 mu' is a row shift b mu', which no direction inside Omega(mu) sees.
    n = S.shape[0]
    trivial = np.outer(uniform_mass(n), MU)
    G = -objective.blord_gradient(S, trivial, find_spectrum(S).gamma(tau))
    Q = farthest_along(G, MU)
    assert (G * (Q - trivial)).sum() <= 1e-12 * np.abs(G).sum() + 1e-15


@given(graphs(min_n=3), generators())
def test_at_tau_zero_the_trivial_point_is_optimal(S, rng):
    n, ends = S.shape[0], find_spectrum(S)
    gamma = ends.gamma(0.0)
    # Concave ...
    top = np.linalg.eigvalsh(dense(S) + gamma * np.eye(n))[-1]
    assert top <= 1e-9 * (abs(ends.high) + 1)
    # ... so that the stationary point is the optimum.
    best = objective.blord_objective(S, np.outer(uniform_mass(n), MU), gamma)
    for sharpness in (0.5, 1.0, 4.0):
        V = random_feasible(rng, n, MU, sharpness=sharpness)
        assert (
            objective.blord_objective(S, V, gamma) <= best + 1e-11 * abs(best) + 1e-15
        )


def test_at_tau_zero_the_solver_finds_the_trivial_point():
    S = random_graph(np.random.default_rng(0), 25, 0.4)
    ends = find_spectrum(S)
    engine = Engine(S, Omega.of(MU, 25))
    engine.put(random_feasible(np.random.default_rng(1), 25, MU))
    engine.aim(objective.blord_step(ends, 0.0), ends.gamma(0.0))
    engine.run(1e-9, 20000)
    trivial = np.outer(uniform_mass(25), MU)
    np.testing.assert_allclose(engine.get(), trivial, atol=1e-6 * trivial.max())


# -- optimal transport and Gromov-Wasserstein ----------------------------------


@given(graphs(min_n=3, max_n=20), generators(), st.floats(-1, 1))
def test_blord_as_optimal_transport(S, rng, gamma):
    n = S.shape[0]
    V = random_feasible(rng, n, MU)
    P = V * MU
    np.testing.assert_allclose(P.sum(axis=1), 1 / n, rtol=1e-9)
    np.testing.assert_allclose(P.sum(axis=0), MU**2, rtol=1e-9)
    inverse = np.diag(1 / MU)
    value = np.trace(inverse @ P.T @ dense(S) @ P @ inverse)
    value += gamma * np.linalg.norm(P @ inverse) ** 2
    assert value == pytest.approx(objective.blord_objective(S, V, gamma), rel=1e-9)


def test_blord_as_gromov_wasserstein_sum_by_brute_force():
    rng = np.random.default_rng(4)
    n, k, gamma = 5, 3, -0.4
    S = random_graph(rng, n, 0.8)
    V = random_feasible(rng, n, MU)
    P, shifted = V * MU, S + gamma * np.eye(n)
    loss = 0.0
    for i, j in product(range(n), repeat=2):
        for a, b in product(range(k), repeat=2):
            similar = MU[a] ** -2.0 if a == b else 0.0
            loss += -shifted[i, j] * similar * P[i, a] * P[j, b]
    assert loss == pytest.approx(-objective.blord_objective(S, V, gamma), rel=1e-12)


# -- what tau means ------------------------------------------------------------


@given(graphs(min_n=3, max_n=60))
def test_gamma_runs_over_the_spectrum(S):
    values = np.linalg.eigvalsh(dense(S))
    ends = find_spectrum(S)
    width = values[-1] - values[0]
    assert ends.gamma(0.0) == pytest.approx(-values[-1], abs=2e-3 * width + 1e-12)
    assert ends.gamma(1.0) == pytest.approx(-values[0], abs=2e-3 * width + 1e-12)


@pytest.mark.parametrize("n", [10, 70])
def test_the_papers_rules_for_tau(n):
    S = random_graph(np.random.default_rng(n), n, 0.5)
    laplacian = np.diag(S.sum(axis=1)) - S
    b = np.linalg.eigvalsh(laplacian)[-4:].sum() / np.trace(laplacian)
    rule = min(0.34 * np.exp(50 * b - 0.03 * np.log(n)), 1)
    assert tau_from_blocks(S, 4) == pytest.approx(rule, rel=1e-6)
    assert tau_for_samples(n) == pytest.approx(min(2 * n**-0.24, 1))
