"""The tables of docs/trust/faults.md, generated from the results."""

from pathlib import Path
from typing import Any

from benchmarks.common import table, with_block

PAGE = Path(__file__).parents[2] / "docs" / "trust" / "faults.md"


def with_tables(text: str, results: dict[str, Any]) -> str:
    """Return the page with its tables regenerated."""
    for name, make in BLOCKS.items():
        text = with_block(text, name, make(results))
    return text


def _command(name: str) -> str:
    """Return a target's name as a command; the study was one of lordclust once."""
    return "`python -m reproduction`" if name == "reproduce" else f"`{name}`"


def strikes(results: dict[str, Any]) -> str:
    """Return the results of kills and interrupts."""
    rows = [
        {
            "signal": part,
            "command": _command(name),
            "signals": found["strikes"],
            "when a file changes": found["at a file event"],
            "while working": found["while working"],
            "while importing": found["while importing"],
            "finished with equal files": found["finished and compared"],
            "failures": len(found["faults"]),
        }
        for part in ("kill -9", "Ctrl-C")
        for name, found in results.get(part, {}).items()
    ]
    return table(rows) if rows else "Not run yet."


def disks(results: dict[str, Any]) -> str:
    """Return the results of full and read-only disks."""
    rows = [
        {
            "disk": part,
            "command": _command(name),
            "runs": found["refused"] + found["done"],
            "ended with an error message": found["refused"],
            "had enough space": found["done"],
            "failures": len(found["faults"]),
        }
        for part in ("a full disk", "a read-only disk", "a limit on file sizes")
        for name, found in results.get(part, {}).items()
    ]
    return table(rows) if rows else "Not run yet."


def peaks(results: dict[str, Any]) -> str:
    """Return measured peaks and estimates."""
    found = results.get("memory", {}).get("fit")
    return table(found["rows"]) if found else "Not run yet."


def limits(results: dict[str, Any]) -> str:
    """Return how a fit ends under limits near its peak."""
    found = results.get("memory", {}).get("fit")
    if not found:
        return "Not run yet."
    rows = [
        {"memory left / measured peak": float(part), "the fit": end}
        for part, end in found["limits"].items()
    ]
    return table(rows)


BLOCKS = {"strikes": strikes, "disks": disks, "peaks": peaks, "limits": limits}
