"""X or S -> a place in the plane for each sample."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD

from lordclust._core.typing import FloatArray, Graph
from lordclust.rounding.spectral import random_walk_eigenvectors


class Layout(NamedTuple):
    """Places of the samples, and what they are."""

    name: str
    note: str
    places: FloatArray


def layout(X: Any, S: Graph | None) -> Layout | None:
    """Return places by X, or by S without it: eigenvectors show few groups at once."""
    if X is not None:
        return Layout("Features", "two principal components", of_features(X))
    if S is not None:
        return Layout("Graph", "two eigenvectors of the graph", of_graph(S))
    return None


def of_features(X: Any) -> FloatArray:
    """Return the first two principal components of X; sparse X is not centred.

    Examples
    --------
    >>> of_features([[0.0], [3.0], [6.0]]).round(6) + 0.0
    array([[-3.,  0.],
           [ 0.,  0.],
           [ 3.,  0.]])
    """
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    wanted = min(2, *X.shape)
    if sparse.issparse(X) and X.shape[1] > 2:
        reduce: Any = TruncatedSVD(2, random_state=0)
    else:
        X = X.toarray() if sparse.issparse(X) else X
        reduce = PCA(wanted, random_state=0)
    return _two_columns(reduce.fit_transform(X))


def of_graph(S: Graph) -> FloatArray:
    """Return the second and third eigenvector of the random walk on S.

    Dissimilar samples, of negative similarity, count as not linked.
    """
    S = S.maximum(0) if sparse.issparse(S) else np.maximum(S, 0)
    return _two_columns(random_walk_eigenvectors(S, min(3, S.shape[0])).vectors[:, 1:])


def _two_columns(places: FloatArray) -> FloatArray:
    """Return exactly two columns, zero where there are fewer."""
    out = np.zeros((len(places), 2))
    out[:, : places.shape[1]] = places[:, :2]
    return out
