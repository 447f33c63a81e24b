"""scikit-learn's threads in a forked process."""

import pytest
import sklearn.cluster  # noqa: F401  loads OpenMP
from threadpoolctl import threadpool_info, threadpool_limits

from lordclust._core import fork


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
