"""Affinities by name, object or function: from X to a checked S."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from sklearn.base import clone

from lordclust._core.typing import FloatArray, Graph, IntArray, Samples
from lordclust._core.validation import check_similarity, unknown_name
from lordclust.graph.kernel import gaussian_kernel, self_tuning_kernel
from lordclust.graph.knn import KNNGraph, Progress

#: A function from X to S.
Affinity: TypeAlias = Callable[[Samples], Graph]
#: Samples whose distances are compared, and the fewest that tell distances apart.
TRIANGLES, FEWEST = 50, 10
#: The least share of rows that tells distances from similarities.
MOSTLY = 0.9


def _precomputed(X: Graph) -> Graph:
    """Return X itself, which already holds the similarities."""
    if are_distances(X):
        raise ValueError(
            "X holds distances, not similarities: its diagonal is 0, and smaller "
            "entries are between samples that are more alike. Pass "
            'affinity=KNNGraph(metric="precomputed") for distances (from '
            "lordclust.graph), or larger numbers for samples that are more alike."
        )
    return X


def are_distances(S: Graph) -> bool:
    """Return whether a dense matrix holds distances, or squared ones.

    The diagonal is 0, and no path through a third sample is shorter, of some samples.
    Among similarities a pair that is alike violates this, unless all pairs are equally
    alike up to a factor of 4. Then, as in many dimensions, the rows are compared: two
    samples have similar rows if they are near, so those with the smallest entry if the
    entries are distances, and those with the largest one if they are similarities.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(10.0)
    >>> are_distances(abs(x[:, None] - x)), are_distances(np.eye(10))
    (True, False)
    """
    if not isinstance(S, np.ndarray) or S.ndim != 2 or S.shape[0] != S.shape[1]:
        return False
    if S.dtype.kind not in "fiu" or len(S) < FEWEST or S.diagonal().any():
        return False
    rows = np.linspace(0, len(S) - 1, min(len(S), TRIANGLES), dtype=int)
    D = S[np.ix_(rows, rows)].astype(np.float64)
    some = D[D > 0]
    if not (D >= 0).all() or not len(some):
        return False
    if some.max() <= 4 * some.min():
        return _small_is_near(S, rows)
    D = np.sqrt(D / some.max())  # squared distances become distances
    return all((D[:, [k]] + D[k] + 1e-6 >= D).all() for k in range(len(D)))


def _small_is_near(S: FloatArray, rows: IntArray) -> bool:
    """Return whether rows are nearly always more like the row of their smallest entry.

    More than like the row of their largest entry, both outside the diagonal.
    """
    nearer = 0
    for i in rows:
        row = np.where(np.arange(len(S)) == i, np.nan, S[i])
        small, large = np.nanargmin(row), np.nanargmax(row)
        others = np.isin(np.arange(len(S)), (i, small, large), invert=True)
        apart = [np.abs(S[i] - S[j])[others].sum() for j in (small, large)]
        nearer += bool(apart[0] < apart[1])
    return nearer >= MOSTLY * len(rows)


#: The functions that ``affinity="name"`` stands for.
AFFINITIES: dict[str, Affinity] = {
    "knn": KNNGraph(),
    "nearest_neighbors": KNNGraph(),
    "self_tuning": self_tuning_kernel,
    "rbf": gaussian_kernel,
    "precomputed": _precomputed,
    "precomputed_nearest_neighbors": KNNGraph(metric="precomputed"),
}


def make_affinity(
    affinity: str | Affinity,
    X: Samples,
    *,
    nonnegative: bool | str = False,
    callback: Progress | None = None,
) -> Graph:
    """Return the checked similarity S of the samples in X.

    Parameters
    ----------
    affinity : str, KNNGraph, or callable
        ``"knn"`` or ``"nearest_neighbors"`` builds the default :class:`KNNGraph`,
        ``"self_tuning"`` the full :func:`self_tuning_kernel`, ``"rbf"`` the
        :func:`gaussian_kernel`; ``"precomputed"`` takes X as S,
        ``"precomputed_nearest_neighbors"`` as a sparse graph of distances; and a
        callable (such as ``KNNGraph(10)``) is called with X and returns S.
    X : array-like or sparse, shape (n, d), or (n, n) when precomputed
        Samples, or their similarities.
    nonnegative : bool or str, default=False
        Raise an error if a similarity is negative; a string names the method that
        requires this.
    callback : callable, optional
        Passed to :meth:`KNNGraph.build`, which reports its progress to it.

    Returns
    -------
    S : ndarray or scipy.sparse.csr_array, shape (n, n)

    Examples
    --------
    >>> from lordclust.graph import linear_kernel
    >>> make_affinity(linear_kernel, [[1.0], [2.0]])
    array([[1., 2.],
           [2., 4.]])
    """
    build = find_affinity(affinity)
    return build_affinity(build, X, nonnegative=nonnegative, callback=callback)


def named_affinity(affinity: str | Affinity | None, X: Samples) -> str | Affinity:
    """Return the affinity; by default "precomputed" if X is square, else "knn"."""
    if affinity is not None:
        return affinity
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return "knn" if len(shape) == 2 and shape[0] != shape[1] else "precomputed"


def build_affinity(
    build: Affinity,
    X: Samples,
    *,
    nonnegative: bool | str = False,
    callback: Progress | None = None,
) -> Graph:
    """Return the checked S that a function from :func:`find_affinity` computes."""
    if type(build) is KNNGraph:
        return build.build(X, callback=callback)  # symmetric, nonnegative, canonical
    return check_similarity(build(X), nonnegative=nonnegative)


def find_affinity(
    affinity: str | Affinity,
    n_neighbors: int | None = None,
    metric: str = "euclidean",
    n_jobs: int | None = -1,
) -> Affinity:
    """Return the function from X to S that ``affinity`` stands for.

    The other parameters are those of the graph of neighbours that a name stands for. A
    KNNGraph stores its recall, so a copy is returned and the original is unchanged.
    """
    named, graph = isinstance(affinity, str), affinity
    if isinstance(affinity, str):
        if affinity not in AFFINITIES:
            raise unknown_name("affinity", affinity, AFFINITIES)
        affinity = AFFINITIES[affinity]
    if isinstance(affinity, type) or not callable(affinity):
        raise TypeError(
            f"affinity must be one of {', '.join(AFFINITIES)}, a KNNGraph() or a "
            f"function from X to S, got {affinity!r}. Pass an object, not its class."
        )
    own = getattr(affinity, "metric", None)
    for name, value, free in (
        ("metric", metric, own == "euclidean"),
        ("n_neighbors", n_neighbors, own is not None),
    ):
        if value not in (None, "euclidean") and not (named and free):
            raise ValueError(
                f'{name}={value!r} is for affinity="knn", got affinity={graph!r}. '
                f"Leave one of them out, or pass affinity=KNNGraph({name}={value!r})."
            )
    if type(affinity) is not KNNGraph:
        return affinity
    found: KNNGraph = clone(affinity)
    if named:
        metric = metric if found.metric == "euclidean" else found.metric
        found.set_params(metric=metric, n_neighbors=n_neighbors, n_jobs=n_jobs)
    return found
