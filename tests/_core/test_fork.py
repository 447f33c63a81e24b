"""scikit-learn's threads in a forked process."""

import pytest
import sklearn.cluster  # noqa: F401  loads OpenMP
from threadpoolctl import threadpool_info, threadpool_limits

from lordclust._core import fork


def openmp_threads():
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "openmp"}


@pytest.mark.parametrize(("home", "expected"), [(fork.HOME, {2}), (-1, {1})])
def test_a_forked_process_uses_one_thread(monkeypatch, home, expected):
    monkeypatch.setattr(fork, "HOME", home)
    with threadpool_limits(2, "openmp"):
        with fork.openmp():
            assert openmp_threads() == expected
        assert openmp_threads() == {2}
