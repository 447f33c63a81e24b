"""Posteriors of Gaussian clusters, and the test of whether clusters are Gaussian."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from lordclust import BLoRD
from lordclust.choose.evidence import Evidence
from lordclust.choose.gaussian import departure, fitted_mixtures
from lordclust.metrics import accuracy


def gaussians(n, distance, d=2, seed=0):
    """Return samples of two Gaussians, their classes, and the exact posteriors."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [2 * n // 3, n - 2 * n // 3])
    means = np.zeros((2, d))
    means[1, 0] = distance
    X = means[y] + rng.standard_normal((n, d))
    log = -((X[:, None] - means) ** 2).sum(axis=2) / 2
    return X, y, softmax(log + np.log(np.bincount(y) / n), axis=1)


@pytest.mark.parametrize("d", [1, 2, 10])
@pytest.mark.parametrize(("n", "most"), [(60, 0.15), (600, 0.04), (6000, 0.015)])
def test_gaussians_depart_by_chance_alone(d, n, most):
    rng = np.random.default_rng(n + d)
    found = [departure(rng.standard_normal((n, d)), np.ones((n, 1))) for _ in range(20)]
    assert np.mean(found) < most


@pytest.mark.parametrize("kind", ["uniform", "exponential", "ring"])
def test_other_clusters_depart_from_gaussians(kind):
    rng = np.random.default_rng(0)
    Z = {
        "uniform": rng.uniform(-1, 1, (500, 2)),
        "exponential": rng.exponential(size=(500, 2)),
        "ring": np.array([[np.cos(t), np.sin(t)] for t in rng.uniform(0, 7, 500)]),
    }[kind]
    assert departure(Z, np.ones((500, 1))) > 0.1


def test_departure_does_not_depend_on_units_or_on_the_number_of_copies():
    Z = np.random.default_rng(0).exponential(size=(80, 3))
    once = departure(Z, np.ones((80, 1)))
    assert departure(Z @ np.diag([1, 10, 0.1]) + 5, np.ones((80, 1))) == (
        pytest.approx(once)
    )
    assert departure(Z, np.full((80, 1), 2.0)) == pytest.approx(once)


def test_a_cluster_too_small_for_moments_is_not_gaussian():
    Z = np.random.default_rng(0).standard_normal((8, 5))
    assert departure(Z, np.ones((8, 1))) == 1
    assert departure(np.ones((50, 2)), np.ones((50, 1))) == 1


def test_the_posterior_is_found_from_labels_that_are_partly_wrong():
    X, _, exact = gaussians(3000, 3.0)
    start = (X[:, 0] > 0.5).astype(int)  # too many in the second cluster
    (mixture,) = fitted_mixtures(X / X.std(axis=0), [start], 2, np.ones(len(X)))
    assert mixture.holds
    assert np.abs(mixture.posterior - exact).mean() < 0.02


def test_weights_count_as_copies():
    X, y, _ = gaussians(300, 3.0)
    w = np.where(np.arange(300) % 2, 1.0, 2.0)
    twice = np.repeat(np.arange(300), w.astype(int))
    (one,) = fitted_mixtures(X, [y], 2, w)
    (other,) = fitted_mixtures(X[twice], [y[twice]], 2, np.ones(len(twice)))
    np.testing.assert_allclose(one.posterior[twice], other.posterior, atol=1e-8)


def test_without_features_or_gain_there_is_no_mixture():
    X, y, _ = gaussians(60, 3.0)
    assert fitted_mixtures(np.zeros((60, 0)), [y], 2, np.ones(60)) == []
    S = np.eye(60)
    assert Evidence(S, 2).mixtures([y]) == []
    random = np.random.default_rng(0).integers(2, size=60)
    assert Evidence(S, 2, X).mixtures([random]) == []


@pytest.mark.parametrize("d", [2, 10])
def test_certainty_is_that_of_the_exact_posterior(d):
    X, _, exact = gaussians(900, 3.0, d)
    P = BLoRD(2).fit(X).membership_
    assert abs(P.max(axis=1).mean() - exact.max(axis=1).mean()) < 0.03


def test_labels_are_the_most_probable_if_clusters_are_gaussian():
    X, y = load_iris(return_X_y=True)
    model = BLoRD(3).fit(X)
    assert model.selection_.sources[model.selection_.best] == "Gaussians"
    assert accuracy(y, model.labels_) >= 0.95
    np.testing.assert_array_equal(model.membership_.argmax(axis=1), model.labels_)


def test_the_most_likely_of_several_mixtures_counts():
    rng = np.random.default_rng(1)
    centres = 4.5 * np.array([[0, 0], [1, 0], [0.5, 0.9], [-0.5, 0.9]])
    y = np.repeat(range(4), [700, 200, 60, 40])
    X = centres[y] + rng.standard_normal((1000, 2))
    # The partition with the most evidence cuts the largest cluster.
    assert adjusted_rand_score(y, BLoRD(4).fit_predict(X)) > 0.85


def test_columns_follow_the_numbers_of_the_clusters():
    X, y, exact = gaussians(900, 4.0)
    model = BLoRD(2).fit(X)
    assert model.sizes_[0] > model.sizes_[1]  # the largest cluster is the first
    assert np.corrcoef(model.membership_[:, 0], exact[:, 0])[0, 1] > 0.99
    assert accuracy(y, model.labels_) > 0.96
