"""Filtered subspace iteration: against LAPACK, in any order, with any threads."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

from lordclust._core.keys import row_keys
from lordclust.graph import KNNGraph
from lordclust.rounding import subspace
from lordclust.rounding.spectral import (
    component_vectors,
    components,
    leading_eigenvectors,
    normalized_affinity,
    normalized_eigenvectors,
)
from lordclust.rounding.subspace import (
    Rows,
    banded_inverse,
    bounds,
    random_block,
    subspace_eigenvectors,
)
from strategies import generators, random_graph


def dense(A):
    return A.toarray() if sparse.issparse(A) else np.asarray(A)


def cycle(n):
    step = sparse.diags_array([np.ones(n - 1), [1.0]], offsets=[1, 1 - n], shape=(n, n))
    return sparse.csr_array(step + step.T)


def torus(*sizes):
    S = cycle(sizes[0])
    for n in sizes[1:]:
        S = sparse.kronsum(S, cycle(n))
    return sparse.csr_array(S)


def copies(count, n):
    S = random_graph(np.random.default_rng(0), n, 0.2, sparse=True)
    return sparse.block_diag([S] * count, format="csr")


def star(n):
    S = np.zeros((n, n))
    S[0, 1:] = S[1:, 0] = 1.0
    return S


def blobs(n, k, spread, d=10):
    centers = 10 * np.random.default_rng(0).random((k, d))
    X, _ = make_blobs(n, centers=centers, cluster_std=spread, random_state=0)
    return KNNGraph().build(X)


def assert_leading(A, values, U, k):
    """The eigenvalues of LAPACK to 1e-7; orthonormal vectors with small residuals."""
    expected, vectors = np.linalg.eigh(dense(A))
    expected, vectors = expected[::-1], vectors[:, ::-1]
    np.testing.assert_allclose(values, expected[:k], atol=1e-7)
    np.testing.assert_allclose(U.T @ U, np.eye(k), atol=1e-10)
    residuals = np.linalg.norm(A @ U - U * values, axis=0)
    low, high = bounds(A)
    assert residuals.max() <= subspace.RESIDUAL * (high - low)
    # No part outside the eigenvalues at or above the k-th, if a gap follows.
    end = np.searchsorted(-expected, -expected[k - 1] + 1e-9)
    if end < len(expected) and expected[end - 1] - expected[end] > 0.01:
        outside = U - vectors[:, :end] @ (vectors[:, :end].T @ U)
        assert np.linalg.norm(outside, 2) <= 5e-3


GRAPHS = {
    "close clusters": (blobs(900, 6, 2.5), 6),
    "clusters far apart": (blobs(900, 6, 1.0), 7),
    "moons": (KNNGraph().build(make_moons(900, noise=0.1, random_state=0)[0]), 4),
    "cycle: all double": (cycle(901), 5),
    "three cycles: sixfold": (sparse.block_diag([cycle(300)] * 3, format="csr"), 8),
    "torus: eightfold": (torus(30, 30), 7),
    "1024 corners: tenfold": (torus(4, 4, 4, 4, 4), 6),
    "equal components": (copies(10, 60), 25),
    "more copies than columns": (copies(30, 30), 35),
    "complete: one eigenvalue": (np.ones((610, 610)) - np.eye(610), 4),
    "star: rank 2": (star(620), 5),
    "dense": (random_graph(np.random.default_rng(0), 600, 0.5), 3),
}


@pytest.mark.parametrize(("S", "k"), GRAPHS.values(), ids=GRAPHS)
def test_graphs(S, k):
    P = normalized_affinity(S)
    assert_leading(P, *normalized_eigenvectors(S, k), k)


@settings(max_examples=20)
@given(generators(), st.integers(1, 9), st.floats(-3, 3))
def test_any_spectrum(rng, k, shift):
    """Eigenvalues with many copies, of any sign."""
    n = 60
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (Q * (rng.integers(0, 12, n) / 6 + shift)) @ Q.T
    A = (A + A.T) / 2
    values, U = subspace_eigenvectors(A, k)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[::-1][:k], atol=1e-6)
    np.testing.assert_allclose(U.T @ U, np.eye(k), atol=1e-10)


def test_known_eigenvectors_are_left_out():
    S = blobs(900, 4, 2.5)
    P, known = normalized_affinity(S), component_vectors(S, 4)
    values, U = subspace_eigenvectors(P, 3, known=known)
    c = known.shape[1]
    expected = np.linalg.eigvalsh(dense(P))[::-1][c : c + 3]
    np.testing.assert_allclose(values, expected, atol=1e-7)
    np.testing.assert_allclose(known.T @ U, 0, atol=1e-12)


@pytest.mark.parametrize("n", [1200, 6000])
def test_order_of_samples_does_not_matter(n):
    """Far more accurate than the tolerance: the same iterations, up to rounding."""
    S = blobs(n, 5, 3.0)
    order = np.random.default_rng(1).permutation(n)
    a = normalized_eigenvectors(S, 5)
    b = normalized_eigenvectors(sparse.csr_array(S[order][:, order]), 5)
    np.testing.assert_allclose(a.values, b.values, atol=1e-12)
    np.testing.assert_allclose(a.vectors[order], b.vectors, atol=1e-9)


def test_threads_do_not_matter(monkeypatch):
    S = blobs(6000, 5, 3.0)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(subspace, "threads_of_fit", lambda t=threads: t)
        found.append(normalized_eigenvectors(S, 5))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].values, other.values)
        np.testing.assert_array_equal(found[0].vectors, other.vectors)


def test_blas_threads_do_not_matter():
    from threadpoolctl import threadpool_limits

    S = blobs(1200, 5, 3.0)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            found.append(normalized_eigenvectors(S, 5))
    np.testing.assert_array_equal(found[0].vectors, found[1].vectors)


@pytest.mark.parametrize("columns", [slice(None), slice(2, None)])
def test_products_overwrite_what_is_given(columns):
    rng = np.random.default_rng(0)
    A = random_graph(rng, 90, 0.2, sparse=True)
    Y, out = (rng.standard_normal((90, 7))[:, columns] for _ in range(2))
    expected = 0.5 * (dense(A) @ Y - 0.2 * Y) - 0.3 * out
    for matrix in (A, dense(A)):
        mine = out.copy()
        assert Rows(matrix, None).product(Y, mine, 0.5, 0.2, 0.3) is mine
        np.testing.assert_allclose(mine, expected, atol=1e-13)


def test_memory():
    """A block of vectors and its product; everything else is small."""
    S, k = blobs(6000, 100, 3.0), 100
    P, keys = normalized_affinity(S), row_keys(S)
    graph, block = P.data.nbytes + P.indices.nbytes, 8 * 6000 * 112
    tracemalloc.start()
    subspace_eigenvectors(P, k, keys=keys)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * graph + 3 * block


def test_dense_is_sparse():
    S = blobs(700, 4, 2.5)
    a, b = leading_eigenvectors(S, 4), leading_eigenvectors(dense(S), 4)
    np.testing.assert_allclose(a.vectors, b.vectors, atol=1e-8)


def test_signs():
    U = normalized_eigenvectors(blobs(700, 4, 2.5), 4).vectors
    assert ((U**3).sum(axis=0) > 0).all()


# -- long thin graphs -------------------------------------------------------------


@pytest.mark.parametrize("banded", [True, False])
def test_long_cycle(banded, monkeypatch):
    """The gap is 1e-6; a band of 2 is solved directly."""
    n, k = 6000, 4
    if not banded:
        monkeypatch.setattr(subspace, "BAND_NUMBERS", 0)
    values, U = normalized_eigenvectors(cycle(n), k)
    expected = np.cos(2 * np.pi * np.array([0, 1, 1, 2]) / n)
    np.testing.assert_allclose(1 - values, 1 - expected, rtol=1e-4, atol=1e-12)
    t = 2 * np.pi * np.arange(n) / n
    first = np.column_stack([np.cos(t), np.sin(t)]) * np.sqrt(2 / n)
    np.testing.assert_allclose(first @ (first.T @ U[:, 1:3]), U[:, 1:3], atol=1e-4)


def test_banded_inverse():
    P = normalized_affinity(cycle(50))
    X = np.random.default_rng(0).standard_normal((50, 3))
    solve = banded_inverse(P, 1.0, 2.0)
    shift = 1 + 2e-10
    np.testing.assert_allclose(shift * solve(X) - P @ solve(X), X, atol=1e-5)
    wide = sparse.csr_array(np.ones((3, 3)))
    assert not banded_inverse(dense(P), 1.0, 2.0)
    above = banded_inverse(wide, 2.0, 6.0)  # the largest eigenvalue is 3
    assert callable(above)


def test_a_wide_band_is_left_alone(monkeypatch):
    monkeypatch.setattr(subspace, "BAND_WORK", 100)
    assert not banded_inverse(cycle(50), 1.0, 2.0)


# -- the start --------------------------------------------------------------------


def test_keys_depend_on_entries_alone():
    S = blobs(700, 4, 2.5)
    order = np.random.default_rng(0).permutation(700)
    keys = row_keys(S)
    assert len(set(keys)) == 700
    np.testing.assert_array_equal(row_keys(S[order][:, order]), keys[order])
    np.testing.assert_array_equal(row_keys(dense(S)), keys)


def test_equal_rows_get_different_keys():
    assert len(set(row_keys(cycle(100)))) == 100
    assert len(set(row_keys(np.zeros((5, 5))))) == 5


@pytest.mark.parametrize("m", [1, 64, 150])
def test_random_block(m):
    X = random_block(row_keys(cycle(2000)), m)
    assert X.shape == (2000, m)
    assert set(np.unique(X)) == {-1.0, 1.0}
    gram = X.T @ X / 2000 - np.eye(m)
    assert np.abs(gram).max() < 0.12


def test_components_are_exact():
    S = blobs(3000, 8, 0.5)
    c = components(S).max() + 1
    values = normalized_eigenvectors(S, 8).values
    np.testing.assert_array_equal(values[: min(c, 8)], 1.0)


def test_normalized_affinity_shares_nothing_with_the_graph():
    S = blobs(700, 4, 2.5)
    P = normalized_affinity(S)
    assert not np.shares_memory(P.indices, S.indices)
    assert not np.shares_memory(P.indptr, S.indptr)
