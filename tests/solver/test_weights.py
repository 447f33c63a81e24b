"""Samples of unequal weight: weight 2 is the sample twice, weight 0 is no sample."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lordclust.graph import scale_to_unit_sum
from lordclust.rounding.labels import membership_from
from lordclust.solver import objective
from lordclust.solver.omega import Omega
from lordclust.solver.projection import feasibility_error, project_newton
from lordclust.solver.spectrum import find_spectrum
from lordclust.solver.start import given_start, random_start
from lordclust.solver.tau_path import tau_path
from oracles import off_omega
from problems import blord_problem, lord_problem, solved
from strategies import block_graph, generators, mus, random_graph

OPTIONS = {"tol": 1e-7, "max_iter": 20000}


def shares_of(w):
    return w / w.sum()


def blord(S, omega, P, tau, **options):
    """Solve B-LoRD from the memberships P."""
    V = P * omega.mass[:, None] / omega.mu
    return solved(blord_problem(S, omega), tau, V, **(OPTIONS | options))


def lord(S, omega, P, **options):
    """Solve LoRD from the memberships P."""
    S = scale_to_unit_sum(S, omega.weight)
    V = P * omega.mass[:, None] / omega.mu
    return solved(lord_problem(S, omega), 1.0, V, **(OPTIONS | options))


def start(omega, rng):
    """Memberships to begin with."""
    return membership_from(random_start(omega, rng), omega.mu)


@st.composite
def doubled(draw):
    """A graph with whole weights, the same with copies, and which is whose copy."""
    n = draw(st.integers(4, 16))
    rng = draw(generators())
    S = random_graph(rng, n, 0.7)
    S[0, 1] = S[1, 0] = 1.0  # an edge at least
    S = sp.csr_array(S) if draw(st.booleans()) else S
    w = rng.integers(1, 4, n)
    pick = np.repeat(np.arange(n), w)
    mu = draw(mus(draw(st.integers(2, 3))))
    once = Omega.of(mu, n, shares_of(w))
    twice = Omega.of(mu, len(pick))
    return S, once, S[pick][:, pick], twice, pick, rng


def assert_same(one, two, mu, pick):
    """The same solution, up to what the number of samples is."""
    assert one.converged
    assert two.converged
    assert one.n_iter == two.n_iter
    P, Q = membership_from(one.V, mu), membership_from(two.V, mu)
    np.testing.assert_allclose(P[pick], Q, atol=1e-8)


# -- weight 2 is the sample twice ----------------------------------------------


@given(doubled(), st.sampled_from([0.1, 0.5, 0.9]))
def test_blord_with_weights_is_blord_with_copies(case, tau):
    S, once, SS, twice, pick, rng = case
    P = start(once, rng)
    one, two = blord(S, once, P, tau), blord(SS, twice, P[pick], tau)
    assert_same(one, two, once.mu, pick)
    assert one.objective == pytest.approx(two.objective, rel=1e-9, abs=1e-15)


@given(doubled())
def test_lord_with_weights_is_lord_with_copies(case):
    S, once, SS, twice, pick, rng = case
    P = start(once, rng)
    one, two = lord(S, once, P), lord(SS, twice, P[pick])
    assert_same(one, two, once.mu, pick)
    # |S - VV'|^2 of matrices that sum to 1 goes with 1/n^2.
    ratio = (len(pick) / S.shape[0]) ** 2
    assert one.objective == pytest.approx(two.objective * ratio, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_path_with_weights_is_a_path_with_copies(seed):
    rng = np.random.default_rng(seed)
    S, _ = block_graph(rng, [8, 7, 6], inside=0.9, between=0.2)
    w = rng.integers(1, 4, 21)
    pick = np.repeat(np.arange(21), w)
    once = Omega.of(np.full(3, 3**-0.5), 21, shares_of(w))
    V = random_start(once, rng)
    options = {"taus": [0.3, 0.4, 0.6, 1.0], "keep": "all", **OPTIONS}
    one = tau_path(S, 3, sample_weight=w, start=once.weighted(V), **options)
    two = tau_path(S[pick][:, pick], 3, start=V[pick] * 21 / len(pick), **options)
    assert one.block_diagonality[0] > 1e-3
    np.testing.assert_allclose(one.objectives, two.objectives, rtol=1e-9)
    # Memberships over 21 samples or over all their copies: (k - ...) / n.
    np.testing.assert_allclose(
        one.block_diagonality * 21, two.block_diagonality * len(pick), atol=1e-7
    )
    for P, Q in zip(one.memberships.values(), two.memberships.values(), strict=True):
        best = min(np.abs(P[pick][:, list(o)] - Q).max() for o in ORDERS)
        assert best <= 1e-8


ORDERS = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


@given(doubled())
def test_the_ends_of_the_spectrum_are_those_with_copies(case):
    S, once, SS, _, pick, _ = case
    one, two = find_spectrum(S, once.weight), find_spectrum(SS)
    # Weights of mean 1 against copies of weight 1.
    ratio = len(pick) / S.shape[0]
    assert one.low * ratio == pytest.approx(two.low, rel=1e-6)
    assert one.high * ratio == pytest.approx(two.high, rel=1e-6)


# -- weight 0 is no sample -----------------------------------------------------


@pytest.mark.parametrize("model", [blord, lord])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_sample_of_weight_zero_influences_nobody(model, sparse):
    rng = np.random.default_rng(0)
    S, _ = block_graph(rng, [14, 12, 10], between=0.1, sparse=sparse)
    w = rng.random(36) + 0.1
    w[[0, 17, 35]] = 0
    kept = np.flatnonzero(w)
    mu = np.sqrt([0.2, 0.3, 0.5])
    whole, part = Omega.of(mu, 36, shares_of(w)), Omega.of(mu, 33, shares_of(w[kept]))
    P = start(whole, rng)
    options = {"tau": 0.5} if model is blord else {}
    one = model(S, whole, P, **options)
    two = model(S[kept][:, kept], part, P[kept], **options)
    same = membership_from(one.V, mu)[kept], membership_from(two.V, mu)
    np.testing.assert_allclose(*same, atol=1e-8)
    assert one.converged
    ratio = 1 if model is blord else (33 / 36) ** 2
    assert one.objective == pytest.approx(two.objective * ratio, rel=1e-9)


@pytest.mark.parametrize("tau", [0.2, 0.5, 1.0])
def test_its_own_membership_is_stationary(tau):
    rng = np.random.default_rng(1)
    S, _ = block_graph(rng, [14, 12, 10], between=0.1)
    light = [3, 20]
    w = np.ones(36)
    w[light] = 0
    omega = Omega.of(np.sqrt([0.2, 0.3, 0.5]), 36, shares_of(w))
    result = blord(S, omega, start(omega, rng), tau, tol=1e-9)
    ends = find_spectrum(S, omega.weight)
    gradient = objective.blord_gradient(S, result.V, ends.gamma(tau), omega.weight)
    step = 1 / objective.blord_lipschitz(ends, ends.gamma(tau))
    again = project_newton(result.V - step * gradient, omega)[0]
    np.testing.assert_allclose(again[light], result.V[light], atol=1e-7)
    P = membership_from(result.V, omega.mu)
    np.testing.assert_allclose(P[light].sum(axis=1), 1)
    assert np.abs(P[light] - omega.mu**2).max() > 0.05  # not merely the shares


def test_a_sample_of_weight_zero_joins_its_neighbours():
    S, y = block_graph(np.random.default_rng(2), [12, 12], inside=1.0, between=0.0)
    w = np.ones(24)
    w[[5, 15]] = 0
    path = tau_path(S, 2, sample_weight=w)
    assert len(set(zip(y, path.labels[-1], strict=True))) == 2


# -- any weights ---------------------------------------------------------------


@given(generators(), st.data(), st.integers(6, 40))
def test_feasible_stationary_and_never_worse(rng, data, n):
    S = random_graph(rng, n, 0.5, sparse=True)
    omega = Omega.of(data.draw(mus(3)), n, shares_of(rng.random(n) ** 3 + 1e-3))
    result = blord(S, omega, start(omega, rng), 0.6, tol=1e-5)
    assert result.converged
    assert feasibility_error(result.V, omega) <= 1e-12
    p = omega.weight / n
    assert off_omega(omega.weighted(result.V), omega.mu, p) <= 1e-12
    scale = np.abs(result.history).max()
    assert np.diff(result.history).min() >= -1e-3 * scale
    assert result.history[-1] >= result.history[0] - 1e-9 * scale
    ends = find_spectrum(S, omega.weight)
    gradient = objective.blord_gradient(S, result.V, ends.gamma(0.6), omega.weight)
    step = 1 / objective.blord_lipschitz(ends, ends.gamma(0.6))
    moved = project_newton(result.V - step * gradient, omega)[0] - result.V
    residual = np.sqrt(omega.norm2(moved) / omega.norm2(result.V))
    assert residual <= 1.01e-5


@pytest.mark.parametrize("max_iter", [2, 7])
def test_feasible_also_when_cut_short(max_iter):
    rng = np.random.default_rng(0)
    S = random_graph(rng, 30, 0.5, sparse=True)
    omega = Omega.of(np.sqrt([0.2, 0.3, 0.5]), 30, shares_of(rng.random(30)))
    P = start(omega, rng)
    for result in (
        blord(S, omega, P, 0.5, tol=1e-12, max_iter=max_iter),
        lord(S, omega, P, tol=1e-12, max_iter=max_iter),
    ):
        assert not result.converged
        assert feasibility_error(result.V, omega) <= 1e-12


@given(generators(), st.integers(2, 12))
def test_gradients_are_those_of_the_objectives(rng, n):
    S, q = random_graph(rng, n, 0.8), rng.random(n) + 0.1
    V, D = rng.random((n, 2)), rng.standard_normal((n, 2))
    h = 1e-6

    def slope(f):
        return (f(V + h * D) - f(V - h * D)) / (2 * h)

    def inner(G):
        return (q[:, None] * G * D).sum()

    found = inner(objective.blord_gradient(S, V, -0.3, q))
    wanted = -slope(lambda V: objective.blord_objective(S, V, -0.3, q))
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    found = inner(objective.lord_gradient(S, V, q))
    wanted = slope(lambda V: objective.lord_objective(S, V, q))
    assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_objectives_by_their_sums():
    rng = np.random.default_rng(0)
    S, q, V = random_graph(rng, 7, 1.0), rng.random(7), rng.random((7, 2))
    wanted = sum(
        q[i] * q[j] * (S[i, j] - V[i] @ V[j]) ** 2 for i in range(7) for j in range(7)
    )
    assert objective.lord_objective(S, V, q) == pytest.approx(wanted)
    wanted = sum(
        q[i] * q[j] * S[i, j] * V[i] @ V[j] for i in range(7) for j in range(7)
    )
    wanted += 0.4 * sum(q[i] * V[i] @ V[i] for i in range(7))
    assert objective.blord_objective(S, V, 0.4, q) == pytest.approx(wanted)


@given(st.floats(1e-30, 1e30), st.integers(1, 60))
def test_equal_weights_of_any_size_are_none(size, n):
    omega = Omega.of(np.ones(1), n, shares_of(np.full(n, size)))
    assert omega.equal
    np.testing.assert_array_equal(omega.weight, np.ones(n))


@given(generators(), st.integers(2, 30))
def test_a_random_start_is_in_the_set_with_zeros_too(rng, n):
    w = rng.random(n) * (rng.random(n) < 0.6)
    w[0] = 1.0
    omega = Omega.of(np.sqrt([0.3, 0.7]), n, shares_of(w))
    V = random_start(omega, rng)
    assert V.min() > 0
    assert feasibility_error(V, omega) <= 1e-10


def test_a_given_start_is_the_factor_of_a_fit():
    omega = Omega.of(np.sqrt([0.5, 0.5]), 3, np.array([0.0, 0.25, 0.75]))
    V = random_start(omega, np.random.default_rng(0))
    again = given_start(omega.weighted(V), omega)
    np.testing.assert_allclose(again[1:], V[1:])
    np.testing.assert_allclose(again @ omega.mu, 1 / 3)
