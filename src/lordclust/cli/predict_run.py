"""What ``lordclust predict`` and ``lordclust report`` do with a saved model."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lordclust import files
from lordclust._core.typing import FloatArray, IntArray
from lordclust.cli import summary, tables
from lordclust.cli.exits import Interrupts
from lordclust.cli.options import Reading
from lordclust.cli.outputs import Outputs
from lordclust.cli.samples import Samples, read_samples
from lordclust.cli.scaling import Scaling
from lordclust.files import InputError
from lordclust.methods._saving import load_model
from lordclust.rounding.labels import labels_from


@dataclass(frozen=True)
class Saved:
    """A model file: the model, and what was kept beside it."""

    path: str
    model: Any
    names: list[str] | None
    scaling: Scaling | None

    @classmethod
    def read(cls, path: str) -> Saved:
        """Read a model file; one that Python code saved may have nothing beside."""
        model = load_model(path)
        extras = getattr(model, "extras_", None)
        extras = extras if isinstance(extras, dict) else {}
        names = extras.get("names")
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            names = None
        return cls(path, model, names, Scaling.from_json(extras.get("scaling")))

    def samples(self, source: str, reading: Reading) -> Samples:
        """Read INPUT: the same columns by name, scaled in the same way."""
        columns: Any = reading.columns
        if columns is None and self.names is not None:
            columns = tuple(self.names)  # commas in a name are part of it
        samples = read_samples(
            source, replace(reading, columns=columns), precomputed=False
        )
        wanted = self.model.n_features_in_
        if samples.X.shape[1] != wanted:
            raise InputError(
                source,
                f"it has {samples.X.shape[1]} features, but the model was fitted to "
                f"{wanted}. Choose them with --columns.",
            )
        if self.scaling is None:
            return samples
        return replace(samples, X=self.scaling.apply(samples.X))


@dataclass(frozen=True)
class Answer:
    """Labels and probabilities of new samples."""

    samples: Samples
    labels: IntArray
    P: FloatArray

    def line(self) -> str:
        """What to tell a person."""
        sizes = np.bincount(self.labels, minlength=self.P.shape[1])
        text = f"{self.samples.size}: clusters of {', '.join(map(str, sizes))} samples"
        scores = summary.scores(self.samples, self.labels)
        return text + "".join(f", {n.upper()} {v:.4f}" for n, v in scores.items())

    def tables(self) -> dict[str, dict[str, Any]]:
        """The tables by option."""
        return {
            "--output": tables.label_columns(self.samples, self.labels, self.P),
            "--proba": tables.probability_columns(self.samples, self.P),
        }

    def write(self, outputs: Outputs, interrupts: Interrupts) -> None:
        """Write the files asked for: all of them, or none."""
        with outputs.together(interrupts) as names:
            for option, columns in self.tables().items():
                if option in names:
                    tables.write_file(names[option], columns)

    def print_to_stdout(self, outputs: Outputs) -> None:
        """Print what was asked for on stdout."""
        for option, columns in self.tables().items():
            if outputs.to_stdout(option):
                files.write_table("-", columns)
        sys.stdout.flush()


def predict_samples(
    saved: Saved,
    samples: Samples,
    proportions: Any = None,
    cluster_sizes: list[int] | None = None,
) -> Answer:
    """Predict samples one by one, or as a batch that meets shares or sizes."""
    model = saved.model
    P = model.predict_proba(samples.X)
    if proportions is None and cluster_sizes is None:
        return Answer(samples, labels_from(P), P)
    shares = None if proportions == "model" else proportions
    labels = model.assign(samples.X, proportions=shares, cluster_sizes=cluster_sizes)
    return Answer(samples, labels, P)


def samples_of(saved: Saved, source: str | None, reading: Reading) -> Samples:
    """Return the samples a model was fitted to, with names if INPUT is given."""
    if source is None:
        return _own_samples(saved)
    samples, n = saved.samples(source, reading), len(saved.model.labels_)
    if len(samples.ids) != n:
        raise InputError(
            source,
            f"it has {len(samples.ids)} samples, but the model was fitted to {n}. Give "
            "the file it was fitted to, or none.",
        )
    return samples


def _own_samples(saved: Saved) -> Samples:
    """Return the samples that the model file holds; without names."""
    model = saved.model
    precomputed = model._is_precomputed()
    return Samples(
        source=saved.path,
        X=model.membership_ if precomputed else model._extension.X,
        ids=np.arange(len(model.labels_)),
        id_name="id",
        names=saved.names,
        labels=None,
        weight=None,
        known=None,
        precomputed=precomputed,
    )
