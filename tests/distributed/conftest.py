"""A real cluster of two processes, shared by the tests of this folder."""

from pathlib import Path

import pytest

distributed = pytest.importorskip("distributed", reason="dask is not installed")


def pytest_collection_modifyitems(items):
    """Have one process run all tests of this folder: it has the cluster."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("cluster"))


def two_processes():
    return distributed.LocalCluster(
        processes=True,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",  # any free port: tests run side by side
    )


@pytest.fixture(scope="session")
def client():
    with two_processes() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def mortal():
    """The client of a cluster of its own, whose workers may be killed."""
    with two_processes() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def doomed(mortal):
    """The same client, once its nannies have replaced all workers."""
    mortal.wait_for_workers(2, timeout=60)
    return mortal
