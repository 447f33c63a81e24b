"""Posteriors of elliptical clusters, and the test of whether clusters are so."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_t
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from lordclust import BLoRD
from lordclust.choose.elliptical import (
    degrees_of_freedom,
    departure,
    fitted_mixtures,
    log_density,
)
from lordclust.choose.evidence import Evidence
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
    assert model.selection_.sources[model.selection_.best] == "t mixture"
    assert accuracy(y, model.labels_) >= 0.95
    np.testing.assert_array_equal(model.membership_.argmax(axis=1), model.labels_)


def test_the_most_likely_of_several_mixtures_counts():
    rng = np.random.default_rng(1)
    centres = 4.5 * np.array([[0, 0], [1, 0], [0.5, 0.9], [-0.5, 0.9]])
    y = np.repeat(range(4), [700, 200, 60, 40])
    X = centres[y] + rng.standard_normal((1000, 2))
    # The partition with the most evidence cuts the largest cluster.
    assert adjusted_rand_score(y, BLoRD(4).fit_predict(X)) > 0.85


def heavy_tails(n, distance, d, freedom=4.0, seed=0):
    """Return samples of two t distributions, classes, and exact posteriors."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [2 * n // 3, n - 2 * n // 3])
    tails = np.sqrt(freedom / rng.chisquare(freedom, n))[:, None]
    means = np.zeros((2, d))
    means[1, 0] = distance
    X = means[y] + tails * rng.standard_normal((n, d))
    log = [multivariate_t(m, np.eye(d), freedom).logpdf(X) for m in means]
    return X, y, softmax(np.transpose(log) + np.log(np.bincount(y) / n), axis=1)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_the_density_is_that_of_a_t_distribution(d):
    Y = np.random.default_rng(0).standard_normal((20, d))
    expected = multivariate_t(np.zeros(d), np.eye(d), 3.5).logpdf(Y)
    found = log_density((Y**2).sum(axis=1), d, 3.5) - d / 2 * np.log(2 * np.pi)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("freedom", [3.0, 6.0, 20.0])
def test_the_degrees_of_freedom_are_the_most_likely(freedom):
    X, _, _ = heavy_tails(2000, 0.0, 3, freedom)
    R, squares = np.ones((2000, 1)), (X**2).sum(axis=1)[:, None]
    best = degrees_of_freedom(R, squares, 3)
    for other in (0.9 * best, 1.1 * best, 100.0):
        assert log_density(squares, 3, best).sum() > (
            log_density(squares, 3, other).sum()
        )
    light = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    assert degrees_of_freedom(R[:500], (light**2).sum(axis=1)[:, None], 3) == np.inf


def test_heavy_tails_depart_from_gaussians_but_not_from_t_distributions():
    X, _, _ = heavy_tails(4000, 0.0, 2)
    R, squares = np.ones((4000, 1)), (X**2).sum(axis=1)[:, None]
    assert departure(X, R) > 0.3
    assert departure(X, R, (4.0 + 2) / (4.0 + squares), 4.0) < 0.02


def test_clusters_with_heavy_tails_have_their_exact_posteriors():
    X, y, exact = heavy_tails(1500, 6.0, 3)
    model = BLoRD(2).fit(X)
    assert model.selection_.sources[model.selection_.best] == "t mixture"
    assert accuracy(y, model.labels_) >= accuracy(y, exact.argmax(axis=1)) - 0.005
    certainty = model.membership_.max(axis=1).mean()
    assert certainty == pytest.approx(exact.max(axis=1).mean(), abs=0.02)


def test_columns_follow_the_numbers_of_the_clusters():
    X, y, exact = gaussians(900, 4.0)
    model = BLoRD(2).fit(X)
    assert model.sizes_[0] > model.sizes_[1]  # the largest cluster is the first
    assert np.corrcoef(model.membership_[:, 0], exact[:, 0])[0, 1] > 0.99
    assert accuracy(y, model.labels_) > 0.96
