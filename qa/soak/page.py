"""Write docs/trust/soak.md and its figure from results.json."""

import json
from pathlib import Path
from typing import Any

from benchmarks.common import table
from lordclust.files.atomic import atomic_file
from qa.soak.watch import ALLOWED, growth

RESULTS = Path(__file__).parent / "results.json"
FOLDER = Path(__file__).parents[2] / "docs" / "trust"
PAGE, PLOT = FOLDER / "soak.md", FOLDER / "soak.png"
STEP = 10  # minutes per row


def write() -> None:
    """Write the page and the figure."""
    results = json.loads(RESULTS.read_text())
    FOLDER.mkdir(parents=True, exist_ok=True)
    with atomic_file(PAGE, True, text=True) as file:
        file.write(page(results))
    with atomic_file(PLOT, True) as file:
        draw(results, file)


#: About the memory that glibc keeps, by whether all threads shared one arena.
ARENAS = {
    False: "In this run, threads had arenas of glibc of their own, the free ends of "
    "which `malloc_trim` does not return: memory that was free but resident. Later "
    "runs use one arena, so that only memory in use can grow.",
    True: "All threads share one arena of glibc, because `malloc_trim` does not return "
    "the free ends of others; memory in use is all that can grow.",
}


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    where = ", ".join(f"{k} {v}" for k, v in results["facts"].items())
    samples, start = results["samples"], results["warm-up minutes"]
    files, threads = (growth(samples, start, what) for what in ("files", "threads"))
    runs = sum(row["runs"] for row in results["work"])
    parts = [
        "# Soak test",
        "The memory of a service that fits repeatedly must not grow. `python -m "
        "qa.soak` runs mixed tasks in random order, from a seed, in one process: fits "
        "of many kinds, graphs, predictions, files, reports, and deliberate errors. "
        "Once a minute it collects garbage, returns freed memory to the system "
        "(`malloc_trim`), and records the resident memory, open files and threads. "
        f"After the first {start:g} minutes, memory must grow by less than "
        f"{ALLOWED:g} %, measured by a robust regression line (Theil-Sen).",
        f"**{samples[-1]['minute']:.0f} minutes, {runs} tasks: memory grew by "
        f"{results['growth %']:.2f} % after the warm-up**, {verdict(results)}, open "
        f"files by "
        f"{files:.2f} %, threads by {threads:.2f} %. "
        f"{failed(results['failures'])} A fixed fit, repeated between the others, gave "
        f"the same bits {results['same bits']} of {results['same bits asked']} times.",
        ARENAS[results.get("one arena", False)],
        "![Memory over time](soak.png)",
        table(by_step(samples)),
        "The tasks:",
        table([{"task": row.pop("work"), **row} for row in map(dict, results["work"])]),
        f"Seed {results['seed']}; {where}. The numbers are from "
        "`qa/soak/results.json`; `python -m qa.soak --minutes 120` measures them "
        "again, and `python -m qa.soak --page` writes this page.",
    ]
    return "\n\n".join(parts) + "\n"


def verdict(results: dict[str, Any]) -> str:
    """Return whether the growth is allowed, and the range of the memory."""
    late = [s["MB"] for s in results["samples"]
            if s["minute"] >= results["warm-up minutes"]]  # fmt: skip
    allowed = "less" if results["growth %"] < ALLOWED else "more"
    return (
        f"{allowed} than allowed (between {min(late):.0f} and {max(late):.0f} MB, at "
        f"the end {late[-1]:.0f} MB)"
    )


def failed(failures: list[str]) -> str:
    """Return what failed, with one example of each kind."""
    if not failures:
        return "No task failed."
    last = {text.partition(":")[0]: text.strip().splitlines()[-1] for text in failures}
    examples = "; ".join(f"{kind}: `{words}`" for kind, words in last.items())
    return f"{len(failures)} tasks failed ({examples})."


def by_step(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row per ten minutes: memory, and the counts at their end."""
    rows = []
    for begin in range(0, int(samples[-1]["minute"]) + 1, STEP):
        part = [s for s in samples if begin <= s["minute"] < begin + STEP]
        if part:
            memory = sorted(s["MB"] for s in part)
            rows.append(
                {
                    "minutes": f"{begin} to {begin + STEP}",
                    "MB, minimum": f"{memory[0]:.1f}",
                    "MB, median": f"{memory[len(memory) // 2]:.1f}",
                    "MB, maximum": f"{memory[-1]:.1f}",
                    "open files": part[-1]["files"],
                    "threads": part[-1]["threads"],
                    "tasks done": part[-1]["work"],
                }
            )
    return rows


def draw(results: dict[str, Any], file: Any) -> None:
    """Draw memory over time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 2.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    samples = results["samples"]
    axes.axvspan(0, results["warm-up minutes"], color="0.92", label="warm-up")
    axes.plot([s["minute"] for s in samples], [s["MB"] for s in samples], lw=1.2)
    top = 1.15 * max(s["MB"] for s in samples)
    axes.set(xlabel="minutes", ylabel="MB", ylim=(0, top), xlim=(0, None))
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(file, format="png", dpi=150, metadata={"Software": None})
