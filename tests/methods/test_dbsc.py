"""DBSC: every step lowers the objective, and its limits are known methods."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lordclust.methods._solvers.coordinate import cd_scaled
from lordclust.methods.dbsc import DBSC, Model, random_labels
from lordclust.metrics import accuracy
from lordclust.rounding.labels import procrustes
from lordclust.rounding.spectral import normalized_affinity, normalized_eigenvectors
from strategies import block_graph, generators, graphs

POWERS = st.sampled_from([0.0, 0.5])


def fit(S, k, **params):
    params = {"random_state": 0, "n_init": 3} | params
    return DBSC(k, affinity="precomputed", **params).fit(S)


def written_out(S, F, R, labels, alpha, beta, plain):
    """The objective as the docstring states it, with dense matrices."""
    n, k = F.shape
    L = np.eye(n) - normalized_affinity(S)
    Y = np.eye(k)[labels]
    G = Y * np.sqrt(k / n) if plain else Y / np.sqrt(Y.sum(axis=0))
    sizes = k * Y.sum(axis=0) / n
    return (
        np.trace(F.T @ L @ F)
        + alpha * np.sum((F @ R - G) ** 2)
        + beta * np.sum(sizes**2)
    )


@given(
    st.data(),
    graphs(min_n=4, max_n=20),
    generators(),
    st.sampled_from([1e-3, 0.1, 3.0]),
    st.sampled_from([0.0, 0.01, 1.0]),
    POWERS,
)
def test_every_step_lowers_the_objective(data, S, rng, alpha, beta, power):
    n = S.shape[0]
    k = data.draw(st.integers(1, 4))
    model = Model(normalized_affinity(S), alpha, beta, power)
    F = procrustes(rng.standard_normal((n, k)))
    labels = random_labels(n, k, rng)
    dense = S.toarray() if sparse.issparse(S) else S
    values = [np.inf]

    def record(F, R, labels):
        values.append(model.objective(F, R, labels))
        expected = written_out(dense, F, R, labels, alpha, beta, power == 0)
        np.testing.assert_allclose(values[-1], expected)
        assert values[-1] <= values[-2] + 1e-10 * n

    record(F, np.eye(k), labels)
    for _ in range(3):
        R = procrustes(F.T @ model.indicator(labels, k))
        record(F, R, labels)
        labels = model.improve_labels(F @ R, labels)
        record(F, R, labels)
        F = model.improve_embedding(F, model.indicator(labels, k) @ R.T)
        np.testing.assert_allclose(F.T @ F, np.eye(k), atol=1e-12)
        record(F, R, labels)


@given(graphs(min_n=6, max_n=25), POWERS)
def test_history_never_rises(S, power):
    model = fit(S, 3, indicator="plain" if power == 0 else "scaled", max_iter=500)
    assert (np.diff(model.history_) <= 1e-12).all()
    assert model.history_[-1] == model.objective_
    assert len(np.unique(model.labels_)) == 3


def test_small_alpha_leaves_the_eigenvectors():
    S, _ = block_graph(np.random.default_rng(0), [12, 12, 12], sparse=False)
    model = fit(S, 3, alpha=1e-9, beta=0.0)
    U = normalized_eigenvectors(S, 3).vectors
    F = model.embedding_  # turned
    np.testing.assert_allclose(F @ F.T, U @ U.T, atol=1e-6)
    # Labels are a fixed point of coordinate ascent on FR.
    assert cd_scaled(F, model.labels_).n_sweeps == 1


@pytest.mark.parametrize("indicator", ["scaled", "plain"])
def test_large_beta_makes_sizes_equal(indicator):
    S, _ = block_graph(np.random.default_rng(1), [25, 10, 5])
    free = np.bincount(fit(S, 3, beta=0.0, indicator=indicator).labels_)
    sizes = np.bincount(fit(S, 3, beta=10.0, indicator=indicator).labels_)
    assert free.max() - free.min() > 1
    assert sizes.max() - sizes.min() <= 1


def test_four_points():
    # Two pairs 0-1 and 2-3: P is their swap, and F = G = indicators / sqrt 2 has
    # Tr(F'LF) = 0 and ||FR - G|| = 0. Both relative sizes are 1: beta (1 + 1).
    S = np.kron(np.eye(2), np.array([[0, 3], [3, 0]]))
    model = fit(S, 2, alpha=0.1, beta=0.25, n_init=10)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    np.testing.assert_allclose(model.objective_, 0.5, atol=1e-6)
    G = np.kron(np.eye(2), np.ones((2, 1))) / np.sqrt(2)
    np.testing.assert_allclose(model.embedding_, G, atol=1e-3)


def test_indicators_agree_at_equal_sizes():
    labels = np.array([0, 1, 2, 2, 0, 1])
    P = np.zeros((6, 6))
    G = [Model(P, 1.0, 0.0, power).indicator(labels, 3) for power in (0.0, 0.5)]
    np.testing.assert_allclose(G[0], G[1])
    np.testing.assert_allclose(G[0].T @ G[0], np.eye(3), atol=1e-15)


def test_columns_follow_the_labels():
    S, y = block_graph(np.random.default_rng(2), [20, 14, 8])
    model = fit(S, 3)
    assert accuracy(y, model.labels_) == 1
    np.testing.assert_array_equal(model.embedding_.argmax(axis=1), model.labels_)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_of_the_graph_does_not_matter(scale):
    S, _ = block_graph(np.random.default_rng(3), [15, 15])
    a, b = fit(S, 2), fit(scale * S, 2)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.objective_, b.objective_)


@pytest.mark.parametrize(
    ("S", "k"),
    [
        (np.zeros((5, 5)), 2),
        (np.ones((6, 6)), 3),
        (np.ones((6, 6), dtype=int), 6),
        (np.diag([0.0, 1, 1, 1, 0]), 2),
        (sparse.csr_array(np.eye(7, k=1) + np.eye(7, k=-1)), 7),
    ],
)
def test_odd_graphs(S, k):
    labels = fit(S, k, max_iter=1000).labels_
    np.testing.assert_array_equal(np.unique(labels), np.arange(k))


def test_single_precision():
    S, y = block_graph(np.random.default_rng(4), [20, 20])
    assert accuracy(y, fit(S.astype(np.float32), 2).labels_) == 1


def test_random_labels_leave_no_cluster_empty():
    rng = np.random.default_rng(5)
    for n, k in ((5, 5), (6, 4), (50, 3)):
        assert (np.bincount(random_labels(n, k, rng), minlength=k) > 0).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a finite number above 0"),
        ({"beta": -1.0}, "beta must be a finite number of 0 or more"),
        ({"beta": "1"}, "beta must be a number of 0 or more"),
        ({"indicator": "soft"}, "Unknown indicator 'soft'"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        DBSC(2, **params).fit(np.arange(20.0).reshape(10, 2))
