"""From the columns of a table to features, in the same way for new samples.

Missing values are filled or their samples left out, categories become indicators, and
numbers are scaled. What was fitted is saved with a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from lordclust._core.scales import different_scales
from lordclust._core.typing import BoolArray, FloatArray, Json
from lordclust.cli.samples import Samples, picked
from lordclust.cli.unrelated import unrelated
from lordclust.files import InputError
from lordclust.files.table import Matrix, quoted, shortened

#: Kinds of cells that new samples may have instead of each other.
_ALIKE = {"boolean": "number"}


@dataclass(frozen=True)
class Scaling:
    """Map x to (x - shift) / width per feature; constant features have width 1."""

    kind: str
    shift: FloatArray
    width: FloatArray

    @classmethod
    def of(cls, kind: str, X: Matrix) -> Self:
        """Return the scaling of numbers; a sparse table can only have none."""
        d = X.shape[1]
        if kind == "none":
            return cls(kind, np.zeros(d), np.ones(d))
        if sparse.issparse(X):
            raise ValueError(
                f"--scale {kind} would make a sparse table dense. Scale it beforehand, "
                "or leave --scale out."
            )
        if kind == "minmax":
            shift, width = X.min(axis=0), np.ptp(X, axis=0)
        else:
            shift, width = X.mean(axis=0), X.std(axis=0)
        return cls(kind, shift, np.where(width > 0, width, 1.0))

    def apply(self, X: Matrix) -> Matrix:
        """Return scaled samples; X itself if nothing is to be done."""
        if self.kind == "none":
            return X
        dense = sparse.csr_array(X).toarray() if sparse.issparse(X) else X
        return (dense - self.shift) / self.width


@dataclass(frozen=True)
class Preparation:
    """How the columns of a table become features.

    Missing cells of a categorical column are filled with its first category, the most
    frequent one. A category has an indicator of value ``weight``: two samples in
    different categories have the squared distance 2 weight^2, which is the mean
    variance of the scaled columns of numbers, 1 if these are z-scores.
    """

    names: list[str] | None  # of the columns of numbers
    kinds: list[str] | None  # what their cells are, as in ``files.Table``
    missing: str  # "error", "drop" or "median"
    fills: FloatArray  # the medians
    levels: Mapping[str, list[str]]  # the categories of each categorical column
    scaling: Scaling  # of the numbers
    weight: float

    @classmethod
    def fit(
        cls, samples: Samples, missing: str, scale: str
    ) -> tuple[Samples, Preparation]:
        """Return the prepared samples, and how to prepare others."""
        samples = _without_empty(samples)
        kept = _complete(samples) if missing == "drop" else slice(None)
        X = samples.X[kept]
        fills = np.zeros(X.shape[1])
        if missing == "median" and not sparse.issparse(X):
            fills = np.nanmedian(X, axis=0) if X.shape[1] else fills
            X = np.where(np.isnan(X), fills, X)
        if not X.shape[0]:
            raise InputError(
                samples.source,
                "values are missing in every sample. Pass --missing median, or leave "
                "columns out with --drop.",
            )
        levels = {
            name: _by_frequency(np.array(cells, dtype=object)[kept].tolist())
            for name, cells in samples.categories.items()
        }
        if scale == "auto":
            scale = _chosen_scale(X, samples)
        scaling = Scaling.of(scale, X)
        made = cls(
            samples.names, samples.kinds, missing, fills, levels, scaling,
            _weight(scaling.apply(X)) if levels else 1.0,
        )  # fmt: skip
        prepared = made.apply(samples)
        if not sparse.issparse(prepared.raw) and not samples.precomputed:
            _say_unrelated(prepared, unrelated(prepared.raw, made._places()))
        return prepared, made

    def _places(self) -> dict[str, list[int]]:
        """Return the features of each column of the table."""
        names = self.names or [str(j) for j in range(self.d)]
        places, end = {name: [j] for j, name in enumerate(names)}, self.d
        for name, known in self.levels.items():
            places[name] = list(range(end, end := end + len(known)))
        return places

    @property
    def d(self) -> int:
        """The number of columns of numbers."""
        return len(self.scaling.shift)

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns that are used."""
        return [*(self.names or []), *self.levels] or None

    @property
    def features(self) -> list[str] | None:
        """The names of the features, such as region=North."""
        indicators = [f"{n}={level}" for n, known in self.levels.items()
                      for level in known]  # fmt: skip
        return [*(self.names or []), *indicators] if self.names or indicators else None

    def apply(self, samples: Samples) -> Samples:
        """Return samples with features; ``raw`` has the units of the table."""
        self._check_kinds(samples)
        kept = _complete(samples)
        if self.missing == "drop" and not kept.all():
            samples = samples.only(kept)
            gone = [str(i) for i in samples.all_ids[~kept]]
            samples.say(
                f"{len(gone)} of {len(kept)} samples have missing values and are left "
                f"out: {_ended(gone)}"
            )
        elif self.missing == "error" and not kept.all():
            raise _missing_category(samples)
        X = samples.X
        if self.missing == "median" and not sparse.issparse(X):
            _say_filled(samples)
            X = np.where(np.isnan(X), self.fills, X)
        if not self.levels:
            return replace(samples, X=self.scaling.apply(X), raw=X)
        columns = [self._indicators(name, samples) for name in self.levels]
        Z = np.concatenate(columns, axis=1)
        return replace(
            samples,
            X=np.hstack([self.scaling.apply(X), self.weight * Z]),
            raw=np.hstack([X, Z]),
            names=self.features,
        )

    def _indicators(self, name: str, samples: Samples) -> FloatArray:
        """Return 1 where a sample has a category, and 0 elsewhere."""
        known = {level: j for j, level in enumerate(self.levels[name])}
        places = np.array([
            known.get(cell or self.levels[name][0], -1)
            for cell in samples.categories[name]
        ])  # fmt: skip
        unknown = np.flatnonzero(places < 0)
        if len(unknown):
            cell = samples.categories[name][unknown[0]]
            samples.say(
                f"column {name!r} has categories that the model does not know in "
                f"{len(unknown)} samples, the first is {quoted(cell)}. They count as "
                "none of the known ones."
            )
        Z: FloatArray = (places[:, None] == np.arange(len(known))).astype(np.float64)
        return Z

    def _check_kinds(self, samples: Samples) -> None:
        """Raise an error if cells are of another kind than in the fitted table."""
        for j, (old, new) in enumerate(zip(self.kinds or (), samples.kinds or (),
                                           strict=False)):  # fmt: skip
            kinds = [_ALIKE.get(k, k) for k in (old.split()[0], new.split()[0])]
            if kinds[0] != kinds[1] and not np.isnan(samples.X[:, j]).all():
                name = self.names[j] if self.names else j
                raise InputError(
                    samples.source,
                    f"column {name!r} is a {kinds[1]} in each sample, but the model "
                    f"was fitted to one of kind {kinds[0]}. Write the cells as in the "
                    "fitted table.",
                )

    def undo(self, X: FloatArray) -> FloatArray:
        """Return features in the units of the table, up to rounding."""
        if self.scaling.kind == "none" and not self.levels:
            return X
        d, scaling = self.d, self.scaling
        raw = X[:, :d] * scaling.width + scaling.shift
        return np.hstack([raw, X[:, d:] / self.weight])

    def to_json(self) -> Json:
        """Return a document for the model file; floats are kept bit for bit."""
        plain = self.scaling.kind == "none"
        return {
            "names": self.names,
            "kinds": self.kinds,
            "missing": self.missing,
            "d": self.d,
            "fills": self.fills.tolist() if self.missing == "median" else None,
            "levels": {name: list(known) for name, known in self.levels.items()},
            "scale": self.scaling.kind,
            "shift": None if plain else self.scaling.shift.tolist(),
            "width": None if plain else self.scaling.width.tolist(),
            "weight": self.weight,
        }

    @classmethod
    def from_json(cls, document: object) -> Self | None:
        """Return the preparation of a model file, None if there is none."""
        if document is None:
            return None
        try:
            return cls._from(document)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ValueError(
                "The model file holds a preparation of columns that cannot be read. "
                "Fit and save the model again."
            ) from None

    @classmethod
    def _from(cls, document: object) -> Self:
        """Return a preparation, if all parts are valid."""
        if not isinstance(document, dict):
            raise TypeError
        d, weight = int(document["d"]), float(document["weight"])
        fills, shift, width = (
            np.array([x] * d if (v := document[name]) is None else v, dtype=np.float64)
            for name, x in (("fills", 0.0), ("shift", 0.0), ("width", 1.0))
        )
        levels = {str(n): texts(known) or [] for n, known in document["levels"].items()}
        names, kinds = texts(document["names"]), texts(document["kinds"])
        lengths = {len(part) for part in (names, kinds) if part is not None}
        finite = all(
            part.shape == (d,) and np.isfinite(part).all()
            for part in (fills, shift, width)
        )
        if not finite or lengths - {d} or not (width > 0).all():
            raise ValueError
        if not 0 < weight < np.inf or not all(levels.values()):
            raise ValueError
        scaling = Scaling(str(document["scale"]), shift, width)
        missing = str(document["missing"])
        return cls(names, kinds, missing, fills, levels, scaling, weight)


