"""Settings shared by all tests."""

import os
import sys
from pathlib import Path

# Parallel workers that each use all cores for small matrices wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")

    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # a plugin may have imported NumPy already

import pytest
from hypothesis import HealthCheck, settings

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


def pytest_collection_modifyitems(items):
    """Mark the folders, modules and tests of slow.txt; ``make quick`` skips them."""
    slow = tuple((TESTS / "slow.txt").read_text(encoding="utf-8").split())
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(slow):
            item.add_marker("slow")


@pytest.fixture
def registry(monkeypatch):
    """The methods, restored after the test."""
    from lordclust.registry import METHODS

    monkeypatch.setattr(METHODS, "_lines", dict(METHODS._lines))
    return METHODS
