"""Exact and approximate searches for neighbours."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from lordclust.graph import KNNGraph, _cells, knn
from lordclust.graph.euclidean import SEARCH_SPACES
from models import PAPER

METRICS = list(SEARCH_SPACES)


def points(n, d, seed=0):
    """Overlapping clusters: neighbours are not always of the same."""
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


@pytest.mark.parametrize("metric", METRICS)
def test_recall_against_all_pairs(metric):
    X = points(1500, 20)
    index, d, estimate = knn.find_nearest(X, 10, metric, search="cells", recall=0.97)
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


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_those_of_the_exact_search(metric):
    X = points(600, 12)
    index, d, _ = knn.find_nearest(X, 8, metric, search="cells", recall=1.0)
    same, exact = knn.nearest(X, 8, metric)
    agree = index == same
    assert agree.mean() > 0.99
    np.testing.assert_allclose(d[agree], exact[agree], rtol=1e-9, atol=1e-12)


def test_the_graph_is_that_of_the_exact_search():
    X = points(800, 20)
    graph = KNNGraph(search="cells", recall=1.0)
    S, exact = graph.build(X), KNNGraph().build(X)
    assert graph.recall_ > 0.99
    assert (S != S.T).nnz == 0
    assert abs(S - exact).sum() < 0.02 * exact.sum()


def test_threads_and_repeats_change_no_bit():
    X = points(3000, 16)
    parts = [
        KNNGraph(search="cells", n_jobs=n_jobs).build(X) for n_jobs in (1, 4, None, 1)
    ]
    for S in parts[1:]:
        assert S.data.tobytes() == parts[0].data.tobytes()
        assert S.indices.tobytes() == parts[0].indices.tobytes()


def test_float32_and_float64_samples_agree():
    X = points(1000, 16).astype(np.float32)
    S = KNNGraph(search="cells").build(X)
    same = KNNGraph(search="cells").build(X.astype(np.float64))
    assert S.data.tobytes() == same.data.tobytes()


@pytest.mark.parametrize("power", [-400, 400])
def test_the_unit_of_x_does_not_matter(power):
    X = points(500, 16)
    S = KNNGraph(search="cells").build(X)
    scaled = KNNGraph(search="cells").build(np.ldexp(X, power))
    assert S.data.tobytes() == scaled.data.tobytes()


def test_a_point_far_from_the_origin():
    X = points(500, 16)
    far = KNNGraph(search="cells").build(X + 1e6)
    S = KNNGraph(search="cells").build(X)
    assert abs(S - far).sum() < 1e-3 * S.sum()


def test_crowds_of_copies():
    X = np.repeat(points(12, 10), 60, axis=0)
    S = KNNGraph(8, search="cells", recall=0.9).build(X)
    copies = np.arange(len(X)) // 60
    row, col = S.nonzero()
    assert (S.data[copies[row] == copies[col]] == 1.0).all()
    assert S.nnz >= 8 * len(X)


def test_fewer_samples_than_neighbours_wanted_beside():
    X = points(6, 10)
    S = KNNGraph(3, search="cells").build(X)
    np.testing.assert_allclose(S.toarray(), KNNGraph(3).build(X).toarray())


# -- the choice --------------------------------------------------------------------


def test_auto_depends_on_size_dimension_and_metric(monkeypatch):
    monkeypatch.setattr(knn, "APPROXIMATE_FROM", 400)
    X = points(400, 12)

    def is_exact(X, metric="euclidean", search="auto"):
        return knn.find_nearest(X, 5, metric, search=search)[2] is None

    assert not is_exact(X)
    assert not is_exact(X, "cosine")
    assert is_exact(X[:399])
    assert is_exact(X, search="exact")
    assert is_exact(X[:, :8])  # a tree is fast
    assert is_exact(X, "manhattan")
    assert is_exact(sparse.csr_array(X))


def test_recall_is_reported_and_the_given_graph_unchanged(monkeypatch):
    monkeypatch.setattr(_cells, "FEWEST", 4)  # of about 50
    X = points(3000, 40)
    graph = KNNGraph(search="cells", recall=0.5)
    model = PAPER(5, affinity=graph, tau=0.1).fit(X)
    assert 0.5 <= model.recall_ < 1.0
    assert set(vars(graph)) == set(graph.get_params())
    assert PAPER(5, tau=0.1).fit(X).recall_ == 1.0
    built = clone(graph)
    built.build(X)
    assert built.recall_ == model.recall_
    built.set_params(search="exact").build(X)
    assert built.recall_ == 1.0


def test_the_part_done_rises_to_one():
    done = []
    KNNGraph(search="cells").build(points(500, 12), callback=done.append)
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)


def test_new_samples_after_an_approximate_search():
    X = points(600, 16)
    model = PAPER(5, affinity=KNNGraph(search="cells")).fit(X)
    assert np.mean(model.predict(X) == model.labels_) > 0.99


def test_new_samples_by_inner_product():
    X = points(300, 6)
    model = PAPER(3, affinity=KNNGraph(metric="inner_product")).fit(X)
    new = 3 * points(40, 6, seed=1)
    P = model.predict_proba(new)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    alone = np.vstack([model.predict_proba(row[None]) for row in new])
    assert P.tobytes() == alone.tobytes()


# -- refusals ----------------------------------------------------------------------


def test_refusals():
    X = points(50, 12)
    for bad in ("faiss", "cell", None):
        with pytest.raises(
            ValueError,
            match=rf"search must be one of auto, exact, cells, got {bad!r}\. To use .*"
            r"pass them to KNNGraph\(\)\.from_neighbors",
        ):
            KNNGraph(search=bad).build(X)
    with pytest.raises(ValueError, match=r"needs dense samples.*metric='manhattan'"):
        KNNGraph(metric="manhattan", search="cells").build(X)
    with pytest.raises(ValueError, match=r"needs dense samples.*got sparse samples"):
        KNNGraph(search="cells").build(sparse.csr_array(X))
    with pytest.raises(ValueError, match=r"inner_product.*needs dense samples"):
        KNNGraph(metric="inner_product").build(sparse.csr_array(X))
    for bad in (0, 1.5, "high", True, np.nan):
        with pytest.raises(ValueError, match="recall must be a number above 0"):
            KNNGraph(search="cells", recall=bad).build(X)
