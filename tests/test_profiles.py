"""Profiles: what distinguishes clusters, who is typical, and why."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from lordclust import BLoRD
from lordclust.profiles import decimals, make_profiles
from models import MODELS

IRIS = load_iris()
X = IRIS.data
SIX = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])


@pytest.fixture(scope="module")
def model():
    return BLoRD(3).fit(X)


@MODELS
def test_numbers_are_those_of_the_samples(Model):
    fitted = Model(3).fit(X)
    profiles = fitted.describe(feature_names=IRIS.feature_names)
    for one in profiles:
        own = X[fitted.labels_ == one.cluster]
        assert one.size == len(own) == fitted.sizes_[one.cluster]
        assert one.share == pytest.approx(len(own) / 150)
        sizes = [abs(f.difference) for f in one.features]
        assert sizes == sorted(sizes, reverse=True)
        for f in one.features:
            j = IRIS.feature_names.index(f.name)
            z = (own[:, j].mean() - X[:, j].mean()) / X[:, j].std()
            expected = own[:, j].mean(), X[:, j].mean(), z
            assert (f.mean, f.overall, f.difference) == pytest.approx(expected)


def test_other_units_change_the_means_only(model):
    plain, metres = model.describe(), model.describe(X / 100 + 7)
    np.testing.assert_allclose(metres.means, plain.means / 100 + 7)
    np.testing.assert_allclose(metres.differences, plain.differences)
    assert str(plain[0].features[0].name).startswith("x")


def test_sparse_features_have_the_same_profiles(model):
    dense, thin = model.describe(X), model.describe(sparse.csr_array(X))
    np.testing.assert_allclose(thin.means, dense.means)
    np.testing.assert_allclose(thin.spread, dense.spread)
    np.testing.assert_array_equal(thin.binary, dense.binary)
    fitted = BLoRD(3).fit(sparse.csr_array(X))
    for one, other in zip(fitted.exemplars_, model.exemplars_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_samples_of_no_weight_do_not_count():
    data = np.vstack([SIX, [[100.0]]])
    weight = np.array([1.0] * 6 + [0.0])
    labels = np.array([0, 0, 0, 1, 1, 1, 1])
    profiles = make_profiles(data, labels, 2, weight=weight)
    np.testing.assert_allclose(profiles.means[:, 0], [1, 8])
    np.testing.assert_allclose(profiles.shares, [0.5, 0.5])
    assert 6 not in profiles.exemplars[1]


def test_features_of_zeros_and_ones_are_shares_in_percent():
    data = np.column_stack([SIX[:, 0], [1, 1, 0, 0, 0, 0]])
    labels = np.array([0, 0, 0, 1, 1, 1])
    text = str(make_profiles(data, labels, 2, feature_names=["age", "member"]))
    assert "member   67%  (all: 33%, higher)" in text
    scaled = (data - data.mean(axis=0)) / data.std(axis=0)
    back = scaled * data.std(axis=0) + data.mean(axis=0)
    assert make_profiles(back, labels, 2).binary.tolist() == [False, True]


def test_constant_features_do_not_distinguish():
    data = np.column_stack([SIX[:, 0], np.full(6, 0.1)])
    profiles = make_profiles(data, np.array([0, 0, 0, 1, 1, 1]), 2)
    assert profiles.spread[1] == 0
    assert (profiles.differences[:, 1] == 0).all()


def test_an_empty_cluster_has_a_profile():
    profiles = make_profiles(SIX, np.zeros(6, dtype=int), 2)
    assert profiles[1].size == 0
    assert not profiles[1].distinctive
    assert "Segment 1 (0 samples, 0%)" in str(profiles)
    assert "near the mean" in str(profiles)


def test_exemplars_are_sure_and_central(model):
    for j, samples in enumerate(model.exemplars_):
        own = model.labels_ == j
        assert own[samples].all()
        assert len(samples) == 5
        assert model.membership_[samples, j].min() >= np.median(
            model.membership_[own, j]
        )
        far = np.linalg.norm((X - X[own].mean(axis=0)) / X.std(axis=0), axis=1)
        assert far[samples].max() < np.median(far[own])
        assert (np.diff(far[samples]) >= 0).all()


def test_border_cases_have_the_largest_second_membership(model):
    P = model.membership_
    assert any(model.describe().border)
    for one in model.describe():
        others = np.delete(P[model.labels_ == one.cluster], one.cluster, axis=1)
        largest = np.sort(others.max(axis=1))[::-1][: len(one.border)]
        np.testing.assert_allclose([c.second_probability for c in one.border], largest)
        for case in one.border:
            assert P[case.sample, case.second] == case.second_probability
            assert case.second != model.labels_[case.sample] == one.cluster


def test_memberships_of_the_top_clusters_suffice():
    full, top = BLoRD(3).fit(X), BLoRD(3, proba_top=2).fit(X)
    for one, other in zip(full.exemplars_, top.exemplars_, strict=True):
        assert len(one) == len(other)
    assert str(top.explain(70)).startswith(f"Sample 70: Segment {top.labels_[70]}")


def test_similarities_have_no_features(model):
    fitted = BLoRD(3, affinity="precomputed").fit(model.affinity_matrix_)
    profiles = fitted.describe(names=["a", "b", "c"])
    assert profiles[0].features == []
    assert len(profiles[0].exemplars) == 5
    assert list(profiles.columns()) == ["label", "name", "size", "share"]
    assert fitted.explain(0).features == []
    with_features = fitted.describe(X)
    np.testing.assert_allclose(with_features.overall, X.mean(axis=0))


def test_a_data_frame_names_the_features(model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    assert model.describe(frame).features == ["a", "b", "c", "d"]
    assert BLoRD(3).fit(frame).describe().features == ["a", "b", "c", "d"]
    table = model.describe(frame, names=["p", "q", "r"]).to_frame()
    assert table.shape == (12, 8)
    assert table.groupby("label", sort=True)["name"].first().tolist() == ["p", "q", "r"]
    assert "a" in set(table.feature)


def test_names_of_clusters_and_samples_are_shown(model):
    ids = [f"c{i}" for i in range(150)]
    profiles = model.describe(names=["<b>", "q", "r"], ids=ids)
    assert str(profiles).startswith(f"<b> ({model.sizes_[0]} samples")
    assert f"typical: c{model.exemplars_[0][0]}, " in str(profiles)
    html = profiles._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_an_explanation_names_neighbours_and_features(model):
    i = int(np.argmax(model.uncertainty_))
    found = model.explain(i)
    P, S = model.membership_[i], model.affinity_matrix_.toarray()[i]
    assert found.cluster == model.labels_[i]
    assert found.second_probability == np.delete(P, found.cluster).max()
    assert i not in found.neighbors
    np.testing.assert_array_equal(S[found.neighbors], found.similarities)
    assert (np.diff(found.similarities) <= 0).all()
    np.testing.assert_array_equal(
        found.neighbor_clusters, model.labels_[found.neighbors]
    )
    f = found.features[0]
    j = int(f.name[1:])
    closer = abs(X[i, j] - f.second_mean) - abs(X[i, j] - f.mean)
    assert f.closer == pytest.approx(closer / X[:, j].std())
    assert f"second choice Segment {found.second}" in str(found)


def test_one_cluster_has_no_second_choice():
    found = BLoRD(1, tau=1.0, proportions="equal").fit(SIX).explain(2)
    assert found.second is None
    assert "second" not in str(found)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": X[:9]}, "one row for each of the 150 fitted samples"),
        ({"X": np.full((150, 1), "a")}, "X must hold numbers, got text"),
        ({"X": np.full((150, 1), np.nan)}, "missing or infinite"),
        ({"names": ["a", "a", "b"]}, "names must be 3 different names"),
        ({"names": ["a", "b"]}, "names must be 3 different names"),
        ({"feature_names": ["a"]}, "feature_names must have 4 entries"),
        ({"ids": ["a"]}, "ids must have 150 entries"),
    ],
)
def test_what_does_not_fit_the_samples_is_refused(model, given, message):
    with pytest.raises(ValueError, match=message):
        model.describe(**given)


@pytest.mark.parametrize("i", [150, -1, 1.5])
def test_only_fitted_samples_are_explained(model, i):
    with pytest.raises(IndexError, match="from 0 to 149"):
        model.explain(i)


@pytest.mark.parametrize(
    ("spread", "digits"), [(100.0, 0), (9.0, 2), (0.3, 3), (0.0, 2), (np.inf, 2)]
)
def test_digits_follow_the_spread(spread, digits):
    assert decimals(spread) == digits


def test_dates_are_shown_as_dates():
    X = np.array([[0.0], [2.0], [19783.0], [19785.0]])
    labels = np.array([0, 0, 1, 1])
    text = str(make_profiles(X, labels, 2, feature_names=["since"], dates=["since"]))
    assert "since  1970-01-02  (all: 1997-01-31, earlier)" in text
    assert "since  2024-03-02  (all: 1997-01-31, later)" in text


def test_percentages_have_their_sign():
    X, labels = np.array([[10.0], [12], [30], [32]]), np.array([0, 0, 1, 1])
    found = make_profiles(X, labels, 2, feature_names=["sale"], percents=["sale"])
    assert "sale  11.0%  (all: 21.0%, lower)" in str(found)
    assert repr(found) == "Profiles(2 clusters, 1 features)"


def test_a_label_that_sizes_require_is_not_the_most_probable():
    X = np.r_[np.zeros((30, 1)), np.full((10, 1), 9.0)]
    X = X + np.random.default_rng(0).normal(size=X.shape)
    model = BLoRD(2, cluster_sizes=[20, 20]).fit(X)
    (other, *_) = np.flatnonzero(model.membership_.argmax(axis=1) != model.labels_)
    text = str(model.explain(other, X))
    assert f"though more probably Segment {1 - model.labels_[other]} (" in text
    assert "second choice" not in text


def test_categories_have_shares_and_numbers_their_own_units():
    """With Gower's distance there was no feature at all."""
    pandas = pytest.importorskip("pandas")
    y = np.repeat([0, 1, 2], 30)
    city = np.array(["Rome", "Oslo", "Bern"])[y]
    age = 20 + 20 * y + np.random.default_rng(0).integers(0, 5, len(y))
    frame = pandas.DataFrame({"age": age, "city": city, "same": "yes"})
    model = BLoRD(3, metric="gower").fit(frame)
    profiles = model.describe()
    assert profiles.features == [
        "age", "city=Bern", "city=Oslo", "city=Rome", "same=yes"
    ]  # fmt: skip
    for one in profiles:
        inside = model.labels_ == one.cluster
        means = {f.name: f.mean for f in one.features}
        assert means["age"] == pytest.approx(age[inside].mean())
        assert means["city=Oslo"] == pytest.approx((city[inside] == "Oslo").mean())
    assert "city=Oslo  100%  (all: 33%, much higher)" in str(profiles)
    assert "city=" in str(model.explain(0))
    assert "city=Oslo" in model.report().html
    unnamed = BLoRD(3, metric="gower").fit(frame.to_numpy(dtype=object))
    assert unnamed.describe().features[:2] == ["x0", "x1=Bern"]


def test_means_are_those_of_the_observed_values():
    """With missing values there was no feature at all."""
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    model = BLoRD(3, metric="nan_euclidean", outliers=0.05).fit(holes)
    profiles = model.describe()
    for j, mean in enumerate(profiles.means):
        np.testing.assert_allclose(mean, np.nanmean(holes[model.labels_ == j], axis=0))
    i = int(np.flatnonzero(np.isnan(holes[:, 2]) & (model.labels_ >= 0))[0])
    explained = {one.name: one.value for one in model.explain(i).features}
    assert set(explained) == {f"x{f}" for f in np.flatnonzero(~np.isnan(holes[i]))}
    assert "x2" in str(profiles)
    assert all(len(found) == 5 for found in model.exemplars_)
    with pytest.raises(ValueError, match="X has missing or infinite values"):
        model.describe(holes)
