"""Leading eigenvectors against LAPACK, on graphs with multiple eigenvalues."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from lordclust.rounding.spectral import (
    Eigen,
    component_vectors,
    components,
    degrees,
    leading_eigenvectors,
    ncut_value,
    normalized_affinity,
    normalized_eigenvectors,
    plain_eigenvectors,
    random_walk_eigenvectors,
    unit_rows,
    warn_of_components,
)
from strategies import block_graph, graphs, labels, random_graph


def dense(A):
    return A.toarray() if sparse.issparse(A) else np.asarray(A)


def cycle(n):
    step = sparse.diags_array([np.ones(n - 1), [1.0]], offsets=[1, 1 - n], shape=(n, n))
    return sparse.csr_array(step + step.T)


def copies(count, n, seed=0):
    S = random_graph(np.random.default_rng(seed), n, 0.2, sparse=True)
    return sparse.block_diag([S] * count, format="csr")


def star(n):
    S = np.zeros((n, n))
    S[0, 1:] = S[1:, 0] = 1.0
    return S


def eigen_residual(A, eigen):
    """How well the eigenvectors fit."""
    return np.linalg.norm(A @ eigen.vectors - eigen.vectors * eigen.values)


def with_isolated(S, count):
    n = S.shape[0]
    order = np.random.default_rng(0).permutation(n + count)
    S = sparse.block_diag([S, sparse.csr_array((count, count))], format="csr")
    return S[order][:, order]


def assert_leading(A, eigen, k, atol=1e-8):
    """The k largest eigenvalues by LAPACK, orthonormal vectors, small residual."""
    expected = np.linalg.eigvalsh(dense(A))[::-1][:k]
    assert eigen.vectors.shape == (A.shape[0], k)
    np.testing.assert_allclose(eigen.values, expected, atol=atol)
    gram = eigen.vectors.T @ eigen.vectors
    np.testing.assert_allclose(gram, np.eye(k), atol=1e-7)
    assert eigen_residual(A, eigen) <= 1e-7


HARD = {
    "cycle: all double": (cycle(450), 5),
    "three cycles: sixfold": (sparse.block_diag([cycle(150)] * 3, format="csr"), 8),
    "equal components": (copies(5, 90), 14),
    "many equal components": (copies(20, 22), 30),
    "complete: one eigenvalue": (np.ones((410, 410)) - np.eye(410), 4),
    "star: rank 2": (star(420), 5),
    "isolated vertices": (with_isolated(copies(2, 200), 30), 6),
    "few edges": (with_isolated(cycle(6), 500), 12),
    "one edge": (with_isolated(cycle(3), 500), 7),
    "more components than k": (copies(6, 75), 4),
    "k components": (copies(4, 110), 4),
    "near k = n": (copies(2, 210), 300),
}


@pytest.mark.parametrize(("S", "k"), HARD.values(), ids=HARD)
def test_hard_graphs(S, k):
    assert_leading(normalized_affinity(S), normalized_eigenvectors(S, k), k)


@given(graphs(), st.data())
def test_small_graphs(S, data):
    k = data.draw(st.integers(1, S.shape[0]))
    assert_leading(normalized_affinity(S), normalized_eigenvectors(S, k), k)


@pytest.mark.parametrize("n", [5, 500])
@pytest.mark.parametrize("make", [np.zeros, lambda shape: sparse.csr_array(shape)])
def test_no_edges_at_all(make, n):
    eigen = normalized_eigenvectors(make((n, n)), 3)
    np.testing.assert_array_equal(eigen.values, np.zeros(3))
    np.testing.assert_array_equal(eigen.vectors, np.eye(n, 3))
    assert_leading(np.zeros((n, n)), leading_eigenvectors(make((n, n)), 3), 3)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_scale_does_not_matter(scale):
    S, _ = block_graph(np.random.default_rng(0), [150, 150, 150])
    expected = normalized_eigenvectors(S, 4)
    found = normalized_eigenvectors(S * scale, 4)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-12)
    overlap = found.vectors.T @ expected.vectors
    np.testing.assert_allclose(np.linalg.svd(overlap)[1], 1, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_other_types(dtype, kind):
    S, _ = block_graph(np.random.default_rng(0), [220, 220], sparse=False)
    S = (1000 * S).astype(dtype)
    assert degrees(S).dtype == np.float64
    eigen = normalized_eigenvectors(kind(S), 3)
    assert eigen.vectors.dtype == np.float64
    assert_leading(normalized_affinity(S.astype(float)), eigen, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", [30, 450])
def test_plain_eigenvectors_of_other_types(dtype, kind, n):
    S = (10 * random_graph(np.random.default_rng(0), n, 0.2)).astype(dtype)
    eigen = plain_eigenvectors(kind(S), 3)
    assert eigen.vectors.dtype == np.float64
    expected = np.linalg.eigvalsh(S.astype(float))[::-1][:3]
    np.testing.assert_allclose(eigen.values, expected, rtol=1e-6)
    assert eigen_residual(S.astype(float), eigen) <= 1e-5 * expected[0]


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e20])
def test_scale_of_plain_eigenvectors(scale):
    S = random_graph(np.random.default_rng(0), 450, 0.2, sparse=True)
    eigen = plain_eigenvectors(S * scale, 3)
    expected = np.linalg.eigvalsh(dense(S))[::-1][:3]
    np.testing.assert_allclose(eigen.values / scale, expected, rtol=1e-8)
    assert eigen_residual(S, Eigen(expected, eigen.vectors)) <= 1e-6


def test_sum_of_float32_degrees_is_exact():
    S = np.full((3, 3), 2.0**24, dtype=np.float32) + np.eye(3, dtype=np.float32) * 2
    np.testing.assert_array_equal(degrees(S), 3 * 2.0**24 + 2)


def test_stored_zero_is_no_edge():
    S = sparse.lil_array(np.kron(np.eye(2), [[0.0, 1], [1, 0]]))
    S = sparse.csr_array(S)
    joined = S + sparse.csr_array(([1.0, 1.0], ([0, 2], [2, 0])), shape=(4, 4))
    joined.data[joined.data > 0] = 1.0
    zeros = joined.copy()
    zeros[0, 2] = zeros[2, 0] = 0.0
    assert zeros.nnz == 6
    assert len(set(components(zeros))) == 2
    np.testing.assert_allclose(normalized_eigenvectors(zeros, 2).values, 1)
    assert zeros.nnz == 6  # the caller's is left alone


def test_component_vectors_are_eigenvectors():
    S = with_isolated(sparse.block_diag([cycle(5), cycle(3), cycle(9)]), 2)
    U = component_vectors(S, 10)
    assert [np.count_nonzero(u) for u in U.T] == [9, 5, 3]  # the largest first
    np.testing.assert_allclose(normalized_affinity(S) @ U, U, atol=1e-15)
    assert component_vectors(S, 2).shape == (19, 2)


def test_thousands_of_components_take_no_room():
    m = 30_000
    S = sparse.kron(sparse.eye_array(m), np.array([[0.0, 1], [1, 0]]), format="csr")
    U = normalized_eigenvectors(S, 3).vectors
    np.testing.assert_allclose(U[:2, 0], np.sqrt(0.5))
    assert np.count_nonzero(U) == 6


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("shift", [-200.0, 0.0, 50.0])
def test_any_symmetric_matrix(kind, shift):
    """Eigenvalues of any sign, the largest ones in pairs."""
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((420, 420)))
    values = np.repeat(np.arange(210.0) % 97, 2) + shift
    A = (Q * values) @ Q.T
    A = (A + A.T) / 2
    eigen = leading_eigenvectors(kind(A), 7)
    np.testing.assert_allclose(eigen.values, np.sort(values)[::-1][:7], atol=1e-6)
    assert eigen_residual(A, eigen) <= 1e-5
    np.testing.assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(7), atol=1e-7)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("k", [1, 3, 8])
def test_small_matrix_of_any_kind(kind, k):
    A = random_graph(np.random.default_rng(0), 8, 1.0)
    assert_leading(A, leading_eigenvectors(kind(A), k), k)


def test_known_eigenvectors_are_left_out():
    S = sparse.csr_array(random_graph(np.random.default_rng(1), 420, 0.1))
    P = normalized_affinity(S)
    known = component_vectors(S, 1)
    expected = np.linalg.eigvalsh(dense(P))[::-1][1:4]
    for limit in (0, 420):
        eigen = leading_eigenvectors(P, 3, known=known, dense_up_to=limit)
        np.testing.assert_allclose(eigen.values, expected, atol=1e-8)
        np.testing.assert_allclose(known.T @ eigen.vectors, 0, atol=1e-8)


@given(graphs(min_n=3))
def test_random_walk_eigenvectors_solve_the_generalised_problem(S):
    values, U = random_walk_eigenvectors(S, 2)
    A, d = dense(S), degrees(S)
    linked = d > 0
    residual = A @ U - d[:, None] * U * values
    np.testing.assert_allclose(residual[linked], 0, atol=1e-9 * max(d.max(), 1))


def test_unit_rows():
    U = np.random.default_rng(0).standard_normal((6, 3))
    U[2], U[3] = 0.0, 1e-17
    np.testing.assert_allclose(
        np.linalg.norm(unit_rows(U), axis=1), [1, 1, 0, 0, 1, 1], atol=1e-15
    )
    np.testing.assert_allclose(unit_rows(2.0**-300 * U), unit_rows(U), atol=0)
    assert unit_rows(np.empty((0, 2))).shape == (0, 2)


def test_embedding_of_blocks_is_their_axes():
    T = unit_rows(
        normalized_eigenvectors(sparse.block_diag([cycle(4), cycle(3)]), 2)[1]
    )
    np.testing.assert_allclose(T, np.repeat(np.eye(2), [4, 3], axis=0), atol=1e-15)


# -- the normalised cut -----------------------------------------------------------


@given(graphs(min_n=3), st.data())
def test_ncut_two_ways(S, data):
    y = data.draw(labels(S.shape[0], 3))
    A, Y = dense(S), np.eye(3)[y]
    inside, volume = np.diag(Y.T @ A @ Y), Y.T @ A.sum(axis=1)
    ratios = inside / np.where(volume > 0, volume, 1.0)
    np.testing.assert_allclose(ncut_value(S, y, 3), 3 - ratios.sum(), atol=1e-10)


@given(graphs(min_n=3), st.data())
def test_no_partition_is_below_the_relaxation(S, data):
    y = data.draw(labels(S.shape[0], 3))
    gains = normalized_eigenvectors(S, 3).values
    bound = 3 - np.maximum(gains, 0).sum()  # clusters without edges gain nothing
    assert ncut_value(S, y, 3) >= bound - 1e-9


def test_an_empty_cluster_counts_one():
    S = random_graph(np.random.default_rng(0), 8, 0.8)
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert ncut_value(S, y, 3) == pytest.approx(ncut_value(S, y, 2) + 1)


def test_warning_of_components(recwarn):
    S = sparse.block_diag([cycle(3)] * 3)
    warn_of_components(S, 3, "SC")
    warn_of_components(S, 1, "SC")  # one cluster keeps nothing apart
    assert not recwarn
    with pytest.warns(UserWarning, match="has 3 connected components, more than n_c"):
        warn_of_components(S, 2, "SC")
