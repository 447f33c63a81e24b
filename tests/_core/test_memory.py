"""What cannot fit is refused before the work; what fits is not."""

import subprocess
import sys
import time

import numpy as np
import pytest

from lordclust import BLoRD, LoRD, tau_path
from lordclust._core import memory
from lordclust._core.memory import Available
from lordclust.graph import KNNGraph, self_tuning_kernel
from lordclust.methods import GKKM
from lordclust.methods._request import Samples, check_request
from models import PAPER

GB = 2**30
ADVICE = "or a part of the samples"

LIMITED = """
import resource, sys
from qa.faults.memory import fit, graph
from lordclust._core.memory import solver_bytes

S = graph(25_000)
fit(graph(200), 2, "float64")  # load the compiled code
needed = solver_bytes(25_000, 60, S.nnz)
for part in (1.5, 0.9):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit = used + int(part * needed)
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    try:
        fit(S, 60, "float64")
        print("done")
    except MemoryError as error:
        print(error)
"""


@pytest.fixture
def little(monkeypatch):
    """A process that may take a megabyte more."""
    monkeypatch.setattr(memory, "free", lambda: Available(2**20, "for a test"))
    monkeypatch.setattr("lordclust.methods._request.LITTLE", 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
def test_under_ulimit_it_refuses_what_does_not_fit_and_does_what_fits():
    result = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True
    )
    done, refused = result.stdout.splitlines()
    assert done == "done"
    assert refused.startswith("BLoRD of 25000 samples and 60 clusters needs about 1")
    assert "(ulimit -v allows " in refused
    assert refused.endswith(
        'Use dtype="float32", which takes a third less, fewer clusters, or a part of '
        "the samples."
    )


@pytest.mark.parametrize("kind", [BLoRD, LoRD])
def test_a_fit_is_refused_before_its_graph_is_built(little, kind):
    def never(X):
        raise AssertionError("the work has begun")

    with pytest.raises(MemoryError, match=r"only 1\.0 MB are available \(for a test\)"):
        kind(100, affinity=never).fit(np.zeros((2000, 2)))


def test_a_path_counts_what_it_keeps(monkeypatch):
    S = KNNGraph().build(np.random.default_rng(0).normal(size=(500, 2)))
    one = 500 * 3 * 8
    room = memory.solver_bytes(500, 3, S.nnz) + 10.5 * one
    monkeypatch.setattr(memory, "free", lambda: Available(int(room), "for a test"))
    tau_path(S, 3, taus=np.linspace(0.1, 1, 10), keep="all", tol=0.1)
    with pytest.raises(MemoryError, match="with 11 memberships to keep"):
        tau_path(S, 3, taus=np.linspace(0.1, 1, 11), keep="all")


def test_paths_in_parallel_take_more(monkeypatch):
    monkeypatch.setattr("lordclust.methods._request.LITTLE", 0)
    X = np.random.default_rng(0).normal(size=(400, 2))
    room = memory.solver_bytes(400, 2, 400 * 9) * 1.5
    monkeypatch.setattr(memory, "free", lambda: Available(int(room), "for a test"))
    model = BLoRD(2, proportions=[0.3, 0.7], n_jobs=2, tol=0.1, tau=1.0)  # five paths
    with pytest.raises(MemoryError, match="n_jobs=1, for one path at a time"):
        model.fit(X)
    model.set_params(n_jobs=1).fit(X)


def test_a_choice_that_keeps_v_sparse_takes_less(monkeypatch):
    monkeypatch.setattr(memory, "free", lambda: Available(4 * GB, "for a test"))
    X = np.zeros((100_000, 2))
    with pytest.raises(MemoryError, match=r"9\.\d GB.*, but only 4\.0 GB"):
        BLoRD(1000, proportions="equal", tau=0.5, start="path").fit(X)
    with pytest.raises(MemoryError, match=r"6\.\d GB.*Use fewer clusters, or a part"):
        BLoRD(3000).fit(X)
    samples = Samples(X, np.ones(len(X), bool))
    assert check_request(BLoRD(1000), samples, 1000, None).shares.shape == (1000,)


def test_float32_is_not_advised_twice(little):
    with pytest.raises(MemoryError, match=r"Use fewer clusters, or a part"):
        PAPER(100, dtype="float32").fit(np.zeros((2000, 2)))


@pytest.mark.skipif(memory.free() is None, reason="the room is not known here")
def test_dense_methods_refuse_at_once_with_the_estimate():
    X, start = np.arange(1e6)[:, None], time.perf_counter()
    with pytest.raises(MemoryError, match=r"GKKM holds n x n .* about 14901\.2 GB"):
        GKKM(3, max_dense=10**7).fit(X)
    with pytest.raises(MemoryError, match=r"A full kernel .* about 14901\.2 GB"):
        self_tuning_kernel(X)
    assert time.perf_counter() - start < 20


@pytest.mark.skipif(memory.free() is None, reason="the room is not known here")
def test_asking_is_cheap():
    start = time.perf_counter()
    for _ in range(20):
        memory.free()
    assert time.perf_counter() - start < 1.0


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Files as the kernel writes them."""
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "_limits", lambda: iter(()))

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("DOT", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def test_nothing_is_known_elsewhere(kernel):
    assert memory.free() is None
    memory.check_memory(1e30, "All of it", "Wait.")


def test_what_the_machine_has_left(kernel):
    kernel(proc__meminfo="MemTotal: 9 kB\nMemAvailable: 1000 kB\nSwapFree: 24 kB\n")
    assert memory.free() == (2**20, "free memory of the machine")


def test_control_groups_of_version_2(kernel):
    kernel(
        proc__self__cgroup="0::/slice/job\n",
        cgroup__slice__memoryDOTmax=f"{3 * GB}\n",
        cgroup__slice__memoryDOTcurrent=f"{2 * GB}\n",
        cgroup__slice__memoryDOTstat=f"anon 7\ninactive_file {GB // 2}\n",
        cgroup__slice__job__memoryDOTmax="max\n",
        cgroup__slice__job__memoryDOTcurrent="5\n",
    )
    room = memory.free()
    assert room == (3 * GB // 2, "the control group of the process allows 3.0 GB")


def test_control_groups_of_version_1_in_a_container(kernel):
    kernel(
        proc__self__cgroup="5:cpu:/x\n4:memory:/docker/abc\n",
        cgroup__memory__memoryDOTlimit_in_bytes=f"{2 * GB}\n",
        cgroup__memory__memoryDOTusage_in_bytes=f"{GB}\n",
        cgroup__memory__memoryDOTstat="total_inactive_file 0\n",
    )
    assert memory.free() == (GB, "the control group of the process allows 2.0 GB")


def test_the_smallest_room_counts(kernel):
    kernel(
        proc__meminfo="MemAvailable: 1024 kB\n",
        proc__self__cgroup="0::/\n",
        cgroup__memoryDOTmax="5000000\n",
        cgroup__memoryDOTcurrent="4999000\n",
    )
    assert memory.free().free == 1000
