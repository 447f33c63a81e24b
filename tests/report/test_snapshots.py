"""The snapshots of a report agree with the model and the path."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from lordclust import LoRD, tau_path
from lordclust.report.snapshots import (
    Snapshot,
    Snapshots,
    circular_order,
    matching_columns,
    take_snapshots,
)
from models import PAPER
from strategies import generators

X = load_iris().data


@pytest.fixture(scope="module")
def model():
    return PAPER(3, tau=0.15).fit(X)


@pytest.fixture(scope="module")
def path(model):
    return tau_path(model.affinity_matrix_, 3, keep="all")


def test_shares_of_weight_are_left_out():
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = PAPER(3, tau=0.15).fit(X, sample_weight=w)
    found = take_snapshots(model, None)
    assert found.shares is None
    np.testing.assert_array_equal(found.weight, model._weight)


def test_sparse_memberships_are_read():
    model = PAPER(3, tau=0.15, proba_top=2).fit(X)
    found = take_snapshots(model, None)
    np.testing.assert_array_equal(found.first.P, model.membership_.toarray())


@given(generators(), st.integers(2, 6))
def test_columns_are_found_again(rng, k):
    P = rng.dirichlet(np.full(k, 0.2), 50 * k)
    order = rng.permutation(k)
    np.testing.assert_array_equal(P[:, order][:, matching_columns(P[:, order], P)], P)


def test_a_model_stands_on_its_path_with_the_same_clusters(model, path):
    # A path whose clusters are numbered otherwise must end in the same colours.
    turned = {t: P[:, [2, 0, 1]] for t, P in path.memberships.items()}
    found = take_snapshots(
        model, path.__class__(**{**vars(path), "memberships": turned})
    )
    taus = [one.tau for one in found.all]
    assert taus == sorted(taus)
    assert found.first.tau == model.tau_
    np.testing.assert_array_equal(found.first.labels, model.labels_)
    after = found.all[found.start + 1]
    assert np.mean(after.labels == model.labels_) > 0.9
    for one in found.all:
        np.testing.assert_array_equal(one.labels, one.P.argmax(axis=1))
    np.testing.assert_allclose(found.shares, model.proportions_)


def test_a_path_alone_opens_at_its_end(path):
    found = take_snapshots(None, path)
    assert found.start == len(found.all) - 1 == len(path.memberships) - 1
    np.testing.assert_array_equal(found.first.P, path.membership())


def test_labels_alone_are_certain():
    model = KMeans(4, n_init=1, random_state=0).fit(X)
    model.labels_ = np.array([0, 2, 1, 2])  # cluster 3 is empty
    found = take_snapshots(model, None)
    np.testing.assert_array_equal(found.first.P, np.eye(4)[[0, 2, 1, 2]])
    assert found.first.tau is None


@given(st.integers(1, 80), st.integers(2, 20), st.data())
def test_few_snapshots_keep_the_first(count, most, data):
    start = data.draw(st.integers(0, count - 1))
    P = np.full((2, 2), 0.5)
    all_ = [Snapshot(i / count, P, np.zeros(2, int)) for i in range(count)]
    few = Snapshots(all_, start, None, np.ones(2), np.zeros(2, bool)).thinned(most)
    assert len(few.all) == min(count, most)
    assert few.first is all_[start]
    taus = [one.tau for one in few.all]
    assert taus == sorted(set(taus))


def test_clusters_that_share_are_neighbours_in_the_ring():
    P = np.zeros((60, 4))
    for i, (a, b) in enumerate([(0, 2), (2, 1), (1, 3)] * 20):
        P[i, [a, b]] = 0.5
    one, ones = Snapshot(None, P, P.argmax(axis=1)), np.ones(60)
    found = Snapshots([one], 0, None, ones, ones < 0)
    assert circular_order(found) == [0, 2, 1, 3]


def test_errors(model, path):
    with pytest.raises(ValueError, match="needs a model or a path, got neither"):
        take_snapshots(None, None)
    with pytest.raises(ValueError, match="BLoRD instance is not fitted yet"):
        take_snapshots(PAPER(3), None)
    with pytest.raises(ValueError, match="the model has no tau"):
        take_snapshots(LoRD(3).fit(X), path)
    with pytest.raises(ValueError, match=r"\(150, 2\), got \(150, 3\)"):
        take_snapshots(PAPER(2).fit(X), path)
