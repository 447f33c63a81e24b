"""A real cluster of two processes, shared by the tests of this folder."""

import os

import pytest

distributed = pytest.importorskip("distributed", reason="dask is not installed")


def pytest_collection_modifyitems(items):
    """Leave the cluster alone unless it is asked for: it takes minutes to itself."""
    if "LORDCLUST_CLUSTER" in os.environ:
        return
    reason = "set LORDCLUST_CLUSTER=1 to start clusters of processes"
    for item in items:
        if "distributed" in str(item.path):
            item.add_marker(pytest.mark.skip(reason=reason))


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


@pytest.fixture
def doomed():
    """The client of a cluster of its own, whose workers may be killed."""
    with two_processes() as cluster, distributed.Client(cluster) as client:
        yield client
