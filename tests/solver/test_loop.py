"""The generic loop takes the compiled solver's iterations, on plain arrays."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from lordclust.graph import KNNGraph, scale_to_unit_sum
from lordclust.solver import objective
from lordclust.solver.arrays import array_ascent
from lordclust.solver.engine import Engine
from lordclust.solver.omega import Omega
from lordclust.solver.path import walk
from lordclust.solver.rules import MANY
from lordclust.solver.solve import Limits, result_of
from lordclust.solver.spectrum import find_spectrum
from lordclust.solver.start import random_start
from problems import blord_problem, lord_problem
from strategies import block_graph, random_graph

RNG = np.random.default_rng(0)
GRAPHS = {
    "iris": KNNGraph().build(load_iris().data),
    "digits": KNNGraph().build(load_digits().data[:300]),
    "blocks": block_graph(RNG, [40, 30, 20], between=0.05)[0],
    "dense": random_graph(RNG, 60, 0.5),
    "negative": random_graph(RNG, 70, 0.4) - 0.1 * random_graph(RNG, 70, 0.9),
}


def make_omega(S, kind="equal", k=3):
    n, rng = S.shape[0], np.random.default_rng(1)
    shares = np.full(k, 1 / k)
    options = {}
    if kind == "uneven":
        shares = np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum()
    if kind == "weights":
        options["p"] = rng.random(n) * (rng.random(n) > 0.1)
        options["p"] /= options["p"].sum()
    if kind == "known":
        options["known"] = np.where(np.arange(n) < 6, np.arange(n) % k, -1)
    if kind == "soft":
        options["strength"] = 1.0
    return Omega.of(np.sqrt(shares), n, **options)


KINDS = ("equal", "uneven", "weights", "known", "soft")


def both(S, omega, **options):
    """Return the compiled solver and the loop on NumPy's arrays, at the same V."""
    V = random_start(omega, np.random.default_rng(2))
    engines = Engine(S, omega, **options), array_ascent(S, omega, **options)
    for engine in engines:
        engine.put(V)
    return engines


def assert_same(compiled, loop, rtol=1e-10):
    assert loop.progress().n_iter == compiled.progress().n_iter
    assert loop.converged == compiled.converged
    # Whether a pass more finds another digit at 1e-13 is up to rounding.
    assert loop.passes == pytest.approx(compiled.passes, rel=0.05, abs=3)
    ours, theirs = loop.history(), compiled.history()[: len(loop.history())]
    np.testing.assert_allclose(ours, theirs, rtol=rtol)
    np.testing.assert_allclose(loop.get(), compiled.get(), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("tau", [0.15, 0.7])
def test_every_iteration_of_blord_is_the_compiled_one(name, kind, tau):
    S = GRAPHS[name]
    omega = make_omega(S, kind)
    problem = blord_problem(S, omega)
    compiled, loop = both(S, problem.omega)
    for engine in (compiled, loop):
        engine.aim(problem.step(tau), problem.tilt(tau))
        engine.run(1e-6, 400)
    assert_same(compiled, loop)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["iris", "dense"])
def test_every_iteration_of_lord_is_the_compiled_one(name, kind):
    S = GRAPHS[name]
    omega = make_omega(S, kind)
    S = scale_to_unit_sum(S, omega.weight)
    problem = lord_problem(S, omega)
    compiled, loop = both(S, problem.omega, lord=True)
    for engine in (compiled, loop):
        engine.aim(problem.step(1.0))
        engine.run(1e-6, 300)
    assert_same(compiled, loop)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tau", [0.02, 0.7])
def test_iterations_with_many_clusters_are_the_compiled_ones(kind, tau):
    """Both solve by conjugate gradients, with H formed or not."""
    S = GRAPHS["digits"]
    problem = blord_problem(S, make_omega(S, kind, k=MANY + 6))
    compiled, loop = both(S, problem.omega)
    for engine in (compiled, loop):
        engine.aim(problem.step(tau), problem.tilt(tau))
        engine.run(1e-5, 60)
    assert_same(compiled, loop)


@pytest.mark.parametrize("name", ["iris", "blocks", "dense"])
def test_the_path_in_tau_runs_on_the_loop(name):
    S, results = GRAPHS[name], []
    problem = blord_problem(S, make_omega(S))
    for engine in both(S, problem.omega):
        stops = list(walk(engine, problem, 1.0, Limits(1e-6, 2000)))
        results.append((stops, result_of(engine, problem, 1.0)))
    (stops, compiled), (ours, loop) = results
    assert [s[0] for s in stops] == pytest.approx([s[0] for s in ours])
    assert loop.objective == pytest.approx(compiled.objective, rel=1e-10)
    assert loop.residual <= 1e-6


def test_the_path_of_lord_runs_on_the_loop():
    S = scale_to_unit_sum(GRAPHS["iris"])
    problem, found = lord_problem(S, make_omega(S)), []
    for engine in both(S, problem.omega, lord=True):
        for _ in walk(engine, problem, 1.0, Limits(1e-6, 2000)):
            pass
        found.append(result_of(engine, problem, 1.0).objective)
    assert found[1] == pytest.approx(found[0], rel=1e-10)


def test_a_run_cut_short_settles_on_the_set():
    S = GRAPHS["digits"]
    omega, ends = make_omega(S, "uneven"), find_spectrum(S)
    loop = both(S, omega)[1]
    loop.aim(objective.blord_step(ends, 0.4), ends.gamma(0.4))
    loop.run(1e-12, 3)
    assert not loop.converged
    loop.settle()
    V = loop.get()
    np.testing.assert_allclose(V.sum(axis=0), omega.mu, rtol=1e-12)
    np.testing.assert_allclose(V @ omega.mu, omega.mass, rtol=1e-12)
    value = objective.blord_objective(S, V, ends.gamma(0.4))
    assert loop.measured() == pytest.approx(value, rel=1e-12)


def test_a_callback_stops_the_run():
    S = GRAPHS["iris"]
    ends, seen = find_spectrum(S), []
    loop = both(S, make_omega(S))[1]
    loop.aim(objective.blord_step(ends, 0.4), ends.gamma(0.4))
    loop.run(1e-12, 100, lambda p: seen.append(p.n_iter) or len(seen) == 5)
    assert len(seen) == 5
    assert not loop.converged


def test_single_precision_comes_close():
    S = GRAPHS["digits"]
    omega, found = make_omega(S), []
    problem = blord_problem(S, omega)
    for single in (False, True):
        loop = array_ascent(S, omega, single=single)
        loop.put(random_start(omega, np.random.default_rng(2)))
        for _ in walk(loop, problem, 1.0, Limits(1e-4, 2000)):
            pass
        found.append(result_of(loop, problem, 1.0))
    double, single = found
    assert single.converged
    assert single.objective == pytest.approx(double.objective, rel=1e-5)
    # The answer is put onto the set in double precision.
    np.testing.assert_allclose(single.V.sum(axis=0), omega.mu, rtol=1e-12)
