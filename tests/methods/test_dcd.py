"""DCD: the bound and its steps, descents, priors, starts."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import DCD
from lordclust.methods.dcd import (
    exact_step,
    explained,
    extrapolated_descent,
    has_twins,
    plain_descent,
    relaxed_step,
    unit_graph,
)
from lordclust.metrics import accuracy
from strategies import block_graph, generators, graphs, random_graph

ALPHAS = st.sampled_from([1.0, 1.2, 2.0, 5.0])


def memberships(rng, n, k):
    return rng.dirichlet(np.ones(k), n)


def walk(W):
    """B: from a sample to a cluster and back."""
    return W @ np.diag(1 / W.sum(axis=0)) @ W.T


def objective(S, W, alpha=1.0):
    S = S.toarray() if sparse.issparse(S) else S
    B = walk(W)
    fit = -(S[S > 0] * np.log(B[S > 0])).sum()
    return fit - (alpha - 1) * np.log(W).sum()


def case(S, seed, k=3):
    graph, _ = unit_graph(S)
    return graph, memberships(np.random.default_rng(seed), S.shape[0], k)


def on_graph(S, k, **params):
    return DCD(k, affinity="precomputed", random_state=0, **params).fit(S)


def test_two_pairs():
    # 1-2 and 3-4 joined. Two clusters: B_12 = B_34 = 1/2, four stored entries, so
    # J = 4 log 2. One cluster: B = 1/4 everywhere, J = 4 log 4.
    S = np.kron(np.eye(2), [[0, 1], [1, 0]])
    two = on_graph(S, 2)
    np.testing.assert_allclose(two.objective_, 4 * np.log(2), rtol=1e-5)
    np.testing.assert_allclose(two.membership_, np.repeat(np.eye(2), 2, 0), atol=1e-4)
    one = on_graph(S, 1)
    np.testing.assert_allclose(one.objective_, 4 * np.log(4))
    np.testing.assert_array_equal(one.membership_, np.ones((4, 1)))


@given(generators(), st.integers(1, 5))
def test_walks_are_doubly_stochastic(rng, k):
    B = walk(memberships(rng, 12, k))
    np.testing.assert_allclose(B.sum(axis=1), 1)
    np.testing.assert_allclose(B, B.T)


@given(graphs(min_n=4), st.integers(0, 99))
def test_explained_parts(S, seed):
    graph, W = case(S, seed)
    A, J = explained(graph, W)
    Z = graph.toarray() / walk(W)
    np.testing.assert_allclose(A, W * (Z @ W) / W.sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(A.sum(axis=1), graph.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(J, objective(graph, W), rtol=1e-10)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_gradient(alpha):
    # dJ/dW_ik = A_k / s_k - (2 A_ik + alpha - 1) / W_ik
    graph, W = case(random_graph(np.random.default_rng(0), 8), 1)
    A, _ = explained(graph, W)
    formula = A.sum(axis=0) / W.sum(axis=0) - (2 * A + alpha - 1) / W
    h = 1e-6
    for i, k in [(0, 0), (3, 2), (7, 1)]:
        E = np.zeros_like(W)
        E[i, k] = h
        slope = objective(graph, W + E, alpha) - objective(graph, W - E, alpha)
        np.testing.assert_allclose(slope / (2 * h), formula[i, k], rtol=1e-5, atol=1e-6)


@given(graphs(min_n=4), st.integers(0, 99), ALPHAS, st.floats(0.01, 1))
def test_bound(S, seed, alpha, far):
    graph, W = case(S, seed)
    V = (1 - far) * W + far * memberships(np.random.default_rng(seed + 1), *W.shape)
    A, J = explained(graph, W)
    cost, N = A.sum(axis=0) / W.sum(axis=0), 2 * A + alpha - 1
    rise = (cost * (V - W) - N * np.log(V / W)).sum()
    change = objective(graph, V, alpha) - objective(graph, W, alpha)
    assert change <= rise + 1e-9 * (1 + abs(J))


@given(graphs(min_n=4), st.integers(0, 99), ALPHAS)
def test_exact_step_minimises_the_bound(S, seed, alpha):
    # The derivative cost_k - N_ik / w_k of the bound is the same in each row.
    graph, W = case(S, seed)
    A, _ = explained(graph, W)
    new, _ = exact_step(graph, alpha, W)
    np.testing.assert_allclose(new.sum(axis=1), 1)
    N = 2 * A + alpha - 1
    derivative = A.sum(axis=0) / W.sum(axis=0) - N / new
    joined = N.sum(axis=1) > 0
    spread = np.ptp(derivative[joined], axis=1)
    assert (spread <= 1e-7 * np.abs(derivative[joined]).max(axis=1) + 1e-9).all()
    np.testing.assert_allclose(new[~joined], W[~joined], rtol=1e-15)


@pytest.mark.parametrize(
    ("step", "descend"),
    [(exact_step, extrapolated_descent), (relaxed_step, plain_descent)],
)
@given(S=graphs(min_n=4), seed=st.integers(0, 99), alpha=ALPHAS)
def test_descent_is_monotone(step, descend, S, seed, alpha):
    graph, W = case(S, seed)
    end = descend(partial(step, graph, alpha), W, max_iter=40, tol=1e-6)
    h = end.history
    assert (np.diff(h) <= 1e-11 * np.abs(h).max()).all()
    np.testing.assert_allclose(h[-1], objective(graph, end.W, alpha), rtol=1e-9)
    np.testing.assert_allclose(end.W.sum(axis=1), 1)
    if end.converged:
        moved = np.linalg.norm(step(graph, alpha, end.W)[0] - end.W)
        assert moved <= 1e-6 * np.linalg.norm(end.W)


def test_algorithms_have_the_same_stationary_points():
    S, _ = block_graph(np.random.default_rng(0), (15, 15, 15), between=0.1)
    graph, W = case(S, 0)
    step = partial(exact_step, graph, 1.0)
    end = extrapolated_descent(step, W, max_iter=3000, tol=1e-10)
    assert end.converged
    moved = np.abs(relaxed_step(graph, 1.0, end.W)[0] - end.W).max()
    assert moved < 1e-8
    assert np.abs(relaxed_step(graph, 1.0, W)[0] - W).max() > 1e-3


@pytest.mark.parametrize("algorithm", ["fast", "paper"])
def test_blocks_are_found(algorithm):
    S, y = block_graph(np.random.default_rng(1), (20, 15, 10), between=0.0)
    model = on_graph(S, 3, algorithm=algorithm, n_init=3)
    assert accuracy(y, model.labels_) == 1
    np.testing.assert_array_equal(model.membership_.argmax(axis=1), model.labels_)


def test_reported_objective_and_residual():
    S, _ = block_graph(np.random.default_rng(2), (15, 15), between=0.1)
    model = on_graph(S, 2, n_init=4)
    W = np.maximum(model.membership_, 1e-300)
    np.testing.assert_allclose(model.objective_, objective(S, W), rtol=1e-9)
    assert model.objective_ == model.all_objectives_.min() == model.history_[-1]
    assert model.converged_
    assert 0 <= model.residual_ <= model.tol
    assert model.alpha_ in model.alphas


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_of_s(scale):
    S, _ = block_graph(np.random.default_rng(3), (15, 15, 15), between=0.1)
    a, b = on_graph(S, 3, n_init=3), on_graph(scale * S, 3, n_init=3)
    np.testing.assert_allclose(b.membership_, a.membership_, atol=1e-6)
    np.testing.assert_allclose(b.objective_, scale * a.objective_, rtol=1e-9)


def test_collapsed_prior_is_not_followed():
    # A strong prior makes all memberships equal, from where nothing moves.
    S, y = block_graph(np.random.default_rng(4), (12, 12), between=0.05)
    graph, W = case(S, 0, k=2)
    step = partial(exact_step, graph, 1e6)
    flat = extrapolated_descent(step, W, max_iter=500, tol=1e-6).W
    assert has_twins(flat)
    assert not has_twins(W)
    model = on_graph(S, 2, alphas=(1e6,), n_init=2)
    assert model.alpha_ == 1
    assert accuracy(y, model.labels_) == 1


def test_priors_only_help():
    S, _ = block_graph(np.random.default_rng(5), (20, 20, 20), between=0.15)
    plain = on_graph(S, 3, alphas=(1.0,), init="random")
    through = on_graph(S, 3, alphas=(1.0, 1.2, 2.0), init="random")
    assert (through.all_objectives_ <= plain.all_objectives_).all()


def test_given_start():
    S, y = block_graph(np.random.default_rng(6), (12, 12), between=0.05)
    model = on_graph(S, 2, init=np.eye(2)[y] * 7)
    assert len(model.all_objectives_) == 1
    assert accuracy(y, model.labels_) == 1
    with pytest.raises(ValueError, match=r"init must hold .* \(24, 2\), got shape"):
        on_graph(S, 2, init=np.ones((24, 3)))
    with pytest.raises(ValueError, match="init must hold nonnegative"):
        on_graph(S, 2, init=-np.ones((24, 2)))


def test_isolated_samples():
    S, y = block_graph(np.random.default_rng(7), (12, 12), between=0.0)
    S = sparse.block_diag([S, sparse.csr_array((2, 2))], format="csr")
    model = on_graph(S, 2)
    assert accuracy(y, model.labels_[:24]) == 1
    assert np.isfinite(model.membership_).all()


@pytest.mark.parametrize("n", [6, 500])
def test_no_similarities_at_all(n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one cluster is found
        model = on_graph(sparse.csr_array((n, n)), 2)
    assert model.objective_ == 0
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1)


def test_as_many_clusters_as_samples():
    S = random_graph(np.random.default_rng(8), 6, 1.0) + 5 * np.eye(6)
    model = on_graph(S, 6)
    assert np.isfinite(model.membership_).all()
    assert model.objective_ < objective(S, np.ones((6, 1)))


def test_single_precision():
    S, y = block_graph(np.random.default_rng(9), (12, 12), between=0.02)
    model = on_graph(S.astype(np.float32), 2)
    assert accuracy(y, model.labels_) == 1
    assert model.membership_.dtype == np.float64


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"init": "spectral"}, "Unknown init 'spectral'"),
        ({"algorithm": "slow"}, "Unknown algorithm 'slow'"),
        ({"alphas": (0.5,)}, "alphas must be a sequence of numbers of at least 1"),
        ({"alphas": ()}, "alphas must be a sequence"),
        ({"alphas": 2.0}, "alphas must be a sequence"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        on_graph(np.ones((4, 4)), 2, **params)
