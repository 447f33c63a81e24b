"""Nested clusterings: each level inside the coarser one, one of them BLoRD's own."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from lordclust import BLoRD, layers
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
