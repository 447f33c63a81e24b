"""A saved model, and INPUT as that model needs it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lordclust.cli.options import InputOptions
from lordclust.cli.preparation import Preparation, texts
from lordclust.cli.samples import Samples, read_samples
from lordclust.files import InputError
from lordclust.methods._saving import load_model


@dataclass(frozen=True)
class SavedModel:
    """A model file: the model, and what was saved with it."""

    path: str
    model: Any
    names: list[str] | None
    preparation: Preparation | None
    clusters: list[str] | None  # their names

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
        return cls(path, model, texts(extras.get("names")), preparation, clusters)

    def samples(
        self, source: str, reading: InputOptions, *, cells: bool = False
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
        samples = read_samples(
            source, reading, precomputed=False, cells=cells, kinds=kinds
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
            labels=None,
            weight=None,
            known=None,
            precomputed=precomputed,
            kinds=None if self.preparation is None else self.preparation.kinds,
            raw=X if self.preparation is None else self.preparation.undo(X),
        )
