"""Gower's distance, and distances over observed features."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import manhattan_distances, nan_euclidean_distances

from lordclust import BLoRD, load_model
from lordclust.graph import KNNGraph
from lordclust.graph.gower import Columns
from lordclust.graph.knn import nearest
from lordclust.methods import SC

RNG = np.random.default_rng(0)
CITIES = ["Oslo", "Rome", "Bern", None]
N = 60
AGE, CODE = RNG.integers(20, 70, N), RNG.integers(1, 4, N)
CITY = [CITIES[i] for i in RNG.integers(0, 4, N)]
ROWS = [[a, c, k, 5] for a, c, k in zip(AGE.tolist(), CITY, CODE.tolist(), strict=True)]


def gower(rows, others, categorical, ranges):
    """The definition, pair by pair."""
    D = np.zeros((len(rows), len(others)))
    for i, x in enumerate(rows):
        for j, y in enumerate(others):
            parts = [
                float(x[c] != y[c]) if c in categorical
                else abs(x[c] - y[c]) / ranges[c] if ranges[c] else 0.0
                for c in range(len(x))
            ]  # fmt: skip
            D[i, j] = np.mean(parts)
    return D


def test_encoded_samples_have_the_distances_of_the_definition():
    columns = Columns.of(ROWS, [1, 2])
    ranges = [np.ptp(AGE), 0, 0, 0]
    Z = columns.encoded(ROWS)
    np.testing.assert_allclose(
        manhattan_distances(Z), gower(ROWS, ROWS, {1, 2}, ranges), atol=1e-12
    )
    new = [[31, "Paris", 2, 5], [99, None, 9, 7], [20, "Oslo", 1.0, 5]]
    ranges[3] = 1  # constant in the fitted samples
    np.testing.assert_allclose(
        manhattan_distances(columns.encoded(new), Z),
        gower(new, ROWS, {1, 2}, ranges), atol=1e-12,
    )  # fmt: skip


def test_columns_by_name_and_by_default():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["age", "city", "code", "one"])
    frame["city"] = frame["city"].astype("category")
    by_name = Columns.of(frame, ["city", "code"])
    np.testing.assert_array_equal(
        by_name.encoded(frame), Columns.of(ROWS, [1, 2]).encoded(ROWS)
    )
    default = Columns.of(frame)
    assert [bool(names) for names in default.categories] == [False, True, False, False]
    S = KNNGraph(5, metric="gower", categorical="city").build(frame)
    assert (KNNGraph(5, metric="gower").build(frame) != S).nnz == 0
    with pytest.raises(ValueError, match=r"got 'town'\. The columns are age, city"):
        Columns.of(frame, ["town"])
    with pytest.raises(ValueError, match=r"column 'city' holds others\. Fill"):
        Columns.of(frame, ["code"])
    with pytest.raises(ValueError, match="X has 3 columns, but 4 were fitted"):
        default.encoded(frame[["age", "city", "code"]])


def mixed(n=40):
    """Three groups, by one number and two categories."""
    y = np.repeat([0, 1, 2], n)
    noise = RNG.random((2, 3 * n)) < 0.05
    a, b = ((y + wrong) % 3 for wrong in noise)
    rows = [
        [30 + 12 * c + RNG.normal(), "xyz"[i], "uvw"[j]]
        for c, i, j in zip(y, a, b, strict=True)
    ]
    return rows, y


def test_models_of_mixed_columns(tmp_path):
    rows, y = mixed()
    seen, new = rows[::2], rows[1::2]
    for model in (BLoRD(3, metric="gower"), SC(3, metric="gower", random_state=0)):
        model.fit(seen)
        assert model.n_features_in_ == 3
        assert adjusted_rand_score(y[::2], model.labels_) > 0.9
        assert adjusted_rand_score(y[1::2], model.predict(new)) > 0.9
        np.testing.assert_array_equal(model.predict(seen[:9]), model.labels_[:9])
        path = tmp_path / f"{type(model).__name__}.lord"
        model.save(path)
        again = load_model(path)
        np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert BLoRD(3, metric="gower").fit(seen).describe()[0].size == 20
    weight = np.ones(len(seen))
    weight[::5] = 0
    light = BLoRD(3, metric="gower").fit(seen, sample_weight=weight)
    assert adjusted_rand_score(y[::2], light.labels_) > 0.9
    graph = KNNGraph(metric="gower")
    S = graph.fit_transform(seen)
    pipeline = BLoRD(3, affinity="precomputed").fit(S)
    labels = pipeline.predict(graph.transform(new))
    assert adjusted_rand_score(y[1::2], labels) > 0.9


def with_gaps(n, d, share=0.3):
    X = RNG.normal(size=(n, d)) + 6 * (np.arange(n) % 3)[:, None]
    X[RNG.random((n, d)) < share] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    return X


def test_neighbours_over_observed_features():
    X = with_gaps(80, 5)
    D = nan_euclidean_distances(X)
    np.fill_diagonal(D, np.inf)
    D[np.isnan(D)] = np.inf
    _, d = nearest(X, 6, "nan_euclidean")
    np.testing.assert_allclose(d, np.sort(D, axis=1)[:, :6], atol=1e-7)


def test_models_of_incomplete_samples(tmp_path):
    X, y = with_gaps(150, 8), np.arange(150) % 3
    model = BLoRD(3, metric="nan_euclidean").fit(X[:120])
    assert adjusted_rand_score(y[:120], model.labels_) > 0.9
    assert adjusted_rand_score(y[120:], model.predict(X[120:])) > 0.9
    np.testing.assert_array_equal(model.predict(X[:9]), model.labels_[:9])
    np.testing.assert_array_equal(model.predict(X[125:126]), model.predict(X)[125:126])
    model.save(tmp_path / "m.lord")
    again = BLoRD.load(tmp_path / "m.lord")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert len(model.exemplars_) == 3
    assert BLoRD(None, metric="nan_euclidean").fit(X).n_clusters_ == 3
    with pytest.raises(ValueError, match="Input X contains NaN"):
        BLoRD(3).fit(X)
    X[7] = np.nan
    with pytest.raises(ValueError, match="but sample 7 has only NaN"):
        BLoRD(3, metric="nan_euclidean").fit(X)


def test_pairs_without_a_common_feature_are_far_apart():
    X = np.full((12, 2), np.nan)
    X[:6, 0], X[6:, 1] = np.arange(6), np.arange(6) / 2
    S = KNNGraph(7, metric="nan_euclidean").build(X).toarray()
    assert S[:6, :6].sum() > 2 * S[:6, 6:].sum()
    graph = KNNGraph(7, metric="nan_euclidean").fit(X)
    W = graph.transform([[0.5, np.nan]]).toarray()
    assert W[0, 6:].max() == 0
    assert W.sum() == pytest.approx(1)
