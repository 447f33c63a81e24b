"""Global kernel k-means: the same as trying every sample, but not one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs

from lordclust.graph import gaussian_kernel, linear_kernel, self_tuning_kernel
from lordclust.methods import GKKM
from lordclust.methods._solvers.kernel_kmeans import (
    KernelSteps,
    indicator,
    side_by_side,
)
from lordclust.methods.gkkm import (
    _objective_without,
    _with_empty_cluster,
    candidates,
    first_steps,
)
from lordclust.metrics import accuracy
from strategies import generators, random_graph

KERNELS = {
    "self_tuning": self_tuning_kernel,
    "gaussian": gaussian_kernel,
    "linear": linear_kernel,
}


def steps_for(S):
    return KernelSteps(np.ones(S.shape[0]), S.diagonal(), 300, 1e-12)


def partition(steps, S, labels, k):
    return steps.measure(labels, indicator(labels, steps.w, k) @ S)


def one_by_one(S, k):
    """Return labels and errors of the algorithm as it is published."""
    steps, n = steps_for(S), len(S)
    labels = np.zeros(n, dtype=int)
    errors = [partition(steps, S, labels, 1).objective]
    for m in range(1, k):
        ends = []
        for i in np.flatnonzero(np.bincount(labels)[labels] > 1):
            start = labels.copy()
            start[i] = m
            run = steps.descend(partition(steps, S, start, m + 1))
            ends.append(side_by_side([run], S)[0].end)
        lowest = min(end.objective for end in ends) + 1e-12 * abs(errors[0])
        best = next(end for end in ends if end.objective <= lowest)
        labels = best.labels
        errors.append(best.objective)
    return labels, np.array(errors)


# -- the published algorithm ----------------------------------------------------------


@settings(max_examples=15)
@given(generators(), st.integers(4, 40), st.sampled_from(sorted(KERNELS)))
def test_full_is_trying_every_sample(rng, n, kernel):
    S = KERNELS[kernel](rng.standard_normal((n, 2)))
    labels, errors = one_by_one(S, 4)
    model = GKKM(4, affinity="precomputed", algorithm="full").fit(S)
    assert accuracy(labels, model.labels_) == 1
    np.testing.assert_allclose(model.error_path_, errors, rtol=1e-9, atol=1e-9)


def test_four_points_by_hand():
    # Samples 0, 1, 4, 5 on a line, S = x x'. One mean, 2.5: E = 2 (6.25 + 2.25) = 17.
    # Sample 0 as a cluster takes 1 over, whose other mean is 10/3: 0 1 | 4 5, E = 1.
    # Then a sample of each pair costs nothing more: E = 1/2 for three clusters.
    S = linear_kernel([[0.0], [1.0], [4.0], [5.0]])
    for k, labels in ((2, [0, 0, 1, 1]), (3, [1, 2, 0, 0])):
        model = GKKM(k, affinity="precomputed").fit(S)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_allclose(model.error_path_, [17, 1, 0.5][:k], rtol=1e-12)
        assert model.objective_ == model.error_path_[-1] == model.all_objectives_[0]
        assert model.converged_


@settings(max_examples=20)
@given(generators(), st.integers(5, 30), st.sampled_from(["full", "fast"]))
def test_errors_fall(rng, n, algorithm):
    S = linear_kernel(rng.standard_normal((n, 3)))
    model = GKKM(5, affinity="precomputed", algorithm=algorithm).fit(S)
    assert (np.diff(model.error_path_) <= 1e-9).all()
    assert model.error_path_.shape == (5,)
    assert model.history_[-1] == model.objective_
    assert len(np.unique(model.labels_)) == 5


@settings(max_examples=20)
@given(generators(), st.integers(5, 30), st.sampled_from(sorted(KERNELS)))
def test_full_beats_fast_for_two_clusters(rng, n, kernel):
    S = KERNELS[kernel](rng.standard_normal((n, 2)))
    E = {
        count: GKKM(2, affinity="precomputed", n_candidates=count).fit(S).objective_
        for count in (1, n // 2, n)
    }
    assert E[n] <= E[n // 2] + 1e-9
    assert E[n // 2] <= E[1] + 1e-9


def test_candidates_are_between_fast_and_full():
    Z = np.random.default_rng(0).standard_normal((40, 2))
    for algorithm, count in (("fast", 1), ("full", 40), ("full", 1000)):
        a = GKKM(4, algorithm=algorithm).fit(Z)
        b = GKKM(4, n_candidates=count).fit(Z)
        np.testing.assert_array_equal(a.labels_, b.labels_)


def test_auto(monkeypatch):
    Z = np.random.default_rng(1).standard_normal((60, 2))
    full, fast = (GKKM(6, algorithm=a).fit(Z) for a in ("full", "fast"))
    assert full.n_iter_ > fast.n_iter_
    assert GKKM(6).fit(Z).n_iter_ == full.n_iter_
    monkeypatch.setattr("lordclust.methods.gkkm.FULL_WORK", 60**3 * 6 - 1)
    assert GKKM(6).fit(Z).n_iter_ == fast.n_iter_


def test_far_blobs_are_found_and_nothing_is_random():
    centers = 20 * np.random.default_rng(0).standard_normal((6, 3))
    Z, truth = make_blobs(90, centers=centers, cluster_std=0.3, random_state=0)
    for algorithm in ("full", "fast"):
        model = GKKM(6, affinity=gaussian_kernel, algorithm=algorithm)
        labels = model.fit_predict(Z)
        assert accuracy(truth, labels) == 1
        np.testing.assert_array_equal(labels, model.fit_predict(Z))
        order = np.random.default_rng(1).permutation(90)
        assert accuracy(labels[order], model.fit_predict(Z[order])) == 1


# -- its parts ------------------------------------------------------------------------


@settings(max_examples=15)
@given(generators(), st.integers(6, 25), st.booleans())
def test_first_steps_are_the_steps(rng, n, is_sparse):
    S = linear_kernel(rng.standard_normal((n, 2)))
    stored = sparse.csr_array(S) if is_sparse else S
    steps = steps_for(S)
    labels = rng.permutation(np.arange(n) % 3)
    P = partition(steps, S, labels, 3)
    compared = 0
    for i, first in first_steps(steps, stored, P, candidates(steps, stored, P, n)):
        start = labels.copy()
        start[i] = 3
        if np.bincount(first, minlength=4).all():  # none to be filled
            Q = partition(steps, S, start, 4)
            np.testing.assert_array_equal(first, steps.nearest(Q))
            compared += 1
    assert compared


@given(generators(), st.integers(5, 25))
def test_error_without_a_sample(rng, n):
    S = linear_kernel(rng.standard_normal((n, 3)))
    steps, labels = steps_for(S), np.arange(n) % 2
    wider = _with_empty_cluster(partition(steps, S, labels, 2))
    for i in range(n):
        start = labels.copy()
        start[i] = 2
        expected = partition(steps, S, start, 3).objective
        assert _objective_without(steps, wider, i) == pytest.approx(expected)


@given(generators(), st.integers(6, 25))
def test_promised_reduction_is_kept(rng, n):
    Z = rng.standard_normal((n, 2))
    S = linear_kernel(Z)
    steps, labels = steps_for(S), np.arange(n) % 2
    P = partition(steps, S, labels, 2)
    means = np.array([Z[labels == j].mean(axis=0) for j in range(2)])
    d = ((Z - means[labels]) ** 2).sum(axis=1)
    pairs = ((Z[:, None, :] - Z) ** 2).sum(axis=2)
    b = np.maximum(d[:, None] - pairs, 0).sum(axis=0)
    for count in (1, 3):
        chosen = candidates(steps, S, P, count)
        assert (np.diff(chosen) > 0).all()
        assert b[chosen].sum() == pytest.approx(np.sort(b)[-count:].sum())
    start = labels.copy()
    start[candidates(steps, S, P, 1)] = 2
    first = partition(steps, S, start, 3)
    reached = partition(steps, S, steps.nearest(first), 3)
    assert reached.objective <= P.objective - b.max() + 1e-9


def test_samples_that_are_a_cluster_are_not_tried():
    S = np.eye(5)
    steps = steps_for(S)
    P = partition(steps, S, np.array([0, 1, 1, 2, 2]), 3)
    np.testing.assert_array_equal(candidates(steps, S, P, 5), [1, 2, 3, 4])


# -- extreme input --------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["full", "fast"])
@pytest.mark.parametrize("k", [1, 2, 6])
def test_samples_that_are_all_alike(k, algorithm):
    for S in (np.zeros((6, 6)), np.ones((6, 6)), sparse.csr_array((6, 6))):
        model = GKKM(k, affinity="precomputed", algorithm=algorithm).fit(S)
        assert len(np.unique(model.labels_)) == k
        np.testing.assert_allclose(model.error_path_, 0, atol=1e-12)


@settings(max_examples=10)
@given(generators(), st.integers(4, 20), st.sampled_from(["full", "fast"]))
def test_indefinite_and_sparse_similarities(rng, n, algorithm):
    S = random_graph(rng, n, 0.4)
    models = [
        GKKM(3, affinity="precomputed", algorithm=algorithm).fit(A)
        for A in (S, sparse.csr_array(S))
    ]
    assert models[0].objective_ == pytest.approx(models[1].objective_)
    assert len(np.unique(models[0].labels_)) == 3
    assert sparse.issparse(models[1].affinity_matrix_)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_does_not_matter(scale):
    S = self_tuning_kernel(np.random.default_rng(2).standard_normal((40, 2)))
    a = GKKM(4, affinity="precomputed").fit(S)
    b = GKKM(4, affinity="precomputed").fit(scale * S)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(b.error_path_, scale * a.error_path_)


def test_components_and_duplicates():
    S = sparse.block_diag([np.ones((m, m)) for m in (5, 4, 3)], format="csr")
    model = GKKM(3, affinity="precomputed").fit(S)
    np.testing.assert_array_equal(model.labels_, [0] * 5 + [1] * 4 + [2] * 3)
    assert model.objective_ == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"algorithm": "slow"}, "Unknown algorithm 'slow'"),
        ({"n_candidates": 0}, "n_candidates must be a positive integer"),
        ({"n_candidates": 2.5}, "n_candidates must be a positive integer"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        GKKM(3, **params).fit(np.random.default_rng(0).standard_normal((20, 2)))
