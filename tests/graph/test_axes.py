"""Searches in fewer axes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lordclust._core.keys import sample_keys
from lordclust.graph import KNNGraph, _cells, knn
from lordclust.graph._axes import principal_axes, reduced_spaces
from lordclust.graph.euclidean import SEARCH_SPACES


def flat_points(n=2500, d=150, rank=12, noise=0.02):
    """Points near a subspace, in a basis of their own."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = rng.normal(size=(n, rank)) @ basis[:rank] + noise * rng.normal(size=(n, d))
    return X.astype(np.float32)


def reduced(X, metric):
    space = SEARCH_SPACES[metric](X)
    order = np.argsort(sample_keys(space.base), kind="stable")
    with ThreadPoolExecutor(2) as pool:
        return space, list(reduced_spaces(space, order, pool))


def test_axes_are_orthonormal_and_hold_the_variance():
    X = flat_points()
    V = principal_axes(X, 12)
    np.testing.assert_allclose(V.T @ V, np.eye(12), atol=1e-5)
    variance = ((X - X.mean(axis=0)) @ V).var(axis=0)
    assert np.all(np.diff(variance) < 0)
    assert variance.sum() > 0.99 * X.var(axis=0).sum()


@pytest.mark.parametrize("metric", SEARCH_SPACES)
def test_distances_are_not_larger(metric):
    space, fewer = reduced(flat_points(300), metric)
    assert [s.base.shape[1] for s in fewer] == [32, 64]
    rows = np.arange(20)

    def gaps(space):
        Q = space.queries(rows)
        return ((Q[:, None] - space.base).astype(np.float64) ** 2).sum(axis=2)

    for one in fewer:
        assert one.symmetric == space.symmetric
        assert np.all(gaps(one) <= gaps(space) + 1e-5)


def test_features_decide_whether_fewer_axes_do(monkeypatch):
    used = []
    make = _cells._Search.__init__

    def remember(self, space, *args):
        used.append(space.base.shape[1])
        make(self, space, *args)

    monkeypatch.setattr(_cells._Search, "__init__", remember)
    round_points = np.random.default_rng(0).normal(size=(2500, 150))
    for X in (flat_points(), round_points, flat_points()[:, :60]):
        knn.find_nearest(X, 10, search="cells")
    assert used == [32, 150, 60]


@pytest.mark.parametrize("metric", SEARCH_SPACES)
def test_neighbours_and_distances_are_those_of_all_features(metric):
    X = flat_points()
    index, d, recall = knn.find_nearest(X, 10, metric, search="cells")
    same, exact = knn.nearest(X, 10, metric)
    agree = index == same
    assert recall >= 0.98
    assert agree.mean() > 0.9
    np.testing.assert_allclose(d[agree], exact[agree], rtol=1e-9, atol=1e-12)


def test_the_order_of_the_samples_does_not_matter():
    X = flat_points()
    order = np.random.default_rng(1).permutation(len(X))
    one, two = (KNNGraph(search="cells").build(Y) for Y in (X, X[order]))
    assert (one[order][:, order] != two).nnz == 0
