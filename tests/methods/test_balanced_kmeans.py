"""k-means with exact sizes."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods.balanced_kmeans import BalancedKMeans, balanced_lloyd
from lordclust.metrics import accuracy
from lordclust.rounding.transport import Bounds, assign_sizes, sizes_from
from strategies import generators


def inertia(X, labels):
    groups = [X[labels == j] for j in np.unique(labels)]
    return sum(((g - g.mean(axis=0)) ** 2).sum() for g in groups)


def best_halves(X):
    """The least inertia of all partitions into two halves."""
    n = len(X)
    halves = combinations(range(n), n // 2)
    return min(inertia(X, np.isin(np.arange(n), half)) for half in halves)


def test_squared_distances_decide():
    # Centres (0,0), (1,0), points (2,0), (3,3), one each: squared distances are 4, 1
    # and 18, 13. Straight is 4 + 13 = 17, crossed 1 + 18 = 19, though by unsquared
    # distances crossed is shorter: 1 + 4.24 < 2 + 3.61.
    X, C = np.array([[2.0, 0], [3, 3]]), np.array([[0.0, 0], [1, 0]])
    cost = ((X[:, None] - C) ** 2).sum(axis=2)
    labels = assign_sizes(cost, [1, 1])
    assert cost[[0, 1], labels].sum() == 17


def test_four_points_by_hand():
    # 0, 1, 2 | 9 is nearest, but halves must be 0, 1 | 2, 9: the means are 0.5 and
    # 5.5, the inertia 2 * 0.25 + 2 * 12.25 = 25.
    model = BalancedKMeans(2, random_state=0).fit([[0], [1], [2], [9]])
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    np.testing.assert_allclose(model.cluster_centers_, [[0.5], [5.5]])
    assert model.inertia_ == pytest.approx(25)
    assert model.objective_ == model.inertia_


@given(generators(), st.integers(1, 6), st.integers(6, 40))
def test_sizes_are_met_and_inertia_falls(rng, k, n):
    X = rng.standard_normal((n, 3))
    X -= X.mean(axis=0)
    sizes = sizes_from(rng.dirichlet(np.ones(k)) + 1e-9, n)
    found = balanced_lloyd(X, Bounds(sizes, sizes), X[:k], tol=1e-12)
    np.testing.assert_array_equal(np.bincount(found.labels, minlength=k), sizes)
    assert found.converged
    assert (np.diff(found.history) < 0).all()
    assert found.history[-1] == pytest.approx(inertia(X, found.labels), abs=1e-9)
    # The labels are the best ones for the centres left.
    cost = ((X[:, None] - found.centers) ** 2).sum(axis=2)
    best = cost[np.arange(n), assign_sizes(cost, sizes)].sum()
    assert cost[np.arange(n), found.labels].sum() == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_best_of_all_halves(seed):
    X = np.random.default_rng(seed).standard_normal((10, 2))
    model = BalancedKMeans(2, n_init=50, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(best_halves(X))


def test_free_sizes_of_kmeans_give_its_optimum():
    X, _ = make_blobs([10, 20, 40], random_state=1)
    free = KMeans(3, n_init=10, random_state=0).fit(X)
    sizes = np.bincount(free.labels_)
    model = BalancedKMeans(3, cluster_sizes=sizes, n_init=20, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(free.inertia_)
    assert accuracy(free.labels_, model.labels_) == 1


@pytest.mark.parametrize("sizes", [[10, 30, 60, 100], [60, 10, 100, 30]])
def test_sizes_keep_their_places(sizes):
    X, y = make_blobs(sizes, random_state=4, cluster_std=0.5)
    model = BalancedKMeans(4, cluster_sizes=sizes, random_state=0).fit(X)
    np.testing.assert_array_equal(model.sizes_, sizes)
    np.testing.assert_array_equal(model.labels_, y)
    means = [X[y == j].mean(axis=0) for j in range(4)]
    np.testing.assert_allclose(model.cluster_centers_, means)
    shares = np.array(sizes) / 200
    again = BalancedKMeans(4, proportions=shares, random_state=0).fit(X)
    np.testing.assert_array_equal(again.labels_, y)


def test_as_equal_as_can_be_by_default():
    X = np.random.default_rng(0).random((11, 2))
    model = BalancedKMeans(4, random_state=0).fit(X)
    np.testing.assert_array_equal(np.bincount(model.labels_), [3, 3, 3, 2])


def test_sparse_is_dense():
    X = np.random.default_rng(0).random((60, 5))
    X[X < 0.3] = 0
    dense = BalancedKMeans(3, random_state=0).fit(X)
    thin = BalancedKMeans(3, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(dense.cluster_centers_, thin.cluster_centers_)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_unit_and_place_of_X_do_not_matter(scale):
    X = np.random.default_rng(0).random((40, 3))
    expected = BalancedKMeans(4, random_state=0).fit(X)
    model = BalancedKMeans(4, random_state=0).fit(scale * (X + 7))
    np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_as_many_clusters_as_samples():
    X = np.random.default_rng(0).random((7, 2))
    model = BalancedKMeans(7, random_state=0).fit(X)
    assert len(set(model.labels_)) == 7
    assert model.inertia_ == pytest.approx(0, abs=1e-14)


def test_equal_samples():
    model = BalancedKMeans(3, random_state=0).fit(np.ones((6, 2)))
    np.testing.assert_array_equal(np.bincount(model.labels_), [2, 2, 2])
    assert model.inertia_ == 0


def test_a_cluster_of_size_zero():
    model = BalancedKMeans(3, cluster_sizes=[3, 0, 1], random_state=0)
    with pytest.warns(ConvergenceWarning, match="found 2 of the 3 clusters"):
        model.fit([[0.0], [1.0], [2.0], [9.0]])
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 2])
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"cluster_sizes": [2, 1]},
            "cluster_sizes must sum to the number of samples, 4",
        ),
        ({"cluster_sizes": [2.0, 2.0]}, "cluster_sizes must be integers"),
        ({"proportions": [0.5, 0.6]}, "proportions must sum to 1"),
        ({"cluster_sizes": [2, 2], "proportions": [0.5, 0.5]}, "Pass only one of them"),
        ({"tol": 0}, "tol must be a finite number above 0"),
        ({"n_init": 0}, "n_init must be a positive integer"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        BalancedKMeans(2, **params).fit([[0], [1], [2], [9]])


def test_stopped_early():
    X = np.random.default_rng(0).random((200, 2))
    model = BalancedKMeans(5, max_iter=1, n_init=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=1"):
        model.fit(X)
    np.testing.assert_array_equal(np.bincount(model.labels_), np.full(5, 40))


@given(generators(), st.integers(1, 5), st.integers(10, 40))
def test_sizes_stay_within_bounds_and_inertia_falls(rng, k, n):
    X = rng.standard_normal((n, 3))
    X -= X.mean(axis=0)
    bounds = Bounds(np.full(k, n // k // 2), np.full(k, -(-n // k) + 1))
    found = balanced_lloyd(X, bounds, X[:k], tol=1e-12)
    assert bounds.hold(found.labels)
    assert (np.diff(found.history) < 0).all()
    assert found.history[-1] == pytest.approx(inertia(X, found.labels))
    equal = balanced_lloyd(X, bounds, found.centers, tol=1e-12)
    assert equal.history[-1] == pytest.approx(found.history[-1])


def test_bounds_by_hand():
    # Without bounds 0, 1, 2 | 9, 11. With size_max=2 three clusters are needed.
    X = [[0.0], [1], [2], [9], [11]]
    free = BalancedKMeans(2, size_min=1, random_state=0).fit(X)
    np.testing.assert_array_equal(free.labels_, [0, 0, 0, 1, 1])
    assert free.inertia_ == pytest.approx(4)
    model = BalancedKMeans(3, size_max=2, random_state=0).fit(X)
    assert model.sizes_.tolist() == [2, 2, 1]
    assert model.inertia_ == pytest.approx(2.5)  # 0, 1 or 1, 2; the other alone


def test_bounds_of_each_cluster_keep_their_order():
    X, _ = make_blobs([50, 30, 20], cluster_std=0.3, random_state=0)
    low, high = [0.15, 45, 25], [25, 0.55, 35]
    model = BalancedKMeans(3, size_min=low, size_max=high, random_state=0).fit(X)
    assert model.sizes_.tolist() == [20, 50, 30]
    assert model.inertia_ == pytest.approx(KMeans(3, n_init=10).fit(X).inertia_)


@pytest.mark.parametrize(
    "other", [{"cluster_sizes": [2, 2]}, {"proportions": [0.5, 0.5]}]
)
def test_bounds_beside_sizes_are_refused(other):
    with pytest.raises(ValueError, match=r"size_max and .* were both given"):
        BalancedKMeans(2, size_max=3, **other).fit([[0], [1], [2], [9]])


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_an_outlier_is_not_alone_if_sizes_are_bounded(form):
    X = [[0, 0], [0.5, 0], [0.5, 1], [1, 1], [10, 10]]
    labels = BalancedKMeans(2, size_min=2, size_max=3, random_state=0).fit_predict(
        form(np.array(X))
    )
    np.testing.assert_array_equal(labels, [0, 0, 0, 1, 1])


@pytest.mark.parametrize(
    ("k", "low", "high"),
    [(3, 33, 34), (3, 20, 50), (3, 30, None), (3, None, 40), (20, 3, 40), (20, 5, 6)],
)
def test_bounds_on_one_side_or_both(k, low, high):
    X = np.random.default_rng(0).random((101, 2))
    model = BalancedKMeans(k, size_min=low, size_max=high, random_state=0).fit(X)
    assert model.sizes_.sum() == 101
    assert model.sizes_.min() >= (low or 1)
    assert model.sizes_.max() <= (high or 101)


def test_wide_bounds_give_k_means():
    X, _ = make_blobs(200, centers=4, random_state=0)
    model = BalancedKMeans(4, size_min=0, size_max=200, random_state=0).fit(X)
    free = KMeans(4, n_init=10, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(free.inertia_)


def test_a_sample_moves_if_its_centre_moves_too():
    # The sample at 4 is nearer to 2 than to 6.9, but leaving {0, 4} saves 8.
    X = np.array([0.0, 4.0, *[6.9] * 10])[:, None]
    start = np.array([[2.0], [6.9]])
    found = balanced_lloyd(X, Bounds(np.array([1, 1]), np.array([12, 12])), start)
    np.testing.assert_array_equal(found.labels, [0] + [1] * 11)
    np.testing.assert_allclose(found.history, [8.0, 2.9**2 * 10 / 11])
    assert found.converged
    fixed = balanced_lloyd(X, Bounds(np.array([2, 10]), np.array([2, 10])), start)
    np.testing.assert_allclose(fixed.history, [8.0])


def test_a_moved_centre_leaves_a_local_optimum():
    """Ten draws alone end at 3.161 or so from two of these seeds."""
    X = np.random.default_rng(2).random((160, 2))
    for seed in range(6):
        model = BalancedKMeans(8, random_state=seed).fit(X)
        assert model.inertia_ < 3.159
        assert (model.sizes_ == 20).all()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_assign_is_the_least_total_distance(kind):
    rng = np.random.default_rng(0)
    model = BalancedKMeans(3, random_state=0).fit(kind(rng.normal(size=(60, 2))))
    new = rng.normal(size=(4, 2))
    cost = ((new[:, None] - model.cluster_centers_) ** 2).sum(axis=2)

    def least(holds):
        every = (np.array(y) for y in product(range(3), repeat=4))
        return min(cost[range(4), y].sum() for y in every if holds(bounded(y)))

    def bounded(y):
        return np.bincount(y, minlength=3).tolist()

    for asked, holds in (
        ({"cluster_sizes": [0, 3, 1]}, lambda sizes: sizes == [0, 3, 1]),
        ({"size_min": 1}, lambda sizes: min(sizes) >= 1),
        ({"size_max": [4, 1, 1]}, lambda sizes: max(sizes[1:]) <= 1),
        ({"proportions": [0.5, 0.25, 0.25]}, lambda sizes: sizes == [2, 1, 1]),
        ({}, lambda sizes: sizes == [2, 1, 1]),
    ):
        labels = model.assign(kind(new), **asked)
        assert holds(bounded(labels)), asked
        assert cost[range(4), labels].sum() == pytest.approx(least(holds))
    with pytest.raises(ValueError, match="cluster_sizes"):
        model.assign(kind(new), cluster_sizes=[2, 1, 1], size_min=1)
