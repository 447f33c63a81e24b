"""The estimate of memory, measured peaks, and fits under real limits."""

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import added_memory
from lordclust._core.memory import NotEnoughMemoryError, solver_bytes
from lordclust._core.typing import Graph

#: Samples, clusters and dtype of the fits whose peak is measured.
CASES = (
    (25_000, 10, "float64"),
    (25_000, 100, "float64"),
    (25_000, 100, "float32"),
    (50_000, 10, "float64"),
    (50_000, 50, "float64"),
    (50_000, 50, "float32"),
    (25_000, 400, "float64"),
)
#: The case run under limits, and the memory left to it as parts of its peak.
LIMITED = (25_000, 100, "float64")
PARTS = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)


def graph(n: int, q: int = 15) -> Any:
    """Return a random graph with about as many edges as a nearest-neighbour graph."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(n, dtype=np.int32), q)
    columns = rng.integers(n, size=len(rows), dtype=np.int32)
    A = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return sp.csr_array(A + A.T)


def fit(S: Graph, k: int, dtype: str) -> None:
    """Fit in few steps, with a loose tolerance; it needs as much memory as any fit."""
    from lordclust import BLoRD

    path = {"tau": 0.2, "proportions": "equal", "rounding": "argmax", "start": "path"}
    model = BLoRD(k, affinity="precomputed", dtype=dtype, tol=0.3, n_jobs=1, **path)
    assert model.fit(S).converged_


def in_a_child(task: Callable[[], Any]) -> Any:
    """Return the result of a task in a fork of this process, None if it died."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, json.dumps(task()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        answer = file.read()
    os.waitpid(pid, 0)
    return json.loads(answer) if answer else None


def measured(n: int, k: int, dtype: str) -> dict[str, Any]:
    """Return the peak of a fit and its estimate, in MB."""
    S = graph(n)
    fit(graph(200), 2, dtype)  # compile
    peak = added_memory(lambda: fit(S, k, dtype))
    needed = solver_bytes(n, k, S.nnz, np.dtype(dtype).itemsize) / 2**20
    return {
        "samples": n,
        "clusters": k,
        "dtype": dtype,
        "peak MB": round(peak),
        "estimate MB": round(needed),
        "estimate / peak": round(needed / peak, 2),
    }


def under_a_limit(extra: float) -> str:
    """Return how a fit with this many bytes available ends (``ulimit -v``)."""
    n, k, dtype = LIMITED
    S = graph(n)
    fit(graph(200), 2, dtype)
    used = int(Path("/proc/self/statm").read_text().split()[0])
    limit = used * resource.getpagesize() + int(extra)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        fit(S, k, dtype)
    except MemoryError as error:
        refused = isinstance(error, NotEnoughMemoryError)
        return "refused in advance" if refused else "failed in the fit"
    return "done"


def measure() -> dict[str, Any]:
    """Return peaks, estimates and the outcomes of fits under limits."""
    rows = [in_a_child(lambda case=case: measured(*case)) for case in CASES]
    peak = rows[CASES.index(LIMITED)]["peak MB"] * 2**20
    limits = {
        part: in_a_child(lambda part=part: under_a_limit(part * peak)) or "died"
        for part in PARTS
    }
    return {"rows": rows, "limits": limits}
