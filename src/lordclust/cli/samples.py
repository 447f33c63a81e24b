"""INPUT as the commands use it: features or similarities, ids, classes and weights."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import numpy.typing as npt
from scipy import sparse

from lordclust import files
from lordclust._core.typing import BoolArray, FloatArray, IntArray
from lordclust.cli.options import FitRequest, InputOptions, is_precomputed
from lordclust.cli.progress import Display
from lordclust.files.error import InputError
from lordclust.files.table import Matrix, text_array

if TYPE_CHECKING:
    from lordclust.cli.preparation import Preparation

LOG = logging.getLogger(__name__)

#: Columns of the output tables; an id column of such a name is called id.
OWN = re.compile(r"label|before|probability|uncertainty|p\d+|tau=.*")


@dataclass(frozen=True)
class Samples:
    """The contents of INPUT."""

    source: str
    X: Matrix
    ids: npt.NDArray[Any]
    id_name: str
    raw: Matrix  # X before scaling
    precomputed: bool = False
    names: list[str] | None = None
    labels: npt.NDArray[Any] | None = None
    weight: FloatArray | None = None
    known: IntArray | None = None
    others: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    kinds: list[str] | None = None
    categories: Mapping[str, list[str]] = field(default_factory=dict)
    cells: Mapping[str, list[str]] = field(default_factory=dict)  # of all rows
    all_ids: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0))
    kept: BoolArray | None = None  # rows that are samples, if some are left out

    def only(self, kept: BoolArray) -> Samples:
        """Return some of the samples; ``cells`` and ``all_ids`` are of all."""

        def part(values: Any) -> Any:
            return None if values is None else values[kept]

        return replace(
            self,
            X=self.X[kept],
            ids=self.ids[kept],
            labels=part(self.labels),
            weight=part(self.weight),
            known=part(self.known),
            raw=self.raw[kept],
            others={name: part(column) for name, column in self.others.items()},
            categories={
                name: list(compress(cells, kept))
                for name, cells in self.categories.items()
            },
            kept=kept,
        )

    def say(self, what: str) -> None:
        """Tell the user what was decided about INPUT."""
        LOG.info("%s", InputError(self.source, what))

    @property
    def features(self) -> Matrix | None:
        """The features, None if there are only similarities."""
        return None if self.precomputed else self.X

    @property
    def weights(self) -> FloatArray:
        """The weights of the samples, 1 by default."""
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight

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
    *,
    join: bool = False,
) -> tuple[Samples, Preparation]:
    """Read INPUT, and turn its columns into features."""
    from lordclust.cli.preparation import Preparation

    precomputed = is_precomputed(source, request, reading)
    for option, value in (("--scale", scale), ("--missing", reading.missing)):
        if precomputed and value not in ("none", "auto", "error"):
            raise click.UsageError(
                f"{option} {value} is for features, but INPUT contains similarities. "
                "Leave it out."
            )
    display.stage(f"Reading {source}")
    samples = read_samples(source, reading, precomputed=precomputed, join=join)
    return Preparation.fit(samples, reading.missing or "error", scale)


def read_samples(
    source: str,
    reading: InputOptions,
    *,
    precomputed: bool,
    join: bool = False,
    kinds: Mapping[str, str] | None = None,
) -> Samples:
    """Read INPUT, and separate the columns that are not features.

    ``join`` keeps all columns for the output.
    """
    known_name, as_text = reading.known_labels, reading.label_column is None
    # Only the one column of labels may have empty cells; others are read as numbers.
    aside = [c for c in (reading.weight_column, None if as_text else known_name) if c]
    columns = reading.columns
    if isinstance(columns, str) and not columns.startswith("obsm:"):
        columns = [name.strip() for name in columns.split(",")]
    if isinstance(columns, list | tuple):
        columns = [*columns, *(name for name in aside if name not in columns)]
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
        categorical=reading.categorical or (),
        missing="error" if reading.missing in (None, "error") else "keep",
        kinds=kinds,
        cells=join,
    )
    if join and (precomputed or sparse.issparse(table.X)):
        raise click.UsageError(
            "--join is for tables of features, but INPUT contains similarities or a "
            "sparse matrix. Leave it out."
        )
    taken, table = _set_aside(table, aside)
    known = None
    if known_name:
        known = _known(table.labels if as_text else taken[known_name], known_name)
    others = dict(taken)
    if table.labels is not None:
        others[table.label_name or "class"] = table.labels
    rename = not table.id_name or OWN.fullmatch(table.id_name)
    X = table.X
    ids = np.arange(X.shape[0]) if table.ids is None else text_array(table.ids)
    return Samples(
        source=source,
        X=X,
        ids=ids,
        id_name="id" if rename else str(table.id_name),
        names=table.names,
        labels=None if known_name and as_text else table.labels,
        weight=taken.get(reading.weight_column or ""),
        known=known,
        precomputed=precomputed,
        raw=X,
        others=others,
        kinds=table.kinds,
        categories=table.categories,
        cells={n: c for n, c in table.cells.items() if n != table.id_name},
        all_ids=ids,
    )


def _set_aside(
    table: files.Table, aside: list[str]
) -> tuple[dict[str, FloatArray], files.Table]:
    """Return columns by name, and the table without them."""
    if not aside:
        return {}, table
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
    return taken, replace(
        table,
        X=np.ascontiguousarray(X[:, keep]),
        names=picked(names, keep),
        kinds=picked(table.kinds, keep),
    )


def picked(values: list[str] | None, places: list[int]) -> list[str] | None:
    """Return the values at some places, if there are any."""
    return None if values is None else [values[j] for j in places]


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
