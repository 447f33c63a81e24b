"""Choosing tau and shares without labels."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from lordclust import BLoRD, LoRD
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy

IRIS = load_iris()


def unequal(seed=0, sizes=(150, 60, 30)):
    centers = np.array([[0, 0], [7, 0], [0, 7]])[: len(sizes)]
    return make_blobs(list(sizes), centers=centers, random_state=seed)


@pytest.fixture(scope="module")
def chosen():
    X, y = unequal()
    return BLoRD(3, tau="auto", proportions="auto").fit(X), X, y


def test_shares_of_clear_clusters_are_found(chosen):
    model, _, y = chosen
    assert accuracy(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.sizes_, [150, 60, 30])
    np.testing.assert_allclose(model.proportions_, [0.625, 0.25, 0.125])


def test_the_model_is_one_of_b_lord(chosen):
    model, _, _ = chosen
    P = model.membership_
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(P.mean(axis=0), model.proportions_, atol=1e-9)
    assert model.converged_
    assert 0 < model.tau_ <= 1


def test_the_record_holds_what_was_weighed(chosen):
    model, X, _ = chosen
    s = model.selection_
    m = len(s.taus)
    assert all(len(x) == m for x in (s.rounds, s.paths, s.features, s.graph, s.sizes))
    np.testing.assert_array_equal(s.sizes.sum(axis=1), len(X))
    np.testing.assert_allclose(s.evidence, s.features + s.graph)
    assert s.taus[s.best] == model.tau_
    assert np.sort(model.sizes_).tolist() == np.sort(s.sizes[s.best]).tolist()
    last = s.rounds == s.rounds.max()
    assert s.evidence[s.best] == s.evidence[last].max()
    assert "150 60 30" in repr(s)
    assert s.table(1).count("\n") == 1
    assert s.table().splitlines()[1].startswith("->")


def test_equal_clusters_keep_equal_shares():
    X, _ = unequal(sizes=(80, 80, 80))
    model = BLoRD(3, tau="auto", proportions="auto").fit(X)
    np.testing.assert_array_equal(model.sizes_, 80)


def test_tau_alone_leaves_the_shares():
    model = BLoRD(3, tau="auto").fit(IRIS.data)
    np.testing.assert_allclose(model.membership_.mean(axis=0), 1 / 3, atol=1e-9)
    assert set(model.selection_.rounds) == {0}
    assert accuracy(IRIS.target, model.labels_) > 0.95


def test_shares_alone_leave_tau():
    X, _ = unequal()
    model = BLoRD(3, tau=0.4, proportions="auto").fit(X)
    assert model.tau_ == 0.4
    np.testing.assert_array_equal(model.sizes_, [150, 60, 30])


def test_fewer_clusters_than_asked_for():
    """Five columns, but nothing in the data speaks for more than a few."""
    rng = np.random.default_rng(0)
    far = rng.random((60, 2)) + 30
    X = np.concatenate([rng.standard_normal((60, 2)), far])
    model = BLoRD(5, tau="auto", proportions="auto").fit(X)
    used = model.sizes_ > 0
    assert model.membership_.shape == (120, 5)
    np.testing.assert_allclose(model.proportions_[~used], 0.0)
    np.testing.assert_allclose(model.membership_.mean(axis=0), model.proportions_)
    assert list(model.proportions_) == sorted(model.proportions_, reverse=True)


def test_the_graph_alone_is_enough(chosen):
    model, _, y = chosen
    S = model.affinity_matrix_
    alone = BLoRD(3, tau="auto", proportions="auto", affinity="precomputed").fit(S)
    assert accuracy(y, alone.labels_) == 1.0


def test_the_graph_alone_takes_sizes_once():
    S = KNNGraph().build(IRIS.data)
    alone = BLoRD(3, tau="auto", proportions="auto", affinity="precomputed").fit(S)
    assert set(alone.selection_.rounds) == {0, 1}
    np.testing.assert_allclose(alone.membership_.mean(axis=0), alone.proportions_)


def test_known_labels_keep_their_names():
    X, y = unequal()
    known = np.full(len(y), -1)
    known[:200:9] = 2 - y[:200:9]
    model = BLoRD(3, tau="auto", proportions="auto").fit(X, known_labels=known)
    assert np.all(model.labels_ == 2 - y)


def test_known_labels_may_be_more_than_an_equal_share():
    X, y = unequal()
    known = np.where(y == 0, 0, -1)
    model = BLoRD(3, proportions="auto").fit(X, known_labels=known)
    assert np.all(model.labels_[y == 0] == 0)


def test_weights_weigh_in_the_sizes():
    X, _ = unequal()
    w = np.ones(len(X))
    w[:7] = 2.0
    model = BLoRD(3, tau="auto", proportions="auto").fit(X, sample_weight=w)
    s = model.selection_
    np.testing.assert_allclose(s.sizes.sum(axis=1), len(X))
    means = w @ model.membership_ / w.sum()
    np.testing.assert_allclose(means, model.proportions_, atol=1e-9)


def test_the_same_every_time_and_for_any_threads(chosen):
    model, X, _ = chosen
    for jobs in (1, 2):
        again = BLoRD(3, tau="auto", proportions="auto", n_jobs=jobs).fit(X)
        np.testing.assert_array_equal(again.membership_, model.membership_)
        np.testing.assert_array_equal(again.selection_.evidence,
                                      model.selection_.evidence)  # fmt: skip


def test_many_samples_get_fewer_paths(monkeypatch):
    few = BLoRD(3, tau="auto").fit(IRIS.data).selection_
    monkeypatch.setattr("lordclust.choose.shares.MANY", 10)
    many = BLoRD(3, tau="auto", proportions="auto").fit(IRIS.data).selection_
    first = np.array(many.paths)[many.rounds == 0]
    assert len(set(few.paths)) == 5
    assert len(set(first)) == 3
    assert many.rounds.max() <= 2


def test_other_answers_work_with_empty_clusters():
    rng = np.random.default_rng(1)
    X = np.concatenate(
        [rng.standard_normal((40, 2)), 20 + rng.standard_normal((20, 2))]
    )
    model = BLoRD(4, tau="auto", proportions="auto").fit(X)
    assert np.all(np.isfinite(model.uncertainty_))
    assert model.predict_proba(X[:3]).shape == (3, 4)
    model.confusable_pairs()
    assert model.agreement(2).share.min() >= 0


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"start": "random"}, "got start='random' and algorithm='fast'.*\"path\""),
        ({"algorithm": "paper"}, "algorithm='paper'"),
        ({"start": np.ones((150, 3))}, "an array"),
    ],
)
def test_refuses_what_has_no_paths(settings, match):
    with pytest.raises(ValueError, match=match):
        BLoRD(3, tau="auto", **settings).fit(IRIS.data)


def test_lord_cannot_choose():
    with pytest.raises(ValueError, match="LoRD does not support proportions"):
        LoRD(3, proportions="auto").fit(IRIS.data)


def test_sizes_and_auto_contradict_each_other():
    with pytest.raises(ValueError, match="cluster_sizes"):
        BLoRD(3, proportions="auto", cluster_sizes=[50, 50, 50]).fit(IRIS.data)


def test_exact_rounding_meets_the_shares_chosen(chosen):
    _, X, _ = chosen
    model = BLoRD(3, tau="auto", proportions="auto", rounding="exact").fit(X)
    np.testing.assert_array_equal(model.sizes_, [150, 60, 30])
