"""How sure a fitted model is, and how far other paths agree."""

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from lordclust import BLoRD, LoRD
from lordclust.choose.agreement import compared
from lordclust.result import Agreement
from models import MODELS, PAPER
from strategies import block_graph, generators

X, _ = make_blobs(90, centers=3, cluster_std=3.0, random_state=0)


def with_membership(P, weight=None):
    """A model that was fitted as far as these answers look."""
    model = PAPER(P.shape[1])
    model.membership_, model.labels_ = P, P.argmax(axis=1)
    model._weight = np.ones(len(P)) if weight is None else weight
    return model


@st.composite
def memberships(draw, max_n=30, max_k=6):
    n, k = draw(st.integers(1, max_n)), draw(st.integers(1, max_k))
    rng = draw(generators())
    P = rng.dirichlet(np.full(k, draw(st.sampled_from([0.02, 0.5, 5.0]))), n)
    return np.where(P < 1e-3, 0, P) / np.where(P < 1e-3, 0, P).sum(axis=1)[:, None]


# -- uncertainty ------------------------------------------------------------------


@given(memberships())
def test_uncertainty_is_entropy_in_units_of_log_k(P):
    k = P.shape[1]
    found = with_membership(P).uncertainty_
    assert found.shape == (len(P),)
    assert found.min() >= 0
    assert found.max() <= 1
    wanted = entropy(P, axis=1, base=k) if k > 1 else np.zeros(len(P))
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_sure_and_unsure():
    P = np.array([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0]])
    np.testing.assert_allclose(with_membership(P).uncertainty_, [0, 1, 0.5])


@MODELS
def test_uncertainty_of_a_fit(Model):
    assert not hasattr(Model(3), "uncertainty_")
    model = Model(3).fit(X)
    np.testing.assert_allclose(
        model.uncertainty_, entropy(model.membership_, axis=1, base=3), atol=1e-12
    )
    np.testing.assert_array_equal(Model(1).fit(X).uncertainty_, 0)
    np.testing.assert_allclose(
        PAPER(3, tau=0).fit(X).uncertainty_,
        1,
        atol=1e-4,
    )


# -- pairs of clusters ------------------------------------------------------------


@given(memberships())
def test_pairs_share_what_both_claim(P):
    k = P.shape[1]
    pairs = with_membership(P).confusable_pairs()
    shares = {}
    for a in range(k):
        for b in range(a + 1, k):
            both = np.minimum(P[:, a], P[:, b]).sum()
            if both > 0:
                shares[a, b] = both / min(P[:, a].sum(), P[:, b].sum())
    assert {(pair.a, pair.b) for pair in pairs} == set(shares)
    for pair in pairs:
        assert pair.share == pytest.approx(shares[pair.a, pair.b], abs=1e-12)
        assert 0 < pair.share <= 1
    found = [pair.share for pair in pairs]
    assert found == sorted(found, reverse=True)


@given(memberships(), st.integers(1, 5))
def test_samples_are_the_most_doubtful(P, count):
    for a, b, _, samples in with_membership(P).confusable_pairs(n_samples=count):
        both = np.minimum(P[:, a], P[:, b])
        assert len(samples) == min(count, np.count_nonzero(both))
        np.testing.assert_array_equal(both[samples], -np.sort(-both)[: len(samples)])


def test_pairs_by_hand():
    P = np.array([[0.5, 0.5, 0.0], [1.0, 0, 0], [0, 0.75, 0.25], [0, 0, 1.0]])
    first, second = with_membership(P).confusable_pairs()
    # Masses 1.5, 1.25, 1.25; 0 and 1 have half a sample in common, 1 and 2 a quarter.
    assert (first.a, first.b, first.share) == (0, 1, 0.4)
    assert (second.a, second.b, second.share) == (1, 2, 0.2)
    np.testing.assert_array_equal(first.samples, [0])
    np.testing.assert_array_equal(second.samples, [2])
    assert with_membership(P).confusable_pairs(1)[0].a == 0
    assert len(with_membership(P).confusable_pairs(1)) == 1
    # A cluster that is nowhere the more probable one is wholly shared.
    swallowed = with_membership(np.array([[0.6, 0.4], [0.9, 0.1]]))
    assert swallowed.confusable_pairs()[0].share == pytest.approx(1)


