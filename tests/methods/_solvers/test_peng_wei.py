"""The relaxation of Peng and Wei, against generic solvers and its own mathematics."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from lordclust.methods._solvers import peng_wei as module
from lordclust.methods._solvers.peng_wei import (
    SpectralProjection,
    lifted,
    off_ones,
    peng_wei,
)
from strategies import block_graph, generators, graphs


def partition_matrix(labels):
    same = labels[:, None] == labels
    return same / same.sum(axis=1)


def value(S, Z):
    return float((S.toarray() * Z if sp.issparse(S) else S * Z).sum())


def symmetric(rng, n):
    A = rng.standard_normal((n, n))
    return A + A.T


def blobs(sizes, seed=0):
    centers = 40 * np.random.default_rng(seed).permutation(np.eye(len(sizes)))
    X, y = make_blobs(sizes, centers=centers, cluster_std=1.0, random_state=seed)
    return X, y


def conic_optimum(S, k):
    """max <S, Z> by an interior point method, Z as its upper triangle."""
    n = len(S)
    row, column = np.triu_indices(n)
    order = np.lexsort((row, column))  # column by column, as the cone wants it
    row, column = row[order], column[order]
    m = len(row)
    twice = np.where(row == column, 1.0, 2.0)
    sums = np.zeros((n, m))
    sums[row, np.arange(m)] = 1
    sums[column, np.arange(m)] = 1
    equal = np.vstack([sums, row == column])
    svec = sp.diags(np.sqrt(twice))
    A = sp.csc_matrix(sp.vstack([sp.csc_matrix(equal), -sp.eye(m), -svec]))
    b = np.concatenate([np.ones(n), [k], np.zeros(2 * m)])
    cones = [
        clarabel.ZeroConeT(n + 1),
        clarabel.NonnegativeConeT(m),
        clarabel.PSDTriangleConeT(n),
    ]
    options = clarabel.DefaultSettings()
    options.verbose = False
    q = -twice * S[row, column]
    P = sp.csc_matrix((m, m))
    x = np.array(clarabel.DefaultSolver(P, q, A, b, cones, options).solve().x)
    Z = np.zeros((n, n))
    Z[row, column] = Z[column, row] = x
    return Z


def simplex_threshold(w, total):
    """theta with sum max(w - theta, 0) = total, by bisection."""
    low, high = w.min() - total, w.max()
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(w - middle, 0).sum() > total:
            low = middle
        else:
            high = middle
    return middle


# -- the problem -----------------------------------------------------------------


@given(graphs(min_n=3, max_n=40), st.data())
def test_all_but_the_signs_hold_to_rounding(S, data):
    k = data.draw(st.integers(1, S.shape[0]))
    Z = peng_wei(S, k, max_iter=30).Z
    np.testing.assert_array_equal(Z, Z.T)
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1e-10)
    np.testing.assert_allclose(np.trace(Z), k, atol=1e-10)
    assert np.linalg.eigvalsh(Z).min() >= -1e-10


def test_signs_hold_to_the_tolerance():
    S = symmetric(np.random.default_rng(0), 30)
    for tol in (1e-2, 1e-4):
        solution = peng_wei(S, 4, tol=tol)
        assert solution.converged
        norm = np.linalg.norm(np.minimum(solution.Z, 0)) / np.linalg.norm(solution.Z)
        assert solution.infeasibility == pytest.approx(norm)
        # ||Z|| >= 1, and the residual is in units of sqrt(k).
        assert norm <= 2 * tol


@pytest.mark.parametrize(("n", "k", "seed"), [(6, 2, 0), (9, 3, 1), (12, 4, 2)])
def test_agrees_with_a_generic_conic_solver(n, k, seed):
    S = symmetric(np.random.default_rng(seed), n)
    solution = peng_wei(S, k, tol=1e-8, max_iter=20000)
    expected = conic_optimum(S, k)
    assert solution.converged
    np.testing.assert_allclose(solution.objective, value(S, expected), rtol=1e-6)
    np.testing.assert_allclose(solution.upper_bound, value(S, expected), rtol=1e-6)
    np.testing.assert_allclose(solution.Z, expected, atol=1e-4)


@pytest.mark.parametrize("sizes", [(20, 20), (10, 25, 15), (8, 8, 8, 8)])
def test_separated_blobs_give_the_partition(sizes):
    X, y = blobs(sizes)
    for S in (X @ X.T, rbf_kernel(X, gamma=1e-3)):
        solution = peng_wei(S, len(sizes), tol=1e-7)
        np.testing.assert_allclose(solution.Z, partition_matrix(y), atol=1e-5)


def test_one_cluster_and_n_clusters():
    S = symmetric(np.random.default_rng(0), 7)
    one, all_ = peng_wei(S, 1), peng_wei(S, 7)
    np.testing.assert_array_equal(one.Z, np.full((7, 7), 1 / 7))
    np.testing.assert_array_equal(all_.Z, np.eye(7))
    assert one.objective == one.upper_bound == pytest.approx(value(S, one.Z))
    assert all_.objective == all_.upper_bound == pytest.approx(np.trace(S))


def test_one_below_n_clusters():
    # Joining i and j loses (S_ii + S_jj)/2 - S_ij of the trace. With S = e_0 e_1' +
    # e_1 e_0' that is -1 for the pair 0, 1: Z = I but for a block of halves.
    S = np.zeros((5, 5))
    S[0, 1] = S[1, 0] = 1.0
    solution = peng_wei(S, 4, tol=1e-7, max_iter=20000)
    expected = partition_matrix(np.array([0, 0, 1, 2, 3]))
    np.testing.assert_allclose(solution.Z, expected, atol=1e-4)
    assert solution.objective == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("S", [np.zeros((6, 6)), 3 * np.eye(6), np.ones((6, 6))])
def test_nothing_to_choose(S):
    # <S, Z> is the same for every feasible Z, whatever partition it may be.
    solution = peng_wei(S, 2)
    any_ = partition_matrix(np.array([0, 0, 1, 1, 1, 1]))
    assert solution.converged
    assert solution.objective == pytest.approx(value(S, any_))
    assert abs(solution.gap) < 1e-12


# -- the certificate -------------------------------------------------------------


@given(generators(), st.integers(4, 14), st.integers(1, 60))
def test_no_partition_exceeds_the_bound(rng, n, max_iter):
    S = symmetric(rng, n)
    k = int(rng.integers(2, n))
    solution = peng_wei(S, k, max_iter=max_iter)
    for _ in range(10):
        labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
        best = value(S, partition_matrix(rng.permutation(labels)))
        assert best <= solution.upper_bound + 1e-12 * np.abs(S).sum()


def test_the_bound_is_that_of_its_own_multiplier():
    # Recomputed from the formula, with an eigenvalue found by another way.
    S, _ = block_graph(np.random.default_rng(3), (15, 15), sparse=False)
    n, k = 30, 2
    C, _, _ = module._scaled(S, k)
    state = module._Splitting(C, k)
    project = SpectralProjection(n, k)
    for _ in range(15):
        state.step(project(state.G, 1e-12))
    U = np.minimum(state.V, 0)
    M = C - state.rho * U
    J = np.eye(n) - 1 / n
    top = np.linalg.svd(J @ M @ J + 50 * J)[1][0] - 50
    bound = module._upper_bound(state.dual_matrix(), k)
    assert bound == pytest.approx(M.sum() / n + (k - 1) * top, rel=1e-10)
    assert bound >= M.sum() / n + (k - 1) * top


def test_the_gap_closes():
    S, _ = block_graph(np.random.default_rng(1), (20, 12, 15))
    gaps = [peng_wei(S, 3, tol=tol).gap for tol in (1e-2, 1e-4, 1e-6)]
    assert abs(gaps[1]) < 1e-3
    assert abs(gaps[2]) < 1e-5
    assert gaps[0] > gaps[2]


def test_stopping_early_is_said_and_bounded():
    S = symmetric(np.random.default_rng(0), 20)
    early, late = peng_wei(S, 3, max_iter=3), peng_wei(S, 3, tol=1e-6)
    assert not early.converged
    assert early.n_iter == len(early.history) == 3
    assert early.upper_bound >= late.objective


# -- invariances -----------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-300, 1e-9, 1e9, 1e300])
def test_the_scale_of_S_does_not_matter(factor):
    S = symmetric(np.random.default_rng(0), 20)
    a, b = peng_wei(S, 3), peng_wei(factor * S, 3)
    np.testing.assert_allclose(b.Z, a.Z, atol=1e-9)
    assert b.objective / factor == pytest.approx(a.objective, rel=1e-9)
    assert b.gap == pytest.approx(a.gap, rel=1e-6)


@pytest.mark.parametrize("c", [-3.0, 0.5, 1e3])
def test_a_multiple_of_I_does_not_matter(c):
    S = symmetric(np.random.default_rng(1), 20)
    a, b = peng_wei(S, 3), peng_wei(S + c * np.eye(20), 3)
    np.testing.assert_allclose(b.Z, a.Z, atol=1e-9)
    assert b.objective == pytest.approx(a.objective + 3 * c)
    assert b.upper_bound == pytest.approx(a.upper_bound + 3 * c)


@settings(max_examples=5)
@given(generators())
def test_equivariant_under_reordering(rng):
    S = symmetric(rng, 15)
    order = rng.permutation(15)
    a, b = peng_wei(S, 3), peng_wei(S[order][:, order], 3)
    np.testing.assert_allclose(b.Z, a.Z[order][:, order], atol=1e-8)


def test_sparse_integer_and_single_precision():
    S, _ = block_graph(np.random.default_rng(2), (10, 10))
    dense = S.toarray()
    np.testing.assert_array_equal(peng_wei(S, 2).Z, peng_wei(dense, 2).Z)
    whole = np.round(9 * dense).astype(int)
    np.testing.assert_array_equal(
        peng_wei(whole, 2).Z, peng_wei(whole.astype(np.float32), 2).Z
    )


def test_S_is_left_alone():
    S = symmetric(np.random.default_rng(0), 10)
    before = S.copy()
    peng_wei(S, 2)
    np.testing.assert_array_equal(S, before)


# -- the spectral projection -----------------------------------------------------


@given(generators(), st.integers(2, 25))
def test_projection_is_the_nearest_point(rng, n):
    # P_A(G) by its definition, with the complement of 1 found by QR.
    k = int(rng.integers(2, n + 1))
    G = symmetric(rng, n)
    B = np.linalg.qr(np.hstack([np.ones((n, 1)), rng.standard_normal((n, n - 1))]))[0]
    w, q = np.linalg.eigh(B[:, 1:].T @ G @ B[:, 1:])
    q = B[:, 1:] @ q
    weights = np.maximum(w - simplex_threshold(w, k - 1), 0)
    F = SpectralProjection(n, k)(G, 1e-12)
    np.testing.assert_allclose(F @ F.T, (q * weights) @ q.T, atol=1e-9)


@given(generators(), st.integers(2, 20))
def test_the_complement_of_1(rng, n):
    M = symmetric(rng, n)
    Q = lifted(np.eye(n - 1))
    np.testing.assert_allclose(Q.T @ Q, np.eye(n - 1), atol=1e-14)
    np.testing.assert_allclose(Q.sum(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(off_ones(M), Q.T @ M @ Q, atol=1e-12)


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-9])
def test_partial_projection_is_within_the_tolerance(tol):
    n, k = 300, 4
    rng = np.random.default_rng(0)
    S, _ = block_graph(rng, (100, 80, 70, 50), sparse=False)
    project = SpectralProjection(n, k)
    project._full = None  # nothing but Krylov spaces
    for step in range(4):  # near-by matrices, as in ADMM
        G = S / 10 + 0.01 * step * symmetric(rng, n) / np.sqrt(n)
        F, sure = project(G, tol), SpectralProjection(n, k)._full(G)
        assert 0 < F.shape[1] < 30
        assert np.linalg.norm(F @ F.T - sure @ sure.T) <= tol
        np.testing.assert_allclose(F.sum(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose((F * F).sum(), k - 1, atol=1e-12)


def test_eigenvectors_orthogonal_to_the_basis_are_met():
    # The basis spans the first block, the weight has moved to the second.
    n, k = 240, 3
    half = np.arange(n) < n // 2
    rng = np.random.default_rng(0)
    A, B = symmetric(rng, n // 2), symmetric(rng, n // 2)
    project = SpectralProjection(n, k)
    project.Q = project.Q * half[:, None]
    G = np.zeros((n, n))
    G[: n // 2, : n // 2], G[n // 2 :, n // 2 :] = A / 10, B
    F, sure = project(G, 1e-6), SpectralProjection(n, k)._full(G)
    assert np.linalg.norm(F @ F.T - sure @ sure.T) <= 1e-6


def test_partial_and_full_eigenvectors_lead_to_the_same_Z(monkeypatch):
    S, _ = block_graph(np.random.default_rng(5), (80, 70, 60), inside=0.5)
    calls = []
    full = SpectralProjection._full
    monkeypatch.setattr(
        SpectralProjection, "_full", lambda self, G: calls.append(1) or full(self, G)
    )
    partial = peng_wei(S, 3, tol=1e-4)
    assert len(calls) <= 3 < partial.n_iter  # the first matrices need many
    calls.clear()
    monkeypatch.setattr(module, "FULL_UP_TO", 10**6)
    sure = peng_wei(S, 3, tol=1e-4)
    assert len(calls) == sure.n_iter
    np.testing.assert_allclose(partial.Z, sure.Z, atol=1e-4)
    assert partial.objective == pytest.approx(sure.objective, rel=1e-4)
    assert partial.upper_bound == pytest.approx(sure.upper_bound, rel=1e-4)


def test_rho_settles():
    # Residuals that always ask for the other direction: the waits double.
    penalty, changes, rho = module._Penalty(), [], 1.0
    for n_iter in range(1, 2001):
        state = type("State", (), {"rho": rho, "primal": 1.0, "dual": 1.0})
        state.primal, state.dual = (9.0, 1.0) if len(changes) % 2 else (1.0, 9.0)
        new = penalty.next(state, n_iter)
        if new != rho:
            changes.append(n_iter)
        rho = new
    waits = np.diff(changes)
    assert (waits[1:] == 2 * waits[:-1]).all()
    assert len(waits) >= 5
