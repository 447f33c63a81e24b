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
from lordclust.rounding.transport import (
    Bounds,
    assign_sizes,
    check_bounds,
    priced_assignment,
    sizes_from,
)
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


def least_within_bounds(cost, bounds):
    """The same linear program, with bounds on the sizes."""
    n, k = cost.shape
    rows = kron(eye_array(n), np.ones((1, k)))
    columns = kron(np.ones((1, n)), eye_array(k))
    return linprog(
        cost.ravel(),
        A_ub=vstack([columns, -columns]), b_ub=[*bounds.high, *-bounds.low],
        A_eq=rows, b_eq=np.ones(n),
    ).fun  # fmt: skip


@st.composite
def bounded_problems(draw):
    cost, sizes = draw(problems())
    rng, n = draw(generators()), len(cost)
    slack = draw(st.sampled_from([1, 3, n]))
    low = np.maximum(sizes - rng.integers(0, slack + 1, len(sizes)), 0)
    high = np.minimum(sizes + rng.integers(0, slack + 1, len(sizes)), n)
    return cost, Bounds(low, high)


@given(bounded_problems(), st.sampled_from([0, transport.FEW]), st.booleans())
def test_no_partition_within_bounds_costs_less(problem, few, warm):
    cost, bounds = problem
    prices = None
    if warm:
        other = cost + np.random.default_rng(0).standard_normal(cost.shape)
        prices = priced_assignment(other, bounds).prices
    with mock.patch.object(transport, "FEW", few):
        labels, prices = priced_assignment(cost, bounds, prices)
    assert bounds.hold(labels)
    least = least_within_bounds(cost, bounds)
    assert total(cost, labels) == pytest.approx(least, abs=1e-9)
    # The certificate: prices are positive at the least size, negative at the largest.
    sizes = np.bincount(labels, minlength=len(prices))
    reduced = cost - prices
    np.testing.assert_allclose(
        reduced[np.arange(len(cost)), labels], reduced.min(axis=1), atol=1e-9
    )
    assert (sizes[prices > 1e-9] == bounds.low[prices > 1e-9]).all()
    assert (sizes[prices < -1e-9] == bounds.high[prices < -1e-9]).all()


@given(problems())
def test_bounds_that_nearest_clusters_meet_change_nothing(problem):
    cost, _ = problem
    n, k = cost.shape
    bounds = Bounds(np.zeros(k, dtype=int), np.full(k, n))
    np.testing.assert_array_equal(assign_sizes(cost, bounds), cost.argmin(axis=1))


def test_bounds_are_numbers_lists_or_shares():
    low, high = check_bounds(2, [0.5, 6, 10], 3, 9, 0)
    np.testing.assert_array_equal(low, [2, 2, 2])
    np.testing.assert_array_equal(high, [4, 6, 9])
    low, high = check_bounds(0.3, None, 3, 10, 0)
    np.testing.assert_array_equal(low, [3, 3, 3])  # 0.3 * 10 is 3, up to rounding
    low, high = check_bounds(None, 8, 2, 9, 1)
    np.testing.assert_array_equal([low, high], [[1, 1], [8, 8]])


@pytest.mark.parametrize(
    ("size_min", "size_max", "message"),
    [
        (4, None, "size_min does not suit 10 samples: 3 clusters hold at least 12"),
        (None, 3, "size_max does not suit 10 samples: 3 clusters hold at most 9"),
        ([1, 5, 1], 4, "got 5 and 4 samples for cluster 1"),
        ([1, 2], None, "one number, or n_clusters=3 numbers, got shape"),
        (-1, None, "size_min must be whole numbers of samples, or shares.*got -1"),
        (None, 4.5, "size_max must be whole numbers of samples, or shares.*got 4.5"),
        (None, np.nan, "got nan"),
        (None, np.inf, "got inf"),
        ("a", None, "size_min must be numbers"),
    ],
)
def test_impossible_bounds_are_refused(size_min, size_max, message):
    with pytest.raises(ValueError, match=message):
        check_bounds(size_min, size_max, 3, 10, 0)
