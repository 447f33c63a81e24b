"""The fast solver: it climbs, it ends stationary, and it is exact about both."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from lordclust.graph import KNNGraph, scale_to_unit_sum
from lordclust.rounding.labels import labels_from
from lordclust.solver import objective
from lordclust.solver import solve as solving
from lordclust.solver.engine import Engine
from lordclust.solver.lanes import ATOMIC
from lordclust.solver.omega import Omega
from lordclust.solver.solve import Limits, settled, solve_by_paper
from lordclust.solver.spectrum import find_spectrum
from lordclust.solver.start import random_start
from oracles import off_omega, step_residual, uniform_mass
from problems import blord_problem, lord_problem, solved
from strategies import block_graph, random_feasible, random_graph

TOL = 1e-5


def equal_mu(k):
    return np.full(k, k**-0.5)


def blord(S, mu, tau, *, seed=0, tol=TOL, max_iter=5000, p=None, V0=None, **options):
    """Solve B-LoRD from a random start."""
    omega = Omega.of(mu, S.shape[0], p)
    if V0 is None:
        V0 = random_start(omega, np.random.default_rng(seed))
    problem = blord_problem(S, omega)
    return solved(problem, tau, V0, tol=tol, max_iter=max_iter, **options)


def lord(S, mu, *, seed=0, tol=TOL, max_iter=5000, p=None, V0=None, n_threads=1):
    """Solve LoRD from a random start; S is scaled to sum 1."""
    omega = Omega.of(mu, S.shape[0], p)
    if V0 is None:
        V0 = random_start(omega, np.random.default_rng(seed))
    limits = {"tol": tol, "max_iter": max_iter, "n_threads": n_threads}
    return solved(lord_problem(S, omega), 1.0, V0, **limits)


def blord_residual(S, V, tau, mu, p):
    """Residual at the paper's 1/L, which is the engine's own step here."""
    ends = find_spectrum(S)
    gamma = ends.gamma(tau)
    gradient = objective.blord_gradient(S, V, gamma)
    return step_residual(V, gradient, 1 / objective.blord_lipschitz(ends, gamma), mu, p)


def lord_residuals(S, V, mu, p):
    ends = find_spectrum(S)
    gradient = objective.lord_gradient(S, V)
    own = step_residual(V, gradient, objective.lord_step(ends, p.max()) / 4, mu, p)
    paper = step_residual(
        V, gradient, 1 / objective.lord_lipschitz(ends, p.max()), mu, p
    )
    return own, paper


@pytest.fixture(scope="module")
def blocks():
    return block_graph(np.random.default_rng(0), [30, 25, 20, 18], between=0.08)[0]


@pytest.fixture(scope="module")
def iris():
    return KNNGraph().build(load_iris().data[::2])


# -- certificates --------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.05, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("mu", [equal_mu(4), np.sqrt([0.05, 0.15, 0.3, 0.5])])
def test_blord_keeps_what_its_record_says(blocks, tau, mu):
    result = blord(blocks, mu, tau)
    assert result.converged
    assert result.residual <= TOL
    assert off_omega(result.V, mu) <= 1e-12
    gamma = find_spectrum(blocks).gamma(tau)
    A = blocks.toarray() + gamma * np.eye(blocks.shape[0])
    assert result.objective == pytest.approx(np.trace(result.V.T @ A @ result.V))
    assert len(result.history) == result.n_iter + 1
    assert result.history.min() >= result.history[0] - 1e-9 * abs(result.history[0])
    assert result.history[-1] == pytest.approx(result.objective, rel=1e-9)
    own = blord_residual(blocks, result.V, tau, mu, uniform_mass(len(result.V)))
    assert own == pytest.approx(result.residual, rel=1e-3, abs=1e-12)
    assert own <= TOL


@pytest.mark.parametrize("mu", [equal_mu(4), np.sqrt([0.05, 0.15, 0.3, 0.5])])
def test_lord_keeps_what_its_record_says(blocks, mu):
    S = scale_to_unit_sum(blocks)
    result = lord(S, mu)
    V = result.V
    assert result.converged
    assert off_omega(V, mu) <= 1e-12
    full = ((S.toarray() - V @ V.T) ** 2).sum()
    assert result.objective == pytest.approx(full, rel=1e-9)
    assert len(result.history) == result.n_iter + 1
    assert result.history.max() <= result.history[0] * (1 + 1e-9)
    assert result.history[-1] == pytest.approx(full, rel=1e-9)
    own, paper = lord_residuals(S, V, mu, uniform_mass(len(V)))
    assert own == pytest.approx(result.residual, rel=1e-3, abs=1e-12)
    assert own <= TOL
    assert paper <= TOL


@pytest.mark.parametrize("seed", range(6))
def test_wildly_uneven_proportions(seed):
    rng = np.random.default_rng(seed)
    n, k, tau = int(rng.integers(10, 120)), int(rng.integers(2, 8)), rng.random()
    S = random_graph(rng, n, 0.3, sparse=bool(seed % 2))
    shares = 10.0 ** rng.uniform(-4, 0, k)
    mu = np.sqrt(shares / shares.sum())
    result = blord(S, mu, tau)
    assert result.converged
    assert off_omega(result.V, mu) <= 1e-12
    assert blord_residual(S, result.V, tau, mu, uniform_mass(n)) <= 1.001 * TOL


@pytest.mark.parametrize("tau", [0.3, 0.9])
def test_history_starts_at_the_start(blocks, tau):
    mu = equal_mu(4)
    V0 = random_feasible(np.random.default_rng(9), blocks.shape[0], mu)
    result = blord(blocks, mu, tau, V0=V0)
    gamma = find_spectrum(blocks).gamma(tau)
    expected = objective.blord_objective(blocks, V0, gamma)
    assert result.history[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
def test_any_tolerance_is_kept(blocks, tol):
    mu = equal_mu(4)
    result = blord(blocks, mu, 0.5, tol=tol, max_iter=50000)
    own = blord_residual(blocks, result.V, 0.5, mu, uniform_mass(len(result.V)))
    assert result.converged
    assert own <= tol * (1 + 1e-3)


def test_a_scaled_graph_has_the_same_solution(blocks):
    mu = equal_mu(4)
    one, million = blord(blocks, mu, 0.6), blord(1e6 * blocks, mu, 0.6)
    np.testing.assert_allclose(million.V, one.V, atol=1e-6 * one.V.max())
    assert million.objective == pytest.approx(1e6 * one.objective, rel=1e-6)


# -- dense and sparse, all shapes ----------------------------------------------


@pytest.mark.parametrize("n", [3, 7, 15, 16, 17, 31, 33, 95])
@pytest.mark.parametrize("tau", [0.2, 0.8])
def test_dense_equals_sparse(n, tau):
    S = random_graph(np.random.default_rng(n), n, 0.5)
    mu = equal_mu(3)
    full, lean = blord(S, mu, tau), blord(sp.csr_array(S), mu, tau)
    assert full.objective == pytest.approx(lean.objective, rel=1e-8)
    np.testing.assert_array_equal(labels_from(full.V * mu), labels_from(lean.V * mu))
    assert off_omega(full.V, mu) <= 1e-12


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 9, 12, 13, 16, 17, 21])
def test_dense_equals_sparse_for_every_width(k):
    S = random_graph(np.random.default_rng(k), 40, 0.4)
    mu = equal_mu(k)
    full, lean = blord(S, mu, 0.7), blord(sp.csr_array(S), mu, 0.7)
    assert full.objective == pytest.approx(lean.objective, rel=1e-8)
    full, lean = (
        lord(scale_to_unit_sum(M), mu, max_iter=500) for M in (S, sp.csr_array(S))
    )
    assert full.objective == pytest.approx(lean.objective, rel=1e-8)


@pytest.mark.parametrize("n", [1, 2, 16, 21])
def test_one_cluster(n):
    S = random_graph(np.random.default_rng(n), n, 1.0) + np.eye(n)
    for result in (blord(S, np.ones(1), 0.5), lord(scale_to_unit_sum(S), np.ones(1))):
        assert result.converged
        np.testing.assert_allclose(result.V, 1 / n, rtol=1e-12)


@pytest.mark.parametrize("n", [2, 5, 17])
def test_as_many_clusters_as_samples(n):
    S = random_graph(np.random.default_rng(n), n, 1.0)
    mu = equal_mu(n)
    for result in (blord(S, mu, 0.9), lord(scale_to_unit_sum(S), mu)):
        assert result.converged
        assert off_omega(result.V, mu) <= 1e-12


def test_negative_similarities():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.3, (20, 2)) for c in (-2, 0, 2)])
    X -= X.mean(axis=0)
    S, mu = X @ X.T, equal_mu(3)
    assert S.min() < 0
    for M in (S, sp.csr_array(S)):
        result = blord(M, mu, 0.9)
        own = blord_residual(S, result.V, 0.9, mu, uniform_mass(60))
        assert result.converged
        assert own <= TOL
        assert off_omega(result.V, mu) <= 1e-12
        assert result.objective >= result.history[0]


def test_an_empty_graph_has_nothing_to_climb():
    result = blord(np.zeros((20, 20)), equal_mu(3), 0.5)
    assert result.converged
    assert result.objective == 0
    assert off_omega(result.V, equal_mu(3)) <= 1e-12


def test_blocks_are_found():
    S, y = block_graph(np.random.default_rng(1), [20, 20, 20], inside=0.9, between=0)
    best = max(
        (blord(S, equal_mu(3), 0.9, seed=s) for s in range(5)),
        key=lambda r: r.objective,
    )
    found = labels_from(best.V)
    assert len(set(zip(y.tolist(), found.tolist(), strict=True))) == 3


# -- threads -------------------------------------------------------------------


def ring_of_blobs(n, rng):
    """A sparse graph of n samples in blobs, numbered at random."""
    X = rng.normal(0, 0.25, (n, 2))
    angle = rng.integers(0, 5, n) * 2 * np.pi / 5
    X += np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return KNNGraph(8).build(X)


@pytest.mark.parametrize("n", [4003, 5001])
@pytest.mark.parametrize("model", ["blord", "lord"])
def test_threads_agree_bit_for_bit(n, model):
    S = ring_of_blobs(n, np.random.default_rng(n))
    mu = np.sqrt([0.1, 0.15, 0.2, 0.25, 0.3])
    options = {"tol": 1e-4, "max_iter": 120}
    if model == "blord":
        one, two = (blord(S, mu, 0.3, n_threads=t, **options) for t in (1, 2))
    else:
        S = scale_to_unit_sum(S)
        one, two = (lord(S, mu, n_threads=t, **options) for t in (1, 2))
    np.testing.assert_array_equal(one.V, two.V)
    np.testing.assert_array_equal(one.history, two.history)
    assert one.residual == two.residual
    assert one.n_iter == two.n_iter > 3


def test_threads_are_used_from_a_few_thousand_samples():
    S = ring_of_blobs(4003, np.random.default_rng(0))
    engine = Engine(S, Omega.of(equal_mu(5), 4003), n_threads=2)
    assert engine.n_threads == (2 if ATOMIC else 1)
    assert engine.order is None


def test_renumbering_does_not_show():
    n, mu = 5001, equal_mu(5)
    S = ring_of_blobs(n, np.random.default_rng(1))
    V0 = random_feasible(np.random.default_rng(2), n, mu)
    engine = Engine(S, Omega.of(mu, n))
    assert engine.order is not None
    engine.put(V0)
    np.testing.assert_array_equal(engine.get(), V0)
    result = blord(S, mu, 0.3, V0=V0, tol=1e-4)
    own = blord_residual(S, result.V, 0.3, mu, uniform_mass(n))
    assert own <= 1e-4
    assert result.history[-1] == pytest.approx(result.objective, rel=1e-9)


def test_renumbering_carries_the_weights_along():
    n, mu = 5001, equal_mu(5)
    rng = np.random.default_rng(1)
    S, w = ring_of_blobs(n, rng), rng.integers(0, 4, n).astype(float)
    p = w / w.sum()
    result = blord(S, mu, 0.3, p=p, tol=1e-3)
    assert off_omega(n * p[:, None] * result.V, mu, p) <= 1e-12


# -- against the paper's algorithm ---------------------------------------------


@pytest.mark.parametrize("tau", [0.3, 0.7])
def test_blord_ends_where_the_papers_algorithm_does(iris, tau):
    mu = equal_mu(3)
    omega = Omega.of(mu, 75)
    problem = blord_problem(iris, omega)
    fast, slow = [], []
    for seed in range(3):
        V0 = random_start(omega, np.random.default_rng(seed))
        options = {"tol": 1e-4, "max_iter": 500}
        fast.append(blord(iris, mu, tau, V0=V0, **options).objective)
        slow.append(solve_by_paper(problem, tau, V0, Limits(**options)).objective)
    assert np.mean(fast) >= np.mean(slow) - 1e-3 * abs(np.mean(slow))


def test_lord_ends_where_the_papers_algorithm_does():
    S, _ = block_graph(np.random.default_rng(3), [12, 12, 12], inside=0.7, between=0.1)
    S = scale_to_unit_sum(S)
    mu = equal_mu(3)
    omega = Omega.of(mu, 36)
    problem = lord_problem(S, omega)
    fast, slow = [], []
    for seed in range(3):
        V0 = random_start(omega, np.random.default_rng(seed))
        options = {"tol": 1e-4, "max_iter": 500}
        fast.append(lord(S, mu, V0=V0, **options).objective)
        slow.append(solve_by_paper(problem, 1.0, V0, Limits(**options)).objective)
    assert np.mean(fast) <= np.mean(slow) * (1 + 1e-3)


# -- limits, callbacks, weights ------------------------------------------------


@pytest.mark.parametrize("max_iter", [1, 2, 5, 6, 7])
def test_max_iter_ends_unconverged_and_feasible(blocks, max_iter):
    mu = equal_mu(4)
    for result in (
        blord(blocks, mu, 0.5, tol=1e-12, max_iter=max_iter),
        lord(scale_to_unit_sum(blocks), mu, tol=1e-12, max_iter=max_iter),
    ):
        assert not result.converged
        assert result.n_iter == max_iter
        assert len(result.history) == max_iter + 1
        assert off_omega(result.V, mu) <= 1e-12


@pytest.mark.parametrize("tau", [0.3, 1.0])
def test_sums_are_corrected_within_the_engine(blocks, tau, monkeypatch):
    n, mu = blocks.shape[0], equal_mu(4)
    omega = Omega.of(mu, n)
    V = blord(blocks, mu, tau).V
    off = V * (1 + 1e-9 * np.random.default_rng(0).standard_normal(V.shape))
    assert off_omega(off, mu, omega.mass) > 1e-11
    engine = Engine(blocks, omega)
    engine.put(off)
    before = [x.copy() for x in (engine.shared.a, engine.shared.b, engine.shared.slots)]
    monkeypatch.setattr(solving, "project_newton", None)  # other arrays of n x k
    problem = blord_problem(blocks, omega)
    corrected, value = settled(engine, problem, tau)
    assert value == problem.value(corrected, tau)
    assert off_omega(corrected, mu, omega.mass) < 1e-12
    assert np.abs(corrected - V).max() < 1e-8 * V.max()
    np.testing.assert_array_equal(engine.get(), off)
    after = engine.shared.a, engine.shared.b, engine.shared.slots
    for x, y in zip(before, after, strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_callback_can_stop_the_descent(blocks):
    seen = []
    n = 3000
    S = ring_of_blobs(n, np.random.default_rng(0))

    def stop(progress):
        seen.append(progress)
        return True

    result = blord(S, equal_mu(5), 0.3, tol=1e-14, max_iter=10**6, callback=stop)
    assert len(seen) == 1
    assert not result.converged
    assert result.n_iter == seen[0].n_iter
    assert off_omega(result.V, equal_mu(5)) <= 1e-12


def test_a_silent_callback_changes_nothing(blocks):
    seen = []
    mu = equal_mu(4)
    plain = blord(blocks, mu, 0.5)
    watched = blord(blocks, mu, 0.5, callback=seen.append)
    np.testing.assert_array_equal(plain.V, watched.V)
    assert seen
    assert seen[-1].n_iter == watched.n_iter
