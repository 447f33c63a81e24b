"""Graphs of neighbours that were found by other tools."""

import numpy as np
from scipy import sparse

from lordclust._core.typing import ArrayLike, FloatArray, Graph, IntArray
from lordclust._core.validation import check_indices, to_array


def from_graph(D: Graph) -> Graph:
    """Return a graph of distances without its diagonal; a stored 0 marks a copy.

    Pairs that a sparse D does not store are not neighbours.
    """
    is_sparse = sparse.issparse(D)
    D = D if is_sparse else to_array(D, "X")
    if len(D.shape) != 2 or D.shape[0] != D.shape[1] or D.shape[0] < 2:
        raise ValueError(
            'metric="precomputed" needs distances of shape (n, n) of at least 2 '
            f"samples, got shape {D.shape}. Pass for example "
            'sklearn.neighbors.kneighbors_graph(X, 15, mode="distance"), or samples '
            "with another metric."
        )
    n = D.shape[0]
    if is_sparse:
        csr = sparse.csr_array(D)
        check_indices(csr)
        row = np.repeat(np.arange(n), np.diff(csr.indptr))
        return _graph(row, csr.indices, csr.data, n)
    row, column = np.divmod(np.arange(n * n), n)
    return _graph(row, column, D.ravel(), n)


def from_lists(indices: ArrayLike, distances: ArrayLike) -> Graph:
    """Return rows of neighbours and their distances as a graph of distances."""
    index, d = to_array(indices, "indices"), to_array(distances, "distances")
    if index.ndim != 2 or index.shape != d.shape or index.dtype.kind not in "iu":
        raise ValueError(
            "indices (integers) and distances must have the same shape (n, m), got "
            f"{index.dtype} of shape {index.shape} and {d.dtype} of shape {d.shape}. "
            "Pass one row of neighbours per sample."
        )
    n = len(index)
    if index.size and (index.min() < -1 or index.max() >= n):
        raise ValueError(
            f"indices must be from 0 to {n - 1}, the samples, or -1 for none, got "
            f"{index.min()} to {index.max()}. Count the samples from 0."
        )
    there = index >= 0
    row = np.nonzero(there)[0]
    return _graph(row, index[there], d[there], n)


def _graph(row: IntArray, column: IntArray, d: FloatArray, n: int) -> Graph:
    """Return checked distances between different samples as a CSR array."""
    if d.dtype.kind not in "biuf":
        raise ValueError(
            f"distances must be real numbers, got {d.dtype}. Convert them with "
            "numpy.asarray(distances, dtype=float)."
        )
    others = row != column
    row, column, d = row[others], column[others], d[others].astype(np.float64)
    if not np.all(np.isfinite(d)) or d.min(initial=0.0) < 0:
        raise ValueError(
            "distances must be finite numbers of 0 or more, got "
            f"{'NaN or infinity' if not np.all(np.isfinite(d)) else d.min()}. Pass "
            "distances, not similarities; leave out pairs that are not neighbours."
        )
    if d.size == 0:
        raise ValueError(
            "The graph of distances has no edges. Pass at least one neighbour other "
            "than the sample itself."
        )
    order = np.lexsort((d, column, row))
    row, column, d = row[order], column[order], d[order]
    # The smallest distance of a neighbour that is listed twice.
    first = (np.diff(row, prepend=-1) != 0) | (np.diff(column, prepend=-1) != 0)
    row, column, d = row[first], column[first], d[first]
    counts = np.bincount(row, minlength=n)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((d, column.astype(np.int64), indptr), shape=(n, n))


def nearest_in(D: Graph, q: int | None, nth: int) -> tuple[Graph, FloatArray]:
    """Return the q nearest in each row (all by default), and the nth distance.

    A row with fewer keeps them all; its last distance is the nth. A row without any
    has the distance 0. Ties are broken by the order of the samples.
    """
    n, counts = D.shape[0], np.diff(D.indptr)
    if q is not None and not 1 <= q <= counts.max():
        raise ValueError(
            f"n_neighbors must be at most {counts.max()}, the largest number of "
            f"neighbours in the graph of distances, got {q}. Pass None for all of them."
        )
    row = np.repeat(np.arange(n), counts)
    order = np.lexsort((D.indices, D.data, row))
    column, d = D.indices[order], D.data[order]
    rank = np.arange(len(d)) - D.indptr[row]
    last = D.indptr[:-1] + np.minimum(nth, counts) - 1
    scale = np.where(counts > 0, d[np.maximum(last, 0)], 0.0)
    kept = rank < (q or n)
    narrow = np.int32 if 2 * len(d) <= np.iinfo(np.int32).max else np.int64
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=n))])
    parts = d[kept], column[kept].astype(narrow), indptr.astype(narrow)
    return sparse.csr_array(parts, shape=(n, n)), scale
