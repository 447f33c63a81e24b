"""SymNMF: the loss, the start, the descent, and what a fit leaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import SymNMF
from lordclust.methods._solvers.factor import (
    EXPONENTS,
    kkt_residual,
    loss,
    multiplicative,
    random_start,
    square_norm,
)
from lordclust.metrics import accuracy
from lordclust.rounding.spectral import normalized_affinity
from strategies import block_graph, generators, graphs, random_graph

BLOCKS, TRUTH = block_graph(np.random.default_rng(0), [20, 15, 10])
ALL_EXPONENTS = pytest.mark.parametrize("exponent", ["auto", *EXPONENTS])


def dense(S):
    return S.toarray() if sparse.issparse(S) else S


def full_loss(S, V):
    return 0.5 * np.linalg.norm(dense(S) - V @ V.T) ** 2


def model(k, **params):
    return SymNMF(k, affinity="precomputed", random_state=0, **params)


def descend(S, k, rng, tol=1e-6, exponent="auto", max_iter=4000):
    V = random_start(S, k, rng)
    return multiplicative(
        S, V, square_norm(S), lambda _, change: change <= tol,
        max_iter=max_iter, exponent=exponent,
    )  # fmt: skip


# -- the parts ------------------------------------------------------------------------


@given(graphs(), generators())
def test_loss_without_the_full_matrix(S, rng):
    V = rng.random((S.shape[0], 3))
    value = loss(square_norm(S), V, S @ V, V.T @ V)
    assert value == pytest.approx(full_loss(S, V))


@given(graphs(), generators())
def test_start_has_the_best_scale(S, rng):
    V = random_start(S, 2, rng)
    scales = (0.99, 1.0, 1.01)
    values = [full_loss(S, c * V) for c in scales]
    assert np.argmin(values) == 1 or not dense(S).any()


def test_residual_is_zero_at_a_solution_only():
    # S = vv' with v = (2, 1): V = v solves it, and so does no multiple of it.
    v = np.array([[2.0], [1.0]])
    assert kkt_residual(v @ v.T, v) == 0
    # V = 2v: VV'V - SV = (4 |v|^2 * 2 - 2 |v|^2) v = 30 v, and ||V'V||_2 = 20, so the
    # step is 1.5 v, three quarters of V.
    assert kkt_residual(v @ v.T, 2 * v) == pytest.approx(0.75)
    # An entry at 0 with a gradient above 0 is where it should be.
    assert kkt_residual(np.diag([1.0, 0.0]), np.array([[1.0], [0.0]])) == 0


# -- the descent ----------------------------------------------------------------------


@given(graphs(min_n=4), generators(), st.sampled_from(["auto", 0.25]))
def test_loss_never_rises(S, rng, exponent):
    history = descend(S, 3, rng, exponent=exponent, max_iter=200).history
    assert (np.diff(history) <= 1e-13 * square_norm(S)).all()


@given(graphs(min_n=4), generators())
def test_no_better_than_eigenvectors(S, rng):
    # VV' is one of the positive semidefinite matrices of rank k: the best of these
    # keeps the k largest positive eigenvalues.
    values = np.maximum(np.linalg.eigvalsh(dense(S)), 0)[::-1][:3]
    bound = (square_norm(S) - (values**2).sum()) / 2
    assert descend(S, 3, rng, max_iter=200).history[-1] >= bound - 1e-9


@ALL_EXPONENTS
def test_conditions_of_optimality(exponent):
    factor = descend(BLOCKS, 3, np.random.default_rng(0), 1e-10, exponent)
    V = factor.V
    gradient = V @ (V.T @ V) - BLOCKS @ V
    assert factor.converged
    assert np.abs(np.minimum(V, gradient)).max() < 1e-6
    assert kkt_residual(BLOCKS, V) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_auto_needs_fewer_iterations(seed):
    auto, quarter = (
        descend(BLOCKS, 3, np.random.default_rng(seed), exponent=exponent).history
        for exponent in ("auto", 0.25)
    )
    level = max(auto[-1], quarter[-1]) * (1 + 1e-4)
    assert np.argmax(auto <= level) < 0.5 * np.argmax(quarter <= level)


def test_auto_goes_back_after_a_rise():
    S = np.array([[0.0, 1.0], [1.0, 0.0]])
    V = np.array([[3.0], [0.01]])
    fixed, auto = (
        multiplicative(
            S, V, 2.0, lambda _, change: change <= 1e-12,
            max_iter=100, exponent=exponent,
        ).history
        for exponent in (0.75, "auto")
    )  # fmt: skip
    assert np.diff(fixed).max() > 1e-3
    assert np.diff(auto).max() <= 1e-13
    assert auto[-1] == pytest.approx(0.5)  # what the eigenvalue -1 leaves


def test_exact_factor_is_found():
    # S = V V' for a scaled indicator V.
    y = np.repeat([0, 1, 2], [5, 4, 3])
    scales = np.array([1.0, 2.0, 0.5])
    S = np.where(y[:, None] == y, scales[y] ** 2, 0.0)
    fit = model(3, tol=1e-8).fit(S)
    assert fit.objective_ < 1e-10
    assert accuracy(y, fit.labels_) == 1
    np.testing.assert_allclose(fit.V_.max(axis=1), scales[y], rtol=1e-5)


def test_one_column_is_the_leading_eigenvector():
    S = dense(BLOCKS)
    values, U = np.linalg.eigh(S)
    fit = model(1, tol=1e-9).fit(S)
    np.testing.assert_allclose(
        fit.V_[:, 0], np.sqrt(values[-1]) * np.abs(U[:, -1]), atol=1e-6
    )


# -- the estimator --------------------------------------------------------------------


def test_fitted_attributes():
    fit = model(3).fit(BLOCKS)
    assert accuracy(TRUTH, fit.labels_) == 1
    assert fit.objective_ == pytest.approx(full_loss(BLOCKS, fit.V_))
    assert fit.residual_ == pytest.approx(kkt_residual(BLOCKS, fit.V_))
    assert fit.history_.shape == (fit.n_iter_ + 1,)
    assert fit.history_[-1] == fit.objective_ == fit.all_objectives_.min()
    np.testing.assert_array_equal(fit.labels_, fit.V_.argmax(axis=1))
    V = fit.V_
    np.testing.assert_allclose(fit.membership_, V / V.sum(axis=1, keepdims=True))


def test_normalized():
    one = model(3, normalize="ncut").fit(BLOCKS)
    other = model(3).fit(normalized_affinity(BLOCKS))
    np.testing.assert_allclose(one.V_, other.V_, rtol=1e-9, atol=1e-12)
    assert abs(one.affinity_matrix_ - BLOCKS).max() == 0


def test_vanishing_entries_do_not_underflow():
    S = sparse.block_diag([np.ones((60, 60)), np.ones((2, 2))], format="csr")
    V = descend(S, 2, np.random.default_rng(0), tol=1e-15, exponent=0.25).V
    assert (V == 0).any()
    assert V[V > 0].min() > 1e-100


def test_max_iter():
    with pytest.warns(ConvergenceWarning, match="SymNMF stopped at max_iter=3"):
        fit = model(3, max_iter=3).fit(BLOCKS)
    assert fit.n_iter_ == 3
    assert not fit.converged_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"exponent": 0.3}, 'exponent must be "auto", 0.25, 0.5 or 0.75, got 0.3'),
        ({"exponent": "fast"}, "exponent must be"),
        ({"normalize": "ncat"}, r"Unknown normalize 'ncat'\. Did you mean 'ncut'"),
        ({"tol": 0}, "tol must be a finite number above 0"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        model(3, **params).fit(BLOCKS)


def test_random_graphs_have_no_surprise():
    # No warning is allowed, so neither is NaN or a division by zero.
    for seed in range(5):
        S = random_graph(np.random.default_rng(seed), 30, 0.05, sparse=True)
        fit = model(2).fit(S)
        assert np.isfinite(fit.V_).all()
