"""Partitions with given sizes: exact, certified, and hard to upset."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import eye_array, kron, vstack

from lordclust.rounding import transport
from lordclust.rounding.transport import assign_sizes, priced_assignment, sizes_from
from strategies import generators


def total(cost, labels):
    return cost[np.arange(len(cost)), labels].sum()


def least_total(cost, sizes):
    """The Hungarian method on one column for each place."""
    places = np.repeat(cost, sizes, axis=1)
    return places[linear_sum_assignment(places)].sum()


def least_by_linear_program(cost, sizes):
    n, k = cost.shape
    rows = kron(eye_array(n), np.ones((1, k)))
    columns = kron(np.ones((1, n)), eye_array(k))
    b = np.concatenate([np.ones(n), sizes])
    return linprog(cost.ravel(), A_eq=vstack([rows, columns]), b_eq=b).fun


def lower_bound(cost, sizes, prices):
    """The dual of the linear program: no partition of these sizes costs less."""
    return (cost - prices).min(axis=1).sum() + sizes @ prices


def cheapest_moves(cost, labels, k):
    """W[j, l]: the least cost of moving a row of j to l."""
    W = np.full((k, k), np.inf)
    for j in np.unique(labels):
        rows = cost[labels == j]
        W[j] = (rows - rows[:, [j]]).min(axis=0)
    return W


def shortest_cycle(W):
    """The length of the shortest closed walk, by Floyd and Warshall."""
    D = W.copy()
    np.fill_diagonal(D, np.inf)
    for j in range(len(D)):
        D = np.minimum(D, D[:, [j]] + D[j])
    return np.diag(D).min()


@st.composite
def problems(draw, max_n=30):
    n = draw(st.integers(1, max_n))
    k = draw(st.integers(1, min(n, 7)))
    rng = draw(generators())
    cost = {
        "normal": lambda: rng.standard_normal((n, k)),
        "ties": lambda: rng.integers(-2, 3, (n, k)).astype(float),
        "skewed": lambda: rng.random((n, k)) + 3 * np.arange(k),
        "line": lambda: (rng.standard_normal((n, 1)) - np.linspace(1, 3, k)) ** 2,
        "copies": lambda: np.tile(rng.standard_normal(k), (n, 1)),
    }[draw(st.sampled_from(["normal", "ties", "skewed", "line", "copies"]))]()
    sizes = np.bincount(rng.integers(0, draw(st.integers(1, k)), n), minlength=k)
    return cost, sizes


@given(problems())
def test_no_partition_of_these_sizes_costs_less(problem):
    cost, sizes = problem
    labels = assign_sizes(cost, sizes)
    np.testing.assert_array_equal(np.bincount(labels, minlength=len(sizes)), sizes)
    assert total(cost, labels) == pytest.approx(least_total(cost, sizes), abs=1e-9)


@given(problems(max_n=12))
def test_it_solves_the_linear_program(problem):
    cost, sizes = problem
    least = least_by_linear_program(cost, sizes)
    assert total(cost, assign_sizes(cost, sizes)) == pytest.approx(least, abs=1e-7)


@given(problems())
def test_prices_prove_it(problem):
    cost, sizes = problem
    found = priced_assignment(cost, sizes)
    bound = lower_bound(cost, sizes, found.prices)
    assert total(cost, found.labels) == pytest.approx(bound, abs=1e-9)


@given(problems(), generators())
def test_any_prices_to_begin_with_lead_to_the_optimum(problem, rng):
    cost, sizes = problem
    found = priced_assignment(cost, sizes, 3 * rng.standard_normal(len(sizes)))
    least = least_total(cost, sizes)
    assert total(cost, found.labels) == pytest.approx(least, abs=1e-9)


@given(problems())
def test_every_way_to_the_optimum_costs_the_same(problem):
    """Levelled prices or none; rows moved by heaps or looked through."""
    cost, sizes = problem
    totals = []
    for sweeps, few in itertools.product((0, 2), (0, 1000)):
        with mock.patch.multiple(transport, SWEEPS=sweeps, FEW=few):
            labels = assign_sizes(cost, sizes)
        np.testing.assert_array_equal(np.bincount(labels, minlength=len(sizes)), sizes)
        totals.append(total(cost, labels))
    np.testing.assert_allclose(totals, totals[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 2.0], ids=["even", "skewed"])
def test_no_cycle_of_moves_gains_among_many_rows(shift):
    rng = np.random.default_rng(0)
    k = 8
    cost = rng.random((5000, k)) + shift * np.arange(k)
    sizes = sizes_from(rng.dirichlet(np.ones(k)), 5000)
    found = priced_assignment(cost, sizes)
    assert shortest_cycle(cheapest_moves(cost, found.labels, k)) >= -1e-12
    bound = lower_bound(cost, sizes, found.prices)
    assert total(cost, found.labels) == pytest.approx(bound, rel=1e-12)


def test_by_hand():
    # All three prefer cluster 0, which has one place. Giving it to row 1 saves 5,
    # more than row 0 (1) or row 2 (3) would save.
    labels = assign_sizes([[0, 1], [0, 5], [0, 3]], [1, 2])
    np.testing.assert_array_equal(labels, [1, 0, 1])


def test_a_chain_of_moves():
    # Row 0 cannot go from 0 to 2 itself; it goes to 1, and row 1 from there to 2.
    cost = np.array([[0.0, 1.0, 99.0], [99.0, 0.0, 1.0], [0.0, 99.0, 99.0]])
    np.testing.assert_array_equal(assign_sizes(cost, [1, 1, 1]), [1, 2, 0])


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_the_unit_of_cost_does_not_matter(scale):
    cost = np.random.default_rng(1).standard_normal((60, 4))
    sizes = [30, 20, 10, 0]
    expected = assign_sizes(cost, sizes)
    np.testing.assert_array_equal(assign_sizes(cost * scale, sizes), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_types_of_cost(dtype):
    cost = np.random.default_rng(2).integers(0, 50, (40, 3)).astype(dtype)
    labels = assign_sizes(cost, [5, 5, 30])
    exact = cost.astype(float)
    assert total(exact, labels) == least_total(exact, [5, 5, 30])


def test_one_cluster_and_one_row_each():
    cost = np.random.default_rng(3).random((9, 9))
    assert (assign_sizes(cost[:, :1], [9]) == 0).all()
    labels = assign_sizes(cost, np.ones(9, dtype=int))
    np.testing.assert_array_equal(np.sort(labels), np.arange(9))
    assert total(cost, labels) == pytest.approx(least_total(cost, np.ones(9, int)))


def test_input_is_left_alone():
    cost = np.random.default_rng(4).random((20, 3))
    sizes, prices = np.array([18, 1, 1]), np.zeros(3)
    before = cost.copy()
    priced_assignment(cost, sizes, prices)
    np.testing.assert_array_equal(cost, before)
    np.testing.assert_array_equal(sizes, [18, 1, 1])
    np.testing.assert_array_equal(prices, 0)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([2, 2], "sizes must sum to the number of samples, 3, got a sum of 4"),
        ([4, -1], "sizes must not be negative, got -1 at position 1"),
        ([1.0, 2.0], "sizes must be integers, got float64"),
        ([3], r"sizes must hold n_clusters=2 numbers, got shape \(1,\)"),
    ],
)
def test_bad_sizes(sizes, message):
    with pytest.raises(ValueError, match=message):
        assign_sizes(np.zeros((3, 2)), sizes)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_cost(bad):
    with pytest.raises(ValueError, match="cost must be finite"):
        assign_sizes([[0.0, bad]], [1, 0])
    with pytest.raises(ValueError, match="cost must have a row for each sample"):
        assign_sizes([0.0, bad], [1, 1])


@given(generators(), st.integers(1, 12), st.integers(1, 1000))
def test_sizes_are_the_quota_rounded(rng, k, n):
    shares = rng.dirichlet(np.ones(k)) + 1e-9
    shares /= shares.sum()
    sizes = sizes_from(shares, n)
    assert sizes.sum() == n
    assert (np.abs(sizes - n * shares) < 1 + 1e-6).all()
    # Whoever was rounded up has no smaller remainder than who was rounded down.
    up = sizes > n * shares
    remainder = n * shares - np.floor(n * shares)
    assert remainder[up].min(initial=1) >= remainder[~up].max(initial=0) - 1e-6


def test_equal_remainders_go_to_the_first():
    np.testing.assert_array_equal(sizes_from(np.full(3, 1 / 3), 8), [3, 3, 2])
    # 4.5 and 10.5 but for rounding.
    np.testing.assert_array_equal(sizes_from([0.3, 0.7], 15), [5, 10])


def test_whole_shares_are_met_exactly():
    np.testing.assert_array_equal(sizes_from([0.1, 0.2, 0.7], 10), [1, 2, 7])
    np.testing.assert_array_equal(sizes_from([0.29, 0.71], 100), [29, 71])


def test_bad_proportions():
    with pytest.raises(ValueError, match="proportions must sum to 1"):
        sizes_from([0.5, 0.6], 10)
