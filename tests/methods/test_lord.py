"""LoRD and B-LoRD: what a fit leaves, and that it is what it says."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from lordclust import BLoRD, LoRD
from lordclust.graph import KNNGraph, linear_kernel
from models import GIVEN, MODELS, PAPER

X, TRUTH = make_blobs(90, centers=3, cluster_std=2.0, random_state=0)
FAR = [[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]]
CLEAR, CLEAR_TRUTH = make_blobs(60, centers=FAR, random_state=0)
S = KNNGraph().build(X)
SHARES = pytest.mark.parametrize(
    "shares", [None, [0.5, 0.3, 0.2], [0.25, 0.5, 0.25]], ids=["equal", "uneven", "tie"]
)


def dense(S):
    return S.toarray() if sparse.issparse(S) else np.asarray(S, dtype=float)


def assert_feasible(model, p=None, columns=1e-8):
    P = model.membership_
    p = np.full(len(P), 1 / len(P)) if p is None else p
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(p @ P, model.proportions_, rtol=0, atol=columns)


def same_partition(a, b):
    pairs = set(zip(a, b, strict=True))
    return len(pairs) == len(set(a)) == len(set(b))


# -- fitted attributes ------------------------------------------------------------


def assert_complete(model, n=90, k=3):
    """Check all that a fit of X leaves, but for the numbers themselves."""
    assert_feasible(model)
    mu = np.sqrt(model.proportions_)
    assert model.membership_.shape == model.V_.shape == (n, k)
    assert model.membership_.dtype == model.V_.dtype == np.float64
    np.testing.assert_allclose(model.V_, model.membership_ / n / mu, atol=1e-12)
    np.testing.assert_allclose(model.V_.sum(axis=0), mu, atol=1e-8)
    np.testing.assert_allclose(model.V_ @ mu, 1 / n, atol=1e-10)
    assert model.labels_.shape == (n,)
    assert model.labels_.dtype == np.int64
    np.testing.assert_array_equal(np.unique(model.labels_), np.arange(k))
    np.testing.assert_array_equal(model.sizes_, np.bincount(model.labels_))
    assert model.n_clusters_ == k
    assert model.converged_ is True
    assert 0 <= model.residual_ <= model.tol
    assert isinstance(model.n_iter_, int)
    assert 1 <= model.n_iter_ <= model.max_iter
    assert model.history_[-1] == pytest.approx(model.objective_, rel=1e-9)
    assert model.objective_ in model.all_objectives_
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.affinity_matrix_.toarray(), S.toarray())


@GIVEN
@SHARES
def test_fitted_attributes(Model, shares):
    model = Model(3, proportions=shares, rounding="argmax").fit(X)
    assert_complete(model)
    np.testing.assert_allclose(
        model.proportions_, [1 / 3] * 3 if shares is None else shares
    )
    np.testing.assert_array_equal(model.labels_, model.membership_.argmax(axis=1))
    assert model.history_.shape == (model.n_iter_ + 1,)
    # The cut (for B-LoRD also with its sizes changed), the tree, and two mixtures.
    assert model.all_objectives_.shape in ((4,), (5,))
    assert not hasattr(model, "selection_")


@pytest.mark.parametrize("tau", ["auto", 0.3])
def test_fitted_attributes_of_the_default(tau):
    model = BLoRD(3, tau=tau).fit(X)
    assert_complete(model)
    assert model.all_objectives_.shape == (1,)
    assert model.tau_ == (1.0 if tau == "auto" else tau)
    assert list(model.sizes_) == sorted(model.sizes_, reverse=True)
    best = model.selection_.sizes[model.selection_.best]
    np.testing.assert_allclose(model.proportions_, best / 90)
    if tau == "auto":
        np.testing.assert_array_equal(model.sizes_, best)
        assert np.mean(model.membership_.argmax(axis=1) == model.labels_) > 0.95


@MODELS
@pytest.mark.parametrize("shares", [[0.5, 0.3, 0.2], [0.25, 0.5, 0.25]])
def test_given_shares_are_met_exactly(Model, shares):
    model = Model(3, proportions=shares).fit(X[:80])
    np.testing.assert_array_equal(model.sizes_, np.multiply(shares, 80))
    assert_feasible(model)
    np.testing.assert_allclose(model.proportions_, shares)


@GIVEN
@pytest.mark.parametrize("seed", range(3))
@SHARES
def test_numbering_is_canonical(Model, shares, seed):
    settings = {"start": "random", "n_init": 1, "random_state": seed}
    model = Model(3, proportions=shares, **settings).fit(X)
    for share in set(model.proportions_):
        places = np.flatnonzero(model.proportions_ == share)
        sizes = model.sizes_[places]
        assert np.all(np.diff(sizes) <= 0)
        firsts = [np.flatnonzero(model.labels_ == j)[0] for j in places]
        for a in range(len(places) - 1):
            assert sizes[a] > sizes[a + 1] or firsts[a] < firsts[a + 1]


def test_equal_clusters_are_numbered_by_their_first_sample():
    order = np.random.default_rng(0).permutation(60)
    for model in (LoRD(3), PAPER(3), BLoRD(3)):
        labels = model.fit(CLEAR[order]).labels_
        assert same_partition(labels, CLEAR_TRUTH[order])
        firsts = [np.flatnonzero(labels == j)[0] for j in range(3)]
        assert firsts == sorted(firsts)


@SHARES
@pytest.mark.parametrize("start", ["path", "random"])
def test_objective_of_lord(shares, start):
    model = LoRD(3, proportions=shares, start=start, n_init=1, random_state=0).fit(X)
    A = dense(model.affinity_matrix_)
    wanted = ((A / A.sum() - model.V_ @ model.V_.T) ** 2).sum()
    assert model.objective_ == pytest.approx(wanted, rel=1e-9)
    assert model.history_[-1] <= model.history_[0]
    assert np.diff(model.history_).max() <= 1e-3 * model.objective_


@SHARES
@pytest.mark.parametrize("tau", [0.1, 0.4, 1.0])
def test_objective_and_gamma_of_blord(shares, tau):
    model = BLoRD(3, tau=tau, proportions=shares).fit(X)
    A, V = dense(model.affinity_matrix_), model.V_
    wanted = np.trace(V.T @ A @ V) + model.gamma_ * (V**2).sum()
    assert model.objective_ == pytest.approx(wanted, rel=1e-9, abs=1e-14)
    values = np.linalg.eigvalsh(A)
    low, high = values[0], values[-1]
    assert model.gamma_ == pytest.approx(
        -high + tau * (high - low), rel=1e-2, abs=1e-2 * high
    )
    assert model.tau_ == tau
    same = BLoRD(3, gamma=model.gamma_, proportions=shares).fit(X)
    assert same.tau_ == pytest.approx(tau)
    np.testing.assert_allclose(same.membership_, model.membership_, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"gamma": 1e3}, ValueError, "gamma must be from -[0-9.]* to [0-9.]*, minus"),
        ({"gamma": 1.0, "tau": 0.5}, ValueError, "tau=0.5 and gamma=1.0 determine"),
        ({"gamma": "1"}, TypeError, "gamma must be a number, got '1'"),
    ],
)
def test_refused_gammas(settings, error, message):
    with pytest.raises(error, match=message):
        BLoRD(3, **settings).fit(X)


@GIVEN
def test_residual_is_that_of_a_projected_gradient_step(Model):
    # A stationary point does not move: checked with a projection of its own.
    from lordclust import project_omega

    model = Model(3, tol=1e-6).fit(X)
    A, V = dense(model.affinity_matrix_), model.V_
    if Model is LoRD:
        A = A / A.sum()
        L = 4 * (3 / 90 + np.abs(np.linalg.eigvalsh(A)).max())
        G = 4 * (V @ (V.T @ V) - A @ V)
    else:
        G = -2 * (A @ V + model.gamma_ * V)
        L = 2 * np.abs(np.linalg.eigvalsh(A + model.gamma_ * np.eye(90))).max()
    found = project_omega(V - G / L, np.sqrt(model.proportions_))
    moved = found.V if hasattr(found, "V") else found
    assert np.linalg.norm(moved - V) <= 1e-5 * np.linalg.norm(V)


@MODELS
def test_finds_clear_clusters(Model):
    model = Model(3)
    labels = model.fit_predict(CLEAR)
    assert same_partition(labels, CLEAR_TRUTH)
    np.testing.assert_array_equal(labels, model.labels_)


@pytest.mark.parametrize("tau", ["auto", 1.0])
@pytest.mark.parametrize("proportions", ["auto", "equal"])
def test_as_many_clusters_as_samples(tau, proportions):
    model = BLoRD(90, tau=tau, proportions=proportions).fit(X)
    np.testing.assert_array_equal(model.labels_, np.arange(90))
    np.testing.assert_array_equal(model.membership_, np.eye(90))
    assert model.converged_
    assert len(model.all_objectives_) == 1
    if "auto" in (tau, proportions):
        assert model.selection_.sources == ["given"]


def test_few_starts_where_most_clusters_have_one_sample():
    assert len(LoRD(90).fit(X).all_objectives_) == 1
    assert len(LoRD(60).fit(X).all_objectives_) == 1
    assert len(LoRD(60, n_init=2).fit(X).all_objectives_) == 2
    shares = np.arange(1.0, 61.0) / np.arange(1.0, 61.0).sum()
    model = BLoRD(60, tau=1.0, proportions=shares).fit(X)
    assert len(model.all_objectives_) == 1
    model = BLoRD(60, proportions=shares).fit(X)
    assert model.selection_.sources == ["sized cut"]


@MODELS
def test_fit_transform_is_the_membership(Model):
    model = Model(3)
    np.testing.assert_array_equal(model.fit_transform(X), model.membership_)


@GIVEN
def test_warns_when_cut_short(Model):
    model = Model(3, start="random", n_init=1, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2, residual .* > tol"):
        model.fit(X)
    assert not model.converged_
    assert model.n_iter_ <= 2
    assert_feasible(model)


# -- tau --------------------------------------------------------------------------


def test_tau_rules():
    assert PAPER(3).fit(X).tau_ == 1.0
    by_n = PAPER(3, tau="n").fit(X).tau_
    assert by_n == pytest.approx(min(2 * 90**-0.24, 1))
    assert 0 < by_n < 1


@pytest.mark.parametrize("form", [dense, sparse.csr_array])
@pytest.mark.parametrize("n", [40, 90])
def test_tau_from_blocks(form, n):
    A = dense(KNNGraph(6).build(X[:n]))
    laplacian = np.diag(A.sum(axis=1)) - A
    share = np.linalg.eigvalsh(laplacian)[:3].sum() / np.trace(laplacian)
    wanted = min(0.34 * np.exp(50 * share - 0.03 * np.log(n)), 1)
    model = PAPER(3, tau="blocks", affinity="precomputed").fit(form(A))
    assert model.tau_ == pytest.approx(wanted, rel=1e-3)


def test_tau_from_blocks_by_hand():
    # A complete graph has the eigenvalues 0, n, n, ... and the trace n (n - 1).
    A = np.ones((60, 60)) - np.eye(60)
    model = PAPER(3, tau="blocks", affinity="precomputed").fit(A)
    wanted = 0.34 * np.exp(50 * 2 / 59 - 0.03 * np.log(60))
    assert model.tau_ == pytest.approx(min(wanted, 1), rel=1e-6)
    model.set_params(n_clusters=2).fit(A)
    wanted = 0.34 * np.exp(50 * 1 / 59 - 0.03 * np.log(60))
    assert wanted < 1
    assert model.tau_ == pytest.approx(wanted, rel=1e-6)
    # As many components as clusters: the share is 0.
    A = np.kron(np.eye(3), np.ones((20, 20)))
    model.set_params(n_clusters=3).fit(A)
    assert model.tau_ == pytest.approx(0.34 * 60**-0.03, rel=1e-6)


def test_hardness_grows_with_tau():
    sharpness = [
        float((PAPER(3, tau=t).fit(X).V_ ** 2).sum()) for t in (0.0, 0.2, 0.5, 1.0)
    ]
    assert sharpness == sorted(sharpness)
    assert sharpness[0] == pytest.approx(1 / 90, rel=1e-3)  # ||1 mu'/n||_F^2
    assert sharpness[-1] == pytest.approx(3 / 90, rel=1e-2)  # orthogonal


# -- starts and algorithms --------------------------------------------------------


@GIVEN
def test_random_starts_keep_the_best(Model):
    model = Model(3, start="random", n_init=5, random_state=0).fit(X)
    assert model.all_objectives_.shape == (5,)
    assert len(set(model.all_objectives_)) > 1
    best = min if Model is LoRD else max
    assert model.objective_ == best(model.all_objectives_)
    automatic = Model(3, start="random", random_state=0).fit(X)
    assert automatic.all_objectives_.shape == (10,)


@GIVEN
@pytest.mark.parametrize("start", ["auto", "path"])
def test_as_good_as_random_starts(Model, start):
    path = Model(3, start=start).fit(X)
    random = Model(3, start="random", n_init=10, random_state=0).fit(X)
    if Model is LoRD:
        assert path.objective_ <= random.objective_ * (1 + 1e-3)
    else:
        assert path.objective_ >= random.objective_ - 1e-6


@GIVEN
@pytest.mark.parametrize("start", ["auto", "path"])
def test_several_paths(Model, start):
    for count in (1, 2, 6):
        model = Model(3, start=start, n_init=count, random_state=0).fit(X)
        assert model.all_objectives_.shape == (count,)


@GIVEN
def test_default_numbers_of_paths(Model):
    assert len(Model(3, start="path").fit(X).all_objectives_) == 1
    uneven = Model(3, start="path", proportions=[0.5, 0.3, 0.2]).fit(X)
    assert len(uneven.all_objectives_) == 5


@GIVEN
def test_given_start(Model):
    path = Model(3).fit(X)
    again = Model(3, start=path.V_).fit(X)
    assert again.n_iter_ <= 30
    assert again.all_objectives_.shape == (1,)
    np.testing.assert_allclose(again.membership_, path.membership_, atol=0.02)
    # Where it begins matters: a start that is not feasible is taken in.
    rough = Model(3, start=np.random.default_rng(0).random((90, 3)).tolist()).fit(X)
    assert_feasible(rough)


@GIVEN
def test_papers_algorithm(Model):
    A = KNNGraph(5).build(CLEAR[::2])
    settings = {"affinity": "precomputed", "random_state": 0, "n_init": 2}
    paper = Model(3, algorithm="paper", **settings).fit(A)
    fast = Model(3, start="random", **settings).fit(A)
    assert_feasible(paper, columns=1e-4)
    assert paper.converged_
    assert paper.all_objectives_.shape == (2,)
    if Model is LoRD:
        assert fast.objective_ <= paper.objective_ * 1.02
    else:
        assert fast.objective_ >= paper.objective_ - 1e-2 * abs(paper.objective_)
    history = paper.history_
    assert np.abs(np.diff(history)).max() <= 10 * np.ptp(history[[0, -1]])


# -- similarities -----------------------------------------------------------------


def wide_index(S):
    S = S.copy()
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


FORMS = {
    "dense": lambda S: S.toarray(),
    "list": lambda S: S.toarray().tolist(),
    "fortran": lambda S: np.asfortranarray(S.toarray()),
    "object": lambda S: S.toarray().astype(object),
    "int64 index": wide_index,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "lil": sparse.lil_array,
    "dok": sparse.dok_array,
}


@MODELS
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_precomputed_in_any_form(Model, form):
    graph = KNNGraph().build(CLEAR)
    wanted = Model(3).fit(CLEAR)
    model = Model(3, affinity="precomputed").fit(form(graph))
    np.testing.assert_array_equal(model.labels_, wanted.labels_)
    np.testing.assert_allclose(model.membership_, wanted.membership_, atol=1e-6)
    assert model.objective_ == pytest.approx(wanted.objective_, rel=1e-6)
    np.testing.assert_array_equal(dense(model.affinity_matrix_), graph.toarray())
    assert model.n_features_in_ == 60


@MODELS
def test_precomputed_float32(Model):
    graph = KNNGraph().build(CLEAR).astype(np.float32)
    model, wanted = Model(3, affinity="precomputed").fit(graph), Model(3).fit(CLEAR)
    np.testing.assert_array_equal(model.labels_, wanted.labels_)
    np.testing.assert_allclose(model.objective_, wanted.objective_, rtol=1e-4)
    assert_feasible(model)
    P = model.transform(graph)
    assert P.dtype == np.float64
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=0, atol=1e-12)


@MODELS
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64])
def test_adjacency_matrix(Model, dtype):
    A = dense(S) > 0.1
    wanted = Model(3, affinity="precomputed").fit(A.astype(float))
    for form in (np.asarray, sparse.csr_array):
        model = Model(3, affinity="precomputed").fit(form(A.astype(dtype)))
        assert model.objective_ == pytest.approx(wanted.objective_, rel=1e-6)


@MODELS
def test_graph_object_and_callable(Model):
    model = Model(3, affinity=KNNGraph(5)).fit(X)
    wanted = KNNGraph(5).build(X)
    np.testing.assert_array_equal(model.affinity_matrix_.toarray(), wanted.toarray())
    assert wanted.nnz != S.nnz
    by_function = Model(3, affinity=lambda X: KNNGraph(5).build(X)).fit(X)
    np.testing.assert_array_equal(by_function.V_, model.V_)


@MODELS
def test_negative_similarities(Model):
    data = CLEAR - CLEAR.mean(axis=0) + 0.1
    A = linear_kernel(data)
    assert A.min() < 0
    model = Model(3, affinity=linear_kernel).fit(data)
    assert_feasible(model)
    np.testing.assert_array_equal(model.affinity_matrix_, A)
    assert same_partition(model.labels_, CLEAR_TRUTH)


INPUTS = {
    "int": lambda X: np.round(100 * X).astype(np.int64),
    "uint8": lambda X: np.round(5 * (X - X.min())).astype(np.uint8),
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "csr": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
}


@MODELS
@pytest.mark.parametrize("form", INPUTS.values(), ids=INPUTS)
def test_samples_in_any_form(Model, form):
    data = form(CLEAR)
    model = Model(3).fit(data)
    assert_feasible(model)
    assert model.membership_.dtype == np.float64
    assert same_partition(model.labels_, CLEAR_TRUTH)
    np.testing.assert_allclose(model.transform(data), model.membership_, atol=1e-6)


@MODELS
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_a_later_change_of_the_input_has_no_effect(Model, form):
    data, graph = form(CLEAR), form(KNNGraph().build(CLEAR).toarray())
    model, other = Model(3).fit(data), Model(3, affinity="precomputed").fit(graph)
    wanted = model.predict_proba(CLEAR), dense(other.affinity_matrix_).copy()
    for given in (data, graph):
        np.asarray(given.data if sparse.issparse(given) else given)[:] = 7.0
    np.testing.assert_array_equal(model.predict_proba(CLEAR), wanted[0])
    np.testing.assert_array_equal(dense(other.affinity_matrix_), wanted[1])


def test_sparse_samples_with_wide_indices():
    X = sparse.csr_array(load_iris().data)
    wide = X.copy()
    wide.indices, wide.indptr = (a.astype(np.int64) for a in (X.indices, X.indptr))
    found = BLoRD(3).fit(wide)
    np.testing.assert_array_equal(found.labels_, BLoRD(3).fit(X).labels_)
    np.testing.assert_array_equal(found.predict(wide), found.labels_)
    assert wide.indices.dtype == np.int64


@MODELS
def test_samples_of_bool(Model):
    rng = np.random.default_rng(0)
    data = np.repeat(np.eye(3, 30, dtype=bool), 12, axis=0)
    data = data | np.repeat(np.eye(3), 12, 0).repeat(10, 1).astype(bool)
    data ^= rng.random(data.shape) < 0.05
    model = Model(3).fit(data)
    assert_feasible(model)
    assert same_partition(model.labels_, np.repeat([0, 1, 2], 12))


# -- transform --------------------------------------------------------------------


@MODELS
@pytest.mark.parametrize("dim", [2, 40])
def test_transform_of_the_fitted_samples(Model, dim):
    # Far from the origin, where distances by inner products lose their digits.
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, dim)) + 100
    model = Model(3).fit(data)
    np.testing.assert_allclose(model.transform(data), model.membership_, atol=1e-6)
    pick = [5, 59, 5]
    np.testing.assert_allclose(
        model.transform(data[pick]), model.membership_[pick], atol=1e-6
    )


@MODELS
def test_transform_of_new_samples(Model):
    model = Model(3).fit(X)
    new = np.random.default_rng(1).normal(scale=8.0, size=(50, 2))
    P = model.transform(new)
    assert P.shape == (50, 3)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=0, atol=1e-12)
    alone = np.vstack([model.transform(x[None]) for x in new])
    np.testing.assert_allclose(P, alone, rtol=0, atol=1e-12)
    order = np.random.default_rng(2).permutation(50)
    np.testing.assert_allclose(model.transform(new[order]), P[order], atol=1e-12)


@MODELS
def test_transform_near_and_far(Model):
    model = Model(3).fit(CLEAR)
    near = model.transform(CLEAR + 1e-3)
    np.testing.assert_array_equal(near.argmax(axis=1), model.labels_)
    far = model.transform([[1e6, 0.0], [0.0, 1e6]])
    np.testing.assert_allclose(far.sum(axis=1), 1)
    owner = [model.labels_[CLEAR[:, 0].argmax()], model.labels_[CLEAR[:, 1].argmax()]]
    np.testing.assert_array_equal(far.argmax(axis=1), owner)


@MODELS
def test_transform_after_a_second_fit(Model):
    model = Model(3).fit(X)
    model.transform(X)
    model.fit(CLEAR)
    np.testing.assert_allclose(model.transform(CLEAR), model.membership_, atol=1e-6)


@MODELS
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_transform_of_similarities(Model, form):
    model = Model(3, affinity="precomputed").fit(S)
    weights = np.zeros((3, 90))
    weights[0, 7] = 2.0
    weights[1, [4, 9]] = 1.0, 3.0
    P = model.transform(form(weights))
    M = model.membership_
    wanted = [M[7], (M[4] + 3 * M[9]) / 4, model.proportions_]
    np.testing.assert_allclose(P, wanted, atol=1e-12)


@MODELS
def test_transform_of_negative_similarities(Model):
    A = linear_kernel(CLEAR - CLEAR.mean(axis=0) + 0.1)
    model = Model(3, affinity="precomputed").fit(A)
    P = model.transform(A)
    assert P.min() >= 0
    assert P.max() <= 1 + 1e-12
    np.testing.assert_allclose(P.sum(axis=1), 1)


# -- probabilities of pairs, block-diagonality ------------------------------------


@MODELS
def test_pair_probability(Model):
    model = Model(3, **({"tau": 0.3} if Model is PAPER else {})).fit(X)
    Z = model.membership_ @ model.membership_.T
    value = model.pair_probability(3, 50)
    assert np.ndim(value) == 0
    assert value == pytest.approx(Z[3, 50])
    assert model.pair_probability(-1, 0) == pytest.approx(Z[89, 0])
    i, j = [1, 2, 3], [4, 5, 1]
    np.testing.assert_allclose(model.pair_probability(i, j), Z[i, j])
    np.testing.assert_allclose(model.pair_probability(0, np.arange(90)), Z[0])
    every = model.pair_probability(
        np.arange(90)[:, None], np.arange(90, dtype=np.uint8)
    )
    np.testing.assert_allclose(every, Z)
    assert every.min() >= 0
    assert every.max() <= 1 + 1e-12


@MODELS
def test_pair_probability_refuses(Model):
    model = Model(3).fit(X)
    with pytest.raises(IndexError, match="j must be from 0 to 89"):
        model.pair_probability(0, [3, 90])
    with pytest.raises(IndexError, match="i must be from 0 to 89"):
        model.pair_probability(-91, 0)
    with pytest.raises(TypeError, match="i must hold integers, got float64"):
        model.pair_probability(0.5, 0)
    with pytest.raises(TypeError, match="j must hold integers, got bool"):
        model.pair_probability(0, [True])
    with pytest.raises(ValueError, match="shape"):
        model.pair_probability([1, 2], [1, 2, 3])


@SHARES
@pytest.mark.parametrize("tau", [0.05, 0.3, 1.0])
def test_block_diagonality_of_blord(shares, tau):
    model = BLoRD(3, tau=tau, proportions=shares).fit(X)
    Z = model.V_ @ model.V_.T
    values = np.linalg.eigvalsh(np.diag(Z.sum(axis=1)) - Z)
    assert model.block_diagonality() == pytest.approx(values[:3].sum(), abs=1e-8)


def test_block_diagonality_of_lord():
    model = LoRD(3).fit(X)
    Z = model.V_ @ model.V_.T
    values = np.linalg.eigvalsh(np.diag(Z.sum(axis=1)) - Z)
    wanted = values[:3].sum()
    assert wanted > 1e-4
    assert model.block_diagonality() == pytest.approx(wanted, abs=1e-8)


# -- scikit-learn ---------------------------------------------------------------------


@MODELS
def test_feature_names_out(Model):
    model = Model(3).fit(X)
    name = type(model).__name__.lower()
    assert model.get_feature_names_out().tolist() == [f"{name}{j}" for j in range(3)]


@MODELS
def test_pandas(Model):
    pd = pytest.importorskip("pandas")
    index = [f"s{i}" for i in range(90)]
    frame = pd.DataFrame(X, columns=["height", "width"], index=index)
    model = Model(3).fit(frame)
    np.testing.assert_array_equal(model.feature_names_in_, ["height", "width"])
    np.testing.assert_array_equal(model.labels_, Model(3).fit(X).labels_)
    assert isinstance(model.transform(frame), np.ndarray)
    model.set_output(transform="pandas")
    for out in (model.transform(frame), model.fit_transform(frame)):
        assert isinstance(out, pd.DataFrame)
        assert list(out.columns) == list(model.get_feature_names_out())
        assert list(out.index) == index
        np.testing.assert_allclose(out.to_numpy(), model.membership_, atol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[["width", "height"]])


@MODELS
def test_parameters(Model):
    shares = np.array([0.5, 0.3, 0.2])
    model = Model(3, proportions=shares, affinity=KNNGraph(5), tol=1e-3)
    params = model.get_params()
    assert params["proportions"] is shares
    assert params["affinity__n_neighbors"] == 5
    assert ("tau" in params) == (Model is not LoRD)
    copy = clone(model)
    assert copy is not model
    assert copy.affinity is not model.affinity
    np.testing.assert_array_equal(copy.proportions, shares)
    copy.set_params(n_clusters=2, proportions=None, affinity__n_neighbors=7)
    assert (copy.n_clusters, copy.affinity.n_neighbors) == (2, 7)
    assert model.affinity.n_neighbors == 5
    assert copy.fit(X).membership_.shape == (90, 2)
    assert not hasattr(clone(copy), "labels_")


@pytest.mark.parametrize("Model", [LoRD, BLoRD])
def test_text_names_what_is_not_default(Model):
    assert repr(Model()) == f"{Model.__name__}()"


@MODELS
@pytest.mark.parametrize("affinity", ["knn", "precomputed"])
@pytest.mark.parametrize("used", [False, True])
def test_pickle(Model, affinity, used):
    data = S if affinity == "precomputed" else X
    model = Model(3, affinity=affinity).fit(data)
    wanted = model.transform(data) if used else None
    copy = pickle.loads(pickle.dumps(model))
    for name in ("V_", "membership_", "labels_", "sizes_", "history_", "objective_"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(model, name))
    assert repr(copy) == repr(model)
    if wanted is None:
        wanted = model.transform(data)
    np.testing.assert_array_equal(copy.transform(data), wanted)
    np.testing.assert_array_equal(copy.fit(data).V_, model.V_)


@MODELS
def test_order_of_the_samples_does_not_matter(Model):
    order = np.random.default_rng(0).permutation(60)
    plain, mixed = Model(3).fit(CLEAR), Model(3).fit(CLEAR[order])
    assert same_partition(plain.labels_[order], mixed.labels_)
    assert mixed.objective_ == pytest.approx(plain.objective_, rel=1e-3)


# -- weights ----------------------------------------------------------------------


def blocks(*sizes, between=0.02):
    label = np.repeat(np.arange(len(sizes)), sizes)
    A = np.where(label[:, None] == label, 1.0, between)
    return A, label


@MODELS
def test_equal_weights_are_no_weights(Model):
    plain = Model(3).fit(X)
    weighted = Model(3).fit(X, sample_weight=np.full(90, 7.0))
    np.testing.assert_array_equal(weighted.membership_, plain.membership_)


@GIVEN
@pytest.mark.parametrize("start", ["path", "random"])
def test_weights_set_the_marginals(Model, start):
    w = np.random.default_rng(0).random(90) ** 2 + 0.01
    shares = [0.5, 0.3, 0.2]
    model = Model(3, proportions=shares, start=start, n_init=1, random_state=0)
    model.fit(X, sample_weight=w)
    p, mu = w / w.sum(), np.sqrt(shares)
    assert model.converged_
    assert_feasible(model, p)
    np.testing.assert_allclose(model.proportions_, shares)
    np.testing.assert_allclose(
        model.V_, model.membership_ * p[:, None] / mu, atol=1e-12
    )


def test_weights_of_the_default():
    w = np.random.default_rng(0).random(90) ** 2 + 0.01
    model = BLoRD(3).fit(X, sample_weight=w)
    p = w / w.sum()
    assert_feasible(model, p)
    sizes = np.bincount(model.labels_, p)
    np.testing.assert_allclose(model.proportions_, sizes, atol=1e-12)


@GIVEN
def test_weight_two_is_the_sample_twice(Model):
    A = dense(KNNGraph(6).build(X[:45]))
    w = np.random.default_rng(0).integers(1, 3, 45)
    pick = np.repeat(np.arange(45), w)
    V = np.random.default_rng(1).random((45, 3)) / 45
    settings = {"affinity": "precomputed", "tol": 1e-6, "max_iter": 20000}
    settings |= {} if Model is LoRD else {"tau": 0.5}
    q = 45 * w / w.sum()
    once = Model(3, start=q[:, None] * V, **settings).fit(A, sample_weight=w)
    twice = Model(3, start=V[pick] * 45 / len(pick), **settings)
    twice.fit(A[np.ix_(pick, pick)])
    P, Q = once.membership_[pick], twice.membership_
    order = [np.abs(P - Q[:, [j]]).sum(axis=0).argmin() for j in range(3)]
    assert sorted(order) == [0, 1, 2]
    # Lanczos finds the ends of either spectrum to about 1e-3.
    np.testing.assert_allclose(P[:, order], Q, atol=0.01)
    assert once.block_diagonality() * 45 == pytest.approx(
        twice.block_diagonality() * len(pick), abs=0.02
    )


@MODELS
def test_positive_weights_do_not_change_a_graph_of_neighbours(Model):
    """Twice every sample is another graph, twice every weight is not."""
    plain, w = Model(3).fit(X), np.random.default_rng(0).integers(1, 4, 90)
    S = plain.affinity_matrix_
    for weight in (w, 2 * w, 0.1 * w):
        assert (Model(3).fit(X, sample_weight=weight).affinity_matrix_ != S).nnz == 0
    twice = Model(3).fit(np.vstack([X, X])).affinity_matrix_
    assert (twice[:90, 90:].diagonal() > 0).all()  # copies are neighbours,
    assert abs(twice[:90, :90] - S).max() > 0.1  # in place of others


@GIVEN
def test_the_papers_algorithm_refuses_unequal_weights(Model):
    model = Model(3, algorithm="paper", n_init=1, random_state=0)
    with pytest.raises(ValueError, match='algorithm="paper" requires equal weights'):
        model.fit(X, sample_weight=np.arange(90))
    model.set_params(tol=10.0).fit(X, sample_weight=np.full(90, 3.0))
    assert model.n_iter_ == 1


def test_block_diagonality_of_weighted_samples():
    w = np.random.default_rng(0).random(90) + 0.1
    model = PAPER(3, tau=0.2).fit(X, sample_weight=w)
    p, Z = w / w.sum(), model.V_ @ model.V_.T
    np.testing.assert_allclose(Z.sum(axis=1), p, rtol=1e-9)
    normalised = np.eye(90) - Z / np.sqrt(p[:, None] * p)
    wanted = np.linalg.eigvalsh(normalised)[:3].sum() / 90
    assert wanted > 1e-4
    assert model.block_diagonality() == pytest.approx(wanted, rel=1e-6)


@MODELS
def test_weight_zero_leaves_a_sample_out(Model):
    A, label = blocks(12, 12, 12)
    w = np.ones(36)
    w[[3, 14, 15, 30]] = 0
    kept = np.flatnonzero(w)
    shares = np.bincount(label[kept]) / len(kept)
    settings = {} if Model is BLoRD else {"proportions": shares, "rounding": "argmax"}
    model = Model(3, affinity="precomputed", **settings)
    model.fit(A, sample_weight=w)
    assert_feasible(model, w / w.sum())
    assert not model.V_[w == 0].any()
    np.testing.assert_allclose(np.sort(model.proportions_), np.sort(shares))
    assert same_partition(model.labels_[kept], label[kept])
    assert same_partition(model.labels_, label)


def noisy(seed=0):
    """X among as many samples of weight 0, and which samples are those of X."""
    rng = np.random.default_rng(seed)
    data = np.vstack([X, rng.uniform(X.min(0) - 1, X.max(0) + 1, X.shape)])
    order = rng.permutation(180)
    return data[order], order < 90


@MODELS
@pytest.mark.parametrize(
    "options",
    [{}, {"proba_top": 2}, {"dtype": "float32"}, {"affinity": linear_kernel},
     {"affinity": KNNGraph(5, metric="manhattan")}],
    ids=["knn", "proba_top", "float32", "linear", "manhattan"],
)  # fmt: skip
@pytest.mark.parametrize("weights", ["equal", "unequal"])
def test_samples_of_weight_zero_change_no_bit(Model, options, weights):
    data, kept = noisy()
    w = kept * (np.arange(180) % 3 + 1.0 if weights == "unequal" else 1.0)
    whole, alone = Model(3, **options), Model(3, **options)
    whole.fit(data, sample_weight=w)
    alone.fit(data[kept], sample_weight=w[kept])
    P = dense(whole.membership_)
    np.testing.assert_array_equal(whole.labels_[kept], alone.labels_)
    np.testing.assert_array_equal(P[kept], dense(alone.membership_))
    np.testing.assert_array_equal(dense(whole.V_)[kept], dense(alone.V_))
    np.testing.assert_array_equal(whole.uncertainty_[kept], alone.uncertainty_)
    assert not dense(whole.V_)[~kept].any()
    assert whole.objective_ == alone.objective_
    assert whole.block_diagonality() * 2 == pytest.approx(alone.block_diagonality())
    # Nor do they influence new samples, and they are new samples themselves.
    new = dense(whole.predict_proba(data[~kept]))
    np.testing.assert_array_equal(new, dense(alone.predict_proba(data[~kept])))
    np.testing.assert_allclose(new, P[~kept], atol=1e-7)  # float32
    S = dense(whole.affinity_matrix_)
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_array_equal(S[np.ix_(kept, kept)], dense(alone.affinity_matrix_))
    assert whole.sizes_.sum() == whole.n_features_in_ * 90 == 180


@MODELS
@pytest.mark.parametrize("kind", ["similarities", "distances"])
def test_samples_of_weight_zero_in_a_given_graph(Model, kind):
    data, kept = noisy()
    A = np.linalg.norm(data[:, None] - data, axis=2)
    affinity = KNNGraph(8, metric="precomputed")
    if kind == "similarities":
        A, affinity = np.exp(-(A**2)), "precomputed"
    whole = Model(3, affinity=affinity).fit(A, sample_weight=kept)
    alone = Model(3, affinity=affinity).fit(A[np.ix_(kept, kept)])
    np.testing.assert_array_equal(whole.membership_[kept], alone.membership_)
    np.testing.assert_allclose(whole.membership_.sum(axis=1), 1)
    assert whole.n_features_in_ == 180
    if kind == "similarities":
        new = A[:5] * kept
        answer = whole.predict_proba(A[:5])
        np.testing.assert_array_equal(answer, alone.predict_proba(new[:, kept]))


def test_samples_of_weight_zero_in_the_rest(tmp_path):
    data, kept = noisy()
    known = np.full(180, -1)
    known[np.flatnonzero(kept)[:2]] = 0
    known[np.flatnonzero(~kept)[:3]] = 2
    pairs = [np.flatnonzero(kept)[4:6], np.flatnonzero(~kept)[4:6]]
    model = BLoRD(3).fit(data, sample_weight=kept, known_labels=known, must_link=pairs)
    number = np.cumsum(kept) - 1
    alone = BLoRD(3).fit(
        data[kept], known_labels=known[kept], must_link=[number[pairs[0]]]
    )
    np.testing.assert_array_equal(model.labels_[kept], alone.labels_)
    np.testing.assert_array_equal(model.labels_[known >= 0], known[known >= 0])
    assert len(model.agreement(1).labels[0]) == 180
    model.save(tmp_path / "model.npz")
    loaded = BLoRD.load(tmp_path / "model.npz")
    answers = [one.predict_proba(data) for one in (model, loaded)]
    np.testing.assert_array_equal(*answers)
    chosen = BLoRD(None).fit(data, sample_weight=kept)
    assert chosen.n_clusters_ == BLoRD(None).fit(data[kept]).n_clusters_
    sizes = BLoRD(3, cluster_sizes=[90, 50, 40]).fit(data, sample_weight=kept).sizes_
    np.testing.assert_array_equal(sizes, [90, 50, 40])


def test_names_of_features_outlive_the_choice_of_the_number():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"])
    assert list(BLoRD(None).fit(frame).feature_names_in_) == ["a", "b"]


@MODELS
@pytest.mark.parametrize("light", [1e-9, 1e-17, 1e-30])
def test_very_light_samples(Model, light):
    w = np.ones(60)
    w[[3, 30]] = light
    model = Model(3).fit(CLEAR, sample_weight=w)
    assert_feasible(model, w / w.sum())


@MODELS
def test_very_heavy_samples(Model):
    w = np.ones(60)
    w[[0, 1, 2]] = 100.0
    model = Model(3, max_iter=500).fit(X[:60], sample_weight=w)
    assert_feasible(model, w / w.sum())
    if Model is LoRD:
        assert np.diff(model.history_).max() <= 1e-3 * model.objective_


def test_the_best_path_halfway_goes_on():
    """Of a large problem: it is nearly as good as the best of all paths."""
    X, _ = make_blobs(1400, 3, centers=15, cluster_std=2.0, random_state=0)
    settings = {"tau": 1.0, "proportions": "equal"}
    raced, all_ = BLoRD(15, **settings).fit(X), BLoRD(15, n_init=4, **settings).fit(X)
    assert len(raced.all_objectives_) < len(all_.all_objectives_) == 4
    assert raced.objective_ >= 0.997 * all_.objective_
