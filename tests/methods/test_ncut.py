"""NCut: generalised eigenvectors, rounded three ways, judged by the cut itself."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import eigh
from sklearn.cluster import spectral_clustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from lordclust.graph import KNNGraph
from lordclust.methods import NCut
from lordclust.methods.ncut import cut_eigenvectors
from lordclust.metrics import accuracy
from strategies import block_graph, generators, random_graph

EASY, _ = make_blobs(90, centers=3, cluster_std=1.0, random_state=2)
X, _ = make_blobs(120, centers=3, cluster_std=2.5, random_state=1)
S = KNNGraph(12).build(X)
ASSIGN = pytest.mark.parametrize("assign", ["discretize", "kmeans", "cluster_qr"])


def fit(S, k, **params):
    return NCut(k, affinity="precomputed", random_state=0, **params).fit(S)


def cliques(*sizes):
    return sparse.block_diag([np.ones((m, m)) - np.eye(m) for m in sizes], format="csr")


def cut(A, y):
    total = 0.0
    for j in set(y):
        inside = y == j
        total += A[inside][:, ~inside].sum() / A[inside].sum()
    return total


@ASSIGN
def test_four_points_by_hand(assign):
    """Pairs (0, 1) and (2, 3) of similarity 3, and 1 between 1 and 2.

    Cut 1 in the middle, volume 7 on either side: 2/7. The second eigenvalue of
    D^-1 S is 3/4: an odd u = (a, b, -b, -a) has b = 3a/4 in the first row, and
    3a - b = 4 (3/4) b in the second. So the bound is 1/4.
    """
    S = np.array([[0.0, 3, 0, 0], [3, 0, 1, 0], [0, 1, 0, 3], [0, 0, 3, 0]])
    model = fit(S, 2, assign=assign)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])
    assert model.objective_ == pytest.approx(2 / 7)
    np.testing.assert_allclose(model.eigenvalues_, [1, 0.75], atol=1e-14)


@ASSIGN
def test_objective_is_the_cut_and_above_the_bound(assign):
    model = fit(S, 4, assign=assign)
    assert model.objective_ == pytest.approx(cut(S.toarray(), model.labels_), abs=1e-10)
    assert model.objective_ >= 4 - model.eigenvalues_.sum()


@given(generators())
def test_never_below_the_best_of_all(rng):
    A = random_graph(rng, 6, 1.0)
    best = min(cut(A, np.array(y)) for y in product((0, 1), repeat=6) if 0 < sum(y) < 6)
    model = fit(A, 2)
    assert best - 1e-12 <= model.objective_
    assert 2 - model.eigenvalues_.sum() <= best + 1e-12


def test_solves_the_generalised_problem():
    A = S.toarray()
    D = np.diag(A.sum(axis=1))
    expected = eigh(D - A, D, eigvals_only=True)[:4]
    values, U = cut_eigenvectors(S, 4, 0.0)
    np.testing.assert_allclose(1 - values, expected, atol=1e-12)
    np.testing.assert_allclose((D - A) @ U, D @ U * (1 - values), atol=1e-10)


@pytest.mark.parametrize("dense", [True, False])
def test_offset_is_that_of_the_released_code(dense):
    A = S.toarray()
    D = np.diag(A.sum(axis=1) + 2 * 0.5)
    expected = eigh(A + 0.5 * np.eye(len(A)), D, eigvals_only=True)[::-1][:3]
    values, U = cut_eigenvectors(A if dense else S, 3, 0.5)
    np.testing.assert_allclose(values, expected, atol=1e-12)
    np.testing.assert_allclose(A @ U + 0.5 * U, D @ U * values, atol=1e-10)


@ASSIGN
@pytest.mark.parametrize("scale", [1e-12, 0.3, 1e12])
def test_scale_does_not_matter_without_offset(assign, scale):
    a, b = fit(S, 3, assign=assign), fit(S * scale, 3, assign=assign)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.objective_ == pytest.approx(b.objective_)


def test_scale_matters_with_offset():
    a, b = fit(S, 3, offset=0.5), fit(S * 100, 3, offset=0.5)
    assert not np.allclose(a.eigenvalues_, b.eigenvalues_, atol=1e-3)
    assert a.objective_ == pytest.approx(cut(S.toarray(), a.labels_))


def test_offset_keeps_a_loose_pair_from_taking_a_cluster():
    """Two vertices tied by 1e-3 to each other and by 1e-6 to the rest."""
    G, y = block_graph(np.random.default_rng(0), [30, 30], sparse=False)
    A = np.zeros((62, 62))
    A[:60, :60] = G
    A[60, 61] = A[61, 60] = 1e-3
    A[0, 60] = A[60, 0] = 1e-6
    assert np.bincount(fit(A, 2).labels_).min() == 2
    held = fit(A, 2, offset=0.5).labels_
    assert accuracy(y, held[:60]) == 1


@ASSIGN
def test_agrees_with_scikit_learn(assign):
    G = sparse.csr_matrix(KNNGraph(30).build(EASY))
    theirs = spectral_clustering(G, n_clusters=3, assign_labels=assign, random_state=0)
    ours = fit(G, 3, assign=assign).labels_
    assert adjusted_rand_score(theirs, ours) == 1
    assert np.bincount(ours).min() > 20


@pytest.mark.parametrize("assign", ["discretize", "kmeans"])
def test_starts(assign):
    model = fit(S, 5, assign=assign, n_init=7)
    assert model.all_objectives_.shape == (7,)
    assert model.objective_ == model.all_objectives_.min()


def test_qr_has_one_start():
    model = NCut(3, assign="cluster_qr").fit(X)
    assert model.all_objectives_.shape == (1,)
    again = NCut(3, assign="cluster_qr").fit(X)
    np.testing.assert_array_equal(model.labels_, again.labels_)


def test_embedding_of_the_discretisation_has_unit_rows():
    model = fit(S, 3)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1, rtol=1e-12)
    assert (np.diff(model.history_) <= 1e-10).all()


@ASSIGN
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_larger_graph_dense_is_sparse(assign, offset):
    G, y = block_graph(np.random.default_rng(0), [200, 150, 100], inside=0.2)
    a = fit(G, 3, assign=assign, offset=offset)
    b = fit(G.toarray(), 3, assign=assign, offset=offset)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert accuracy(y, a.labels_) == 1


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"assign": "qr"}, ValueError, "Unknown assign 'qr'"),
        (
            {"offset": -1},
            ValueError,
            "offset must be a finite number of 0 or more, got",
        ),
        ({"offset": np.inf}, ValueError, "offset must be a finite number"),
        ({"offset": "a"}, TypeError, "offset must be a number of 0 or more, got 'a'"),
        ({"n_init": 0}, ValueError, "n_init must be a positive integer"),
    ],
)
def test_bad_parameters(params, error, match):
    with pytest.raises(error, match=match):
        fit(S, 3, **params)


# -- graphs in pieces -------------------------------------------------------------


@ASSIGN
@given(data=st.data())
def test_blocks_are_recovered(assign, data):
    sizes = data.draw(st.lists(st.integers(2, 8), min_size=1, max_size=4))
    rng = data.draw(generators())
    y = np.repeat(np.arange(len(sizes)), sizes)
    A = np.where(y[:, None] == y, 0.1 + rng.random((len(y), len(y))), 0.0)
    model = fit(A + A.T, len(sizes), assign=assign, n_init=5)
    assert accuracy(y, model.labels_) == 1
    assert model.objective_ == pytest.approx(0, abs=1e-12)


@ASSIGN
def test_isolated_vertices_join_the_largest(assign):
    S = sparse.block_diag([np.zeros((2, 2)), cliques(5, 8)], format="csr")
    with pytest.warns(UserWarning, match="4 connected components, more than n_clu"):
        model = fit(S, 2, assign=assign)
    np.testing.assert_array_equal(model.labels_, [0] * 2 + [1] * 5 + [0] * 8)
    assert model.objective_ == pytest.approx(0)


@ASSIGN
@pytest.mark.parametrize("offset", [0.0, 0.5])
@pytest.mark.parametrize("n", [6, 450])
def test_no_edges_at_all(assign, offset, n):
    with pytest.warns(UserWarning, match=f"{n} connected components"):
        model = fit(np.zeros((n, n)), 3, assign=assign, offset=offset)
    assert len(set(model.labels_)) == 3
    assert model.objective_ == 3


@ASSIGN
def test_every_sample_its_own_cluster(assign):
    model = fit(cliques(7), 7, assign=assign)
    assert sorted(model.labels_) == list(range(7))
    assert model.objective_ == pytest.approx(7)


@ASSIGN
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_types(assign, dtype):
    G = cliques(5, 6).astype(dtype)
    np.testing.assert_array_equal(fit(G, 2, assign=assign).labels_, [1] * 5 + [0] * 6)
