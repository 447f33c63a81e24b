"""Fits in processes: spawned, forked after a fit, in joblib's, in a prefork server."""

import multiprocessing as mp
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from joblib import Parallel, delayed

import digests
from lordclust.graph import KNNGraph
from models import PAPER

#: Seconds after which a child counts as hung.
PATIENCE = 120
METHODS = [
    m for m in ("spawn", "fork", "forkserver") if m in mp.get_all_start_methods()
]
# Python warns of a fork beside threads, which is what is tried here.
FORKS = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def fit(n_jobs):
    """Return digests of a fit of one thread and of one of several, and of a graph."""
    small = PAPER(4, tau=0.3, n_jobs=n_jobs).fit(digests.SMALL)
    large = PAPER(5, tau=0.3, tol=1e-3, n_jobs=n_jobs).fit(digests.LARGE)
    S = KNNGraph(search="cells", n_jobs=n_jobs).build(digests.SMALL)
    return digests.of_model(small), digests.of_model(large), digests.of(S.data)


@contextmanager
def children(count, method):
    """A pool of processes that are killed at the end, so that none is waited for."""
    pool = ProcessPoolExecutor(count, mp_context=mp.get_context(method))
    try:
        yield pool
    finally:
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown()


@FORKS
@pytest.mark.parametrize("method", METHODS)
def test_a_child_after_a_fit(method):
    """Pools of threads do not live on in a forked child, and nothing waits for them."""
    own = fit(2)
    with children(2, method) as pool:
        found = [pool.submit(fit, n_jobs) for n_jobs in (1, 2)]
        assert [child.result(timeout=PATIENCE) for child in found] == [own, own]
    assert fit(2) == own  # the parent is as it was


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@FORKS
def test_a_fork_while_a_thread_fits():
    """A server that forks workers beside running fits."""
    own = fit(2)
    with ThreadPoolExecutor(1) as threads:
        beside = threads.submit(fit, 2)
        with children(1, "fork") as pool:
            assert pool.submit(fit, 1).result(timeout=PATIENCE) == own
        assert beside.result() == own


def test_processes_of_joblib():
    own = fit(2)
    results = Parallel(n_jobs=2, backend="loky")(delayed(fit)(j) for j in (None, 2))
    assert results == [own, own]
