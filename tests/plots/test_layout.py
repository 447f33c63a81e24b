"""Positions of samples in the plane, in displays and reports."""

import numpy as np
import pytest
from scipy import sparse

from lordclust.plots.layout import make_layout, of_features, of_graph

RNG = np.random.default_rng(0)


def test_many_features_become_principal_components():
    X = RNG.normal(size=(200, 4)) * [0.1, 5, 1, 0.1]
    values = np.sort(np.linalg.eigvalsh(np.cov(X.T)))[::-1]
    for form in (np.asarray, sparse.csr_array):
        places = of_features(form(X)).coordinates
        np.testing.assert_allclose(np.cov(places.T), np.diag(values[:2]), atol=1e-9)


def test_two_features_are_the_coordinates():
    X = RNG.normal(size=(30, 2))
    np.testing.assert_array_equal(of_features(X).coordinates, X)
    one = of_features(sparse.csr_array(X[:, :1])).coordinates
    np.testing.assert_array_equal(one, np.column_stack([X[:, 0], np.zeros(30)]))


@pytest.mark.parametrize("shape", [(5, 1), (5, 2), (2, 7), (5, 3)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_shape_has_places(shape, form):
    places = of_features(form(RNG.normal(size=shape))).coordinates
    assert places.shape == (shape[0], 2)
    assert np.isfinite(places).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_graph_separates_components(form):
    S = np.kron(np.eye(3), np.ones((20, 20)))
    S[0, 59] = S[59, 0] = -1.0  # dissimilar is not similar
    places = of_graph(form(S), 3).coordinates.reshape(3, 20, 2)
    within = np.ptp(places, axis=1).max()
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        assert (
            np.linalg.norm(places[a].mean(axis=0) - places[b].mean(axis=0)) > within / 2
        )


def test_features_come_first():
    S = np.ones((4, 4))
    assert make_layout(4, 2, X=np.eye(4), S=S).name == "Features"
    assert make_layout(4, 2, S=S).name == "Graph"
    assert make_layout(4, 2) is None


@pytest.mark.parametrize("name", ["X", "S"])
def test_other_samples_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must have a row for each of the 4 "):
        make_layout(4, 2, **{name: np.ones((3, 3))})
