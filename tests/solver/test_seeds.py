"""What a graph suggests: cuts, trees, centres, and starts from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs

from lordclust.graph import KNNGraph
from lordclust.rounding.spectral import ncut_labels, ncut_value, normalized_eigenvectors
from lordclust.solver.omega import make_omega
from lordclust.solver.seeds import Seeds, completed, without_negative
from lordclust.solver.start import check_start_labels
from oracles import off_omega
from strategies import block_graph, generators, mus

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
CENTRES = [[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]]
X, Y = make_blobs([40, 25, 15], centers=CENTRES, random_state=0)
S = KNNGraph().build(X)


def omega_of(n, shares, **settings):
    """Return the set of n samples with these shares."""
    return make_omega(n, len(shares), shares, None, None, **settings)[0]


def same_partition(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


def two_cliques(n=5, between=0.1):
    block = np.repeat([0, 1], n)
    A = np.where(block[:, None] == block, 1.0, between)
    np.fill_diagonal(A, 0)
    return A, block


# -- labels -----------------------------------------------------------------------


def test_clear_clusters_are_found_by_all():
    seeds = Seeds(S, 3, X)
    for name in ("cut", "centres", "tree", "uneven_tree"):
        assert same_partition(getattr(seeds, name), Y), name


@FORMS
def test_two_cliques(form):
    A, block = two_cliques()
    seeds = Seeds(form(A), 2)
    assert same_partition(seeds.cut, block)
    assert seeds.centres is None  # without features
    np.testing.assert_array_equal(seeds.pieces, 0)


def test_small_clusters_need_the_uneven_tree():
    data, y = make_blobs([90, 10], centers=[[0, 0], [20, 0]], random_state=0)
    seeds = Seeds(KNNGraph(30).build(data), 2)
    assert same_partition(seeds.uneven_tree, y)
    assert seeds.tree is None or np.bincount(seeds.tree).min() >= 25


def test_pieces_are_components_and_samples_without_edges_are_none():
    A = sparse.block_diag([np.ones((3, 3)), np.zeros((1, 1)), np.ones((2, 2))])
    np.testing.assert_array_equal(
        Seeds(sparse.csr_array(A), 2).pieces, [0, 0, 0, -1, 2, 2]
    )


@given(generators())
def test_eigenvectors_do_not_depend_on_the_order_of_the_samples(rng):
    A, _ = block_graph(rng, [12, 9, 8], inside=0.7, between=0.1)
    order = rng.permutation(29)
    one, other = Seeds(A, 3).eigen, Seeds(A[order][:, order], 3).eigen
    np.testing.assert_allclose(other.values, one.values, atol=1e-10)
    if np.diff(one.values).max() < -1e-6:
        np.testing.assert_allclose(other.vectors, one.vectors[order], atol=1e-6)


@given(generators())
def test_the_cut_does_not_depend_on_the_order_of_the_samples(rng):
    A, _ = block_graph(rng, [14, 13, 13], inside=0.9, between=0.05)
    order = rng.permutation(40)
    one, other = Seeds(A, 3).cut, Seeds(A[order][:, order], 3).cut
    assert same_partition(one[order], other)


@given(generators(), st.integers(2, 4))
def test_the_cut_is_at_most_that_of_the_blocks(rng, k):
    A, block = block_graph(rng, [14] * k, inside=0.9, between=0.02)
    found = ncut_labels(A, normalized_eigenvectors(A, k), k)
    assert len(np.unique(found)) == k
    assert ncut_value(A, found, k) <= ncut_value(A, block, k) + 1e-9


def test_everything_is_computed_once():
    seeds = Seeds(S, 3, X)
    for name in ("eigen", "pieces", "cut", "tree", "uneven_tree", "centres"):
        assert getattr(seeds, name) is getattr(seeds, name)


# -- starts -----------------------------------------------------------------------


@given(mus(3), generators(), st.booleans())
def test_starts_are_feasible(mu, rng, weighted):
    w = rng.random(80) + 0.1 if weighted else np.ones(80)
    omega, _ = make_omega(80, 3, mu**2, w, None)
    seeds, p = Seeds(S, 3), w / w.sum()
    for V in (seeds.soft_start(seeds.cut, omega), seeds.mixed_start(omega, 0)):
        assert V.min() >= 0
        assert off_omega(omega.weighted(V), omega.mu, p) < 1e-8


def test_a_soft_start_has_the_labels():
    seeds = Seeds(S, 3)
    omega = omega_of(80, np.bincount(seeds.cut) / 80)
    V = seeds.soft_start(seeds.cut, omega)
    assert same_partition((V * omega.mu).argmax(axis=1), Y)
    assert V.min() > 0  # every cluster can still be reached


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_the_larger_cluster_gets_the_larger_share(order):
    seeds = Seeds(S, 3)
    shares = np.array([40, 25, 15])[order] / 80
    omega = omega_of(80, shares)
    found = (seeds.soft_start(seeds.cut, omega) * omega.mu).argmax(axis=1)
    np.testing.assert_allclose(np.bincount(found) / 80, shares)


def test_known_samples_name_the_clusters():
    known = np.full(80, -1)
    firsts = [np.flatnonzero(j == Y)[0] for j in range(3)]
    known[firsts] = 2, 0, 1
    omega, _ = make_omega(80, 3, None, None, known)
    seeds = Seeds(S, 3)
    found = (seeds.soft_start(seeds.cut, omega) * omega.mu).argmax(axis=1)
    np.testing.assert_array_equal(found[firsts], [2, 0, 1])


def test_mixtures_depend_on_the_draw_alone():
    seeds, omega = Seeds(S, 3), omega_of(80, [0.5, 0.3, 0.2])
    V = seeds.mixed_start(omega, 1)
    np.testing.assert_array_equal(Seeds(S, 3).mixed_start(omega, 1), V)
    assert np.abs(seeds.mixed_start(omega, 2) - V).max() > 1e-3


@given(generators())
def test_mixtures_follow_the_samples(rng):
    data = rng.standard_normal((40, 2)) * [3, 1]
    A, order = KNNGraph(8).build(data), rng.permutation(40)
    one, other = Seeds(A, 3), Seeds(A[order][:, order], 3)
    omega = omega_of(40, [0.5, 0.3, 0.2])
    if np.diff(one.eigen.values).max() > -1e-4:
        return  # a multiple eigenvalue has no eigenvectors of its own
    np.testing.assert_allclose(
        other.mixed_start(omega, 0), one.mixed_start(omega, 0)[order], atol=1e-6
    )


# -- given labels -----------------------------------------------------------------


def chain(n):
    return sparse.diags_array(
        [np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], format="csr"
    )


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ([0, -1, -1, 1, 1, 1], [0, 0, 1, 1, 1, 1]),
        ([0, -1, -1, -1, -1, 1], [0, 0, 0, 1, 1, 1]),
        ([-1, -1, -1, -1, -1, 0], [0] * 6),
        ([1, 0, 1, 0, 1, 0], [1, 0, 1, 0, 1, 0]),
    ],
)
def test_labels_spread_along_the_edges(labels, wanted):
    labels = np.array(labels)
    before = labels.copy()
    np.testing.assert_array_equal(completed(labels, Seeds(chain(6), 2)), wanted)
    np.testing.assert_array_equal(labels, before)


def test_the_most_similar_neighbours_decide():
    A = np.zeros((4, 4))
    A[0, 1:] = A[1:, 0] = 0.5, 0.3, 0.3
    found = completed(np.array([-1, 0, 1, 1]), Seeds(A, 2))
    np.testing.assert_array_equal(found, [1, 0, 1, 1])


def test_samples_out_of_reach_join_the_largest_cluster():
    A = sparse.block_diag([np.ones((5, 5)), np.ones((2, 2))])
    labels = np.array([0, 1, 1, -1, 0, -1, -1])
    found = completed(labels, Seeds(sparse.csr_array(A), 2))
    np.testing.assert_array_equal(found[5:], np.bincount(found[:5]).argmax())


@given(generators())
def test_known_labels_are_kept(rng):
    A, _ = block_graph(rng, [10, 10], inside=0.5, between=0.1)
    labels = rng.integers(-1, 2, 20)
    labels[:2] = 0, 1
    found = completed(labels, Seeds(A, 2))
    assert found.min() >= 0
    np.testing.assert_array_equal(found[labels >= 0], labels[labels >= 0])


def test_checked_labels():
    y = np.array([1, -1, 0, 0], dtype=np.int8)
    found = check_start_labels(y, 4, 2)
    np.testing.assert_array_equal(found, y)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(check_start_labels([0, 1], 2, 2), [0, 1])


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        ([0, 1, 0], "start must hold 4 labels from 0 to 1, or -1 if unknown"),
        ([[0, 1, 0, 1]], r"got int64 of shape \(1, 4\)"),
        ([0.0, 1.0, 0.0, 1.0], "got float64"),
        (["a", "b", "a", "b"], "start must hold 4 labels"),
        ([0, 1, 2, 0], "start must hold 4 labels"),
        ([0, 1, -2, 0], "start must hold 4 labels"),
        ([0, 0, -1, 0], "start has no sample with label 1, got 2 clusters"),
    ],
)
def test_bad_labels(labels, match):
    with pytest.raises(ValueError, match=match):
        check_start_labels(np.array(labels), 4, 2)


@FORMS
def test_negative_entries_count_as_zero(form):
    A = np.array([[0.0, 1.0, -2.0], [1.0, 0.0, 0.5], [-2.0, 0.5, 0.0]])
    found = without_negative(form(A))
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(found, np.maximum(A, 0))
    clean = form(np.abs(A))
    kept = without_negative(clean)
    assert kept is clean or not sparse.issparse(clean)
