"""INPUT as the commands use it: features or similarities, and what goes with them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from lordclust import files
from lordclust._core.typing import FloatArray, IntArray
from lordclust.cli.options import Reading, Wishes, check_scale, is_precomputed
from lordclust.cli.progress import Display
from lordclust.cli.scaling import Scaling
from lordclust.files.table import text_array

#: Columns of the tables written; an id column of such a name is called id.
OWN = re.compile(r"label|probability|uncertainty|p\d+|tau=.*")


@dataclass(frozen=True)
class Samples:
    """What was read."""

    source: str
    X: Any
    ids: Any
    id_name: str
    names: list[str] | None
    labels: Any
    weight: FloatArray | None
    known: IntArray | None
    precomputed: bool

    @property
    def count(self) -> str:
        """How many there are, in words."""
        return f"{self.X.shape[0]} samples"

    @property
    def size(self) -> str:
        """How much there is, in words."""
        d = self.X.shape[1]
        return self.count if self.precomputed else f"{self.count} x {d} features"


def read_samples(source: str, reading: Reading, *, precomputed: bool) -> Samples:
    """Read INPUT, and set aside the columns that are no features."""
    known_name, as_text = reading.known_labels, reading.label_column is None
    # Cells of a column of labels may be empty; there is one such column.
    aside = [c for c in (reading.weight_column, None if as_text else known_name) if c]
    table = files.read(
        source,
        format=reading.format_,
        columns=_columns(reading.columns, aside),
        label_column=known_name if as_text else reading.label_column,
        id_column=reading.id_column,
        precomputed=precomputed,
    )
    taken, X, names = _set_aside(table, aside)
    known = None
    if known_name:
        cells = table.labels if as_text else taken[known_name]
        known = _known(cells, known_name)
    n = X.shape[0]
    return Samples(
        source=source,
        X=X,
        ids=np.arange(n) if table.ids is None else text_array(table.ids),
        id_name=_id_name(table.id_name),
        names=names,
        labels=None if known_name and as_text else table.labels,
        weight=taken.get(reading.weight_column or ""),
        known=known,
        precomputed=precomputed,
    )


def _columns(text: Any, aside: list[str]) -> Any:
    """Return the columns to read; one that is set aside is read too."""
    if not isinstance(text, str) or text.startswith("obsm:"):
        return text
    names = [name.strip() for name in text.split(",")]
    return names + [name for name in aside if name not in names]


def _id_name(name: str | None) -> str:
    """Return what the id column of an output is called."""
    return "id" if not name or OWN.fullmatch(name) else name


def _set_aside(
    table: Any, aside: list[str]
) -> tuple[dict[str, FloatArray], Any, list[str] | None]:
    """Return columns by name, and X and its names without them."""
    if not aside:
        return {}, table.X, table.names
    names = list(table.names or [])
    for name in aside:
        if name not in names:
            raise ValueError(
                f"{table.source} has no column {name!r} of numbers. It has: "
                f"{', '.join(names) or 'no named columns'}."
            )
    X = sparse.csc_array(table.X).toarray() if sparse.issparse(table.X) else table.X
    taken = {name: np.asarray(X[:, names.index(name)]) for name in aside}
    keep = [i for i, name in enumerate(names) if name not in aside]
    return taken, np.ascontiguousarray(X[:, keep]), [names[i] for i in keep]


def _known(cells: Any, name: str) -> IntArray:
    """Return known labels as whole numbers, -1 where a cell is empty."""
    try:
        numbers = np.array([float(c) if str(c) else -1.0 for c in cells])
        if not np.array_equal(numbers, np.round(numbers)):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"The column {name} of --known-labels must hold the clusters from 0 to "
            "k-1, and -1 or nothing where they are unknown. Number the clusters."
        ) from None
    return numbers.astype(np.int64)


def read_input(
    source: str, wishes: Wishes, reading: Reading, scale: str, display: Display
) -> tuple[Samples, Scaling | None]:
    """Read INPUT and scale it."""
    check_scale(scale, wishes, reading)
    display.stage(f"Reading {source}")
    precomputed = is_precomputed(wishes, reading)
    return _scaled(read_samples(source, reading, precomputed=precomputed), scale)


def _scaled(samples: Samples, kind: str) -> tuple[Samples, Scaling | None]:
    """Return samples with scaled features, and how they were scaled."""
    scaling = Scaling.of(kind, samples.X)
    if scaling is None:
        return samples, None
    return replace(samples, X=scaling.apply(samples.X)), scaling
