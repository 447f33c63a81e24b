import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lordclust import BLoRD
from lordclust.graph import KNNGraph, ScaleWarning, _brute, knn

LINE = np.array([[0.0], [1.0], [3.0], [7.0]])


def slow_graph(X, q, nth=7, diagonal=0.0):
    """The formula, with loops and all distances."""
    n = len(X)
    d = cdist(X, X)
    order = [sorted(set(range(n)) - {i}, key=lambda j: (d[i, j], j)) for i in range(n)]
    sigma = np.array([d[i, order[i][min(nth, n - 1) - 1]] for i in range(n)])
    S = diagonal * np.eye(n)
    for i in range(n):
        for j in order[i][:q]:
            S[i, j] = S[j, i] = np.exp(-(d[i, j] ** 2) / (sigma[i] * sigma[j]))
    return S


def points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def is_symmetric(S):
    return (S != S.T).nnz == 0


def test_four_points_by_hand():
    S = KNNGraph(1, scale_neighbor=2).build(LINE).toarray()
    sigma = [3, 2, 3, 6]  # second neighbours: 0-3, 1-3, 3-0, 7-1
    expected = np.zeros((4, 4))
    for i, j, d in [(0, 1, 1), (1, 2, 2), (2, 3, 4)]:
        expected[i, j] = expected[j, i] = np.exp(-(d**2) / (sigma[i] * sigma[j]))
    np.testing.assert_allclose(S, expected, rtol=1e-14)


@pytest.mark.parametrize(("n", "d"), [(5, 2), (40, 3), (200, 20)])
def test_equals_the_formula(n, d):
    X = points(n, d)
    q = min(n - 1, int(np.log2(n)) + 1)
    np.testing.assert_allclose(KNNGraph()(X).toarray(), slow_graph(X, q), rtol=1e-10)


@pytest.mark.parametrize(("n", "q"), [(2, 1), (3, 2), (4, 3), (63, 6), (64, 7)])
def test_default_number_of_neighbours(n, q):
    assert KNNGraph().n_others(n) == q


def test_include_self_counts_the_point_and_fills_the_diagonal():
    X = points(30, 2)
    S = KNNGraph(5, include_self=True).build(X)
    np.testing.assert_allclose(S.toarray(), slow_graph(X, 4, diagonal=1), rtol=1e-10)
    assert KNNGraph(include_self=True).build(X[:2]).toarray()[0, 0] == 1.0


def test_canonical_csr_with_narrow_indices():
    S = KNNGraph().build(points(50, 3))
    assert isinstance(S, sparse.csr_array)
    assert S.has_canonical_format
    assert S.dtype == np.float64
    assert S.indices.dtype == np.int32
    assert S.diagonal().sum() == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 2), min_size=2, max_size=40))
def test_copies_and_ties_never_give_nan(rows):
    X = np.array(rows)
    if np.ptp(X, axis=0).max() == 0:
        with pytest.raises(ValueError, match=r"all \d+ rows are equal"):
            KNNGraph().build(X)
        return
    S = KNNGraph().build(X)
    assert is_symmetric(S)
    assert ((S.data > 0) & (S.data <= 1)).all()
    i, j = S.nonzero()
    assert (S.data[(X[i] == X[j]).all(axis=1)] == 1.0).all()


def test_twenty_copies_have_weight_one():
    X = np.vstack([np.tile(points(1, 30), (20, 1)), points(20, 30, seed=1)])
    S = KNNGraph(3).build(X).toarray()
    assert set(np.unique(S[:20, :20])) == {0.0, 1.0}
    assert np.isfinite(S).all()


def test_only_copies_among_the_neighbours():
    S = KNNGraph(2).build(np.repeat([[0.0], [1.0]], 20, axis=0)).toarray()
    assert set(np.unique(S[:20, :20])) == {0.0, 1.0}
    assert set(np.unique(S[:20, 20:]).round(6)) == {0.0, round(np.exp(-1), 6)}


@pytest.mark.parametrize("power", [-500, -40, 40, 500])
def test_the_unit_of_x_does_not_matter(power):
    X = points(60, 4)
    S, scaled = KNNGraph().build(X), KNNGraph().build(np.ldexp(X, power))
    np.testing.assert_array_equal(S.toarray(), scaled.toarray())


@pytest.mark.parametrize("factor", [1e-150, 1e150, 1e300])
def test_extreme_numbers(factor):
    X = points(60, 4)
    S, scaled = KNNGraph().build(X), KNNGraph().build(factor * X)
    np.testing.assert_allclose(S.toarray(), scaled.toarray(), rtol=1e-10)


def test_far_origin():
    X = points(60, 20)
    S, far = KNNGraph().build(X), KNNGraph().build(X + 1e6)
    np.testing.assert_allclose(S.toarray(), far.toarray(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float16])
def test_number_types_agree(dtype):
    X = np.random.default_rng(0).integers(0, 255, (80, 20))
    S = KNNGraph().build(X.astype(np.float64))
    np.testing.assert_array_equal(KNNGraph()(X.astype(dtype)).toarray(), S.toarray())


