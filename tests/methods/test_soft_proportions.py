"""proportions=(prior, strength): shares that give way where the samples insist."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from lordclust import BLoRD, LoRD, tau_path
from lordclust._core.validation import split_proportions
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from models import GIVEN, MODELS, PAPER

CENTRES = [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]
X, Y = make_blobs([60, 30, 20], centers=CENTRES, cluster_std=1.5, random_state=0)


@MODELS
@pytest.mark.parametrize("strength", [0, 0.3, 3, 300.0])
def test_what_a_fit_leaves(Model, strength):
    w = np.random.default_rng(0).random(110) + 0.5
    model = Model(3, proportions=([0.3, 0.3, 0.4], strength)).fit(X, sample_weight=w)
    P, p = model.membership_, w / w.sum()
    assert model.converged_
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(model.proportions_, p @ P, atol=1e-12)
    np.testing.assert_array_equal(model.sizes_, np.bincount(model.labels_, minlength=3))
    mu = np.sqrt([0.3, 0.3, 0.4])
    # The two equal ones may have changed places, mu is the same for both.
    np.testing.assert_allclose(model.V_, p[:, None] * P / mu, atol=1e-12)
    assert model.history_[-1] == pytest.approx(model.objective_, rel=1e-9)


def test_the_objective_of_blord_pays_for_the_shares():
    model = BLoRD(3, tau=0.4, proportions=(None, 1.0)).fit(X)
    S, V = model.affinity_matrix_.toarray(), model.V_
    low, high = np.linalg.eigvalsh(S)[[0, -1]]
    off = V.sum(axis=0) - 3**-0.5
    wanted = np.trace(V.T @ S @ V) + model.gamma_ * (V**2).sum()
    wanted -= (high - low) / 110 * (off @ off)
    assert off @ off > 1e-3
    assert model.objective_ == pytest.approx(wanted, rel=1e-3)


def test_the_objective_of_lord_pays_for_the_shares():
    model = LoRD(3, proportions=(None, 1.0)).fit(X)
    S, V = model.affinity_matrix_.toarray(), model.V_
    S = S / S.sum()
    low, high = np.linalg.eigvalsh(S)[[0, -1]]
    off = V.sum(axis=0) - 3**-0.5
    wanted = ((S - V @ V.T) ** 2).sum() + 2 * (high - low) / 110 * (off @ off)
    assert off @ off > 1e-4
    assert model.objective_ == pytest.approx(wanted, rel=1e-3)


def test_uneven_clusters_are_found_without_their_shares():
    firm = PAPER(3).fit(X)
    soft = BLoRD(3, proportions=(None, 0.1), tau=1.0).fit(X)
    assert accuracy(Y, firm.labels_) < 0.9
    assert accuracy(Y, soft.labels_) > 0.97
    np.testing.assert_allclose(
        soft.proportions_, [60 / 110, 30 / 110, 20 / 110], atol=0.03
    )


@MODELS
def test_infinitely_firm_is_exact(Model):
    for prior in (None, [0.5, 0.3, 0.2]):
        plain = Model(3, proportions=prior, rounding="exact").fit(X)
        firm = Model(3, proportions=(prior, np.inf)).fit(X)
        np.testing.assert_array_equal(firm.membership_, plain.membership_)
        np.testing.assert_array_equal(firm.proportions_, plain.proportions_)


@MODELS
def test_firmer_is_nearer(Model):
    prior = np.array([0.25, 0.35, 0.4])
    off = []
    for strength in (0.5, 5, 50, 5000):
        model = Model(3, proportions=(prior, strength), tol=1e-6, max_iter=20000)
        off.append(np.abs(model.fit(X).proportions_ - prior).max())
    assert off[0] > 0.01
    if Model is BLoRD:  # shares are those of labels
        assert off[-1] <= 1 / 110
    else:
        assert np.all(np.diff(off) <= 1e-4)
        assert off[-1] < 1e-3


def test_exact_rounding_meets_the_shares_reached():
    model = BLoRD(3, tau=0.2, proportions=(None, 1.0), rounding="exact").fit(X)
    assert np.abs(model.sizes_ - 110 * model.proportions_).max() < 1
    assert np.ptp(model.proportions_) > 0.02


def test_it_is_a_parameter_like_others():
    model = BLoRD(3, proportions=(None, 2.0), tau=1.0)
    assert clone(model).get_params()["proportions"] == (None, 2.0)
    same = BLoRD(3, proportions=[None, 2.0], tau=1.0).fit(X)
    np.testing.assert_array_equal(same.membership_, model.fit(X).membership_)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, (None, np.inf)),
        ([0.3, 0.7], ([0.3, 0.7], np.inf)),
        ((0.3, 0.7), ((0.3, 0.7), np.inf)),
        ((None, 3), (None, 3.0)),
        (([0.3, 0.7], 0), ([0.3, 0.7], 0.0)),
        (([0.2, 0.3, 0.5], np.inf), ([0.2, 0.3, 0.5], np.inf)),
        ([[0.2, 0.3], [0.1, 0.4]], ([[0.2, 0.3], [0.1, 0.4]], np.inf)),
    ],
)
def test_pairs_and_shares_are_told_apart(given, wanted):
    assert split_proportions(given) == wanted


@MODELS
@pytest.mark.parametrize(
    ("pair", "error", "match"),
    [
        ((None, -1), ValueError, "strength must be .* 0 or more, got -1"),
        ((None, np.nan), ValueError, "strength must be .* 0 or more, got nan"),
        (
            (None, "firm"),
            TypeError,
            "strength must be .* 0 or more, got 'firm'",
        ),
        ((None, True), TypeError, "strength must be .* 0 or more, got True"),
        (([0.5, 0.5], 3), ValueError, "proportions must hold n_clusters=3 numbers"),
        (([0.5, 0.6, 0.1], 3), ValueError, "proportions must sum to 1"),
    ],
)
def test_refusals(Model, pair, error, match):
    with pytest.raises(error, match=match):
        Model(3, proportions=pair).fit(X)


@GIVEN
def test_the_papers_algorithm_refuses_soft_proportions(Model):
    with pytest.raises(ValueError, match='"paper" requires exact proportions'):
        Model(3, algorithm="paper", proportions=(None, 1)).fit(X)


def test_the_path_takes_them_too():
    from lordclust.graph import KNNGraph

    S = KNNGraph().build(X)
    path = tau_path(S, 3, proportions=(None, 0.3))
    whole = {"affinity": "precomputed", "start": "path", "tau": 1.0}
    model = BLoRD(3, proportions=(None, 0.3), **whole).fit(S)
    np.testing.assert_allclose(path.membership(), model.membership_, atol=1e-12)
    np.testing.assert_allclose(path.proportions, 1 / 3)
    assert path.objectives[-1] == pytest.approx(model.objective_, rel=1e-9)


@GIVEN
@pytest.mark.parametrize("shares", [[0.3, 0.3, 0.4], None])
def test_the_strength_is_a_parameter(Model, shares):
    pair = Model(3, proportions=(shares, 2.0)).fit(X)
    own = Model(3, proportions=shares, strength=2.0).fit(X)
    np.testing.assert_array_equal(own.membership_, pair.membership_)
    np.testing.assert_array_equal(own.labels_, pair.labels_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strength": 1}, 'strength is for given shares, got .* proportions="auto"'),
        ({"strength": -1, "proportions": "equal"}, "strength must be .* got -1"),
        (
            {"strength": 1, "proportions": None, "cluster_sizes": [50, 30, 30]},
            "cluster_sizes and strength were both given",
        ),
    ],
)
def test_refused_strengths(settings, message):
    with pytest.raises(ValueError, match=message):
        BLoRD(3, **settings).fit(X)


def test_a_path_has_a_strength_and_takes_samples():
    path = tau_path(X, 3, strength=1.0)
    pair = tau_path(KNNGraph().build(X), 3, proportions=(None, 1.0))
    np.testing.assert_array_equal(path.labels, pair.labels)
    other = tau_path(X, 3, strength=1.0, affinity=KNNGraph(5))
    assert other.eigenvalues != path.eigenvalues
