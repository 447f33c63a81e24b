"""Mutual reachability distances, and single linkage with a limit on sizes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from lordclust.graph import KNNGraph
from lordclust.rounding.linkage import CORE, Reach, linkage_labels
from lordclust.rounding.tree import parts_of_tree
from strategies import generators


def reach_of(X, q=None):
    graph = KNNGraph(q)
    return Reach.of(graph.build(X), graph.scales_)


def same_partition(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


def plain_genie(D, k, limit):
    """Merge the nearest clusters; only with a smallest one if sizes are too uneven."""
    clusters = [[i] for i in range(len(D))]
    while len(clusters) > k:
        sizes = np.array([len(c) for c in clusters])
        apart = np.abs(sizes[:, None] - sizes).sum() / 2
        uneven = apart > limit * (len(sizes) - 1) * sizes.sum()
        best, merge = np.inf, (0, 1)
        for a in range(len(clusters)):
            for b in range(a):
                if uneven and min(sizes[a], sizes[b]) > sizes.min():
                    continue
                near = D[np.ix_(clusters[a], clusters[b])].min()
                if near < best:
                    best, merge = near, (a, b)
        a, b = merge
        clusters[b] += clusters.pop(a)
    labels = np.empty(len(D), int)
    for j, members in enumerate(clusters):
        labels[members] = j
    return labels


@given(generators())
def test_distances_are_recovered_from_the_graph(rng):
    X = rng.standard_normal((30, 3))
    found = reach_of(X, 6)
    D = squareform(pdist(X))
    unit = D[found.i[0], found.j[0]] / found.distance[0]
    np.testing.assert_allclose(found.distance * unit, D[found.i, found.j], rtol=1e-6)


@given(generators())
def test_reach_is_the_longest_of_three(rng):
    X = rng.standard_normal((25, 2))
    found = reach_of(X, 24)
    D = squareform(pdist(X)) * (found.distance[0] / pdist(X[[found.i[0], found.j[0]]]))
    core = np.sort(D, axis=1)[:, CORE]
    wanted = np.maximum(D, np.maximum(core[:, None], core))[found.i, found.j]
    np.testing.assert_allclose(found.reach, wanted, rtol=1e-6)
    assert found.unit == pytest.approx(np.median(core), rel=1e-6)


@given(generators(), st.integers(1, 6), st.sampled_from([0.1, 0.3, 0.5, 1.0]))
def test_the_genie_algorithm(rng, k, limit):
    X = rng.standard_normal((25, 2))
    found = reach_of(X, 24)  # all pairs
    D = np.zeros((25, 25))
    # No two edges of the same length, as where both have the same core.
    D[found.i, found.j] = found.reach + 1e-9 * found.distance
    wanted = plain_genie(D + D.T, k, limit)
    assert same_partition(linkage_labels(found.tree, k, limit), wanted)


@given(generators(), st.integers(2, 6))
def test_without_a_limit_it_is_single_linkage(rng, k):
    X = rng.standard_normal((25, 2))
    found = reach_of(X, 24)
    D = np.zeros((25, 25))
    D[found.i, found.j] = found.reach + 1e-9 * found.distance
    wanted = cut_tree(linkage(squareform(D + D.T), "single"), k).ravel()
    assert same_partition(linkage_labels(found.tree, k, 1.0), wanted)


@pytest.mark.parametrize("seed", range(4))
def test_moons_that_touch(seed):
    X, y = make_moons(1500, noise=0.11, random_state=seed)
    assert adjusted_rand_score(y, linkage_labels(reach_of(X).tree, 2, 0.5)) > 0.95


def test_more_components_than_clusters():
    X = np.repeat([0.0, 100.0, 200.0], 5)[:, None] + np.arange(15)[:, None] / 10
    found = reach_of(X, 2)
    assert linkage_labels(found.tree, 2, 0.5) is None
    np.testing.assert_array_equal(
        linkage_labels(found.tree, 3, 0.5), np.repeat([0, 1, 2], 5)
    )


@given(generators())
def test_the_order_of_the_samples_does_not_matter(rng):
    X = rng.standard_normal((40, 2))
    order = rng.permutation(40)
    one = linkage_labels(reach_of(X).tree, 3, 0.5)
    other = linkage_labels(reach_of(X[order]).tree, 3, 0.5)
    assert (one is None) == (other is None)
    assert one is None or same_partition(one[order], other)


def test_similarity_has_one_scale():
    """Twice as far apart, in a sparse region as in a dense one."""
    X = np.concatenate([np.arange(0, 1, 0.01), np.arange(5, 25, 0.2)])[:, None]
    S = reach_of(X).similarity().toarray()
    np.testing.assert_array_equal(S, S.T)
    assert S[:100, :100].max() > 0.3
    assert 0 < S[100:, 100:].max() < S[:100, :100].max()


def test_copies_of_a_sample():
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    found = reach_of(X)
    assert np.all(np.isfinite(found.similarity().data))
    assert linkage_labels(found.tree, 2, 0.5) is not None


def test_gaps_may_leave_small_clusters_but_no_outliers():
    X = np.array([*range(12), *range(60, 67), 900], dtype=float)[:, None]
    labels = parts_of_tree(reach_of(X, 19).tree, 2, 3)
    np.testing.assert_array_equal(labels, [0] * 12 + [1] * 8)
    labels = parts_of_tree(reach_of(X, 19).tree, 2, 1)
    np.testing.assert_array_equal(labels, [0] * 19 + [1])
