"""Leading eigenvectors of a graph, and the embeddings derived from them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from lordclust._core.blas import one_blas_thread
from lordclust._core.keys import row_keys
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.warn import warn_user
from lordclust.rounding.labels import (
    EPS,
    discretize,
    labels_of_all,
    pivoted_qr_labels,
    placed_rows,
    rotate,
    row_blocks,
)
from lordclust.rounding.subspace import subspace_eigenvectors

#: Up to this many samples a dense eigendecomposition is fast, and misses nothing.
DENSE_EIGEN = 500
#: From this many entries of the eigenvectors on, one rounding less is tried.
LARGE = 2_000_000
#: Rows of eigenvectors shorter than this fraction of the longest count as zero.
ROUNDING = 1e-14
TINY = float(np.finfo(np.float64).tiny)


class Eigen(NamedTuple):
    """Eigenvalues, largest first, and a column for each."""

    values: FloatArray
    vectors: FloatArray


def degrees(S: Graph) -> FloatArray:
    """Return the row sums of S, in float64."""
    return np.asarray(S.sum(axis=1, dtype=np.float64)).ravel()


def normalized_affinity(S: Graph) -> Graph:
    """Return P = D^-1/2 S D^-1/2; the row of an isolated vertex is zero."""
    d = degrees(S)
    scale = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1.0)), 0.0)
    if sparse.issparse(S):
        P = sparse.csr_array(S)
        data = np.repeat(scale, np.diff(P.indptr)) * P.data
        data *= scale[P.indices]  # far faster than two sparse products
        # Copies: scipy may sort the indices in place, and S must not change.
        parts = data, P.indices.copy(), P.indptr.copy()
        return sparse.csr_array(parts, shape=P.shape)
    return scale[:, None] * S * scale


def leading_eigenvectors(
    A: Graph,
    k: int,
    *,
    known: FloatArray | None = None,
    keys: IntArray | None = None,
    dense_up_to: int = DENSE_EIGEN,
) -> Eigen:
    """Return the k largest eigenvalues of a symmetric A, with eigenvectors.

    A is an array, a sparse array or a LinearOperator, which becomes an array.
    ``known`` holds orthonormal eigenvectors to leave out, of eigenvalues around 1.

    Up to ``dense_up_to`` samples, A is decomposed by LAPACK. Otherwise the block
    method of :func:`~lordclust.rounding.subspace.subspace_eigenvectors` is used, from
    a start that ``keys`` determine; it misses no copy of a multiple eigenvalue. BLAS
    uses one thread, and the result does not depend on the number of threads. The sum
    of the cubes of each eigenvector is positive: its sign does not depend on the order
    of the samples.
    """
    n = A.shape[0]
    if isinstance(A, LinearOperator):
        A = A @ np.eye(n)
    A = A.astype(np.float64, copy=False)
    if n <= dense_up_to or 4 * k > n:
        return _dense(A, k, known)
    if not (abs(A).max() > 0):
        return Eigen(np.zeros(k), np.eye(n, k))
    A = sparse.csr_array(A) if sparse.issparse(A) else A
    found = subspace_eigenvectors(A, k, known=known, keys=keys)
    return _largest([Eigen(*found)], k)


def normalized_eigenvectors(S: Graph, k: int) -> Eigen:
    """Return the k largest eigenvalues of D^-1/2 S D^-1/2, with eigenvectors.

    Every connected component has the eigenvalue 1, with D^1/2 times its indicator:
    these are set directly, largest component first. If there are k components with
    edges or more, only the k largest are returned, and the rows of the others are
    zero. Vertices without edges have the eigenvalue 0.
    """
    U = component_vectors(S, k)
    c = U.shape[1]
    if c == k:
        return Eigen(np.ones(k), U)
    n, linked = S.shape[0], np.flatnonzero(degrees(S) > 0)
    alone = np.setdiff1d(np.arange(n), linked)[: k - c]  # of eigenvalue 0
    isolated = np.zeros((n, len(alone)))
    isolated[alone, np.arange(len(alone))] = 1.0
    parts = [Eigen(np.ones(c), U), Eigen(np.zeros(len(alone)), isolated)]
    if len(linked) > c:
        P = normalized_affinity(S)
        P = P if len(linked) == n else P[linked][:, linked]
        # The bits of S do not depend on the order of the samples; those of P do.
        keys = row_keys(S)[linked] if len(linked) > DENSE_EIGEN else None
        count = min(k, len(linked)) - c
        known = U if len(linked) == n else U[linked]
        values, vectors = leading_eigenvectors(P, count, known=known, keys=keys)
        if len(linked) < n:
            every = np.zeros((n, count))
            every[linked] = vectors
            vectors = every
        parts.append(Eigen(values, vectors))
    return _largest(parts, k)


def random_walk_eigenvectors(S: Graph, k: int) -> Eigen:
    """Return the k smallest solutions of (D - S) u = (1 - value) D u.

    These are D^-1/2 times the eigenvectors of D^-1/2 S D^-1/2, with D in units of
    its mean; an isolated vertex counts as one of mean degree.
    """
    values, U = normalized_eigenvectors(S, k)
    d = degrees(S)
    unit = np.where(d > 0, d / max(d.mean(), TINY), 1.0)
    return Eigen(values, (1 / np.sqrt(unit))[:, None] * U)


def plain_eigenvectors(S: Graph, k: int) -> Eigen:
    """Return the k largest eigenvalues of S itself, with eigenvectors."""
    size = float(abs(S).max()) or 1.0
    values, U = leading_eigenvectors(S / size, k)
    return Eigen(values * size, U)


#: The choices of ``laplacian``: functions from S and k to eigenvectors.
LAPLACIANS: dict[str, Callable[[Graph, int], Eigen]] = {
    "sym": normalized_eigenvectors,
    "rw": random_walk_eigenvectors,
    "none": plain_eigenvectors,
}


def components(S: Graph) -> IntArray:
    """Return the connected component of each vertex; a stored zero is not an edge."""
    S = sparse.csr_array(S)
    if not S.data.all():
        S = S.copy()
        S.eliminate_zeros()
    _, labels = connected_components(S, directed=False)
    return np.asarray(labels, dtype=np.int64)


def component_vectors(S: Graph, limit: int) -> FloatArray:
    """Return D^1/2 times the indicator of each component, of length 1.

    The largest components first, at most ``limit``; isolated vertices have no degree
    and are left out.
    """
    d, labels = degrees(S), components(S)
    volumes = np.bincount(labels, weights=d)
    order = np.argsort(-np.bincount(labels), kind="stable")
    order = order[volumes[order] > 0][:limit]
    column = np.full(len(volumes), -1)
    column[order] = np.arange(len(order))
    rows = np.flatnonzero(column[labels] >= 0)
    U = np.zeros((len(d), len(order)))
    U[rows, column[labels[rows]]] = np.sqrt(d[rows] / volumes[labels[rows]])
    return U


def warn_of_components(S: Graph, k: int, who: str) -> None:
    """Issue a warning if the graph has more than k components."""
    count = int(components(S).max()) + 1
    if count > k > 1:
        warn_user(
            f"The graph has {count} connected components, more than n_clusters={k}: "
            f"{who} cannot keep all of them apart. Use a graph with more neighbours, "
            "or raise n_clusters.",
            UserWarning,
        )


def unit_rows(U: FloatArray) -> FloatArray:
    """Return U with rows of length 1; a row that is zero to rounding becomes zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", U, U))
    kept = norms > ROUNDING * norms.max(initial=0.0)
    F = U / np.where(kept, norms, 1.0)[:, None]
    F[~kept] = 0.0
    return np.asarray(F)


