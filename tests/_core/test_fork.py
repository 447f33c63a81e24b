"""scikit-learn's threads, in a forked process and for little work."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info, threadpool_limits

from lordclust._core import fork
from lordclust._core.blas import thread_pools
from lordclust.rounding.labels import kmeans_labels, lloyd_labels


def openmp_threads():
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "openmp"}


@pytest.mark.parametrize("forked", [False, True])
def test_a_forked_process_uses_one_thread(monkeypatch, forked):
    if forked:
        monkeypatch.setattr(fork, "HOME", -1)
    with threadpool_limits(2, "openmp"):
        with fork.openmp():
            assert openmp_threads() == ({1} if forked else {2})
        assert openmp_threads() == {2}


def threads_of_sklearn():
    """Other libraries may have loaded an OpenMP of their own."""
    return {one["num_threads"] for one in thread_pools("openmp").info()}


def test_little_work_uses_one_thread():
    with threadpool_limits(2, "openmp"):
        with fork.openmp(fork.LARGE - 1):
            assert threads_of_sklearn() == {1}
        assert threads_of_sklearn() == {2}


@pytest.mark.parametrize(("n", "threads"), [(300, 1), (20_000, 2)])
def test_k_means_of_few_samples_uses_one_thread(monkeypatch, n, threads):
    """Threads that wait for each other take 100 times as long on a busy machine."""
    seen, fit = [], KMeans.fit

    def watched(self, X):
        seen.append(threads_of_sklearn())
        return fit(self, X)

    monkeypatch.setattr(KMeans, "fit", watched)
    X = np.random.default_rng(0).normal(size=(n, 20))
    with threadpool_limits(2, "openmp"):
        kmeans_labels(X, 10, np.random.default_rng(0))
        lloyd_labels(X, X[:10], 1)
    assert seen == [{threads}] * 2
