"""Samples of weight 0: they influence nobody, and get a membership from the others.

The model is fitted without them, so that its result is the same bit for bit as if they
were not there. Afterwards they are put back in their places.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import BoolArray, Graph, IntArray
from lordclust._core.validation import in_dtype
from lordclust.rounding.labels import labels_from, row_entropy
from lordclust.solver.links import Links
from lordclust.solver.omega import Omega
from lordclust.solver.problem import BLoRDProblem


def selected(X: Graph, kept: BoolArray, *, square: bool) -> Graph:
    """Return the kept rows of X, and the kept columns too if it is ``square``."""
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    return X[kept][:, kept] if square else X[kept]


def selected_pairs(pairs: IntArray, kept: BoolArray) -> IntArray:
    """Return the pairs of kept samples, by their new numbers."""
    number = np.cumsum(kept) - 1
    return np.asarray(number[pairs[kept[pairs].all(axis=1)]])


def put_back(
    model: Any, X: Graph, omega: Omega, links: Links | None, kept: BoolArray
) -> None:
    """Add samples to a model that was fitted to the ``kept`` ones.

    ``X``, ``omega`` and ``links`` are those of all samples.
    """
    S, P = _memberships(model, X, omega.known, kept)
    if sparse.issparse(model.membership_):
        nats = row_entropy(P.toarray())
        model._nats = _inserted(model._nats, nats, kept)
    model.labels_ = _inserted(model.labels_, labels_from(P), kept)
    model.sizes_ = np.bincount(model.labels_, minlength=model.n_clusters_)
    model.membership_ = _inserted(model.membership_, P, kept)
    model.V_ = _inserted(model.V_, 0 * P, kept)
    model.affinity_matrix_, model._weight = S, omega.weight
    model._norm2 *= kept.mean()
    if model._is_precomputed():
        model.n_features_in_ = X.shape[1]
    model._samples = None if model._is_precomputed() else X
    model._extensions, model._novelties = [], []
    if hasattr(model, "_problem"):
        omega = replace(omega, mu=model._problem.omega.mu)
        model._problem = BLoRDProblem.of(S, omega, links)


def _memberships(
    model: Any, X: Graph, known: IntArray | None, kept: BoolArray
) -> tuple[Graph, Graph]:
    """Return S of all samples, and the memberships of those that were left out."""
    light = ~kept
    if model._is_precomputed():
        S = model._built(model._affinity(), X)
        rows = selected(S, light, square=False)[:, kept]
        P = model._average(rows)
    else:
        X = selected(X, light, square=False)
        P, rows = model._voted(X), model._extension().weights(X)
        if not (heavy := model._weight > 0).all():
            rows = rows @ sparse.csr_array(sparse.eye_array(len(heavy)))[heavy]
        S = _connected(model.affinity_matrix_, rows, kept)
    if known is not None:
        known = known[light]
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
