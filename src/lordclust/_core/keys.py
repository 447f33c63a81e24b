"""Numbers that identify rows by their content, whatever the order of the rows."""

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray, Samples

#: Odd, and without pattern: 2^64 divided by the golden ratio.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
#: Numbers that are hashed at a time.
_CHUNK = 1 << 20


def mixed(x: IntArray) -> IntArray:
    """Return splitmix64 of each number."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def row_keys(A: Graph) -> IntArray:
    """Return a number for each row that depends on its entries, not on their order.

    Each is a sum of hashes modulo 2^64; the hash of 0 is 0. Equal sums are told apart
    by their positions.
    """
    if sparse.issparse(A):
        A = sparse.csr_array(A)
        total = np.zeros(A.nnz + 1, np.uint64)
        np.cumsum(_hashed(A.data), out=total[1:])
        keys = total[A.indptr[1:]] - total[A.indptr[:-1]]
    else:
        keys = np.array([_hashed(row).sum(dtype=np.uint64) for row in A], np.uint64)
    order = np.argsort(keys, kind="stable")
    place = np.arange(len(keys))
    new = np.append(True, keys[order][1:] != keys[order][:-1])
    rank = np.empty(len(keys), np.uint64)
    rank[order] = place - np.maximum.accumulate(np.where(new, place, 0))
    return mixed(keys + rank * GOLDEN)


def sample_keys(X: Samples) -> IntArray:
    """Return a number for each sample that depends on its features alone.

    Each is a sum of hashes of values and columns modulo 2^64; zeros count as nothing.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> a, b, c = sample_keys(X)
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    n, d = X.shape
    column = np.arange(1, d + 1, dtype=np.uint64) * GOLDEN
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        total = np.zeros(X.nnz + 1, np.uint64)
        np.cumsum(_hashed(X.data, column[X.indices]), out=total[1:])
        return np.asarray(total[X.indptr[1:]] - total[X.indptr[:-1]])
    keys, rows = np.empty(n, np.uint64), max(1, _CHUNK // max(d, 1))
    for first in range(0, n, rows):
        some = slice(first, first + rows)
        keys[some] = _hashed(X[some], column).sum(axis=1, dtype=np.uint64)
    return keys


def _hashed(x: FloatArray, column: IntArray | int = 0) -> IntArray:
    """Return a hash of each number, and of its column; 0 for 0."""
    x = np.ascontiguousarray(x, dtype=np.float64) + 0.0  # no negative zeros
    return np.where(x == 0, np.uint64(0), mixed(x.view(np.uint64) + np.uint64(column)))
