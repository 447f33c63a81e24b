"""Facts of the machine, timers and tables that every benchmark shares."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lordclust.reproduction.machine import facts

__all__ = [
    "added_memory",
    "clock",
    "facts",
    "peak",
    "process_seconds",
    "table",
    "where",
    "with_part",
]

#: The page on size, parts of which the benchmarks of size write.
SCALE = Path(__file__).parent.parent / "docs" / "guide" / "scale.md"


def clock(task: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Return the smallest time of ``repeat`` runs, in seconds, and the last answer."""
    best, answer = np.inf, None
    for _ in range(repeat):
        start = time.perf_counter()
        answer = task()
        best = min(best, time.perf_counter() - start)
    return best, answer


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def added_memory(task: Callable[[], Any]) -> float:
    """Return by how many MB the memory of this process grew at most (Linux)."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the peak so far
    before = _status("VmRSS")
    task()
    return _status("VmHWM") - before


def _status(name: str) -> float:
    """Return a line of the kernel's account of this process, in MB."""
    with open("/proc/self/status") as lines:
        return next(int(x.split()[1]) for x in lines if x.startswith(name)) / 1024


def process_seconds(code: str, repeat: int = 7) -> float:
    """Return the median wall time of a fresh Python process that runs ``code``."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    head = list(rows[0])
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(_text(row[h]) for h in head) + " |" for row in rows]
    return "\n".join(lines)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def where(results: dict[str, Any]) -> str:
    """Return the facts of the machine that results were measured on."""
    return ", ".join(f"{name} {fact}" for name, fact in results["facts"].items())


def with_part(text: str, name: str, content: str) -> str:
    """Return a page with what stands between two marks written anew."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, rest = text.split(begin)
    return f"{head}{begin}\n\n{content}\n\n{end}{rest.split(end)[1]}"
