"""The results of a fit: a JSON document, and a summary in a few lines."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from lordclust import metrics
from lordclust._core.typing import Graph, IntArray
from lordclust._core.validation import is_auto
from lordclust._core.versions import library_versions
from lordclust.cli.fitting import Fitted
from lordclust.cli.links import NONE, Pairs, kept
from lordclust.cli.preparation import Preparation
from lordclust.cli.samples import Samples

#: Number of cluster sizes shown in the summary.
FEW = 12
#: What the summary says about the scaling of features.
SCALED = {"none": "not scaled", "zscore": "z-scores", "minmax": "from 0 to 1"}
#: With more samples, the silhouette is that of a random part of them.
SILHOUETTE_SAMPLES = 5000


def scores(samples: Samples, labels: IntArray) -> dict[str, float]:
    """Return ACC, ARI and NMI, if there are classes to compare with."""
    if samples.labels is None:
        return {}
    # An empty cell is not a class, and an outlier is in no cluster.
    given = (samples.labels.astype(str) != "") & (labels >= 0)
    if not given.any():
        return {}
    from sklearn.metrics import adjusted_rand_score

    classes, predicted = samples.labels[given], labels[given]
    return {
        "acc": metrics.accuracy(classes, predicted),
        "ari": float(adjusted_rand_score(classes.astype(str), predicted)),
        "nmi": metrics.nmi(classes, predicted),
    }


def sizes_of(model: Any) -> IntArray:
    """Return the number of samples in each cluster, outliers left out."""
    labels = model.labels_[model.labels_ >= 0]
    return np.bincount(labels, minlength=model.n_clusters or 1)


def silhouette(samples: Samples, labels: IntArray) -> float | None:
    """Return how much closer samples are to their own cluster than to the next."""
    n = len(labels)
    if samples.precomputed or not 2 <= len(np.unique(labels)) < n:
        return None
    from sklearn.metrics import silhouette_score

    size = SILHOUETTE_SAMPLES if n > SILHOUETTE_SAMPLES else None
    return float(silhouette_score(samples.X, labels, sample_size=size, random_state=0))


def modularity(S: Graph, labels: IntArray) -> float | None:
    """Return sum_c (S inside c / S) - (degrees of c / S)^2; None if S sums to 0."""
    total = float(S.sum())
    if total <= 0:
        return None
    member = (labels[:, None] == np.unique(labels)).astype(np.float64)
    degree = np.asarray(S.sum(axis=1)).ravel() @ member
    inside = np.einsum("ij,ij->j", member, S @ member)
    return float(inside.sum() / total - ((degree / total) ** 2).sum())


class Run(NamedTuple):
    """A fitted model and its samples."""

    method: str
    seed: int | None
    samples: Samples
    preparation: Preparation
    fitted: Fitted
    interrupted: bool
    pairs: Pairs = NONE


def facts(run: Run) -> dict[str, Any]:
    """Return all settings and results of a run."""
    fitted, samples = run.fitted, run.samples
    model, (n, d) = fitted.model, samples.X.shape
    document = {
        "method": run.method,
        "objective": getattr(model, "objective_", None),
        "residual": getattr(model, "residual_", None),
        "converged": getattr(model, "converged_", None),
        "interrupted": run.interrupted,
        "n_iter": getattr(model, "n_iter_", None),
        "sizes": sizes_of(model),
        "outliers": int((model.labels_ < 0).sum()),
        "proportions": getattr(model, "proportions_", None),
        "tau": getattr(model, "tau_", None),
        "seconds": round(fitted.seconds, 4),
        **_broken(run),
        **_changed(model),
        **scores(samples, model.labels_),
        "seed": run.seed,
        "parameters": model.get_params(deep=False),
        "input": {
            "source": samples.source,
            "n_samples": n,
            "n_features": None if samples.precomputed else d,
            "precomputed": samples.precomputed,
            "scale": run.preparation.scaling.kind,
            "columns": run.preparation.columns,
            "missing": run.preparation.missing,
        },
        "warnings": fitted.warnings,
        "versions": library_versions(),
    }
    return {name: plain(value) for name, value in document.items()}


def _broken(run: Run) -> dict[str, object]:
    """Return the number of links and the broken ones, by ids, if there are links."""
    if not run.pairs.n_links:
        return {}
    broken: IntArray = vars(run.fitted.model)["broken_links_"]
    return {"n_links": run.pairs.n_links, "broken_links": run.samples.ids[broken]}


def _changed(model: Any) -> dict[str, int]:
    """Return how many samples were in a cluster before, and moved, after a refit."""
    change = getattr(model, "change_", None)
    if change is None:
        return {}
    compared = int((change.before >= 0).sum())
    return {"n_compared": compared, "n_moved": len(change.moved)}


def plain(value: object) -> object:
    """Return a value that JSON can hold; other objects become their text."""
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


def to_json(document: object) -> str:
    """Return the text of a JSON document."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def lines(run: Run) -> list[str]:
    """Return the lines of the summary."""
    fitted, samples, model = run.fitted, run.samples, run.fitted.model
    sizes = sizes_of(model).tolist()
    used = [size for size in sizes if size]
    shown = ", ".join(map(str, used[:FEW])) + (", ..." if len(used) > FEW else "")
    empty = len(sizes) - len(used)
    scale = run.preparation.scaling.kind
    scaled = "" if samples.precomputed else f" ({SCALED.get(scale, scale)})"
    text = [
        f"{run.method}: {samples.size}{scaled}, {fitted.seconds:.2f} s",
        f"{len(used)} clusters of {shown} samples"
        + (f" ({empty} of {len(sizes)} are empty)" if empty else ""),
    ]
    if outliers := int((model.labels_ < 0).sum()):
        text[1] += f", {outliers} outliers"
    if (tau := getattr(model, "tau_", None)) is not None:
        text.append(_how_sure(model, tau))
    if run.pairs.n_links:
        text.append(kept(model, run.pairs, samples))
    if found := scores(samples, model.labels_):
        text.append(f"ACC {found['acc']:.4f}, NMI {found['nmi']:.4f}")
    # Broken links are named above.
    others = [text for text in fitted.warnings if "broken_links_" not in text]
    return text + [f"Warning: {warning}" for warning in others]


def _how_sure(model: Any, tau: float) -> str:
    """Return how certain the labels are, or the tau that was requested."""
    params = model.get_params(deep=False)
    sure = float(np.asarray(model.membership_.max(axis=1)).mean())
    if not is_auto(params.get("tau")):
        return f"tau {tau:.2f}, mean certainty {sure:.0%}"
    text = f"mean certainty {sure:.0%} (calibrated without labels)"
    selection = getattr(model, "selection_", None)
    if selection is not None and not selection.is_stable:
        text += f"; stability {selection.stability:.0%}: other partitions are as good"
    return text
