"""One BLAS thread, for a while."""

import multiprocessing as mp
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401
from scipy.sparse import eye_array
from threadpoolctl import threadpool_info

from lordclust._core import blas
from lordclust._core.blas import one_blas_thread
from lordclust.methods import DSN
from lordclust.result import Run


def blas_threads():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]


def test_one_inside_and_restored():
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_restored_after_an_error():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        1 / 0  # noqa: B018
    assert blas_threads() == before


def test_many_threads_at_once():
    before = blas_threads()

    @one_blas_thread()
    def work(_):
        return set(blas_threads())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(40))) == [{1}] * 40
    assert blas_threads() == before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_while_another_thread_enters():
    """The other thread is not there to release the lock, or to restore the number."""
    before = blas_threads()

    def work():
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before

    with one_blas_thread(), blas._limit.lock:
        child = mp.get_context("fork").Process(target=work)
        child.start()
        child.join(timeout=20)
        hung = child.is_alive()
        child.kill()
    assert not hung
    assert child.exitcode == 0
    assert blas_threads() == before


@pytest.mark.parametrize(("n", "serial"), [(60, True), (2300, False)])
def test_small_fits_use_one_thread(monkeypatch, n, serial):
    """Of methods with n x n matrices, X may be small where these are not."""
    before, inside = blas_threads(), []

    def solve(self, data, k, rngs):
        inside.extend(blas_threads())
        labels = np.arange(n) % k
        yield Run(labels, 1.0, 1, True, [1.0])

    monkeypatch.setattr(DSN, "_solve", solve)
    DSN(2, affinity=lambda X: eye_array(len(X))).fit(np.zeros((n, 1)))
    assert (set(inside) == {1}) is (serial or set(before) == {1})
    assert blas_threads() == before
