"""Timers, tables and pages that all benchmarks share."""

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lordclust._core.typing import FloatArray, IntArray
from lordclust._core.versions import machine_facts

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
#: The page on size, parts of which the benchmarks of size write.
SCALE = ROOT / "docs" / "guide" / "scale.md"

#: Random orders of the rows in which our own quality is measured.
ORDERS = 10

Row = dict[str, Any]
Results = dict[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """A table of the page: its title, what its columns mean, and how it is measured."""

    title: str
    note: str
    run: Callable[[], list[Row]]


def clock(task: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Return the smallest time of ``repeat`` runs, in seconds, and the last result."""
    best, result = np.inf, None
    for _ in range(repeat):
        start = time.perf_counter()
        result = task()
        best = min(best, time.perf_counter() - start)
    return best, result


def shuffled(X: FloatArray, y: IntArray) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield samples and classes in several random orders."""
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(len(X))
        yield X[order], y[order]


def in_orders(
    fit: Callable[[FloatArray], Any],
    score: Callable[[IntArray, Any], float],
    X: FloatArray,
    y: IntArray,
) -> tuple[list[float], float]:
    """Return scores of a fit in several orders of the rows, and its mean seconds."""
    runs = [(*clock(partial(fit, A)), b) for A, b in shuffled(X, y)]
    scores = [float(score(b, labels)) for _, labels, b in runs]
    return scores, float(np.mean([seconds for seconds, *_ in runs]))


def with_range(values: Sequence[float], digits: int = 3) -> str:
    """Return the mean of values, and their range if it shows.

    >>> with_range([0.5, 0.75]), with_range([0.5, 0.5])
    ('0.625 (0.500 to 0.750)', '0.500')
    """
    mean, low, high = (f"{v:.{digits}f}" for v in
                       (np.mean(values), min(values), max(values)))  # fmt: skip
    return f"{mean} ({low} to {high})" if low < high else mean


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def added_memory(task: Callable[[], Any]) -> float:
    """Return the peak growth of this process's memory in MB (Linux)."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # reset the peak
    before = _status("VmRSS")
    task()
    return _status("VmHWM") - before


def _status(name: str) -> float:
    """Return a line of the kernel's status of this process, in MB."""
    with open("/proc/self/status") as lines:
        return next(int(x.split()[1]) for x in lines if x.startswith(name)) / 1024


def process_seconds(code: str, repeat: int = 7) -> float:
    """Return the median wall time of a fresh Python process that runs ``code``.

    Modules are kept compiled, as an installer leaves them.
    """
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        command = [sys.executable, "-c", code]
        subprocess.run(command, check=True, capture_output=True, env=env)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def in_process(module: str, *args: str, limit: float = 20 * 60) -> Row:
    """Run one case in a process of its own; return its row, or why it has none."""
    command = [sys.executable, "-W", "ignore", "-m", module, *args]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit + 60, check=False
        )
    except subprocess.TimeoutExpired:
        return {"cut off": f"after {limit / 60:.0f} minutes"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        why = "killed, out of memory?" if done.returncode < 0 else lines[-1][:150]
        return {"cut off": why}
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def save(path: Path, rows: list[Row]) -> Results:
    """Write rows with the facts of the machine to a JSON file; return both."""
    results = {"facts": machine_facts(), "rows": rows}
    path.write_text(json.dumps(results, indent=1) + "\n")
    return results


#: Titles of columns whose names in the results are not plain.
TITLES = {
    "beside": "compared with",
    "known a class": "known per class",
    "ms an iteration": "ms per iteration",
    "KB a step between workers": "KB per step between workers",
    "KB a step to the driver": "KB per step to the driver",
}


def table(rows: list[Row]) -> str:
    """Return rows as a Markdown table."""
    head = list(rows[0])
    titles = [TITLES.get(name, name) for name in head]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(_text(row[h]) for h in head) + " |" for row in rows]
    return "\n".join(lines)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def where(results: Results) -> str:
    """Return the facts of the machine that results were measured on."""
    return ", ".join(f"{name} {fact}" for name, fact in results["facts"].items())


def with_block(text: str, name: str, content: str) -> str:
    """Return a page with its block of this name, if it has one, replaced."""
    block = rf"(<!-- {name}: [^>]*-->\n).*?(<!-- end of {name} -->)"
    return re.sub(
        block, lambda found: f"{found[1]}{content}\n{found[2]}", text, flags=re.DOTALL
    )
