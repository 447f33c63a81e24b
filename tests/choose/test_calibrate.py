"""Memberships of given labels: shares are met, and certainty is deserved."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs

from lordclust.choose.calibrate import (
    LONGEST,
    Walk,
    calibrated,
    forgetting_times,
    partition_stability,
    scaled_to_shares,
    solve,
)
from lordclust.graph import KNNGraph
from tests.strategies import generators, mus


def random_graph(rng, n, density=0.4):
    """Return a graph with negative entries, a diagonal, and a sample without edges."""
    S = np.triu(rng.standard_normal((n, n)) * (rng.random((n, n)) < density))
    S = S + S.T
    S[0] = S[:, 0] = 0.0
    return S


def share_roots(labels, k, weight=None):
    return np.sqrt(np.bincount(labels, weight, minlength=k) / np.sum(
        np.ones(len(labels)) if weight is None else weight))  # fmt: skip


def blob_graph(sizes, std, seed=0, d=2):
    centers = 10 * np.eye(len(sizes), d)
    X, y = make_blobs(sizes, d, centers=centers, cluster_std=std, random_state=seed)
    return KNNGraph().build(X), y


@settings(deadline=None)
@given(st.data())
def test_rows_sum_to_1_and_columns_to_the_shares(data):
    rng = data.draw(generators())
    n, k = data.draw(st.integers(2, 40)), data.draw(st.integers(1, 5))
    S, mu = random_graph(rng, n), data.draw(mus(k))
    weight = rng.random(n) + 0.01 if data.draw(st.booleans()) else np.ones(n)
    labels = rng.integers(0, k, n)
    P = calibrated(S, labels, mu, weight, data.draw(st.floats(0, 1)))
    assert P.shape == (n, k)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(weight @ P / weight.sum(), mu**2, atol=1e-12)


def in_doubt(S, labels, mu, weight, others):
    """Return the memberships of labels that other partitions contradict."""
    stability = partition_stability(S, labels, others, len(mu), weight)
    return calibrated(S, labels, mu, weight, stability)


def test_dense_and_sparse_graphs_are_equivalent():
    rng = np.random.default_rng(0)
    S, labels = random_graph(rng, 50), rng.integers(0, 3, 50)
    mu, others = share_roots(labels, 3), [rng.integers(0, 3, 50)]
    dense = in_doubt(S, labels, mu, None, others)
    thin = in_doubt(sparse.csr_array(S), labels, mu, None, others)
    np.testing.assert_allclose(dense, thin, atol=1e-10)


def test_negative_entries_and_the_diagonal_count_as_0():
    rng = np.random.default_rng(1)
    S, labels = random_graph(rng, 40), rng.integers(0, 2, 40)
    plain = np.maximum(S, 0)
    np.fill_diagonal(plain, 0)
    mu = share_roots(labels, 2)
    given = S.copy()
    np.testing.assert_allclose(calibrated(S, labels, mu), calibrated(plain, labels, mu))
    np.testing.assert_array_equal(S, given)


def test_the_order_of_samples_and_the_names_of_clusters_do_not_matter():
    S, y = blob_graph([60, 40, 50], 4.0)
    rng = np.random.default_rng(2)
    other = rng.integers(0, 3, 150)
    P = in_doubt(S, y, share_roots(y, 3), None, [other])
    order, names = rng.permutation(150), np.array([2, 0, 1])
    moved = in_doubt(
        sparse.csr_array(S[order][:, order]), names[y][order],
        share_roots(names[y], 3), None, [other[order]],
    )  # fmt: skip
    np.testing.assert_allclose(moved[:, names], P[order], atol=1e-9)


def test_weight_2_is_a_repeated_sample():
    S, y = blob_graph([40, 40], 4.0)
    weight = np.ones(80)
    weight[::3] = 2
    twice = np.repeat(np.arange(80), weight.astype(int))
    mu = share_roots(y[twice], 2)
    P = in_doubt(S, y, mu, weight, [1 - y % 2 * (np.arange(80) > 20)])
    many = in_doubt(
        sparse.csr_array(S[twice][:, twice]), y[twice], mu, None,
        [(1 - y % 2 * (np.arange(80) > 20))[twice]],
    )  # fmt: skip
    # The copies have no edge to each other, but n is larger: 1/n is a floor of the cut.
    np.testing.assert_allclose(many, P[twice], atol=2e-2)


def test_weight_0_has_no_influence_but_gets_a_membership():
    S, y = blob_graph([40, 40], 4.0)
    weight = np.ones(80)
    weight[5] = 0
    rest = np.delete(np.arange(80), 5)
    mu = share_roots(y, 2, weight)
    P = calibrated(S, y, mu, weight)
    alone = calibrated(sparse.csr_array(S[rest][:, rest]), y[rest], mu)
    np.testing.assert_allclose(P[rest], alone, atol=1e-6)
    assert P[5].sum() == pytest.approx(1)
    assert P[5, y[5]] > 0.5


@pytest.mark.parametrize("d", [2, 10, 30])
def test_clusters_far_apart_are_certain(d):
    sizes = [300, 100, 50] if d > 2 else [300, 100]
    S, y = blob_graph(sizes, 0.5, d=d)
    P = calibrated(S, y, share_roots(y, len(sizes)))
    assert P[np.arange(len(y)), y].mean() > 0.99


def test_an_arbitrary_cut_is_not_certain():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 2))
    angle = np.arctan2(*X.T)
    first, second = (
        ((angle + turn) % (2 * np.pi) // (2 * np.pi / 3)).astype(int) for turn in (0, 1)
    )
    S, mu = KNNGraph().build(X), share_roots(first, 3)
    alone = calibrated(S, first, mu).max(axis=1).mean()
    assert alone < 0.95
    # A second partition that is as good takes away the rest.
    assert in_doubt(S, first, mu, None, [second]).max(axis=1).mean() < 0.8


def test_certainty_falls_as_clusters_overlap():
    certain = []
    for std in (1.0, 2.0, 3.0, 4.0, 6.0):
        S, y = blob_graph([200, 200, 200], std, d=8)
        certain.append(calibrated(S, y, share_roots(y, 3)).max(axis=1).mean())
    assert np.all(np.diff(certain) < 0.005)
    assert certain[0] > 0.99
    assert certain[-1] < 0.8


def test_two_gaussians_are_as_certain_as_their_posterior():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 10)), np.arange(1000) % 2
    X[:, 0] += 3 * y
    posterior = 1 / (1 + np.exp(3 * X[:, 0] - 4.5))
    labels = (posterior < 0.5).astype(int)
    P = calibrated(KNNGraph().build(X), labels, share_roots(labels, 2))
    exact = np.maximum(posterior, 1 - posterior)
    assert abs(P.max(axis=1).mean() - exact.mean()) < 0.03


def test_a_sample_without_neighbours_gets_what_the_shares_leave():
    S, y = blob_graph([30, 60], 0.5)
    S = S.toarray()
    S[7] = S[:, 7] = 0
    P = calibrated(S, y, share_roots(y, 2))
    # All others are certain, so that its own cluster lacks one sample.
    assert P[7, y[7]] > 0.99


@pytest.mark.parametrize("S", [np.zeros((4, 4)), sparse.csr_array((4, 4))])
def test_a_graph_without_edges_has_the_shares(S):
    P = calibrated(S, np.array([0, 0, 0, 1]), np.sqrt([0.75, 0.25]))
    np.testing.assert_allclose(P, np.tile([0.75, 0.25], (4, 1)), atol=1e-9)


def test_a_cluster_of_share_0_has_no_members():
    S, y = blob_graph([30, 60], 1.0)
    P = calibrated(S, 2 * y, share_roots(2 * y, 3))
    assert np.all(P[:, 1] == 0)
    np.testing.assert_allclose(
        P[:, [0, 2]], calibrated(S, y, share_roots(y, 2)), atol=1e-9
    )


def test_shares_that_are_not_those_of_the_labels_are_met():
    S, y = blob_graph([30, 60], 0.5)
    P = calibrated(S, y, np.sqrt([0.5, 0.5]))
    np.testing.assert_allclose(P.mean(axis=0), 0.5, atol=1e-12)


def test_known_samples_are_certain():
    S, y = blob_graph([60, 60], 5.0)
    known = np.full(120, -1)
    known[:10], known[70:75] = y[:10], y[70:75]
    P = calibrated(S, y, share_roots(y, 2), known=known)
    np.testing.assert_allclose(P[known >= 0], np.eye(2)[known[known >= 0]])
    np.testing.assert_allclose(P.mean(axis=0), share_roots(y, 2) ** 2, atol=1e-12)


# -- the parts ------------------------------------------------------------------


def test_the_solver_agrees_with_a_dense_one():
    rng = np.random.default_rng(3)
    walk = Walk.of(np.abs(random_graph(rng, 30)), rng.random(30) + 0.1)
    rate, B = 1 / rng.uniform(1, LONGEST, 30), rng.random((30, 3))
    L = np.eye(30) - walk.A / walk.degree[:, None]
    exact = np.linalg.solve(L + np.diag(rate), B)
    np.testing.assert_allclose(solve(walk, rate, B.copy(), B.copy()), exact, rtol=0.05)
    np.testing.assert_allclose(solve(walk, rate, B, exact.copy()), exact)


def test_a_chain_forgets_slowly_and_a_clique_at_once():
    n = 20
    S = np.zeros((2 * n, 2 * n))
    i = np.arange(n - 1)
    S[i, i + 1] = S[i + 1, i] = 1
    S[n:, n:] = 1 - np.eye(n)
    S[0, n] = S[n, 0] = 1  # the only way out
    chain, clique = forgetting_times(
        Walk.of(S, np.ones(2 * n)), np.arange(2 * n) // n, 2
    )
    assert chain > 20
    assert clique < 1.5


def test_without_exits_there_is_nothing_to_forget():
    S = np.kron(np.eye(2), np.ones((5, 5)))
    times = forgetting_times(Walk.of(S, np.ones(10)), np.arange(10) // 5, 2)
    np.testing.assert_array_equal(times, 1)


def test_the_same_partition_under_other_names_adds_no_doubt():
    S, y = blob_graph([30, 60], 3.0)
    assert partition_stability(S, y, [1 - y, y], 2) == 1
    assert partition_stability(S, y, [], 2) == 1


def test_a_partition_that_cuts_more_counts_less():
    S, y = blob_graph([50, 50], 1.0)
    random = np.random.default_rng(0).permutation(y)
    right = partition_stability(S, y, [random], 2)
    wrong = partition_stability(S, random, [y], 2)
    assert right > 0.98
    assert wrong < 0.65


@settings(deadline=None)
@given(st.data())
def test_scaling_keeps_ratios_within_rows(data):
    rng = data.draw(generators())
    n, k = data.draw(st.integers(2, 30)), data.draw(st.integers(2, 5))
    mu, p = data.draw(mus(k)), rng.random(n) + 0.1
    P = rng.random((n, k)) + 1e-3
    Q = scaled_to_shares(P.copy(), mu**2, p)
    np.testing.assert_allclose(p @ Q / p.sum(), mu**2, atol=1e-12)
    ratio = (Q / P) / (Q / P)[:, :1]  # the same for all rows
    np.testing.assert_allclose(ratio, np.tile(ratio[0], (n, 1)), rtol=1e-7)


def test_scaling_in_place_needs_little_memory():
    n, k = 60_000, 100
    P = np.random.default_rng(0).random((n, k)) + 0.1
    mu = np.sqrt(np.arange(k, 2 * k) / np.arange(k, 2 * k).sum())
    tracemalloc.start()
    assert scaled_to_shares(P, mu**2, np.ones(n)) is P
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(P.mean(axis=0), mu**2, rtol=1e-12)
    assert peak < 8 * n * k
