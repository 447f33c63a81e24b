"""Gromov-Wasserstein partition: the loss, the plans, and what they find."""

import sys

import numpy as np
import ot
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import gwl
from lordclust.methods.gwl import (
    GWL,
    conditional_gradient,
    heat_kernel,
    loss_constant,
    marginal_error,
    proximal,
    scaled_plan,
    smooth_start,
)
from lordclust.metrics import accuracy
from strategies import block_graph, generators, mus, random_graph


def on(S, k=2, **params):
    return GWL(k, affinity="precomputed", random_state=0, **params).fit(S)


def pot_loss(C, q, T):
    """The loss as POT computes it, of matrices written out."""
    n = len(T)
    parts = ot.gromov.init_matrix(C, np.diag(q), np.full(n, 1 / n), q, "square_loss")
    return float(ot.gromov.gwloss(*parts, T))


def plain_loss(C, q, T):
    """The sum over all i, j, a, b."""
    gaps = (C[:, :, None, None] - np.diag(q)) ** 2
    return float(np.einsum("ijab,ia,jb->", gaps, T, T))


def trace(C, q, T):
    return float(np.trace(T.T @ C @ T @ np.diag(q)))


@given(generators(), st.integers(2, 12), st.integers(1, 4), st.data())
def test_the_loss_is_a_constant_less_a_trace(rng, n, k, data):
    q = data.draw(mus(k)) ** 2
    C = random_graph(rng, n)
    _, T = scaled_plan(rng.standard_normal((n, k)), q)
    loss = loss_constant(C, q) - 2 * trace(C, q, T)
    assert loss == pytest.approx(plain_loss(C, q, T), abs=1e-9)
    assert loss == pytest.approx(pot_loss(C, q, T), abs=1e-9)


@given(generators(), st.integers(2, 30), st.integers(1, 5), st.data())
def test_plans_have_their_marginals(rng, n, k, data):
    q = data.draw(mus(k)) ** 2
    spread = data.draw(st.sampled_from([0.1, 1.0, 10.0, 100.0]))
    start = spread * rng.standard_normal((n, k))
    logs, T = scaled_plan(start, q)
    assert T.min() >= 0
    assert marginal_error(T, q) <= 1e-8
    # Rows and columns were scaled, nothing else: cross differences are the same.
    moved = logs - start
    moved -= moved[:1]
    np.testing.assert_allclose(moved - moved[:, :1], 0, atol=1e-9 * spread)


def test_sinkhorn_comes_to_the_same_plan():
    rng = np.random.default_rng(0)
    q, start = np.array([0.2, 0.3, 0.5]), rng.standard_normal((20, 3))
    expected = ot.sinkhorn(np.full(20, 1 / 20), q, -start, reg=1.0, stopThr=1e-14)
    np.testing.assert_allclose(scaled_plan(start, q)[1], expected, atol=1e-10)


@given(generators(), st.sampled_from([1e-3, 0.1, 1.0, 2.0]), st.data())
def test_the_objective_never_rises(rng, beta, data):
    q = data.draw(mus(3)) ** 2
    S = random_graph(rng, 15, sparse=data.draw(st.booleans()))
    plan = proximal(S, q, rng.standard_normal((15, 3)), beta, max_iter=50)
    assert np.diff(plan.history).max(initial=0) <= 0
    assert marginal_error(plan.T, q) <= 1e-8
    assert plan.history[-1] == pytest.approx(-2 * trace(S @ np.eye(15), q, plan.T))


def test_from_two_units_on_no_step_fails():
    rng = np.random.default_rng(0)
    q = np.full(3, 1 / 3)
    S = random_graph(rng, 30)
    plan = proximal(S, q, rng.standard_normal((30, 3)), 2.0, tol=1e-12, max_iter=80)
    assert len(plan.history) == 81  # a step that failed would not count


def test_the_product_is_stationary():
    # For equal shares all columns of the gradient are equal there: hence random
    # starts.
    S = random_graph(np.random.default_rng(0), 12)
    plan = proximal(S, np.full(3, 1 / 3), np.zeros((12, 3)))
    np.testing.assert_allclose(plan.T, 1 / 36)


def test_starts_vary_slowly_along_the_graph():
    S, y = block_graph(np.random.default_rng(0), [20, 20], between=0.0)
    Z = smooth_start(S, 3, np.random.default_rng(1))
    np.testing.assert_allclose(Z.std(axis=0), 1)
    within = max(Z[y == j].std(axis=0).max() for j in (0, 1))
    assert within < 0.1
    assert np.isfinite(smooth_start(np.ones((5, 5)), 2, np.random.default_rng(0))).all()


def test_four_vertices_by_hand():
    # Two edges of weight 5, scaled to 1. T puts each edge on one of two vertices:
    # T = 1/4 there. C^2 gives 4/16, D^2 gives 2 (1/2)^4 = 1/8, and the trace is
    # 4 (1/4)^2 / 2 = 1/8: the loss is 1/4 + 1/8 - 2/8 = 1/8.
    S = 5 * np.kron(np.eye(2), [[0, 1], [1, 0]])
    model = on(S)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    expected = np.kron(np.eye(2), [[1], [1]]) / 4
    np.testing.assert_allclose(model.plan_, expected, atol=1e-6)
    assert model.objective_ == pytest.approx(1 / 8, abs=1e-6)


