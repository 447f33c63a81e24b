"""The sparse solver takes the iterations of the others, on the entries of V alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lordclust.graph import KNNGraph
from lordclust.solver.arrays import array_ascent
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.projection import feasibility_error, project_newton
from lordclust.solver.sparse_engine import SparseEngine
from problems import blord_problem
from strategies import block_graph, generators, graphs, mus, random_feasible


def mixture(n, k, seed=0):
    """Points around k centres, their graph, and labels of which some are wrong."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    X = rng.normal(0, 2, (k, 8))[y] + rng.normal(0, 1, (n, 8))
    wrong = rng.random(n) < 0.05
    return KNNGraph().build(X), np.where(wrong, rng.integers(0, k, n), y)


def own_shares(labels, k, **options):
    sizes = np.bincount(labels, minlength=k) + 0.0
    return Omega.of(np.sqrt(sizes / sizes.sum()), len(labels), **options)


def hard(labels, omega):
    V = np.zeros(omega.shape)
    V[np.arange(len(labels)), labels] = omega.mass / omega.mu[labels]
    return V


def ran(engine, problem, V, tau, tol=1e-7, max_iter=4000):
    engine.put(V)
    engine.aim(problem.step(tau), problem.tilt(tau))
    engine.run(tol, max_iter)
    return engine


def sparse(problem, **options):
    return SparseEngine(problem.S, problem.omega, limit=np.inf, **options)


def residual(problem, V, tau):
    """The certificate, computed by other means."""
    step = problem.step(tau)
    U = V - step * problem.gradient(V, tau) / problem.factor
    moved = project_newton(U, problem.omega)[0] - V
    return np.sqrt(problem.omega.norm2(moved) / problem.omega.norm2(V))


def assert_same(ours, theirs):
    """Inexact projections differ within their tolerance, and iterates with them."""
    assert ours.converged
    assert theirs.converged
    first = 3
    np.testing.assert_allclose(
        ours.history()[:first], theirs.history()[:first], rtol=1e-3
    )
    assert ours.history()[-1] == pytest.approx(theirs.history()[-1], rel=1e-9)
    V = theirs.get()
    np.testing.assert_allclose(ours.get_dense(), V, atol=1e-4 * V.max())


