"""SR: the orthogonal turn of the eigenvectors nearest to one-hot labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from lordclust.graph import KNNGraph
from lordclust.methods import SR, NCut
from lordclust.metrics import accuracy
from lordclust.rounding.labels import rotate
from strategies import block_graph, generators

X, TRUTH = make_blobs(120, centers=3, cluster_std=2.5, random_state=1)
S = KNNGraph(12).build(X)
VARIANTS = pytest.mark.parametrize(
    ("laplacian", "row_normalize"),
    [("sym", True), ("sym", False), ("rw", True), ("rw", False), ("none", True)],
)


def fit(S, k, **params):
    return SR(k, affinity="precomputed", random_state=0, **params).fit(S)


def cliques(*sizes):
    return sparse.block_diag([np.ones((m, m)) - np.eye(m) for m in sizes], format="csr")


def test_four_points_by_hand():
    """Pairs (0, 1) and (2, 3) of similarity 3, and 1 between 1 and 2.

    D = diag(3, 4, 4, 3) and the eigenvectors are proportional to the even
    (1, sqrt(4/3), sqrt(4/3), 1), of length sqrt(14/3), and the odd (1, sqrt(3)/2,
    -sqrt(3)/2, -1), of length sqrt(7/2). So the rows of F lie at angles t, u, -u, -t
    with tan t = sqrt(4/3) and tan u = sqrt(3)/2. The product of these is 1: t + u is
    a right angle. The best R has its axes at +-45 degrees, and each row is
    (t - u) / 2 off, which costs 2 - 2 cos((t - u) / 2).
    """
    S = np.array([[0.0, 3, 0, 0], [3, 0, 1, 0], [0, 1, 0, 3], [0, 0, 3, 0]])
    model = fit(S, 2)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    off = (np.arctan(np.sqrt(4 / 3)) - np.arctan(np.sqrt(3) / 2)) / 2
    assert model.objective_ == pytest.approx(8 * (1 - np.cos(off)))


@VARIANTS
def test_what_a_fit_leaves(laplacian, row_normalize):
    model = fit(S, 3, laplacian=laplacian, row_normalize=row_normalize)
    F, R = model.embedding_, model.rotation_
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-12)
    Y = np.eye(3)[model.labels_]
    assert model.objective_ == pytest.approx(np.sum((F @ R - Y) ** 2))
    assert (np.diff(model.history_) <= 1e-9).all()
    np.testing.assert_array_equal(model.labels_, (F @ R).argmax(axis=1))
    # The largest entry of F R is the nearest column of R.
    far = ((F[:, :, None] - R) ** 2).sum(axis=1)
    np.testing.assert_array_equal(model.labels_, far.argmin(axis=1))


@VARIANTS
def test_eigenvectors(laplacian, row_normalize):
    model = fit(S, 3, laplacian=laplacian, row_normalize=row_normalize)
    A = S.toarray()
    d = A.sum(axis=1)
    P = A if laplacian == "none" else A / np.sqrt(np.outer(d, d))
    values, U = np.linalg.eigh(P)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:3], atol=1e-9)
    U = U[:, -3:]
    if laplacian == "rw":
        U = U / np.sqrt(d / d.mean())[:, None]
    if row_normalize:
        U = U / np.linalg.norm(U, axis=1, keepdims=True)
    np.testing.assert_allclose(
        model.embedding_ @ model.embedding_.T, U @ U.T, atol=1e-8
    )


def test_a_rotated_indicator_is_turned_back():
    y = np.repeat([0, 1, 2], [5, 7, 6])
    G = np.eye(3)[y] / np.sqrt([5, 7, 6])
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    found = rotate(G @ Q, y)
    np.testing.assert_allclose(G @ Q @ found.R, G, atol=1e-12)


def test_no_worse_than_the_discretisation_it_starts_from():
    F = NCut(3, affinity="precomputed", random_state=0).fit(S)
    found = rotate(F.embedding_, F.labels_)
    assert found.objective <= F.history_[-1] + 1e-9


def test_starts():
    model = fit(S, 6, n_init=25)
    assert model.all_objectives_.shape == (25,)
    assert model.objective_ == model.all_objectives_.min()


@pytest.mark.parametrize("scale", [1e-12, 0.3, 1e12])
def test_scale_does_not_matter(scale):
    for laplacian in ("sym", "rw", "none"):
        a = fit(S, 3, laplacian=laplacian)
        b = fit(S * scale, 3, laplacian=laplacian)
        np.testing.assert_array_equal(a.labels_, b.labels_)


def test_larger_graph_dense_is_sparse():
    G, y = block_graph(np.random.default_rng(0), [200, 150, 100], inside=0.2)
    a, b = fit(G, 3), fit(G.toarray(), 3)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert accuracy(y, a.labels_) == 1


def test_too_few_turns():
    with pytest.warns(ConvergenceWarning, match="SR stopped at max_iter=1 before"):
        model = fit(S, 6, max_iter=1)
    assert not model.converged_


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"laplacian": "random"}, ValueError, "Unknown laplacian 'random'"),
        ({"row_normalize": 1}, TypeError, "row_normalize must be True or False, got 1"),
        ({"tol": 0}, ValueError, "tol must be a finite number above 0"),
    ],
)
def test_bad_parameters(params, error, match):
    with pytest.raises(error, match=match):
        fit(S, 3, **params)


# -- graphs in pieces -------------------------------------------------------------


@given(generators(), st.lists(st.integers(2, 8), min_size=1, max_size=3))
def test_blocks_are_recovered(rng, sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    A = np.where(y[:, None] == y, 0.1 + rng.random((len(y), len(y))), 0.0)
    model = fit(A + A.T, len(sizes), n_init=30)
    assert accuracy(y, model.labels_) == 1
    assert model.objective_ == pytest.approx(0, abs=1e-10)


@VARIANTS
def test_isolated_vertices_join_the_largest(laplacian, row_normalize):
    S = sparse.block_diag([np.zeros((2, 2)), cliques(5, 8)], format="csr")
    with pytest.warns(UserWarning, match="4 connected components, more than n_clu"):
        model = fit(S, 2, laplacian=laplacian, row_normalize=row_normalize)
    np.testing.assert_array_equal(model.labels_, [0] * 2 + [1] * 5 + [0] * 8)


@VARIANTS
@pytest.mark.parametrize("n", [6, 450])
def test_no_edges_at_all(laplacian, row_normalize, n):
    with pytest.warns(UserWarning, match=f"{n} connected components"):
        model = fit(
            np.zeros((n, n)), 3, laplacian=laplacian, row_normalize=row_normalize
        )
    np.testing.assert_array_equal(np.bincount(model.labels_), [n - 2, 1, 1])


def test_every_sample_its_own_cluster():
    model = fit(cliques(7), 7)
    assert sorted(model.labels_) == list(range(7))


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_types(dtype):
    G = cliques(5, 6).astype(dtype)
    np.testing.assert_array_equal(fit(G, 2).labels_, [1] * 5 + [0] * 6)
