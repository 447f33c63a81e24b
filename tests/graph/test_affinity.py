import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph

from lordclust import BLoRD, LoRD
from lordclust.graph import (
    AFFINITIES,
    KNNGraph,
    gaussian_kernel,
    linear_kernel,
    make_affinity,
)
from lordclust.graph.affinity import are_distances
from lordclust.methods import SC

X = np.random.default_rng(0).normal(size=(30, 3))


def test_names():
    assert " ".join(AFFINITIES) == (
        "knn nearest_neighbors self_tuning rbf precomputed "
        "precomputed_nearest_neighbors"
    )


def test_names_of_scikit_learn():
    S = KNNGraph().build(X)
    assert (make_affinity("nearest_neighbors", X) != S).nnz == 0
    np.testing.assert_array_equal(make_affinity("rbf", X), gaussian_kernel(X))
    D = kneighbors_graph(X, len(X) - 1, mode="distance")
    near = make_affinity("precomputed_nearest_neighbors", D)
    assert (near != KNNGraph(metric="precomputed").build(D)).nnz == 0


@pytest.mark.parametrize("Model", [BLoRD, LoRD, SC])
def test_the_graph_of_an_estimator(Model):
    points = np.random.default_rng(0).normal(size=(30, 3)) + 1
    model = Model(2, metric="cosine", n_neighbors=5, random_state=0).fit(points)
    same = Model(2, affinity=KNNGraph(5, "cosine"), random_state=0).fit(points)
    assert (model.affinity_matrix_ != same.affinity_matrix_).nnz == 0
    np.testing.assert_array_equal(
        model.predict(points + 0.1), same.predict(points + 0.1)
    )
    D = kneighbors_graph(points, 8, mode="distance")
    one = Model(2, metric="precomputed", n_neighbors=4).fit(D).affinity_matrix_
    name = "precomputed_nearest_neighbors"
    two = Model(2, affinity=name, n_neighbors=4).fit(D).affinity_matrix_
    assert (one != two).nnz == 0
    with pytest.raises(ValueError, match="A model fitted on distances"):
        Model(2, metric="precomputed").fit(D).predict(D)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"affinity": KNNGraph(5), "n_neighbors": 4},
            r'n_neighbors=4 is for affinity="knn", got affinity=KNNGraph\(n_neigh',
        ),
        ({"affinity": "rbf", "n_neighbors": 4}, "got affinity='rbf'. Leave one of"),
        ({"affinity": "precomputed", "metric": "cosine"}, "metric='cosine' is for"),
        (
            {"affinity": "precomputed_nearest_neighbors", "metric": "cosine"},
            "metric='cosine' is for",
        ),
    ],
)
def test_settings_of_a_graph_that_is_not_built(settings, message):
    with pytest.raises(ValueError, match=message):
        SC(2, **settings).fit(np.eye(12))


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
    text = r"Unknown affinity 'kn'\. Did you mean 'knn'\? Known: knn, nearest_ne"
    with pytest.raises(ValueError, match=text):
        make_affinity("kn", X)


@pytest.mark.parametrize("affinity", [None, 3, KNNGraph])
def test_not_an_affinity(affinity):
    with pytest.raises(TypeError, match="affinity must be one of knn, nearest_n"):
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


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
def test_distances_in_many_dimensions_are_recognised(metric):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5, 300)).repeat(20, axis=0) + rng.normal(size=(100, 300))
    D = pairwise_distances(points, metric=metric).astype(np.float32)
    assert D[D > 0].max() < 4 * D[D > 0].min()
    assert are_distances(D)
    S = D.max() + D[D > 0].min() - D
    np.fill_diagonal(S, 0)
    assert not are_distances(S)
    noise = rng.uniform(1, 2, size=(60, 60))
    assert not are_distances((noise + noise.T) * (1 - np.eye(60)))
