"""Affinities by name, object or function: one door from X to a checked S."""

from collections.abc import Callable
from typing import Any

from sklearn.base import clone

from lordclust._core.typing import Graph
from lordclust._core.validation import check_similarity, unknown_name
from lordclust.graph.kernel import self_tuning_kernel
from lordclust.graph.knn import KNNGraph


def _precomputed(X: Any) -> Any:
    """Return X itself, which already holds the similarities."""
    return X


#: What ``affinity="name"`` stands for: a function from X to S.
AFFINITIES: dict[str, Callable[[Any], Any]] = {
    "knn": KNNGraph(),
    "self_tuning": self_tuning_kernel,
    "precomputed": _precomputed,
}


def make_affinity(
    affinity: Any,
    X: Any,
    *,
    nonnegative: bool | str = False,
    callback: Callable[[float], Any] | None = None,
) -> Graph:
    """Return the checked similarity S of the samples in X.

    Parameters
    ----------
    affinity : {"knn", "self_tuning", "precomputed"}, KNNGraph, or callable
        ``"knn"`` builds the default :class:`KNNGraph`, ``"self_tuning"`` the full
        :func:`self_tuning_kernel`, ``"precomputed"`` takes X as S, and a callable
        (a ``KNNGraph(10)`` too) is given X and returns S.
    X : array-like or sparse, shape (n, d), or (n, n) when precomputed
        Samples, or their similarities.
    nonnegative : bool or str, default=False
        Refuse a negative similarity; a string names the method that needs this.
    callback : callable, optional
        Given to :meth:`KNNGraph.build`, to hear how much is done.

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


def build_affinity(
    build: Any,
    X: Any,
    *,
    nonnegative: bool | str = False,
    callback: Callable[[float], Any] | None = None,
) -> Graph:
    """Return the checked S that a function from :func:`find_affinity` makes of X."""
    S = build.build(X, callback=callback) if type(build) is KNNGraph else build(X)
    return check_similarity(S, nonnegative=nonnegative)


def find_affinity(affinity: Any) -> Any:
    """Return the function from X to S that affinity stands for.

    A KNNGraph keeps what it saw of X, so that the one given is left alone.

    Examples
    --------
    >>> find_affinity("knn")
    KNNGraph()
    """
    found = _named(affinity)
    return clone(found) if type(found) is KNNGraph else found


def _named(affinity: Any) -> Callable[[Any], Any]:
    """Return what a name stands for, or the function itself."""
    if isinstance(affinity, str):
        if affinity not in AFFINITIES:
            raise unknown_name("affinity", affinity, AFFINITIES)
        return AFFINITIES[affinity]
    if isinstance(affinity, type) or not callable(affinity):
        raise TypeError(
            f"affinity must be one of {', '.join(AFFINITIES)}, a KNNGraph() or a "
            f"function from X to S, got {affinity!r}. Pass an object, not its class."
        )
    found: Callable[[Any], Any] = affinity
    return found
