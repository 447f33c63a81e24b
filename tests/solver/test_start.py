"""Starts: Sinkhorn scaling into Omega(mu), random and given points."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from lordclust.solver.omega import Omega
from lordclust.solver.start import (
    given_start,
    random_start,
    sinkhorn_start,
    sized_labels,
)
from models import PAPER
from oracles import off_omega
from strategies import block_graph, generators, mus

HALF = [np.sqrt(0.5)] * 2


@given(st.data(), generators(), st.integers(1, 60))
def test_sinkhorn_ends_in_omega(data, rng, n):
    mu = data.draw(mus(data.draw(st.integers(1, min(n, 8)))))
    V = sinkhorn_start(rng.random((n, len(mu))) + 0.01, mu)
    assert V.min() > 0
    assert off_omega(V, mu) <= 1e-11


@given(generators(), st.sampled_from([1e-12, 1.0, 1e9]))
def test_sinkhorn_does_not_see_the_scale_of_U(rng, scale):
    U, mu = rng.random((20, 3)) + 0.01, np.sqrt([0.2, 0.3, 0.5])
    V, W = sinkhorn_start(U, mu), sinkhorn_start(scale * U, mu)
    np.testing.assert_allclose(W, V, rtol=1e-9)


@given(generators())
def test_sinkhorn_only_scales_rows_and_columns(rng):
    # V = D_l U D_r: cross ratios stay as they were.
    U = rng.random((12, 4)) + 0.1
    V = sinkhorn_start(U, np.sqrt(rng.dirichlet(np.full(4, 3.0))))
    ratio = V / U
    rank_one = np.outer(ratio[:, 0], ratio[0]) / ratio[0, 0]
    np.testing.assert_allclose(ratio, rank_one, rtol=1e-10)


def test_sinkhorn_leaves_a_feasible_point_where_it_is():
    rng = np.random.default_rng(0)
    mu = np.sqrt([0.1, 0.4, 0.5])
    V = sinkhorn_start(rng.random((30, 3)) + 0.1, mu)
    np.testing.assert_allclose(sinkhorn_start(V, mu), V, rtol=1e-11)


def test_sinkhorn_lifts_zeros():
    U = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    V = sinkhorn_start(U, HALF)
    assert V.min() > 0
    assert off_omega(V, np.array(HALF)) <= 1e-9


@given(generators(), st.integers(2, 40))
def test_sinkhorn_with_weights(rng, n):
    w = rng.random(n) * (rng.random(n) < 0.6)
    w[rng.integers(n)] = 1.0
    mu = np.sqrt([0.3, 0.7])
    V = sinkhorn_start(rng.random((n, 2)) + 0.1, mu, sample_weight=w)
    assert np.all(V[w == 0] == 0)
    assert off_omega(V, mu, w / w.sum()) <= 1e-11


def test_fewer_scalings_leave_the_columns_off():
    rng = np.random.default_rng(0)
    U, mu = rng.random((30, 3)) ** 4 + 1e-3, np.sqrt([0.01, 0.09, 0.9])
    off = off_omega(sinkhorn_start(U, mu, max_iter=1), mu)
    assert off > 1e-6 > off_omega(sinkhorn_start(U, mu), mu)


@given(st.data(), generators(), st.integers(1, 60))
def test_a_random_start_is_strictly_inside(data, rng, n):
    mu = data.draw(mus(data.draw(st.integers(1, min(n, 6)))))
    V = random_start(Omega.of(mu, n), rng)
    assert V.shape == (n, len(mu))
    assert V.min() > 0
    assert off_omega(V, mu) <= 1e-10


def test_random_starts_follow_the_generator():
    omega = Omega.of(np.sqrt([0.3, 0.7]), 20)
    first, again, other = (
        random_start(omega, np.random.default_rng(seed)) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


def test_a_given_start_is_taken_as_it_is():
    V = [[0.5, 0.5], [0.5, 0.5], [1, 0]]
    taken = given_start(V, Omega.of(np.array(HALF), 3))
    assert taken.dtype == np.float64
    np.testing.assert_array_equal(taken, V)
    sparse = given_start(sp.csr_array(V), Omega.of(np.array(HALF), 3))
    np.testing.assert_array_equal(sparse, V)


def test_labels_are_a_start():
    mu = np.sqrt([0.25, 0.75])
    V = given_start(np.array([1, 0, 1, 1]), Omega.of(mu, 4))
    np.testing.assert_array_equal(V > 0, np.eye(2, dtype=bool)[[1, 0, 1, 1]])
    np.testing.assert_allclose(V @ mu, np.full(4, 0.25))
    np.testing.assert_allclose(V.sum(axis=0), mu)


def test_a_fit_from_labels_ends_where_its_path_does():
    X, _ = make_blobs(200, centers=4, random_state=0, cluster_std=0.5)
    known = PAPER(4, tau=0.6).fit(X)
    wrong = np.where(np.arange(200) % 7 == 0, 0, known.labels_)
    model = PAPER(4, tau=0.6, start=wrong).fit(X)
    assert model.objective_ == pytest.approx(known.objective_, rel=1e-6)
    np.testing.assert_array_equal(model.labels_, known.labels_)


@pytest.mark.parametrize(
    ("U", "message"),
    [
        ([1.0, 2.0], r"U must have 2 columns, got shape \(2,\)"),
        ([[1.0, 2.0, 3.0]], r"U must have 2 columns, got shape \(1, 3\)"),
        ([[1.0, -1.0]], r"U must be finite and nonnegative\. Try abs\(U\)"),
        ([[1.0, np.nan]], "U must be finite and nonnegative"),
        ([[1.0, np.inf]], "U must be finite and nonnegative"),
    ],
)
def test_sinkhorn_refuses_a_bad_U(U, message):
    with pytest.raises(ValueError, match=message):
        sinkhorn_start(U, HALF)


def test_sinkhorn_refuses_a_bad_mu_and_bad_weights():
    with pytest.raises(ValueError, match="mu must have Euclidean norm 1"):
        sinkhorn_start(np.ones((3, 2)), [0.5, 0.5])
    with pytest.raises(ValueError, match="sample_weight must be nonnegative"):
        sinkhorn_start(np.ones((3, 2)), HALF, sample_weight=[1, 1, -1])


@pytest.mark.parametrize(
    "V",
    [
        np.ones((2, 2)),
        np.ones((3, 3)),
        np.full((3, 2), np.nan),
        np.ones(3),
        np.array([0, 1, 2]),
        np.array([0, -1, 1]),
    ],
)
def test_a_given_start_must_fit(V):
    with pytest.raises(
        ValueError, match=r"start must be a finite array of shape \(3, 2"
    ):
        given_start(V, Omega.of(np.array(HALF), 3))


@pytest.mark.parametrize("weighted", [False, True])
def test_sized_labels_have_the_shares_and_move_no_more_than_they_must(weighted):
    rng = np.random.default_rng(0)
    S, y = block_graph(rng, [70, 50, 20, 0], inside=0.3)
    p = rng.uniform(0.5, 1.5, 140) if weighted else np.ones(140)
    omega = Omega.of(np.full(4, 0.5), 140, p / p.sum())
    labels = sized_labels(S, y, omega)
    sizes = np.bincount(labels, omega.weight, minlength=4)
    before = np.bincount(y, omega.weight, minlength=4)
    np.testing.assert_allclose(sizes, 35, atol=2.0 if weighted else 0)
    least = np.maximum(before - 35, 0).sum()
    moved = omega.weight[labels != y].sum()
    assert moved == pytest.approx(least, abs=4.0 if weighted else 0)


def test_sized_labels_keep_known_samples():
    rng = np.random.default_rng(0)
    S, y = block_graph(rng, [70, 50, 20], inside=0.3)
    known = np.where(rng.random(140) < 0.4, y, -1)
    omega = Omega.of(np.sqrt([0.4, 0.3, 0.3]), 140, known=known)
    labels = sized_labels(S, y, omega)
    np.testing.assert_array_equal(np.bincount(labels), [56, 42, 42])
    np.testing.assert_array_equal(labels[known >= 0], y[known >= 0])
