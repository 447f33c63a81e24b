"""What speaks for a partition: oracles, and what must not change the answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import multivariate_t
from sklearn.metrics import mutual_info_score

from lordclust.choose.evidence import (
    KAPPA,
    N_COMPONENTS,
    Evidence,
    gaussian_evidence,
    neighbour_information,
    principal_components,
    whitened,
)


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
    ours = gaussian_evidence(Z, np.zeros(9, int), 1, np.ones(9))[-1]
    assert ours - constant == pytest.approx(chain_of_predictions(Z), rel=1e-9)


def test_first_columns_are_scored_as_if_alone(rng):
    Z, labels = blobs(rng, d=5)
    q = np.ones(60)
    every = gaussian_evidence(Z, labels, 3, q)
    for d in range(1, 6):
        alone = gaussian_evidence(Z[:, :d], labels, 3, q)[-1]
        assert every[d - 1] == pytest.approx(alone)


def test_empty_clusters_add_nothing(rng):
    Z, labels = blobs(rng)
    q = np.ones(60)
    few, many = (gaussian_evidence(Z, labels, k, q) for k in (3, 7))
    np.testing.assert_array_equal(few, many)


@given(st.integers(0, 2**32 - 1))
def test_weights_count_samples(seed):
    rng = np.random.default_rng(seed)
    Z, labels = blobs(rng, 20, 2, 2)
    times = rng.integers(0, 4, 20)
    times[0] = 1
    twice = np.repeat(np.arange(20), times)
    weighted = gaussian_evidence(Z, labels, 2, times.astype(float))
    repeated = gaussian_evidence(Z[twice], labels[twice], 2, np.ones(len(twice)))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


# -- the graph ------------------------------------------------------------------


def test_information_of_a_graph_of_single_edges_is_that_of_its_ends(rng):
    left, right = rng.integers(0, 3, (2, 50))
    S = np.zeros((100, 100))
    i = np.arange(50)
    S[i, i + 50] = S[i + 50, i] = 1.0
    labels = np.concatenate([left, right])
    ends = np.concatenate([left, right]), np.concatenate([right, left])
    expected = mutual_info_score(*ends)
    assert neighbour_information(S, labels, 3) == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1))
def test_information_is_between_nothing_and_the_entropy(seed):
    rng = np.random.default_rng(seed)
    S = rng.random((12, 12)) * (rng.random((12, 12)) < 0.4)
    S = S + S.T
    labels = rng.integers(0, 3, 12)
    info = neighbour_information(S, labels, 3)
    joint = np.array([[S[labels == a][:, labels == b].sum() for b in range(3)]
                      for a in range(3)])  # fmt: skip
    p = joint.sum(axis=1) / max(joint.sum(), 1e-300)
    entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
    assert 0 <= info <= entropy + 1e-12
    assert neighbour_information(sparse.csr_array(S), labels, 3) == pytest.approx(info)


def test_a_graph_of_k_blocks_tells_all_there_is():
    labels = np.repeat([0, 1, 2], [2, 3, 5])
    S = (labels[:, None] == labels).astype(float)
    p = np.array([4, 9, 25]) / 38
    assert neighbour_information(S, labels, 3) == pytest.approx(-p @ np.log(p))


# -- both -----------------------------------------------------------------------


def test_true_clusters_beat_others(rng):
    X, labels = blobs(rng)
    evidence = Evidence(ring(60)[np.ix_(labels.argsort(), labels.argsort())], 3, X)
    best = evidence.score(labels).total
    for _ in range(20):
        assert evidence.score(rng.permutation(labels)).total < best


def test_names_of_clusters_do_not_matter(rng):
    X, labels = blobs(rng)
    one = Evidence(ring(60), 3, X).score(labels)
    other = Evidence(ring(60), 3, X).score((labels + 1) % 3)
    np.testing.assert_allclose(one, other, rtol=1e-10)


def test_units_of_features_do_not_matter_but_for_their_order(rng):
    """All components together do not see an affine map; leading ones may."""
    X, labels = blobs(rng, d=3)
    A = rng.standard_normal((3, 3))
    q = np.ones(60)
    for Y in (X @ A + 7, X * 1e9, X * 1e-9):
        plain, mapped = (
            gaussian_evidence(whitened(principal_components(M, q), q), labels, 3, q)
            for M in (X, Y)
        )
        assert mapped[-1] == pytest.approx(plain[-1], rel=1e-6)


@pytest.mark.parametrize("spread", [1e150, 1e-150, 1.0])
def test_scores_are_finite_at_any_scale(spread, rng):
    X, labels = blobs(rng)
    score = Evidence(ring(60) * spread, 3, X * spread).score(labels)
    assert np.all(np.isfinite(score))


def test_many_features_give_the_same_components_either_way(rng, monkeypatch):
    X = rng.standard_normal((80, 90)) @ np.diag(0.9 ** np.arange(90))
    q = rng.random(80) + 0.5
    dense = principal_components(X, q)
    monkeypatch.setattr("lordclust.choose.evidence.COVARIANCE_UP_TO", 10)
    for form in (np.asarray, sparse.csr_array):
        other = principal_components(form(X), q)
        assert other.shape[1] == N_COMPONENTS
        np.testing.assert_allclose(
            np.abs(other[:, :20]), np.abs(dense[:, :20]), atol=1e-7
        )


def test_whitened_scores_have_unit_covariance(rng):
    q = rng.random(50)
    Z = whitened(rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4)), q)
    np.testing.assert_allclose((q[:, None] * Z).T @ Z / q.sum(), np.eye(4), atol=1e-9)


def test_constant_features_say_nothing():
    labels = np.array([0, 0, 1, 1])
    score = Evidence(ring(4), 2, np.ones((4, 3))).score(labels)
    assert (score.features, score.n_components) == (0.0, 0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_without_features_the_graph_takes_their_place(form):
    S = np.kron(np.eye(2), np.ones((10, 10))) - np.eye(20)
    S[0, 10] = S[10, 0] = 0.5
    evidence = Evidence(form(S), 2)
    halves, mixed = np.repeat([0, 1], 10), np.arange(20) % 2
    assert evidence.score(halves).features > evidence.score(mixed).features


def test_negative_similarities_count_for_nothing(rng):
    X, labels = blobs(rng)
    S = ring(60)
    T = S.copy()
    T[0, 30] = T[30, 0] = -5.0
    for form in (np.asarray, sparse.csr_array):
        a, b = (Evidence(form(M), 3, X).score(labels) for M in (S, T))
        assert a == b