@given(memberships(), generators())
def test_a_weight_counts_as_copies(P, rng):
    times = rng.integers(0, 3, len(P))
    times[0] = 1
    weighted = with_membership(P, times.astype(float)).confusable_pairs()
    copied = with_membership(np.repeat(P, times, axis=0)).confusable_pairs()
    shares = {(pair.a, pair.b): pair.share for pair in weighted}
    assert shares == pytest.approx({(p.a, p.b): p.share for p in copied})


@MODELS
def test_clear_clusters_share_nothing(Model):
    S = np.kron(np.eye(2), np.ones((20, 20)))
    pairs = Model(2, affinity="precomputed").fit(S).confusable_pairs()
    assert all(pair.share < 1e-6 for pair in pairs)
    assert Model is BLoRD or pairs == []
    assert Model(1).fit(X).confusable_pairs() == []


@MODELS
def test_doubtful_clusters_share_their_doubtful_samples(Model):
    options = {"tau": 0.1} if Model is PAPER else {}
    model = Model(3, **options).fit(X)
    pairs = model.confusable_pairs()
    assert pairs
    for a, b, _, samples in pairs:
        assert np.minimum(*model.membership_[samples][:, [a, b]].T).min() > 0


@pytest.mark.parametrize("bad", [0, -1, 1.5, "all", True])
def test_bad_numbers_of_pairs(bad):
    model = with_membership(np.eye(2))
    with pytest.raises(ValueError, match="top must be a positive integer"):
        model.confusable_pairs(bad)
    with pytest.raises(ValueError, match="n_samples must be a positive integer"):
        model.confusable_pairs(n_samples=bad)


# -- other paths ------------------------------------------------------------------


@given(generators(), st.integers(1, 5), st.integers(1, 4))
def test_agreement_is_blind_to_names(rng, k, count):
    own = rng.integers(0, k, 40)
    renamed = [rng.permutation(k)[own] for _ in range(count)]
    found = compared(own, 1.0, renamed, [1.0] * count)
    np.testing.assert_array_equal(found.share, 1)
    assert found.ari == 1
    np.testing.assert_array_equal(found.labels, np.tile(own, (count, 1)))


@given(generators(), st.integers(2, 5))
def test_agreement_counts_paths(rng, k):
    own = rng.integers(0, k, 60)
    others = [np.where(rng.random(60) < 0.2, rng.integers(0, k, 60), own)]
    others.append(rng.permutation(k)[own])
    found = compared(own, 1.0, others, [1.0, 2.0])
    np.testing.assert_array_equal(found.labels[1], own)
    np.testing.assert_array_equal(found.share, ((found.labels == own).sum(0)) / 2)
    # The matching is the best there is: at least as good as the names given.
    assert (found.labels[0] == own).sum() >= (others[0] == own).sum()
    pairs = [(own, others[0]), (own, others[1]), (others[0], others[1])]
    wanted = np.mean([adjusted_rand_score(*pair) for pair in pairs])
    assert found.ari == pytest.approx(wanted)


def test_clear_blocks_are_found_on_every_path():
    S, y = block_graph(np.random.default_rng(0), [20, 20, 20])
    model = PAPER(3, affinity="precomputed").fit(S)
    assert adjusted_rand_score(model.labels_, y) == 1
    found = model.agreement()
    np.testing.assert_array_equal(found.share, 1)
    assert found.ari == 1
    assert found.labels.shape == (5, 60)
    np.testing.assert_allclose(found.objectives, model.objective_, rtol=1e-3)
    text = "Agreement of 5 paths: mean ARI 1.000, all agree on 100.0% of 60 samples"
    assert repr(found) == text


def test_paths_without_blocks_differ():
    rng = np.random.default_rng(0)
    S, _ = block_graph(rng, [80], inside=0.1)
    model = PAPER(4, affinity="precomputed").fit(S)
    found = model.agreement(4)
    assert found.ari < 0.9
    assert 0.2 < found.share.mean() < 0.99
    # Doubt is not everywhere the same, or it would say nothing.
    assert len(np.unique(found.share)) > 1


