"""Samples that a fit leaves out: outliers, and samples of weight 0.

They influence nobody: the result is the same bit for bit as if they were not there.
Afterwards they are put back in their places, with memberships from the others.
"""

import numbers
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import BoolArray, Graph, IntArray
from lordclust._core.validation import check_weights, in_dtype, is_auto
from lordclust.graph.novelty import far_out
from lordclust.rounding.labels import labels_from, row_entropy
from lordclust.solver.problem import BLoRDProblem

if TYPE_CHECKING:
    from lordclust.methods._request import Samples


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


def leave_out(model: Any, samples: "Samples") -> tuple["Samples", BoolArray, BoolArray]:
    """Return the samples to fit, and which of all samples these and the outliers are.

    Samples of weight 0 stay if sizes, links or a start count all samples.
    """
    kept, out = samples.heavy, np.zeros(len(samples.heavy), dtype=bool)
    counted = model.cluster_sizes is not None or model.rounding == "exact"
    counted |= model.size_min is not None or model.size_max is not None
    if counted or model.links == "hard" or not isinstance(model.start, str):
        kept = ~out
    if model.outliers is not None:
        out = _find_outliers(model, samples.X, samples.known)
        kept = kept & ~out
    if kept.all():
        return samples, kept, out
    return samples.only(kept, square=model._is_precomputed()), kept, out


def _find_outliers(model: Any, X: Graph, known: IntArray | None) -> BoolArray:
    """Return which samples belong nowhere; those with a known label do not."""
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


def selected(X: Graph, kept: BoolArray, *, square: bool) -> Graph:
    """Return the kept rows of X, and the kept columns too if it is ``square``."""
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    return X[kept][:, kept] if square else X[kept]


def put_back(model: Any, samples: "Samples", kept: BoolArray, out: BoolArray) -> None:
    """Add all other samples to a model that was fitted to the ``kept`` ones.

    Outliers, those that are ``out``, get the label -1.
    """
    X, n = samples.X, len(kept)
    p = check_weights(samples.weight, n)
    share = ~out * (1.0 if p is None else p)
    weight = share / share.mean() if out.any() else n * share
    S, P = _memberships(model, samples, kept)
    if sparse.issparse(model.membership_):
        nats = row_entropy(P.toarray())
        model._nats = _inserted(model._nats, nats, kept)
    model.labels_ = _inserted(model.labels_, labels_from(P), kept)
    model.labels_[out] = -1
    model.sizes_ = np.bincount(model.labels_[~out], minlength=model.n_clusters_)
    model.membership_ = _inserted(model.membership_, P, kept)
    model.V_ = _inserted(model.V_, 0 * P, kept)
    model.affinity_matrix_, model._weight = S, weight
    model._norm2 *= kept.mean()
    model._samples = None if model._is_precomputed() else X
    model._extensions, model._novelties = [], []
    if hasattr(model, "_problem"):
        omega = replace(
            model._problem.omega, mass=np.full(n, 1 / n), weight=weight,
            known=samples.known,
        )  # fmt: skip
        model._problem = BLoRDProblem.of(S, omega, samples.links)


def _memberships(
    model: Any, samples: "Samples", kept: BoolArray
) -> tuple[Graph, Graph]:
    """Return S of all samples, and the memberships of those that were left out."""
    if model._is_precomputed():
        S = model._built(model._affinity(), samples.X)
        P = model._average(selected(S, ~kept, square=False)[:, kept])
    else:
        X = selected(samples.X, ~kept, square=False)
        P, rows = model._voted(X), model._extension().weights(X)
        if not (heavy := model._weight > 0).all():
            rows = rows @ sparse.csr_array(sparse.eye_array(len(heavy)))[heavy]
        S = _connected(model.affinity_matrix_, rows, kept)
    if samples.known is not None:
        known = samples.known[~kept]
        sure = known >= 0
        D = P.toarray() if sparse.issparse(P) else P
        D[sure] = np.eye(D.shape[1])[known[sure]]
        P = sparse.csr_array(D) if sparse.issparse(P) else D
    return in_dtype(S, model.dtype), P


def _connected(S: Graph, rows: Graph, kept: BoolArray) -> Graph:
    """Return S with further rows and columns: the weights of their neighbours."""
    place = np.argsort(np.argsort(~kept, kind="stable"))
    if not sparse.issparse(S):
        rows = rows.toarray()
        nothing = np.zeros((len(rows), len(rows)))
        return np.block([[S, rows.T], [rows, nothing]])[np.ix_(place, place)]
    joined = sparse.csr_array(sparse.block_array([[S, rows.T], [rows, None]]))
    joined = sparse.csr_array(joined[place][:, place])
    joined.sort_indices()
    return joined


def _inserted(values: Any, others: Any, kept: BoolArray) -> Any:
    """Return rows of the kept samples and of the others, in the order of all."""
    place = np.argsort(np.argsort(~kept, kind="stable"))
    if not sparse.issparse(values):
        return np.concatenate([values, others]).astype(values.dtype)[place]
    joined = sparse.csr_array(sparse.vstack([values, sparse.csr_array(others)]))[place]
    joined.eliminate_zeros()  # in V
    return joined
