"""SC: the eigenvectors of Ng, Jordan and Weiss, clustered by k-means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

from lordclust.graph import KNNGraph
from lordclust.methods import SC
from lordclust.metrics import accuracy
from strategies import block_graph, generators

X, TRUTH = make_blobs(120, centers=3, cluster_std=2.5, random_state=1)
S = KNNGraph(12).build(X)


def fit(S, k, **params):
    return SC(k, affinity="precomputed", random_state=0, **params).fit(S)


def cliques(*sizes):
    return sparse.block_diag([np.ones((m, m)) - np.eye(m) for m in sizes], format="csr")


def test_four_points_by_hand():
    """Pairs (0, 1) and (2, 3) of similarity 3, and 1 between 1 and 2.

    D = diag(3, 4, 4, 3). By the symmetry of the path, the eigenvectors of P are even
    or odd. With u = (a, b, b, a), b/a = sqrt(4/3) for the eigenvalue 1; with
    u = (a, b, -b, -a): P u = (b r, a r - b/4, ...) with r = 3/sqrt(12), so the
    eigenvalue is the larger root of x^2 + x/4 - 3/4 = 0, which is 3/4, and
    b/a = x/r = sqrt(3)/2. Rows of length 1, (cos, sin): the first two differ from
    the last two by the sign of the sine.
    """
    S = np.array([[0.0, 3, 0, 0], [3, 0, 1, 0], [0, 1, 0, 3], [0, 0, 3, 0]])
    model = fit(S, 2)
    np.testing.assert_allclose(model.eigenvalues_, [1, 0.75], atol=1e-14)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    even = np.array([1, np.sqrt(4 / 3), np.sqrt(4 / 3), 1]) / np.sqrt(14 / 3)
    odd = np.array([1, np.sqrt(3) / 2, -np.sqrt(3) / 2, -1]) / np.sqrt(7 / 2)
    T = np.column_stack([even, odd])
    T /= np.linalg.norm(T, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(T), atol=1e-14)
    apart = np.sum((T[0] - T[1]) ** 2)
    assert model.objective_ == pytest.approx(apart)  # 2 pairs, half their distance each


def test_embedding_and_eigenvalues():
    model = fit(S, 3)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1, rtol=1e-12)
    d = S.sum(axis=1)
    P = S.toarray() / np.sqrt(np.outer(d, d))
    values, U = np.linalg.eigh(P)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], atol=1e-12)
    T = U[:, -3:] / np.linalg.norm(U[:, -3:], axis=1, keepdims=True)
    # The same rows up to a rotation: their products agree.
    np.testing.assert_allclose(
        model.embedding_ @ model.embedding_.T, T @ T.T, atol=1e-9
    )


def test_eigenvalues_are_the_trace():
    k = 4
    model = fit(S, k)
    d = S.sum(axis=1)
    laplacian = np.eye(len(d)) - S.toarray() / np.sqrt(np.outer(d, d))
    assert k - model.eigenvalues_.sum() == pytest.approx(
        np.linalg.eigvalsh(laplacian)[:k].sum()
    )


@pytest.mark.parametrize("scale", [1e-12, 0.3, 1e12])
def test_scale_does_not_matter(scale):
    np.testing.assert_array_equal(fit(S * scale, 3).labels_, fit(S, 3).labels_)


@given(generators(), st.lists(st.integers(2, 8), min_size=1, max_size=4))
def test_blocks_are_recovered(rng, sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    A = np.where(y[:, None] == y, 0.1 + rng.random((len(y), len(y))), 0.0)
    order = rng.permutation(len(y))
    A = (A + A.T)[order][:, order]
    model = fit(A, len(sizes), n_init=5)
    assert accuracy(y[order], model.labels_) == 1
    assert model.objective_ == pytest.approx(0, abs=1e-20)


def test_two_moons():
    X, y = make_moons(400, noise=0.06, random_state=0)
    model = SC(2, affinity=KNNGraph(10), random_state=0).fit(X)
    assert accuracy(y, model.labels_) > 0.99


def test_starts():
    model = fit(S, 6, n_init=15)
    assert model.all_objectives_.shape == (15,)
    assert model.objective_ == model.all_objectives_.min()
    T, y = model.embedding_, model.labels_
    spread = sum(((T[y == j] - T[y == j].mean(axis=0)) ** 2).sum() for j in range(6))
    assert model.objective_ == pytest.approx(spread, rel=1e-3)


def test_relabel():
    model = fit(S, 3)
    assert accuracy(model.labels_, model.relabel(5)) > 0.9
    np.testing.assert_array_equal(model.relabel(5), model.relabel(5))


def test_larger_graph_dense_is_sparse():
    G, y = block_graph(np.random.default_rng(0), [200, 150, 100], inside=0.2)
    a, b = fit(G, 3), fit(G.toarray(), 3)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert accuracy(y, a.labels_) == 1


def test_plain_eigenvectors():
    model = fit(S, 3, laplacian="none")
    np.testing.assert_allclose(
        model.eigenvalues_, np.linalg.eigvalsh(S.toarray())[::-1][:3], atol=1e-9
    )


def test_unknown_laplacian():
    with pytest.raises(
        ValueError, match=r"Unknown laplacian 'symm'\. Did you mean 'sym'"
    ):
        fit(S, 3, laplacian="symm")


# -- graphs in pieces -------------------------------------------------------------


def test_isolated_vertices_join_the_largest():
    S = sparse.block_diag([np.zeros((2, 2)), cliques(5, 8)], format="csr")
    with pytest.warns(UserWarning, match="4 connected components, more than n_clu"):
        model = fit(S, 2)
    np.testing.assert_array_equal(model.labels_, [0] * 2 + [1] * 5 + [0] * 8)
    np.testing.assert_array_equal(model.embedding_[:2], 0)


def test_more_components_than_clusters():
    with pytest.warns(UserWarning, match="3 connected components, more than n_clu"):
        model = fit(cliques(4, 6, 9), 2)
    np.testing.assert_array_equal(model.labels_, [0] * 4 + [1] * 6 + [0] * 9)


def test_fewer_components_than_clusters():
    model = fit(cliques(4, 6), 3)
    assert len(set(model.labels_)) == 3
    assert not set(model.labels_[:4]) & set(model.labels_[4:])


@pytest.mark.parametrize("n", [6, 450])
def test_no_edges_at_all(n):
    with pytest.warns(UserWarning, match=f"{n} connected components"):
        model = fit(np.zeros((n, n)), 3)
    np.testing.assert_array_equal(np.bincount(model.labels_), [n - 2, 1, 1])


def test_every_sample_its_own_cluster():
    model = fit(cliques(7), 7)
    assert sorted(model.labels_) == list(range(7))
    assert model.objective_ == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_types(dtype):
    G = cliques(5, 6).astype(dtype)
    np.testing.assert_array_equal(fit(G, 2).labels_, [1] * 5 + [0] * 6)
