"""What every method promises, whatever it does inside."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

import lordclust
from lordclust import list_methods, make_method, methods
from lordclust.graph import KNNGraph, self_tuning_kernel
from lordclust.metrics import accuracy
from lordclust.registry import METHODS, STATUSES

X, TRUTH = make_blobs(
    [16, 16, 16], centers=[[0, 0], [9, 0], [0, 9]], cluster_std=0.7, random_state=3
)
GRAPH = KNNGraph(6).build(X)
FEATURES = [name for name, method in METHODS.items() if method.takes == "features"]
GRAPHS = [name for name in METHODS if name not in FEATURES]


def similarity(name):
    return self_tuning_kernel(X) if METHODS[name].takes == "kernel" else GRAPH


def build(name, k=3, **params):
    estimator = make_method(name, n_clusters=k, **params)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator


def on_graph(name, S, k=3):
    return build(name, k, affinity="precomputed").fit(S)


every = pytest.mark.parametrize("name", list_methods())
graphs = pytest.mark.parametrize("name", GRAPHS)


def test_names():
    names = (
        "lord blord kkm gkkm sc ncut sr dbsc directsc symnmf phals s3nmf gwl nlr dcd "
        "sdp dsn sds dvd dsni dsdc gmm balanced_kmeans"
    )
    assert " ".join(list_methods()) == names
    assert "make_method" in lordclust.__all__


@every
def test_line(name):
    method = METHODS[name]
    assert method.status in STATUSES
    assert method.takes in ("graph", "kernel", "features")
    assert getattr(methods, method.class_name) is method.load()
    doc = method.load().__doc__
    assert "References" in doc
    assert "Examples" in doc
    assert ("reconstruction" in doc.lower()) == (method.status == "reconstruction")


def test_unknown_name():
    with pytest.raises(ValueError, match=r"Unknown method 'blrod'\. Did you mean 'bl"):
        make_method("blrod")


@every
def test_attributes(name):
    model = build(name).fit(X)
    n = len(X)
    assert model.labels_.shape == (n,)
    assert model.labels_.dtype.kind == "i"
    assert set(np.unique(model.labels_)) == {0, 1, 2}
    assert np.isfinite(model.objective_)
    assert model.n_iter_ >= 1
    assert isinstance(model.converged_, bool)
    assert model.objective_ in model.all_objectives_
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()  # the largest first
    best = (
        model.all_objectives_.max() if model.maximises else model.all_objectives_.min()
    )
    assert model.objective_ == best
    if hasattr(model, "membership_"):
        assert model.membership_.shape == (n, 3)
        assert model.membership_.min() >= 0
        np.testing.assert_allclose(model.membership_.sum(axis=1), 1, atol=1e-9)
    if name in GRAPHS:
        assert model.affinity_matrix_.shape == (n, n)


@every
def test_blobs_are_found(name):
    assert accuracy(TRUTH, build(name).fit_predict(X)) == 1


@every
def test_same_seed_same_result(name):
    model = build(name)
    first, second = clone(model).fit(X), clone(model).fit(X)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.all_objectives_, second.all_objectives_)


@every
def test_one_cluster(name):
    model = build(name, k=1).fit(X)
    assert (model.labels_ == 0).all()
    assert np.isfinite(model.objective_)


@graphs
def test_sparse_is_dense(name):
    S = similarity(name)
    dense = S.toarray() if sparse.issparse(S) else S
    a = on_graph(name, dense)
    b = on_graph(name, sparse.csr_array(dense))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-6, atol=1e-9)


@graphs
def test_order_of_samples_does_not_matter(name):
    S = similarity(name)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = S[order][:, order]
    a, b = on_graph(name, S).labels_, on_graph(name, shuffled).labels_
    assert accuracy(a[order], b) == 1


@every
def test_copies_of_samples(name):
    if name in FEATURES:
        labels = build(name).fit_predict(np.vstack([X, X]))
    else:
        S = similarity(name)
        both = np.kron(np.ones((2, 2)), S.toarray() if sparse.issparse(S) else S)
        labels = on_graph(name, both).labels_
    assert accuracy(np.tile(TRUTH, 2), labels) == 1


@every
def test_copies_in_the_features_do_no_harm(name):
    # Edges of weight 1 between twins can change the best partition, nothing more.
    model = build(name).fit(np.vstack([X, X]))
    assert set(np.unique(model.labels_)) == {0, 1, 2}
    assert np.isfinite(model.objective_)


@graphs
def test_components_are_found(name):
    blocks = [np.ones((m, m)) - np.eye(m) for m in (6, 6, 6)]
    S = sparse.block_diag(blocks, format="csr")
    if METHODS[name].takes == "kernel":
        S = S + sparse.eye_array(18)
    labels = on_graph(name, S).labels_
    assert accuracy(np.repeat([0, 1, 2], 6), labels) == 1


@graphs
def test_input_is_left_alone(name):
    S = similarity(name).copy()
    before = S.copy()
    on_graph(name, S)
    assert abs(S - before).max() == 0


@graphs
def test_negative_similarities(name):
    S = np.array(sparse.csr_array(similarity(name)).toarray())
    S[0, 1] = S[1, 0] = -1.0
    model = build(name, affinity="precomputed")
    if model.nonnegative:
        who = type(model).__name__
        with pytest.raises(ValueError, match=f"S must be nonnegative for {who}"):
            model.fit(S)
    else:
        model.fit(S)


@every
@pytest.mark.parametrize("k", [0, 49, 2.5, "3"])
def test_impossible_k(name, k):
    with pytest.raises((ValueError, TypeError), match="n_clusters must be"):
        build(name, k=k).fit(X)


@every
def test_too_large_is_refused_before_the_work(name):
    model = build(name)
    if "max_dense" not in model.get_params():
        pytest.skip("holds no n x n matrix")
    with pytest.raises(ValueError, match="takes at most max_dense=40 samples, got 48"):
        model.set_params(max_dense=40).fit(X)
