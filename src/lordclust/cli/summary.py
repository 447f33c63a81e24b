"""What a fit came to: a JSON document for programs, some lines for people."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from lordclust import metrics
from lordclust._core.versions import library_versions
from lordclust.cli.estimator import Fitted
from lordclust.cli.samples import Samples
from lordclust.cli.scaling import Scaling

#: So many sizes are shown to people.
FEW = 12


def scores(samples: Samples, labels: Any) -> dict[str, float]:
    """Return ACC and NMI, if there are classes to compare with."""
    if samples.labels is None:
        return {}
    told = samples.labels.astype(str) != ""  # an empty cell is no class
    if not told.any():
        return {}
    classes, found = samples.labels[told], labels[told]
    return {
        "acc": metrics.accuracy(classes, found),
        "nmi": metrics.nmi(classes, found),
    }


def facts(
    fitted: Fitted,
    samples: Samples,
    *,
    method: str,
    seed: int | None,
    scaling: Scaling | None,
    interrupted: bool = False,
) -> dict[str, Any]:
    """Return everything about a run that a later reader may ask for."""
    model, (n, d) = fitted.model, samples.X.shape
    sizes = np.bincount(model.labels_, minlength=model.n_clusters)
    result = {
        "method": method,
        "objective": getattr(model, "objective_", None),
        "residual": getattr(model, "residual_", None),
        "converged": getattr(model, "converged_", None),
        "interrupted": interrupted,
        "n_iter": getattr(model, "n_iter_", None),
        "sizes": sizes,
        "proportions": getattr(model, "proportions_", None),
        "tau": getattr(model, "tau_", None),
        "seconds": round(fitted.seconds, 4),
        **scores(samples, model.labels_),
        "seed": seed,
        "parameters": model.get_params(deep=False),
        "input": {
            "source": samples.source,
            "n_samples": n,
            "n_features": None if samples.precomputed else d,
            "precomputed": samples.precomputed,
            "scale": "none" if scaling is None else scaling.kind,
        },
        "warnings": fitted.warnings,
        "versions": library_versions(),
    }
    return {name: plain(value) for name, value in result.items()}


def plain(value: Any) -> Any:
    """Return a value as JSON knows it; objects become their text."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return repr(value)


def to_json(document: Any) -> str:
    """Return the text of a JSON document."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def lines(document: dict[str, Any], samples: Samples) -> list[str]:
    """Return what to tell a person."""
    used = [size for size in document["sizes"] if size]
    shown = ", ".join(map(str, used[:FEW])) + (", ..." if len(used) > FEW else "")
    text = [
        f"{document['method']}: {samples.size}, {document['seconds']:.2f} s",
        f"{len(used)} clusters of {shown} samples",
    ]
    k = len(document["sizes"])
    if len(used) < k:
        text[1] += f" ({k - len(used)} of {k} stayed empty)"
    if document["tau"] is not None:
        params = document["parameters"]
        chosen = [n for n in ("tau", "proportions") if params.get(n) == "auto"]
        how = f"; chosen without labels: {' and '.join(chosen)}" if chosen else ""
        text.append(f"tau {document['tau']:.2f}{how}")
    if "acc" in document:
        text.append(f"ACC {document['acc']:.4f}, NMI {document['nmi']:.4f}")
    return text + [f"Warning: {warning}" for warning in document["warnings"]]