def test_paths_in_worse_optima_are_told_apart():
    X, y = make_blobs([150, 50, 25], centers=[[0, 0], [8, 0], [0, 8]], random_state=2)
    model = BLoRD(3).fit(X)
    assert adjusted_rand_score(model.labels_, y) > 0.99
    found = model.agreement(3)
    worse = found.objectives < model.objective_ * (1 - 5e-3)
    np.testing.assert_array_equal(found.as_good, ~worse)
    assert 0 < worse.sum() < 3
    assert found.ari < 0.8  # of clear clusters
    for labels in found.labels[found.as_good]:
        np.testing.assert_array_equal(labels, y)
    assert f"3 paths, {3 - worse.sum()} as good as the model: mean" in repr(found)
    none = compared(y, 1.0, [1 - y % 2], [0.9])
    assert repr(none).startswith("Agreement of 1 path, none as good as the model: mean")


def test_agreement_is_reproducible_and_leaves_the_model_alone():
    rng = np.random.default_rng(1)
    S, _ = block_graph(rng, [30, 30], inside=0.2, between=0.1)
    model = PAPER(2, affinity="precomputed").fit(S)
    before = pickle.dumps(model)
    first, second = model.agreement(3), model.agreement(3)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.objectives, second.objectives)
    assert pickle.dumps(model) == before
    again = pickle.loads(before).set_params(n_jobs=1).agreement(3)
    np.testing.assert_array_equal(first.labels, again.labels)
    other = model.agreement(3, random_state=7)
    assert not np.array_equal(first.objectives, other.objectives)


@pytest.mark.parametrize("tau", [0.0, 0.03, 0.3])
def test_agreement_at_any_tau(tau):
    model = PAPER(3, tau=tau).fit(X)
    found = model.agreement(2)
    assert isinstance(found, Agreement)
    np.testing.assert_allclose(found.objectives, model.objective_, rtol=0.05)
    assert found.share.shape == (90,)


def test_agreement_of_exact_sizes():
    model = BLoRD(3, tau=0.1, cluster_sizes=[50, 25, 15]).fit(X)
    found = model.agreement(3)
    for labels in found.labels:
        assert sorted(np.bincount(labels, minlength=3)) == [15, 25, 50]


def test_agreement_keeps_the_weights():
    weight = np.r_[np.full(45, 4.0), np.ones(45)]
    model = PAPER(3, tau=0.3).fit(X, sample_weight=weight)
    found = model.agreement(2)
    np.testing.assert_allclose(found.objectives, model.objective_, rtol=0.05)
    plain = PAPER(3, tau=0.3).fit(X)
    assert model.objective_ != pytest.approx(plain.objective_, rel=0.01)


@pytest.mark.filterwarnings("ignore:Labels break")
def test_agreement_keeps_known_labels_and_links():
    known = np.full(90, -1)
    known[:10] = np.arange(10) % 3
    far = np.abs(X - X[20]).sum(axis=1).argmax()
    model = BLoRD(3, rounding="exact", tau=1.0, proportions="equal").fit(
        X, known_labels=known, must_link=[[20, far]], cannot_link=[[40, 41]]
    )
    for labels in model.agreement(3).labels:
        np.testing.assert_array_equal(labels[:10], known[:10])
        assert (labels[20] == labels[far]) == (model.labels_[20] == model.labels_[far])


def test_agreement_of_soft_shares():
    model = BLoRD(3, tau=0.3, proportions=(None, 1.0), rounding="exact").fit(X)
    found = model.agreement(2)
    np.testing.assert_allclose(found.objectives, model.objective_, rtol=0.05)


def test_the_record_is_frozen():
    found = PAPER(2, tau=0.2).fit(X).agreement(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.ari = 0.0


@pytest.mark.parametrize("bad", [0, -3, 2.5, "five"])
def test_bad_numbers_of_paths(bad):
    model = PAPER(2, tau=0.2).fit(X)
    with pytest.raises(ValueError, match="n_paths must be a positive integer"):
        model.agreement(bad)


def test_before_a_fit():
    with pytest.raises(NotFittedError):
        PAPER(3).agreement()
    with pytest.raises(NotFittedError):
        LoRD(3).confusable_pairs()
