"""Leading eigenvectors of a graph, and the embeddings derived from them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.warn import warn_user

#: Up to this many samples a dense eigendecomposition is fast, and misses nothing.
DENSE_EIGEN = 400
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
        D = sparse.diags_array(scale)
        return sparse.csr_array(D @ S @ D)
    return scale[:, None] * S * scale


def leading_eigenvectors(
    A: Graph, k: int, *, known: FloatArray | None = None, dense_up_to: int = DENSE_EIGEN
) -> Eigen:
    """Return the k largest eigenvalues of a symmetric A, with eigenvectors.

    A is an array, a sparse array or a LinearOperator. ``known`` holds orthonormal
    eigenvectors to leave out, of eigenvalues around 1.

    Up to ``dense_up_to`` samples, A is decomposed densely. Otherwise Lanczos' method is
    used from a fixed vector, towards the large end: no factorisation is needed. It may
    miss copies of a multiple eigenvalue, so the remainder is searched again from
    another vector, with a looser tolerance: a missed copy shows as an eigenvalue above
    the k-th.
    """
    n = A.shape[0]
    if not isinstance(A, LinearOperator):
        A = A.astype(np.float64, copy=False)
    if n <= dense_up_to or 4 * k > n:
        return _dense(A, k, known)
    if not isinstance(A, LinearOperator) and not (abs(A).max() > 0):
        # Lanczos' method cannot start.
        return Eigen(np.zeros(k), np.eye(n, k))
    if known is not None and known.shape[1]:
        A = _deflated(A, known, np.full(known.shape[1], 2.0))
    found = _lanczos(A, k, 0)
    again, v = (np.random.default_rng(seed).standard_normal(n) for seed in (1, 2))
    typical = np.linalg.norm(A @ v) / np.linalg.norm(v)
    for seed in range(3, k + 2):  # any copy of the last one will do
        # Move the eigenvalues found below all others.
        high, low = found.values[0], found.values[-1]
        floor = low - 2 * max(typical, abs(high), abs(low), TINY)
        rest = _deflated(A, found.vectors, found.values - floor)
        spread = (high - low) / max(abs(high), abs(low), TINY)
        # A tighter tolerance if the eigenvalues are close.
        missed = eigsh(
            rest, 1, which="LA", v0=again, ncv=min(n, 20), return_eigenvectors=False,
            tol=min(max(0.05 * spread, 1e-6), 1e-3),
        )[0]  # fmt: skip
        size = max(
            np.linalg.norm(rest @ v) / np.linalg.norm(v), abs(high), abs(low), TINY
        )
        if not missed > low + 1e-7 * size:
            break
        found = _largest([found, _lanczos(rest, k, seed)], k)
    return found


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
        rest = leading_eigenvectors(P, min(k, len(linked)) - c, known=U[linked])
        vectors = np.zeros((n, len(rest.values)))
        vectors[linked] = rest.vectors
        parts.append(Eigen(rest.values, vectors))
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
    values, U = leading_eigenvectors(S / size, k)  # ARPACK's tolerance has a floor
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
    norms = np.linalg.norm(U, axis=1, keepdims=True)
    kept = norms > ROUNDING * norms.max(initial=0.0)
    return np.where(kept, U / np.where(kept, norms, 1.0), 0.0)


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


def _dense(A: Graph, k: int, known: FloatArray | None) -> Eigen:
    """Return the k largest by LAPACK."""
    n = A.shape[0]
    if isinstance(A, LinearOperator):
        A = A @ np.eye(n)
    A = A.toarray() if sparse.issparse(A) else A
    if known is not None and known.shape[1]:
        # Far below all others, so that they are never among the largest.
        A = A - 4 * max(1.0, np.abs(A).sum(axis=1).max()) * (known @ known.T)
    values, U = eigh(A, subset_by_index=[n - k, n - 1])
    return _largest([Eigen(values, U)], k)


def _lanczos(A: Graph, k: int, seed: int) -> Eigen:
    """Return the k largest by ARPACK, with a larger space if it converges slowly."""
    n = A.shape[0]
    ncv = min(n, max(2 * k + 20, 40))
    start = np.random.default_rng(seed).standard_normal(n)
    solve = partial(eigsh, A, k, which="LA", v0=start, tol=1e-8)
    try:
        values, U = solve(ncv=ncv, maxiter=100)
    except ArpackNoConvergence:  # close eigenvalues, as in a long thin graph
        values, U = solve(ncv=min(n, 4 * ncv))
    return _largest([Eigen(values, U)], k)


def _deflated(A: Graph, U: FloatArray, drop: FloatArray) -> LinearOperator:
    """Return A - U diag(drop) U': the eigenvalues of U are lower by drop."""
    return LinearOperator(
        A.shape, matvec=lambda x: A @ x - U @ (drop * (U.T @ x)), dtype=np.float64
    )


def _largest(parts: list[Eigen], k: int) -> Eigen:
    """Return the k largest eigenvalues of several sets, in decreasing order."""
    values = np.concatenate([part.values for part in parts])
    U = np.hstack([part.vectors for part in parts])
    order = np.argsort(-values, kind="stable")[:k]
    return Eigen(values[order], np.ascontiguousarray(U[:, order]))
