"""A saved model, and INPUT as that model needs it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray
from lordclust.cli.options import InputOptions
from lordclust.cli.preparation import Preparation, texts
from lordclust.cli.samples import Samples, read_samples
from lordclust.files import InputError
from lordclust.files.table import Matrix
from lordclust.methods._saving import load_model


def _stacked(first: Matrix, second: Matrix) -> Matrix:
    """Return the rows of two tables."""
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.csr_array(sparse.vstack([first, second]))
    return np.vstack([first, second])


@dataclass(frozen=True)
class SavedModel:
    """A model file: the model, and what was saved with it."""

    path: str
    model: Any
    names: list[str] | None
    preparation: Preparation | None
    clusters: list[str] | None  # their names
    id_name: str | None = None

    @classmethod
    def read(cls, path: str) -> SavedModel:
        """Read a model file; one saved from Python may have nothing else."""
        model = load_model(path)
        extras = getattr(model, "extras_", None)
        extras = extras if isinstance(extras, dict) else {}
        preparation = Preparation.from_json(
            extras.get("preparation", extras.get("scaling"))  # an old one is refused
        )
        clusters = texts(extras.get("clusters"))
        if clusters is not None and len(clusters) != len(model.sizes_):
            clusters = None
        names, id_name = texts(extras.get("names")), extras.get("id")
        id_name = id_name if isinstance(id_name, str) else None
        return cls(path, model, names, preparation, clusters, id_name)

    @property
    def weight(self) -> FloatArray | None:
        """The weights of the fitted samples, 1 for outliers; None if all are equal."""
        inside = self.model.labels_ >= 0
        weight = np.where(inside, self.model._weight, 1.0)
        return None if np.ptp(weight[inside]) < 1e-9 else weight

    def samples(
        self, source: str, reading: InputOptions, *, join: bool = False
    ) -> Samples:
        """Read INPUT: the same columns by name, prepared in the same way."""
        how = self.preparation
        names = self.names if how is None else how.names
        if reading.columns is None and names is not None:
            reading = replace(reading, columns=tuple(names))
        if how is not None:
            levels = list(how.levels) or None
            reading = replace(reading, categorical=levels, missing=how.missing)
        kinds = dict(zip(names or (), (how and how.kinds) or (), strict=False))
        kinds |= dict.fromkeys(how.levels if how else (), "category")
        kinds |= {} if self.id_name is None else {self.id_name: "id"}
        samples = read_samples(
            source, reading, precomputed=False, join=join, kinds=kinds
        )
        expected = self.model.n_features_in_ if how is None else how.d
        if samples.X.shape[1] != expected:
            raise InputError(
                source,
                f"it has {samples.X.shape[1]} features, but the model was fitted to "
                f"{expected}. Choose them with --columns.",
            )
        return samples if how is None else how.apply(samples)

    def fitted_samples(self, source: str | None, reading: InputOptions) -> Samples:
        """Return the samples of the fit, from INPUT or from the model itself."""
        n = len(self.model.labels_)
        if source is None:
            return self._own_samples(n)
        samples = self.samples(source, reading)
        if len(samples.ids) != n:
            raise InputError(
                source,
                f"it has {len(samples.ids)} samples, but the model was fitted to {n}. "
                "Pass the file it was fitted to, or leave INPUT out.",
            )
        return samples

    def with_fitted(self, new: Samples) -> Samples:
        """Return the samples of the fit, and after them the new ones."""
        n, m = len(self.model.labels_), len(new.ids)
        old, weights = self._own_samples(n), (self.weight, new.weight)
        weight = None
        if any(one is not None for one in weights):
            pairs = zip(weights, (n, m), strict=True)
            weight = np.concatenate([np.ones(c) if w is None else w for w, c in pairs])

        def after(first: object, given: Any) -> Any:
            return None if given is None else np.concatenate([[first] * n, given])

        return replace(
            new,
            X=_stacked(old.X, new.X),
            raw=_stacked(old.raw, new.raw),
            ids=np.array([*(f"fitted {i}" for i in range(n)), *map(str, new.ids)]),
            labels=after("", new.labels),
            known=after(-1, new.known),
            weight=weight,
        )

    def _own_samples(self, n: int) -> Samples:
        """Return the samples that the model file holds."""
        precomputed = self.model._is_precomputed()
        if not precomputed and self.model._samples is None:
            raise InputError(
                self.path,
                "it was saved with samples=False. Pass the samples it was fitted to.",
            )
        X = self.model._samples
        if precomputed:
            X = getattr(self.model, "membership_", self.model.labels_[:, None])
        return Samples(
            source=self.path,
            X=X,
            ids=np.arange(n),
            id_name="id",
            names=self.names,
            precomputed=precomputed,
            kinds=None if self.preparation is None else self.preparation.kinds,
            raw=X if self.preparation is None else self.preparation.undo(X),
        )