@pytest.mark.parametrize("tau", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("k", [1, 2, 5, 70])
def test_every_iteration_is_that_of_the_dense_solver(k, tau):
    S, labels = mixture(600, k)
    omega = own_shares(np.r_[labels, np.arange(k)], k)  # not quite those of the labels
    omega = Omega.of(omega.mu, 600)
    problem = blord_problem(S, omega)
    ours = ran(sparse(problem), problem, labels, tau)
    V = ours.get_dense()
    assert feasibility_error(V, problem.omega) < 1e-12
    assert residual(problem, V, tau) < 2e-7
    assert ours.certificate() == pytest.approx(residual(problem, V, tau), abs=1e-9)
    theirs = ran(Engine(S, problem.omega), problem, hard(labels, problem.omega), tau)
    if k <= 5:  # with 70 clusters of 9 samples rounding decides between optima
        assert_same(ours, theirs)
    else:
        value, other = problem.value(V, tau), problem.value(theirs.get(), tau)
        assert value == pytest.approx(other, rel=0.02)


@given(graphs(min_n=12, max_n=40, sparse=True), st.data())
def test_random_graphs_have_the_iterates_of_the_dense_solver(S, data):
    """From any point, with many entries: here the sparse solver is the dense one."""
    n, k = S.shape[0], data.draw(st.integers(2, 6))
    omega = Omega.of(data.draw(mus(k)), n)
    problem = blord_problem(S, omega)
    V = random_feasible(data.draw(generators()), n, omega.mu)
    tau = data.draw(st.sampled_from([0.1, 0.4, 0.8]))
    ours, theirs = sparse(problem), Engine(S, problem.omega)
    for engine, start in ((ours, sp.csr_array(V)), (theirs, V)):
        ran(engine, problem, start, tau, max_iter=3)
    # A run that ends early is settled by one more step: compare what came before.
    history = theirs.history()[:3]
    scale = problem.spectrum.width / n
    np.testing.assert_allclose(ours.history()[:3], history, atol=1e-3 * scale)
    assert feasibility_error(ours.get_dense(), problem.omega) < 1e-11


@pytest.mark.parametrize("tau", [0.3, 0.9])
@pytest.mark.parametrize("kind", ["weights", "known", "soft"])
def test_weights_known_labels_and_soft_shares(kind, tau):
    S, labels = mixture(500, 4)
    rng, options = np.random.default_rng(1), {}
    if kind == "weights":
        p = rng.random(500) * (rng.random(500) > 0.1)
        options["p"] = p / p.sum()
    if kind == "known":
        options["known"] = np.where(rng.random(500) < 0.1, labels, -1)
    if kind == "soft":
        options["strength"] = 1.0
    problem = blord_problem(S, Omega.of(np.full(4, 0.5), 500, **options))
    ours = ran(sparse(problem), problem, labels, tau)
    start = hard(labels, problem.omega)
    theirs = ran(Engine(S, problem.omega), problem, start, tau)
    assert_same(ours, theirs)
    if kind == "known":
        held = options["known"] >= 0
        found = ours.get()[np.flatnonzero(held)]
        np.testing.assert_array_equal(np.diff(found.indptr), 1)
        np.testing.assert_array_equal(found.indices, options["known"][held])


def test_entries_that_are_missing_come_back():
    """From labels that have nothing to do with the graph, equal shares."""
    S, y = block_graph(np.random.default_rng(0), [40, 40, 40], between=0.02)
    problem = blord_problem(S, Omega.of(np.full(3, 3**-0.5), 120))
    labels = np.random.default_rng(1).permutation(y)
    ours = ran(sparse(problem), problem, labels, 0.4)
    theirs = ran(Engine(S, problem.omega), problem, hard(labels, problem.omega), 0.4)
    assert_same(ours, theirs)
    assert np.mean(ours.get_dense().argmax(axis=1) == labels) < 0.6


def test_absent_entries_are_positive_where_only_the_multipliers_ask_for_them():
    """A cluster without samples and without votes must still receive its share."""
    S, y = block_graph(np.random.default_rng(0), [40, 40], between=0.02)
    problem = blord_problem(S, Omega.of(np.sqrt([0.4, 0.4, 0.2]), 80))
    ours = ran(sparse(problem), problem, y, 0.5)
    theirs = ran(Engine(S, problem.omega), problem, hard(y, problem.omega), 0.5)
    assert_same(ours, theirs)
    assert ours.get()[:, [2]].nnz > 0


def test_threads_do_not_change_a_bit():
    S, labels = mixture(12_000, 10)
    problem = blord_problem(S, own_shares(labels, 10))
    found = []
    for n_threads in (1, 2, 3):
        ours = ran(sparse(problem, n_threads=n_threads), problem, labels, 0.8, 1e-4)
        assert ours.rows.n_threads == n_threads
        found.append((ours.get(), ours.history()))
    for V, history in found[1:]:
        np.testing.assert_array_equal(V.toarray(), found[0][0].toarray())
        np.testing.assert_array_equal(history, found[0][1])


@pytest.mark.parametrize("tau", [0.5, 1.0])
def test_single_precision_comes_close(tau):
    S, labels = mixture(600, 5)
    problem = blord_problem(S, own_shares(labels, 5))
    double = ran(sparse(problem), problem, labels, tau, 1e-4)
    single = ran(sparse(problem, dtype=np.float32), problem, labels, tau, 1e-4)
    assert single.get().dtype == np.float32
    assert single.converged
    np.testing.assert_allclose(single.get_dense() * 600, double.get_dense() * 600,
                               atol=2e-3)  # fmt: skip


def test_a_run_cut_short_is_feasible_and_can_go_on():
    S, labels = mixture(600, 5)
    problem = blord_problem(S, own_shares(labels, 5))
    ours = ran(sparse(problem), problem, labels, 0.5, 1e-9, max_iter=2)
    assert not ours.converged
    assert feasibility_error(ours.get_dense(), problem.omega) < 1e-12
    seen = []
    ours.aim(problem.step(0.5), problem.tilt(0.5))
    ours.run(1e-9, 100, lambda p: seen.append(p.n_iter) or len(seen) == 3)
    assert len(seen) == 3
    ours.aim(problem.step(0.5), problem.tilt(0.5))
    assert ours.run(1e-9, 4000)[1]
    assert residual(problem, ours.get_dense(), 0.5) < 2e-9


def test_too_many_entries_end_the_run_where_the_dense_solver_can_go_on():
    S, labels = mixture(600, 12)
    problem = blord_problem(S, own_shares(labels, 12))
    ours = SparseEngine(problem.S, problem.omega, limit=2)
    ran(ours, problem, labels, 0.05)
    assert ours.dense
    assert not ours.converged
    assert np.diff(ours.get().indptr).mean() <= 2
    ours = SparseEngine(problem.S, problem.omega)
    ran(ours, problem, labels, 1.0)
    assert not ours.dense
    theirs = ran(Engine(S, problem.omega), problem, ours.get_dense(), 0.05)
    assert theirs.converged


@pytest.mark.parametrize("kind", ["labels", "sparse", "array"])
def test_what_is_put_is_got(kind):
    S, labels = mixture(100, 3)
    problem = blord_problem(S, own_shares(labels, 3))
    V = hard(labels, problem.omega)
    V[:10] = np.outer(problem.omega.mass[:10], problem.omega.mu)
    ours = sparse(problem)
    ours.put({"labels": labels, "sparse": sp.csr_array(V), "array": V}[kind])
    wanted = hard(labels, problem.omega) if kind == "labels" else V
    np.testing.assert_allclose(ours.get_dense(), wanted, rtol=1e-14)
    ours.mark()
    assert ours.change() == 0.0
    ours.put(np.zeros(100, np.int64))
    assert ours.change() > 0.1


@pytest.mark.parametrize(
    "V", [np.zeros(7, np.int64), np.full(100, 3), np.zeros(100), np.zeros((100, 2))]
)
def test_what_is_no_start_is_refused(V):
    S, labels = mixture(100, 3)
    problem = blord_problem(S, own_shares(labels, 3))
    with pytest.raises(ValueError, match="must"):
        sparse(problem).put(V)


def test_the_iterations_are_those_of_the_loop_on_arrays():
    S, labels = mixture(300, 70, seed=3)
    omega = Omega.of(own_shares(np.r_[labels, np.arange(70)], 70).mu, 300)
    problem = blord_problem(S, omega)
    start = hard(labels, problem.omega)
    ours = ran(sparse(problem), problem, labels, 0.3, max_iter=20)
    loop = ran(array_ascent(S, problem.omega), problem, start, 0.3, max_iter=20)
    np.testing.assert_allclose(ours.history(), loop.history(), rtol=1e-8)
