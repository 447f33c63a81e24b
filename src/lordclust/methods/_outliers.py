"""Samples that belong nowhere: left out of the fit, with the label -1."""

import copy
import numbers
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import (
    ArrayLike,
    BoolArray,
    FloatArray,
    Graph,
    IntArray,
    PathLike,
)
from lordclust._core.validation import check_known_labels, check_weights, is_auto
from lordclust.graph.novelty import far_out
from lordclust.methods._weightless import put_back, selected, selected_pairs
from lordclust.solver.links import Links, check_links


def check_outliers(outliers: object) -> None:
    """Raise an error unless it is None, "auto", a share or an array of bool."""
    fits = outliers is None or is_auto(outliers)
    if isinstance(outliers, numbers.Real) and not isinstance(outliers, bool):
        fits = 0 <= float(outliers) < 1
    elif not fits and np.ndim(outliers) == 1:  # type: ignore[arg-type]
        fits = np.asarray(outliers).dtype == bool
    if not fits:
        raise ValueError(
            "outliers must be a share of the samples, at least 0 and below 1, "
            f'"auto", or one bool per sample, got {outliers!r}.'
        )


def fit_without_outliers(
    model: Any,
    X: Graph,
    sample_weight: ArrayLike | None,
    known_labels: ArrayLike | None,
    must_link: ArrayLike | None,
    cannot_link: ArrayLike | None,
    checkpoint: PathLike | None,
) -> None:
    """Fit a copy of the model to the other samples, and put the outliers back."""
    X, start = model._check_X(X), model.start
    model._check_parameters()
    n, k = X.shape[0], model.n_clusters
    p = check_weights(sample_weight, n)
    known = check_known_labels(known_labels, n, n if k is None else k)
    links = check_links(must_link, cannot_link, known, n)
    kept = ~_find(model, X, known)
    inner = copy.copy(model)
    inner.outliers = None
    given = {"outliers": model.outliers, "start": start}
    if model._has_metric("gower"):  # X is encoded already
        names = "affinity", "metric", "n_neighbors", "_columns", "n_features_in_"
        given |= {name: getattr(model, name) for name in names}
        inner.affinity, inner.metric, inner.n_neighbors = (
            model._affinity(), "euclidean", None
        )  # fmt: skip
    if not isinstance(start, str):
        V = start if sparse.issparse(start) else np.asarray(start)
        if V.shape[0] == n:  # else the fit raises an error
            inner.start = selected(V, kept, square=False)
    inner.fit(
        selected(X, kept, square=model._is_precomputed()),
        sample_weight=None if p is None else p[kept],
        known_labels=None if known is None else known[kept],
        must_link=None if links is None else selected_pairs(links.must, kept),
        cannot_link=None if links is None else selected_pairs(links.cannot, kept),
        checkpoint=checkpoint,
    )
    feature_names = vars(model).get("feature_names_in_")
    vars(model).clear()
    vars(model).update(vars(inner) | given)
    if not kept.all():
        _put_back(model, X, kept, p, known, links)
    if feature_names is not None:
        model.feature_names_in_ = feature_names


def _put_back(
    model: Any,
    X: Graph,
    kept: BoolArray,
    p: FloatArray | None,
    known: IntArray | None,
    links: Links | None,
) -> None:
    """Add the outliers to a model that was fitted without them."""
    n = len(kept)
    weight = kept if p is None else kept * p
    omega = replace(
        model._problem.omega, mass=np.full(n, 1 / n), weight=weight / weight.mean(),
        known=known,
    )  # fmt: skip
    put_back(model, X, omega, links, kept)
    model.labels_[~kept] = -1
    model.sizes_ = np.bincount(model.labels_[kept], minlength=model.n_clusters_)
    if links is not None:
        both = Links(*(pairs[kept[pairs].all(axis=1)] for pairs in links))
        model.broken_links_ = both.broken(model.labels_)


def _find(model: Any, X: Graph, known: IntArray | None) -> BoolArray:
    """Return which samples are outliers; those with a known label are not."""
    n, outliers = X.shape[0], model.outliers
    if np.ndim(outliers) == 1:
        out = np.asarray(outliers)
        if len(out) != n:
            raise ValueError(
                f"outliers must hold one bool for each of the {n} samples, got "
                f"{len(out)}."
            )
        return out
    novelty = model._novelty_of(X)
    # The spread of the novelty depends on how clusters differ, that of local does not.
    auto = is_auto(outliers)
    count = int(far_out(novelty.local).sum()) if auto else round(outliers * n)
    free = np.ones(n, dtype=bool) if known is None else known < 0
    order = np.lexsort((-novelty.fitted, ~free))[: min(count, int(free.sum()))]
    return np.isin(np.arange(n), order)
