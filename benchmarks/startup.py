"""Fresh processes: imports, and a fit of 1,000 x 20 points."""

from benchmarks.common import Benchmark, Row, process_seconds

DATA = (
    "from sklearn.datasets import make_blobs;"
    "X = make_blobs(1000, 20, centers=5, random_state=0)[0];"
)
CASES = (
    ("import", "import lordclust", "import sklearn.cluster"),
    (
        "import the estimator",
        "from lordclust import BLoRD",
        "from sklearn.cluster import SpectralClustering",
    ),
    (
        "fit 1,000 x 20",
        DATA + "from lordclust import BLoRD; BLoRD(5).fit(X)",
        DATA + "from sklearn.cluster import SpectralClustering;"
        "SpectralClustering(5, affinity='nearest_neighbors').fit(X)",
    ),
)


def run() -> list[Row]:
    empty = process_seconds("pass")
    rows = []
    for what, ours, theirs in CASES:
        process_seconds(ours, 1)  # compile
        a, b = process_seconds(ours) - empty, process_seconds(theirs) - empty
        rows.append(
            {"what": what, "lordclust s": a, "scikit-learn s": b, "ratio": a / b}
        )
    return rows


BENCHMARK = Benchmark(
    "Fresh processes",
    "Median wall time of seven fresh processes, compiled code in numba's cache, minus "
    "the time of an empty Python process.",
    run,
)
