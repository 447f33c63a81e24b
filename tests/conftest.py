"""Settings shared by all tests."""

import os
import signal
import sys
from functools import cache
from pathlib import Path

# Parallel workers that each use all cores for small matrices wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")

    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # a plugin may have imported NumPy already

# Tests press Ctrl-C, which a shell ignores for commands in the background.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from hypothesis import HealthCheck, settings

from lordclust._core.compiling import CLOCK

CLOCK.noticed = True  # whether something is compiled depends on the tests before
TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS))

common = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("steady", max_examples=40, derandomize=True, **common)
settings.register_profile("quick", max_examples=8, derandomize=True, **common)
settings.register_profile("thorough", max_examples=1000, **common)
settings.load_profile("steady")


@cache
def slow_tests():
    """Return what ``make quick`` leaves out: slow.txt, and the modules of baselines."""
    from lordclust.registry import BUILT_IN

    names = {line.name for line in BUILT_IN} - {"lord", "blord"}
    slow = (TESTS / "slow.txt").read_text(encoding="utf-8").split()
    return (*slow, *(f"methods/test_{name}.py" for name in names))


def pytest_collection_modifyitems(items):
    """Mark the slow tests."""
    slow = slow_tests()
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(slow):
            item.add_marker("slow")


def pytest_ignore_collect(collection_path, config):
    """Do not even import slow modules where ``-m "not slow"`` leaves them out."""
    if config.getoption("markexpr") == "not slow" and collection_path != TESTS:
        name = collection_path.relative_to(TESTS).as_posix()
        return f"{name}/".startswith(slow_tests()) or None
    return None


@pytest.fixture
def registry(monkeypatch):
    """The methods, restored after the test."""
    from lordclust.registry import METHODS

    monkeypatch.setattr(METHODS, "_lines", dict(METHODS._lines))
    return METHODS
