"""What a graph should find: groups of other shapes than round, and of given shares."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons

from lordclust import BLoRD
from lordclust.metrics import accuracy


@pytest.mark.parametrize("seed", range(3))
def test_two_moons(seed):
    X, y = make_moons(300, noise=0.05, random_state=seed)
    assert accuracy(y, BLoRD(2).fit(X).labels_) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_rings(seed):
    X, y = make_circles(300, factor=0.4, noise=0.04, random_state=seed)
    assert accuracy(y, BLoRD(2).fit(X).labels_) == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_given_shares_go_to_the_clusters_that_have_them(seed):
    X, y = make_blobs([200, 100], centers=[[0, 0], [10, 0]], random_state=seed)
    model = BLoRD(2, proportions=[1 / 3, 2 / 3]).fit(X)
    np.testing.assert_array_equal(model.labels_, 1 - y)


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_shapes_without_labels(make):
    X, y = make(300, noise=0.03, random_state=0)
    if make is make_circles:
        X, y = make(300, factor=0.4, noise=0.03, random_state=0)
    model = BLoRD(2, tau="auto", proportions="auto").fit(X)
    assert accuracy(y, model.labels_) == 1.0
