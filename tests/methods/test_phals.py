"""PHALS: the cubic, the columns, and what a fit leaves."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import PHALS
from lordclust.methods._solvers._phals_kernels import (
    find_direction,
    first_minimum,
    slope,
)
from lordclust.methods._solvers.factor import (
    kkt_residual,
    multiplicative,
    random_start,
    square_norm,
)
from lordclust.methods.phals import by_columns, sweep
from lordclust.metrics import accuracy
from strategies import block_graph, generators, graphs

BLOCKS, TRUTH = block_graph(np.random.default_rng(0), [20, 15, 10])


def dense(S):
    return S.toarray() if sparse.issparse(S) else S


def full_loss(S, V):
    return 0.5 * np.linalg.norm(dense(S) - V @ V.T) ** 2


def model(k, **params):
    return PHALS(k, affinity="precomputed", random_state=0, **params)


def state(S, V):
    """V, S V and V'V as the solver holds them."""
    return V.T.copy(), np.ascontiguousarray((S @ V).T), V.T @ V


# -- one column -----------------------------------------------------------------------


@given(graphs(min_n=3), generators(), st.floats(0, 1))
def test_cubic_is_half_the_slope(S, rng, t):
    E = dense(S) - 0.3
    v, d = rng.random(len(E)), rng.standard_normal(len(E))
    a, b, c, e = slope(d @ d, v @ v, d @ v, d @ E @ d, d @ E @ v)

    def loss(t):
        x = v + t * d
        return 0.5 * np.linalg.norm(E - np.outer(x, x)) ** 2

    h = 1e-5
    expected = (loss(t + h) - loss(t - h)) / (2 * h)
    assert 2 * np.polyval([a, b, c, e], t) == pytest.approx(
        expected, rel=1e-4, abs=1e-3
    )


@given(
    st.floats(0.01, 100), st.floats(-100, 100), st.floats(-100, 100),
    st.floats(-100, -0.01),
)  # fmt: skip
def test_first_minimum_is_the_smallest_root(a, b, c, e):
    roots = np.roots([a, b, c, e])
    real = roots.real[np.abs(roots.imag) <= 1e-9]
    assume(len(real) % 2 == 1)
    assume(np.abs(np.diff(np.sort(real))).min(initial=1) > 1e-4)  # no double roots
    expected = min(1.0, real[real > 0].min())
    assert first_minimum(a, b, c, e) == pytest.approx(expected, rel=1e-6)


def test_roots_worked_by_hand():
    assert first_minimum(1.0, 0.0, 0.0, -0.125) == pytest.approx(0.5)
    # (t - 0.2)(t - 0.4)(t - 0.6): the first of three
    cubic = np.poly([0.2, 0.4, 0.6])
    assert first_minimum(*cubic) == pytest.approx(0.2)
    # (t + 1)(t - 0.5)(t + 0.25), and a root beyond 1
    assert first_minimum(*np.poly([-1.0, 0.5, -0.25])) == pytest.approx(0.5)
    assert first_minimum(*np.poly([2.0, -3.0, -1.0])) == 1


@given(graphs(min_n=4), generators())
def test_direction_leads_to_the_target(S, rng):
    V = random_start(S, 3, rng)
    assume(V.any())
    d = np.empty(len(V))
    dd, dEv, alive = find_direction(*state(S, V), 1, d)
    v, others = V[:, 1], V[:, [0, 2]]
    Ev = (dense(S) - others @ others.T) @ v
    np.testing.assert_allclose(d, np.maximum(Ev, 0) / (v @ v) - v, atol=1e-12)
    assert dd == pytest.approx(d @ d)
    assert dEv == pytest.approx(d @ Ev, abs=1e-9)
    assert alive == (Ev > 0).any()


@given(graphs(min_n=4), generators())
def test_sweep_keeps_its_products(S, rng):
    V, SV, G = state(S, random_start(S, 3, rng))
    before = full_loss(S, V.T)
    for _ in range(3):
        sweep(S, V, SV, G, 1e-8)
        now = full_loss(S, V.T)
        assert now <= before + 1e-12 * square_norm(S)
        before = now
    assert V.min() >= 0
    np.testing.assert_allclose(SV, (S @ V.T).T, atol=1e-10)
    np.testing.assert_allclose(G, V @ V.T, atol=1e-10)


@given(graphs(min_n=4), generators())
def test_loss_never_rises_with_a_column(S, rng):
    V = random_start(S, 1, rng)
    others = 0.2 * rng.random((len(V), 2))
    E = dense(S) - others @ others.T
    V, SV, G = state(E, V)
    before = full_loss(E, V.T)
    sweep(E, V, SV, G, 1e-8)
    assert full_loss(E, V.T) <= before + 1e-12 * square_norm(E)


def test_column_that_nothing_supports_dies():
    # E v < 0 everywhere: the best v is 0, and it stays there.
    E = -np.ones((3, 3))
    V, SV, G = state(E, np.ones((3, 1)))
    assert sweep(E, V, SV, G, 1e-4) == 3
    assert not V.any()
    assert not G.any()
    assert sweep(E, V, SV, G, 1e-4) == 0


# -- the descent ----------------------------------------------------------------------


def test_rank_one():
    u = np.array([3.0, 1.0, 0.5, 2.0, 0.0])
    S = np.outer(u, u)
    start = random_start(S, 1, np.random.default_rng(0))
    factor = by_columns(S, start, square_norm(S), max_iter=100, tol=1e-9)
    np.testing.assert_allclose(factor.V[:, 0], u, atol=1e-8)
    assert factor.converged


def test_conditions_of_optimality():
    fit = model(3, tol=1e-8).fit(BLOCKS)
    V = fit.V_
    gradient = V @ (V.T @ V) - BLOCKS @ V
    assert np.abs(np.minimum(V, gradient)).max() < 1e-7
    assert fit.residual_ == pytest.approx(kkt_residual(BLOCKS, V))
    assert fit.residual_ < 1e-7


def test_ends_below_the_multiplicative_update():
    below = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        S, _ = block_graph(rng, [15] * 4)
        V, square = random_start(S, 4, rng), square_norm(S)
        columns = by_columns(S, V, square, max_iter=1000, tol=1e-5)
        other = multiplicative(
            S, V, square, lambda _, change: change <= 1e-5,
            max_iter=3000, exponent=0.25,
        )  # fmt: skip
        below += columns.history[-1] <= other.history[-1]
    assert below >= 18


# -- the estimator --------------------------------------------------------------------


def test_fitted_attributes():
    fit = model(3).fit(BLOCKS)
    assert accuracy(TRUTH, fit.labels_) == 1
    assert fit.objective_ == pytest.approx(full_loss(BLOCKS, fit.V_))
    assert fit.history_.shape == (fit.n_iter_ + 1,)
    assert fit.history_[-1] == fit.objective_ == fit.all_objectives_.min()
    assert (np.diff(fit.history_) <= 1e-12).all()
    np.testing.assert_array_equal(fit.labels_, fit.V_.argmax(axis=1))


def test_max_iter():
    with pytest.warns(ConvergenceWarning, match="PHALS stopped at max_iter=2"):
        fit = model(3, max_iter=2).fit(BLOCKS)
    assert fit.n_iter_ == 2


def test_bad_parameters():
    with pytest.raises(ValueError, match=r"Unknown normalize 'sym'\. Known: ncut"):
        model(3, normalize="sym").fit(BLOCKS)
