"""INPUT as the commands use it: features or similarities, ids, classes and weights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from scipy import sparse

from lordclust import files
from lordclust._core.typing import FloatArray, IntArray
from lordclust.cli.options import FitRequest, InputOptions, is_precomputed
from lordclust.cli.progress import Display
from lordclust.cli.scaling import Scaling
from lordclust.files.table import Matrix, text_array

#: Columns of the output tables; an id column of such a name is called id.
OWN = re.compile(r"label|probability|uncertainty|p\d+|tau=.*")


@dataclass(frozen=True)
class Samples:
    """The contents of INPUT."""

    source: str
    X: Matrix
    ids: npt.NDArray[Any]
    id_name: str
    names: list[str] | None
    labels: npt.NDArray[Any] | None
    weight: FloatArray | None
    known: IntArray | None
    precomputed: bool
    raw: Matrix  # X before scaling
    others: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    @property
    def count(self) -> str:
        """The number of samples, in words."""
        return f"{self.X.shape[0]} samples"

    @property
    def size(self) -> str:
        """The numbers of samples and features, in words."""
        d = self.X.shape[1]
        return self.count if self.precomputed else f"{self.count} x {d} features"


def read_input(
    source: str,
    request: FitRequest,
    reading: InputOptions,
    scale: str,
    display: Display,
) -> tuple[Samples, Scaling | None]:
    """Read INPUT and scale it."""
    precomputed = is_precomputed(request, reading)
    if precomputed and scale != "none":
        raise click.UsageError(
            f"--scale {scale} is for features, but INPUT contains similarities. "
            "Leave it out."
        )
    display.stage(f"Reading {source}")
    samples = read_samples(source, reading, precomputed=precomputed)
    scaling = Scaling.of(scale, samples.X)
    if scaling is None:
        return samples, None
    return replace(samples, X=scaling.apply(samples.X)), scaling


def read_samples(source: str, reading: InputOptions, *, precomputed: bool) -> Samples:
    """Read INPUT, and separate the columns that are not features."""
    known_name, as_text = reading.known_labels, reading.label_column is None
    # Only the one column of labels may have empty cells; others are read as numbers.
    aside = [c for c in (reading.weight_column, None if as_text else known_name) if c]
    columns = reading.columns
    if isinstance(columns, str) and not columns.startswith("obsm:"):
        columns = [name.strip() for name in columns.split(",")]
        columns += [name for name in aside if name not in columns]
    table = files.read(
        source,
        format=reading.format_,
        columns=columns,
        label_column=known_name if as_text else reading.label_column,
        id_column=False if reading.id_column == "none" else reading.id_column,
        header={"yes": True, "no": False}.get(reading.header or "", "auto"),
        precomputed=precomputed,
        numeric=aside,
        drop=reading.drop or (),
        encoding=reading.encoding,
        decimal=reading.decimal,
    )
    taken, X, names = _set_aside(table, aside)
    known = None
    if known_name:
        cells = table.labels if as_text else taken[known_name]
        known = _known(cells, known_name)
    others = dict(taken)
    if table.labels is not None:
        others[table.label_name or "class"] = table.labels
    rename = not table.id_name or OWN.fullmatch(table.id_name)
    return Samples(
        source=source,
        X=X,
        ids=np.arange(X.shape[0]) if table.ids is None else text_array(table.ids),
        id_name="id" if rename else str(table.id_name),
        names=names,
        labels=None if known_name and as_text else table.labels,
        weight=taken.get(reading.weight_column or ""),
        known=known,
        precomputed=precomputed,
        raw=X,
        others=others,
    )


def _set_aside(
    table: files.Table, aside: list[str]
) -> tuple[dict[str, FloatArray], Matrix, list[str] | None]:
    """Return columns by name, and X and its names without them."""
    if not aside:
        return {}, table.X, table.names
    names = list(table.names or [])
    for name in aside:
        if name not in names:
            raise ValueError(
                f"{table.source} has no numeric column {name!r}. It has: "
                f"{', '.join(names) or 'no named columns'}."
            )
    X = sparse.csc_array(table.X).toarray() if sparse.issparse(table.X) else table.X
    taken = {name: np.asarray(X[:, names.index(name)]) for name in aside}
    keep = [i for i, name in enumerate(names) if name not in aside]
    return taken, np.ascontiguousarray(X[:, keep]), [names[i] for i in keep]


def _known(cells: npt.ArrayLike | None, name: str) -> IntArray:
    """Return known labels as integers, -1 for an empty cell."""
    try:
        numbers = np.array([float(c) if str(c) else -1.0 for c in np.asarray(cells)])
        if not np.array_equal(numbers, np.round(numbers)):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"The column {name} of --known-labels must hold clusters from 0 to K-1, or "
            "-1 or nothing if unknown. Number the clusters from 0."
        ) from None
    return numbers.astype(np.int64)
