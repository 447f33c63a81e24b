"""B-LoRD on dask workers: bytes moved, and time next to the local solver.

Usage, each of which rewrites the plan in docs/guide/scale.md:

- python -m benchmarks.distributed [N]: measure whole paths, and calls from samples
- python -m benchmarks.distributed --default [N ...]: measure calls from N samples alone
- python -m benchmarks.distributed --page: nothing but the plan
"""

import json
import sys
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import SCALE, Results, Row, clock, table, where, with_block
from lordclust._core.typing import Graph
from lordclust._core.versions import machine_facts

HERE = Path(__file__).parent
RESULTS = HERE / "distributed.json"
N, D, K, TAU, BLOCKS = 100_000, 16, 10, 0.3, 8
#: The default call, and shares and tau that are given.
CALLS = {
    "default": {},
    "given shares": {"proportions": [0.19, *[0.09] * 9], "tau": TAU},
}
#: S stays on the workers: a whole path.
PATH = {"tau": TAU, "proportions": None, "start": "path", "affinity": "precomputed"}
#: The plan: samples, features, clusters and machines; and bytes per second of their
#: network, 10 Gbit/s.
PLAN = {"n": 10**8, "d": 100, "k": 10, "machines": 50}
NETWORK, GIGA = 10e9 / 8, 1e9


# -- measuring --------------------------------------------------------------------


def samples(n: int, groups: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of overlapping groups in random order, and their groups."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, groups, n)
    centres = spread * rng.standard_normal((groups, D))
    return centres[y] + rng.standard_normal((n, D)), y


def saved_blocks(S: Graph, folder: Path, name: str) -> list[str]:
    block_starts = np.linspace(0, S.shape[0], BLOCKS + 1).astype(int)
    files = [str(folder / f"{name}-{i}.npz") for i in range(BLOCKS)]
    for file, (x, y) in zip(files, pairwise(block_starts), strict=True):
        sp.save_npz(file, S[x:y], compressed=False)
    return files


def _count(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{n} {noun}{'s' * (n != 1)}"


def local_row(S: Graph, n_jobs: int) -> Row:
    from lordclust import BLoRD

    model = BLoRD(K, **PATH, n_jobs=n_jobs)
    seconds, _ = clock(lambda: model.fit(S))
    place = f"local, {_count(n_jobs, 'thread')}"
    return {"where": place, "seconds": seconds} | _end(model)


def fitted(
    parts: list[Any], warm: list[Any], n_workers: int, **options: Any
) -> tuple[float, Any]:
    """Return the seconds of a fit on a cluster of its own, and the model."""
    from distributed import Client, LocalCluster

    from lordclust.distributed import BLoRD

    kind = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=n_workers, **kind) as cluster,
        Client(cluster) as client,
    ):
        model = BLoRD(K, client=client, **options)
        model.fit(warm)  # compiles, or loads what is compiled
        seconds, _ = clock(lambda: model.fit(parts))
        return seconds, model.gather()


def worker_row(files: list[str], warm: list[str], n_workers: int, order: str) -> Row:
    seconds, model = fitted(files, warm, n_workers, **PATH)
    t = model.traffic_
    return {
        "where": f"{_count(n_workers, 'worker')}, {order} order",
        "seconds": seconds,
        **_end(model),
        "workers": n_workers,
        "order": order,
        "steps": t.steps,
        "passes": t.passes,
        "borrowed rows": t.borrowed,
        "KB a step between workers": (t.between_workers - t.saves) / t.steps / 1e3,
        "KB a step to the driver": t.to_driver / t.steps / 1e3,
        "MB of copies": t.saves / 1e6,
    }


def _end(model: Any) -> Row:
    return {"objective": model.objective_, "iterations at the end": model.n_iter_}


def default_rows(n: int) -> list[Row]:
    """Measure calls from samples to labels, here and on workers."""
    from sklearn.metrics import adjusted_rand_score

    from lordclust import BLoRD

    X, _ = samples(n, K, 1.0)  # as many as are asked for: labels are comparable
    parts, warm = np.array_split(X, BLOCKS), np.array_split(X[:2000], BLOCKS)
    rows = []
    for call, options in CALLS.items():
        local = BLoRD(K, **options).fit(X[:2000])
        seconds = {"local": clock(partial(local.fit, X))[0]}
        row: Row = {}
        for count in (1, 2):
            place = _count(count, "worker")
            seconds[place], model = fitted(parts, warm, count, **options)
            ari = adjusted_rand_score(local.labels_, model.labels_)
            row[f"ARI, {place}"] = float(ari)
        gain = seconds["1 worker"] / seconds["2 workers"]
        times = {f"{place}, s": value for place, value in seconds.items()}
        rows.append({"samples": n, "call": call} | times | {"one / two": gain} | row)
    return rows


def search_rate() -> float:
    """Return pairs times features that one thread compares per second."""
    from lordclust.distributed._neighbours import Nearest

    X = np.random.default_rng(0).random((4000, PLAN["d"]))
    nearest = Nearest(X, 27, 1.0)
    seconds, _ = clock(lambda: nearest.offer(X, 0, X.mean(axis=0), True), 2)
    return len(X) ** 2 * X.shape[1] / seconds