def ncut_labels(S: Graph, eigen: Eigen, k: int) -> IntArray:
    """Return the labels of the smallest normalised cut among three roundings.

    ``eigen`` holds at least k eigenvectors of D^-1/2 S D^-1/2, scaled by D^-1/2 or not.
    One rounding starts from a pivoted QR factorisation, two from the vertices of the
    largest and the smallest degree (the latter is left out if n k is large); no
    rounding depends on the order of the samples.
    """
    U = eigen.vectors[:, :k]
    F = unit_rows(U / np.maximum(np.sqrt(np.einsum("ij,ij->j", U, U)), TINY))
    placed = placed_rows(F, k)
    d = degrees(S)[placed]
    if not placed.all():
        U, F = U[placed], F[placed]
    # Rows of equal length would tie as pivots, and their order would decide.
    found = [rotate(F, pivoted_qr_labels(U), tol=EPS).labels]
    ends = (d.argmax(), d.argmin())[: 1 if eigen.vectors.size >= LARGE else 2]
    found += [discretize(F, int(i)).labels for i in ends]
    every = [labels_of_all(labels, placed) for labels in found]
    return min(every, key=lambda labels: ncut_value(S, labels, k))


def ncut_value(S: Graph, labels: IntArray, k: int) -> float:
    """Return the normalised cut: the sum over clusters of cut / volume.

    A cluster without edges (or empty) counts 1, the largest possible value.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> ncut_value(S, np.array([0, 0, 1]), 2)
    1.3333333333333333
    """
    d = degrees(S)
    Y = sparse.csr_array((np.ones(len(d)), labels, np.arange(len(d) + 1)), (len(d), k))
    inside = np.asarray((Y * (S @ Y)).sum(axis=0)).ravel()
    volume = np.bincount(labels, weights=d, minlength=k)
    cut = np.where(volume > 0, volume - inside, 1.0)
    return float((cut / np.where(volume > 0, volume, 1.0)).sum())


