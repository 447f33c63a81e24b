"""What a graph should find: groups of other shapes than round, and of given shares."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons

from lordclust import BLoRD, LoRD
from lordclust.metrics import accuracy
from models import MODELS, PAPER

SHAPES = {
    "moons": lambda n, seed: make_moons(n, noise=0.05, random_state=seed),
    "rings": lambda n, seed: make_circles(n, factor=0.4, noise=0.04, random_state=seed),
}
SHAPE = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@MODELS
@SHAPE
@pytest.mark.parametrize("seed", range(3))
def test_shapes(Model, shape, seed):
    X, y = shape(300, seed)
    assert accuracy(y, Model(2).fit(X).labels_) == 1.0


@SHAPE
@pytest.mark.parametrize("seed", range(2))
def test_shapes_of_equal_shares(shape, seed):
    X, y = shape(300, seed)
    model = BLoRD(2, proportions="equal").fit(X)
    np.testing.assert_array_equal(model.sizes_, 150)
    assert accuracy(y, model.labels_) == 1.0


@pytest.mark.parametrize(
    "model",
    [LoRD(2), PAPER(2), BLoRD(2), BLoRD(2, proportions="equal")],
    ids=["LoRD", "paper", "BLoRD", "equal"],
)
@SHAPE
def test_shapes_of_many_samples(model, shape):
    X, y = shape(2000, 0)
    assert accuracy(y, model.fit(X).labels_) == 1.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tau", ["auto", 1.0])
def test_given_shares_go_to_the_clusters_that_have_them(seed, tau):
    X, y = make_blobs([200, 100], centers=[[0, 0], [10, 0]], random_state=seed)
    model = BLoRD(2, proportions=[1 / 3, 2 / 3], tau=tau).fit(X)
    np.testing.assert_array_equal(model.labels_, 1 - y)
