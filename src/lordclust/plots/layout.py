"""Two coordinates for every sample, for displays and reports."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import ArrayLike, FloatArray, Graph, Samples
from lordclust._core.validation import to_array
from lordclust.rounding.spectral import random_walk_eigenvectors

#: Largest number of eigenvectors that the layout of a graph combines.
EIGENVECTORS = 20


class Layout(NamedTuple):
    """Coordinates of the samples, and their description."""

    coordinates: FloatArray
    name: str = ""
    note: str = ""
    axis_names: tuple[str, str] = ("", "")


def make_layout(
    n: int,
    k: int,
    *,
    X: Samples | None = None,
    S: Graph | None = None,
    coordinates: ArrayLike | None = None,
) -> Layout | None:
    """Return the layout of n samples: as given, by X or by S; None without these."""
    if coordinates is not None:
        found = to_array(coordinates, "coordinates")
        if found.shape != (n, 2):
            raise ValueError(
                f"coordinates must have shape ({n}, 2), one row per sample, got "
                f"{found.shape}. Pass for example a UMAP or t-SNE embedding."
            )
        return Layout(np.asarray(found, dtype=float))
    name, given = ("S", S) if X is None else ("X", X)
    if given is None:
        return None
    given = given if sparse.issparse(given) else to_array(given, name)
    if len(given.shape) != 2 or given.shape[0] != n:
        raise ValueError(
            f"{name} must have a row for each of the {n} fitted samples, got shape "
            f"{given.shape}. Pass the {name} that the model was fitted with."
        )
    return of_graph(given, k) if X is None else of_features(given)


def of_features(X: Samples) -> Layout:
    """Return X itself if it has up to two columns, else two principal components."""
    n, d = X.shape
    if d > 2:
        axis_names = "first principal component", "second"
        note = "their first two principal components"
        return Layout(principal(X), "Features", note, axis_names)
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    note = "their two features" if d == 2 else "their feature"
    return Layout(np.column_stack([X, np.zeros((n, 2 - d))]), "Features", note)


def of_graph(S: Graph, k: int) -> Layout:
    """Return a layout in which similar samples are close to each other.

    The principal components of the ranks in the leading eigenvectors of D^-1 S. The
    eigenvectors themselves use most of the plot for a few outliers, and put each
    component of a disconnected graph on one point. Negative similarities count as 0.
    """
    S = S.maximum(0) if sparse.issparse(S) else np.maximum(S, 0)
    count = min(max(k, 3), EIGENVECTORS, S.shape[0])
    U = random_walk_eigenvectors(S, count).vectors
    ranks = np.argsort(np.argsort(U, axis=0, kind="stable"), axis=0)
    places = principal(ranks / len(ranks))
    return Layout(
        places, "Graph", "the eigenvectors of the graph", ("spectral layout", "")
    )


def principal(X: Samples) -> FloatArray:
    """Return the first two principal components, the second 0 if there is only one."""
    from sklearn.decomposition import PCA

    if sparse.issparse(X) and min(X.shape) > 2:
        pca = PCA(2, svd_solver="arpack", random_state=0)
    else:
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
        pca = PCA(min(2, *X.shape), random_state=0)
    found = pca.fit_transform(X)
    return np.column_stack([found, np.zeros((len(found), 2 - found.shape[1]))])
