"""Two coordinates for every sample."""

from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph
from lordclust._core.validation import to_array
from lordclust.rounding.spectral import random_walk_eigenvectors


def plane(X: Any, n: int) -> tuple[FloatArray, tuple[str, str]]:
    """Return X itself if it has two columns, else its first principal components."""
    X = X if sparse.issparse(X) else to_array(X, "X")
    if X.ndim != 2 or X.shape[0] != n:
        raise ValueError(
            f"X must have a row for each of the {n} fitted samples, got shape "
            f"{X.shape}. Pass the X that the model was fitted with."
        )
    if X.shape[1] <= 2:
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
        return np.column_stack([X, np.zeros((n, 2 - X.shape[1]))]), ("", "")
    return principal(X), ("first principal component", "second")


def principal(X: Any) -> FloatArray:
    """Return the first two principal components, their signs settled by the data."""
    from sklearn.decomposition import PCA

    solver = "arpack" if sparse.issparse(X) else "auto"
    return np.asarray(PCA(2, svd_solver=solver, random_state=0).fit_transform(X))


def spectral_plane(S: Graph, k: int) -> FloatArray:
    """Return two coordinates in which samples that are similar lie close.

    The principal components of the ranks in the leading eigenvectors of D^-1 S. The
    eigenvectors themselves give most of the picture to a few outliers, and one point
    to each piece of a graph that falls apart.
    """
    S = S.maximum(0) if sparse.issparse(S) else np.maximum(S, 0)
    U = random_walk_eigenvectors(S, min(max(k, 3), S.shape[0])).vectors
    ranks = np.argsort(np.argsort(U, axis=0, kind="stable"), axis=0)
    return principal(ranks / len(ranks))


def given_plane(coordinates: Any, n: int) -> FloatArray:
    """Return coordinates as an array of shape (n, 2)."""
    found = to_array(coordinates, "coordinates")
    if found.shape != (n, 2):
        raise ValueError(
            f"coordinates must have shape ({n}, 2), a place for each sample, got "
            f"{found.shape}. Pass for example a UMAP or t-SNE embedding."
        )
    return np.asarray(found, dtype=float)
