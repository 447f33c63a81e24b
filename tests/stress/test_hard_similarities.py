"""Fits of extreme similarities keep their promises, and say the truth about it.

Objective, feasibility and residual are recomputed by tests/certificates.py.
"""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from certificates import (
    Problem,
    blord_residual,
    blord_value,
    feasibility,
    lord_residual,
    lord_value,
    roots_of,
)
from lordclust import BLoRD, LoRD, tau_path
from models import MODELS, PAPER

N = 12
X, _ = make_blobs(N, 2, centers=3, cluster_std=1.5, random_state=1)
KERNEL = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20)
GRAPH = np.where(KERNEL > 0.05, KERNEL, 0) * (1 - np.eye(N))
EYE = np.eye(N)
NOISE = np.random.default_rng(0).standard_normal((N, N))


def outlier(S, value):
    S = S.copy()
    S[0, 0] = value
    return S


def one_row(S, factor):
    T = S.copy()
    T[0] *= factor
    return np.maximum(T, T.T)


# What S may look like, and whether LoRD can take it: its entries need a positive sum.
CASES = {
    **{f"scale 1e{e}": (GRAPH * 10.0**e, True) for e in (-150, -30, 30, 150)},
    **{f"diagonal {d:g}": (GRAPH + d * EYE, True) for d in (1e3, 1e8, 1e16, 1e150)},
    **{f"shift -{d:g}": (GRAPH - d * EYE, False) for d in (1e3, 1e8, 1e16, 1e150)},
    "one huge entry": (outlier(GRAPH, 1e12), True),
    "one huge row": (one_row(GRAPH, 1e150), True),
    "kernel": (KERNEL, True),
    "nearly all alike": (1 - 1e-12 * (1 - KERNEL), True),
    "all alike": (np.ones((N, N)), True),
    "identity": (EYE, True),
    "minus identity": (-EYE, False),
    "nothing": (np.zeros((N, N)), False),
    "negative": (-GRAPH, False),
    "negative definite": (-KERNEL, False),
    "any sign": (NOISE + NOISE.T + 2, True),
}
SHARES = {
    "equal": (3, None),
    "0.999 and 0.001": (2, [0.999, 0.001]),
    "1e-9": (2, [1 - 1e-9, 1e-9]),
    "n = k": (N, None),
}


def check_memberships(P, V, shares):
    assert feasibility(P, shares) < 1e-12
    mu = roots_of(shares)
    np.testing.assert_allclose(V, P / (len(P) * mu), rtol=1e-13)


def fitted(model, S):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that max_iter was reached may be said
        return model.fit(S)


def check_blord(model, S, tau):
    shares = model.proportions_
    check_memberships(model.membership_, model.V_, shares)
    problem = Problem.of(S)
    gamma = problem.gamma(tau) - problem.level
    size = max(abs(problem.low), abs(problem.high), abs(problem.level))
    assert abs(model.gamma_ - gamma) <= 1e-13 * size
    value = blord_value(S, model.V_, model.gamma_)
    assert value.misses(model.objective_) < 1e-13
    residual = blord_residual(S, model.V_, tau, shares)
    assert residual <= model.tol * (1 + 1e-6) or not model.converged_
    return residual


@pytest.mark.parametrize("tau", [0.3, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_blord(case, tau):
    S = CASES[case][0]
    check_blord(
        fitted(
            PAPER(3, tau=tau, affinity="precomputed"),
            S,
        ),
        S,
        tau,
    )


@pytest.mark.parametrize("case", CASES)
def test_lord(case):
    S, fits = CASES[case]
    model = LoRD(3, affinity="precomputed")
    if not fits:
        with pytest.raises(ValueError, match="S must have a positive and finite sum"):
            model.fit(S)
        return
    fitted(model, S)
    check_memberships(model.membership_, model.V_, model.proportions_)
    assert lord_value(S, model.V_).misses(model.objective_) < 1e-13
    residual = lord_residual(S, model.V_, model.proportions_)
    assert residual <= model.tol * (1 + 1e-6) or not model.converged_


@pytest.mark.parametrize("shares", SHARES)
def test_hard_shares(shares):
    k, given = SHARES[shares]
    for tau in (0.3, 1.0):
        model = BLoRD(k, tau=tau, proportions=given, affinity="precomputed")
        check_blord(fitted(model, GRAPH), GRAPH, tau)
    model = fitted(LoRD(k, proportions=given, affinity="precomputed"), GRAPH)
    check_memberships(model.membership_, model.V_, model.proportions_)


@pytest.mark.parametrize("level", [1e3, 1e8, 1e12, 1e16, -1e3, -1e12, -1e16, 1e150])
def test_a_constant_on_the_diagonal_changes_nothing(level):
    """B-LoRD for S and S + cI is the same problem; c once took all digits of S."""
    plain = PAPER(3, tau=0.3, affinity="precomputed").fit(GRAPH)
    model = PAPER(3, tau=0.3, affinity="precomputed").fit(GRAPH + level * EYE)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.membership_, plain.membership_, atol=1e-3)
    # Rounding of S + cI itself is all that may show.
    lost = abs(level) * 2.0**-52
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-4, abs=lost)
    path = tau_path(GRAPH + level * EYE, 3, taus=[0.1, 0.3])
    assert path.eigenvalues[0] == pytest.approx(level, rel=1e-2)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e138])
@pytest.mark.parametrize("level", [0.0, 1e12])
def test_every_tau_of_a_path(scale, level):
    S = scale * (GRAPH + level * EYE)
    path = tau_path(S, 3, keep="all")
    mu = roots_of(path.proportions)
    problem = Problem.of(S)
    for tau, objective, ok in zip(
        path.taus, path.objectives, path.converged, strict=True
    ):
        P = path.memberships[tau]
        assert feasibility(P, path.proportions) < 1e-12
        V = (P / (N * mu)).astype(np.float64)
        plain = problem.S.astype(np.float64)  # the level is in neither
        value = blord_value(plain, V, problem.gamma(tau))
        assert value.misses(objective) < 1e-12
        assert blord_residual(S, V, tau, path.proportions) <= 1e-4 + 1e-12 or not ok


@MODELS
@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e15])
def test_float32(Model, scale):
    S = (scale * GRAPH).astype(np.float32)
    model = Model(3, affinity="precomputed", dtype="float32").fit(S)
    assert feasibility(model.membership_, model.proportions_) < 1e-6
    if Model is BLoRD:  # its memberships are calibrated
        return
    value = (
        lord_value(S, model.V_)
        if Model is LoRD
        else blord_value(S, model.V_, model.gamma_)
    )
    assert value.misses(model.objective_) < 1e-6


def solved(fit, S, **settings):
    if fit is tau_path:
        return tau_path(S, 3, **settings)
    return fit(3, affinity="precomputed", **settings).fit(S)


@pytest.mark.parametrize("top", [1e-320, 1e-160, 1e160, 1.7e308])
@pytest.mark.parametrize("fit", [BLoRD, LoRD, tau_path])
def test_beyond_the_range(fit, top):
    """Sums of these are no numbers; the compiled loop once ran on them for ever."""
    S = GRAPH / GRAPH.max() * top
    with pytest.raises(ValueError, match=r"S must have a largest entry from .* Divide"):
        solved(fit, S)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("fit", [BLoRD, LoRD, tau_path])
def test_beyond_the_range_of_float32(fit, scale):
    """In float32 these would be zeros or infinities."""
    with pytest.raises(ValueError, match="in float32, got"):
        solved(fit, scale * GRAPH, dtype="float32")
