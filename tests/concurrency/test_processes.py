"""Fits in processes: spawned, forked after a fit, in joblib's, in a prefork server."""

import multiprocessing as mp
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest
from joblib import Parallel, delayed

import digests
from lordclust import BLoRD
from lordclust.graph import KNNGraph

#: Seconds after which a child counts as hung.
PATIENCE = 240
METHODS = [
    m for m in ("spawn", "fork", "forkserver") if m in mp.get_all_start_methods()
]
# Python warns of a fork beside threads, which is what is tried here.
FORKS = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def fit(n_jobs):
    """Return digests of a fit of one thread and of one of several, and of a graph."""
    small = BLoRD(4, tau=0.3, n_jobs=n_jobs).fit(digests.SMALL)
    large = BLoRD(5, tau=0.3, tol=1e-3, n_jobs=n_jobs).fit(digests.LARGE)
    S = KNNGraph(search="cells", n_jobs=n_jobs).build(digests.SMALL)
    return digests.of_model(small), digests.of_model(large), digests.of(S.data)


@FORKS
@pytest.mark.parametrize("method", METHODS)
def test_a_child_after_a_fit(method):
    """Pools of threads do not live on in a forked child, and nothing waits for them."""
    own = fit(2)
    with ProcessPoolExecutor(2, mp_context=mp.get_context(method)) as pool:
        children = [pool.submit(fit, n_jobs) for n_jobs in (1, 2)]
        for child in children:
            assert child.result(timeout=PATIENCE) == own
    assert fit(2) == own  # the parent is as it was


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@FORKS
def test_a_fork_while_a_thread_fits():
    """A server that forks workers beside running fits."""
    from concurrent.futures import ThreadPoolExecutor

    own = fit(2)
    context = mp.get_context("fork")
    with ThreadPoolExecutor(1) as threads:
        beside = threads.submit(fit, 2)
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            assert pool.submit(fit, 1).result(timeout=PATIENCE) == own
        assert beside.result() == own


def test_processes_of_joblib():
    own = fit(2)
    results = Parallel(n_jobs=2, backend="loky")(delayed(fit)(j) for j in (None, 2))
    assert results == [own, own]
