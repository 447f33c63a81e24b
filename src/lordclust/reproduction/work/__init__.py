"""What a cell does: one file a kind of work."""

from collections.abc import Callable

from lordclust.reproduction.store import Cell, Record
from lordclust.reproduction.work import (
    blocks,
    descent,
    grid,
    path,
    scores,
    synthetic,
)

#: From the kind of a cell to the work.
KINDS: dict[str, Callable[[Cell], Record]] = {
    "scores": scores.run,
    "grid": grid.run,
    "path": path.run,
    "descent": descent.run,
    "blocks": blocks.run,
    "synthetic": synthetic.run,
}
