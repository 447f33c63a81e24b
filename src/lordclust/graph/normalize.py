"""Operations on a similarity S, dense or sparse."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph
from lordclust._core.validation import check_square


@dataclass(frozen=True)
class ComponentReport:
    """Connectivity of a graph.

    Parameters
    ----------
    n_components : int
        Connected components, isolated vertices included.
    n_isolated : int
        Vertices without an edge to another vertex.

    Examples
    --------
    >>> ComponentReport(n_components=2, n_isolated=1).n_isolated
    1
    """

    n_components: int
    n_isolated: int


def symmetrize(S: Graph) -> Graph:
    """Return (S + S') / 2.

    Parameters
    ----------
    S : array-like or sparse, shape (n, n)
        Any square matrix.

    Returns
    -------
    S : ndarray or scipy.sparse.csr_array, shape (n, n)

    Examples
    --------
    >>> symmetrize([[0.0, 1.0], [0.0, 0.0]])
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    S = check_square(S)
    half = S.dtype.type(0.5) * S
    return half + half.T


def scale_to_unit_sum(S: Graph, weight: FloatArray | None = None) -> Graph:
    """Return S / (1'S1), whose entries sum to one as those of VV' do.

    Parameters
    ----------
    S : ndarray or sparse, shape (n, n)
        Similarity with a positive sum.
    weight : ndarray of shape (n,), optional
        Weights w of the samples; S is then divided by w'Sw.

    Returns
    -------
    S : ndarray or sparse, shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> scale_to_unit_sum(np.array([[0.0, 2.0], [2.0, 0.0]]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    with np.errstate(over="ignore"):
        total = float(S.sum() if weight is None else weight @ (S @ weight))
    if not 0.0 < total < np.inf:
        raise ValueError(
            "S must have a positive and finite sum to be scaled to sum 1, got "
            f"{total:g}. Use an affinity with positive similarities, or divide S by "
            "its largest entry."
        )
    return S / total


def component_report(S: Graph) -> ComponentReport:
    """Return the numbers of connected components and isolated vertices of S.

    Parameters
    ----------
    S : array-like or sparse, shape (n, n)
        A nonzero entry is an edge; the diagonal does not count.

    Returns
    -------
    report : ComponentReport

    Examples
    --------
    >>> component_report([[0, 1, 0], [1, 0, 0], [0, 0, 5]])
    ComponentReport(n_components=2, n_isolated=1)
    """
    from scipy.sparse.csgraph import connected_components

    edges = sparse.coo_array(S)
    off = (edges.row != edges.col) & (edges.data != 0)
    row, col = edges.row[off], edges.col[off]
    graph = sparse.coo_array((np.ones(row.size), (row, col)), shape=edges.shape)
    n_components, _ = connected_components(graph, directed=False)
    touched = np.zeros(edges.shape[0], dtype=bool)
    touched[row] = touched[col] = True
    return ComponentReport(int(n_components), int(np.count_nonzero(~touched)))
