"""NLR: the factor of the semidefinite relaxation, and what it promises."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lordclust.methods import NLR
from lordclust.methods.nlr import Dual, ScaledProblem, lagrangian, project, solve
from lordclust.metrics import accuracy
from lordclust.result import Run
from strategies import block_graph, generators, random_graph


def on_graph(S, k, **params):
    params = {"n_init": 3, "random_state": 0} | params
    return NLR(k, affinity="precomputed", **params).fit(S)


def infeasibility(U):
    return np.sqrt(np.mean((U @ U.sum(axis=0) - 1) ** 2))


def partition_matrix(y):
    Y = np.eye(y.max() + 1)[y]
    return Y @ np.diag(1 / Y.sum(axis=0)) @ Y.T


def sdp_value(S, k):
    """max <S, Z>, Z psd, Z >= 0, Z1 = 1, tr Z = k, by an interior point solver."""
    n = len(S)
    columns, rows = np.tril_indices(n)  # the upper triangle of Z, by columns
    weight = np.where(rows == columns, 1.0, np.sqrt(2))  # z = weight * Z
    m = len(rows)
    sums = np.zeros((n + 1, m))
    np.add.at(sums, (rows, np.arange(m)), 1 / weight)
    np.add.at(sums, (columns, np.arange(m)), np.where(rows == columns, 0, 1 / weight))
    sums[n] = rows == columns
    A = sp.csc_matrix(sp.vstack([sums, -sp.eye(m), -sp.eye(m)]))
    b = np.concatenate([np.ones(n), [k], np.zeros(2 * m)])
    cones = [
        clarabel.ZeroConeT(n + 1),
        clarabel.NonnegativeConeT(m),
        clarabel.PSDTriangleConeT(n),
    ]
    options = clarabel.DefaultSettings()
    options.verbose = False
    cost = -S[rows, columns] * weight
    zero = sp.csc_matrix((m, m))
    return -clarabel.DefaultSolver(zero, cost, A, b, cones, options).solve().obj_val


def test_two_pairs():
    # 1-2 and 3-4 joined. Two clusters: Z has blocks of 1/2, and <S, Z> = 4 * 1/2.
    # One cluster: Z = 1/4 is the only feasible matrix, and <S, Z> = 4 * 1/4.
    S = np.kron(np.eye(2), [[0, 1], [1, 0]])
    two = on_graph(S, 2, tol=1e-6)
    np.testing.assert_allclose(two.objective_, 2, rtol=1e-4)
    Z = two.U_ @ two.U_.T
    np.testing.assert_allclose(Z, partition_matrix(np.array([0, 0, 1, 1])), atol=1e-4)
    one = on_graph(S, 1, tol=1e-6)
    np.testing.assert_allclose(one.U_ @ one.U_.T, np.full((4, 4), 0.25), atol=1e-4)
    np.testing.assert_allclose(one.objective_, 1, rtol=1e-4)


@given(generators(), st.integers(1, 4))
def test_projection(rng, k):
    V = rng.standard_normal((6, 4))
    U = project(V, k)
    np.testing.assert_allclose((U**2).sum(), k, rtol=1e-12)
    assert U.min() >= 0
    other = np.abs(rng.standard_normal((6, 4)))
    other *= np.sqrt(k) / np.linalg.norm(other)
    assert np.linalg.norm(V - U) <= np.linalg.norm(V - other)


@given(generators())
def test_gradient(rng):
    k = 3
    problem = ScaledProblem.of(random_graph(rng, 9, 0.6) + rng.random() * np.eye(9), k)
    U = project(rng.standard_normal((9, 5)), k)
    dual = Dual(rng.standard_normal(9), 0.7)
    G = lagrangian(problem, U, dual).G
    np.testing.assert_allclose(np.vdot(G, U), 0, atol=1e-10)
    D = rng.standard_normal(U.shape)
    D -= np.vdot(D, U) / k * U  # along the sphere
    h = 1e-6
    ends = [lagrangian(problem, U + s * h * D, dual).value for s in (1, -1)]
    slope = (ends[0] - ends[1]) / (2 * h)
    np.testing.assert_allclose(slope, np.vdot(G, D), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rank", [None, 3, 5])
def test_constraints_and_certificates(rank):
    S, _ = block_graph(np.random.default_rng(0), (12, 12, 12), between=0.1)
    model = on_graph(S, 3, rank=rank)
    U = model.U_
    assert U.shape == (36, rank or 6)
    assert U.min() >= 0
    np.testing.assert_allclose((U**2).sum(), 3, rtol=1e-12)
    np.testing.assert_allclose(model.infeasibility_, infeasibility(U), rtol=1e-6)
    np.testing.assert_allclose(model.objective_, np.vdot(U, S @ U), rtol=1e-10)
    assert model.objective_ == model.history_[-1]
    assert len(model.history_) == model.n_iter_ + 1
    assert model.converged_
    assert max(model.infeasibility_, model.residual_) <= model.tol


@pytest.mark.parametrize("seed", range(4))
def test_value_of_the_relaxation(seed):
    S = random_graph(np.random.default_rng(seed), 10, 0.5)
    best = sdp_value(S, 3)
    model = on_graph(S, 3, tol=1e-5, max_iter=20000, n_init=5)
    assert model.objective_ <= best + 1e-3
    assert model.objective_ >= 0.99 * best


def test_relaxation_is_tight_for_blocks():
    y = np.repeat([0, 1, 2], [9, 7, 5])
    S = (y[:, None] == y).astype(float)
    model = on_graph(S, 3, tol=1e-6)
    Z = model.U_ @ model.U_.T
    np.testing.assert_allclose(Z, partition_matrix(y), atol=1e-4)
    np.testing.assert_allclose(model.objective_, 21, rtol=1e-5)
    assert accuracy(y, model.labels_) == 1


def test_shift_by_the_identity():
    S, _ = block_graph(np.random.default_rng(1), (10, 10, 10), between=0.1)
    U = project(np.random.default_rng(2).random((30, 6)), 3)
    limits = {"penalty": 10.0, "max_iter": 60, "tol": 1e-9}
    a = solve(ScaledProblem.of(S, 3), U, **limits)
    b = solve(ScaledProblem.of(S + 4 * sp.eye_array(30), 3), U, **limits)
    np.testing.assert_allclose(b.U, a.U, atol=1e-4)
    np.testing.assert_allclose(b.history, a.history + 12, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_of_s(scale):
    S, _ = block_graph(np.random.default_rng(3), (10, 10, 10))
    a, b = on_graph(S, 3), on_graph(scale * S, 3)
    assert accuracy(a.labels_, b.labels_) == 1
    np.testing.assert_allclose(b.objective_, scale * a.objective_, rtol=1e-3)
    assert b.converged_


def test_no_restart_beats_a_feasible_one():
    def run(objective, off):
        fitted = {"infeasibility_": off}
        return Run(np.zeros(3, dtype=int), objective, fitted=fitted)

    runs = [run(1.0, 1e-5), run(9.0, 0.1), run(2.0, 1e-4), run(1.5, 0.0)]
    best, objectives = NLR()._best(iter(runs))
    assert best is runs[2]
    np.testing.assert_array_equal(objectives, [1.0, 9.0, 2.0, 1.5])
    best, _ = NLR()._best(iter(runs[1:2]))
    assert best is runs[1]


def test_one_column_a_cluster():
    y = np.repeat([0, 1, 2], [9, 7, 5])
    model = on_graph((y[:, None] == y).astype(float), 3, rank=3, n_init=10)
    np.testing.assert_array_equal(model.U_.argmax(axis=1), model.labels_)
    assert accuracy(y, model.labels_) == 1


def test_as_many_clusters_as_samples():
    # Z = I is the only feasible matrix.
    S = random_graph(np.random.default_rng(5), 5, 1.0) + np.diag(np.arange(5.0))
    model = on_graph(S, 5, n_init=10)
    np.testing.assert_allclose(model.U_ @ model.U_.T, np.eye(5), atol=0.01)
    np.testing.assert_allclose(model.objective_, 10, rtol=0.01)
    assert len(set(model.labels_)) == 5


def test_isolated_samples():
    S, _ = block_graph(np.random.default_rng(6), (12, 12), between=0.0)
    S = sp.block_diag([S, sp.csr_array((2, 2))], format="csr")
    model = on_graph(S, 2)
    assert np.isfinite(model.U_).all()
    assert model.converged_


@pytest.mark.parametrize("diagonal", [0.0, 3.0])
def test_nothing_to_choose(diagonal):
    model = on_graph(diagonal * sp.eye_array(60, format="csr"), 2)
    np.testing.assert_allclose(model.objective_, 2 * diagonal, atol=1e-9)
    assert np.isfinite(model.U_).all()


def test_negative_similarities():
    y = np.repeat([0, 1], 8)
    S = np.where(y[:, None] == y, 1.0, -1.0)
    assert accuracy(y, on_graph(S, 2).labels_) == 1


def test_single_precision():
    S, y = block_graph(np.random.default_rng(7), (12, 12))
    model = on_graph(S.astype(np.float32), 2)
    assert accuracy(y, model.labels_) == 1
    assert model.U_.dtype == np.float64


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rank": 1}, "rank must be at least n_clusters=2, got 1"),
        ({"rank": 2.5}, "rank must be a positive integer"),
        ({"penalty": 0}, "penalty must be a finite number above 0"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        on_graph(np.ones((4, 4)), 2, **params)


def test_four_points_by_hand():
    # Two pairs of similarity 1: Z = UU' averages over each pair, so that Z_12 = 1/2
    # and <S, Z> = 2 * 1/2 for each of the two pairs.
    pair = np.array([[0.0, 1.0], [1.0, 0.0]])
    S = np.kron(np.eye(2), pair)
    model = NLR(2, affinity="precomputed", random_state=0).fit(S)
    np.testing.assert_allclose(
        model.U_ @ model.U_.T, np.kron(np.eye(2), np.full((2, 2), 0.5)), atol=2e-3
    )
    assert model.objective_ == pytest.approx(2, abs=5e-3)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
