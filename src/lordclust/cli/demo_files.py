"""The demo's tables as files. A file appears whole or not at all."""

import csv
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lordclust.cli.demo_run import Demo, K, path_rows


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a temporary name in the same folder; at the end it becomes ``path``."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Any]) -> Path:
    """Write a table."""
    with write_whole(path) as name, open(name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
        file.flush()
        os.fsync(file.fileno())
    return path


def write_tables(demo: Demo, folder: Path) -> Iterator[Path]:
    """Write labels, memberships and the path; yield each file."""
    P, labels = demo.model.membership_, demo.model.labels_
    yield write_csv(
        folder / "labels.csv",
        ["id", "label", "probability", "digit"],
        (
            [i, label, f"{P[i, label]:.10g}", digit]
            for i, (label, digit) in enumerate(zip(labels, demo.data.y, strict=True))
        ),
    )
    yield write_csv(
        folder / "membership.csv",
        ["id", *(f"p{j}" for j in range(K))],
        ([i, *(f"{p:.10g}" for p in row)] for i, row in enumerate(P)),
    )
    rows = path_rows(demo)
    yield write_csv(
        folder / "path.csv",
        rows[0],
        ([f"{value:.10g}" for value in row.values()] for row in rows),
    )