def test_bool_and_sparse_samples():
    X = np.random.default_rng(0).random((80, 40)) < 0.2
    S = KNNGraph().build(X.astype(float)).toarray()
    np.testing.assert_array_equal(KNNGraph().build(X).toarray(), S)
    found = KNNGraph().build(sparse.csc_matrix(X.astype(float))).toarray()
    assert np.mean(found != S) < 0.05  # ties beyond the spare candidates may differ
    assert is_symmetric(KNNGraph().build(sparse.csr_array(X.astype(float))))


def test_sparse_equals_dense_without_ties():
    X = points(50, 30) * (points(50, 30, seed=1) > 0)
    S = KNNGraph().build(sparse.csr_array(X)).toarray()
    np.testing.assert_allclose(S, KNNGraph().build(X).toarray(), rtol=1e-10)


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "chebyshev"])
def test_other_metrics(metric):
    X = points(60, 5)
    names = {"manhattan": "cityblock"}
    S = KNNGraph(5, metric=metric).build(X)
    assert is_symmetric(S)
    d = cdist(X, X, names.get(metric, metric))
    sigma = np.sort(d, axis=1)[:, 7]
    i, j = S.nonzero()
    expected = np.exp(-(d[i, j] ** 2) / (sigma[i] * sigma[j]))
    np.testing.assert_allclose(S.data, expected, rtol=1e-6)


def test_order_of_samples_does_not_matter():
    X = points(100, 6)
    order = np.random.default_rng(1).permutation(100)
    S = KNNGraph().build(X).toarray()
    shuffled = KNNGraph().build(X[order]).toarray()
    np.testing.assert_array_equal(shuffled, S[np.ix_(order, order)])


