"""From finished cells to the entries of tables."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from lordclust.reproduction import protocol
from lordclust.reproduction.store import Record

SCORES = ("acc", "nmi", "pur", "f1")


def summarise(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return one entry for each method and data set.

    The scores are those of the start with the best objective; ``worst`` and ``best``
    are the lowest and highest accuracy of all starts, ``r2`` the squared correlation
    of objective and accuracy over the starts.
    """
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        groups[record["method"], record["data"]].append(record)
    return [_entry(*key, group) for key, group in groups.items()]


def _entry(method: str, data: str, group: list[Record]) -> dict[str, Any]:
    """Return the summary of one method on one data set."""
    group = sorted(group, key=lambda r: r["seed"])
    chosen = protocol.entry(method, group)
    accuracies = [r["acc"] for r in group]
    return {
        "method": method,
        "data": data,
        "starts": chosen["settings"].get("restarts", len(group)),
        **{name: round(chosen[name], 4) for name in SCORES},
        "worst": round(min(accuracies), 4),
        "best": round(max(accuracies), 4),
        "r2": r_squared([r["objective"] for r in group], accuracies),
        "objective": float(f"{chosen['objective']:.8g}"),
        "converged": sum(r["converged"] for r in group),
        "cells": len(group),
        "seconds": round(sum(r["seconds"] for r in group), 2),
    }


def r_squared(x: list[float], y: list[float]) -> float | None:
    """Return the squared correlation, or None where one of them does not vary.

    Examples
    --------
    >>> r_squared([0.0, 1.0, 2.0], [1.0, 3.0, 5.0])
    1.0
    """
    if len(x) < 3 or np.ptp(x) <= 1e-9 * np.abs(x).max() or np.ptp(y) == 0:
        return None
    return round(float(np.corrcoef(x, y)[0, 1] ** 2), 3)
