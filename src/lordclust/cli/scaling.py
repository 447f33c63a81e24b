"""Scaling of features that is kept with a model, so that new samples get the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray


@dataclass(frozen=True)
class Scaling:
    """x becomes (x - shift) / width, feature by feature; constant ones have width 1."""

    kind: str
    shift: FloatArray
    width: FloatArray

    @classmethod
    def of(cls, kind: str, X: Any) -> Self | None:
        """Return the scaling of a table, or None for ``kind="none"``."""
        if kind == "none":
            return None
        if sparse.issparse(X):
            raise ValueError(
                f"--scale {kind} would fill a sparse table with numbers. Scale it "
                "before, or leave --scale out."
            )
        if kind == "minmax":
            shift, width = X.min(axis=0), np.ptp(X, axis=0)
        else:
            shift, width = X.mean(axis=0), X.std(axis=0)
        return cls(kind, shift, np.where(width > 0, width, 1.0))

    def apply(self, X: Any) -> Any:
        """Return scaled samples."""
        dense = X.toarray() if sparse.issparse(X) else X
        if dense.shape[1] != len(self.shift):
            raise ValueError(
                f"The input has {dense.shape[1]} features, but the model was fitted to "
                f"{len(self.shift)}. Choose the same ones with --columns."
            )
        return (dense - self.shift) / self.width

    def to_json(self) -> dict[str, Any]:
        """Return what a model file keeps; floats survive in every bit."""
        return {
            "kind": self.kind,
            "shift": self.shift.tolist(),
            "width": self.width.tolist(),
        }

    @classmethod
    def from_json(cls, kept: Any) -> Self | None:
        """Return the scaling of a model file, None if there is none."""
        if kept is None:
            return None
        try:
            shift = np.array(kept["shift"], dtype=np.float64)
            width = np.array(kept["width"], dtype=np.float64)
            fits = shift.ndim == 1 and shift.shape == width.shape
            if not fits or not np.isfinite(shift).all() or not (width > 0).all():
                raise ValueError
            return cls(str(kept["kind"]), shift, width)
        except (KeyError, TypeError, ValueError):
            raise ValueError(
                "The model file holds a scaling that cannot be read. Fit and save the "
                "model again."
            ) from None
