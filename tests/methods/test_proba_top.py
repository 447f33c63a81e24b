"""Memberships of many clusters, cut to the most probable of each sample."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from lordclust import BLoRD, LoRD
from lordclust.rounding.labels import top_entries
from models import PAPER

X = load_digits().data[:300]
NEW = load_digits().data[300:330]
PAPER_SOFT = partial(PAPER, tau=0.2)


@pytest.fixture(scope="module", params=[PAPER_SOFT, BLoRD], ids=["paper", "BLoRD"])
def Model(request):
    return request.param


@pytest.fixture(scope="module")
def whole(Model):
    return Model(10).fit(X)


@pytest.fixture(scope="module")
def cut(Model):
    return Model(10, proba_top=3).fit(X)


def test_the_largest_entries_are_kept_and_sum_to_one(whole, cut):
    P, full = cut.membership_, whole.membership_
    assert isinstance(P, sparse.csr_array)
    assert np.diff(P.indptr).max() <= 3
    assert P.data.min() > 0
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    third = np.sort(full, axis=1)[:, -3]
    expected = np.where(full >= third[:, None], full, 0.0)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P.toarray(), expected, atol=1e-15)


def test_what_is_made_from_all_clusters_is_the_same(whole, cut):
    for name in ("labels_", "sizes_", "proportions_", "objective_", "history_"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name))
    np.testing.assert_allclose(whole.uncertainty_, cut.uncertainty_, rtol=1e-12)
    assert whole.block_diagonality() == cut.block_diagonality()


def test_the_factor_follows_from_the_memberships(cut):
    mu = np.sqrt(cut.proportions_)
    expected = cut.membership_.toarray() / len(X) / mu
    np.testing.assert_allclose(cut.V_.toarray(), expected, rtol=1e-12)


def test_enough_entries_lose_nothing(Model, whole):
    model = Model(10, proba_top=10).fit(X)
    np.testing.assert_allclose(model.membership_.toarray(), whole.membership_)
    np.testing.assert_allclose(model.V_.toarray(), whole.V_)
    same = model.predict_proba(NEW).toarray()
    np.testing.assert_allclose(same, whole.predict_proba(NEW), atol=1e-12)
    for p, q in zip(model.confusable_pairs(), whole.confusable_pairs(), strict=True):
        assert (p.a, p.b) == (q.a, q.b)
        assert p.share == pytest.approx(q.share)
        np.testing.assert_array_equal(p.samples, q.samples)


def test_new_samples(whole, cut):
    P = cut.predict_proba(NEW)
    assert isinstance(P, sparse.csr_array)
    assert np.diff(P.indptr).max() <= 3
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.mean(cut.predict(NEW) == whole.predict(NEW)) > 0.9
    alone = sparse.vstack([cut.predict_proba(row[None]) for row in NEW])
    np.testing.assert_array_equal(P.toarray(), alone.toarray())
    sizes = np.full(10, 3)
    assert np.all(np.bincount(cut.assign(NEW, cluster_sizes=sizes)) == sizes)
    likely = cut.membership_.toarray().argmax(axis=1)
    np.testing.assert_array_equal(cut.predict(X), likely)
    assert np.mean(likely == cut.labels_) > 0.95


def test_pairs(whole, cut):
    i, j = np.array([[0, 1], [2, -1]]), 5
    near = cut.pair_probability(i, j)
    assert near.shape == (2, 2)
    np.testing.assert_allclose(near, whole.pair_probability(i, j), atol=0.1)
    P = cut.membership_.toarray()
    np.testing.assert_allclose(near, (P[i] * P[j]).sum(axis=-1))


def test_precomputed_weights_and_other_roundings():
    S = PAPER(4).fit(X).affinity_matrix_
    w = np.linspace(1, 3, len(X))
    options = {"affinity": "precomputed", "tau": 0.2, "rounding": "exact"}
    full = BLoRD(4, **options).fit(S, sample_weight=w)
    cut = BLoRD(4, **options, proba_top=2).fit(S, sample_weight=w)
    np.testing.assert_array_equal(full.labels_, cut.labels_)
    mu = np.sqrt(cut.proportions_)
    expected = cut.membership_.toarray() * (w / w.sum())[:, None] / mu
    np.testing.assert_allclose(cut.V_.toarray(), expected, rtol=1e-10)
    assert isinstance(cut.predict_proba(S[:5]), sparse.csr_array)


def test_hard_memberships_take_next_to_nothing():
    model = LoRD(10, proba_top=5).fit(X)
    assert model.membership_.nnz < 5 * len(X)
    np.testing.assert_array_equal(
        model.membership_.toarray().argmax(axis=1), model.labels_
    )


def test_saved_and_loaded(cut, tmp_path):
    cut.save(tmp_path / "cut.lord")
    again = BLoRD.load(tmp_path / "cut.lord")
    assert again.proba_top == 3
    assert (again.membership_ != cut.membership_).nnz == 0
    np.testing.assert_array_equal(again.uncertainty_, cut.uncertainty_)
    np.testing.assert_array_equal(
        again.predict_proba(NEW).toarray(), cut.predict_proba(NEW).toarray()
    )


def test_a_fit_with_all_clusters_forgets_the_cut(Model):
    model = Model(10, proba_top=3).fit(X)
    model.set_params(proba_top=None).fit(X)
    assert isinstance(model.membership_, np.ndarray)
    assert model.uncertainty_.shape == (300,)


def test_ties_keep_the_first_of_the_largest():
    P = np.full((2, 6), 1 / 6)
    assert np.all(top_entries(P, 2).toarray().argmax(axis=1) == 0)
    assert np.all(top_entries(sparse.csr_array(P), 2).toarray().argmax(axis=1) == 0)


@pytest.mark.parametrize("bad", [0, -1, 2.5, "3", True])
def test_refusals(bad):
    with pytest.raises(ValueError, match="proba_top must be a positive integer"):
        BLoRD(3, proba_top=bad).fit(X)
