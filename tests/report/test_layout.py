"""Places of samples in the plane."""

import numpy as np
import pytest
from scipy import sparse

from lordclust.report.layout import layout, of_features, of_graph

RNG = np.random.default_rng(0)


def test_features_are_turned_to_their_widest_side():
    X = RNG.normal(size=(200, 4)) * [0.1, 5, 1, 0.1]
    places = of_features(X)
    values = np.sort(np.linalg.eigvalsh(np.cov(X.T)))[::-1]
    np.testing.assert_allclose(np.cov(places.T), np.diag(values[:2]), atol=1e-10)


@pytest.mark.parametrize("shape", [(5, 1), (5, 2), (2, 7), (5, 3)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_shape_has_places(shape, form):
    places = of_features(form(RNG.normal(size=shape)))
    assert places.shape == (shape[0], 2)
    assert np.isfinite(places).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_graph_puts_components_apart(form):
    S = np.kron(np.eye(3), np.ones((4, 4)))
    S[0, 11] = S[11, 0] = -1.0  # dissimilar is not similar
    places = of_graph(form(S)).reshape(3, 4, 2)
    assert np.ptp(places, axis=1).max() < 1e-8
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        assert np.linalg.norm(places[a, 0] - places[b, 0]) > 0.1


def test_features_come_first():
    S = np.ones((4, 4))
    assert layout(np.eye(4), S).name == "Features"
    assert layout(None, S).name == "Graph"
    assert layout(None, None) is None
