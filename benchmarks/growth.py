"""How time and memory grow with n, for us and other tools; takes hours.

Usage: python -m benchmarks.growth [N ...] [--clusters K ...] [--tools T ...] [--page]

Each case runs in a fresh process and is stopped after LIMIT seconds. growth.json gets
one row after each case; cases that have a row there are not run again, so that the run
can be stopped and continued at any time (delete a row to measure it again). growth.md,
docs/growth.png and a part of docs/guide/scale.md are generated from it; --page does
only that.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    README,
    ROOT,
    SCALE,
    Results,
    Row,
    clock,
    in_process,
    peak,
    save,
    table,
    where,
    with_block,
)
from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.versions import machine_facts
from lordclust.solver.solve import MANY

SIZES = (10_000, 100_000, 1_000_000, 3_000_000)
CLUSTERS = (10, 100)
FEATURES = 32
LIMIT, PATIENCE = 20 * 60, 90 * 60
HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "growth.json", HERE / "growth.md"
PICTURE = ROOT / "docs" / "growth.png"
#: Labels, and the seconds of parts.
Result = tuple[Any, Row]
#: Largest growth that is accepted, as a power of n; and at 10^6, k = 10, on 2 cores.
SLOPE, SECONDS, GIGABYTES = 1.1, 20 * 60, 6.0
#: From here on nothing fits into a cache, and no coarse paths are compared.
LARGE = 100_000


def mixture(n: int, k: int) -> tuple[FloatArray, IntArray]:
    """Return samples of k equal-sized Gaussians that touch, and their labels."""
    rng = np.random.default_rng(0)
    centres = 1.2 * rng.standard_normal((k, FEATURES), dtype=np.float32)
    y = rng.permutation(np.arange(n) % k)
    X = rng.standard_normal((n, FEATURES), dtype=np.float32)
    X += centres[y]
    return X, y


# -- the tools: from X to labels, with the seconds of parts ---------------------------


def lordclust(X: FloatArray, k: int) -> Result:
    from lordclust import BLoRD

    return _kept(BLoRD(k).fit(X))


def equal_shares(X: FloatArray, k: int) -> Result:
    from lordclust import BLoRD

    return _kept(BLoRD(k, proportions="equal", tau=1.0).fit(X))


def lordclust_single(X: FloatArray, k: int) -> Result:
    from lordclust import BLoRD

    return _kept(BLoRD(k, dtype="float32", proba_top=5).fit(X))


def _kept(model: Any) -> Result:
    """Return the labels, and what else is worth knowing."""
    parts = {"recall": model.recall_, "entries": int(model.affinity_matrix_.nnz)}
    return model.labels_, parts | {"objective": float(model.objective_)}


def spectral(X: FloatArray, k: int) -> Result:
    from sklearn.cluster import SpectralClustering

    q = len(X).bit_length()
    model = SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=q, random_state=0, n_jobs=-1
    )
    return model.fit_predict(X), {}


def mini_batch(X: FloatArray, k: int) -> Result:
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(k, batch_size=4096, n_init=3, random_state=0)
    return model.fit_predict(X), {}


def constrained(X: FloatArray, k: int) -> Result:
    from k_means_constrained import KMeansConstrained

    n = len(X)
    # One start: joblib's workers would get a read-only copy, which it refuses.
    model = KMeansConstrained(
        k, size_min=n // k, size_max=-(-n // k), n_init=1, random_state=0, n_jobs=1
    )
    return model.fit_predict(X), {}


def balanced(X: FloatArray, k: int) -> Result:
    from lordclust.methods import BalancedKMeans

    return BalancedKMeans(k, n_init=1, random_state=0).fit_predict(X), {}


def faiss_kmeans(X: FloatArray, k: int) -> Result:
    import faiss

    model = faiss.Kmeans(X.shape[1], k, niter=25, nredo=3, seed=0)
    model.train(X)
    return model.index.search(X, 1)[1].ravel(), {}


def leiden(X: FloatArray, k: int) -> Result:
    import igraph
    import leidenalg

    from lordclust.graph import KNNGraph

    t_graph, S = clock(lambda: KNNGraph().build(X))
    upper = S.tocoo()
    kept = upper.row < upper.col
    edges = np.column_stack([upper.row[kept], upper.col[kept]])
    graph = igraph.Graph(n=len(X), edges=edges)
    found = leidenalg.find_partition(
        graph, leidenalg.ModularityVertexPartition, weights=upper.data[kept], seed=0
    )
    parts = {"graph s": t_graph, "clusters found": len(found)}
    return np.array(found.membership), parts


TOOLS = {
    "lordclust": lordclust,
    "lordclust, equal shares": equal_shares,
    "lordclust, float32": lordclust_single,
    "lordclust, BalancedKMeans": balanced,
    "scikit-learn SpectralClustering": spectral,
    "scikit-learn MiniBatchKMeans": mini_batch,
    "k-means-constrained": constrained,
    "faiss k-means": faiss_kmeans,
    "leidenalg": leiden,
}


# -- cases ---------------------------------------------------------------------------


def measure(tool: str, n: int, k: int) -> Row:
    """Run one case in this process."""
    from sklearn.metrics import adjusted_rand_score

    warm, _ = mixture(600, 3)
    if tool.startswith("lordclust"):
        TOOLS[tool](warm, 3)  # compile
    X, y = mixture(n, k)
    seconds, (labels, parts) = clock(lambda: TOOLS[tool](X, k))
    row = {
        "seconds": seconds,
        "GB": peak() / 1024,
        "ARI": adjusted_rand_score(y, labels),
    }
    return row | parts


def too_large(n: int, k: int) -> str:
    """Return why a fit of lordclust cannot run here, or nothing."""
    from lordclust._core import memory

    entries = 2 * n.bit_length() * n
    estimate = memory.choice_bytes if k >= MANY else memory.solver_bytes
    path = estimate(n, k, entries) + n * k * 8
    try:
        # In addition to the solver: X, and the graph it was given.
        memory.check_memory(path + 4 * FEATURES * n + 12 * entries, "It", "")
    except memory.NotEnoughMemoryError as error:
        return str(error).split(",")[0].removeprefix("It ")
    return ""


def run(sizes: list[int], clusters: list[int], tools: list[str]) -> None:
    """Run all cases without a row, the small ones first."""
    rows = read()["rows"]
    for n in sorted(sizes):
        for k in clusters:
            for tool in tools:
                if any(same_case(row, tool, n, k) for row in rows):
                    continue
                print(f"{tool}, n = {n}, k = {k} ...", file=sys.stderr, flush=True)
                start = time.time()
                row = {"tool": tool, "n": n, "k": k, "day": time.strftime("%Y-%m-%d")}
                row |= result(rows, tool, n, k)
                print(
                    f"  {time.time() - start:.0f} s: {row}", file=sys.stderr, flush=True
                )
                rows.append(row)
                save(RESULTS, rows)


def result(rows: list[Row], tool: str, n: int, k: int) -> Row:
    """Return the numbers of a case, or why it was not run."""
    for row in rows:
        smaller = row["n"] <= n and row["k"] <= k
        if row["tool"] == tool and smaller and "cut off" in row:
            return {"cut off": f"not run: cut off at n = {row['n']}, k = {row['k']}"}
    if tool == "lordclust" and (why := too_large(n, k)):
        return {"cut off": f"not run: {why}"}
    seconds = expected(of(rows, tool, k), n)
    # Our own growth is measured from all sizes, however long they take.
    if tool != "lordclust" and seconds > LIMIT:
        return {"cut off": f"not run: by its growth {seconds / 60:.0f} minutes"}
    case = json.dumps([tool, n, k])
    limit = PATIENCE if tool == "lordclust" else LIMIT
    return in_process("benchmarks.growth", "--case", case, limit=limit)


def expected(rows: list[Row], n: int) -> float:
    """Return the seconds for n extrapolated from two smaller cases, 0 without them."""
    rows = [row for row in rows if row["n"] < n and "seconds" in row][-2:]
    if len(rows) < 2:
        return 0.0
    x, y = ([np.log(row[name]) for row in rows] for name in ("n", "seconds"))
    power = max(1.0, (y[1] - y[0]) / (x[1] - x[0]))
    return float(rows[1]["seconds"] * (n / rows[1]["n"]) ** power)


def same_case(row: Row, tool: str, n: int, k: int) -> bool:
    return (row["tool"], row["n"], row["k"]) == (tool, n, k)


def read() -> Results:
    """Return the results so far, sorted by clusters, size and tool."""
    if not RESULTS.exists():
        return {"facts": machine_facts(), "rows": []}
    results: Results = json.loads(RESULTS.read_text())
    tools = list(TOOLS)
    results["rows"].sort(key=lambda x: (x["k"], x["n"], tools.index(x["tool"])))
    return results


# -- page and picture ----------------------------------------------------------------


def slope(rows: list[Row], name: str, first: int = 0) -> float | None:
    """Return the power of n with which a number grows, from a first size on."""
    rows = [row for row in rows if name in row and row["n"] >= first]
    if len(rows) < 2:
        return None
    x, y = np.log([row["n"] for row in rows]), np.log([row[name] for row in rows])
    return float(np.polyfit(x, y, 1)[0])


def of(rows: list[Row], tool: str, k: int) -> list[Row]:
    found = [row for row in rows if row["tool"] == tool and row["k"] == k]
    return sorted(found, key=lambda row: row["n"])


def verdicts(rows: list[Row]) -> list[str]:
    """Return goals and what was measured, one line each."""
    lines = []
    for k in sorted({row["k"] for row in rows}):
        ours = of(rows, "lordclust", k)
        for name in ("seconds", "GB"):
            power = slope(ours, name)
            if power is not None:
                met = "met" if power <= SLOPE else "NOT met"
                lines.append(
                    f"- k = {k}: `{name}` grows as n^{power:.2f} (goal: at most "
                    f"n^{SLOPE}, {met}).{_later(ours, name)}"
                )
    for row in rows:
        if same_case(row, "lordclust", 1_000_000, 10) and "seconds" in row:
            met = row["seconds"] <= SECONDS and row["GB"] <= GIGABYTES
            lines.append(
                f"- A million samples, k = 10: {row['seconds'] / 60:.1f} minutes and "
                f"{row['GB']:.1f} GB (goal: at most {SECONDS // 60} minutes and "
                f"{GIGABYTES:g} GB, {'met' if met else 'NOT met'})."
            )
    return lines


def _later(rows: list[Row], name: str) -> str:
    """Return how a number and the graph grow beyond the caches."""
    power, entries = slope(rows, name, LARGE), slope(rows, "entries", LARGE)
    if power is None or entries is None:
        return ""
    return (
        f" From {LARGE:,} samples on it grows as n^{power:.2f} "
        f"({'met' if power <= SLOPE else 'NOT met'}), and the entries of S (about "
        f"2 log2 n per row) grow as n^{entries:.2f}."
    )


def page(results: Results) -> str:
    """Return all results as a page in Markdown."""
    head = ["tool", "n", "k", "seconds", "GB", "ARI", "day", "cut off"]
    rows = [{name: row.get(name, "") for name in head} for row in results["rows"]]
    return (
        f"# Growth\n\nGaussian mixtures in {FEATURES} dimensions, from X to labels, "
        "each in a separate process on all cores. GB is the peak of the process, "
        "including X. `lordclust` is the default call, `BLoRD(k)`; `equal shares` are "
        '`BLoRD(k, proportions="equal", tau=1.0)`, whose labels have exact sizes, and '
        "`float32` is the default with `proba_top=5`. A case is stopped after "
        f"{LIMIT // 60} minutes, and not run if its growth predicts a longer run, "
        "except for lordclust, whose growth is measured. "
        "leidenalg chooses the number of clusters itself, on our graph. Compare only "
        "rows of one day: machines differ. Rows without a day are older.\n\n"
        f"{table(rows)}\n\nMeasured with {where(results)}. Written by `python -m "
        "benchmarks.growth`.\n"
    )


def part(results: Results) -> str:
    """Return the part of the guide on growth."""
    head = ["n", "k", "seconds", "recall", "GB", "ARI"]
    ours = [row for row in results["rows"] if row["tool"] == "lordclust"]
    rows = [{name: row[name] for name in head} for row in ours if "seconds" in row]
    return (
        f"Gaussian mixtures in {FEATURES} dimensions with known classes: the default "
        f"call, `BLoRD(k)`, from X to labels ({where(results)}).\n\n{table(rows)}\n\n"
        + "\n".join(verdicts(results["rows"]))
        + "\n\n![Time and peak memory against the number of samples, for lordclust and "
        "other tools.](../growth.png)\n\n*Time and peak memory from X to labels. A "
        f"curve ends where the tool takes more than {LIMIT // 60} minutes; that of "
        "lordclust ends where the memory is full.*"
    )


def summary(results: Results) -> str:
    """Return the seconds for a million samples in ten clusters."""
    rows = [x for x in results["rows"] if (x["n"], x["k"]) == (1_000_000, 10)]
    s = {row["tool"]: f"{row['seconds']:.0f} s" for row in rows if "seconds" in row}
    return (
        f"For 10 clusters of 10^6 samples `BLoRD(10)` takes {s['lordclust']} and "
        f"leidenalg {s['leidenalg']}; with exact\nsizes `BalancedKMeans` takes "
        f"{s['lordclust, BalancedKMeans']} from one start, k-means-constrained "
        f"{s['k-means-constrained']}, and `BLoRD`\n{s['lordclust, equal shares']} "
        "([benchmarks/growth.md](benchmarks/growth.md))."
    )


def draw(rows: list[Row]) -> None:
    """Draw time and memory against n."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    clusters = sorted({row["k"] for row in rows})
    size = (10, 3.4 * len(clusters) + 0.6)
    figure, axes = plt.subplots(
        len(clusters), 2, figsize=size, squeeze=False, sharex=True, layout="constrained"
    )
    for k, line in zip(clusters, axes, strict=True):
        for axis, name in zip(line, ("seconds", "GB"), strict=True):
            for i, tool in enumerate(TOOLS):
                if all(row["tool"] != tool for row in rows):
                    continue
                points = [row for row in of(rows, tool, k) if name in row]
                axis.loglog(
                    [row["n"] for row in points],
                    [row[name] for row in points],
                    marker="o",
                    color=f"C{i}",
                    label=tool,
                    linewidth=2.5 if tool == "lordclust" else 1.2,
                    zorder=3 if tool == "lordclust" else 2,
                )
            axis.set(ylabel=name, title=f"k = {k}")
            axis.grid(alpha=0.3)
        line[1].set_yticks([0.3, 1, 3, 10], ["0.3", "1", "3", "10"])
        line[1].minorticks_off()
    for axis in axes[-1]:
        axis.set(xlabel="samples")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(PICTURE, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--clusters", nargs="*", type=int, default=list(CLUSTERS))
    parser.add_argument("--tools", nargs="*", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--page", action="store_true", help="only write the pages")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(*json.loads(options.case))))
        return
    if not options.page:
        run(options.sizes, options.clusters, options.tools)
    results = read()
    PAGE.write_text(page(results))
    SCALE.write_text(with_block(SCALE.read_text(), "growth", part(results)))
    README.write_text(with_block(README.read_text(), "growth", summary(results)))
    draw(results["rows"])


if __name__ == "__main__":
    main()
