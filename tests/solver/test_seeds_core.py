"""Seeds of data with outliers and with copies of samples."""

import numpy as np
import pytest

from lordclust import BLoRD
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.solver.seeds import Seeds, halved_labels


def with_outliers(seed=0):
    """Return two clusters in five dimensions, and twelve samples apart (class -1)."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, -1], [500, 300, 12])
    spread = np.where(y < 0, 0.3, 1.0)[:, None]
    X = np.array([0.0, 3.0, 9.0])[y][:, None] + spread * rng.standard_normal((812, 5))
    return X, y


def test_outliers_are_set_aside_before_the_rest_is_cut():
    X, y = with_outliers()
    graph = KNNGraph()
    seeds = Seeds(graph.build(X), 2, X, graph.scales_)
    assert np.bincount(seeds.cut).min() == 12  # the cheapest cut of all
    kept, inner = seeds.core
    np.testing.assert_array_equal(kept, y >= 0)
    assert accuracy(y[kept], inner.cut) > 0.98
    every = seeds.placed(inner.cut, kept)
    np.testing.assert_array_equal(every[kept], inner.cut)
    assert len(np.unique(every[~kept])) == 1  # all with the cluster that is nearest
    assert every[~kept][0] == np.bincount(every[y == 1]).argmax()


def test_without_small_clusters_nothing_is_set_aside():
    X, y = with_outliers()
    seeds = Seeds(KNNGraph().build(X[y >= 0]), 2, X[y >= 0])
    assert seeds.core is None
    assert seeds.halves is None


@pytest.mark.parametrize("seed", range(3))
def test_a_few_outliers_are_not_a_cluster(seed):
    X, y = with_outliers(seed)
    assert accuracy(y[y >= 0], BLoRD(2).fit(X).labels_[y >= 0]) > 0.98


def test_a_small_cluster_far_away_is_one():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [392, 8])
    X = np.array([[0.0, 0], [12, 0]])[y] + rng.standard_normal((400, 2))
    graph = KNNGraph()
    seeds = Seeds(graph.build(X), 2, X, graph.scales_)
    assert seeds.stand_apart(y)
    assert not seeds.stand_apart((X[:, 0] > np.sort(X[:, 0])[-20]).astype(int))


@pytest.mark.parametrize("seed", range(3))
def test_whole_numbers_with_many_copies(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [400, 200])
    X = np.round(2 * (np.array([[0.0, 0], [6, 0]])[y] + rng.standard_normal((600, 2))))
    assert len(np.unique(X, axis=0)) < 200
    assert accuracy(y, BLoRD(2).fit(X).labels_) > 0.97


def test_halves_have_the_numbers_asked_for():
    X = np.random.default_rng(0).standard_normal((200, 3))
    assert np.unique(halved_labels(X, 7)).tolist() == list(range(7))
    assert halved_labels(np.ones((5, 2)), 2).tolist() == [0] * 5  # nothing to divide