def test_x_is_not_changed_and_repeats_agree():
    X = points(50, 3)
    before = X.copy()
    first, second = KNNGraph().build(X), KNNGraph().build(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(first.toarray(), second.toarray())


def test_is_a_plain_estimator():
    graph = clone(KNNGraph(5, metric="cosine"))
    assert graph.get_params()["n_neighbors"] == 5
    graph.build(points(20, 3))
    assert set(vars(graph)) == {*graph.get_params(), "recall_", "scales_"}
    assert vars(clone(graph)) == graph.get_params()


class TestRefusals:
    @pytest.mark.parametrize("q", [4, 100])
    def test_too_many_neighbours(self, q):
        text = rf"n_neighbors must be from 1 to 3 for 4 samples.*got {q}"
        with pytest.raises(ValueError, match=text):
            KNNGraph(q).build(LINE)

    def test_itself_alone_is_no_neighbour(self):
        with pytest.raises(ValueError, match="from 2 to 4 for 4 samples"):
            KNNGraph(1, include_self=True).build(LINE)

    @pytest.mark.parametrize("q", [0, -1, 2.5, True, "3"])
    def test_not_a_count(self, q):
        with pytest.raises(ValueError, match="n_neighbors must be a positive integer"):
            KNNGraph(q).build(LINE)
        with pytest.raises(ValueError, match="scale_neighbor must be a positive int"):
            KNNGraph(scale_neighbor=q).build(LINE)

    def test_all_equal(self):
        with pytest.raises(ValueError, match="all 5 rows are equal"):
            KNNGraph().build(np.full((5, 3), 0.1))

    def test_one_sample(self):
        with pytest.raises(ValueError, match="at least 2 samples, got 1"):
            KNNGraph().build([[1.0]])

    def test_nan(self):
        with pytest.raises(ValueError, match="NaN"):
            KNNGraph().build([[1.0], [np.nan]])


class TestBrute:
    """The search for large X, driven with small tiles."""

    @pytest.fixture(autouse=True)
    def small_tiles(self, monkeypatch):
        monkeypatch.setattr(_brute, "TILE_ROWS", 32)
        monkeypatch.setattr(_brute, "TILE_COLS", 48)

    @pytest.fixture
    def always(self, monkeypatch):
        monkeypatch.setattr(knn, "LARGE", 2)

    def slow(self, X, count):
        d = cdist(X, X)
        np.fill_diagonal(d, np.inf)
        index = np.argsort(d, axis=1, kind="stable")[:, :count]
        return index, np.take_along_axis(d, index, 1)

    @pytest.mark.parametrize("n_jobs", [None, 1, 3])
    @pytest.mark.parametrize("n", [20, 97, 300])
    def test_equals_all_distances(self, n, n_jobs):
        X = points(n, 24)
        index, d = _brute.nearest(X, 9, 8, 1.0, n_jobs)
        expected, distance = self.slow(X, 9)
        np.testing.assert_array_equal(index, expected)
        np.testing.assert_allclose(d, distance, rtol=1e-12)

    def test_integers_with_many_ties(self):
        X = np.random.default_rng(0).integers(0, 2, (300, 20)).astype(np.uint8)
        _, d = _brute.nearest(X, 9, 8, 1.0)
        np.testing.assert_allclose(d, self.slow(X, 9)[1], rtol=1e-12)

    def test_crowds_of_copies(self):
        X = np.repeat(points(5, 20), 40, axis=0)
        _, d = _brute.nearest(X, 9, 8, 1.0)
        assert (d == 0).all()

    def test_rounding_of_float32_does_not_show(self):
        X = points(150, 20) * 1e-4 + 1.0  # hard for float32 without a centre
        X[0] = 50.0  # and the centre is far from all
        index, _ = _brute.nearest(X, 9, 8, 2.0**-6)
        np.testing.assert_array_equal(index, self.slow(X, 9)[0])

    @pytest.mark.usefixtures("always")
    def test_graph_is_the_same_by_either_search(self, monkeypatch):
        X = np.random.default_rng(0).integers(0, 255, (120, 30)).astype(np.uint8)
        fast = KNNGraph().build(X)
        monkeypatch.setattr(knn, "LARGE", 1000)
        np.testing.assert_allclose(fast.toarray(), KNNGraph().build(X).toarray())
        assert is_symmetric(fast)


def test_features_of_different_scales_are_warned_of():
    X = points(40, 3) * [1, 300, 1]
    with pytest.warns(ScaleWarning, match="features 1 and") as caught:
        KNNGraph().build(X)
    assert caught[0].filename == __file__
    with pytest.warns(ScaleWarning):
        BLoRD(2).fit(X)
    make_pipeline(StandardScaler(), BLoRD(2)).fit(X)
    KNNGraph(metric="cosine").build(X)
    KNNGraph().build(sparse.csr_array(X))


def test_a_step_of_a_pipeline():
    X = np.concatenate([points(20, 3), points(20, 3, seed=1) + 9])
    graph = KNNGraph(5)
    S = graph.fit_transform(X)
    assert (KNNGraph(5).build(X) != S).nnz == 0
    assert (graph.n_samples_fit_, graph.n_features_in_) == (40, 3)
    W = graph.transform(X[:3] + 0.1)
    assert W.shape == (3, 40)
    np.testing.assert_allclose(W.sum(axis=1), 1)
    np.testing.assert_array_equal(graph.transform(X[:3]).toarray(), np.eye(40)[:3])
    model = make_pipeline(KNNGraph(5), BLoRD(2, affinity="precomputed")).fit(X)
    alone = BLoRD(2, affinity=KNNGraph(5)).fit(X)
    np.testing.assert_array_equal(model[-1].affinity_matrix_.data, S.data)
    np.testing.assert_array_equal(model.predict(X + 0.1), alone.predict(X + 0.1))
    assert len(graph.get_feature_names_out()) == 40


def test_what_a_graph_cannot_transform():
    with pytest.raises(NotFittedError):
        KNNGraph().transform(LINE)
    graph = KNNGraph(2).fit(LINE)
    with pytest.raises(ValueError, match="X has 2 features, but KNNGraph is expecting"):
        graph.transform([[1.0, 2.0]])
    graph = KNNGraph(metric="precomputed").fit(cdist(LINE, LINE))
    with pytest.raises(ValueError, match="has no samples to compare new ones with"):
        graph.transform(cdist(LINE, LINE))


class TestCrowds:
    """Samples with more copies than neighbours."""

    X = np.repeat([[0.0], [1.0], [2.0], [10.0]], [50, 50, 3, 50], axis=0)

    def test_copies_do_not_hide_other_neighbours(self):
        graph = KNNGraph(10)
        S = graph.build(self.X)
        others = self.X.ravel()[:, None] != self.X.ravel()
        assert np.all((S.toarray() * others).sum(axis=1) > 0)
        assert np.all((S.toarray() * ~others).sum(axis=1) > 0)  # nor each other
        assert (S != S.T).nnz == 0

    def test_their_scale_is_the_distance_of_a_different_neighbour(self):
        graph = KNNGraph(10, scale_neighbor=2)
        graph.build(self.X)
        assert graph.scales_[0] == pytest.approx(graph.scales_[-1] * 2 / 9)

    def test_every_copy_of_a_neighbour_is_met(self):
        X = np.repeat([[0.0], [1.0]], 40, axis=0)
        S = KNNGraph(8).build(X).toarray()
        assert np.ptp((S[:40, 40:] > 0).sum(axis=0)) == 0

    def test_distances_that_are_rounded_to_zero_make_no_crowd(self):
        X = np.random.default_rng(18).standard_normal((18, 3))
        X[15, 1] = 1e308  # the others are as if they were copies
        assert KNNGraph().build(X).max() <= 1

    def test_without_crowds_nothing_changes(self):
        X = np.random.default_rng(0).standard_normal((60, 2))
        X[1] = X[0]
        _, d, _ = knn.find_nearest(X, 7, "euclidean", 1)
        graph = KNNGraph(7)
        graph.build(X)
        np.testing.assert_array_equal(graph.scales_, d[:, 6])
