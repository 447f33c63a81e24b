"""From embeddings to labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import orthogonal_procrustes, qr
from sklearn.cluster import KMeans

from lordclust.rounding import labels as module
from lordclust.rounding.labels import (
    discretize,
    fill_empty,
    kmeans_labels,
    labels_of_all,
    membership_from,
    nearly_orthogonal_rows,
    pivoted_qr_labels,
    placed_rows,
    procrustes,
    rotate,
    shares_of_rows,
    spread_seeds,
)
from strategies import generators, labels


def random_rotation(rng, k):
    return np.linalg.qr(rng.standard_normal((k, k)))[0]


def indicator(y, k):
    """G = Y (Y'Y)^-1/2 and its rows scaled to length 1, which is Y."""
    Y = np.eye(k)[y]
    return Y / np.sqrt(Y.sum(axis=0)), Y


def same_partition(a, b):
    pairs = set(zip(a, b, strict=True))
    return len(pairs) == len(set(a)) == len(set(b))


@st.composite
def embeddings(draw, max_n=30, max_k=5):
    """Rows of length 1, and labels to start from."""
    k = draw(st.integers(1, max_k))
    n = draw(st.integers(k, max_n))
    F = draw(generators()).standard_normal((n, k))
    return F / np.linalg.norm(F, axis=1, keepdims=True), draw(labels(n, k))


# -- procrustes -------------------------------------------------------------------


@given(generators(), st.integers(1, 6), st.integers(0, 3))
def test_procrustes_maximises_the_trace(rng, k, more):
    M = rng.standard_normal((k + more, k))
    R = procrustes(M)
    np.testing.assert_allclose(R.T @ R, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(
        np.sum(R * M), np.linalg.svd(M, compute_uv=False).sum(), rtol=1e-10
    )


def test_procrustes_is_scipys():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 20, 4))
    expected, _ = orthogonal_procrustes(A, B)
    np.testing.assert_allclose(procrustes(A.T @ B), expected, atol=1e-12)


def test_procrustes_of_less_than_full_rank_is_orthogonal():
    for M in (np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 1e-300, 0])):
        R = procrustes(M)
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-12)


# -- rotation ---------------------------------------------------------------------


@given(embeddings())
def test_rotation_never_rises_and_reports_what_it_found(case):
    F, start = case
    found = rotate(F, start, tol=1e-15)
    assert (np.diff(found.history) <= 1e-10).all()
    Y = np.eye(F.shape[1])[found.labels]
    value = np.sum((F @ found.R - Y) ** 2)
    np.testing.assert_allclose(found.objective, value, atol=1e-10)
    assert len(found.history) == found.n_iter
    assert set(found.labels) == set(range(F.shape[1]))


@given(generators())
def test_rotating_the_embedding_changes_no_step(rng):
    F = rng.standard_normal((80, 3))  # so many rows that no cluster runs empty
    start = rng.integers(0, 3, 80)
    Q = random_rotation(rng, 3)
    for turns in (1, 2, 3, 50):
        a = rotate(F, start, max_iter=turns)
        b = rotate(F @ Q, start, max_iter=turns)
        np.testing.assert_array_equal(a.labels, b.labels)
        np.testing.assert_allclose(a.objective, b.objective, atol=1e-9)


@given(generators(), st.integers(1, 5))
def test_truth_is_a_fixed_point(rng, k):
    y = np.concatenate([np.arange(k), rng.integers(0, k, 20)])
    G, Y = indicator(y, k)
    Q = random_rotation(rng, k)
    for F in (G @ Q, Y @ Q):
        found = rotate(F, y)
        np.testing.assert_array_equal(found.labels, y)
        np.testing.assert_allclose(F @ found.R, F @ Q.T, atol=1e-12)
        assert found.converged
        assert found.n_iter == 1


