"""Nested clusterings: each level inside the coarser one, one of them BLoRD's own."""

import colorsys

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from lordclust import BLoRD, layers
from lordclust._core.colors import cluster_colours, nested_colours
from lordclust.plots import LayersDisplay

IRIS = load_iris().data


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, centers=5, n_features=4, random_state=3)


@pytest.fixture(scope="module")
def found(blobs):
    return layers(blobs[0], 8)


def test_every_level_is_inside_the_coarser_one(found):
    assert found.labels.shape == (8, 300)
    for k in range(1, 8):
        coarse, fine = found.at(k), found.at(k + 1)
        assert set(fine) == set(range(k + 1))
        new = fine == k
        np.testing.assert_array_equal(fine[~new], coarse[~new])
        parent = found.parents[k]
        assert (coarse[new] == parent).all()
        assert found.sizes(k + 1)[parent] >= new.sum()


def test_the_recommended_level_is_that_of_the_model(found, blobs):
    X, y = blobs
    assert found.best_k == 5
    assert adjusted_rand_score(found.at(), BLoRD(5).fit(X).labels_) == 1
    assert adjusted_rand_score(found.at(5), y) > 0.98
    assert "k = 5: " in str(found)
    assert repr(found) == "Layers(1 to 8 clusters, best_k=5)"


def test_memberships_are_nested_and_those_of_the_model(found):
    at_best = found.membership()
    order = [int((found.at() == j).argmax()) for j in range(5)]
    columns = found.model.labels_[order]
    np.testing.assert_allclose(at_best, found.model.membership_[:, columns], atol=1e-12)
    for k in range(1, 9):
        P = found.membership(k)
        assert P.shape == (300, k)
        assert P.min() >= 0
        np.testing.assert_allclose(P.sum(axis=1), 1)
        if k > 1:
            parent, above = found.parents[k - 1], found.membership(k - 1)
            whole = P[:, parent] + P[:, k - 1]
            np.testing.assert_allclose(whole, above[:, parent])
        assert np.mean(P.argmax(axis=1) == found.at(k)) > 0.95
    part = found.membership(6)[:, 5]
    assert 0 < part[found.at(6) != 5].max() < 1  # others may belong to it, too


def test_settings_of_the_graph_are_those_of_the_splits():
    rng = np.random.default_rng(0)
    turn = np.repeat([0.0, 0.5, 2.0, 2.5], 30) + rng.normal(0, 0.05, 120)
    X = np.column_stack([np.cos(turn), np.sin(turn)]) * rng.uniform(1, 50, (120, 1))
    found = layers(BLoRD(2, metric="cosine", n_neighbors=40).fit(X), 4)
    assert adjusted_rand_score(found.at(4), np.repeat(range(4), 30)) == 1
    X[:4, 1] = np.nan
    assert len(layers(X, 3, metric="nan_euclidean").labels) == 3


def test_a_fitted_model_is_a_level_and_outliers_stay():
    model = BLoRD(3, outliers=0.1).fit(IRIS)
    found = layers(model, 5)
    assert found.best_k == 3
    assert adjusted_rand_score(found.at(), model.labels_) == 1
    for k in range(1, 6):
        np.testing.assert_array_equal(found.at(k) == -1, model.labels_ == -1)


def test_similarities_sparse_samples_and_few_samples():
    S = BLoRD(3).fit(IRIS).affinity_matrix_
    assert len(layers(S, 4, affinity="precomputed").labels) == 4
    assert len(layers(sparse.csr_array(IRIS), 4).labels) == 4
    few = layers(np.arange(12.0)[:, None], 9)
    assert len(few.labels) < 9  # clusters of fewer than 8 samples are not split
    copies = np.repeat([[0.0], [1.0], [5.0]], 20, axis=0)
    assert len(layers(BLoRD(3).fit(copies), 5).labels) == 5


def test_levels_that_do_not_exist(found):
    with pytest.raises(ValueError, match="k must be from 1 to 8, got 9"):
        found.at(9)


def test_display(found):
    display = LayersDisplay.from_layers(found, ax=Figure().subplots())
    assert [len(bars) for bars in display.blocks_] == list(range(1, 9))
    for k, bars in enumerate(display.blocks_, 1):
        widths = [bar.get_width() for bar in bars]
        np.testing.assert_array_equal(widths, found.sizes(k))
    parent = int(found.parents[7])
    above, left, right = (
        display.blocks_[6][parent], display.blocks_[7][parent], display.blocks_[7][7]
    )  # fmt: skip
    start = min(left.get_x(), right.get_x())
    assert start == above.get_x()
    hues = [colorsys.rgb_to_hsv(*b.get_facecolor()[:3])[0] for b in (above, right)]
    assert hues[0] == pytest.approx(hues[1], abs=0.01)


def test_parts_have_the_hue_of_the_whole():
    parents = np.array([-1, 0, 1, *[2] * 24])
    for dark in (False, True):
        colours, markers = nested_colours(parents, 3, dark=dark)
        looks = {(*c, m) for c, m in zip(colours.tolist(), markers, strict=True)}
        assert len(looks) == 27
        hues = [colorsys.rgb_to_hsv(*c)[0] for c in colours]
        np.testing.assert_allclose(hues[3:], hues[2], atol=0.01)
        np.testing.assert_array_equal(colours[:3], cluster_colours(3, dark=dark))
