"""Many clusters: time and memory of 100,000 samples in 1000 clusters.

Usage: python -m benchmarks.many

Each fit runs in a fresh process: the default call, and fits at a given tau from the
labels of MiniBatchKMeans, whose time is reported. It writes many.json and a part of
docs/guide/scale.md.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import (
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
from benchmarks.growth import mini_batch, mixture

N, K, TAU = 100_000, 1000, 0.5
KEPT = 10
DEFAULT = "default call"
CASES: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "float64": {},
    f"float64, proba_top={KEPT}": {"proba_top": KEPT},
    f"float32, proba_top={KEPT}": {"proba_top": KEPT, "dtype": "float32"},
}
RESULTS = Path(__file__).parent / "many.json"


def measure(name: str) -> Row:
    """Run one case in this process."""
    from sklearn.metrics import adjusted_rand_score

    from lordclust import BLoRD

    X, y = mixture(N, K)
    start, (labels, _) = clock(lambda: mini_batch(X, K))
    given = {} if name == DEFAULT else {"tau": TAU, "start": labels}
    model = BLoRD(K, **given, **CASES[name])
    seconds, _ = clock(lambda: model.fit(X))
    return {
        "fit": name,
        "k-means s": start,
        "fit s": seconds,
        "iterations": model.n_iter_,
        "peak GB": peak() / 1024,
        "membership MB": size(model.membership_) / 2**20,
        "ARI of k-means": adjusted_rand_score(y, labels),
        "ARI": adjusted_rand_score(y, model.labels_),
        "largest / smallest cluster": f"{model.sizes_.max()} / {model.sizes_.min()}",
    }


def size(P: Any) -> int:
    """Return the bytes of an array, dense or sparse."""
    if hasattr(P, "indptr"):
        return int(P.data.nbytes + P.indices.nbytes + P.indptr.nbytes)
    return int(P.nbytes)


def part(results: Results) -> str:
    """Return the part of the guide on many clusters."""
    return (
        f"{N:,} samples of {K} Gaussians in 32 dimensions, fitted with `BLoRD({K})`, "
        f"and with `tau={TAU}, start=labels` from the labels of MiniBatchKMeans "
        f"({where(results)}). The peak is that of the process, including the graph of "
        f"neighbours.\n\n{table(results['rows'])}"
    )


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    rows = []
    for name in CASES:
        rows.append(in_process("benchmarks.many", name))
        print(rows[-1], file=sys.stderr, flush=True)
    results = save(RESULTS, rows)
    SCALE.write_text(with_block(SCALE.read_text(), "many", part(results)))


if __name__ == "__main__":
    main()
