"""Approximate neighbours, and neighbours found elsewhere."""

import importlib.util

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from lordclust import BLoRD
from lordclust.graph import KNNGraph, _ann, knn
from lordclust.graph.euclidean import FRAMES

LIBRARIES = [
    "cells",
    *(
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                importlib.util.find_spec(name) is None,
                reason=f"{name} is not installed",
            ),
        )
        for name in _ann.INDEXES
    ),
]
METRICS = list(FRAMES)


def points(n, d, seed=0):
    """Overlapping clusters: no index finds their neighbours for nothing."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, d))[rng.integers(5, size=n)] + rng.normal(size=(n, d))


def true_neighbors(X, count, metric):
    """The q nearest by all pairs, without any code of ours."""
    if metric == "euclidean":
        D = ((X[:, None] - X) ** 2).sum(axis=2)
    else:
        G = X @ X.T
        length = np.sqrt(np.diag(G))
        D = -G if metric == "inner_product" else -G / np.outer(length, length)
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1)[:, :count]


def recall(found, expected):
    pairs = zip(found, expected, strict=True)
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in pairs])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("metric", METRICS)
def test_recall_against_all_pairs(library, metric):
    X = points(1500, 20)
    index, d, estimate = knn.find_nearest(X, 10, metric, search=library, recall=0.97)
    true = recall(index, true_neighbors(X, 10, metric))
    assert true >= 0.95
    assert abs(estimate - true) < 0.02
    assert np.all(np.diff(d, axis=1) >= 0)
    assert not np.any(index == np.arange(len(X))[:, None])


@pytest.mark.parametrize("metric", METRICS)
def test_exact_search_finds_all(metric):
    X = points(400, 6)
    index, _ = knn.nearest(X, 10, metric)
    assert recall(index, true_neighbors(X, 10, metric)) == 1.0


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_those_of_the_exact_search(library, metric):
    X = points(600, 12)
    index, d, _ = knn.find_nearest(X, 8, metric, search=library, recall=1.0)
    same, exact = knn.nearest(X, 8, metric)
    agree = index == same
    assert agree.mean() > 0.99
    np.testing.assert_allclose(d[agree], exact[agree], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_graph_is_that_of_the_exact_search(library):
    X = points(800, 20)
    graph = KNNGraph(search=library, recall=1.0)
    S, exact = graph.build(X), KNNGraph().build(X)
    assert graph.recall_ > 0.99
    assert (S != S.T).nnz == 0
    assert abs(S - exact).sum() < 0.02 * exact.sum()


@pytest.mark.parametrize("library", LIBRARIES)
def test_threads_and_repeats_change_no_bit(library):
    X = points(3000, 16)
    parts = [
        KNNGraph(search=library, n_jobs=n_jobs).build(X) for n_jobs in (1, 4, None, 1)
    ]
    for S in parts[1:]:
        assert S.data.tobytes() == parts[0].data.tobytes()
        assert S.indices.tobytes() == parts[0].indices.tobytes()


@pytest.mark.parametrize("library", LIBRARIES)
def test_float32_and_float64_samples_agree(library):
    X = points(1000, 16).astype(np.float32)
    S = KNNGraph(search=library).build(X)
    same = KNNGraph(search=library).build(X.astype(np.float64))
    assert S.data.tobytes() == same.data.tobytes()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("power", [-400, 400])
def test_the_unit_of_x_does_not_matter(library, power):
    X = points(500, 16)
    S = KNNGraph(search=library).build(X)
    scaled = KNNGraph(search=library).build(np.ldexp(X, power))
    assert S.data.tobytes() == scaled.data.tobytes()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_point_far_from_the_origin(library):
    X = points(500, 16)
    far = KNNGraph(search=library).build(X + 1e6)
    S = KNNGraph(search=library).build(X)
    assert abs(S - far).sum() < 1e-3 * S.sum()


@pytest.mark.parametrize("library", LIBRARIES)
def test_crowds_of_copies(library):
    X = np.repeat(points(12, 10), 60, axis=0)
    S = KNNGraph(8, search=library, recall=0.9).build(X)  # an old faiss is lost here
    assert (S.data == 1.0).all()
    assert S.nnz >= 8 * len(X)


@pytest.mark.parametrize("library", LIBRARIES)
def test_fewer_samples_than_neighbours_wanted_beside(library):
    X = points(6, 10)
    S = KNNGraph(3, search=library).build(X)
    np.testing.assert_allclose(S.toarray(), KNNGraph(3).build(X).toarray())


def test_what_the_index_does_not_find_is_searched_among_all(monkeypatch):
    monkeypatch.setattr(
        _ann.FaissIndex, "search", lambda self, x, m, w: np.full((len(x), m), -1)
    )
    X = points(300, 10)
    index, _, found = knn.find_nearest(X, 5, search="faiss")
    np.testing.assert_array_equal(index, knn.nearest(X, 5)[0])
    assert found == 1.0


def test_memory_is_taken_in_blocks(monkeypatch):
    monkeypatch.setattr(_ann, "BLOCK_ROWS", 128)
    monkeypatch.setattr(_ann, "BLOCK_NUMBERS", 2048)
    X = points(1000, 16)
    S, exact = KNNGraph(search="faiss").build(X), KNNGraph().build(X)
    assert abs(S - exact).sum() < 0.05 * exact.sum()


# -- the choice --------------------------------------------------------------------


def test_chosen_by_size(monkeypatch):
    monkeypatch.setattr(knn, "APPROXIMATE_FROM", 400)
    X = points(400, 12)
    assert knn._chosen(X, "euclidean", "auto") == "cells"
    assert knn._chosen(X, "cosine", "auto") == "cells"
    assert knn._chosen(X[:399], "euclidean", "auto") == "exact"
    assert knn._chosen(X, "euclidean", "exact") == "exact"
    assert knn._chosen(X[:, :8], "euclidean", "auto") == "exact"  # a tree is quick
    assert knn._chosen(X, "manhattan", "auto") == "exact"
    assert knn._chosen(sparse.csr_array(X), "euclidean", "auto") == "exact"


def test_a_library_that_is_missing_is_told(monkeypatch):
    monkeypatch.setattr(_ann, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'Run: pip install "lordclust\[ann\]"'):
        KNNGraph(search="faiss").build(points(120, 12))


def test_recall_is_reported_and_the_given_graph_left_alone():
    X = points(3000, 40)
    graph = KNNGraph(search="faiss", recall=0.5)
    model = BLoRD(5, affinity=graph, tau=0.1).fit(X)
    assert 0.5 <= model.recall_ < 1.0
    assert set(vars(graph)) == set(graph.get_params())
    assert BLoRD(5, tau=0.1).fit(X).recall_ == 1.0
    built = clone(graph)
    built.build(X)
    assert built.recall_ == model.recall_
    built.set_params(search="exact").build(X)
    assert built.recall_ == 1.0


def test_a_recall_out_of_reach_is_told(monkeypatch):
    monkeypatch.setattr(_ann, "LAST_WIDTH", 32)
    monkeypatch.setattr(_ann, "BUILD_WIDTH", 4)
    monkeypatch.setattr(_ann, "LINKS", 2)
    X = np.random.default_rng(0).normal(size=(3000, 40))
    graph = KNNGraph(search="faiss", recall=1.0)
    with pytest.warns(UserWarning, match=r"found \d+\.\d% of the nearest.*recall=1"):
        graph.build(X)
    assert graph.recall_ < 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_part_done_rises_to_one(library):
    done = []
    KNNGraph(search=library).build(points(500, 12), callback=done.append)
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)


def test_new_samples_after_an_approximate_search():
    X = points(600, 16)
    model = BLoRD(5, affinity=KNNGraph(search="faiss")).fit(X)
    assert np.mean(model.predict(X) == model.labels_) > 0.99


def test_new_samples_by_inner_product():
    X = points(300, 6)
    model = BLoRD(3, affinity=KNNGraph(metric="inner_product")).fit(X)
    new = 3 * points(40, 6, seed=1)
    P = model.predict_proba(new)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    alone = np.vstack([model.predict_proba(row[None]) for row in new])
    assert P.tobytes() == alone.tobytes()


# -- refusals ----------------------------------------------------------------------


def test_refusals():
    X = points(50, 12)
    with pytest.raises(ValueError, match=r"Unknown search 'fais'. Did you mean"):
        KNNGraph(search="fais").build(X)
    with pytest.raises(ValueError, match=r"needs dense samples.*metric='manhattan'"):
        KNNGraph(metric="manhattan", search="faiss").build(X)
    with pytest.raises(ValueError, match=r"needs dense samples.*got sparse samples"):
        KNNGraph(search="faiss").build(sparse.csr_array(X))
    with pytest.raises(ValueError, match=r"inner_product.*needs dense samples"):
        KNNGraph(metric="inner_product").build(sparse.csr_array(X))
    for bad in (0, 1.5, "high", True, np.nan):
        with pytest.raises(ValueError, match="recall must be a number above 0"):
            KNNGraph(search="faiss", recall=bad).build(X)


# -- ready graphs ------------------------------------------------------------------


class TestReady:
    @pytest.fixture
    def X(self):
        return points(200, 5)

    @pytest.fixture
    def S(self, X):
        return KNNGraph(12).build(X).toarray()

    def test_indices_and_distances(self, X, S):
        d, index = NearestNeighbors(n_neighbors=12).fit(X).kneighbors()
        np.testing.assert_allclose(KNNGraph().from_neighbors(index, d).toarray(), S)

    def test_the_sample_itself_and_missing_ones_are_left_out(self, X, S):
        d, index = NearestNeighbors(n_neighbors=13).fit(X).kneighbors(X)
        assert np.all(index[:, 0] == np.arange(200))
        np.testing.assert_allclose(KNNGraph().from_neighbors(index, d).toarray(), S)
        index, d = (
            np.pad(index, ((0, 0), (0, 1)), constant_values=-1),
            np.pad(d, ((0, 0), (0, 1)), constant_values=np.inf),
        )
        np.testing.assert_allclose(KNNGraph().from_neighbors(index, d).toarray(), S)

    @pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_matrix])
    def test_graph_of_scikit_learn(self, X, S, form):
        D = form(kneighbors_graph(X, 12, mode="distance"))
        graph = KNNGraph(metric="precomputed")
        np.testing.assert_allclose(graph.build(D).toarray(), S)

    def test_the_nearest_of_more(self, X, S):
        D = kneighbors_graph(X, 30, mode="distance")
        graph = KNNGraph(12, metric="precomputed")
        np.testing.assert_allclose(graph.build(D).toarray(), S)

    def test_all_distances(self, X, S):
        D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
        graph = KNNGraph(12, metric="precomputed")
        np.testing.assert_allclose(graph.build(D).toarray(), S)

    def test_include_self(self, X):
        S = KNNGraph(12, include_self=True).build(X).toarray()
        D = kneighbors_graph(X, 30, mode="distance")
        graph = KNNGraph(12, "precomputed", include_self=True)
        np.testing.assert_allclose(graph.build(D).toarray(), S)

    def test_rows_of_different_lengths_copies_and_lonely_samples(self):
        index = [[1, 2, -1], [0, -1, -1], [0, 1, 1], [-1, -1, -1]]
        d = [[0.0, 2.0, 9.0], [0.0, 9, 9], [2.0, 3.0, 1.0], [9.0, 9, 9]]
        S = KNNGraph().from_neighbors(index, d)
        assert S[0, 1] == 1.0
        assert 0 < S[1, 2] < 1
        assert np.all(S.toarray()[3] == 0)
        assert (S != S.T).nnz == 0

    def test_a_model_takes_distances(self, X):
        D = kneighbors_graph(X, 12, mode="distance")
        model = BLoRD(5, affinity=KNNGraph(metric="precomputed")).fit(D)
        same = BLoRD(5, affinity=KNNGraph(12)).fit(X)
        assert np.mean(model.labels_ == same.labels_) > 0.99
        with pytest.raises(ValueError, match="fitted on distances"):
            model.predict(D)

    def test_refusals(self, X):
        ready = KNNGraph(metric="precomputed")
        with pytest.raises(
            ValueError, match=r"distances of shape \(n, n\).*\(200, 5\)"
        ):
            ready.build(X)
        with pytest.raises(ValueError, match=r"0 or more, got -1\.0.*not similarities"):
            ready.build([[0, -1.0], [1.0, 0]])
        with pytest.raises(ValueError, match="got NaN or infinity"):
            ready.build([[0, np.nan], [1.0, 0]])
        with pytest.raises(ValueError, match="joins no two samples"):
            ready.build(sparse.csr_array((3, 3)))
        with pytest.raises(ValueError, match=r"same shape \(n, m\).*\(3, 1\)"):
            KNNGraph().from_neighbors(np.zeros((3, 1), int), np.zeros((3, 2)))
        with pytest.raises(ValueError, match="from 0 to 1, the samples, or -1"):
            KNNGraph().from_neighbors([[2], [0]], [[1.0], [1.0]])
        with pytest.raises(ValueError, match=r"asks for 3 others.*1 at most"):
            KNNGraph(3).from_neighbors([[1], [0]], [[1.0], [1.0]])
        with pytest.raises(ValueError, match="distances must be real numbers"):
            KNNGraph().from_neighbors([[1], [0]], [["a"], ["b"]])
