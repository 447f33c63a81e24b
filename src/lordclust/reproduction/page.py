"""Tables of ours beside the paper's, as Markdown."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from lordclust.registry import METHODS
from lordclust.reproduction.paper import ERRATA, NINE, printed

Entries = dict[tuple[str, str], dict[str, Any]]

#: How far from the paper an accuracy may be before it needs a reason.
TOLERANCE = dict.fromkeys(("sc", "ncut", "sr"), 0.04)
OTHERS = 0.06


def by_place(entries: Iterable[dict[str, Any]]) -> Entries:
    """Return the entries by method and data set."""
    return {(e["method"], e["data"]): e for e in entries}


def comparison(entries: Entries, score: str = "acc") -> str:
    """Return the table: ours, and in brackets how far it is from the paper."""
    paper = printed(score)
    head = ["method", *NINE, "average"]
    rows = [_row(m, entries, paper.get(m, {}), score) for m in METHODS]
    return markdown(head, [row for row in rows if any(row[1:])])


def far_cells(entries: Entries) -> list[tuple[str, str, float]]:
    """Return the accuracies beyond the tolerance: method, data set, difference."""
    paper = printed("acc")
    found = []
    for (method, data), entry in entries.items():
        theirs = paper.get(method, {}).get(data)
        if theirs is None or ("acc", method, data) in ERRATA:
            continue
        gap = entry["acc"] - theirs
        if abs(gap) > TOLERANCE.get(method, OTHERS) + 5e-4:
            found.append((method, data, gap))
    return found


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def three(x: float, sign: bool = False) -> str:
    """Return a score with three decimals and no leading zero.

    Examples
    --------
    >>> three(0.95), three(-0.012, sign=True)
    ('.950', '-.012')
    """
    text = f"{x:+.3f}" if sign else f"{x:.3f}"
    return text.replace("0.", ".", 1) if abs(x) < 1 else text


def _row(
    method: str, entries: Entries, paper: dict[str, float], score: str
) -> list[str]:
    """Return the cells of one method."""
    ours = [entries.get((method, data), {}).get(score) for data in NINE]
    cells = [
        _cell(x, paper.get(data), (score, method, data) in ERRATA)
        for data, x in zip(NINE, ours, strict=True)
    ]
    known = [x for x in ours if x is not None]
    whole = len(known) == len(NINE)
    average = _cell(float(np.mean(known)), paper.get("average"), False) if whole else ""
    return [f"`{method}`", *cells, average]


def _cell(ours: float | None, theirs: float | None, erratum: bool) -> str:
    """Return ours, and in brackets the difference; * marks an error of the paper."""
    if ours is None:
        return ""
    if theirs is None:
        return three(ours)
    return f"{three(ours)} ({three(ours - theirs, sign=True)}{'*' if erratum else ''})"
