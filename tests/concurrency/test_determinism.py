"""The same bits whatever the threads, the pools of BLAS, the run and the hash seed."""

import json
import os
import subprocess
import sys
import warnings

import pytest
from threadpoolctl import threadpool_limits

import digests


@pytest.fixture(scope="module")
def here():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dict(digests.fits(1)) | dict(digests.method_labels())


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_threads_and_repeated_runs(here, n_jobs):
    again = dict(digests.fits(n_jobs))
    assert again == {name: here[name] for name in again}


@pytest.mark.parametrize("limit", [1, 2])
def test_limits_of_threadpoolctl(here, limit):
    with threadpool_limits(limit):
        again = dict(digests.fits(2))
    assert again == {name: here[name] for name in again}


@pytest.mark.parametrize(("blas", "seed", "jobs"), [("1", "0", "2"), ("2", "1", "1")])
def test_another_process(here, blas, seed, jobs):
    env = os.environ | {
        "OPENBLAS_NUM_THREADS": blas,
        "OMP_NUM_THREADS": blas,
        "PYTHONHASHSEED": seed,
    }
    run = subprocess.run(
        [sys.executable, digests.__file__, jobs],
        env=env, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert json.loads(run.stdout) == here
