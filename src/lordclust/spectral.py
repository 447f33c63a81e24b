"""Leading eigenvectors of a graph, and the embeddings made of them."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from lordclust._typing import FloatArray, Graph, IntArray

#: Up to this many samples a dense eigendecomposition is quick, and misses nothing.
DENSE_EIGEN = 400


class Eigen(NamedTuple):
    """Eigenvalues, largest first, and a column for each."""

    values: FloatArray
    vectors: FloatArray


def degrees(S: Graph) -> FloatArray:
    """Return the row sums of S."""
    return np.asarray(S.sum(axis=1), dtype=np.float64).ravel()


def normalized_affinity(S: Graph) -> Graph:
    """Return P = D^-1/2 S D^-1/2; the row of an isolated vertex is zero.

    Examples
    --------
    >>> import numpy as np
    >>> normalized_affinity(np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    scale = _inverse_roots(degrees(S))
    if sparse.issparse(S):
        D = sparse.diags_array(scale)
        return sparse.csr_array(D @ S @ D)
    return scale[:, None] * S * scale


def leading_eigenvectors(
    A: Any, k: int, *, known: FloatArray | None = None, dense_up_to: int = DENSE_EIGEN
) -> Eigen:
    """Return the k largest eigenvalues of a symmetric A, with eigenvectors.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator, shape (n, n)
        Symmetric.
    k : int
        How many, from 1 to n.
    known : ndarray of shape (n, c), optional
        Orthonormal eigenvectors to leave out, of eigenvalues around 1.
    dense_up_to : int, default=400
        Size up to which A is decomposed densely. Raise it for an A with eigenvalues
        that are equal, or nearly: Lanczos' method may miss a copy.

    Returns
    -------
    eigen : Eigen

    Notes
    -----
    Small matrices are decomposed densely, larger ones by Lanczos' method from a
    fixed vector, towards the large end: no factorisation is needed.
    """
    n = A.shape[0]
    whole = n <= dense_up_to or 4 * k > n
    if whole and not isinstance(A, LinearOperator):
        return _dense(A, k, known)
    if known is not None and known.shape[1]:
        A = _deflated(A, known)
    v0 = np.random.default_rng(0).standard_normal(n)
    ncv = min(n, max(2 * k + 20, 40))
    try:
        values, U = eigsh(A, k, which="LA", v0=v0, ncv=ncv, tol=1e-8)
    except ArpackNoConvergence:
        values, U = eigsh(A, k, which="LA", v0=v0, ncv=min(n, 4 * ncv), maxiter=100 * n)
    order = np.argsort(-values)
    return Eigen(values[order], U[:, order])


def normalized_eigenvectors(S: Graph, k: int) -> Eigen:
    """Return the k largest eigenvalues of D^-1/2 S D^-1/2, with eigenvectors.

    Every connected component has the eigenvalue 1, with D^1/2 times its indicator:
    these are written down, largest component first, and not searched for (Lanczos'
    method can miss copies of an eigenvalue). If there are k components or more, the
    k largest are all that is returned.
    """
    P = normalized_affinity(S)
    U = component_vectors(S)[:, :k]
    c = U.shape[1]
    if c == k:
        return Eigen(np.ones(k), U)
    rest = leading_eigenvectors(P, k - c, known=U)
    values = np.concatenate([np.ones(c), rest.values])
    return Eigen(values, np.hstack([U, rest.vectors]))


def component_vectors(S: Graph) -> FloatArray:
    """Return D^1/2 times the indicator of each component, of length 1.

    Largest component first; isolated vertices have no degree and are left out.
    """
    d = degrees(S)
    _, labels = connected_components(sparse.csr_array(S), directed=False)
    volumes = np.bincount(labels, weights=d)
    sizes = np.bincount(labels)
    order = np.lexsort((np.arange(len(sizes)), -sizes))
    order = order[volumes[order] > 0]
    U = np.zeros((len(d), len(order)))
    for column, component in enumerate(order):
        rows = labels == component
        U[rows, column] = np.sqrt(d[rows] / volumes[component])
    return U


def unit_rows(U: FloatArray) -> FloatArray:
    """Return U with rows of length 1; a zero row stays zero.

    Examples
    --------
    >>> import numpy as np
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    norms = np.linalg.norm(U, axis=1, keepdims=True)
    return np.asarray(U / np.where(norms > 0, norms, 1.0))


def njw_embedding(S: Graph, k: int) -> FloatArray:
    """Return the embedding of Ng, Jordan and Weiss: leading eigenvectors, unit rows.

    Parameters
    ----------
    S : ndarray or sparse array, shape (n, n)
        Nonnegative similarities.
    k : int
        Columns.

    Returns
    -------
    T : ndarray of shape (n, k)
    """
    return unit_rows(normalized_eigenvectors(S, k).vectors)


def ncut_value(S: Graph, labels: IntArray, k: int) -> float:
    """Return the normalised cut: the sum over clusters of cut / volume.

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
    safe = np.where(volume > 0, volume, 1.0)
    return float(((volume - inside) / safe).sum())


def _inverse_roots(d: FloatArray) -> FloatArray:
    """Return d^-1/2, and 0 where d is not positive."""
    positive = d > 0
    return np.where(positive, 1 / np.sqrt(np.where(positive, d, 1.0)), 0.0)


def _dense(A: Any, k: int, known: FloatArray | None) -> Eigen:
    """Return the k largest by LAPACK."""
    A = A.toarray() if sparse.issparse(A) else A
    n = A.shape[0]
    if known is not None and known.shape[1]:
        # Far below all others, so that they are never among the largest.
        A = A - 4 * max(1.0, np.abs(A).sum(axis=1).max()) * (known @ known.T)
    values, U = eigh(A, subset_by_index=[n - k, n - 1])
    return Eigen(values[::-1], U[:, ::-1])


def _deflated(A: Any, known: FloatArray) -> LinearOperator:
    """Return A - 2 U U': the known eigenvalues, 1, become -1."""

    def product(x: FloatArray) -> FloatArray:
        return np.asarray(A @ x - 2 * (known @ (known.T @ x)))

    return LinearOperator(A.shape, matvec=product, matmat=product, dtype=np.float64)
