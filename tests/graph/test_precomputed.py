"""Neighbours that were found elsewhere."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from lordclust.graph import KNNGraph
from models import PAPER


def points(n, d, seed=0):
    """Overlapping clusters: neighbours are not always of the same."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, d))[rng.integers(5, size=n)] + rng.normal(size=(n, d))


@pytest.fixture
def X():
    return points(200, 5)


@pytest.fixture
def S(X):
    return KNNGraph(12).build(X).toarray()


def test_indices_and_distances(X, S):
    d, index = NearestNeighbors(n_neighbors=12).fit(X).kneighbors()
    np.testing.assert_allclose(KNNGraph().from_neighbors(index, d).toarray(), S)


def test_the_sample_itself_and_missing_ones_are_left_out(X, S):
    d, index = NearestNeighbors(n_neighbors=13).fit(X).kneighbors(X)
    assert np.all(index[:, 0] == np.arange(200))
    np.testing.assert_allclose(KNNGraph().from_neighbors(index, d).toarray(), S)
    index, d = (
        np.pad(index, ((0, 0), (0, 1)), constant_values=-1),
        np.pad(d, ((0, 0), (0, 1)), constant_values=np.inf),
    )
    np.testing.assert_allclose(KNNGraph().from_neighbors(index, d).toarray(), S)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_matrix])
def test_graph_of_scikit_learn(X, S, form):
    D = form(kneighbors_graph(X, 12, mode="distance"))
    graph = KNNGraph(metric="precomputed")
    np.testing.assert_allclose(graph.build(D).toarray(), S)


def test_the_nearest_of_more(X, S):
    D = kneighbors_graph(X, 30, mode="distance")
    graph = KNNGraph(12, metric="precomputed")
    np.testing.assert_allclose(graph.build(D).toarray(), S)


def test_all_distances(X, S):
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    graph = KNNGraph(12, metric="precomputed")
    np.testing.assert_allclose(graph.build(D).toarray(), S)


def test_include_self(X):
    S = KNNGraph(12, include_self=True).build(X).toarray()
    D = kneighbors_graph(X, 30, mode="distance")
    graph = KNNGraph(12, "precomputed", include_self=True)
    np.testing.assert_allclose(graph.build(D).toarray(), S)


def test_rows_of_different_lengths_copies_and_lonely_samples():
    index = [[1, 2, -1], [0, -1, -1], [0, 1, 1], [-1, -1, -1]]
    d = [[0.0, 2.0, 9.0], [0.0, 9, 9], [2.0, 3.0, 1.0], [9.0, 9, 9]]
    S = KNNGraph().from_neighbors(index, d)
    assert S[0, 1] == 1.0
    assert 0 < S[1, 2] < 1
    assert np.all(S.toarray()[3] == 0)
    assert (S != S.T).nnz == 0


def test_a_model_takes_distances(X):
    D = kneighbors_graph(X, 12, mode="distance")
    model = PAPER(5, affinity=KNNGraph(metric="precomputed")).fit(D)
    same = PAPER(5, affinity=KNNGraph(12)).fit(X)
    assert np.mean(model.labels_ == same.labels_) > 0.99
    with pytest.raises(ValueError, match="fitted on distances"):
        model.predict(D)


def test_refusals(X):
    ready = KNNGraph(metric="precomputed")
    with pytest.raises(ValueError, match=r"distances of shape \(n, n\).*\(200, 5\)"):
        ready.build(X)
    with pytest.raises(ValueError, match=r"0 or more, got -1\.0.*not similarities"):
        ready.build([[0, -1.0], [1.0, 0]])
    with pytest.raises(ValueError, match="got NaN or infinity"):
        ready.build([[0, np.nan], [1.0, 0]])
    with pytest.raises(ValueError, match="has no edges"):
        ready.build(sparse.csr_array((3, 3)))
    with pytest.raises(ValueError, match=r"same shape \(n, m\).*\(3, 1\)"):
        KNNGraph().from_neighbors(np.zeros((3, 1), int), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="from 0 to 1, the samples, or -1"):
        KNNGraph().from_neighbors([[2], [0]], [[1.0], [1.0]])
    with pytest.raises(ValueError, match=r"n_neighbors must be at most 1.*got 3"):
        KNNGraph(3).from_neighbors([[1], [0]], [[1.0], [1.0]])
    with pytest.raises(ValueError, match="distances must be real numbers"):
        KNNGraph().from_neighbors([[1], [0]], [["a"], ["b"]])
