"""The number of threads."""

import os

import numpy as np
import pytest

from lordclust import suggest_k, tau_path
from lordclust._core.threads import count_threads


def test_good_numbers_of_threads():
    assert count_threads(1) == count_threads(np.int32(1)) == 1
    assert count_threads(5) == 5
    assert 1 <= count_threads(None) == count_threads(-1) <= os.cpu_count()


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
