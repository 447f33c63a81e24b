"""project_omega of what is hard to project, checked by slower ways."""

import numpy as np
import pytest
from scipy.optimize import linprog

from certificates import LONG, project, roots_of
from lordclust import project_omega

RNG = np.random.default_rng(0)
N = 12
SHARES = {
    "equal": [1 / 3] * 3,
    "uneven": [0.7, 0.2, 0.1],
    "0.999": [0.998, 0.001, 0.001],
    "1e-9": [1 - 2e-9, 1e-9, 1e-9],
}
MATRICES = {
    "any": RNG.standard_normal((N, 3)),
    "copies": np.repeat(RNG.standard_normal((3, 3)), 4, axis=0),
    "ties": RNG.integers(-1, 2, (N, 3)).astype(float),
    "one column": np.c_[np.full(N, 5.0), np.zeros((N, 2))],
}


def check_feasible(V, mu):
    V = V.astype(LONG)
    assert V.min() >= 0
    assert (abs(V.sum(axis=0) - mu) / mu).max() < 1e-12
    assert abs(V @ mu * len(V) - 1).max() < 1e-12


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 0.1])
@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize("name", MATRICES)
def test_as_by_turns(name, shares, scale):
    mu, U = roots_of(SHARES[shares]), scale * MATRICES[name]
    V = project_omega(U, mu.astype(float))
    check_feasible(V, mu)
    np.testing.assert_allclose(V, project(U, mu).astype(float), atol=1e-10 / N)


@pytest.mark.parametrize("scale", [1e6, 1e16, 1e150, 1e299])
@pytest.mark.parametrize("shares", SHARES)
def test_of_large_numbers(shares, scale):
    """The larger U, the nearer the projection to the V of the largest <U, V>.

    Beyond 1e16 it was any feasible V, for lack of digits.
    """
    mu, U = roots_of(SHARES[shares]), MATRICES["any"]
    V = project_omega(scale * U, mu.astype(float))
    check_feasible(V, mu)
    assert (U * V).sum() == pytest.approx(largest(U, mu.astype(float)), abs=1e-7)


def largest(U, mu):
    """Return max <U, V> over Omega(mu)."""
    n, k = U.shape
    columns = np.kron(np.ones(n), np.eye(k))
    rows = np.kron(np.eye(n), mu)
    target = np.r_[mu, np.full(n, 1 / n)]
    return -linprog(-U.ravel(), A_eq=np.r_[columns, rows], b_eq=target).fun


def test_beyond_the_range():
    with pytest.raises(
        ValueError, match=r"U must have entries of at most 1e300, got 1"
    ):
        project_omega([[1e305, 0.0], [0.0, 0.0]], [0.6, 0.8])


@pytest.mark.parametrize("level", [1e8, 1e150, 1e300])
def test_a_constant_column_changes_little(level):
    """V for U + 1 a' is V for U; only the digits that U + 1 a' has lost are lost."""
    mu = roots_of([0.5, 0.3, 0.2])
    V = project_omega(MATRICES["any"] + [level, 0.0, -level], mu.astype(float))
    check_feasible(V, mu)
    if level * 2.0**-52 < 1e-6:
        plain = project_omega(MATRICES["any"], mu.astype(float))
        np.testing.assert_allclose(V, plain, atol=1e-6)
