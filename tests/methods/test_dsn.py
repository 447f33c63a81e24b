"""DSN: Z is the nearest doubly stochastic matrix, and its spectrum is clustered."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import DSN
from lordclust.methods._solvers.learned import prepare
from lordclust.metrics import accuracy
from strategies import block_graph, graphs

S, TRUTH = block_graph(np.random.default_rng(0), [20, 20, 20])
SOLVERS = ["newton", "dykstra", "von_neumann"]


def on_graph(S, k=3, **params):
    return DSN(k, affinity="precomputed", random_state=0, **params).fit(S)


def partition_matrix(labels):
    same = labels[:, None] == labels
    return same / same.sum(axis=1)


def test_four_points_by_hand():
    # Pairs (0, 1) and (2, 3) have 0.9, all others 0.2, the diagonal is 0: a row sums
    # to 1.3. All rows are alike, so Z = max(S - s, 0) with (0.9 - s) + 2 (0.2 - s) = 1:
    # s = 0.1, and the diagonal stays 0. Each row is 3 * 0.1^2 away.
    S = np.full((4, 4), 0.2)
    S[[0, 1, 2, 3], [1, 0, 3, 2]] = 0.9
    model = on_graph(S, 2, normalize=None)
    pair, cross = np.kron(np.eye(2), [[0, 1], [1, 0]]), np.ones((4, 4))
    expected = 0.8 * pair + 0.1 * (cross - np.eye(4) - pair)
    np.testing.assert_allclose(model.affinity_matrix_, expected, atol=1e-12)
    assert model.objective_ == pytest.approx(0.12)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("normalize", ["sym", "sum", None])
def test_doubly_stochastic(solver, normalize):
    model = on_graph(S, solver=solver, normalize=normalize, max_iter=5000)
    Z = model.affinity_matrix_
    assert Z.min() >= 0
    np.testing.assert_array_equal(Z, Z.T)
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1.01e-8)
    assert model.residual_ == pytest.approx(np.abs(Z.sum(axis=1) - 1).max())
    distance = np.linalg.norm(Z - prepare(S, normalize)) ** 2
    assert model.objective_ == pytest.approx(distance)
    assert model.converged_


def test_the_published_algorithm_ends_farther_away():
    newton, dykstra, published = (on_graph(S, solver=solver) for solver in SOLVERS)
    np.testing.assert_allclose(
        dykstra.affinity_matrix_, newton.affinity_matrix_, atol=1e-6
    )
    assert published.objective_ > newton.objective_ * (1 + 1e-6)
    assert newton.n_iter_ < 15 < published.n_iter_


@given(graphs(min_n=3))
def test_any_graph(S):
    model = on_graph(S, 2, n_init=1)
    Z = model.affinity_matrix_
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1.01e-8)
    assert np.isfinite(model.embedding_).all()


def test_a_partition_matrix_is_returned():
    Z = partition_matrix(np.repeat([0, 1, 2], 4))
    model = on_graph(Z)
    np.testing.assert_allclose(model.affinity_matrix_, Z, atol=1e-12)
    assert model.objective_ < 1e-20


def test_blocks_are_found():
    assert accuracy(TRUTH, on_graph(S).labels_) == 1


def test_scale_of_S():
    plain = on_graph(S)
    for scale in (1e-12, 1e12):
        model = on_graph(scale * S)
        np.testing.assert_allclose(
            model.affinity_matrix_, plain.affinity_matrix_, atol=1e-9
        )
    # Without normalisation the scale decides.
    raw = [on_graph(c * S, normalize=None).affinity_matrix_ for c in (0.1, 1.0)]
    assert np.abs(raw[0] - raw[1]).max() > 0.1


@pytest.mark.parametrize("scale", [1e-12, 1e6, 1e12])
def test_extreme_scales_without_normalisation(scale):
    Z = on_graph(scale * S, normalize=None).affinity_matrix_
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1.01e-8)


def test_sparse_is_dense():
    np.testing.assert_array_equal(
        on_graph(S).affinity_matrix_, on_graph(S.toarray()).affinity_matrix_
    )


def test_single_precision():
    small = on_graph(S.astype(np.float32))
    np.testing.assert_allclose(
        small.affinity_matrix_, on_graph(S).affinity_matrix_, atol=1e-5
    )


@pytest.mark.parametrize("k", [1, 12])
def test_extreme_numbers_of_clusters(k):
    X = np.random.default_rng(0).standard_normal((12, 2))
    labels = DSN(k, random_state=0).fit_predict(X)
    assert len(np.unique(labels)) == k


def test_isolated_samples_and_components():
    blocks = sp.block_diag([np.ones((6, 6)), np.ones((6, 6)), np.zeros((2, 2))])
    model = on_graph(sp.csr_array(blocks), 4)
    assert accuracy(np.repeat([0, 1, 2, 3], [6, 6, 1, 1]), model.labels_) == 1
    assert np.isfinite(model.embedding_).all()


def test_an_empty_graph():
    model = on_graph(np.zeros((5, 5)), 2, normalize=None)
    np.testing.assert_allclose(model.affinity_matrix_, 1 / 5)
    assert np.isfinite(model.embedding_).all()


def test_too_few_sweeps_are_told():
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=3"):
        model = on_graph(S, solver="von_neumann", max_iter=3)
    assert not model.converged_
    assert model.residual_ > model.tol


def test_relabel():
    X, y = make_blobs(60, centers=3, random_state=1)
    model = DSN(3, random_state=0).fit(X)
    assert accuracy(y, model.relabel(5)) == accuracy(y, model.labels_)


def test_refusals():
    with pytest.raises(ValueError, match="Unknown solver 'sinkhorn'"):
        on_graph(S, solver="sinkhorn")
    with pytest.raises(ValueError, match="DSN holds n x n matrices"):
        on_graph(S, max_dense=59)
