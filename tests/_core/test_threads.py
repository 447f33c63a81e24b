"""The number of threads."""

import os

import numpy as np
import pytest
from joblib import parallel_config

from lordclust import BLoRD, suggest_k, tau_path
from lordclust._core.threads import count_threads, fit_threads, threads_of_fit
from lordclust.graph import KNNGraph
from lordclust.rounding import subspace


def test_good_numbers_of_threads():
    assert count_threads(1) == count_threads(np.int32(1)) == 1
    assert count_threads(5) == 5
    assert 1 <= count_threads(-1) <= os.cpu_count()


def test_none_follows_joblib():
    assert count_threads(None) == 1
    with parallel_config(backend="threading", n_jobs=3):
        assert count_threads(None) == 3
        assert count_threads(1) == 1


def test_a_fit_has_its_own_number():
    assert threads_of_fit() == 1
    with fit_threads(3):
        assert threads_of_fit() == 3
        assert count_threads(None) == 1
    with parallel_config(backend="threading", n_jobs=4):
        assert threads_of_fit() == 4


def test_eigenvectors_of_a_fit_use_its_threads(monkeypatch):
    found = []
    monkeypatch.setattr(subspace, "THREADS_FROM", 100)
    monkeypatch.setattr(
        subspace, "threads_of_fit", lambda: found.append(threads_of_fit()) or 1
    )
    X = np.random.default_rng(0).normal(size=(600, 3))
    BLoRD(2, n_jobs=3).fit(X)
    assert found
    assert set(found) == {3}


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
def test_graphs_do_not_depend_on_threads(metric):
    X = np.random.default_rng(0).normal(size=(6000, 6))
    graphs = [KNNGraph(metric=metric, n_jobs=n).build(X) for n in (1, None, 2, -1)]
    assert all((graphs[0] != S).nnz == 0 for S in graphs)


@pytest.mark.parametrize("n_jobs", [0, "1e400", 1.0, True, [2], np.nan])
@pytest.mark.parametrize(
    "ask",
    [
        count_threads,
        lambda n_jobs: tau_path(np.eye(4), 2, n_jobs=n_jobs),
        lambda n_jobs: suggest_k(np.eye(4), [2], n_jobs=n_jobs),
    ],
    ids=["count_threads", "tau_path", "suggest_k"],
)
def test_bad_numbers_of_threads(ask, n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be an integer other than 0"):
        ask(n_jobs)
