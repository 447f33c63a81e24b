import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lordclust.graph import AFFINITIES, KNNGraph, linear_kernel, make_affinity
from lordclust.graph.affinity import are_distances

X = np.random.default_rng(0).normal(size=(30, 3))


def test_names():
    assert list(AFFINITIES) == ["knn", "self_tuning", "precomputed"]


def test_knn_by_name_and_by_object():
    S = KNNGraph().build(X).toarray()
    np.testing.assert_array_equal(make_affinity("knn", X).toarray(), S)
    other = make_affinity(KNNGraph(3), X)
    np.testing.assert_array_equal(other.toarray(), KNNGraph(3).build(X).toarray())


def test_precomputed_and_callable():
    S = X @ X.T
    S = (S + S.T) / 2
    assert make_affinity("precomputed", S) is S
    np.testing.assert_array_equal(make_affinity(linear_kernel, X), linear_kernel(X))
    assert isinstance(
        make_affinity(lambda X: sparse.eye(len(X), format="coo"), X), sparse.csr_array
    )


def test_the_outcome_is_checked():
    with pytest.raises(ValueError, match="S must be a square matrix"):
        make_affinity("precomputed", X)
    with pytest.raises(ValueError, match="S must be symmetric"):
        make_affinity(lambda X: np.triu(np.ones((3, 3))), X)
    with pytest.raises(ValueError, match="nonnegative for LoRD"):
        make_affinity(linear_kernel, X, nonnegative="LoRD")


def test_unknown_name():
    text = r"Unknown affinity 'kn'\. Did you mean 'knn'\? Known: knn, self_tuning, pre"
    with pytest.raises(ValueError, match=text):
        make_affinity("kn", X)


@pytest.mark.parametrize("affinity", [None, 3, KNNGraph])
def test_not_an_affinity(affinity):
    with pytest.raises(TypeError, match="affinity must be one of knn, self_tuning"):
        make_affinity(affinity, X)


@given(st.integers(10, 70), st.integers(0, 10**6))
def test_distances_are_told_from_similarities(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    assert are_distances(D)
    assert are_distances(D**2)
    kernel = np.exp(-((3 * D / D.max()) ** 2))
    for similar in (kernel, kernel - np.eye(n), np.ones((n, n)) - np.eye(n)):
        assert not are_distances(similar)
    random = np.abs(np.random.default_rng(seed).normal(size=(n, n)))
    assert not are_distances((random + random.T) * (1 - np.eye(n)))
    graph = KNNGraph(min(4, n - 1))(X).toarray()
    assert not are_distances(graph > 0)
