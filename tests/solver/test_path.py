"""Continuation in tau."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

from lordclust.graph import KNNGraph, scale_to_unit_sum
from lordclust.result import TauPath
from lordclust.solver.omega import Omega
from lordclust.solver.path import walk
from lordclust.solver.solve import Limits, make_solver, result_of
from lordclust.solver.spectrum import find_spectrum
from lordclust.solver.start import random_start
from lordclust.solver.tau_path import tau_path
from problems import blord_problem, lord_problem, solved
from strategies import block_graph, random_feasible, random_graph


@pytest.fixture(scope="module")
def iris():
    return KNNGraph().build(load_iris().data)


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data[:400]
    return KNNGraph().build(X)


@pytest.fixture(scope="module")
def blocks():
    return block_graph(np.random.default_rng(0), [25, 20, 15], between=0.05)[0]


@pytest.fixture(scope="module")
def whole(blocks):
    """A path with everything kept."""
    return tau_path(blocks, 3, keep="all", random_state=0)


# -- the record ----------------------------------------------------------------


def test_shapes_and_order(blocks, whole):
    m, n = len(whole.taus), blocks.shape[0]
    assert isinstance(whole, TauPath)
    assert m > 5
    assert np.all(np.diff(whole.taus) > 0)
    assert 0 < whole.taus[0] <= 0.05
    assert whole.taus[-1] == 1
    assert whole.labels.shape == (m, n)
    for column in (
        whole.objectives,
        whole.n_iter,
        whole.residuals,
        whole.converged,
        whole.block_diagonality,
    ):
        assert column.shape == (m,)
    assert np.all(whole.converged)
    assert np.all(whole.residuals <= 1e-4)
    assert np.all(whole.n_iter >= 1)
    assert whole.proportions == pytest.approx(np.full(3, 1 / 3))
    assert whole.eigenvalues == tuple(find_spectrum(blocks))


def test_steps_are_neither_too_long_nor_vanishing(whole):
    steps = np.diff(whole.taus)
    assert steps.max() <= 0.15 + 1e-12
    assert steps.min() >= 0.01 - 1e-12


def test_objectives_and_blocks_follow_from_the_memberships(blocks, whole):
    n, k = blocks.shape[0], 3
    low, high = whole.eigenvalues
    assert list(whole.memberships) == whole.taus.tolist()
    for i, (tau, P) in enumerate(whole.memberships.items()):
        V = P / (n * np.sqrt(whole.proportions))
        gamma = -high + tau * (high - low)
        value = np.trace(V.T @ (blocks @ V)) + gamma * (V**2).sum()
        assert whole.objectives[i] == pytest.approx(value, rel=1e-9)
        assert whole.block_diagonality[i] == pytest.approx(
            k / n - (V**2).sum(), abs=1e-12
        )
        np.testing.assert_array_equal(whole.labels[i], P.argmax(axis=1))


def test_memberships_are_probabilities_with_the_asked_proportions(whole):
    for P in whole.memberships.values():
        assert P.min() >= 0
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(P.mean(axis=0), 1 / 3, rtol=1e-12)


def test_memberships_are_feasible_also_when_iterations_run_out(blocks):
    path = tau_path(blocks, 3, keep="all", max_iter=3, tol=1e-12, random_state=0)
    assert not np.any(path.converged)
    for P in path.memberships.values():
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(P.mean(axis=0), 1 / 3, rtol=1e-12)


def test_from_soft_to_hard(whole):
    blocks = whole.block_diagonality
    assert blocks[0] > 10 * blocks[-1]
    assert blocks[-1] < 0.1 * blocks.max()


def test_labels_are_canonical(digits):
    path = tau_path(digits, 10, random_state=3)
    last = path.labels[-1]
    sizes = np.bincount(last, minlength=10)
    assert np.all(np.diff(sizes) <= 0)
    firsts = np.array([np.flatnonzero(last == j)[0] for j in range(10)])
    tied = np.flatnonzero(np.diff(sizes) == 0)
    assert np.all(np.diff(firsts)[tied] > 0)


def test_nearest_grid_point(whole):
    assert whole.at(1.0) == len(whole.taus) - 1
    assert whole.at(0.0) == 0
    middle = len(whole.taus) // 2
    assert whole.at(whole.taus[middle] + 1e-6) == middle


def test_the_last_membership_is_kept_by_default(blocks):
    path = tau_path(blocks, 3, random_state=0)
    assert list(path.memberships) == [1.0]
    np.testing.assert_array_equal(path.memberships[1.0].argmax(axis=1), path.labels[-1])


def test_chosen_memberships_are_those_of_the_nearest_taus(blocks, whole):
    path = tau_path(blocks, 3, random_state=0, keep=[0.0, 0.5])
    nearest = [whole.taus[0], whole.taus[whole.at(0.5)]]
    assert list(path.memberships) == nearest
    for tau, P in path.memberships.items():
        np.testing.assert_array_equal(P, whole.memberships[tau])


# -- grids ---------------------------------------------------------------------


def test_given_taus_are_taken_exactly(blocks):
    taus = [0.0, 0.1, 0.35, 0.9]
    path = tau_path(blocks, 3, taus=taus, keep="all", random_state=0)
    np.testing.assert_array_equal(path.taus, taus)
    assert list(path.memberships) == taus


def test_one_tau_may_be_a_number(blocks):
    path = tau_path(blocks, 3, taus=0.4, random_state=0)
    np.testing.assert_array_equal(path.taus, [0.4])


def test_a_callback_ends_the_path(blocks):
    seen = []

    def stop(tau):
        seen.append(tau)
        return tau >= 0.3

    path = tau_path(blocks, 3, taus=[0.1, 0.3, 0.5], callback=stop, random_state=0)
    assert seen == [0.1, 0.3]
    np.testing.assert_array_equal(path.taus, seen)
    assert list(path.memberships) == [0.3]


# -- how good it is ------------------------------------------------------------


def best_of_random(S, k, tau, n_starts):
    omega = Omega.of(np.full(k, k**-0.5), S.shape[0])
    problem = blord_problem(S, omega)
    starts = [random_start(omega, np.random.default_rng(s)) for s in range(n_starts)]
    return max(solved(problem, tau, V).objective for V in starts)


@pytest.mark.parametrize(("name", "k"), [("iris", 3), ("digits", 10)])
def test_the_end_is_as_good_as_the_best_of_ten_random_starts(request, name, k):
    S = request.getfixturevalue(name)
    path = tau_path(S, k, random_state=0)
    best = best_of_random(S, k, 1.0, 10)
    assert path.objectives[-1] >= best - 1e-3 * abs(best)


def test_seeds_end_in_the_same_objective(digits):
    ends = [tau_path(digits, 10, random_state=s).objectives[-1] for s in range(3)]
    assert max(ends) - min(ends) <= 5e-3 * abs(max(ends))


@pytest.mark.parametrize("tol", [1e-6, 1e-9])
def test_a_tight_tolerance_leaves_the_trivial_saddle(blocks, tol):
    loose = tau_path(blocks, 3, random_state=0)
    tight = tau_path(blocks, 3, tol=tol, max_iter=20000, random_state=0)
    assert tight.block_diagonality[-1] < 0.1 * (3 - 1) / blocks.shape[0]
    assert tight.objectives[-1] >= loose.objectives[-1] - 1e-3 * abs(
        loose.objectives[-1]
    )


def test_lords_own_path_beats_its_random_starts(blocks):
    S = scale_to_unit_sum(blocks)
    omega = Omega.of(np.full(3, 3**-0.5), S.shape[0])
    problem = lord_problem(S, omega)
    starts = [random_start(omega, np.random.default_rng(seed)) for seed in range(5)]
    values = [solved(problem, 1.0, V).objective for V in starts]
    solver = make_solver(problem)
    solver.put(starts[0])
    parts = [stop.tau for stop in walk(solver, problem, 1.0, Limits())]
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert solver.converged
    assert result_of(solver, problem, 1.0).objective <= min(values) * (1 + 1e-3)


# -- the same again ------------------------------------------------------------


def test_same_seed_same_bits(digits):
    first, again = (tau_path(digits, 10, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.taus, again.taus)
    np.testing.assert_array_equal(first.objectives, again.objectives)
    np.testing.assert_array_equal(first.labels, again.labels)
    np.testing.assert_array_equal(first.memberships[1.0], again.memberships[1.0])


def test_threads_do_not_show():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 3)) + 4 * np.eye(3)[rng.integers(0, 3, 2500)]
    S = KNNGraph(6).build(X)
    options = {"taus": [0.1, 0.3], "tol": 1e-3, "random_state": 0}
    one, two = (tau_path(S, 3, n_jobs=j, **options) for j in (1, 2))
    np.testing.assert_array_equal(one.objectives, two.objectives)
    np.testing.assert_array_equal(one.memberships[0.3], two.memberships[0.3])


def test_dense_equals_sparse(blocks, whole):
    path = tau_path(blocks.toarray(), 3, keep="all", random_state=0)
    np.testing.assert_allclose(path.taus, whole.taus)
    np.testing.assert_allclose(path.objectives, whole.objectives, rtol=1e-7)
    np.testing.assert_array_equal(path.labels[-1], whole.labels[-1])


# -- proportions, weights, starts ----------------------------------------------


def test_given_proportions_keep_their_order(blocks):
    shares = [0.2, 0.5, 0.3]
    path = tau_path(blocks, 3, proportions=shares, keep="all", random_state=0)
    np.testing.assert_allclose(path.proportions, shares)
    for P in path.memberships.values():
        np.testing.assert_allclose(P.mean(axis=0), shares, rtol=1e-12)


def test_equal_ones_among_given_proportions_are_put_in_order(blocks):
    shares = [0.25, 0.5, 0.25]
    for seed in range(4):
        path = tau_path(blocks, 3, proportions=shares, random_state=seed)
        np.testing.assert_allclose(path.proportions, shares)
        sizes = np.bincount(path.labels[-1], minlength=3)
        assert sizes[0] >= sizes[2]


def test_sample_weights(blocks):
    n = blocks.shape[0]
    w = np.random.default_rng(0).random(n)
    path = tau_path(blocks, 3, sample_weight=w, random_state=0)
    P = path.memberships[1.0]
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose((w / w.sum()) @ P, 1 / 3, rtol=1e-12)


def test_samples_of_weight_zero_still_have_a_membership(blocks):
    n = blocks.shape[0]
    w = np.random.default_rng(0).random(n)
    w[[0, 40]] = 0
    path = tau_path(blocks, 3, sample_weight=w, random_state=0)
    P = path.memberships[1.0]
    np.testing.assert_allclose((w / w.sum()) @ P, 1 / 3, rtol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)


def test_a_given_start_is_used(blocks):
    n, mu = blocks.shape[0], np.full(3, 3**-0.5)
    V = random_feasible(np.random.default_rng(0), n, mu, sharpness=2.0)
    one, other = (
        tau_path(blocks, 3, start=V, taus=[0.6], random_state=s) for s in (0, 1)
    )
    np.testing.assert_array_equal(one.memberships[0.6], other.memberships[0.6])


def test_a_start_without_clusters_does_not_hold_the_path(blocks, whole):
    path = tau_path(blocks, 3, start=np.ones((blocks.shape[0], 3)), random_state=0)
    assert path.objectives[-1] >= 0.99 * whole.objectives[-1]


def test_an_infeasible_start_is_brought_in(blocks):
    start = 100 * np.random.default_rng(0).standard_normal((blocks.shape[0], 3))
    path = tau_path(blocks, 3, start=start, taus=[0.7])
    P = path.memberships[0.7]
    assert path.converged[0]
    assert P.min() >= 0
    np.testing.assert_allclose(P.mean(axis=0), 1 / 3, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 16, 17])
def test_one_cluster(n):
    S = random_graph(np.random.default_rng(n), n, 1.0)
    path = tau_path(S, 1, random_state=0)
    np.testing.assert_array_equal(path.labels, 0)
    np.testing.assert_allclose(path.memberships[1.0], 1)
    np.testing.assert_allclose(path.block_diagonality, 0, atol=1e-12)


def test_as_many_clusters_as_samples():
    path = tau_path(random_graph(np.random.default_rng(0), 6, 1.0), 6, random_state=0)
    P = path.memberships[1.0]
    np.testing.assert_allclose(P.sum(axis=0), 1, rtol=1e-12)


def test_an_empty_graph():
    path = tau_path(sp.csr_array((10, 10)), 2, random_state=0)
    np.testing.assert_array_equal(path.objectives, 0)


# -- refusals ------------------------------------------------------------------


@pytest.mark.parametrize(
    "taus",
    [[], [0.3, 0.2], [0.2, 0.2], [-0.1, 0.5], [0.5, 1.1], [0.1, np.nan], [[0.1, 0.2]]],
)
def test_refuses_bad_taus(blocks, taus):
    with pytest.raises(
        ValueError, match=r"taus must be increasing numbers in \[0, 1\]"
    ):
        tau_path(blocks, 3, taus=taus)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": np.ones((3, 3))}, "start must be a finite array of shape"),
        ({"start": "sinkhorn"}, "start"),
        ({"keep": "last"}, "keep"),
        ({"proportions": [0.5, 0.5]}, "proportions must hold n_clusters=3 numbers"),
        ({"proportions": [0.5, 0.5, 0.5]}, "proportions must sum to 1"),
        ({"sample_weight": [1.0]}, "sample_weight must hold n_samples"),
    ],
)
def test_refuses_bad_options(blocks, options, message):
    with pytest.raises(ValueError, match=message):
        tau_path(blocks, 3, **options)


def test_refuses_a_bad_graph_and_a_bad_number_of_clusters(blocks):
    with pytest.raises(ValueError, match="S must be symmetric"):
        tau_path([[0.0, 1.0], [0.5, 0.0]], 2)
    with pytest.raises(ValueError, match="n_clusters must be an integer from 1"):
        tau_path(blocks, 1000)


def test_a_few_mixed_rows_among_many_do_not_go_to_and_fro():
    # A loose projection used to move such a row by much: 184 iterations at one tau.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40_000, 6)).astype(np.float32)
    X[:, 0] += 2 * (np.arange(40_000) % 3)
    path = tau_path(KNNGraph(8).build(X), 3, dtype="float32")
    hard = path.taus > 0.5
    assert path.converged.all()
    assert path.n_iter[hard].max() <= 60
