"""What SymNMF and PHALS share: the problem, and how a fit treats special graphs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import PHALS, SymNMF
from lordclust.metrics import accuracy
from strategies import block_graph

BLOCKS, TRUTH = block_graph(np.random.default_rng(0), [20, 15, 10])
pytestmark = pytest.mark.parametrize("method", [SymNMF, PHALS])


def fit(method, S, k=3, **params):
    return method(k, affinity="precomputed", random_state=0, **params).fit(S)


def test_four_points(method):
    # Two edges, 0-1 and 2-3. S has eigenvalues 1, 1, -1, -1, so no V beats a loss of
    # (1 + 1) / 2; columns (1, 1, 0, 0) / sqrt(2) and (0, 0, 1, 1) / sqrt(2) reach it.
    S = np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]])
    model = fit(method, S, 2, tol=1e-8)
    assert model.objective_ == pytest.approx(1.0)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    one = np.kron(np.eye(2), [[1.0], [1.0]])
    atol = 1e-7 if method is PHALS else 1e-5
    np.testing.assert_allclose(model.V_, one / np.sqrt(2), atol=atol)
    np.testing.assert_allclose(model.membership_, one, atol=1e-4)


@pytest.mark.parametrize("c", [1e-12, 1e-3, 7.0, 1e12])
def test_scale_of_the_graph(method, c):
    one, other = fit(method, BLOCKS), fit(method, c * BLOCKS)
    np.testing.assert_allclose(other.V_, np.sqrt(c) * one.V_, rtol=1e-6, atol=1e-12)
    assert other.objective_ == pytest.approx(c**2 * one.objective_)


def test_sparse_is_dense(method):
    one, other = fit(method, BLOCKS), fit(method, BLOCKS.toarray())
    np.testing.assert_allclose(one.V_, other.V_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_numbers(method, dtype):
    S = (3 * BLOCKS.toarray()).round().astype(dtype)
    one, other = fit(method, S), fit(method, S.astype(float))
    np.testing.assert_array_equal(one.V_, other.V_)
    assert one.V_.dtype == np.float64


def test_isolated_vertices_join_the_largest_cluster(method):
    S = sparse.block_diag([BLOCKS, np.zeros((2, 2))], format="csr")
    model = fit(method, S)
    assert (model.labels_[-2:] == 0).all()
    assert (model.V_[-2:] == 0).all()
    np.testing.assert_allclose(model.membership_[-2:], 1 / 3)
    assert accuracy(TRUTH, model.labels_[:-2]) == 1


def test_graph_without_edges(method):
    with pytest.warns(ConvergenceWarning, match="found 1 of the 2 clusters"):
        model = fit(method, np.zeros((4, 4)), 2)
    assert model.objective_ == 0
    np.testing.assert_allclose(model.membership_, 0.5)


def test_as_many_clusters_as_samples(method):
    model = fit(method, np.eye(4), 4, tol=1e-6)
    assert len(set(model.labels_)) == 4
    assert model.objective_ < 1e-6
