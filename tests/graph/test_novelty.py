"""Novelty: relative to the region, the same for fitted and new samples."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lordclust.graph import KNNGraph
from lordclust.graph.novelty import Novelty, by_similarity, far_out, novelty_of_samples


@pytest.fixture(scope="module")
def noisy():
    """Three dense blobs of different widths, and uniform noise at the end."""
    rng = np.random.default_rng(0)
    X, _ = make_blobs(600, n_features=10, cluster_std=[0.5, 1, 2], random_state=0)
    return np.vstack([X, rng.uniform(1.1 * X.min(0), 1.1 * X.max(0), (60, 10))])


def test_noise_is_novel_and_a_sparse_cluster_is_not(noisy):
    found = novelty_of_samples(noisy, KNNGraph()).fitted
    assert (np.argsort(-found)[:60] >= 600).mean() > 0.9


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_a_fitted_sample_keeps_its_novelty(noisy, metric):
    novelty = novelty_of_samples(noisy, KNNGraph(metric=metric))
    np.testing.assert_allclose(novelty.of(noisy), novelty.fitted, atol=1e-9)


def test_copies_and_samples_at_any_distance_have_a_novelty():
    X = np.repeat([[0.0], [1.0], [2.0]], 9, axis=0)
    novelty = novelty_of_samples(X, KNNGraph())
    assert np.isfinite(novelty.fitted).all()
    near, far, farthest = novelty.of(np.array([[0.1], [50.0], [1e200]]))
    assert near < far < farthest == np.inf


def test_the_unit_of_the_features_does_not_matter(noisy):
    a, b = (novelty_of_samples(c * noisy, KNNGraph()).fitted for c in (1.0, 1000.0))
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_similarities(noisy):
    S = KNNGraph().build(noisy)
    novelty = Novelty(by_similarity(S))
    assert (np.argsort(-novelty.fitted)[:60] >= 600).mean() > 0.5
    np.testing.assert_allclose(novelty.of(S), novelty.fitted)
    alone = novelty.of(np.zeros((1, len(noisy))))
    assert alone > novelty.fitted.max()


@pytest.mark.parametrize("d", [2, 5, 30])
def test_clean_gaussians_have_nearly_no_outliers(d):
    X, _ = make_blobs(1000, n_features=d, centers=5, random_state=1)
    assert far_out(novelty_of_samples(X, KNNGraph()).local).mean() <= 0.002


def test_uniform_noise_is_far_out(noisy):
    out = far_out(novelty_of_samples(noisy, KNNGraph()).local)
    assert out[600:].mean() > 0.6
    assert not out[:600].any()