def borrowed(S: Graph, machines: int) -> float:
    """Return the rows needed from other machines, per row of their own."""
    n = S.shape[0]
    block_starts = np.linspace(0, n, machines + 1).astype(int)
    total = 0
    for x, y in pairwise(block_starts):
        columns = np.unique(S[x:y].indices)
        total += int(((columns < x) | (columns >= y)).sum())
    return total / n


def measure(n: int) -> Row:
    from lordclust.graph import KNNGraph

    X, y = samples(n, 4 * K, 2.2)
    S = KNNGraph().build(X)
    near = np.argsort(y, kind="stable")
    rows = [local_row(S, 1), local_row(S, 2)]
    graphs = {"random": S, "near": S[near][:, near].tocsr()}
    with TemporaryDirectory() as folder:
        warm = saved_blocks(KNNGraph().build(X[:2000]), Path(folder), "warm")
        for order, G in graphs.items():
            files = saved_blocks(G, Path(folder), order)
            rows += [worker_row(files, warm, w, order) for w in (1, 2)]
    return {
        "facts": machine_facts(),
        "measured": time.strftime("%Y-%m-%d"),
        "n": n,
        "k": K,
        "entries a row": S.nnz / n,
        "borrowed a row": borrowed(graphs["near"], PLAN["machines"]),
        "pairs x features a second": search_rate(),
        "rows": rows,
    }


# -- the plan ---------------------------------------------------------------------


def plan(results: Results) -> str:
    """Return what many machines need, computed from measurements of two workers."""
    rows = [row for row in results["rows"] if "workers" in row]
    one, two = (_pick(rows, w, "near") for w in (1, 2))
    shown = [
        {key: _rounded(row.get(key, "")) for key in rows[0] if key not in DROPPED}
        for row in results["rows"]
    ]
    parts = [
        f"Measured on {results['measured']} with {results['n']:,} samples, "
        f"{results['k']} clusters, {results['entries a row']:.1f} entries of S per row "
        f"({where(results)}). *Near* order: samples of a group are next to each other.",
        table(shown),
        _needs(results, one, two),
    ]
    if "default" in results:
        parts.insert(0, _default(results["default"]))
    return "\n\n".join(parts)


def _default(measured: Any) -> str:
    """Return the table of calls from samples to labels."""
    rows = [{key: _rounded(value) for key, value in row.items()} for row in measured]
    return (
        f"`BLoRD({K})` from samples of {D} features to labels, by default and with "
        "given shares and tau (goal: two workers 1.5 times as fast as one). ARI "
        f"compares with the local labels.\n\n{table(rows)}\n\n"
        'With `start="path"`, which leaves S and V on the workers:'
    )


DROPPED = ("workers", "order", "iterations at the end")


def _pick(rows: list[Row], workers: int, order: str) -> Row:
    return next(r for r in rows if r["workers"] == workers and r["order"] == order)


def _rounded(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def _needs(results: Results, one: Any, two: Any) -> str:
    """Return the plan's table."""
    n, k, machines = PLAN["n"], PLAN["k"], PLAN["machines"]
    own = n / machines
    # Only the number of entries per row grows with n, as log2 n.
    entries = results["entries a row"] * np.log2(n) / np.log2(results["n"])
    # Near order: as measured for this graph in as many parts. Random order: every
    # entry may refer to a different row of another machine.
    most = {
        "near": results["borrowed a row"],
        "random": min(entries, machines - 1),
    }
    graph = own * entries * 12
    factor = own * (k * 8 * 8 + 4 * (k + 1) * 8)
    compute = one["seconds"] / one["steps"] * own / results["n"]
    lines = []
    for order in ("near", "random"):
        borrowed = most[order] * own
        sent = borrowed * k * 8
        step = compute + sent / NETWORK
        lines.append(
            {
                "rows in": f"{order} order",
                "S per machine, GB": f"{graph / GIGA:.2g}",
                "V and copies, GB": f"{factor / GIGA:.2g}",
                "borrowed rows, GB": f"{2 * borrowed * k * 8 / GIGA:.2g}",
                "GB per step and machine": f"{sent / GIGA:.2g}",
                "seconds per step": f"{step:.2g}",
                "hours per fit": f"{step * two['steps'] / 3600:.2g}",
            }
        )
    search = n * n * PLAN["d"] / machines / results["pairs x features a second"]
    return (
        f"Extrapolated to {n:.0e} samples, {k} clusters, {machines} machines of one "
        "thread and a network of 10 Gbit/s, in float64, for the same number "
        f"of steps ({two['steps']}):\n\n{table(lines)}\n\n"
        f"A pass sends {k + k * k + 4} numbers per block to the driver. Comparing all "
        f"pairs of samples of {PLAN['d']} features would take {search / 3600:.0f} "
        "hours of one thread on each machine: at this size build the graph with an "
        "approximate index, and pass it as blocks of S."
    )


def main(args: list[str]) -> None:
    results = json.loads(RESULTS.read_text())
    if args[:1] not in (["--page"], ["--default"]):
        results = measure(int(args[0]) if args else N)
    if args != ["--page"]:
        sizes = [int(arg) for arg in args if arg != "--default"] or [N, 2 * N]
        kept = [
            row for row in results.get("default", []) if row["samples"] not in sizes
        ]
        new = [row for size in sizes for row in default_rows(size)]
        results["default"] = sorted(kept + new, key=lambda row: row["samples"])
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    SCALE.write_text(with_block(SCALE.read_text(), "plan", plan(results)))


if __name__ == "__main__":
    main(sys.argv[1:])
