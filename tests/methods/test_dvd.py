"""DvD: doubly stochastic, with the k-th eigenvalue above c1 and the next below c2."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lordclust.methods import DSN, DvD
from lordclust.methods._solvers.learned import prepare
from lordclust.metrics import accuracy
from strategies import block_graph

S, TRUTH = block_graph(np.random.default_rng(0), [12, 15, 18], between=0.05)


def on_graph(S, k=3, **params):
    return DvD(k, affinity="precomputed", random_state=0, **params).fit(S)


def test_four_points_by_hand():
    # Pairs (0, 1) and (2, 3) have 0.5, all others 0.2, the diagonal 0. All samples are
    # alike: Z has d on the diagonal, p for pairs and c else, d + p + 2c = 1, and the
    # eigenvalues 1, 1 - 4c, d - p, d - p. The second at least 0.9: c <= 0.025; the
    # others at least 0: d >= p. S wants larger c and smaller d: both hold with
    # equality, so d = p = 0.475.
    pairs = np.kron(np.eye(2), np.ones((2, 2)))
    S = 0.3 * pairs + 0.2 * np.ones((4, 4)) - 0.5 * np.eye(4)
    model = on_graph(S, 2, normalize=None, tol=1e-6)
    expected = 0.45 * pairs + 0.025
    np.testing.assert_allclose(model.affinity_matrix_, expected, atol=1e-5)
    np.testing.assert_allclose(model.eigenvalues_, [1, 0.9, 0], atol=1e-5)
    value = 4 * 0.475**2 + 4 * 0.025**2 + 8 * 0.175**2
    assert model.objective_ == pytest.approx(value, rel=1e-4)
    np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1])


@pytest.mark.parametrize("normalize", ["sym", "sum", None])
@pytest.mark.parametrize(("c1", "c2"), [(0.9, 0.5), (0.95, 0.2), (0.99, 0.01)])
def test_constraints(c1, c2, normalize):
    model = on_graph(S, c1=c1, c2=c2, normalize=normalize, tol=1e-4)
    Z = model.affinity_matrix_
    assert model.converged_
    assert Z.min() >= 0
    np.testing.assert_array_equal(Z, Z.T)
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1.01e-8)
    values = np.linalg.eigvalsh(Z)
    off = model.residual_ * np.linalg.norm(Z)
    assert off < 1e-3
    assert values[0] >= -off
    assert values[-3] >= c1 - off
    assert values[-4] <= c2 + off
    np.testing.assert_allclose(model.eigenvalues_, values[:-5:-1], atol=1e-9)
    distance = np.linalg.norm(Z - prepare(S, normalize)) ** 2
    assert model.objective_ == pytest.approx(distance)


def test_a_wider_gap_costs_more():
    pairs = [(0.7, 0.7), (0.9, 0.5), (0.99, 0.01)]
    objectives = [on_graph(S, c1=c1, c2=c2).objective_ for c1, c2 in pairs]
    assert objectives[0] < objectives[1] < objectives[2]
    nearest = DSN(3, affinity="precomputed").fit(S).objective_
    assert nearest < objectives[0] * (1 + 1e-9)


def test_without_a_gap_it_is_dsn_if_that_is_positive_semidefinite():
    # With k = n and c1 = 0 nothing is asked but eigenvalues in [0, 1].
    A = prepare(S) + np.eye(len(TRUTH))
    nearest = DSN(3, affinity="precomputed").fit(A).affinity_matrix_
    assert np.linalg.eigvalsh(nearest)[0] > 0
    free = on_graph(A, len(TRUTH), c1=0.0, c2=0.0, n_init=1)
    np.testing.assert_allclose(free.affinity_matrix_, nearest, atol=1e-7)


def test_a_partition_matrix_is_returned():
    same = np.kron(np.eye(3), np.full((4, 4), 1 / 4))
    model = on_graph(same)
    np.testing.assert_allclose(model.affinity_matrix_, same, atol=1e-7)
    assert model.n_iter_ == 1


def test_blocks_are_found():
    assert accuracy(TRUTH, on_graph(S).labels_) == 1


@pytest.mark.parametrize("k", [1, 12])
def test_extreme_numbers_of_clusters(k):
    X = np.random.default_rng(0).standard_normal((12, 2))
    model = DvD(k, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == k
    assert model.eigenvalues_.shape == (min(k + 1, 12),)


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match="DvD stopped at max_iter=3"):
        model = on_graph(S, c1=0.99, c2=0.01, max_iter=3)
    assert model.residual_ > model.tol


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"c1": 1.1}, "c1 and c2 must satisfy 0 <= c2 <= c1 <= 1, got c1=1.1"),
        ({"c1": 0.4}, "c1 and c2 must satisfy 0 <= c2 <= c1 <= 1, got c1=0.4"),
        ({"c2": -0.1}, "c2 must be a finite number of 0 or more"),
        ({"c1": float("nan")}, "c1 must be a finite number of 0 or more"),
        ({"c1": "high"}, "c1 must be a number of 0 or more"),
        ({"rho": 0}, "rho must be a finite number above 0"),
    ],
)
def test_refusals(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        on_graph(S, **params)
