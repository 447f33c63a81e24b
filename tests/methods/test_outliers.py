"""Outliers: label -1, left out of the fit, and the rest is as without them."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import sparse
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_iris, make_blobs

from lordclust import BLoRD
from lordclust.methods.lord import LoRD
from lordclust.plots import BlocksDisplay, MembershipDisplay, SizesDisplay
from lordclust.report import write_report

IRIS = load_iris().data


@pytest.fixture(scope="module")
def noisy():
    """Three blobs, and 30 uniform samples at the end."""
    rng = np.random.default_rng(0)
    X, y = make_blobs(300, n_features=5, random_state=0)
    X = np.vstack([X, rng.uniform(1.1 * X.min(0), 1.1 * X.max(0), (30, 5))])
    return X, np.r_[y, np.full(30, -1)]


@pytest.fixture(scope="module")
def model():
    return BLoRD(3, outliers=0.1).fit(IRIS)


def test_a_share_of_the_samples_is_left_out(noisy):
    X, _ = noisy
    model = BLoRD(3, outliers=30 / 330).fit(X)
    assert len(model.outliers_) == 30
    assert (model.outliers_ >= 300).mean() > 0.9
    assert model.sizes_.sum() == 300
    alone = BLoRD(3).fit(X[model.labels_ >= 0])
    np.testing.assert_array_equal(model.labels_[model.labels_ >= 0], alone.labels_)
    np.testing.assert_array_equal(
        model.membership_[model.labels_ >= 0], alone.membership_
    )
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1)


def test_auto_finds_noise_and_leaves_clean_data_alone(noisy):
    X, _ = noisy
    assert (BLoRD(3, outliers="auto").fit(X).outliers_ >= 300).mean() > 0.9
    clean = BLoRD(3, outliers="auto").fit(X[:300])
    assert len(clean.outliers_) == 0
    np.testing.assert_array_equal(clean.labels_, BLoRD(3).fit_predict(X[:300]))


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({"cluster_sizes": [50, 50, 35]}, [50, 50, 35]),
        ({"proportions": "equal"}, [45, 45, 45]),
        ({"proportions": [0.2, 0.2, 0.6]}, [27, 27, 81]),
    ],
)
def test_sizes_are_met_among_the_others(given, sizes):
    found = BLoRD(3, outliers=0.1, **given).fit(IRIS)
    np.testing.assert_array_equal(found.sizes_, sizes)
    assert (found.labels_ == -1).sum() == 15


def test_lord_leaves_outliers_out_too(tmp_path):
    model = LoRD(3, outliers=0.1, cluster_sizes=45).fit(IRIS)
    kept = model.labels_ >= 0
    np.testing.assert_array_equal(model.sizes_, [45, 45, 45])
    assert len(model.outliers_) == 15
    alone = LoRD(3, cluster_sizes=45).fit(IRIS[kept])
    np.testing.assert_array_equal(model.labels_[kept], alone.labels_)
    np.testing.assert_array_equal(model.membership_[kept], alone.membership_)
    np.testing.assert_array_equal(model.predict(IRIS), model.membership_.argmax(axis=1))
    model.save(tmp_path / "three.lord")
    again = LoRD.load(tmp_path / "three.lord")
    np.testing.assert_array_equal(again.outliers_, model.outliers_)


def test_weights_are_those_of_the_others():
    weight = np.random.default_rng(0).uniform(0.5, 2, 150)
    model = BLoRD(3, outliers=0.1).fit(IRIS, sample_weight=weight)
    kept = model.labels_ >= 0
    alone = BLoRD(3).fit(IRIS[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(model.membership_[kept], alone.membership_)


def test_bounds_weights_and_a_start_are_those_of_the_others():
    assert BLoRD(3, outliers=0.1, size_min=40).fit(IRIS).sizes_.min() >= 40
    weight = np.ones(150)
    weight[:4] = 0
    for sizes in (None, [50, 50, 35]):
        found = BLoRD(3, outliers=0.1, cluster_sizes=sizes)
        found.fit(IRIS, sample_weight=weight)
        assert found.sizes_.sum() == 135
    found = BLoRD(3, outliers=0.1, start=load_iris().target).fit(IRIS)
    kept = found.labels_ >= 0
    np.testing.assert_array_equal(found.labels_[kept], load_iris().target[kept])
    paper = {"tau": 1.0, "proportions": "equal", "outliers": 0.1}
    V = BLoRD(3, **paper).fit(IRIS).V_
    again = BLoRD(3, **paper, start=sparse.csr_array(V)).fit(IRIS)
    np.testing.assert_array_equal(again.sizes_, [45, 45, 45])


def test_links_and_known_labels():
    known = np.full(150, -1)
    known[[41, 60, 106]] = [2, 1, 0]  # 41 and 106 are far from the others
    model = BLoRD(3, outliers=0.1).fit(
        IRIS, known_labels=known, must_link=[[0, 1], [13, 14]], cannot_link=[[0, 60]]
    )
    np.testing.assert_array_equal(model.labels_[[41, 60, 106]], [2, 1, 0])
    assert len(model.broken_links_) == 0


def test_marked_samples_are_the_outliers():
    model = BLoRD(3, outliers=np.arange(150) < 3).fit(IRIS)
    np.testing.assert_array_equal(model.outliers_, [0, 1, 2])
    with pytest.raises(ValueError, match="one bool for each of the 150 samples, got 3"):
        BLoRD(3, outliers=[True, False, True]).fit(IRIS)


@pytest.mark.parametrize("outliers", [1.0, -0.1, "many", True, [0.1, 0.2], [[True]]])
def test_other_values_are_refused(outliers):
    with pytest.raises(ValueError, match="outliers must be a share"):
        BLoRD(3, outliers=outliers).fit(IRIS)


def test_similarities_and_the_number_of_clusters(model):
    S = BLoRD(3).fit(IRIS).affinity_matrix_
    found = BLoRD(3, outliers=0.1, affinity="precomputed").fit(S)
    assert len(found.outliers_) == 15
    assert (found.predict(S, outliers=True) == -1).sum() == 15
    assert BLoRD(None, outliers=0.1).fit(IRIS).sizes_.sum() == 135


def test_prediction(model, noisy):
    again = model.predict(IRIS, outliers=True)
    np.testing.assert_array_equal(again == -1, model.labels_ == -1)
    assert (model.predict(IRIS) >= 0).all()
    new = IRIS[:3] + np.array([[0], [0.02], [50]])
    np.testing.assert_array_equal(
        model.predict(new, outliers=True), [model.labels_[0], model.labels_[0], -1]
    )
    plain = LoRD(3).fit(IRIS)  # nobody was left out: beyond all fitted samples
    assert (plain.predict(IRIS, outliers=True) >= 0).all()
    assert plain.predict(new, outliers=True)[2] == -1


def test_a_saved_model_has_its_outliers(model, tmp_path):
    model.save(tmp_path / "m.lord")
    loaded = BLoRD.load(tmp_path / "m.lord")
    np.testing.assert_array_equal(loaded.outliers_, model.outliers_)
    np.testing.assert_array_equal(loaded.novelty_, model.novelty_)
    model.save(tmp_path / "small.lord", samples=False)
    with pytest.raises(ValueError, match="saved with samples=False"):
        BLoRD.load(tmp_path / "small.lord").novelty_  # noqa: B018


def test_names_of_features_are_kept():
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    model = BLoRD(3, outliers=0.1).fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    assert model.set_params(outliers=None).fit(IRIS).outliers_.size == 0


def test_descriptions_leave_outliers_out(model):
    profiles = model.describe()
    np.testing.assert_array_equal(profiles.sizes, model.sizes_)
    assert profiles.shares.sum() == pytest.approx(1)
    listed = np.concatenate(model.exemplars_)
    assert not np.isin(listed, model.outliers_).any()
    text = str(model.explain(int(model.outliers_[0])))
    assert "outlier, nearest to Segment" in text
    whole = [str(model.explain(i)) for i in np.flatnonzero(model.labels_ == 2)]
    assert any("in no cluster (" in text for text in whole)
    assert model.agreement(1).labels.min() >= 0


@pytest.mark.parametrize("other", [False, True])
def test_plots_and_report_show_outliers(model, other, tmp_path):
    model = HDBSCAN(20, copy=True).fit(IRIS) if other else model
    out = model.labels_ < 0
    ax = Figure().subplots()
    display = MembershipDisplay.from_estimator(model, IRIS, ax=ax)
    crosses = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(crosses, display.coordinates[out])
    assert SizesDisplay.from_estimator(model, ax=ax).sizes.sum() == (~out).sum()
    assert BlocksDisplay.from_estimator(model, ax=ax).n_samples == (~out).sum()
    page = write_report(tmp_path / "r.html", model, X=IRIS, names=list("abcd"))
    assert f" {out.sum()} are outliers" in page.read_text()


def test_noise_of_other_labels_joins_or_stays():
    labels = HDBSCAN(20, copy=True).fit_predict(IRIS)
    assert (labels == -1).any()
    joined = BLoRD.from_labels(IRIS, labels)
    assert joined.labels_.min() == 0
    kept = BLoRD.from_labels(IRIS, labels.astype(str), noise="keep")
    np.testing.assert_array_equal(kept.labels_, labels)
    assert (kept.predict(IRIS[labels < 0]) >= 0).all()
    with pytest.raises(ValueError, match="Unknown noise"):
        BLoRD.from_labels(IRIS, labels, noise="drop")
    with pytest.raises(TypeError, match="labels must be whole numbers"):
        BLoRD.from_labels(IRIS, np.full(150, "B cells"))


def test_outliers_among_categories():
    """The samples are encoded once, not once more for the fit without outliers."""
    rows = [[*x, name] for x, name in zip(IRIS.tolist(), "ab" * 75, strict=True)]
    X = np.array(rows, dtype=object)
    model = BLoRD(3, metric="gower", outliers=0.1).fit(X)
    assert (model.labels_ == -1).sum() == 15
    assert model.n_features_in_ == 5
    np.testing.assert_array_equal(model.predict(X, outliers=True), model.labels_)
