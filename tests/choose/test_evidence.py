"""Evidence for a partition: oracles, and what must not change the answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_t
from sklearn.metrics import mutual_info_score

from lordclust.choose.evidence import (
    BALANCE,
    FEATURES,
    KAPPA,
    N_COMPONENTS,
    NOTHING_ALONE,
    Evidence,
    Score,
    gaussian_evidence,
    principal_components,
    renamed,
    whitened,
)
from lordclust.graph import KNNGraph
from lordclust.rounding.linkage import Reach
from lordclust.rounding.surprise import between_clusters, entropy, neighbour_surprise
from strategies import generators, graphs

FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def blobs(rng, n=60, d=3, k=3):
    labels = np.arange(n) % k
    return rng.standard_normal((n, d)) + 4 * rng.standard_normal((k, d))[labels], labels


def ring(n):
    """Return a graph in which each sample has two neighbours."""
    S = np.zeros((n, n))
    i = np.arange(n)
    S[i, (i + 1) % n] = S[(i + 1) % n, i] = 1.0
    return S


def chain_of_predictions(Z):
    """Return log p(Z) one sample after the other, each Student-t given those before."""
    d, total = Z.shape[1], 0.0
    psi, mean, kappa, nu = np.eye(d), np.zeros(d), KAPPA, d + 2
    for z in Z:
        dof = nu - d + 1
        shape = psi * (kappa + 1) / (kappa * dof)
        total += multivariate_t.logpdf(z, mean, shape, df=dof)
        psi = psi + kappa / (kappa + 1) * np.outer(z - mean, z - mean)
        mean, kappa, nu = (kappa * mean + z) / (kappa + 1), kappa + 1, nu + 1
    return total


# -- Gaussians ------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_chain_of_predictions_has_the_same_evidence(d, rng):
    Z = rng.standard_normal((9, d)) * 2 + 1
    constant = 9 * d / 2 * np.log(np.pi)
    ours = gaussian_evidence(Z, np.zeros(9, int), 1, np.ones(9))
    assert ours[-1] - constant == pytest.approx(chain_of_predictions(Z), rel=1e-9)


def test_clusters_are_independent(rng):
    Z, labels = blobs(rng)
    parts = [
        gaussian_evidence(Z[labels == j], np.zeros(20, int), 1, np.ones(20))
        for j in range(3)
    ]
    whole = gaussian_evidence(Z, labels, 3, np.ones(60))
    np.testing.assert_allclose(whole, sum(parts), rtol=1e-12)


def test_the_first_columns_are_scored_as_if_alone(rng):
    Z, labels = blobs(rng, d=4)
    whole = gaussian_evidence(Z, labels, 3, np.ones(60))
    for d in (1, 2, 3):
        first = gaussian_evidence(Z[:, :d], labels, 3, np.ones(60))
        np.testing.assert_allclose(whole[:d], first, rtol=1e-12)


def test_empty_clusters_add_nothing(rng):
    Z, labels = blobs(rng)
    few, many = (gaussian_evidence(Z, labels, k, np.ones(60)) for k in (3, 7))
    np.testing.assert_array_equal(few, many)


def test_without_columns_there_is_no_evidence():
    found = gaussian_evidence(np.zeros((5, 0)), np.zeros(5, int), 1, np.ones(5))
    assert len(found) == 0


# -- the graph ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "wanted"),
    [
        ([1.0], 0.0),
        ([0.5, 0.5], np.log(2)),
        ([0.5, 0.25, 0.25], 1.5 * np.log(2)),
        ([1.0, 0.0, 0.0], 0.0),
        ([[0.25, 0.25], [0.25, 0.25]], np.log(4)),
    ],
)
def test_entropy_by_hand(p, wanted):
    assert entropy(np.array(p)) == pytest.approx(wanted, abs=1e-15)


@FORMS
def test_surprise_of_two_blocks(form):
    """An edge leaves its block with probability b / (a + b)."""
    labels = np.repeat([0, 1], 4)
    S = np.where(labels[:, None] == labels, 3.0, 1.0)
    leaves = 1 / 4
    wanted = -leaves * np.log(leaves) - (1 - leaves) * np.log(1 - leaves)
    assert neighbour_surprise(form(S), labels, 2) == pytest.approx(wanted)


@FORMS
def test_surprise_of_a_cut_ring(form):
    """Two of the six edges of each half leave it, counted at one end."""
    labels = np.repeat([0, 1], 5)
    p = 2 / 10
    wanted = -p * np.log(p) - (1 - p) * np.log(1 - p)
    assert neighbour_surprise(form(ring(10)), labels, 2) == pytest.approx(wanted)


@FORMS
def test_no_surprise_where_blocks_are_apart(form):
    labels = np.repeat([0, 1, 2], [2, 3, 5])
    S = (labels[:, None] == labels).astype(float)
    assert neighbour_surprise(form(S), labels, 3) == pytest.approx(0, abs=1e-12)
    assert neighbour_surprise(form(0 * S), labels, 3) == 0.0


def test_surprise_is_what_information_leaves_of_the_entropy(rng):
    left, right = rng.integers(0, 3, (2, 50))
    S = np.zeros((100, 100))
    i = np.arange(50)
    S[i, i + 50] = S[i + 50, i] = 1.0
    labels = np.concatenate([left, right])
    ends = np.concatenate([left, right]), np.concatenate([right, left])
    known = mutual_info_score(*ends)
    own = entropy(np.bincount(labels, minlength=3) / 100)
    assert neighbour_surprise(S, labels, 3) == pytest.approx(own - known)


@given(graphs(), generators())
def test_similarities_between_clusters(S, rng):
    A = S.toarray() if sparse.issparse(S) else np.asarray(S)
    labels = rng.integers(0, 3, len(A))
    wanted = [[A[labels == a][:, labels == b].sum() for b in range(3)]
              for a in range(3)]  # fmt: skip
    np.testing.assert_allclose(between_clusters(S, labels, 3), wanted, atol=1e-12)


# -- features -------------------------------------------------------------------


def test_many_features_give_the_same_components_either_way(rng, monkeypatch):
    X = rng.standard_normal((80, 90)) @ np.diag(0.9 ** np.arange(90))
    q = rng.random(80) + 0.5
    dense = principal_components(X, q, 20)
    monkeypatch.setattr("lordclust.choose.evidence.COVARIANCE_UP_TO", 10)
    for form in (np.asarray, sparse.csr_array):
        other = principal_components(form(X), q, 20)
        assert other.shape == (80, 20)
        np.testing.assert_allclose(np.abs(other), np.abs(dense), atol=1e-7)


@pytest.mark.parametrize("shape", [(80, 70), (70, 80)])
def test_components_are_at_most_sixty(shape, rng):
    X = rng.standard_normal(shape)
    assert principal_components(X, np.ones(shape[0]), 99).shape[1] == N_COMPONENTS


def test_components_are_those_of_the_covariance(rng):
    X = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 5)) + 3
    Y = principal_components(X, np.ones(40), 5) * abs(X).max()
    wanted = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    np.testing.assert_allclose(Y.T @ Y / 40, np.diag(wanted), atol=1e-9)


def test_whitened_scores_have_unit_covariance(rng):
    q = rng.random(50)
    Z = whitened(rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4)), q)
    np.testing.assert_allclose((q[:, None] * Z).T @ Z / q.sum(), np.eye(4), atol=1e-9)
    np.testing.assert_allclose(q @ Z, 0, atol=1e-12)


def test_constant_columns_are_left_out(rng):
    scores = np.column_stack([rng.standard_normal(30), np.full(30, 7.0)])
    assert whitened(scores, np.ones(30)).shape == (30, 1)
    assert whitened(np.ones((4, 2)), np.ones(4)).shape == (4, 0)


def test_units_of_features_do_not_matter(rng):
    X, labels = blobs(rng, d=2)
    S = ring(60)
    plain = Evidence(S, 3, X).score(labels)
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    for Y in (X @ turn + 7, X * 1e9, X * 1e-9, X * [5.0, 1.0]):
        found = Evidence(S, 3, Y).score(labels)
        assert found.features == pytest.approx(plain.features, rel=1e-6)


# -- all together ---------------------------------------------------------------


def test_the_score_by_hand(rng):
    X, labels = blobs(rng)
    q = np.ones(60)
    found = Evidence(ring(60), 3, X).score(labels)
    Z = whitened(principal_components(X, q, 3), q)
    gain = gaussian_evidence(Z, labels, 3, q) - gaussian_evidence(Z, 0 * labels, 1, q)
    assert found.features == pytest.approx(gain.max() / 60)
    assert found.balance == pytest.approx(np.log(3))
    assert found.surprise == pytest.approx(60 * np.log(2))  # either next cluster
    wanted = BALANCE * found.balance + FEATURES * found.features
    wanted -= np.log(found.surprise + NOTHING_ALONE)
    assert found.total == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["surprise", "balance", "features"])
def test_balance_and_features_count_for_a_partition_and_surprise_against(name):
    score = Score(10.0, 1.0, 0.5, 10.0, 10.0)
    more = score._replace(**{name: getattr(score, name) + 1})
    assert (more.total > score.total) == (name != "surprise")


def test_true_clusters_beat_others(rng):
    X, labels = blobs(rng)
    evidence = Evidence(ring(60)[np.ix_(labels.argsort(), labels.argsort())], 3, X)
    best = evidence.score(labels).total
    for _ in range(20):
        assert evidence.score(rng.permutation(labels)).total < best


def test_names_of_clusters_do_not_matter(rng):
    X, labels = blobs(rng)
    labels[:5] = 0
    evidence = Evidence(ring(60), 3, X)
    one = evidence.score(labels)
    for names in ([1, 2, 0], [2, 1, 0]):
        assert evidence.score(np.array(names)[labels]) == one
        fresh = Evidence(ring(60), 3, X).score(np.array(names)[labels])
        assert fresh == one  # to the last bit


def test_names_by_first_appearance():
    found = renamed(np.array([2, 2, 0, 3, 0]), 5)
    np.testing.assert_array_equal(found, [0, 0, 1, 2, 1])


@given(generators())
def test_weights_count_samples(rng):
    X, labels = blobs(rng, 20, 2, 3)
    S = rng.random((20, 20))
    S = S + S.T
    times = rng.integers(0, 4, 20)
    times[:3] = 1
    copies = np.repeat(np.arange(20), times)
    weighted = Evidence(S, 3, X, times.astype(float)).score(labels)
    copied = Evidence(S[np.ix_(copies, copies)], 3, X[copies]).score(labels[copies])
    np.testing.assert_allclose(weighted, copied, rtol=1e-6)


@pytest.mark.parametrize("spread", [1e150, 1e-150, 1.0])
def test_scores_are_finite_at_any_scale(spread, rng):
    X, labels = blobs(rng)
    score = Evidence(ring(60) * spread, 3, X * spread).score(labels)
    assert np.all(np.isfinite(score))


@pytest.mark.parametrize("n", [4, 7, 30])
@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, 1e9])
def test_constant_features_say_nothing(n, value):
    labels = np.arange(n) % 2
    found = Evidence(ring(n), 2, np.full((n, 3), value)).score(labels)
    assert found.features == 0.0


def test_features_count_at_least_half_of_the_balance(rng):
    X = rng.standard_normal((60, 3))
    score = Evidence(ring(60), 3, X).score(rng.integers(0, 3, 60))
    assert score.features == score.balance / 2


@pytest.mark.parametrize("k", [2, 4])
def test_slices_of_one_gaussian_have_more(k):
    """Halves, and quarters across two axes; a half has the variance 1 - 2 / pi."""
    X = np.random.default_rng(0).standard_normal((20_000, 2))
    labels = (X[:, 0] > 0) + 2 * (X[:, 1] > 0) * (k == 4)
    score = Evidence(sparse.eye_array(len(X), format="csr"), k, X).score(labels)
    slices = -np.log(1 - 2 / np.pi) / (2 * np.log(2))
    assert score.features == pytest.approx(slices * score.balance, abs=0.01)


def test_more_components_than_clusters_serve_mixtures_only(rng):
    X, labels = blobs(rng, 600, 6, 3)
    evidence = Evidence(ring(600), 3, X)
    assert evidence.components.shape[1] == 6
    assert len(evidence.gain(labels)) == 6
    score = evidence.score(labels)
    assert score.features == pytest.approx(evidence.gain(labels, 3).max() / 600)


@FORMS
def test_without_features_graph_and_balance_decide(form):
    S = np.kron(np.eye(2), np.ones((10, 10))) - np.eye(20)
    S[0, 10] = S[10, 0] = 0.5
    evidence = Evidence(form(S), 2)
    halves, mixed = np.repeat([0, 1], 10), np.arange(20) % 2
    assert evidence.score(halves).features == 0.0
    assert evidence.score(halves).total > evidence.score(mixed).total


@pytest.mark.parametrize("k", [2, 3, 10])
def test_on_a_graph_alone_balance_is_at_most_one(k, rng):
    labels = np.arange(60) % k
    assert Evidence(ring(60), k).score(labels).balance == pytest.approx(1)
    # A cluster more that may be empty makes no difference.
    assert Evidence(ring(60), k + 1).score(labels).balance == pytest.approx(1)
    with_features = Evidence(ring(60), k, rng.standard_normal((60, 2)))
    assert with_features.score(labels).balance == pytest.approx(np.log(k))


def test_a_gap_that_either_graph_sees_counts(rng):
    """Two lines of samples; those of one are ten times as far apart."""
    dense, sparse_ = np.arange(0, 10, 0.1), np.arange(10.5, 60, 1.0)
    X = np.concatenate([dense, sparse_])[:, None] + 0.01 * rng.random((150, 1))
    graph = KNNGraph()
    S = graph.build(X)
    labels = (X[:, 0] > 10.2).astype(int)
    alone = Evidence(S, 2, X).score(labels)
    both = Evidence(S, 2, X, reach=Reach.of(S, graph.scales_)).score(labels)
    assert both.on_graph == alone.on_graph == alone.surprise
    assert both.surprise < 0.1 * alone.surprise
    assert both.total > alone.total


@FORMS
def test_negative_similarities_count_for_nothing(form, rng):
    X, labels = blobs(rng)
    S = ring(60)
    T = S.copy()
    T[0, 30] = T[30, 0] = -5.0
    a, b = (Evidence(form(M), 3, X).score(labels) for M in (S, T))
    assert a == b


@given(st.integers(1, 4), generators())
def test_one_cluster_is_no_surprise(k, rng):
    X = rng.standard_normal((12, 2))
    found = Evidence(ring(12), k, X).score(np.zeros(12, int))
    assert (found.surprise, found.balance) == (0.0, 0.0)
    assert found.features == pytest.approx(0, abs=1e-12)