def test_best_start_is_the_best_partition_of_all():
    """Brute force over the 2^7 labellings; by the SVD, the best R needs no search."""
    F = np.random.default_rng(3).standard_normal((7, 2))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    starts = (np.arange(1, 2**7 - 1)[:, None] >> np.arange(7)) & 1
    values = [
        14 - 2 * np.linalg.svd(F.T @ np.eye(2)[y], compute_uv=False).sum()
        for y in starts
    ]
    found = min(rotate(F, y).objective for y in starts)
    assert found == pytest.approx(min(values))


def test_one_turn_is_too_few():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((60, 4))
    found = rotate(F, rng.integers(0, 4, 60), max_iter=1)
    assert not found.converged
    assert found.n_iter == 1


# -- discretisation ---------------------------------------------------------------


@given(generators(), st.integers(1, 5))
def test_discretisation_finds_rotated_labels_from_every_row(rng, k):
    y = np.concatenate([np.arange(k), rng.integers(0, k, 12)])
    F = np.eye(k)[y] @ random_rotation(rng, k)
    for first in range(len(y)):
        found = discretize(F, first)
        assert same_partition(found.labels, y)
        assert found.objective == pytest.approx(0, abs=1e-10)


@given(embeddings())
def test_rotation_from_the_discretisation_is_no_worse(case):
    F, _ = case
    coarse = discretize(F, 0, max_iter=2)
    fine = rotate(F, coarse.labels)
    assert fine.objective <= coarse.objective + 1e-9


def test_discretisation_by_hand():
    """Rows at 0, 10, 80 and 90 degrees, from row 0.

    The row most nearly orthogonal to row 0 is row 3: R starts as the identity, and
    the labels 0 0 1 1 stay. F'Y has columns (1 + c, s) and (s, 1 + c) with c, s =
    cos, sin of 10 degrees: symmetric and positive definite, so that R = I, and
    ||F - Y||^2 = 2 (1 - c)^2 + 2 s^2 = 4 (1 - c).
    """
    angles = np.deg2rad([0, 10, 80, 90])
    F = np.column_stack([np.cos(angles), np.sin(angles)])
    found = discretize(F, 0)
    np.testing.assert_array_equal(found.labels, [0, 0, 1, 1])
    np.testing.assert_allclose(found.R, np.eye(2), atol=1e-12)
    assert found.objective == pytest.approx(4 * (1 - np.cos(angles[1])))


def test_rows_of_zeros_are_no_axes():
    F = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = discretize(F, 1)
    assert same_partition(found.labels[1:], [0, 1, 1])


# -- pivoted QR -------------------------------------------------------------------


@given(generators(), st.integers(1, 5))
def test_qr_finds_rotated_labels(rng, k):
    y = np.concatenate([np.arange(k), rng.integers(0, k, 20)])
    G, _ = indicator(y, k)
    assert same_partition(pivoted_qr_labels(G @ random_rotation(rng, k)), y)


@pytest.fixture(params=[1, 8, 4096])
def few(request, monkeypatch):
    """Rows that are multiplied in every turn: all, or those that may be chosen."""
    monkeypatch.setattr(module, "FEW_ROWS", request.param)


def test_pivots_are_those_of_lapack(few):
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((200, 12)))[0]
    pivots = qr(U.T, mode="r", pivoting=True)[1][:12]
    expected = np.abs(U @ procrustes(U[pivots].T)).argmax(axis=1)
    np.testing.assert_array_equal(pivoted_qr_labels(U), expected)


def test_rows_are_those_of_a_complete_search(few):
    F = np.random.default_rng(1).standard_normal((150, 9))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    F[3] = 0.0
    expected = []
    for first in (5, 77):
        chosen = [first]
        while len(chosen) < 9:
            overlap = np.abs(F @ F[chosen].T).sum(axis=1)
            overlap[3] = np.inf  # a row of zeros is never chosen
            chosen.append(int(overlap.argmin()))
        expected.append(chosen)
    found = nearly_orthogonal_rows(F, np.array([5, 77]))
    np.testing.assert_array_equal(found, expected)


# -- memberships ------------------------------------------------------------------


