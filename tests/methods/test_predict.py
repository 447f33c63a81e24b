"""New samples: each on its own, or a batch with sizes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from lordclust import BLoRD
from lordclust.graph import KNNGraph
from lordclust.rounding.transport import sizes_from
from models import MODELS, PAPER
from strategies import generators

CENTERS = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
DATA, TRUTH = make_blobs(150, centers=CENTERS, cluster_std=1.5, random_state=0)
X, NEW = DATA[:90], DATA[90:]
SOFT = PAPER(3, tau=0.1).fit(X)


def alone(answer, samples):
    return np.concatenate([answer(samples[i : i + 1]) for i in range(samples.shape[0])])


def kinds(rng, n=60):
    """Samples whose distances are unlike, equal, zero, large, or of inner products."""
    return {
        "plane": rng.normal(size=(n, 2)),
        "space": rng.normal(size=(n, 30)) + 1e4,
        "bits": rng.integers(0, 2, (n, 20)).astype(float),
        "single": rng.normal(size=(n, 17)).astype(np.float32),
        "columns": np.asfortranarray(rng.normal(size=(n, 17))),
        "grid": rng.integers(0, 3, (n, 2)),
        "sparse": sparse.csr_array(rng.integers(-2, 2, (n, 20)).clip(0)),
    }


# Some samples of the last two are 0 and have no direction.
CASES = [(kind, "euclidean") for kind in kinds(np.random.default_rng(0))]
CASES += [(kind, "manhattan") for kind, _ in CASES]
CASES += [(kind, "cosine") for kind in ("plane", "space", "bits", "single", "columns")]


@pytest.mark.parametrize(("kind", "metric"), CASES)
def test_others_in_a_batch_do_not_change_a_bit(kind, metric):
    samples = kinds(np.random.default_rng(0))[kind]
    model = PAPER(3, affinity=KNNGraph(metric=metric), tol=1e-2).fit(samples[:40])
    new = samples[20:]
    P = model.predict_proba(new)
    np.testing.assert_array_equal(P, alone(model.predict_proba, new))
    np.testing.assert_array_equal(model.predict(new), alone(model.predict, new))
    assert len(np.unique(P.round(6), axis=0)) > 3  # not all alike


@MODELS
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_array])
def test_others_do_not_change_a_bit_of_similarities(Model, form):
    rng = np.random.default_rng(1)
    S = KNNGraph().build(X)
    model = Model(3, affinity="precomputed").fit(S)
    rows = rng.normal(size=(50, 90)) * (rng.random((50, 90)) < 0.3)
    P = model.predict_proba(form(rows))
    one_by_one = [model.predict_proba(form(row[None])) for row in rows]
    np.testing.assert_array_equal(P, np.concatenate(one_by_one))
    W = np.maximum(rows, 0)
    wanted = W / W.sum(axis=1, keepdims=True) @ model.membership_
    np.testing.assert_allclose(P, wanted, atol=1e-12)


@MODELS
def test_probabilities_and_labels(Model):
    model = Model(3).fit(X)
    P = model.predict_proba(NEW)
    assert P.shape == (60, 3)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(model.transform(NEW), P)
    labels = model.predict(NEW)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, P.argmax(axis=1))
    agree = [(labels[TRUTH[90:] == c] == j).mean() for c in range(3) for j in range(3)]
    assert np.sort(agree)[-3:].min() > 0.85


@MODELS
def test_predictions_stay_arrays_when_transform_gives_frames(Model):
    model = Model(3).set_output(transform="pandas").fit(X)
    assert isinstance(model.predict_proba(NEW), np.ndarray)
    assert isinstance(model.predict(NEW), np.ndarray)


@MODELS
@settings(max_examples=10)
@given(generators(), st.sampled_from([2, 20]))
def test_fitted_samples_keep_their_labels(Model, rng, dim):
    data = rng.normal(size=(50, dim)) + 100
    model = Model(4, tol=1e-3).fit(data)
    top = np.sort(model.membership_, axis=1)[:, -2:]
    clear = top[:, 1] - top[:, 0] > 1e-9
    assert clear.sum() > 25
    some = rng.permutation(50)[:20]
    likely = model.membership_.argmax(axis=1)
    np.testing.assert_array_equal(
        model.predict(data[some])[clear[some]], likely[some][clear[some]]
    )
    # Probabilities of BLoRD are calibrated: on noise, labels may be others.
    sure = top[:, 1] > (0.9 if Model is BLoRD else 0.0)
    np.testing.assert_array_equal(likely[sure], model.labels_[sure])
    np.testing.assert_allclose(
        model.predict_proba(data), model.membership_, rtol=0, atol=1e-12
    )


@MODELS
def test_exact_sizes_do_not_bind_predictions(Model):
    model = Model(3, cluster_sizes=[60, 20, 10]).fit(X)
    wanted = model.membership_.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), wanted)


# -- batches with sizes -----------------------------------------------------------


@given(generators(), st.integers(1, 40))
def test_a_batch_has_its_sizes_and_the_largest_membership(rng, m):
    new = rng.normal(scale=6.0, size=(m, 2)) + 3
    sizes = np.bincount(rng.integers(0, 3, m), minlength=3)
    labels = SOFT.assign(new, cluster_sizes=sizes)
    np.testing.assert_array_equal(np.bincount(labels, minlength=3), sizes)
    P = SOFT.predict_proba(new)
    places = np.repeat(P, sizes, axis=1)
    best = places[linear_sum_assignment(places, maximize=True)].sum()
    assert P[np.arange(m), labels].sum() == pytest.approx(best, abs=1e-9)


@MODELS
def test_shares_of_a_batch(Model):
    model = Model(3, proportions=[0.5, 0.3, 0.2]).fit(X)
    by_fit = np.bincount(model.assign(NEW), minlength=3)
    np.testing.assert_array_equal(by_fit, [30, 18, 12])
    shares = [0.2, 0.2, 0.6]
    asked = np.bincount(model.assign(NEW[:33], proportions=shares), minlength=3)
    np.testing.assert_array_equal(asked, sizes_from(shares, 33))


@MODELS
def test_predictions_stay_where_they_have_the_sizes(Model):
    model = Model(3).fit(X)
    labels = model.predict(NEW)
    sizes = np.bincount(labels, minlength=3)
    np.testing.assert_array_equal(model.assign(NEW, cluster_sizes=sizes), labels)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cluster_sizes": [20, 20, 19]}, "cluster_sizes must sum to the number of"),
        ({"cluster_sizes": [60]}, "cluster_sizes must hold n_clusters=3 numbers"),
        ({"cluster_sizes": [61, 0, -1]}, "cluster_sizes must not be negative"),
        ({"proportions": [0.5, 0.5]}, "proportions must hold n_clusters=3 numbers"),
        ({"proportions": [0.9, 0.9, 0.9]}, "proportions must sum to 1"),
        (
            {"proportions": [0.4, 0.3, 0.3], "cluster_sizes": [20, 20, 20]},
            "proportions and cluster_sizes were both given",
        ),
    ],
)
def test_bad_sizes_of_a_batch(settings, message):
    with pytest.raises(ValueError, match=message):
        SOFT.assign(NEW, **settings)


@MODELS
@pytest.mark.parametrize("method", ["predict", "predict_proba", "assign"])
def test_before_a_fit(Model, method):
    with pytest.raises(NotFittedError):
        getattr(Model(3), method)(X)
    with pytest.raises(ValueError, match="is expecting 2 features"):
        getattr(SOFT, method)(np.ones((4, 3)))


def test_probabilities_never_exceed_one():
    X = np.random.default_rng(0).normal(size=(60, 2)) + 20 * (
        np.arange(60)[:, None] % 2
    )
    model = PAPER(2).fit(X)
    new = np.random.default_rng(1).normal(size=(400, 2))
    weights = model._extension().weights(new)
    assert (weights @ model.membership_).max() > 1  # by rounding
    assert model.predict_proba(new).max() == 1


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "inner_product"])
@pytest.mark.parametrize("far", [1e40, 1e200, -1e308])
def test_a_sample_far_from_all_others_has_the_shares(metric, far):
    model = BLoRD(3, affinity=KNNGraph(metric=metric)).fit(X)
    P = model.predict_proba([NEW[0], [far, 0.0], [far, far]])
    np.testing.assert_allclose(P[1:], [model.proportions_] * 2)
    np.testing.assert_array_equal(P[:1], model.predict_proba(NEW[:1]))


def test_certainty_falls_with_the_distance():
    model = BLoRD(3).fit(X)
    extent = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    right = X[X[:, 0].argmax()]
    P = model.predict_proba(right + np.outer([0, 1, 2, 4, 100, 1e6], [extent, 0]))
    gain = np.abs(P - model.proportions_).max(axis=1)
    assert (gain[2:] < gain[1]).all()
    assert (np.diff(gain[1:]) < 0).all()
    assert gain[-1] < 1e-5
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_sparse_samples_far_from_all_others():
    model = BLoRD(3, proba_top=2).fit(sparse.csr_array(X))
    P = model.predict_proba(sparse.csr_array([[1e200, 0.0], NEW[0]]))
    assert np.diff(P.indptr).max() <= 2
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert P[[0]].max() < 0.6 < P[[1]].max()
