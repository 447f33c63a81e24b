"""Kernel k-means: its steps, its error, and the kernel in blocks."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from lordclust.graph import KNNGraph, linear_kernel, self_tuning_kernel
from lordclust.methods import KKM
from lordclust.methods._solvers.kernel_kmeans import (
    KernelSteps,
    fill_empty,
    side_by_side,
)
from lordclust.metrics import accuracy
from strategies import generators, random_graph

X, TRUTH = make_blobs(90, centers=3, cluster_std=2.0, random_state=0)
FAR = [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]
CLEAR, _ = make_blobs(90, centers=FAR, random_state=0)


def error(S, labels, w=None):
    """Return E from its definition, by explicit distances between pairs."""
    S = S.toarray() if sparse.issparse(S) else np.asarray(S, dtype=float)
    w = np.ones(len(S)) if w is None else w
    d = np.diag(S)
    D2 = d[:, None] + d[None, :] - 2 * S
    total = 0.0
    for j in np.unique(labels):
        a = labels == j
        total += w[a] @ D2[np.ix_(a, a)] @ w[a] / (2 * w[a].sum())
    return total


def random_kernel(rng, n, rank):
    Z = rng.standard_normal((n, rank))
    return linear_kernel(Z)


def balanced(rng, n, k):
    return rng.permutation(np.arange(n) % k)


# -- by hand --------------------------------------------------------------------------


def test_four_points_by_hand():
    # Samples 0, 1, 4, 5 on a line, S = x x'. From the labels 0 0 0 1 the means are
    # 5/3 and 5: 4 goes over (1 < 49/9), and 0 1 | 4 5 stays. The mean of 0, 1, 4 costs
    # (25 + 4 + 49) / 9 = 26/3; at the end every sample is 1/2 from its mean: E = 1.
    model = KKM(2, affinity=linear_kernel, init=[0, 0, 0, 1]).fit(
        [[0.0], [1.0], [4.0], [5.0]]
    )
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    np.testing.assert_allclose(model.history_, [26 / 3, 1], rtol=1e-12)
    assert model.objective_ == pytest.approx(1)
    assert model.n_iter_ == 2
    assert model.converged_
    assert model.all_objectives_.shape == (1,)


# -- steps ----------------------------------------------------------------------------


def lloyd(Z, labels, k):
    """One step of k-means on the samples themselves."""
    means = np.array([Z[labels == j].mean(axis=0) for j in range(k)])
    return ((Z[:, None, :] - means) ** 2).sum(axis=2).argmin(axis=1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(5))
def test_linear_kernel_is_lloyd_step_by_step(seed):
    rng = np.random.default_rng(seed)
    Z, k = rng.standard_normal((60, 2)), 4
    near = ((Z[:, None, :] - Z[:k]) ** 2).sum(axis=2).argmin(axis=1)
    labels = start = near  # no cluster gets empty from here
    for max_iter in range(1, 8):
        labels = lloyd(Z, labels, k)
        model = KKM(k, affinity=linear_kernel, init=start, max_iter=max_iter).fit(Z)
        assert accuracy(labels, model.labels_) == 1
        assert model.objective_ == pytest.approx(error(linear_kernel(Z), labels))


def test_linear_kernel_is_as_good_as_kmeans():
    Z = CLEAR - CLEAR.mean(axis=0)
    model = KKM(3, affinity=linear_kernel, random_state=0).fit(Z)
    best = KMeans(3, n_init=10, random_state=0).fit(Z)
    assert model.objective_ == pytest.approx(best.inertia_, rel=1e-9)


@given(generators(), st.integers(5, 40), st.integers(1, 5), st.booleans())
def test_error_falls_and_is_what_it_says(rng, n, k, weighted):
    S = random_kernel(rng, n, rank=3)
    w = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    model = KKM(k, affinity="precomputed", n_init=2, random_state=0)
    model.fit(S, sample_weight=w)
    assert (np.diff(model.history_) < 0).all()
    assert model.history_[-1] == model.objective_
    expected = error(S, model.labels_, w / w.mean())
    assert model.objective_ == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert len(np.unique(model.labels_)) == k


@given(generators(), st.integers(6, 30), st.booleans())
def test_end_is_a_fixed_point(rng, n, is_sparse):
    S = random_kernel(rng, n, rank=2)
    S = sparse.csr_array(S) if is_sparse else S
    a = KKM(3, affinity="precomputed", tol=1e-15, n_init=2, random_state=0).fit(S)
    b = KKM(3, affinity="precomputed", init=a.labels_).fit(S)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert b.n_iter_ == 1


@pytest.mark.parametrize("init", ["random_points", "k-means++", "random_partition"])
def test_best_of_all_two_partitions(init):
    rng = np.random.default_rng(4)
    Z = rng.standard_normal((10, 2))
    S = self_tuning_kernel(Z)
    halves = itertools.product([0, 1], repeat=9)
    best = min(error(S, np.array([0, *half])) for half in halves)
    model = KKM(2, init=init, n_init=50, random_state=0).fit(Z)
    assert model.objective_ == pytest.approx(best, rel=1e-12)
    assert len(model.all_objectives_) == 50


@given(generators(), st.integers(5, 30), st.integers(2, 4))
def test_single_moves_agree_with_the_error(rng, n, k):
    # Moving one sample changes Tr(G'SG) = Tr(S) - E by the gain of coordinate ascent:
    # taking all moves that gain never ends with a larger E.
    S = random_kernel(rng, n, rank=3)
    model = KKM(k, affinity="precomputed", n_init=1, random_state=0).fit(S)
    labels, E = model.labels_.copy(), model.objective_
    for i in range(n):
        for j in range(k):
            moved = labels.copy()
            moved[i] = j
            if len(np.unique(moved)) == k and error(S, moved) < E:
                labels, E = moved, error(S, moved)
    assert error(S, labels) <= model.objective_ + 1e-9


# -- shift ----------------------------------------------------------------------------


@given(generators(), st.integers(4, 20), st.floats(0.1, 10))
def test_shift_changes_the_error_by_a_constant(rng, n, c):
    S = random_graph(rng, n, 0.5)
    labels = balanced(rng, n, 3)
    shifted = error(S + c * np.eye(n), labels)
    assert shifted - error(S, labels) == pytest.approx(c * (n - 3), abs=1e-8)


@given(generators(), st.floats(0, 3))
def test_shift_is_the_shifted_kernel(rng, c):
    S = random_kernel(rng, 25, rank=2)
    start = balanced(rng, 25, 3)
    options = {"affinity": "precomputed", "init": start}
    a = KKM(3, psd_shift=c, **options).fit(S)
    b = KKM(3, psd_shift=0.0, **options).fit(S + c * np.eye(25))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.history_ + c * (25 - 3), b.history_, rtol=1e-9)


@given(generators(), st.integers(6, 40), st.sampled_from(["auto", 0.0, 5.0]))
def test_indefinite_similarities(rng, n, shift):
    S = rng.standard_normal((n, n))
    S = S + S.T
    model = KKM(3, affinity="precomputed", psd_shift=shift, n_init=3, random_state=0)
    model.fit(S)
    assert model.converged_
    assert (np.diff(model.history_) < 0).all()
    assert model.objective_ == pytest.approx(error(S, model.labels_))


def test_growing_shift_is_better_than_stopping():
    S = KNNGraph(6).build(X)
    options = {"affinity": "precomputed", "n_init": 20, "random_state": 0}
    auto = KKM(6, **options).fit(S).all_objectives_
    stop = KKM(6, psd_shift=0.0, **options).fit(S).all_objectives_
    assert (auto <= stop + 1e-12).all()
    assert (auto < stop - 1e-6).any()


# -- weights --------------------------------------------------------------------------


@given(generators(), st.integers(20, 40))
def test_weights_are_repetitions(rng, n):
    Z = rng.standard_normal((n, 2))
    w = rng.integers(1, 4, n)
    start = np.digitize(Z[:, 0], [-0.5, 0.5])  # no cluster gets empty from here
    a = KKM(3, affinity=linear_kernel, init=start).fit(Z, sample_weight=w)
    many = KKM(3, affinity=linear_kernel, init=np.repeat(start, w))
    many.fit(np.repeat(Z, w, axis=0))
    assert accuracy(np.repeat(a.labels_, w), many.labels_) == 1
    np.testing.assert_allclose(a.history_ * w.mean(), many.history_, rtol=1e-9)


@pytest.mark.parametrize("init", ["random_points", "k-means++", "random_partition"])
def test_zero_weights_count_for_nothing(init):
    w = np.arange(90) % 3 > 0
    model = KKM(3, affinity=linear_kernel, init=init, n_init=20, random_state=0)
    all_ = model.fit(CLEAR, sample_weight=w)
    some = KKM(3, affinity=linear_kernel, n_init=20, random_state=1).fit(CLEAR[w])
    assert accuracy(all_.labels_[w], some.labels_) == 1
    assert all_.objective_ * w.mean() == pytest.approx(some.objective_)
    assert len(np.unique(all_.labels_[w])) == 3


def test_scale_of_weights_does_not_matter():
    w = np.random.default_rng(0).random(90)
    fits = [KKM(3, random_state=0).fit(X, sample_weight=c * w) for c in (1, 1e300)]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].objective_ == pytest.approx(fits[1].objective_)
    w[:45] *= 1e-200
    assert np.isfinite(KKM(3, random_state=0).fit(X, sample_weight=w).objective_)


def test_too_few_weights():
    w = np.zeros(90)
    w[:2] = 1
    with pytest.raises(ValueError, match="positive for at least n_clusters=3 samples"):
        KKM(3).fit(X, sample_weight=w)


# -- empty clusters, and extreme input ------------------------------------------------


def test_empty_clusters_get_the_worst_samples():
    labels = np.array([0, 0, 0, 1, 1])
    misfit = np.array([1.0, 5.0, 4.0, 2.0, 9.0])
    found = fill_empty(labels.copy(), misfit, np.ones(5, dtype=bool), 4)
    np.testing.assert_array_equal(found, [0, 3, 0, 1, 2])
    counts = np.array([True, True, True, True, False])
    found = fill_empty(labels.copy(), misfit, counts, 3)
    np.testing.assert_array_equal(found, [0, 2, 0, 1, 1])  # 3 is alone, 4 is nobody


def test_an_emptied_cluster_comes_back():
    # The means of 1 2 | -4 7 | 9 are 1.5, 1.5 and 9: -4 stays and 7 goes to 9. With
    # 7.2 the second mean is 1.6: -4 goes to the first, the second is empty and gets
    # the sample that fits worst, -4.
    Z = np.array([[1.0], [2.0], [-4.0], [7.2], [9.0]])
    model = KKM(3, affinity=linear_kernel, init=[0, 0, 1, 1, 2]).fit(Z)
    assert accuracy([0, 0, 1, 2, 2], model.labels_) == 1
    assert (np.diff(model.history_) < 0).all()


@pytest.mark.parametrize("init", ["random_points", "k-means++", "random_partition"])
@pytest.mark.parametrize("k", [1, 2, 6])
def test_samples_that_are_all_alike(k, init):
    for S in (np.zeros((6, 6)), np.ones((6, 6)), sparse.csr_array((6, 6))):
        model = KKM(k, affinity="precomputed", init=init, random_state=0).fit(S)
        assert len(np.unique(model.labels_)) == k
        assert model.objective_ == pytest.approx(0, abs=1e-12)


def test_every_sample_its_own_cluster():
    model = KKM(90, n_init=1, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 90
    assert model.objective_ == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_does_not_matter(scale):
    S = self_tuning_kernel(X)
    a = KKM(4, affinity="precomputed", random_state=0).fit(S)
    b = KKM(4, affinity="precomputed", random_state=0).fit(scale * S)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert b.objective_ == pytest.approx(scale * a.objective_)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_numbers(dtype):
    S = (100 * self_tuning_kernel(X)).astype(dtype)
    a = KKM(4, affinity="precomputed", random_state=0).fit(S)
    b = KKM(4, affinity="precomputed", random_state=0).fit(S.astype(float))
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_isolated_vertices_and_components():
    blocks = [np.ones((5, 5)), np.ones((4, 4)), np.zeros((2, 2))]
    S = sparse.block_diag(blocks, format="csr")
    model = KKM(3, affinity="precomputed", random_state=0).fit(S)
    assert accuracy([0] * 5 + [1] * 4 + [2] * 2, model.labels_) == 1
    assert sparse.issparse(model.affinity_matrix_)


def test_limit_of_steps():
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=1"):
        model = KKM(5, max_iter=1, n_init=1, random_state=0).fit(X)
    assert not model.converged_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"init": "random"}, r"Unknown init 'random'\. Did you mean 'random_points'"),
        ({"init": [0, 1]}, "init must be one of .* or n_samples=90 integer labels"),
        ({"init": np.zeros(90)}, "integer labels, got an array of float64"),
        ({"init": np.arange(90) % 4}, "init must hold each label from 0 to 2"),
        ({"init": np.arange(90) % 2}, "init must hold each label from 0 to 2"),
        ({"psd_shift": -1.0}, 'psd_shift must be "auto" or a finite number >= 0'),
        ({"psd_shift": "yes"}, "psd_shift must be"),
        ({"psd_shift": True}, "psd_shift must be"),
        ({"dense_up_to": 0}, "dense_up_to must be a positive integer"),
        ({"n_init": 0}, "n_init must be a positive integer"),
        ({"tol": -1.0}, "tol must be"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        KKM(3, **params).fit(X)


# -- runs side by side, and blocks ----------------------------------------------------


def test_runs_side_by_side_are_the_runs_alone(monkeypatch):
    together = KKM(4, n_init=7, random_state=0).fit(X)
    monkeypatch.setattr("lordclust.methods.kkm.GROUP_NUMBERS", 1)
    alone = KKM(4, n_init=7, random_state=0).fit(X)
    np.testing.assert_array_equal(together.labels_, alone.labels_)
    np.testing.assert_allclose(
        together.all_objectives_, alone.all_objectives_, rtol=1e-12
    )


def test_moved_sums_are_the_sums_of_the_moved():
    rng = np.random.default_rng(0)
    S = random_kernel(rng, 20, 3)
    steps = KernelSteps(np.ones(20), np.diag(S), 10)
    old = balanced(rng, 20, 3)
    P = steps.measure(old, np.eye(3)[old].T @ S)
    for count in (3, 15):  # a difference, and a new sum
        new = old.copy()
        new[:count] = (new[:count] + 1) % 3
        (Q,) = side_by_side([steps.move(P, new)], S)
        np.testing.assert_allclose(Q.sums, np.eye(3)[new].T @ S, atol=1e-12)


@pytest.mark.parametrize("init", ["random_points", "k-means++", "random_partition"])
def test_blocks_are_the_full_kernel(init):
    options = {"init": init, "random_state": 0}
    full = KKM(3, **options).fit(X)
    blocks = KKM(3, dense_up_to=50, **options).fit(X)
    np.testing.assert_array_equal(full.labels_, blocks.labels_)
    np.testing.assert_allclose(full.all_objectives_, blocks.all_objectives_, rtol=1e-5)
    assert not hasattr(blocks, "affinity_matrix_")


def test_blocks_forget_the_matrix_of_an_earlier_fit():
    model = KKM(3, n_init=1, random_state=0).fit(X)
    assert model.affinity_matrix_.shape == (90, 90)
    model.set_params(dense_up_to=50).fit(X, sample_weight=np.arange(90))
    assert not hasattr(model, "affinity_matrix_")
