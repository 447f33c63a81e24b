"""Refit: old clusters keep their numbers and names, and what changed is stated."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs, make_moons

from lordclust import BLoRD, LoRD

CENTRES = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])


@pytest.fixture(scope="module")
def months():
    """Samples of four blobs; the last blob appears in the second month, as largest."""
    X, y = make_blobs([40, 30, 20, 60], centers=CENTRES, random_state=0)
    return X, y


@pytest.fixture(scope="module")
def model(months):
    X, y = months
    return BLoRD(3).fit(X[y < 3])


def test_old_clusters_keep_their_numbers_and_new_ones_get_new_numbers(model, months):
    X, y = months
    new = model.refit(X, n_clusters=4)
    np.testing.assert_array_equal(new.labels_, y)
    np.testing.assert_array_equal(new.sizes_, [40, 30, 20, 60])
    np.testing.assert_array_equal(new.membership_.argmax(axis=1), y)
    np.testing.assert_allclose(new.membership_.mean(axis=0), new.proportions_)
    assert len(new.change_.moved) == 0
    assert "cluster 3: new, 60 now" in str(new.change_)
    assert model.n_clusters == 3  # a copy was fitted
    assert BLoRD(4).fit(X).labels_[y == 3][0] == 0  # the largest, without refit
    np.testing.assert_array_equal(new.predict(CENTRES), range(4))
    assert new.agreement(1).share.mean() > 0.8


def test_rows_match_samples(model, months):
    X, y = months
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)[y < 3]
    place[:5] = -1  # are gone
    new = model.refit(X[order], n_clusters=4, rows=place)
    np.testing.assert_array_equal(new.labels_, y[order])
    assert (new.change_.before >= 0).sum() == (y < 3).sum() - 5
    known = np.bincount(y[y < 3][5:], minlength=4)
    np.testing.assert_array_equal(new.change_.table, np.diag(known)[:3])


def test_clusters_that_are_gone(model, months):
    X, y = months
    model.extras_ = {"clusters": ["a", "b", "c"]}
    fewer = model.refit(X[np.isin(y, [0, 2])], n_clusters=2)
    np.testing.assert_array_equal(
        fewer.labels_, np.where(y == 2, 1, 0)[np.isin(y, [0, 2])]
    )
    assert fewer.extras_["clusters"] == ["a", "c"]
    assert len(fewer.change_.moved) == 0
    assert "cluster 1 (was 2): 20 before, 20 now, 20 in both" in str(fewer.change_)
    np.testing.assert_array_equal(fewer.change_.old_labels, y[np.isin(y, [0, 2])])
    one = model.refit(X[y < 3], n_clusters=2)
    assert re.search(r"cluster \d before: \d+, gone", str(one.change_))
    other = model.refit(X[y > 0], n_clusters=3)  # the fourth blob has a free number
    assert other.extras_["clusters"] == ["Segment 0", "b", "c"]
    assert "cluster 0: new, 60 now" in str(other.change_)
    joined = model.refit(X + 90.0 * (y == 3)[:, None], n_clusters=3)  # far from all
    (gone,) = re.findall(r"cluster (\d) before: \d+, gone", str(joined.change_))
    assert f"gone; {gone} is new, 60 now" in str(joined.change_)
    assert joined.extras_["clusters"][int(gone)] == f"Segment {gone}"
    more = model.refit(X, n_clusters=4)
    assert more.extras_["clusters"] == ["a", "b", "c", "Segment 3"]
    del model.extras_


def test_given_sizes_number_the_clusters(model, months):
    X, y = months
    sized = BLoRD(3, cluster_sizes=[20, 30, 40]).fit(X[y < 3])
    again = sized.refit(X[y < 3])
    np.testing.assert_array_equal(again.sizes_, [20, 30, 40])
    assert len(again.change_.moved) == 0


def test_outliers_lord_and_fewer_probabilities():
    X = load_iris().data
    for model in (LoRD(3), BLoRD(3, outliers=0.1), BLoRD(3, proba_top=2)):
        old = model.fit(X[::2])
        new = old.refit(X)
        assert len(new.change_.moved) < 40
        assert new.sizes_.sum() == (new.labels_ >= 0).sum()


def test_similarities_need_rows():
    S = BLoRD(3).fit(load_iris().data).affinity_matrix_
    model = BLoRD(3, affinity="precomputed").fit(S)
    with pytest.raises(ValueError, match="holds no samples to compare X with"):
        model.refit(S)
    again = model.refit(S, rows=np.arange(150))
    assert len(again.change_.moved) == 0
    with pytest.raises(ValueError, match="rows must hold one row of X, from 0 to 149"):
        model.refit(S, rows=[0, 1])


def test_given_labels_are_doubted_where_a_cut_disagrees():
    X, y = make_moons(300, noise=0.08, random_state=0)
    halves = (X[:, 0] > 0.5).astype(int)  # through the middle of both moons
    right, wrong = BLoRD.from_labels(X, y), BLoRD.from_labels(X, halves)
    assert right.selection_.stability > 0.95
    assert wrong.selection_.stability < 0.95
    sure, unsure = (m.membership_.max(axis=1).mean() for m in (right, wrong))
    assert unsure < sure - 0.05
