"""The demo's files: three tables and a picture."""

from pathlib import Path
from typing import Any

from lordclust.cli.demo_run import Demo, K, path_rows
from lordclust.cli.path_run import as_columns
from lordclust.cli.tables import write_file

Columns = dict[str, Any]


def write_files(demo: Demo, names: dict[str, Path]) -> None:
    """Write what is asked for, by the name each file will have."""
    for name, columns in _tables(demo).items():
        write_file(names[name], columns)
    if "demo.png" in names:
        from lordclust.cli.demo_picture import draw

        draw(demo).savefig(names["demo.png"], format="png", dpi=120)


def _tables(demo: Demo) -> dict[str, Columns]:
    """Return labels, memberships and the path, column by column."""
    P, labels = demo.model.membership_, demo.model.labels_
    ids = range(len(P))
    return {
        "labels.csv": {
            "id": ids,
            "label": labels,
            "probability": P.max(axis=1),
            "digit": demo.data.y,
        },
        "membership.csv": {"id": ids, **{f"p{j}": P[:, j] for j in range(K)}},
        "path.csv": as_columns(path_rows(demo)),
    }
