"""Parts of a spanning tree: single linkage, with parts of some size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import cut_tree, linkage

from lordclust.graph import KNNGraph
from lordclust.rounding.tree import parts_of_tree, similarity_tree
from strategies import block_graph, generators


def chain(*similarities):
    """Return the graph of a chain of samples."""
    return sparse.diags_array(
        [similarities, similarities], offsets=[-1, 1], format="csr"
    )


def line(*points):
    return KNNGraph(2).build(np.array(points, dtype=float)[:, None])


def tree_labels(S, k, least=0.5):
    """Cut the tree into parts of at least a fraction of an equal share."""
    return parts_of_tree(similarity_tree(S), k, least * S.shape[0] / k)


def same_partition(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


def test_the_longest_edge_is_cut():
    found = tree_labels(chain(0.9, 0.8, 0.1, 0.9, 0.7), 2)
    np.testing.assert_array_equal(found, [0, 0, 0, 1, 1, 1])


def test_an_edge_near_the_end_is_not():
    S = chain(0.1, 0.9, 0.2, 0.9, 0.9)  # parts of 1 and 5, or of 3 and 3
    np.testing.assert_array_equal(tree_labels(S, 2), [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(tree_labels(S, 2, least=0.1), [0, 1, 1, 1, 1, 1])


def test_a_part_is_not_cut_too_small_later():
    """After the first cut, the third part of the middle would be too small."""
    S = chain(0.9, 0.9, 0.1, 0.9, 0.2, 0.9, 0.3, 0.9, 0.9)
    found = tree_labels(S, 3, least=0.9)
    np.testing.assert_array_equal(found, [0, 0, 0, 1, 1, 1, 1, 2, 2, 2])


def test_parts_that_cannot_have_their_size():
    star = np.zeros((6, 6))
    star[0, 1:] = star[1:, 0] = 0.5
    assert tree_labels(star, 2) is None
    assert tree_labels(star, 2, least=0.1) is not None


def test_each_component_has_a_tree():
    S = sparse.block_diag([chain(0.5, 0.5), chain(0.9, 0.1, 0.9)], format="csr")
    np.testing.assert_array_equal(tree_labels(S, 2), [0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(tree_labels(S, 3), [0, 0, 0, 1, 1, 2, 2])
    assert tree_labels(S, 1) is None


def test_as_many_parts_as_samples():
    S = chain(0.5, 0.4, 0.3)
    np.testing.assert_array_equal(tree_labels(S, 4), [0, 1, 2, 3])
    np.testing.assert_array_equal(tree_labels(S, 1), [0, 0, 0, 0])


@given(generators(), st.integers(2, 6))
def test_without_a_least_size_it_is_single_linkage(rng, k):
    n = 15
    condensed = rng.permutation(n * (n - 1) // 2) + 1.0
    S = np.zeros((n, n))
    S[np.triu_indices(n, 1)] = np.exp(-condensed / 50)
    wanted = cut_tree(linkage(condensed, "single"), k).ravel()
    assert same_partition(tree_labels(S + S.T, k, least=0.0), wanted)


@given(generators(), st.integers(1, 5), st.sampled_from([0.1, 0.5, 0.9]))
def test_parts_are_large_enough_and_connected(rng, k, least):
    S, _ = block_graph(rng, [15, 10, 10], inside=0.6, between=0.05)
    found = tree_labels(S, k, least=least)
    if found is None:
        return
    pieces, _ = sparse.csgraph.connected_components(S)
    sizes = np.bincount(found)
    assert len(sizes) == k
    assert pieces > 1 or sizes.min() >= least * 35 / k
    for j in range(k):
        own = np.flatnonzero(found == j)
        assert sparse.csgraph.connected_components(S[own][:, own])[0] == 1


@given(generators())
def test_the_order_of_the_samples_does_not_matter(rng):
    S = KNNGraph(6).build(rng.standard_normal((40, 2)))
    order = rng.permutation(40)
    one, other = tree_labels(S, 3), tree_labels(S[order][:, order], 3)
    assert (one is None) == (other is None)
    assert one is None or same_partition(one[order], other)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_units_and_forms_do_not_matter(scale, form):
    S = line(0, 1, 2, 3, 9, 10, 11, 12).toarray()
    found = tree_labels(form(S * scale), 2)
    np.testing.assert_array_equal(found, [0, 0, 0, 0, 1, 1, 1, 1])


def test_the_graph_is_left_alone():
    S = line(0, 1, 2, 7, 8, 9)
    before = S.copy()
    tree_labels(S, 2)
    assert (before != S).nnz == 0
    assert S.dtype == before.dtype


def test_a_stored_zero_is_no_edge():
    S = sparse.csr_array(chain(0.9, 0.9, 0.0, 0.9))
    np.testing.assert_array_equal(tree_labels(S, 2), [0, 0, 0, 1, 1])