def modularity(S: Graph, rows: IntArray, columns: IntArray, k: int) -> float:
    """Return the share of S inside clusters, minus the share expected by degrees.

    ``rows`` and ``columns`` are the labels of both sides of S; they are the same if S
    holds the similarities within one set of samples. Negative entries count as 0.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.kron(np.eye(2), np.ones((2, 2)))
    >>> modularity(S, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2)
    0.5
    """
    S = sparse.csr_array(S).maximum(0)
    A, B = (
        sparse.csr_array((np.ones(len(y)), y, np.arange(len(y) + 1)), (len(y), k))
        for y in (rows, columns)
    )
    mass = (A.T @ S @ B).toarray()
    total = float(mass.sum())
    if total == 0:
        return 0.0
    expected = mass.sum(axis=1) @ mass.sum(axis=0)
    return float(mass.trace() / total - expected / total**2)


@one_blas_thread()
def _dense(A: Graph, k: int, known: FloatArray | None) -> Eigen:
    """Return the k largest by LAPACK."""
    n = A.shape[0]
    A = A.toarray() if sparse.issparse(A) else A
    if known is not None and known.shape[1]:
        # Far below all others, so that they are never among the largest.
        A = A - 4 * max(1.0, np.abs(A).sum(axis=1).max()) * (known @ known.T)
    values, U = eigh(A, subset_by_index=[n - k, n - 1])
    return _largest([Eigen(values, U)], k)


def _largest(parts: list[Eigen], k: int) -> Eigen:
    """Return the k largest eigenvalues of several sets, in decreasing order."""
    values = np.concatenate([part.values for part in parts])
    order = np.argsort(-values, kind="stable")[:k]
    U = np.empty((len(parts[0].vectors), len(order)))
    for rows in row_blocks(*U.shape):
        U[rows] = np.hstack([part.vectors[rows] for part in parts])[:, order]
    U *= np.where(np.einsum("ij,ij,ij->j", U, U, U) < 0, -1.0, 1.0)
    return Eigen(values[order], U)
