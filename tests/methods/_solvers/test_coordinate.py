"""Coordinate ascent on labels, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.methods._solvers.coordinate import cd_scaled
from strategies import labels, matrices


def scaled_value(Q, y, power, balance):
    sizes = np.bincount(y, minlength=Q.shape[1])
    sums = np.bincount(y, Q[np.arange(len(y)), y], minlength=Q.shape[1])
    return (sums / np.maximum(sizes, 1) ** power).sum() - balance * (sizes**2.0).sum()


def best_move(value, y, k):
    """The largest gain of moving one sample that is not the last of its cluster."""
    gains = [0.0]
    for i in np.flatnonzero(np.bincount(y, minlength=k)[y] > 1):
        for j in range(k):
            moved = y.copy()
            moved[i] = j
            gains.append(value(moved) - value(y))
    return max(gains)


def check_ascent(value, start, k, ascend, scale):
    """Passes never lose, what they report is true, and at the end no move is better."""
    y, found = start, ascend(start, 1)
    while not found.converged:
        gain = value(found.labels) - value(y)
        assert gain > 0
        np.testing.assert_allclose(found.gain, gain, atol=1e-9 * scale)
        y = found.labels
        found = ascend(y, 1)
    np.testing.assert_array_equal(found.labels, y)  # the last pass moved nothing
    assert best_move(value, y, k) <= 1e-9 * scale
    whole = ascend(start, 100)
    assert whole.converged
    np.testing.assert_array_equal(whole.labels, y)
    np.testing.assert_allclose(whole.gain, value(y) - value(start), atol=1e-9 * scale)


@given(st.data(), st.integers(1, 15), st.sampled_from([0.0, 0.5]))
def test_scaled(data, n, power):
    k = data.draw(st.integers(1, min(n, 4)))
    Q = data.draw(matrices(n, k))
    size = np.abs(Q).max()
    balance = data.draw(st.sampled_from([0.0, 0.1, 3.0])) * size
    start = data.draw(labels(n, k))

    def ascend(y, sweeps):
        return cd_scaled(Q, y, power=power, balance=balance, max_sweeps=sweeps)

    def value(y):
        return scaled_value(Q, y, power, balance)

    check_ascent(value, start, k, ascend, n**2 * size + 1e-300)


def test_four_points():
    # Sums (3, 3) over sizes (2, 2) are worth 6 / sqrt 2 = 4.24. Sample 0 stays; sample
    # 1 moves: sums (5, 3), sizes (3, 1), worth 5 / sqrt 3 + 3 = 5.89; sample 2 moves:
    # sums (5, 5), sizes (2, 2), worth 10 / sqrt 2 = 7.07, and nothing is better.
    Q = np.array([[3.0, 0], [2, 0], [0, 2], [0, 3]])
    found = cd_scaled(Q, np.array([0, 1, 0, 1]))
    np.testing.assert_array_equal(found.labels, [0, 0, 1, 1])
    np.testing.assert_allclose(found.gain, (10 - 6) / np.sqrt(2))


def test_a_large_price_makes_sizes_equal():
    rng = np.random.default_rng(0)
    Q = rng.standard_normal((50, 4))
    y = np.zeros(50, dtype=int)
    sizes = np.bincount(cd_scaled(Q, y, balance=100.0, max_sweeps=100).labels)
    assert sizes.max() - sizes.min() <= 1


def test_start_is_left_alone():
    rng = np.random.default_rng(3)
    Q, y = rng.standard_normal((30, 3)), rng.integers(0, 3, 30)
    before = y.copy()
    assert cd_scaled(Q, y).gain > 0
    np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clusters_do_not_vanish(dtype):
    Q = np.zeros((6, 3), dtype=dtype)
    Q[:, 0] = 1  # all samples are worth most in cluster 0
    y = np.array([0, 1, 2, 0, 1, 2])
    assert len(np.unique(cd_scaled(Q, y, power=0).labels)) == 3