def texts(value: object) -> list[str] | None:
    """Return a list of texts from a model file, None if it is anything else."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    return None


def _without_empty(samples: Samples) -> Samples:
    """Return samples without the columns that have no value at all."""
    if sparse.issparse(samples.X) or samples.precomputed:
        return samples
    empty = np.isnan(samples.X).all(axis=0)
    if not empty.any():
        return samples
    kept = np.flatnonzero(~empty).tolist()
    names = samples.names or [str(j) for j in range(len(empty))]
    gone = shortened([repr(names[j]) for j in np.flatnonzero(empty)])
    samples.say(f"no cell has a value in {gone}, which is left out.")
    return replace(
        samples, X=samples.X[:, kept], names=picked(samples.names, kept),
        kinds=picked(samples.kinds, kept),
    )  # fmt: skip


def _complete(samples: Samples) -> BoolArray:
    """Return which samples have no missing value."""
    complete = np.ones(samples.X.shape[0], dtype=bool)
    if not sparse.issparse(samples.X):
        complete &= ~np.isnan(samples.X).any(axis=1)
    for cells in samples.categories.values():
        complete &= np.array([cell != "" for cell in cells])
    return complete


def _say_filled(samples: Samples) -> None:
    """Say how many values are filled, and where."""
    empty = np.isnan(samples.X).sum(axis=0)
    names = samples.names or [str(j) for j in range(len(empty))]
    counts = {repr(names[j]): int(empty[j]) for j in np.flatnonzero(empty)}
    for name, cells in samples.categories.items():
        if "" in cells:
            counts[repr(name)] = cells.count("")
    if counts:
        shown = _ended([f"{name} ({count})" for name, count in counts.items()])
        samples.say(
            "missing values are filled by the median, or the most frequent category: "
            f"{shown}"
        )


def _say_unrelated(samples: Samples, names: Sequence[str]) -> None:
    """Say which columns may only split clusters."""
    shown = shortened([repr(name) for name in names])
    if len(names) == 1:
        samples.say(
            f"column {shown} hardly depends on any other column, so that it may split "
            "each cluster. Leave it out with --drop."
        )
    elif names:
        samples.say(
            f"columns {shown} hardly depend on any other column, so that they may "
            "split each cluster. Leave them out with --drop."
        )


def _ended(names: Sequence[str]) -> str:
    """Return the first names at the end of a sentence."""
    shown = shortened(names)
    return shown if shown.endswith("...") else f"{shown}."


def _missing_category(samples: Samples) -> InputError:
    """Return the error for missing categories."""
    name, cells = next((n, c) for n, c in samples.categories.items() if "" in c)
    return InputError(
        samples.source,
        f"values are missing in {cells.count('')} of {len(cells)} cells of the column "
        f"{name!r}, the first in sample {cells.index('')} (from 0). Fill them, or "
        "leave out these rows or columns; --missing median (the most frequent "
        "category) and --missing drop do so.",
    )


def _by_frequency(cells: Sequence[str]) -> list[str]:
    """Return the different categories, the most frequent first, then by name."""
    count = Counter(cell for cell in cells if cell)
    return sorted(count, key=lambda level: (-count[level], level))


def _chosen_scale(X: Matrix, samples: Samples) -> str:
    """Return zscore if the columns have very different scales, otherwise none."""
    if samples.precomputed or sparse.issparse(X):
        return "none"
    found = different_scales(X)
    if found is None:
        return "none"
    names = samples.names or [f"column {j}" for j in range(X.shape[1])]
    samples.say(
        f"scaled by --scale zscore: the standard deviations of {names[found.large]!r} "
        f"and {names[found.small]!r} differ by a factor of {found.factor:,.0f}. Choose "
        "otherwise with --scale."
    )
    return "zscore"


def _weight(X: FloatArray) -> float:
    """Return the value of an indicator: sqrt(v / 2), for the mean variance v."""
    variance = X.var(axis=0)
    variance = variance[variance > 0]
    return float(np.sqrt(variance.mean() / 2)) if len(variance) else float(np.sqrt(0.5))