@pytest.mark.parametrize("solver", ["proximal", "conditional_gradient"])
@pytest.mark.parametrize("cost", ["adjacency", "heat"])
def test_cliques_are_found(solver, cost):
    S = np.kron(np.eye(3), np.ones((8, 8)) - np.eye(8))
    model = on(S, 3, solver=solver, cost=cost)
    assert accuracy(np.repeat([0, 1, 2], 8), model.labels_) == 1
    assert model.marginal_error_ <= 1e-8


@pytest.mark.parametrize("solver", ["proximal", "conditional_gradient"])
def test_both_solvers_report_the_loss(solver):
    S, _ = block_graph(np.random.default_rng(1), [10, 20, 30], sparse=False)
    q = np.array([1, 2, 3]) / 6
    model = on(S, 3, solver=solver, proportions=q, n_init=3)
    C = S / S.max()
    assert model.objective_ == pytest.approx(pot_loss(C, q, model.plan_), rel=1e-9)
    assert model.objective_ == pytest.approx(model.history_[-1])
    assert np.diff(model.history_).max() <= 1e-12
    np.testing.assert_allclose(model.membership_, 60 * model.plan_, rtol=1e-9)
    np.testing.assert_allclose(model.membership_.mean(axis=0), q, rtol=1e-8)


def test_shares_keep_their_places():
    counts = [30, 10, 20]
    S, y = block_graph(np.random.default_rng(0), counts, between=0.0)
    model = on(S, 3, proportions=np.array(counts) / 60)
    np.testing.assert_array_equal(model.labels_, y)


def test_conditional_gradient_leaves_marginals():
    S = random_graph(np.random.default_rng(0), 20)
    q = np.array([0.25, 0.75])
    start = np.random.default_rng(1).standard_normal((20, 2))
    plan = conditional_gradient(S, q, start)
    assert marginal_error(plan.T, q) <= 1e-8
    assert plan.history[-1] < plan.history[0]


def test_heat():
    S = random_graph(np.random.default_rng(0), 12, density=0.8)
    d = S.sum(axis=1)
    L = np.eye(12) - S / np.sqrt(np.outer(d, d))
    np.testing.assert_allclose(heat_kernel(S, 3.0), expm(-3 * L), atol=1e-12)
    np.testing.assert_allclose(heat_kernel(sp.csr_array(S), 3.0), expm(-3 * L))


@pytest.mark.parametrize("cost", ["adjacency", "heat"])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_unit_of_S_does_not_matter(cost, scale):
    S, _ = block_graph(np.random.default_rng(2), [15, 15])
    expected, model = on(S, cost=cost), on(scale * S, cost=cost)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-6)


def test_float32():
    S, _ = block_graph(np.random.default_rng(2), [15, 15])
    model = on(S.astype(np.float32))
    np.testing.assert_array_equal(model.labels_, on(S).labels_)
    assert model.membership_.dtype == np.float64


def test_a_graph_without_edges_and_an_isolated_vertex():
    empty = on(np.zeros((6, 6)), n_init=1)
    assert np.isfinite(empty.membership_).all()
    S = np.kron(np.eye(2), np.ones((5, 5)))
    S[0] = S[:, 0] = 0
    for cost in ("adjacency", "heat"):
        labels = on(S, cost=cost).labels_
        assert accuracy(np.repeat([0, 1], [4, 5]), labels[1:]) == 1


@pytest.mark.filterwarnings("ignore:GWL found")  # a vertex of its own gains nothing
def test_as_many_clusters_as_vertices():
    S = random_graph(np.random.default_rng(0), 5, density=1.0)
    model = on(S, 5, n_init=3)
    assert model.marginal_error_ <= 1e-8
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"cost": "distance"}, "Unknown cost 'distance'"),
        ({"solver": "sinkhorn"}, "Unknown solver 'sinkhorn'"),
        ({"beta": 0}, "beta must be a finite number above 0"),
        ({"heat_time": -1}, "heat_time must be a finite number above 0"),
        ({"proportions": [0.5, 0.6]}, "proportions must sum to 1"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        on(np.ones((4, 4)), **params)


@pytest.mark.parametrize(
    "params", [{"cost": "heat"}, {"solver": "conditional_gradient"}]
)
def test_full_matrices_are_refused_for_many_samples(params, monkeypatch):
    monkeypatch.setattr(gwl, "MAX_DENSE", 10)
    S = np.ones((11, 11))
    with pytest.raises(ValueError, match=r"accepts at most 10 samples, got 11\. Use c"):
        on(S, **params)
    assert on(S).labels_.shape == (11,)


def test_pot_is_asked_for_only_where_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot.gromov", None)
    S = np.kron(np.eye(2), np.ones((4, 4)))
    assert on(S).converged_
    with pytest.raises(ImportError, match=r'Run: pip install "lordclust\[ot\]"'):
        on(S, solver="conditional_gradient")


def test_stopped_early():
    S, _ = block_graph(np.random.default_rng(0), [15, 15])
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=3"):
        on(S, max_iter=3)
