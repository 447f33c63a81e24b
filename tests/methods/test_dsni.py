"""DSNI: doubly stochastic, and the nearer to idempotent the larger w is."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import DSN, DSNI
from lordclust.methods._solvers.birkhoff import nearest_ds
from lordclust.methods._solvers.learned import prepare
from lordclust.methods.dsni import fit_idempotent, penalised
from lordclust.metrics import accuracy
from strategies import block_graph, generators, graphs

S, TRUTH = block_graph(np.random.default_rng(0), [12, 15, 18], between=0.05)


def on_graph(S, k=3, **params):
    return DSNI(k, affinity="precomputed", random_state=0, **params).fit(S)


def partition_matrix(labels):
    same = labels[:, None] == labels
    return same / same.sum(axis=1)


def test_four_points_by_hand():
    # A has d on the diagonal, p for pairs, c else and the eigenvalues 1, 1 - 4c = 0.7,
    # d - p = 0.1 twice. Z is of the same form with eigenvalues 1, a, b, b, each the
    # least of (a - 0.7)^2 / 2 + w a (1 - a): for w = 0.2 0.6 a = 0.5, and b = 0 as
    # 0.6 b + 0.1 > 0.
    pairs, whole = np.kron(np.eye(2), np.ones((2, 2))), np.ones((4, 4))
    A = 0.3 * pairs + 0.075 * whole + 0.1 * np.eye(4)
    Z = fit_idempotent(A, 0.2, 3.0, tol=1e-9, max_iter=1000).Z
    np.testing.assert_allclose(Z, (10 * pairs + whole) / 24, atol=1e-6)
    value = ((5 / 6 - 0.7) ** 2 + 2 * 0.01) / 2 + 0.2 * 5 / 36
    assert penalised(Z, A, 0.2) == pytest.approx(value, rel=1e-5)


@given(generators(), st.sampled_from([0.0, 0.1, 0.4, 0.49]))
def test_two_forms_of_the_objective(rng, w):
    """It is (1/2 - w) |Z - (A - wI)/(1 - 2w)|^2 and a constant; w l (1-l) summed."""
    A, Z1, Z2 = (B + B.T for B in rng.standard_normal((3, 6, 6)))
    T = (A - w * np.eye(6)) / (1 - 2 * w)
    constant = [
        penalised(Z, A, w) - (0.5 - w) * np.linalg.norm(Z - T) ** 2 for Z in (Z1, Z2)
    ]
    assert constant[0] == pytest.approx(constant[1], rel=1e-7, abs=1e-7)
    values = np.linalg.eigvalsh(Z1)
    penalty = penalised(Z1, A, w) - np.linalg.norm(Z1 - A) ** 2 / 2
    assert penalty == pytest.approx(w * (values * (1 - values)).sum(), abs=1e-8)


@pytest.mark.parametrize("w", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("normalize", ["sym", "sum", None])
def test_constraints(w, normalize):
    model = on_graph(S, w=w, normalize=normalize)
    Z = model.affinity_matrix_
    assert model.converged_
    assert Z.min() >= 0
    np.testing.assert_array_equal(Z, Z.T)
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1.01e-8)
    off = model.residual_ * np.linalg.norm(Z)
    assert off < 2e-3
    assert np.linalg.eigvalsh(Z)[0] >= -off
    assert model.objective_ == pytest.approx(penalised(Z, prepare(S, normalize), w))
    assert model.idempotence_ == pytest.approx(np.linalg.norm(Z @ Z - Z))


@pytest.mark.parametrize("w", [0.0, 0.2, 0.4])
def test_optimal_where_it_is_convex(w):
    """No step towards a feasible matrix lowers the objective."""
    rng = np.random.default_rng(1)
    A = prepare(S)[:20, :20]
    Z = fit_idempotent(A, w, 3.0, tol=1e-7, max_iter=5000).Z
    gradient = Z - A + w * (np.eye(20) - 2 * Z)
    others = [np.eye(20), np.full((20, 20), 1 / 20)]
    others += [partition_matrix(rng.integers(0, j, 20)) for j in range(2, 12)]
    for other in others:
        assert np.vdot(gradient, other - Z) >= -1e-3


def test_without_penalty_it_is_dsn_if_that_is_positive_semidefinite():
    A = prepare(S) + np.eye(len(TRUTH))
    nearest = DSN(3, affinity="precomputed").fit(A).affinity_matrix_
    assert np.linalg.eigvalsh(nearest)[0] > 0
    Z = on_graph(A, w=0.0).affinity_matrix_
    np.testing.assert_allclose(Z, nearest, atol=1e-7)


def test_with_a_penalty_it_is_dsn_of_another_matrix_then():
    # A - wI is far from singular: the bounds of the eigenvalues do not matter.
    A = np.kron(np.eye(3), np.full((4, 4), 0.1)) + 0.6 * np.eye(12) + 0.1
    w = 0.1
    shifted = nearest_ds((A - w * np.eye(12)) / (1 - 2 * w)).Z
    assert np.linalg.eigvalsh(shifted)[0] > 0.1
    Z = fit_idempotent(A, w, 3.0, tol=1e-9, max_iter=1000).Z
    np.testing.assert_allclose(Z, shifted, atol=1e-6)


def test_a_large_weight_gives_a_partition():
    """Sinkhorn: doubly stochastic and idempotent means equal rows in each block."""
    model = on_graph(S, w=3.0, tol=1e-7, max_iter=2000)
    Z = model.affinity_matrix_
    assert model.idempotence_ < 1e-4
    _, blocks = sp.csgraph.connected_components(Z > 1e-4)
    np.testing.assert_allclose(Z, partition_matrix(blocks), atol=1e-4)
    assert blocks.max() > 0


def test_a_larger_weight_is_nearer_to_idempotent():
    values = [on_graph(S, w=w).idempotence_ for w in (0.0, 0.2, 0.4)]
    assert values[0] > values[1] > values[2]


def test_a_partition_matrix_is_returned():
    same = partition_matrix(np.repeat([0, 1, 2], 4))
    for w in (0.0, 0.2, 2.0):
        model = on_graph(same, w=w, tol=1e-7)
        np.testing.assert_allclose(model.affinity_matrix_, same, atol=1e-6)
        assert model.idempotence_ < 1e-5


@given(graphs(min_n=3, max_n=15))
def test_any_graph(S):
    model = on_graph(S, 2, n_init=1, tol=1e-2)
    np.testing.assert_allclose(model.affinity_matrix_.sum(axis=1), 1, atol=1.01e-8)
    assert np.isfinite(model.embedding_).all()


def test_blocks_are_found():
    assert accuracy(TRUTH, on_graph(S).labels_) == 1


@pytest.mark.parametrize("k", [1, 12])
def test_extreme_numbers_of_clusters(k):
    X = np.random.default_rng(0).standard_normal((12, 2))
    assert len(np.unique(DSNI(k, random_state=0).fit_predict(X))) == k


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match="DSNI stopped at max_iter=3"):
        model = on_graph(S, max_iter=3)
    assert model.residual_ > model.tol


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"w": -0.1}, "w must be a finite number of 0 or more"),
        ({"w": 3.0, "rho": 1.0}, "rho must be at least 2 w = 6, got 1.0"),
        ({"rho": 0.0}, "rho must be a finite number above 0"),
    ],
)
def test_refusals(params, message):
    with pytest.raises(ValueError, match=message):
        on_graph(S, **params)
