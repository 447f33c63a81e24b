"""Known labels: the descent stays on a face of Omega(mu)."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lordclust.graph import scale_to_unit_sum
from lordclust.rounding.labels import membership_from
from lordclust.solver import objective
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.path import _aligned
from lordclust.solver.projection import feasibility_error, project_newton
from lordclust.solver.spectrum import find_spectrum
from lordclust.solver.start import random_start
from lordclust.solver.tau_path import tau_path
from oracles import qp_projection
from problems import blord_problem, lord_problem, solved
from strategies import block_graph, generators, matrices

EQUAL = np.full(3, 3**-0.5)


@st.composite
def faces(draw, max_n=30, weights=True):
    """A set of three clusters with some known samples, room left in every cluster."""
    n = draw(st.integers(6, max_n))
    rng = draw(generators())
    w = rng.random(n) + 0.1 if weights and draw(st.booleans()) else np.ones(n)
    y = rng.permutation(np.arange(n) % 3)
    shares = np.bincount(y, w) / w.sum()
    known = np.where(rng.random(n) < draw(st.sampled_from([0.1, 0.5, 0.9])), y, -1)
    omega = Omega.of(np.sqrt(shares), n, w / w.sum(), known=known)
    return omega, rng


def assert_on_face(V, omega):
    assert V.min() >= 0
    assert feasibility_error(V, omega) <= 1e-12
    has = omega.known >= 0
    P = membership_from(V, omega.mu)
    np.testing.assert_array_equal(P[has], np.eye(len(omega.mu))[omega.known[has]])


# -- projection and starts -----------------------------------------------------


@given(faces(max_n=12), st.data())
def test_the_projection_equals_a_generic_quadratic_program(case, data):
    omega, _ = case
    U = data.draw(matrices(*omega.shape, exponents=range(-3, 1)))
    V = project_newton(U, omega)[0]
    assert_on_face(V, omega)
    wanted = qp_projection(U, omega.mu, weight=omega.weight, known=omega.known)
    np.testing.assert_allclose(V, wanted, atol=1e-6 * V.max())


@given(faces(), st.data())
def test_the_projection_is_exact_at_every_scale(case, data):
    omega, _ = case
    U = data.draw(matrices(*omega.shape))
    V = project_newton(U, omega)[0]
    assert_on_face(V, omega)
    np.testing.assert_allclose(project_newton(V, omega)[0], V, atol=1e-11 * V.max())


@given(faces())
def test_a_random_start_is_on_the_face(case):
    omega, rng = case
    V = random_start(omega, rng)
    assert_on_face(project_newton(V, omega)[0], omega)
    assert feasibility_error(V, omega) <= 1e-9
    free = omega.known < 0
    room = omega.mu**2 - np.bincount(
        omega.known[~free], (omega.weight * omega.mass)[~free], minlength=3
    )
    assert V[free][:, room > 1e-9].min(initial=1.0) > 0


def test_a_start_off_the_face_is_brought_onto_it():
    known = np.array([0, -1, 2, -1, -1, -1])
    omega = Omega.of(EQUAL, 6, known=known)
    engine = Engine(np.ones((6, 6)) - np.eye(6), omega)
    engine.put(np.random.default_rng(0).standard_normal((6, 3)))
    V = engine.get()
    np.testing.assert_allclose(V[0], [3**0.5 / 6, 0, 0])
    np.testing.assert_allclose(V[2], [0, 0, 3**0.5 / 6])


# -- descent -------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_blord_is_stationary_on_the_face(tau, sparse):
    rng = np.random.default_rng(0)
    S, y = block_graph(rng, [20, 15, 10], between=0.1, sparse=sparse)
    known = np.where(rng.random(45) < 0.2, y, -1)
    omega = Omega.of(np.sqrt([0.4, 0.35, 0.25]), 45, known=known)
    ends, V = find_spectrum(S), random_start(omega, rng)
    result = solved(blord_problem(S, omega), tau, V, tol=1e-6, max_iter=5000)
    assert result.converged
    assert_on_face(result.V, omega)
    # Far from the end the columns are met to 1e-4 only, and so is the objective.
    assert np.diff(result.history).min() >= -1e-5 * np.abs(result.history).max()
    gradient = objective.blord_gradient(S, result.V, ends.gamma(tau))
    step = 1 / objective.blord_lipschitz(ends, ends.gamma(tau))
    moved = project_newton(result.V - step * gradient, omega)[0] - result.V
    assert np.linalg.norm(moved) <= 1.01e-6 * np.linalg.norm(result.V)


def test_lord_is_stationary_on_the_face():
    rng = np.random.default_rng(1)
    S, y = block_graph(rng, [20, 15, 10], between=0.1)
    S = scale_to_unit_sum(S)
    known = np.where(rng.random(45) < 0.2, y, -1)
    omega = Omega.of(np.sqrt([0.4, 0.35, 0.25]), 45, known=known)
    ends, V = find_spectrum(S), random_start(omega, rng)
    result = solved(lord_problem(S, omega), 1.0, V, tol=1e-6, max_iter=5000)
    assert result.converged
    assert_on_face(result.V, omega)
    gradient = objective.lord_gradient(S, result.V)
    step = objective.lord_step(ends, omega.bound) / 4
    moved = project_newton(result.V - step * gradient, omega)[0] - result.V
    assert np.linalg.norm(moved) <= 1.01e-6 * np.linalg.norm(result.V)


def test_all_samples_known():
    S, y = block_graph(np.random.default_rng(0), [6, 6, 6])
    path = tau_path(S, 3, known_labels=y, keep="all")
    for P in path.memberships.values():
        np.testing.assert_array_equal(P, np.eye(3)[y])
    assert np.all(path.converged)


def test_threads_and_renumbering_do_not_show():
    rng = np.random.default_rng(0)
    n = 5001
    y = np.arange(n) % 3
    i, j = rng.integers(0, n, (2, 6 * n))
    inside = y[i] == y[j]
    A = sp.csr_array((np.where(inside, 1.0, 0.2), (i, j)), shape=(n, n))
    S = sp.csr_array(A + A.T)
    known = np.where(rng.random(n) < 0.01, y, -1)
    options = {"taus": [0.1, 0.4], "tol": 1e-3, "known_labels": known}
    one, two = (tau_path(S, 3, n_jobs=t, **options) for t in (1, 2))
    np.testing.assert_array_equal(one.membership(), two.membership())
    has = known >= 0
    np.testing.assert_array_equal(one.membership()[has], np.eye(3)[known[has]])


# -- paths ---------------------------------------------------------------------


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_known_samples_steer_the_splits_from_the_start(order):
    S, y = block_graph(np.random.default_rng(3), [20, 20, 20], between=0.03)
    names = np.array(order)[y]
    known = np.full(60, -1)
    known[[0, 20, 40]] = names[[0, 20, 40]]
    path = tau_path(S, 3, known_labels=known, keep="all")
    first = path.memberships[path.taus[0]]
    pulled = first[np.arange(60), names] > 1 / 3
    assert pulled[known < 0].mean() > 0.8
    np.testing.assert_array_equal(path.labels[-1], names)


@pytest.mark.parametrize("tol", [1e-4, 1e-9])
def test_clusters_without_known_samples_still_split(tol):
    S, y = block_graph(np.random.default_rng(4), [15, 15, 15, 15], between=0.03)
    known = np.full(60, -1)
    known[[0, 1]] = 2
    path = tau_path(S, 4, known_labels=known, tol=tol, max_iter=20000)
    labels = path.labels[-1]
    assert np.all(labels[:15] == 2)
    assert len(set(zip(y, labels, strict=True))) == 4
    # Those without known samples are numbered by their first, in the places left.
    assert [labels[15], labels[30], labels[45]] == [0, 1, 3]


def test_only_open_clusters_of_equal_share_change_places():
    known = np.full(8, -1)
    known[0] = 1
    omega = Omega.of(np.full(4, 0.5), 8, known=known)
    reference = random_start(omega, np.random.default_rng(0))
    V = reference[:, [3, 1, 0, 2]]
    np.testing.assert_array_equal(_aligned(V, reference, omega), reference)
    # Column 1 has a known sample: it stays although column 0 would fit better.
    swapped = reference[:, [1, 0, 2, 3]]
    aligned = _aligned(swapped, reference, omega)
    np.testing.assert_array_equal(aligned[:, 1], swapped[:, 1])
