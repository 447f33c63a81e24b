"""Groups of samples that move together: the same problem with fewer rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs

from lordclust import BLoRD
from lordclust.graph import KNNGraph
from lordclust.solver.aggregate import Aggregate, contracted, paired
from lordclust.solver.omega import make_omega
from lordclust.solver.problem import BLoRDProblem, LoRDProblem
from lordclust.solver.projection import feasibility_error
from lordclust.solver.start import random_start
from strategies import generators

X, Y = make_blobs(600, n_features=5, centers=8, cluster_std=3.0, random_state=0)
S = KNNGraph().build(X)


def problem_of(*, weight=None, kind=BLoRDProblem, known=None):
    omega, _ = make_omega(len(X), 8, None, weight, known)
    return kind.of(S, omega)


def greedy(A):
    """Return the pairs of a greedy matching by falling similarity."""
    free, pairs = set(range(len(A))), set()
    order = np.dstack(np.unravel_index(np.argsort(-A, axis=None), A.shape))[0]
    for i, j in order.tolist():
        if i != j and A[i, j] > 0 and i in free and j in free:
            free -= {i, j}
            pairs.add((min(i, j), max(i, j)))
    return pairs


def test_pairs_are_those_of_a_greedy_matching():
    A = np.random.default_rng(0).random((12, 12))
    numbers = paired(sparse.csr_array(A + A.T))
    found = [np.flatnonzero(numbers == g) for g in range(numbers.max() + 1)]
    pairs = {tuple(rows.tolist()) for rows in found if len(rows) == 2}
    # The last ones are found in later rounds, if at all.
    assert pairs <= greedy(A + A.T)
    assert len(pairs) >= 4


@settings(max_examples=10)
@given(generators())
def test_pairs_do_not_depend_on_the_order(rng):
    order = rng.permutation(len(X))
    plain, other = paired(S), paired(sparse.csr_array(S[order][:, order]))
    same = plain[order][:, None] == plain[order]
    np.testing.assert_array_equal(same, other[:, None] == other)


def test_rows_without_edges_stay_alone():
    A = sparse.csr_array(([1.0, 1.0], ([0, 2], [2, 0])), shape=(4, 4))
    np.testing.assert_array_equal(paired(A), [0, 1, 0, 2])
    np.testing.assert_array_equal(paired(sparse.csr_array((3, 3))), [0, 1, 2])


def test_contraction_takes_weighted_means():
    A = np.array([[0.0, 2, 3], [2, 0, 5], [3, 5, 0]])
    M, total = contracted(
        sparse.csr_array(A), np.array([1.0, 3.0, 2.0]), np.array([0, 0, 1])
    )
    np.testing.assert_allclose(total, [4, 2])
    np.testing.assert_allclose(M.toarray(), [[0.75, 4.5], [4.5, 0]])


@pytest.mark.parametrize("weighted", [False, True])
@settings(max_examples=10)
@given(generators(), st.floats(0, 1))
def test_groups_have_the_objective_of_their_samples(weighted, rng, tau):
    weight = np.maximum(rng.random(len(X)) - 0.1, 0.0) if weighted else None
    problem = problem_of(weight=weight)
    groups = Aggregate.of(problem)
    V = random_start(groups.problem.omega, rng)
    assert len(V) < len(X) / 4
    wide = groups.of_samples(V)
    assert feasibility_error(wide, problem.omega) < 1e-9
    value = problem.value(wide, tau)
    assert groups.problem.value(V, tau) == pytest.approx(value, rel=1e-9, abs=1e-12)
    heavy = groups.problem.omega.weight > 0
    np.testing.assert_allclose(groups.of_groups(wide)[heavy], V[heavy], atol=1e-12)


def test_means_of_a_feasible_v_are_feasible():
    problem = problem_of()
    groups = Aggregate.of(problem)
    V = groups.of_groups(random_start(problem.omega, np.random.default_rng(0)))
    assert feasibility_error(V, groups.problem.omega) < 1e-9


def test_soft_shares_have_the_same_price():
    problem = problem_of()
    soft = BLoRDProblem.of(S, make_omega(len(X), 8, (None, 2.0))[0])
    assert Aggregate.of(soft).problem.omega.price == pytest.approx(soft.omega.price)
    assert Aggregate.of(problem).problem.omega.exact


def test_what_is_not_aggregated():
    known = np.where(np.arange(len(X)) < 3, Y, -1)
    assert Aggregate.of(problem_of(known=known)) is None
    assert Aggregate.of(problem_of(kind=LoRDProblem)) is None
    dense = BLoRDProblem.of(S.toarray(), make_omega(len(X), 8)[0])
    assert Aggregate.of(dense) is None
    crowded = BLoRDProblem.of(S, make_omega(len(X), 100)[0])
    assert Aggregate.of(crowded) is None


def test_a_star_is_not_aggregated():
    rows = np.zeros(99, dtype=int)
    star = sparse.csr_array((np.ones(99), (rows, np.arange(1, 100))), shape=(100, 100))
    star = sparse.csr_array(star + star.T)
    assert Aggregate.of(BLoRDProblem.of(star, make_omega(100, 2)[0])) is None


def test_the_race_is_as_good_with_groups(monkeypatch):
    data, _ = make_blobs(2500, n_features=6, centers=8, cluster_std=3.0, random_state=1)
    model = BLoRD(8, proportions="equal", tau=1.0)
    grouped = model.fit(data).objective_
    monkeypatch.setattr(Aggregate, "of", lambda problem: None)
    assert grouped >= 0.999 * model.fit(data).objective_
