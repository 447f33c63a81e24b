"""S3NMF: the rebuilt similarities, the weights, the rounds, what a fit leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import S3NMF
from lordclust.methods._solvers.factor import multiplicative
from lordclust.methods.s3nmf import (
    Blend,
    Consensus,
    Given,
    best_weights,
    has_settled,
    mean_nmi,
    spectral_norm,
)
from lordclust.metrics import accuracy, nmi
from strategies import block_graph, generators

BLOCKS, TRUTH = block_graph(np.random.default_rng(0), [20, 15, 10])
X, CLASSES = make_blobs([30, 20, 10], centers=[[0, 0], [6, 0], [0, 6]], random_state=0)


def model(k, **params):
    params = {"n_members": 4, "n_rounds": 3, "min_iter": 30, "max_iter": 400} | params
    return S3NMF(k, affinity="precomputed", random_state=0, **params)


@st.composite
def ensembles(draw):
    """Labels of b members, their weights, k and a generator."""
    rng = draw(generators())
    b, n, k = (int(rng.integers(low, high)) for low, high in ((1, 6), (2, 20), (1, 5)))
    return rng.integers(0, k, (b, n)), rng.dirichlet(np.ones(b)), k, rng


# -- the rebuilt S --------------------------------------------------------------------


@given(ensembles())
def test_hard_similarity(case):
    labels, weights, k, rng = case
    full = sum(
        a * (row[:, None] == row) for a, row in zip(weights, labels, strict=True)
    )
    S = Consensus(labels, weights, k)
    V = rng.random((labels.shape[1], 3))
    np.testing.assert_allclose(S @ V, full @ V, rtol=1e-10)
    assert S.square == pytest.approx(np.linalg.norm(full) ** 2)
    assert S.largest == pytest.approx(full.max())
    np.testing.assert_allclose(np.diag(S @ np.eye(len(full))), 1)


@given(ensembles())
def test_soft_similarity(case):
    labels, weights, k, rng = case
    factors = [rng.random((labels.shape[1], k)) for _ in weights]
    full = sum(a * V @ V.T for a, V in zip(weights, factors, strict=True))
    S = Blend(factors, weights)
    V = rng.random((labels.shape[1], 3))
    np.testing.assert_allclose(S @ V, full @ V, rtol=1e-10)
    assert S.square == pytest.approx(np.linalg.norm(full) ** 2)
    assert S.largest == pytest.approx(full.max())


# -- weights and agreement ------------------------------------------------------------


@given(generators())
def test_weights_solve_their_problem(rng):
    losses = rng.random(5) + 0.1
    a = best_weights(losses, 1e-10)
    assert a.min() >= 0
    assert a.sum() == pytest.approx(1)
    np.testing.assert_allclose(a * losses, (a * losses)[0])  # equal slopes
    other = rng.dirichlet(np.ones(5))
    assert a**2 @ losses <= other**2 @ losses


def test_weights_of_perfect_members():
    np.testing.assert_allclose(best_weights(np.array([0.0, 1e-30]), 1e-9), 0.5)
    np.testing.assert_allclose(best_weights(np.zeros(4), 0.0), 0.25)


@given(ensembles())
def test_mean_nmi(case):
    labels, _, k, _ = case
    b = len(labels)
    pairs = [nmi(labels[i], labels[j]) for i in range(b) for j in range(i)]
    assert mean_nmi(labels, k) == pytest.approx(np.mean(pairs or [1.0]), abs=1e-9)


def test_spectral_norm():
    rng = np.random.default_rng(0)
    V = rng.random((45, 3)) / 3
    expected = np.linalg.norm(BLOCKS.toarray() - V @ V.T, 2)
    assert spectral_norm(Given(BLOCKS), V) == pytest.approx(expected, rel=1e-3)
    assert spectral_norm(Given(np.ones((4, 4))), np.ones((4, 1))) == 0


def test_when_rounds_end():
    def ends(*scores):
        from lordclust.methods.s3nmf import Round

        return has_settled([Round([], None, None, 0.0, 0.0, score) for score in scores])

    assert not ends()
    assert not ends(0.5)
    assert ends(0.5, 1.0)
    assert not ends(0.5, 0.4)
    assert ends(0.5, 0.4, 0.45)
    assert not ends(0.5, 0.4, 0.6)


# -- rounds ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_one_round_is_independent_factorisations(mode):
    fit = model(3, n_rounds=1, mode=mode, n_members=5).fit(BLOCKS)
    rng = np.random.default_rng(
        np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=1)[0]
    )
    S, losses = Given(BLOCKS), []
    for labels in fit.members_labels_:
        factor = multiplicative(
            S, 1 - rng.random((45, 3)), S.square,
            lambda h, _: len(h) > 31 and 2 * (h[-2] - h[-1]) <= 5e-3 * S.largest**2,
            max_iter=400, exponent=0.25,
        )  # fmt: skip
        np.testing.assert_array_equal(labels, factor.V.argmax(axis=1))
        losses.append(np.linalg.norm(BLOCKS.toarray() - factor.V @ factor.V.T) ** 2)
    a = (1 / np.array(losses)) / (1 / np.array(losses)).sum()
    np.testing.assert_allclose(fit.weights_, a)
    assert fit.objective_ == pytest.approx(a**2 @ losses)
    best = fit.members_labels_[a.argmax()]
    assert accuracy(best, fit.labels_) == 1


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_members_agree_more_from_round_to_round(mode):
    fit = S3NMF(3, n_members=8, n_rounds=4, mode=mode, random_state=1).fit(X)
    assert (np.diff(fit.mean_nmi_) >= -1e-12).all()
    assert fit.mean_nmi_[-1] > 0.95
    assert accuracy(CLASSES, fit.labels_) > 0.95


def test_later_rounds_change_the_members():
    S, _ = block_graph(np.random.default_rng(5), [12] * 5, inside=0.4, between=0.1)
    fit = model(5, n_members=8, n_rounds=6).fit(S)
    assert len(fit.mean_nmi_) == fit.n_iter_ == len(fit.history_) > 1
    assert fit.mean_nmi_[-1] > fit.mean_nmi_[0] + 0.1


@pytest.mark.parametrize("mode", ["hard", "soft"])
@pytest.mark.parametrize("norm", ["fro", "spectral"])
def test_fitted_attributes(mode, norm):
    fit = model(3, mode=mode, weight_norm=norm).fit(BLOCKS)
    assert accuracy(TRUTH, fit.labels_) == 1
    assert fit.members_labels_.shape == (4, 45)
    assert fit.weights_.sum() == pytest.approx(1)
    assert fit.weights_.min() >= 0
    assert fit.history_[-1] == fit.objective_ == fit.all_objectives_[0]
    np.testing.assert_array_equal(fit.labels_, fit.V_.argmax(axis=1))


def test_four_points():
    # Two edges, 0-1 and 2-3. Every member finds them, with a loss ||S - VV'||^2 of 2
    # (see the eigenvalues 1, 1, -1, -1), so a = 1/4 each, and the first round, whose
    # members agree, is the last: the objective is 4 (1/4)^2 2.
    S = np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]])
    fit = model(2, min_iter=200).fit(S)
    assert fit.n_iter_ == 1
    assert fit.mean_nmi_[0] == pytest.approx(1)
    np.testing.assert_array_equal(fit.labels_, [0, 0, 1, 1])
    np.testing.assert_allclose(fit.weights_, 0.25, rtol=1e-6)
    assert fit.objective_ == pytest.approx(0.5)


def test_scale_of_the_graph():
    one = model(3).fit(BLOCKS)
    for c in (1e-12, 1e12):
        np.testing.assert_array_equal(model(3).fit(c * BLOCKS).labels_, one.labels_)


def test_isolated_vertices_join_the_largest_cluster():
    S = sparse.block_diag([BLOCKS, np.zeros((2, 2))], format="csr")
    fit = model(3).fit(S)
    assert (fit.labels_[-2:] == 0).all()
    assert accuracy(TRUTH, fit.labels_[:-2]) == 1


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_graph_without_edges(mode):
    with pytest.warns(ConvergenceWarning, match="found 1 of the 2 clusters"):
        fit = model(2, mode=mode).fit(np.zeros((4, 4)))
    assert fit.objective_ == 0
    np.testing.assert_allclose(fit.weights_, 0.25)


def test_max_iter():
    with pytest.warns(ConvergenceWarning, match="S3NMF stopped at max_iter=40"):
        model(3, min_iter=40, max_iter=40).fit(BLOCKS)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mode": "softer"}, r"Unknown mode 'softer'\. Did you mean 'soft'"),
        ({"weight_norm": 2}, "Unknown weight_norm 2"),
        ({"n_members": 0}, "n_members must be a positive integer"),
        ({"n_rounds": 1.5}, "n_rounds must be a positive integer"),
        ({"exponent": 2}, "exponent must be"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        model(3, **params).fit(BLOCKS)
