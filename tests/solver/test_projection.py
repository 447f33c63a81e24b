"""Projection onto Omega(mu)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust._core.validation import check_mu
from lordclust.solver.omega import Omega
from lordclust.solver.paper import dykstra
from lordclust.solver.projection import (
    feasibility_error,
    project,
    project_omega,
)
from oracles import (
    off_omega,
    optimality_gap,
    qp_projection,
    transport_projection,
    uniform_mass,
)
from qa.fuzz.targets.projection import check
from strategies import cases, labels, mus, random_feasible

SMALL = range(-6, 1)


def size_of(V):
    return np.abs(V).max()


# -- the projection is feasible and nearest ------------------------------------


@given(cases())
def test_feasible_to_rounding_at_every_scale(case):
    V = project_omega(case.U, case.mu)
    assert V.min() >= 0
    assert off_omega(V, case.mu) <= 1e-12


@given(cases())
def test_no_feasible_point_is_nearer_at_any_scale(case):
    V = project_omega(case.U, case.mu)
    assert optimality_gap(case.U, V, case.mu) <= 1


def test_two_samples_in_two_uneven_clusters():
    # The second sample fills the small cluster; what is left is the first's.
    mu = np.sqrt([0.999, 0.001])
    V = project_omega([[1.0, 0.0], [0.0, 50.0]], mu)
    expected = np.array([[0.5, 0.0], [0.499, 0.001]]) / mu
    np.testing.assert_allclose(V, expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e9])
def test_large_entries_give_the_vertex_of_linear_programming(scale):
    # U = scale * G with one best vertex: P(U) is that vertex once scale is large.
    rng = np.random.default_rng(0)
    n, k = 12, 3
    y = rng.permutation(np.repeat(np.arange(k), n // k))
    mu = np.full(k, k**-0.5)
    vertex = np.eye(k)[y] / (n * mu)
    G = np.eye(k)[y] + 0.3 * rng.random((n, k))
    V = project_omega(scale * G, mu)
    np.testing.assert_allclose(V, vertex, atol=1e-13 + 1e-15 * scale)


@given(cases(max_n=30, exponents=SMALL))
def test_variational_inequality(case):
    V = project_omega(case.U, case.mu)
    size = np.linalg.norm(case.U - V)
    for sharpness in (0.2, 1.0, 4.0):
        Q = random_feasible(case.rng, len(V), case.mu, sharpness=sharpness)
        # Q is feasible to 1e-12, so the inequality holds to that.
        slack = 1e-10 * size * np.linalg.norm(Q - V) + 1e-11 * size
        assert ((case.U - V) * (Q - V)).sum() <= slack


@given(cases(max_n=12, max_k=4, exponents=range(-3, 1)))
def test_equals_a_generic_quadratic_program(case):
    V = project_omega(case.U, case.mu)
    expected = qp_projection(case.U, case.mu)
    np.testing.assert_allclose(V, expected, atol=1e-6 * size_of(V))


@pytest.mark.parametrize(("n", "k"), [(6, 2), (15, 3), (20, 5), (33, 4)])
@pytest.mark.parametrize("scale", [0.01, 0.3, 2.0])
def test_equals_smooth_optimal_transport_for_equal_proportions(n, k, scale):
    rng = np.random.default_rng(n * k)
    U = scale * rng.standard_normal((n, k))
    V = project_omega(U, np.full(k, k**-0.5))
    # L-BFGS stops at about 1e-5.
    np.testing.assert_allclose(V, transport_projection(U), atol=2e-5 * size_of(V))


@pytest.mark.parametrize("spread", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_equals_dykstra(seed, spread):
    rng = np.random.default_rng(seed)
    n, k = 20, 3
    shares = 10.0 ** rng.uniform(-spread, 0, k)
    mu = np.sqrt(shares / shares.sum())
    U = rng.standard_normal((n, k)) / n
    V = project_omega(U, mu)
    classical, _ = dykstra(U, mu, uniform_mass(n), tol=1e-12, max_iter=50000, beta=1.0)
    relaxed = project_omega(U, mu, method="dykstra", tol=1e-12, max_iter=50000)
    np.testing.assert_allclose(classical, V, atol=1e-6 * size_of(V))
    np.testing.assert_allclose(relaxed, V, atol=1e-6 * size_of(V))


# -- what every projection onto this set does ----------------------------------


@given(cases())
def test_idempotent(case):
    V = project_omega(case.U, case.mu)
    again = project_omega(V, case.mu)
    np.testing.assert_allclose(again, V, atol=1e-11 * size_of(V))


@given(cases(exponents=SMALL))
def test_non_expansive(case):
    other = case.U + np.abs(case.U).max() * case.rng.standard_normal(case.U.shape)
    V, W = project_omega(case.U, case.mu), project_omega(other, case.mu)
    slack = 1e-10 * np.linalg.norm(V)
    assert np.linalg.norm(V - W) <= np.linalg.norm(case.U - other) + slack


@given(cases(exponents=range(-3, 1)))
def test_blind_to_shifts_by_rows_and_columns(case):
    n, k = case.U.shape
    a, b = case.rng.standard_normal(k), case.rng.standard_normal(n)
    V = project_omega(case.U, case.mu)
    shifted = project_omega(case.U + a + np.outer(b, case.mu), case.mu)
    np.testing.assert_allclose(shifted, V, atol=1e-9 * size_of(V))


@given(cases(exponents=SMALL))
def test_equivariant_under_reordering(case):
    rows = case.rng.permutation(len(case.U))
    columns = case.rng.permutation(len(case.mu))
    V = project_omega(case.U, case.mu)
    W = project_omega(case.U[rows][:, columns], case.mu[columns])
    np.testing.assert_allclose(W, V[rows][:, columns], atol=1e-10 * size_of(V))


@given(cases(exponents=SMALL))
def test_kkt_form_with_the_returned_multipliers(case):
    # V = max(U - 1 a' - b mu', 0) for some b: positive entries agree on b_i, and
    # zero entries do not ask for a larger one.
    result = project(case.U, case.mu)
    price = (case.U - result.multipliers - result.V) / case.mu
    size = max(np.abs(price).max(), size_of(result.V))
    active = result.V > 0
    low = np.where(active, price, np.inf).min(axis=1)
    high = np.where(active, price, -np.inf).max(axis=1)
    assert np.all(high - low <= 1e-9 * size)
    assert np.all(np.where(active, -np.inf, price).max(axis=1) <= low + 1e-9 * size)


def test_the_multipliers_of_a_matrix_that_centring_makes_larger():
    # U = 2e6 is below LARGEST / n, and the deviations from its means are above.
    check({"n": 40, "k": 6, "seed": 18230, "exponent": 6, "values": "ties"})


# -- special shapes ------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 16, 17, 100])
def test_one_cluster_gives_one_over_n(n):
    U = np.random.default_rng(n).standard_normal((n, 1))
    np.testing.assert_allclose(project_omega(U, [1.0]), 1 / n, rtol=1e-13)


@pytest.mark.parametrize("n", [2, 7, 16, 20])
def test_as_many_clusters_as_samples_can_be_a_permutation(n):
    rng = np.random.default_rng(n)
    order = rng.permutation(n)
    mu = np.full(n, n**-0.5)
    V = project_omega(10 * np.eye(n)[order], mu)
    np.testing.assert_allclose(V, np.eye(n)[order] / np.sqrt(n), atol=1e-13)


@given(st.data(), st.integers(2, 60), st.floats(1, 50))
def test_hard_labels_of_any_sizes_and_scale(data, n, scale):
    k = data.draw(st.integers(2, min(n, 6)))
    mu = data.draw(mus(k))
    U = scale * np.eye(k)[data.draw(labels(n, k))]
    for factor in (1.0, 1 / (n * mu)):
        V = project_omega(factor * U, mu)
        assert off_omega(V, mu) <= 1e-12
        assert optimality_gap(factor * U, V, mu) <= 1


@given(st.data(), st.integers(1, 6), st.integers(1, 6), st.floats(1, 50))
def test_a_scaled_feasible_vertex_goes_back_to_itself(data, k, size, scale):
    y = np.repeat(np.arange(k), size)
    mu = np.full(k, k**-0.5)
    vertex = np.eye(k)[y] / (len(y) * mu)
    np.testing.assert_allclose(project_omega(scale * vertex, mu), vertex, atol=1e-12)


def test_shares_of_one_in_ten_thousand():
    rng = np.random.default_rng(3)
    mu = np.sqrt([1e-4, 1e-4, 0.0998, 0.9])
    U = rng.standard_normal((300, 4)) / 30
    V = project_omega(U, mu)
    assert off_omega(V, mu) <= 1e-12
    assert optimality_gap(U, V, mu) <= 1


@pytest.mark.parametrize("n", [1, 15, 16, 17, 31, 32, 33, 513, 1025])
def test_every_row_counts_whatever_the_tiling(n):
    rng = np.random.default_rng(n)
    k = min(n, 4)
    mu = np.sqrt(rng.dirichlet(np.full(k, 5.0)))
    U = rng.standard_normal((n, k)) / n
    V = project_omega(U, mu)
    assert V.shape == (n, k)
    assert off_omega(V, mu) <= 1e-12
    assert optimality_gap(U, V, mu) <= 1


# -- what generated inputs brought to light ------------------------------------


def drawn(seed, n, k, scale):
    U = scale * np.random.default_rng(seed).standard_normal((n, k))
    return U, np.full(k, k**-0.5)


def test_newton_does_not_end_before_the_last_digits():
    # It ended 4e-7 away from the projection, and said nothing.
    U, mu = drawn(2, 20, 5, 1.0)
    found = project(U, mu)
    np.testing.assert_allclose(found.V, qp_projection(U, mu), atol=1e-9)
    again = project(U, mu, start=found.multipliers)
    np.testing.assert_allclose(found.V, again.V, atol=1e-13)


def test_the_last_rounding_does_not_make_it_worse():
    # Columns met to 2e-11 were off by 4e-9 after it.
    U, mu = drawn(31, 22, 8, 1e4)
    assert off_omega(project_omega(U, mu), mu) <= 1e-12


def test_far_outside_it_is_still_the_nearest():
    # The gap was 2 % of all there is: only rounding may be left.
    U, mu = drawn(709, 32, 6, 1e10)
    V = project_omega(U, mu)
    gap = (U - V) * (project_omega(U * 1e-2, mu) - V)
    assert gap.sum() <= 1e-6 * (np.abs(U) * V).sum()


@pytest.mark.parametrize("scale", [1e15, 1e100, 1e299])
def test_entries_beyond_all_digits_take_no_time(scale):
    # At 1e100 there were 134,422 passes.
    U, mu = drawn(0, 20, 5, scale)
    found = project(U, mu)
    assert off_omega(found.V, mu) <= 1e-12
    assert found.n_iter < 5000
    np.testing.assert_allclose(found.V, project_omega(U / scale * 1e8, mu), atol=1e-6)


# -- weights, warm starts, records ---------------------------------------------


@given(cases(exponents=SMALL))
def test_sample_weights_with_zeros(case):
    n = len(case.U)
    w = case.rng.random(n) * (case.rng.random(n) < 0.7)
    w[case.rng.integers(n)] = 1.0
    p = w / w.sum()
    V = project_omega(case.U, case.mu, sample_weight=w)
    assert np.all(V[w == 0] == 0)
    assert off_omega(V, case.mu, p) <= 1e-12
    assert optimality_gap(case.U, V, case.mu, p) <= 1


def test_a_zero_weight_removes_the_row():
    rng = np.random.default_rng(0)
    U, w = rng.standard_normal((20, 3)), np.ones(20)
    mu = np.sqrt([0.2, 0.3, 0.5])
    w[[3, 7]] = 0
    V = project_omega(U, mu, sample_weight=w)
    np.testing.assert_allclose(
        V[w > 0], project_omega(U[w > 0], mu), atol=1e-13, rtol=0
    )


@pytest.mark.parametrize("seed", range(3))
def test_weighted_equals_a_generic_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    U, w = rng.standard_normal((10, 3)) / 5, rng.integers(0, 5, 10)
    mu = np.sqrt([0.2, 0.3, 0.5])
    V = project_omega(U, mu, sample_weight=w)
    expected = qp_projection(U, mu, w / w.sum())
    np.testing.assert_allclose(V, expected, atol=1e-7)


@given(cases(exponents=SMALL))
def test_any_start_gives_the_same_projection(case):
    cold = project(case.U, case.mu)
    warm = project(case.U, case.mu, start=cold.multipliers)
    wild = case.rng.standard_normal(len(case.mu)) * (np.abs(case.U).max() + 1)
    far = project_omega(case.U, case.mu, start=wild)
    atol = 1e-9 * size_of(cold.V)
    np.testing.assert_allclose(warm.V, cold.V, atol=atol)
    np.testing.assert_allclose(far, cold.V, atol=atol)


def test_a_start_that_is_far_away_is_given_up():
    rng = np.random.default_rng(3)
    U, mu = 1e6 * rng.standard_normal((15, 3)), np.sqrt([0.2, 0.3, 0.5])
    far = project(U, mu, start=rng.standard_normal(3))
    np.testing.assert_allclose(far.V, project(U, mu).V, atol=1e-9)
    assert far.n_iter > 1


def test_the_solution_is_a_better_start_than_none():
    rng = np.random.default_rng(0)
    mu = np.sqrt([0.1, 0.2, 0.3, 0.4])
    U = rng.standard_normal((200, 4)) / 20
    cold = project(U, mu)
    warm = project(U, mu, start=cold.multipliers)
    assert warm.n_iter < cold.n_iter


@given(cases(exponents=SMALL))
def test_the_certificate_is_recomputed_from_V(case):
    result = project(case.U, case.mu)
    assert abs(result.error - off_omega(result.V, case.mu)) <= 1e-14


def test_feasibility_error_sees_rows_columns_and_signs():
    omega = Omega.of(np.sqrt([0.5, 0.5]), 2)
    V = np.outer(omega.mass, omega.mu)
    assert feasibility_error(V, omega) <= 1e-15
    columns = V + np.array([[0.1, -0.1], [0.1, -0.1]])
    rows = V + np.array([[0.1, 0.1], [-0.1, -0.1]])
    signs = V + np.array([[1.0, -1.0], [-1.0, 1.0]])
    for wrong in (columns, rows, signs):
        assert feasibility_error(wrong, omega) > 0.1


def test_the_input_is_left_alone():
    U = np.random.default_rng(0).standard_normal((10, 2))
    mu = np.sqrt([0.3, 0.7])
    copies = U.copy(), mu.copy()
    project_omega(U, mu)
    project_omega(U, mu, method="dykstra")
    np.testing.assert_array_equal(U, copies[0])
    np.testing.assert_array_equal(mu, copies[1])


def test_lists_and_integers_are_taken():
    V = project_omega([[1, 0], [0, 1]], [np.sqrt(0.5)] * 2)
    np.testing.assert_allclose(V, np.eye(2) / np.sqrt(2), atol=1e-14)


def test_mu_is_normalised_to_rounding():
    mu = np.sqrt([0.5, 0.5]) * (1 + 5e-7)
    assert abs(np.linalg.norm(check_mu(mu)) - 1) <= 1e-15


# -- refusals ------------------------------------------------------------------

HALF = [np.sqrt(0.5)] * 2


@pytest.mark.parametrize(
    ("mu", "message"),
    [
        ([[1.0]], r"vector of positive numbers, got shape \(1, 1\)"),
        ([], r"vector of positive numbers, got shape \(0,\) with minimum none"),
        ([0.0, 1.0], r"positive numbers, .* minimum 0.0\. Pass the square roots"),
        ([-0.6, 0.8], "minimum -0.6"),
        ([np.nan, 1.0], "positive numbers"),
        ([np.inf, 1.0], "positive numbers"),
        ([0.5, 0.5], "Euclidean norm 1, got 0.707107"),
    ],
)
def test_refuses_a_bad_mu(mu, message):
    with pytest.raises(ValueError, match=message):
        project_omega([[1.0, 0.0]], mu)


@pytest.mark.parametrize(
    ("U", "message"),
    [
        ([1.0, 2.0], r"one row per sample and 2 columns .* got shape \(2,\)"),
        ([[1.0, 2.0, 3.0]], r"2 columns .* got shape \(1, 3\)"),
        (np.zeros((0, 2)), r"got shape \(0, 2\)"),
        ([[np.nan, 1.0]], "U must be finite, got NaN or infinity"),
        ([[np.inf, 1.0]], "U must be finite, got NaN or infinity"),
    ],
)
def test_refuses_a_bad_U(U, message):
    with pytest.raises(ValueError, match=message):
        project_omega(U, HALF)


def test_refuses_an_unknown_method():
    with pytest.raises(
        ValueError, match=r"Unknown projection method 'newtn'.*'newton'"
    ):
        project_omega(np.eye(2), HALF, method="newtn")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"sample_weight must hold n_samples=2 numbers, got shape \(1,\)"),
        ([1.0, -1.0], "sample_weight must be nonnegative, got -1 at position 1"),
        ([0.0, 0.0], "sample_weight must have a positive sum"),
        ([np.nan, 1.0], "sample_weight must be finite"),
    ],
)
def test_refuses_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        project_omega(np.eye(2), HALF, sample_weight=weights)


@pytest.mark.parametrize(
    ("n", "k", "seed", "scale"),
    [(27, 9, 828252955, 1.0), (5, 5, 284270438, 1e15)],
)
def test_the_last_digits_are_found_after_a_step_astray(n, k, seed, scale):
    """Newton stopped as if only rounding were left, 1e-8 off. Found by fuzzing."""
    U = scale * np.random.default_rng(seed).standard_normal((n, k))
    mu = np.full(k, k**-0.5)
    found = project(U, mu)
    assert found.error < 1e-13
    if scale == 1:
        moved = project_omega(U, mu, start=found.multipliers)
        np.testing.assert_allclose(found.V, moved, atol=1e-14)


def test_vertices_of_any_size():
    rng = np.random.default_rng(40146638)
    U = 1e300 * np.eye(8)[rng.integers(0, 8, 8)]
    assert project(U, np.full(8, 8**-0.5)).error < 1e-13
