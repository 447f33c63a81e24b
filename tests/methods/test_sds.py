"""SDS: doubly stochastic, of trace k, and nearer to k blocks the larger lam is."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import SDS
from lordclust.methods._solvers.birkhoff import nearest_ds
from lordclust.methods.sds import fit_kyfan, fit_rank, fit_trace, with_k_ones
from lordclust.metrics import accuracy
from strategies import block_graph, graphs

S, TRUTH = block_graph(np.random.default_rng(0), [12, 15, 18], between=0.05)
PAIRS = np.kron(np.eye(2), np.ones((2, 2)))


def on_graph(S, k=3, **params):
    return SDS(k, affinity="precomputed", random_state=0, **params).fit(S)


def symmetric(seed, n):
    A = np.random.default_rng(seed).random((n, n))
    return (A + A.T) / 2


def assert_constraints(Z, k, tol=1e-9):
    assert Z.min() >= 0
    np.testing.assert_array_equal(Z, Z.T)
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=tol)
    assert np.trace(Z) == pytest.approx(k, rel=tol)


# -- by hand ----------------------------------------------------------------------

# Pairs (0, 1) and (2, 3) have 0.5, all others 0.2, the diagonal 0; k = 2. All samples
# are alike, so Z has 1/2 on the diagonal, p for pairs and c else, p + 2c = 1/2.
FOUR = 0.3 * PAIRS + 0.2 * np.ones((4, 4)) - 0.5 * np.eye(4)


def test_four_points_without_penalty():
    # p - c = 0.3 as in S: c = 0.2/3, p = 1.1/3. The eigenvalues are 1, 1/2 + p - 2c =
    # 2.2/3 and 1/2 - p twice, so that I - Z has 0 and 0.8/3 as its two smallest.
    model = on_graph(FOUR, 2, variant="trace", normalize=None)
    expected = 0.3 * PAIRS + 0.2 / 3 + (0.5 - 1.1 / 3) * np.eye(4)
    np.testing.assert_allclose(model.affinity_matrix_, expected, atol=1e-9)
    assert model.blockness_ == pytest.approx(0.8 / 3)
    assert model.objective_ == pytest.approx(4 * 0.25 + 12 * (0.4 / 3) ** 2)


def test_four_points():
    # FF' is 1/2 within pairs and 0 else, so p - c = 0.3 + lam/2: for lam = 0.1 p = 0.4,
    # c = 0.05, the second eigenvalue 0.8, and the penalty 2 * 0.1 * 0.2.
    model = on_graph(FOUR, 2, lam=0.1, normalize=None)
    expected = 0.35 * PAIRS + 0.05 + 0.1 * np.eye(4)
    np.testing.assert_allclose(model.affinity_matrix_, expected, atol=1e-9)
    assert model.objective_ == pytest.approx(1 + 4 * 0.01 + 8 * 0.15**2 + 0.04)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])


# -- all variants -----------------------------------------------------------------


@pytest.mark.parametrize("variant", ["kyfan", "trace"])
@pytest.mark.parametrize("normalize", ["sym", "sum", None])
def test_constraints(variant, normalize):
    model = on_graph(S, variant=variant, normalize=normalize)
    assert_constraints(model.affinity_matrix_, 3)
    top = np.linalg.eigvalsh(model.affinity_matrix_)[-3:]
    assert model.blockness_ == pytest.approx(3 - top.sum())
    assert accuracy(TRUTH, model.labels_) > 0.95


@pytest.mark.parametrize("fit", ["kyfan", "rank", "trace"])
def test_a_partition_matrix_is_returned(fit):
    same = TRUTH[:, None] == TRUTH
    A = same / same.sum(axis=1)
    limits = {"tol": 1e-6, "max_iter": 50}
    Z = {
        "kyfan": lambda: fit_kyfan(A, 3, 1.0, 0.0, 3, **limits),
        "rank": lambda: fit_rank(A, 3, 0.0, 3, 1.0, 1.1, **limits),
        "trace": lambda: fit_trace(A, 3, 0.0, 3),
    }[fit]()
    np.testing.assert_allclose(Z.Z, A, atol=1e-9)
    assert Z.objective < 1e-9
    assert Z.converged
    assert Z.fitted["blockness_"] < 1e-9


@pytest.mark.parametrize("r", [0.0, 0.5])
def test_a_multiple_of_the_identity_is_not_seen(r):
    A = symmetric(0, 20)
    limits = {"tol": 1e-9, "max_iter": 500}
    for shift in (1.0, -3.0):
        B = A + shift * np.eye(20)
        np.testing.assert_allclose(
            fit_trace(B, 4, r, 4).Z, fit_trace(A, 4, r, 4).Z, atol=1e-8
        )
        np.testing.assert_allclose(
            fit_kyfan(B, 4, 0.3, r, 4, **limits).Z,
            fit_kyfan(A, 4, 0.3, r, 4, **limits).Z,
            atol=1e-6,
        )


# -- the penalty ------------------------------------------------------------------


@given(graphs(min_n=4, max_n=20), st.sampled_from([0.01, 1.0, 30.0]), st.booleans())
def test_the_objective_never_rises(S, lam, fix_trace):
    model = on_graph(S, 2, lam=lam, r=0.1, fix_trace=fix_trace, n_init=1)
    assert len(model.history_) == model.n_iter_ + 1
    assert np.diff(model.history_).max() <= 1e-8 * (1 + model.history_[0])
    assert model.history_[-1] == model.objective_


def test_the_objective_is_what_it_says():
    A = symmetric(1, 15)
    learned = fit_kyfan(A, 3, 0.7, 0.2, 3, tol=1e-6, max_iter=100)
    Z = learned.Z
    penalty = np.linalg.eigvalsh(np.eye(15) - Z)[:3].sum()
    value = ((Z - A) ** 2).sum() + 0.2 * (Z**2).sum() + 2 * 0.7 * penalty
    assert learned.objective == pytest.approx(value)


def test_no_feasible_neighbour_is_better():
    """A stationary point: no step towards a feasible matrix lowers the objective."""
    A, lam, r = symmetric(2, 15), 0.1, 0.3
    Z = fit_kyfan(A, 3, lam, r, 3, tol=1e-10, max_iter=2000).Z
    F = np.linalg.eigh(Z)[1][:, -3:]
    gradient = 2 * (Z - A) + 2 * r * Z - 2 * lam * (F @ F.T)
    for seed in range(20):
        other = nearest_ds(symmetric(100 + seed, 15), trace=3).Z
        assert np.vdot(gradient, other - Z) >= -1e-6


def test_a_larger_penalty_leads_to_k_blocks():
    weights = [0.01, 0.5, 10.0, 100.0]
    models = [on_graph(S, lam=lam) for lam in weights]
    distances = [model.blockness_ for model in models]
    assert np.all(np.diff(distances) <= 1e-12)  # the last ones are 0 but for rounding
    assert distances[-1] < 1e-6
    Z = models[-1].affinity_matrix_ > 1e-9
    assert sp.csgraph.connected_components(Z)[0] == 3


def test_without_a_fixed_trace():
    free = on_graph(S, fix_trace=False)
    Z = free.affinity_matrix_
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1e-9)
    assert abs(np.trace(Z) - 3) > 0.1
    assert free.objective_ < on_graph(S).objective_


# -- the other variants -----------------------------------------------------------


def test_trace_is_the_exact_projection():
    A = symmetric(3, 20)
    learned = fit_trace(A, 4, 0.25, 4)
    np.testing.assert_allclose(learned.Z, nearest_ds(A / 1.25, trace=4).Z, atol=1e-12)
    assert learned.fitted["residual_"] <= 1e-10


def test_the_nuclear_norm_is_constant():
    """Why the authors' convex form needs no algorithm of its own."""
    for seed in range(5):
        Z = nearest_ds(3 * symmetric(seed, 12), trace=4).Z
        assert np.abs(np.linalg.eigvalsh(np.eye(12) - Z)).sum() == pytest.approx(8)


