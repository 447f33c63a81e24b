"""DirectSC: projections, descent at a given lam, and exactly k components."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods.directsc import (
    DirectSC,
    bottom_eigenvectors,
    improve_graph,
    objective,
    project_rows,
    row_scaled,
)
from lordclust.metrics import accuracy
from lordclust.rounding.spectral import components
from strategies import block_graph, generators, graphs, random_graph


def fit(S, k, **params):
    return DirectSC(k, affinity="precomputed", **params).fit(S)


def laplacian(W):
    W = W.toarray()
    both = (W + W.T) / 2
    return np.diag(both.sum(axis=1)) - both


def simplex_projection(v):
    """By sorting."""
    u = np.sort(v)[::-1]
    shifts = (np.cumsum(u) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - shifts[np.flatnonzero(u > shifts)[-1]], 0)


@given(generators(), st.integers(-8, 8))
def test_rows_are_projected(rng, exponent):
    lengths = rng.integers(1, 9, size=6)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    values = 10.0**exponent * rng.standard_normal(indptr[-1])
    found = project_rows(values, indptr)
    for a, b in pairwise(indptr):
        expected = simplex_projection(values[a:b] - values[a:b].max())
        np.testing.assert_allclose(found[a:b], expected, atol=1e-12)
        np.testing.assert_allclose(found[a:b].sum(), 1, atol=1e-12)


@given(graphs(min_n=2, max_n=20))
def test_rows_of_the_graph_sum_to_one(S):
    A = row_scaled(S)
    np.testing.assert_allclose(A.sum(axis=1), 1)
    alone = np.asarray(S.sum(axis=1)).ravel() == 0
    np.testing.assert_array_equal(A.diagonal(), alone)


@given(graphs(min_n=5, max_n=25), st.integers(1, 4))
def test_bottom_eigenvectors(S, k):
    W = row_scaled(S)
    F, parts = bottom_eigenvectors(W, k)
    L = laplacian(W)
    np.testing.assert_allclose(F.T @ F, np.eye(k), atol=1e-9)
    lowest = np.linalg.eigvalsh(L)[:k].sum()
    np.testing.assert_allclose(np.trace(F.T @ L @ F), lowest, atol=1e-9)
    assert parts.max() + 1 == (np.linalg.eigvalsh(L) < 1e-10).sum()
    assert (np.diff(np.bincount(parts)) <= 0).all()


@given(graphs(min_n=5, max_n=20), generators(), st.integers(1, 3), st.floats(0.01, 100))
def test_both_half_steps_lower_the_objective(S, rng, k, lam):
    A = row_scaled(S)
    F, _ = np.linalg.qr(rng.standard_normal((A.shape[0], k)))
    W, values = A, [objective(A, A, F, lam)]
    for _ in range(3):
        W = improve_graph(A, F, lam)
        values.append(objective(W, A, F, lam))
        F, _ = bottom_eigenvectors(W, k)
        values.append(objective(W, A, F, lam))
        gap = (W - A).toarray()
        trace = np.trace(F.T @ laplacian(W) @ F)
        expected = np.sum(gap**2) + 2 * lam * trace
        np.testing.assert_allclose(values[-1], expected, atol=1e-9 * lam)
    assert (np.diff(values) <= 1e-9 * (1 + lam)).all()


def test_graph_step_against_scipy():
    rng = np.random.default_rng(0)
    A = row_scaled(random_graph(rng, 5, 0.9))
    F, _ = np.linalg.qr(rng.standard_normal((5, 2)))
    row = A[[0]].indices
    a, d = A[[0]].data, np.sum((F[0] - F[row]) ** 2, axis=1)
    best = minimize(
        lambda w: np.sum((w - a) ** 2) + 0.8 * w @ d,
        a,
        bounds=[(0, 1)] * len(a),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    ).x
    W = improve_graph(A, F, 0.8)
    np.testing.assert_allclose(W[[0]].data, best, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_exactly_k_components(seed):
    X, _ = make_blobs(90, centers=4, cluster_std=2.0, random_state=seed)
    model = DirectSC(4).fit(X)
    assert model.converged_
    assert model.n_components_ == 4
    W = model.W_
    assert W.data.min() >= 0
    np.testing.assert_allclose(W.sum(axis=1), 1, atol=1e-10)
    found = components(W + W.T)
    assert found.max() + 1 == 4
    assert accuracy(found, model.labels_) == 1
    # F says the same: a distinct row for each cluster.
    rows, distinct = np.unique(model.embedding_, axis=0, return_inverse=True)
    assert len(rows) == 4
    assert accuracy(distinct.ravel(), model.labels_) == 1
    gap = W - row_scaled(model.affinity_matrix_)
    np.testing.assert_allclose(model.objective_, (gap.data**2).sum(), atol=1e-12)
    assert model.history_[-1] == model.objective_


def test_moons():
    X, y = make_moons(200, noise=0.06, random_state=0)
    assert accuracy(y, DirectSC(2).fit_predict(X)) == 1


def test_four_points():
    # 0-1 and 2-3 are strong, 1-2 is weak. Rows of A: (1), (4/5, 1/5), (1/5, 4/5), (1).
    # With two components rows 1 and 2 become (1, 0) and (0, 1): they change by
    # (1/5, -1/5), so the objective is 4/25.
    S = np.array([[0, 4, 0, 0], [4, 0, 1, 0], [0, 1, 0, 4], [0, 0, 4, 0]])
    model = fit(S, 2)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    np.testing.assert_allclose(model.objective_, 4 / 25)
    np.testing.assert_allclose(model.W_.toarray(), np.kron(np.eye(2), [[0, 1], [1, 0]]))


def test_blocks_are_found_at_once():
    S, y = block_graph(np.random.default_rng(1), [9, 8, 7], inside=0.9, between=0)
    model = fit(S, 3)
    assert accuracy(y, model.labels_) == 1
    assert (model.n_iter_, model.objective_, model.lam_) == (1, 0.0, 0.0)


def test_history_at_a_given_lam():
    S, _ = block_graph(np.random.default_rng(2), [20, 20, 20], between=0.1)
    model = fit(S, 3, lam=2.0, max_iter=500)
    assert len(model.history_) > 2
    assert (np.diff(model.history_) <= 1e-9).all()
    assert model.lam_ == 2.0


def test_a_given_lam_may_give_too_many_components():
    S, _ = block_graph(np.random.default_rng(2), [20, 20, 20], between=0.1)
    with pytest.warns(UserWarning, match="components, more than n_clusters=2"):
        model = fit(S, 2, lam=1e6)
    assert model.n_components_ > 2
    assert len(np.unique(model.labels_)) == 2


def test_more_components_than_clusters():
    S, y = block_graph(np.random.default_rng(3), [9, 8, 4], inside=1.0, between=0)
    with pytest.warns(UserWarning, match="3 connected components"):
        labels = fit(S, 2).labels_
    np.testing.assert_array_equal(labels, np.array([0, 1, 0])[y])


def test_impossible_number_of_components():
    # Each sample keeps a neighbour, so 5 samples have at most 2 components.
    with pytest.warns(ConvergenceWarning, match="no graph with 4 components"):
        model = fit(np.ones((5, 5)), 4)
    assert not model.converged_
    assert len(np.unique(model.labels_)) == 4


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_of_the_graph_does_not_matter(scale):
    S, _ = block_graph(np.random.default_rng(4), [15, 15], between=0.1)
    np.testing.assert_array_equal(fit(S, 2).labels_, fit(scale * S, 2).labels_)


def test_diagonal_and_stored_zeros_do_not_matter():
    S, _ = block_graph(np.random.default_rng(5), [12, 12], between=0.1)
    full = sparse.coo_array(S + sparse.diags_array(np.arange(24.0)))
    i, j = np.argwhere(np.triu(full.toarray() == 0, 1))[0]
    rows, cols = np.append(full.row, [i, j]), np.append(full.col, [j, i])
    stored = sparse.csr_array((np.append(full.data, [0, 0]), (rows, cols)))
    assert (stored.data == 0).sum() == 2
    a, b = fit(S, 2), fit(stored, 2)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert abs(a.W_ - b.W_).max() < 1e-12


@pytest.mark.parametrize(
    ("S", "k"), [(np.zeros((5, 5)), 5), (np.diag([1, 1, 0]), 3), (np.ones((6, 6)), 1)]
)
def test_odd_graphs(S, k):
    model = fit(S, k)
    assert model.converged_
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(k))


def test_single_precision():
    S, y = block_graph(np.random.default_rng(6), [20, 20])
    model = fit(S.astype(np.float32), 2)
    assert model.W_.dtype == np.float64
    assert accuracy(y, model.labels_) == 1


@pytest.mark.parametrize(
    ("lam", "message"),
    [
        (0, "lam must be a finite number above 0"),
        (None, "lam must be a number above 0"),
        ("automatic", "Unknown lam 'automatic'"),
    ],
)
def test_bad_lam(lam, message):
    with pytest.raises((ValueError, TypeError), match=message):
        DirectSC(2, lam=lam).fit(np.arange(20.0).reshape(10, 2))
