"""Many clusters: H is multiplied with, never formed."""

import os
import subprocess
import sys

import numpy as np
import pytest

from lordclust import LoRD, project_omega, tau_path
from lordclust.solver.engine import Engine
from lordclust.solver.lanes import ATOMIC
from lordclust.solver.omega import Omega
from lordclust.solver.projection import project
from lordclust.solver.rules import MANY
from strategies import block_graph

K = MANY + 6


@pytest.fixture(scope="module")
def graph():
    return block_graph(np.random.default_rng(0), [5] * K, between=0.002)[0]


@pytest.mark.parametrize("scale", [1e-3, 1e-1, 10.0])
def test_the_projection_is_the_nearest_point(scale):
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(K, 5.0))
    mu, U = np.sqrt(shares), scale * rng.random((300, K))
    found = project(U, mu)
    assert found.error < 1e-12
    slow = project_omega(U, mu, method="dykstra", tol=1e-11, max_iter=20_000)
    np.testing.assert_allclose(found.V, slow, atol=1e-7 * found.V.max())
    # No feasible point makes an acute angle with what is left of U.
    for _ in range(5):
        other = project(rng.random((300, K)), mu).V
        assert ((U - found.V) * (other - found.V)).sum() < 1e-9 * scale


def test_a_path_finds_the_blocks(graph):
    path = tau_path(graph, K, random_state=0)
    truth = np.repeat(np.arange(K), 5)
    same = path.labels[-1][:, None] == path.labels[-1]
    together = truth[:, None] == truth
    assert np.mean(same == together) > 0.99
    assert path.converged.all()
    P = path.membership()
    np.testing.assert_allclose(P.mean(axis=0), 1 / K, rtol=1e-9)


def test_threads_change_no_bit():
    rng = np.random.default_rng(0)
    S = block_graph(rng, [30] * K, between=0.0005)[0]
    paths = [tau_path(S, K, taus=[0.05, 0.3], n_jobs=n_jobs) for n_jobs in (1, 3)]
    assert paths[0].membership().tobytes() == paths[1].membership().tobytes()


COMPILED = """
import numpy as np
from lordclust import project_omega

rng = np.random.default_rng(1)
U, mu = rng.random((400, 70)), np.sqrt(rng.dirichlet(np.full(70, 5.0)))
print(project_omega(U, mu).tobytes().hex())
"""


@pytest.mark.skipif(not ATOMIC, reason="plain lanes take long to compile")
def test_compiled_and_cached_code_give_the_same_bits(tmp_path):
    """The first process compiles; the second reads what it has left on disk."""
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", COMPILED], env=env, capture_output=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert first == second


def test_lord_with_many_clusters(graph):
    model = LoRD(K, affinity="precomputed", max_iter=200).fit(graph)
    np.testing.assert_allclose(model.membership_.mean(axis=0), 1 / K, rtol=1e-9)
    assert model.converged_


@pytest.mark.parametrize("lord", [False, True])
def test_the_sums_of_blocks_stay_small(lord):
    k = 1000
    omega = Omega.of(np.full(k, k**-0.5), 4096)
    engine = Engine(None, omega, lord=lord)
    assert engine.shared.parts.nbytes <= 256 * 2**20
