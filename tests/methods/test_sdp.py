"""SDP: the relaxation is solved with a certificate, and its spectrum is clustered."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import SDP
from lordclust.metrics import accuracy
from strategies import block_graph

S, TRUTH = block_graph(np.random.default_rng(0), [20, 20, 20])


def on_graph(S, k=3, **params):
    return SDP(k, affinity="precomputed", random_state=0, **params).fit(S)


def partition_matrix(labels):
    same = labels[:, None] == labels
    return same / same.sum(axis=1)


def test_four_points_by_hand():
    # Pairs (0, 1) and (2, 3) have 2, all others 1. On the complement of 1, S has the
    # eigenvalue 0 with (1, 1, -1, -1)/2 and -2 twice; 1'S1/4 = 4. Without Z >= 0 the
    # maximum is 4 + 0, reached by 11'/4 plus the projection on that vector: halves in
    # both pairs. It is nonnegative, so it is the solution.
    S = np.ones((4, 4)) - np.eye(4)
    S[[0, 1, 2, 3], [1, 0, 3, 2]] = 2
    model = on_graph(S, 2, tol=1e-8)
    expected = np.kron(np.eye(2), np.full((2, 2), 0.5))
    np.testing.assert_allclose(model.affinity_matrix_, expected, atol=1e-7)
    assert model.objective_ == pytest.approx(4)
    assert model.upper_bound_ == pytest.approx(4)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])


def test_certificate():
    model = on_graph(S)
    Z = model.affinity_matrix_
    assert model.converged_
    assert model.residual_ < model.tol
    assert model.objective_ == pytest.approx((S.toarray() * Z).sum())
    assert model.objective_ == model.history_[-1]
    assert len(model.history_) == model.n_iter_
    gap = (model.upper_bound_ - model.objective_) / abs(model.upper_bound_)
    assert model.gap_ == pytest.approx(gap)
    assert abs(model.gap_) < 1e-3
    negative = np.linalg.norm(np.minimum(Z, 0))
    assert model.infeasibility_ == pytest.approx(negative / np.linalg.norm(Z))
    assert model.infeasibility_ < 1e-3


def test_the_bound_is_above_the_truth_and_the_labels():
    model = on_graph(S)
    for labels in (TRUTH, model.labels_):
        assert (S.toarray() * partition_matrix(labels)).sum() <= model.upper_bound_
    assert accuracy(TRUTH, model.labels_) == 1


def test_relabel_rounds_the_same_embedding():
    model = on_graph(S)
    assert model.embedding_.shape == (60, 3)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    assert accuracy(TRUTH, model.relabel(7)) == 1


@pytest.mark.parametrize("k", [1, 60])
def test_extreme_numbers_of_clusters(k):
    model = on_graph(S, k)
    expected = np.eye(60) if k == 60 else np.full((60, 60), 1 / 60)
    np.testing.assert_array_equal(model.affinity_matrix_, expected)
    assert model.gap_ == 0
    assert len(np.unique(model.labels_)) == k


def test_disconnected_and_isolated():
    # Three components and a vertex without edges.
    blocks = [np.ones((m, m)) - np.eye(m) for m in (8, 7, 6)]
    S = sp.block_diag([*blocks, np.zeros((1, 1))], format="csr")
    model = on_graph(S)
    assert accuracy(np.repeat([0, 1, 2], (8, 7, 6)), model.labels_[:-1]) == 1
    assert np.isfinite(model.affinity_matrix_).all()


def test_no_similarities_at_all():
    # Every Z is as good as any; nothing breaks.
    model = SDP(1, affinity="precomputed").fit(np.zeros((5, 5)))
    assert model.objective_ == 0
    model = SDP(2, affinity="precomputed", random_state=0).fit(np.zeros((5, 5)))
    assert model.objective_ == model.gap_ == 0
    assert np.isfinite(model.affinity_matrix_).all()


def test_duplicates_have_equal_rows():
    # Swapping two copies changes nothing, and the solution treats them alike.
    half = S.toarray()[:30, :30]
    Z = on_graph(np.kron(half, np.ones((2, 2))), 2).affinity_matrix_
    np.testing.assert_allclose(Z[::2, ::2], Z[1::2, 1::2], atol=1e-8)


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_scale(factor):
    a, b = on_graph(S), on_graph(factor * S)
    np.testing.assert_allclose(b.affinity_matrix_, a.affinity_matrix_, atol=1e-8)
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_single_precision_and_integers():
    whole = np.round(9 * S.toarray()).astype(int)
    a, b = on_graph(whole), on_graph(whole.astype(np.float32))
    np.testing.assert_array_equal(a.affinity_matrix_, b.affinity_matrix_)


def test_stopping_early_warns():
    with pytest.warns(ConvergenceWarning, match="SDP stopped at max_iter=2"):
        model = on_graph(S, max_iter=2)
    assert not model.converged_
    assert model.upper_bound_ >= on_graph(S).objective_ * (1 - 1e-3)


@pytest.mark.parametrize("bad", [{"tol": 0.0}, {"max_iter": 0}, {"n_init": 0}])
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
        on_graph(S, **bad)
