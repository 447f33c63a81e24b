"""A Gaussian mixture with given shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from lordclust.datasets import four_gaussians
from lordclust.methods.gmm import COVARIANCES, GMM, fixed_share_em, log_densities
from lordclust.metrics import accuracy
from strategies import generators

TYPES = list(COVARIANCES)
SHARES = np.array([0.1, 0.2, 0.3, 0.4])
X, TRUTH = four_gaussians([20, 40, 60, 80], random_state=1)


def full_matrices(model):
    """The covariances written out as k matrices."""
    k, d = model.means_.shape
    C = np.asarray(model.covariances_)
    return {
        "full": lambda: C,
        "tied": lambda: np.broadcast_to(C, (k, d, d)),
        "diag": lambda: np.array([np.diag(c) for c in C]),
        "spherical": lambda: np.array([c * np.eye(d) for c in C]),
    }[model.covariance_type]()


@pytest.mark.parametrize("kind", TYPES)
def test_posterior_is_what_the_parameters_say(kind):
    model = GMM(4, proportions=SHARES, covariance_type=kind, random_state=0).fit(X)
    density = np.column_stack(
        [
            multivariate_normal(m, C).pdf(X)
            for m, C in zip(model.means_, full_matrices(model), strict=True)
        ]
    )
    joint = density * SHARES
    assert model.objective_ == pytest.approx(np.log(joint.sum(axis=1)).mean())
    P = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.membership_, P, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, P.argmax(axis=1))
    np.testing.assert_allclose(model.proportions_, SHARES)


@given(generators(), st.sampled_from(TYPES), st.integers(1, 4))
def test_likelihood_never_falls(rng, kind, k):
    Z = rng.standard_normal((30, 2))
    shares = rng.dirichlet(np.ones(k)) + 1e-3
    R = rng.dirichlet(np.ones(k), size=30)
    end = fixed_share_em(Z, shares / shares.sum(), R, kind, 1e-3, max_iter=60)
    # The diagonal that is added makes the step not quite the maximum.
    assert np.diff(end.history).min(initial=0) > -1e-3
    np.testing.assert_allclose(end.R.sum(axis=1), 1)


@pytest.mark.parametrize("kind", TYPES)
def test_likelihood_never_falls_at_all_without_added_diagonal(kind):
    R = np.random.default_rng(0).dirichlet(np.ones(4), size=len(X))
    end = fixed_share_em(X, SHARES, R, kind, tol=1e-12, max_iter=200)
    assert len(end.history) > 10
    assert np.diff(end.history).min() > -1e-12


@pytest.mark.parametrize("kind", TYPES)
def test_scikit_learn_stays_at_our_optimum_with_its_shares(kind):
    # Theirs estimates the shares. Where it ends with shares p, ours with p given has
    # nothing to gain, and both have the same parameters.
    free = GaussianMixture(
        3, covariance_type=kind, tol=1e-10, max_iter=5000, random_state=0
    ).fit(X)
    Z = X - X.mean(axis=0)
    reg = 1e-6
    end = fixed_share_em(Z, free.weights_, free.predict_proba(X), kind, reg)
    assert end.history[-1] == pytest.approx(free.score(X), abs=1e-7)
    np.testing.assert_allclose(end.means + X.mean(axis=0), free.means_, atol=1e-3)


def test_densities():
    means, C = np.array([[0.0, 1.0]]), np.array([[[2.0, 0.5], [0.5, 1.0]]])
    expected = multivariate_normal(means[0], C[0]).logpdf(X)
    np.testing.assert_allclose(log_densities(X, means, C)[:, 0], expected)


def test_four_points_by_hand():
    # Two far pairs at distance 2: means in the middle, variance 1 (and the little
    # that is added), every sample one standard deviation from its mean. A sample's
    # likelihood is 1/2 exp(-1/2) / sqrt(2 pi).
    model = GMM(2, reg_covar=1e-12, random_state=0).fit([[0], [2], [100], [102]])
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    np.testing.assert_allclose(model.means_, [[1], [101]])
    np.testing.assert_allclose(model.covariances_.ravel(), 1)
    value = -np.log(2) - 0.5 - np.log(2 * np.pi) / 2
    assert model.objective_ == pytest.approx(value)


@pytest.mark.parametrize("counts", [[10, 30, 60], [60, 10, 30]])
def test_shares_keep_their_places(counts):
    Z, y = make_blobs(counts, centers=[[0, 0], [9, 0], [0, 9]], random_state=5)
    model = GMM(3, proportions=np.array(counts) / 100, random_state=0).fit(Z)
    np.testing.assert_array_equal(model.labels_, y)
    means = [Z[y == j].mean(axis=0) for j in range(3)]
    np.testing.assert_allclose(model.means_, means, atol=1e-3)


def test_permuted_shares_permute_the_components():
    order = [2, 0, 3, 1]
    settings = {"covariance_type": "spherical", "tol": 1e-9, "random_state": 0}
    a = GMM(4, proportions=SHARES, **settings).fit(X)
    b = GMM(4, proportions=SHARES[order], **settings).fit(X)
    assert a.objective_ == pytest.approx(b.objective_, abs=1e-7)
    np.testing.assert_allclose(a.means_[order], b.means_, atol=1e-3)
    np.testing.assert_allclose(a.covariances_[order], b.covariances_, atol=1e-3)


def test_a_wrong_match_is_repaired():
    # Shares 0.1 and 0.9 at the wrong blobs: they change places by themselves.
    Z, y = make_blobs([20, 180], centers=[[0, 0], [6, 0]], random_state=0)
    shares = np.array([0.1, 0.9])
    wrong = np.eye(2)[1 - y]
    right = fixed_share_em(Z, shares, np.eye(2)[y])
    end = fixed_share_em(Z, shares, wrong)
    assert end.history[-1] == pytest.approx(right.history[-1], abs=1e-3)
    np.testing.assert_array_equal(end.R.argmax(axis=1), right.R.argmax(axis=1))


def test_the_true_shares_help():
    counts = [10, 30, 60, 100]
    settings = {"covariance_type": "spherical", "n_init": 4, "tol": 1e-3}
    given_, equal = [], []
    for seed in range(20):
        Z, y = four_gaussians(counts, random_state=seed)
        p = np.array(counts) / 200
        model = GMM(4, proportions=p, random_state=0, **settings)
        given_.append(accuracy(y, model.fit_predict(Z)))
        model = GMM(4, random_state=0, **settings)
        equal.append(accuracy(y, model.fit_predict(Z)))
    assert np.mean(given_) > 0.9
    assert np.mean(given_) > np.mean(equal) + 0.1


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_unit_and_place_of_X_do_not_matter(scale):
    expected = GMM(4, random_state=0).fit(X)
    model = GMM(4, random_state=0).fit(scale * (X + 9))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(
        model.objective_, expected.objective_ - 2 * np.log(scale), rtol=1e-6
    )


@pytest.mark.parametrize("kind", TYPES)
def test_more_features_than_samples(kind):
    Z = np.random.default_rng(0).standard_normal((12, 40))
    Z[6:] += 5
    model = GMM(2, covariance_type=kind, random_state=0).fit(Z)
    assert accuracy(np.repeat([0, 1], 6), model.labels_) == 1
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("kind", TYPES)
def test_equal_samples_and_lost_components(kind):
    same = GMM(1, covariance_type=kind).fit(np.ones((5, 2)))
    assert np.isfinite(same.objective_)
    shares = np.array([0.5, 0.5])
    R = np.tile([1.0, 0.0], (6, 1))
    end = fixed_share_em(np.arange(12.0).reshape(6, 2), shares, R, kind, 1e-3)
    assert np.isfinite(end.R).all()
    assert np.isfinite(end.means).all()


def test_as_many_components_as_samples():
    model = GMM(5, random_state=0).fit(np.arange(5.0)[:, None])
    assert len(set(model.labels_)) == 5


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"covariance_type": "round"}, "Unknown covariance_type 'round'"),
        ({"reg_covar": 0}, "reg_covar must be a finite number above 0"),
        ({"proportions": [0.5, 0.6]}, "proportions must sum to 1"),
        ({"proportions": [1.0]}, "proportions must hold n_clusters=2 numbers"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        GMM(2, **params).fit(X)


def test_stopped_early():
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=2"):
        GMM(4, max_iter=2, random_state=0).fit(X)