def test_rank_of_the_auxiliary_matrix():
    G = symmetric(4, 10)
    W = with_k_ones(G, 3)
    assert np.linalg.matrix_rank(np.eye(10) - W) == 7
    values = np.sort(np.abs(1 - np.linalg.eigvalsh(G)))
    # Nothing of that rank is nearer (Eckart and Young).
    assert np.linalg.norm(W - G) == pytest.approx(np.linalg.norm(values[:3]))


def test_rank_comes_near_to_k_blocks():
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=60"):
        model = on_graph(S, variant="rank", max_iter=60)
    assert_constraints(model.affinity_matrix_, 3)
    assert 1e-5 < model.residual_ < 0.05
    assert model.blockness_ < on_graph(S, variant="trace").blockness_ / 2
    assert accuracy(TRUTH, model.labels_) == 1


# -- edges ------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 12])
@pytest.mark.parametrize("variant", ["kyfan", "trace"])
def test_extreme_numbers_of_clusters(k, variant):
    X = np.random.default_rng(0).standard_normal((12, 2))
    model = SDS(k, variant=variant, random_state=0).fit(X)
    assert_constraints(model.affinity_matrix_, k)
    assert len(np.unique(model.labels_)) == k


def test_scale_of_S():
    plain = on_graph(S).affinity_matrix_
    for scale in (1e-12, 1e12):
        np.testing.assert_allclose(
            on_graph(scale * S).affinity_matrix_, plain, atol=1e-5
        )


def test_sparse_is_dense():
    np.testing.assert_allclose(
        on_graph(S).affinity_matrix_, on_graph(S.toarray()).affinity_matrix_, atol=1e-9
    )


def test_isolated_samples():
    blocks = sp.block_diag([np.ones((6, 6)), np.ones((6, 6)), np.zeros((2, 2))])
    model = on_graph(sp.csr_array(blocks), 4)
    assert_constraints(model.affinity_matrix_, 4)
    assert accuracy(np.repeat([0, 1, 2, 3], [6, 6, 1, 1]), model.labels_) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"variant": "nuclear"}, "Unknown variant 'nuclear'"),
        ({"lam": 0.0}, "lam must be a finite number above 0"),
        ({"r": -1.0}, "r must be a finite number of 0 or more"),
        ({"rho": -1.0}, "rho must be a finite number above 0"),
    ],
)
def test_refusals(params, message):
    with pytest.raises(ValueError, match=message):
        on_graph(S, **params)
