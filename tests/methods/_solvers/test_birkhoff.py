"""The nearest symmetric doubly stochastic matrix, against a generic solver and KKT."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lordclust.methods._solvers import birkhoff
from lordclust.methods._solvers.birkhoff import nearest_ds
from strategies import generators, random_graph

SCALES = [1e-6, 1e-3, 1.0, 1e3, 1e6]
TRACES = pytest.mark.parametrize("trace", [None, 2.5])
SOLVERS = pytest.mark.parametrize("solver", ["newton", "dykstra", "von_neumann"])


def symmetric(rng, n, kind="normal"):
    A = {
        "normal": lambda: rng.standard_normal((n, n)),
        "ties": lambda: rng.integers(-1, 2, (n, n)).astype(float),
        "graph": lambda: random_graph(rng, n),
        "zero": lambda: np.zeros((n, n)),
    }[kind]()
    return (A + A.T) / 2


def sinkhorn(rng, n):
    """A random symmetric doubly stochastic matrix."""
    A = symmetric(rng, n) ** 2 + 1e-3
    for _ in range(2000):
        c = np.sqrt(A.sum(axis=1))
        A /= np.outer(c, c)
    return A


def quadratic_program(S, trace=None):
    """The projection by an interior point solver, over the n(n+1)/2 entries."""
    n = len(S)
    i, j = np.triu_indices(n)
    m = len(i)
    twice = np.where(i == j, 1.0, 2.0)
    A = np.zeros((n, m))
    A[i, np.arange(m)] = A[j, np.arange(m)] = 1
    b = np.ones(n)
    if trace is not None:
        A, b = np.vstack([A, (i == j).astype(float)]), np.append(b, trace)
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-13
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.diags(twice)),
        -twice * S[i, j],
        sp.csc_matrix(np.vstack([A, -np.eye(m)])),
        np.append(b, np.zeros(m)),
        [clarabel.ZeroConeT(len(b)), clarabel.NonnegativeConeT(m)],
        options,
    )
    Z = np.zeros((n, n))
    Z[i, j] = Z[j, i] = np.array(solver.solve().x)
    return Z


def assert_feasible(found, trace=None, tol=1e-10):
    Z = found.Z
    assert Z.min() >= 0
    np.testing.assert_array_equal(Z, Z.T)
    np.testing.assert_allclose(Z.sum(axis=1), 1, rtol=0, atol=1.01 * tol)
    assert found.converged
    assert found.error <= tol
    if trace is not None:
        assert np.trace(Z) == pytest.approx(trace, rel=1.01 * tol)


# -- it is the projection ---------------------------------------------------------


@given(
    generators(),
    st.integers(2, 8),
    st.sampled_from(["normal", "ties", "graph", "zero"]),
    st.sampled_from([0.1, 1.0, 10.0]),
    st.sampled_from([None, 0.2, 0.5, 0.9]),
)
def test_against_a_quadratic_program(rng, n, kind, scale, share):
    S = scale * symmetric(rng, n, kind)
    trace = None if share is None else share * n
    found = nearest_ds(S, trace=trace)
    assert_feasible(found, trace)
    np.testing.assert_allclose(found.Z, quadratic_program(S, trace), atol=2e-6)


@given(*[st.floats(-3, 3)] * 3)
def test_two_samples(a, b, c):
    # Z = [[z, 1-z], [1-z, z]]: (z-a)^2 + (z-c)^2 + 2 (1-z-b)^2 is least at
    # 4z = a + c + 2 - 2b, and z must be in [0, 1].
    z = np.clip((1 + (a + c) / 2 - b) / 2, 0, 1)
    expected = [[z, 1 - z], [1 - z, z]]
    np.testing.assert_allclose(
        nearest_ds(np.array([[a, b], [b, c]])).Z, expected, atol=1e-9
    )


@TRACES
@pytest.mark.parametrize("scale", SCALES)
def test_optimality_conditions(scale, trace):
    """Z = max(S + u1' + 1u' + tI, 0) and feasible: these prove the projection."""
    S = scale * symmetric(np.random.default_rng(0), 60)
    found = nearest_ds(S, trace=trace)
    assert_feasible(found, trace)
    u, t = found.u[:60], found.u[60:].sum()
    Z = np.maximum(S + u[:, None] + u + t * np.eye(60), 0)
    np.testing.assert_allclose(found.Z, Z, rtol=0, atol=1e-9 + 1e-14 * scale)


@TRACES
def test_nothing_feasible_is_nearer(trace):
    rng = np.random.default_rng(1)
    S = symmetric(rng, 12)
    Z = nearest_ds(S, trace=trace).Z
    for _ in range(20):
        other = nearest_ds(symmetric(rng, 12), trace=trace).Z
        assert np.vdot(S - Z, other - Z) <= 1e-8


@given(
    generators(),
    st.sampled_from(["normal", "ties", "graph", "zero"]),
    st.integers(-8, 9),
    st.sampled_from([None, 0.1, 0.5, 0.97]),
)
def test_any_scale(rng, kind, exponent, share):
    """Against a large S digits are lost, and must be won back."""
    n = int(rng.integers(2, 40))
    trace = None if share is None else share * n
    found = nearest_ds(10.0**exponent * symmetric(rng, n, kind), trace=trace)
    assert_feasible(found, trace)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_full_trace_is_the_identity(n):
    S = symmetric(np.random.default_rng(0), n)
    np.testing.assert_array_equal(nearest_ds(S, trace=n).Z, np.eye(n))


def test_one_sample():
    np.testing.assert_array_equal(nearest_ds(np.array([[7.0]])).Z, [[1.0]])


# -- what a projection does -------------------------------------------------------


@SOLVERS
def test_a_doubly_stochastic_matrix_stays(solver):
    Z = sinkhorn(np.random.default_rng(0), 15)
    found = nearest_ds(Z, solver=solver)
    np.testing.assert_allclose(found.Z, Z, atol=1e-9)


@TRACES
def test_idempotent(trace):
    Z = nearest_ds(symmetric(np.random.default_rng(2), 30), trace=trace).Z
    np.testing.assert_allclose(nearest_ds(Z, trace=trace).Z, Z, atol=1e-9)


@given(generators(), st.sampled_from([0.01, 1.0, 100.0]))
def test_non_expansive(rng, scale):
    A, B = scale * symmetric(rng, 10), scale * symmetric(rng, 10)
    moved = np.linalg.norm(nearest_ds(A).Z - nearest_ds(B).Z)
    assert moved <= np.linalg.norm(A - B) + 1e-9


@TRACES
def test_shifts_of_rows_are_not_seen(trace):
    rng = np.random.default_rng(3)
    S, a = symmetric(rng, 20), rng.standard_normal(20)
    shifted = S + a[:, None] + a
    if trace is not None:
        shifted += 3 * np.eye(20)
    np.testing.assert_allclose(
        nearest_ds(shifted, trace=trace).Z, nearest_ds(S, trace=trace).Z, atol=1e-9
    )


def test_permutations():
    rng = np.random.default_rng(4)
    S, order = symmetric(rng, 20), rng.permutation(20)
    moved = nearest_ds(S[np.ix_(order, order)]).Z
    np.testing.assert_allclose(moved, nearest_ds(S).Z[np.ix_(order, order)], atol=1e-9)


@pytest.mark.parametrize("scale", [1e6, 1e9])
def test_a_large_multiple_is_a_matching(scale):
    # Pairs (0, 1), (2, 3), (4, 5) are worth most: Z is their permutation matrix.
    S = scale * np.kron(np.eye(3), [[0.0, 1.0], [1.0, 0.0]])
    Z = nearest_ds(S).Z
    np.testing.assert_allclose(Z, S / scale, atol=1e-9)


# -- solvers ----------------------------------------------------------------------


@TRACES
@pytest.mark.parametrize("kind", ["normal", "graph"])
def test_solvers_agree(kind, trace):
    S = symmetric(np.random.default_rng(5), 40, kind)
    exact, sweeps, published = (
        nearest_ds(S, trace=trace, solver=solver, max_iter=20000)
        for solver in ("newton", "dykstra", "von_neumann")
    )
    np.testing.assert_allclose(sweeps.Z, exact.Z, atol=1e-6)
    assert_feasible(published, trace)
    distance = np.linalg.norm(exact.Z - S)
    assert np.linalg.norm(published.Z - S) > distance * (1 + 1e-6)
    assert exact.n_iter < 30 < sweeps.n_iter


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_bipartite_support(scale):
    """Two sides without ties inside: the Hessian is singular, Z is unique."""
    rng = np.random.default_rng(6)
    B = scale * rng.random((15, 15))
    apart = np.full((15, 15), -10 * scale)
    S = np.block([[apart, B], [B.T, apart]])
    found = nearest_ds(S)
    assert_feasible(found)
    assert found.Z[:15, :15].max() == found.Z[15:, 15:].max() == 0
    assert found.n_iter < 100


@TRACES
def test_warm_start(trace):
    rng = np.random.default_rng(7)
    S = symmetric(rng, 80)
    first = nearest_ds(S, trace=trace)
    again = nearest_ds(S, trace=trace, u0=first.u)
    assert again.n_iter == 0
    np.testing.assert_allclose(again.Z, first.Z, atol=1e-10)
    near = S + 1e-4 * symmetric(rng, 80)
    warm, cold = (
        nearest_ds(near, trace=trace, u0=first.u),
        nearest_ds(near, trace=trace),
    )
    assert warm.n_iter < cold.n_iter
    np.testing.assert_allclose(warm.Z, cold.Z, atol=1e-9)


def test_a_bad_start_is_recovered_from():
    S = symmetric(np.random.default_rng(8), 30)
    far = nearest_ds(S, u0=np.full(30, -100.0))
    np.testing.assert_allclose(far.Z, nearest_ds(S).Z, atol=1e-9)


def test_many_blocks_of_rows(monkeypatch):
    S = symmetric(np.random.default_rng(9), 50)
    whole = nearest_ds(S, trace=5.0).Z
    monkeypatch.setattr(birkhoff, "BLOCK_BYTES", 8 * 50 * 7)
    np.testing.assert_allclose(nearest_ds(S, trace=5.0).Z, whole, atol=1e-10)


def test_too_few_steps_are_told():
    S = symmetric(np.random.default_rng(10), 30)
    found = nearest_ds(S, solver="dykstra", max_iter=3)
    assert not found.converged
    assert found.n_iter == 3
    assert found.error == pytest.approx(np.abs(found.Z.sum(axis=1) - 1).max())
    assert not nearest_ds(S, max_iter=1).converged


def test_input_is_left_alone():
    S = symmetric(np.random.default_rng(11), 20)
    before = S.copy()
    for solver in birkhoff.SOLVERS:
        nearest_ds(S, solver=solver)
    np.testing.assert_array_equal(S, before)