def test_memberships_of_a_sparse_factor():
    rng = np.random.default_rng(0)
    V, mu = rng.random((30, 4)) * (rng.random((30, 4)) < 0.5), rng.random(4) + 0.1
    V[:, 0] += 0.1
    P = membership_from(sparse.csr_array(V), mu)
    np.testing.assert_allclose(P.toarray(), membership_from(V, mu), rtol=1e-14)


# -- k-means ----------------------------------------------------------------------


def test_kmeans_is_as_good_as_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) + 4 * rng.integers(0, 2, (200, 3))
    theirs = KMeans(8, n_init=50, random_state=0).fit(X).inertia_
    ours = kmeans_labels(X, 8, rng, n_init=50)
    assert ours.inertia <= 1.005 * theirs
    centres = np.stack([X[ours.labels == j].mean(axis=0) for j in range(8)])
    spread = np.sum((X - centres[ours.labels]) ** 2)
    assert ours.inertia == pytest.approx(spread, rel=1e-3)


def test_more_starts_are_no_worse():
    X = np.random.default_rng(0).standard_normal((100, 2))
    few = kmeans_labels(X, 9, np.random.default_rng(1), n_init=2)
    many = kmeans_labels(X, 9, np.random.default_rng(1), n_init=20)
    assert many.inertia <= few.inertia


@given(generators(), st.integers(1, 6))
def test_seeds_are_different_rows(rng, k):
    X = rng.standard_normal((6, 2))
    seeds = spread_seeds(X, k, rng)
    assert {tuple(s) for s in seeds} <= {tuple(x) for x in X}
    assert len({tuple(s) for s in seeds}) == k


def test_seeds_reach_every_far_group():
    X = np.repeat([[0.0], [100.0], [200.0], [300.0]], [97, 1, 1, 1], axis=0)
    X += np.random.default_rng(0).random(X.shape)
    for seed in range(10):
        seeds = spread_seeds(X, 4, np.random.default_rng(seed))
        assert sorted(np.floor(seeds[:, 0] / 100)) == [0, 1, 2, 3]


def test_fewer_different_rows_than_clusters():
    found = kmeans_labels(
        np.repeat([[0.0, 1], [1, 0]], 5, axis=0), 4, np.random.default_rng(0)
    )
    assert same_partition(found.labels, np.repeat([0, 1], 5))
    assert found.inertia == 0


def test_rows_of_zeros_join_the_largest():
    U = np.array([[1.0, 0], [0, 0], [0, 1], [0, 1], [0, 0]])
    found = kmeans_labels(U, 2, np.random.default_rng(0))
    assert same_partition(found.labels, [0, 1, 1, 1, 1])
    assert found.inertia == 0


def test_zeros_are_rows_if_there_are_too_few_others():
    U = np.array([[1.0, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(placed_rows(U, 2), [True] * 3)
    np.testing.assert_array_equal(placed_rows(U, 1), [True, False, False])
    assert same_partition(
        kmeans_labels(U, 2, np.random.default_rng(0)).labels, [0, 1, 1]
    )


# -- small helpers ----------------------------------------------------------------


def test_labels_of_all():
    placed = np.array([True, False, True, True])
    np.testing.assert_array_equal(
        labels_of_all(np.array([2, 0, 0]), placed), [2, 0, 0, 0]
    )


@given(generators(), st.integers(1, 8))
def test_every_cluster_gets_a_sample(rng, k):
    y = rng.integers(0, k, 8)
    fit = rng.random(8)
    filled = fill_empty(y, fit, k)
    assert set(filled) == set(range(k))
    moved = filled != y
    assert moved.sum() == k - len(set(y))
    assert not np.isin(filled[moved], y).any()


def test_the_worst_fitting_move_first():
    fit = np.array([0.3, 0.1, 0.2])
    np.testing.assert_array_equal(fill_empty(np.full(3, 2), fit, 3), [2, 0, 1])


def test_shares_of_rows():
    P = shares_of_rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    np.testing.assert_allclose(P, [[0.25, 0.75], [0.5, 0.5]])
