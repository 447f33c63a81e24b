"""Scaling of features, saved with a model to scale new samples in the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Json
from lordclust.files.table import Matrix


@dataclass(frozen=True)
class Scaling:
    """Map x to (x - shift) / width per feature; constant features have width 1."""

    kind: str
    shift: FloatArray
    width: FloatArray

    @classmethod
    def of(cls, kind: str, X: Matrix) -> Self | None:
        """Return the scaling of a table, or None for ``kind="none"``."""
        if kind == "none":
            return None
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

    def apply(self, X: Matrix) -> FloatArray:
        """Return scaled samples."""
        dense = sparse.csr_array(X).toarray() if sparse.issparse(X) else X
        if dense.shape[1] != len(self.shift):
            raise ValueError(
                f"The input has {dense.shape[1]} features, but the model was fitted to "
                f"{len(self.shift)}. Choose the same ones with --columns."
            )
        scaled: FloatArray = (dense - self.shift) / self.width
        return scaled

    def undo(self, X: FloatArray) -> FloatArray:
        """Return samples in their own units, up to rounding."""
        raw: FloatArray = X * self.width + self.shift
        return raw

    def to_json(self) -> Json:
        """Return a document for the model file; floats are kept bit for bit."""
        return {
            "kind": self.kind,
            "shift": self.shift.tolist(),
            "width": self.width.tolist(),
        }

    @classmethod
    def from_json(cls, document: object) -> Self | None:
        """Return the scaling of a model file, None if there is none."""
        if document is None:
            return None
        try:
            if not isinstance(document, dict):
                raise TypeError
            shift = np.array(document["shift"], dtype=np.float64)
            width = np.array(document["width"], dtype=np.float64)
            fits = shift.ndim == 1 and shift.shape == width.shape
            if not fits or not np.isfinite(shift).all() or not (width > 0).all():
                raise ValueError
            return cls(str(document["kind"]), shift, width)
        except (KeyError, TypeError, ValueError):
            raise ValueError(
                "The model file holds a scaling that cannot be read. Fit and save the "
                "model again."
            ) from None
