"""What a page tells of each tau is what the model and the path say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from lordclust import BLoRD, LoRD, tau_path
from lordclust.report import story as stories
from lordclust.report.story import Frame, Story, evenly, matching_columns, tell
from lordclust.rounding.labels import normalized_entropy
from strategies import generators

X = load_iris().data


@pytest.fixture(scope="module")
def model():
    return BLoRD(3, tau=0.15).fit(X)


@pytest.fixture(scope="module")
def path(model):
    return tau_path(model.affinity_matrix_, 3, keep="all")


def test_doubt_and_pairs_are_the_models_own(model):
    np.testing.assert_allclose(
        normalized_entropy(model.membership_), model.uncertainty_, atol=1e-15
    )
    ours = stories.shared_pairs(model.membership_, np.ones(len(X)))
    theirs = model.confusable_pairs()
    assert [(a, b) for a, b, _ in ours] == [(p.a, p.b) for p in theirs]
    np.testing.assert_allclose([s for *_, s in ours], [p.share for p in theirs])


def test_weights_count_in_pairs():
    w = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = BLoRD(3, tau=0.15).fit(X, sample_weight=w)
    ours = stories.shared_pairs(model.membership_, tell(model, None).weight)
    theirs = [pair.share for pair in model.confusable_pairs()]
    np.testing.assert_allclose([s for *_, s in ours], theirs)
    assert tell(model, None).shares is None  # of weight, not of samples


@given(generators(), st.integers(2, 6))
def test_columns_are_found_again(rng, k):
    P = rng.dirichlet(np.full(k, 0.2), 50 * k)
    order = rng.permutation(k)
    np.testing.assert_array_equal(P[:, order][:, matching_columns(P[:, order], P)], P)


def test_a_model_stands_on_its_path_with_the_same_clusters(model, path):
    # A path whose clusters are numbered otherwise must end in the same colours.
    turned = {t: P[:, [2, 0, 1]] for t, P in path.memberships.items()}
    story = tell(model, path.__class__(**{**vars(path), "memberships": turned}))
    taus = [frame.tau for frame in story.frames]
    assert taus == sorted(taus)
    assert story.first_seen.own
    assert story.first_seen.tau == model.tau_
    np.testing.assert_array_equal(story.first_seen.labels, model.labels_)
    after = story.frames[story.start + 1]
    assert np.mean(after.labels == model.labels_) > 0.9
    for frame in story.frames:
        np.testing.assert_array_equal(frame.labels, frame.P.argmax(axis=1))
    np.testing.assert_allclose(story.shares, model.proportions_)


def test_a_path_alone_opens_at_its_end(path):
    story = tell(None, path)
    assert story.start == len(story.frames) - 1 == len(path.memberships) - 1
    np.testing.assert_array_equal(story.first_seen.P, path.membership())


def test_labels_alone_are_certain():
    class Fitted:
        labels_ = np.array([0, 2, 1, 2])
        n_clusters = 4

    story = tell(Fitted(), None)
    np.testing.assert_array_equal(story.first_seen.P, np.eye(4)[[0, 2, 1, 2]])
    assert story.first_seen.tau is None


@given(st.integers(1, 80), st.integers(2, 20), st.data())
def test_few_frames_keep_the_first_seen(count, most, data):
    start = data.draw(st.integers(0, count - 1))
    P = np.full((2, 2), 0.5)
    all_ = [Frame(i / count, P, np.zeros(2, int)) for i in range(count)]
    few = evenly(Story(all_, start, None, np.ones(2)), most)
    assert len(few.frames) == min(count, most)
    assert few.first_seen is all_[start]
    taus = [frame.tau for frame in few.frames]
    assert taus == sorted(set(taus))


def test_clusters_that_share_are_neighbours_in_the_ring():
    P = np.zeros((60, 4))
    for i, (a, b) in enumerate([(0, 2), (2, 1), (1, 3)] * 20):
        P[i, [a, b]] = 0.5
    story = Story([Frame(None, P, P.argmax(axis=1))], 0, None, np.ones(60))
    assert stories.neighbours_in_a_ring(story) == [0, 2, 1, 3]


def test_what_cannot_be_told(model, path):
    with pytest.raises(ValueError, match="needs a model or a path, got neither"):
        tell(None, None)
    with pytest.raises(ValueError, match="must be fitted, got BLoRD without labels_"):
        tell(BLoRD(3), None)
    with pytest.raises(ValueError, match="the model has no tau"):
        tell(LoRD(3).fit(X), path)
    with pytest.raises(ValueError, match=r"\(150, 2\), got \(150, 3\)"):
        tell(BLoRD(2).fit(X), path)
