"""The README's numbers, generated from the results."""

from benchmarks.common import Results, Row, table, with_block


def with_summary(text: str, results: Results) -> str:
    """Return the README with its numbers regenerated."""
    for name, make in BLOCKS.items():
        text = with_block(text, name, make(results))
    return text


def digits(results: Results) -> str:
    """Return the table of methods on the digits."""
    return table(results["digits"]["rows"]) if "digits" in results else ""


def speed(results: Results) -> str:
    """Return one line per benchmark that was run."""
    lines = [LINES[name](results[name]["rows"]) for name in LINES if name in results]
    return "\n".join(f"- {line}" for line in lines)


def _sizes(rows: list[Row]) -> str:
    seconds = {(r["data"], r["method"]): r["seconds"] for r in rows}
    cases = []
    for data in dict.fromkeys(r["data"] for r in rows):
        theirs = seconds.get((data, "`KMeansConstrained`, 10 starts"))
        if theirs is None:
            return "Exact sizes: k-means-constrained is not installed."
        ours = seconds[data, "`BLoRD`"]
        means = seconds[data, "`BalancedKMeans`, 10 starts"]
        cases.append(f"{theirs / ours:.0f} and {theirs / means:.0f} times ({data})")
    return (
        "23,000 points in ten clusters of exactly 2,300, 10 starts for the k-means "
        "methods: `BLoRD` and `BalancedKMeans` are "
        f"{' and '.join(cases)} faster than k-means-constrained."
    )


def _fit(rows: list[Row]) -> str:
    cases = " and ".join(f"{r['times faster']:.0f} times ({r['data']})" for r in rows)
    return (
        f"One B-LoRD fit from the same start to the same tolerance: {cases} faster "
        "than the paper's algorithm, with the same objective."
    )


def _path(rows: list[Row]) -> str:
    r = rows[0]
    return (
        f"The complete path in tau on {r['data']}, one thread: "
        f"{r['adaptive ms']:.0f} ms ({r['50 taus ms']:.0f} ms for 50 given "
        f"taus); scikit-learn's SpectralClustering: {r['spectral ms']:.0f} ms."
    )


def _mnist(rows: list[Row]) -> str:
    r = rows[0]
    return (
        "MNIST, 70,000 images from raw pixels: neighbours in "
        f"{r['graph s']:.0f} s and the complete path in {r['path s']:.0f} s, with "
        f"{r['memory MB']:.0f} MB of memory; best accuracy "
        f"{r['best ACC on the path']:.3f}."
    )


def _startup(rows: list[Row]) -> str:
    r = rows[-1]
    return (
        f"A new process that fits 1,000 points with 20 features: "
        f"{r['lordclust s']:.1f} s; with SpectralClustering "
        f"{r['scikit-learn s']:.1f} s."
    )


LINES = {
    "fit": _fit,
    "path": _path,
    "mnist": _mnist,
    "sizes": _sizes,
    "startup": _startup,
}
BLOCKS = {"digits": digits, "speed": speed}
