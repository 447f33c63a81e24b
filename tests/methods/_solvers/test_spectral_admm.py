"""Doubly stochastic matrices with bounds on eigenvalues, against Dykstra's method."""

import numpy as np
import pytest

from lordclust.methods._solvers.birkhoff import nearest_ds
from lordclust.methods._solvers.spectral_admm import apply_rule, fit_spectrum


def symmetric(seed, n, scale=1.0):
    A = scale * np.random.default_rng(seed).standard_normal((n, n))
    return (A + A.T) / 2


def between(low, high):
    return lambda values: np.clip(values, low, high)


def clipped(G, low, high):
    values, Q = np.linalg.eigh(G)
    return (Q * np.clip(values, low, high)) @ Q.T


def dykstra(S, low, high, sweeps=400):
    """The nearest doubly stochastic matrix with eigenvalues in an interval."""
    X, P, Q = S, np.zeros_like(S), np.zeros_like(S)
    for _ in range(sweeps):
        Y = clipped(X + P, low, high)
        P = X + P - Y
        W = (Y + Q + (Y + Q).T) / 2
        X = nearest_ds(W).Z
        Q = W - X
    return X


def fit(S, rule, **params):
    params = {"rho": 2.0, "tol": 1e-8, "max_iter": 5000} | params
    return fit_spectrum(S, nearest_ds(S).Z, rule, **params)


@pytest.mark.parametrize("relax", [1.0, 1.6])
@pytest.mark.parametrize("high", [1.0, 1.5])
def test_nearest_with_eigenvalues_in_an_interval(high, relax):
    S = symmetric(0, 6)
    found = fit(S, between(0, high), relax=relax, tol=1e-6)
    assert found.converged
    np.testing.assert_allclose(found.Z, dykstra(S, 0, high), atol=1e-3)
    assert np.linalg.eigvalsh(found.Z)[0] >= -1e-6


def test_curvature_is_a_scale():
    """a/2 |Z|^2 - <L, Z> is least at the Z nearest to L / a."""
    S = symmetric(1, 8)
    whole = fit(S, between(0, 1)).Z
    found = fit(0.3 * S, between(0, 1), curvature=0.3, rho=0.6).Z
    np.testing.assert_allclose(found, whole, atol=1e-5)


def test_certificate():
    S = symmetric(2, 20)
    found = fit(S, between(0, 1), tol=1e-3)
    Z = found.Z
    assert Z.min() >= 0
    np.testing.assert_array_equal(Z, Z.T)
    np.testing.assert_allclose(Z.sum(axis=1), 1, atol=1.01e-8)
    assert found.residual <= 1e-3
    # Weyl: no eigenvalue is farther from the interval than Z from Y.
    assert np.linalg.eigvalsh(Z)[0] >= -found.residual * np.linalg.norm(Z)


def test_a_feasible_matrix_stays():
    Z = np.kron(np.eye(2), np.full((3, 3), 1 / 3))
    found = fit(Z, between(0, 1))
    assert found.n_iter == 1
    np.testing.assert_allclose(found.Z, Z, atol=1e-9)


def test_too_few_steps_are_told():
    found = fit(symmetric(3, 12), between(0, 1), max_iter=2)
    assert not found.converged
    assert found.n_iter == 2
    assert found.residual > 1e-8


def test_the_penalty_grows_when_the_residual_does_not_shrink():
    # No doubly stochastic matrix but the identity has all eigenvalues 1, and with
    # every eigenvalue at most 1/2 there is none at all.
    impossible = fit(symmetric(4, 6), between(0, 0.5), max_iter=50)
    assert not impossible.converged
    assert impossible.rho > 2
    assert fit(symmetric(4, 6), between(1, 1), tol=1e-6).converged


def test_apply_rule():
    G = symmetric(5, 9)
    Y = apply_rule(G, between(0.2, 1))
    np.testing.assert_array_equal(Y, Y.T)
    np.testing.assert_allclose(Y, clipped(G, 0.2, 1), atol=1e-12)
    np.testing.assert_array_equal(apply_rule(G, lambda values: 0 * values), 0)
