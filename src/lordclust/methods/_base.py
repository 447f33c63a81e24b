"""Base classes of all estimators: input, restarts, and fitted attributes."""

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from lordclust._core.blas import serial_if_small
from lordclust._core.typing import FloatArray, Graph, IntArray, Samples, Seed
from lordclust._core.validation import (
    check_columns,
    check_count,
    check_dense_size,
    check_n_clusters,
    check_positive,
    check_range,
    check_similarity,
    is_auto,
    narrowed,
)
from lordclust._core.warn import warn_user
from lordclust.graph import KNNGraph
from lordclust.graph.affinity import Affinity, find_affinity
from lordclust.graph.gower import Columns
from lordclust.methods import _callbacks as callbacks
from lordclust.methods._docstrings import completed
from lordclust.methods._new_samples import NewSamples
from lordclust.methods._saving import SavedModel
from lordclust.result import Run
from lordclust.rounding.labels import canonical_order, kmeans_labels
from lordclust.solver.arrays import from_tensor

LOG = logging.getLogger("lordclust.fit")

Rngs = list[np.random.Generator]
#: The metric of samples with missing values.
NAN = "nan_euclidean"


class Clusterer(NewSamples, SavedModel, ClusterMixin, BaseEstimator):
    """Base class that checks the input of every estimator."""

    #: Whether a larger objective is better.
    maximises: ClassVar[bool] = False
    #: Whether the method works on a similarity S, computed by ``affinity``, or on X.
    takes_graph: ClassVar[bool] = True
    #: Whether S must be nonnegative.
    nonnegative: ClassVar[bool] = True
    #: Whether X may be sparse; a sparse S always may.
    takes_sparse: ClassVar[bool] = True

    n_clusters: int

    def __init_subclass__(cls, *, texts: type | None = None, **kwargs: Any) -> None:
        """Complete the docstring from the bases, and from the class ``texts``."""
        super().__init_subclass__(**kwargs)
        others = [*cls.__mro__[1:], *([] if texts is None else [texts])]
        cls.__doc__ = completed(cls.__doc__, [one.__doc__ or "" for one in others])

    def _is_precomputed(self) -> bool:
        """Return whether X holds similarities, or distances for a KNNGraph."""
        affinity = getattr(self, "affinity", None)
        named = isinstance(affinity, str) and affinity.startswith("precomputed")
        return named or self._has_metric("precomputed")

    def _has_metric(self, name: str) -> bool:
        """Return whether the graph of neighbours has this metric."""
        affinity = getattr(self, "affinity", None)
        metric = getattr(affinity, "metric", getattr(self, "metric", None))
        return isinstance(metric, str) and metric == name

    def _affinity(self) -> Affinity:
        """Return the function from X to S."""
        build = find_affinity(
            self.affinity,
            getattr(self, "n_neighbors", None),
            getattr(self, "metric", "euclidean"),
            getattr(self, "n_jobs", -1),
        )
        if isinstance(build, KNNGraph) and build.metric == "gower":
            build.set_params(metric="manhattan")  # of the encoded samples
        return build

    def _check_X(self, X: Graph, *, reset: bool = True) -> Graph:
        """Return X after scikit-learn's validation."""
        if self._has_metric("gower"):
            return self._encoded(X, reset)
        accept: list[str] | str | bool = "csr" if self.takes_sparse else False
        if self._is_precomputed():
            accept = ["csr", "csc", "coo"]
        X = X if isinstance(X, np.ndarray) else from_tensor(X)
        try:
            with np.errstate(invalid="ignore"):  # it adds all numbers up
                found = validate_data(
                    self, X, accept_sparse=accept, accept_large_sparse=True,
                    dtype="numeric", reset=reset, ensure_min_samples=2 if reset else 1,
                    copy=reset,  # what is kept must not change with the caller's array
                    ensure_all_finite="allow-nan" if self._has_metric(NAN) else True,
                )  # fmt: skip
        except (TypeError, ValueError) as error:
            check_columns(X)
            if "contains NaN" not in str(error):
                raise
            hint = ', or pass metric="nan_euclidean"' if hasattr(self, "metric") else ""
            raise ValueError(
                f"{str(error).splitlines()[0]} Fill in missing values, for example "
                f"with sklearn.impute.SimpleImputer{hint}."
            ) from None
        if found.dtype.kind in "OMm":  # of polars, or dates alone
            check_columns(X)
        csr = sparse.issparse(found) and found.format == "csr"
        return narrowed(found) if csr else found

    def _encoded(self, X: Samples, reset: bool) -> FloatArray:
        """Return numbers and categories in the form in which Gower compares them."""
        X = X if hasattr(X, "shape") else np.array(X, dtype=object)
        validate_data(self, X, skip_check_array=True, reset=reset)
        if reset:
            categorical = getattr(self.affinity, "categorical", None)
            self._columns = Columns.of(X, categorical)
        return self._columns.encoded(X)

    def _read(self, X: Graph) -> Graph:
        """Return the checked S, or X itself."""
        if not self.takes_graph:
            check_range(X.data if sparse.issparse(X) else X, "X")
            return X
        return self._built(self._affinity(), X)

    def _built(self, build: Affinity, X: Graph) -> Graph:
        """Return the checked S that a function builds."""
        who = type(self).__name__ if self.nonnegative else False
        listener: callbacks.Listener | None = getattr(self, "_listener", None)
        notify = None if listener is None else listener.graph
        self._recall = None
        if type(build) is KNNGraph:  # symmetric, nonnegative, canonical
            S = build.build(X, callback=notify)
            self._recall = build.recall_
        else:
            S = check_similarity(build(X), nonnegative=who)
        if S.shape[0] != X.shape[0]:
            raise ValueError(
                f"affinity must return an S with one row for each of the {X.shape[0]} "
                f"samples, got shape {S.shape}."
            )
        return S

    @property
    def recall_(self) -> float:
        """Fraction of the true nearest neighbours that the search found."""
        found: float | None = getattr(self, "_recall", None)
        if found is None or not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"{type(self).__name__} has no recall_: it is not fitted, or its graph "
                "is not a KNNGraph."
            )
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")  # n_features_in_ outlives a failed fit

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse or self._is_precomputed()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.allow_nan = self._has_metric(NAN)
        if tags.transformer_tags is not None:  # memberships are always floats
            tags.transformer_tags.preserves_dtype = []
        return tags


class RestartClusterer(Clusterer):
    """A method run from several starts, of which the best objective is kept.

    A method adds its parameters and ``_solve``. Parameters with these names, and
    ``n_init, max_iter, tol, max_dense``, mean the same in every method, and are checked
    here. The docstring of a method refers to a text below by the name alone.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    affinity : str, KNNGraph or callable, default="knn"
        How S is computed from X, as in :class:`lordclust.BLoRD`. S must be nonnegative.
    metric : str, default="euclidean"
        Distance of the nearest neighbours, as in :class:`lordclust.graph.KNNGraph`.
    n_neighbors : int, optional
        Number of nearest neighbours. By default floor(log2 n) + 1.
    random_state : int, RandomState or None, default=None
        Seed for the random starts.
    verbose : int, default=0
        If positive, print each finished step.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Clusters 0 to k-1, ordered by decreasing size, then by their first sample.
    sizes_ : ndarray of int, shape (k,)
        Number of samples in each cluster.
    all_objectives_ : ndarray of shape (n_init,)
        Final objective of every start.
    affinity_matrix_ : ndarray or csr_array, shape (n, n)
        The similarity S.
    """

    #: The number of starts that ``n_init="auto"`` stands for.
    auto_starts: ClassVar[int] = 10

    def fit(self, X: Graph, y: object = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n) if precomputed
            Samples, or their similarities with ``affinity="precomputed"``.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        X = self._check_X(X)
        return self._fit(X, check_n_clusters(self.n_clusters, X.shape[0]))

    @serial_if_small
    def _fit(self, X: Graph, k: int, *weights: FloatArray) -> Self:
        """Cluster checked samples; ``weights`` are passed on to ``_solve``."""
        self._check_parameters()
        self._check_size(X.shape[0])
        data = self._read(X)
        callbacks.step(self, "graph")
        best, objectives = self._best(self._solve(data, k, self._rngs(), *weights))
        self.all_objectives_ = objectives
        if self.takes_graph:
            self.affinity_matrix_ = data
        self._samples, self._extensions = None if self._is_precomputed() else X, []
        return self._keep(best, k)

    # -- methods that a subclass defines ------------------------------------------

    @abstractmethod
    def _solve(self, data: Graph, k: int, rngs: Rngs) -> Iterable[Run]:
        """Yield one run for each generator, or a single one if nothing is random.

        ``data`` is the checked S, or X for a method with ``takes_graph = False``.
        """

    def _check_parameters(self) -> None:
        """Raise an error for parameters that no fit can use."""
        self._n_starts()
        if hasattr(self, "max_iter"):
            check_count(self.max_iter, "max_iter")
        if hasattr(self, "tol"):
            check_positive(self.tol, "tol")

    def _shares(self, k: int) -> FloatArray:
        """Return the shares; clusters of equal share are interchangeable."""
        return np.full(k, 1 / k)

    # -- shared steps of fit ------------------------------------------------------

    def _check_size(self, n: int) -> None:
        """Raise an error if a method with n x n matrices gets too many samples."""
        if hasattr(self, "max_dense"):
            check_dense_size(n, self.max_dense, type(self).__name__)

    def _n_starts(self) -> int:
        """Return the number of starts."""
        n_init = getattr(self, "n_init", 1)
        return self.auto_starts if is_auto(n_init) else check_count(n_init, "n_init")

    def _rngs(self) -> Rngs:
        """Return a generator for each start."""
        rng = check_random_state(getattr(self, "random_state", 0))
        seeds = rng.randint(np.iinfo(np.int32).max, size=self._n_starts())
        return [np.random.default_rng(seed) for seed in seeds]

    def _best(self, runs: Iterable[Run]) -> tuple[Run, FloatArray]:
        """Return the run with the best objective (the first of equals), and all."""
        best, objectives = None, []
        for run in runs:
            objectives.append(run.objective)
            if best is None or self._merit(run) > self._merit(best):
                best = run
            found = f"objective {run.objective:.6g}"
            LOG.debug("start %d: %s", len(objectives), found)
            if callbacks.step(self, "start", 1 / self._n_starts(), found):
                break
        assert best is not None, "a method yields at least one run"  # for mypy  # nosec B101
        return best, np.array(objectives)

    def _merit(self, run: Run) -> tuple[float, ...]:
        """Return a key that is largest for the best run."""
        return (run.objective if self.maximises else -run.objective,)

    def _keep(self, run: Run, k: int) -> Self:
        """Set the fitted attributes, clusters in canonical order."""
        run = _renumbered(run, self._shares(k))
        self.labels_ = run.labels
        self.sizes_ = np.bincount(run.labels, minlength=k)
        self.objective_ = float(run.objective)
        self.n_iter_ = max(1, int(run.n_iter))
        self.converged_ = bool(run.converged)
        self.history_ = np.asarray(run.history, dtype=np.float64)
        if run.membership is not None:
            self.membership_ = run.membership
        for name, value in (run.columns | run.fitted).items():
            setattr(self, name, value)
        LOG.info(
            "%s: %d samples in clusters of %s; objective %.6g, %d iterations",
            type(self).__name__, len(self.labels_), self.sizes_.tolist(),
            self.objective_, self.n_iter_,
        )  # fmt: skip
        self._warn(run, k)
        return self

    def _warn(self, run: Run, k: int) -> None:
        """Warn if the kept run did not converge or has empty clusters."""
        name = type(self).__name__
        if not run.converged:
            limit = getattr(self, "max_iter", run.n_iter)
            warn_user(
                f"{name} stopped at max_iter={limit} before reaching its tolerance. "
                "Raise max_iter or loosen tol.",
                ConvergenceWarning,
            )
        found = len(np.unique(run.labels))
        if found < k:
            hint = "Raise n_init or lower" if hasattr(self, "n_init") else "Lower"
            warn_user(
                f"{name} found {found} of the {k} clusters requested: the others are "
                f"empty. {hint} n_clusters.",
                ConvergenceWarning,
            )


class EmbeddingMixin:
    """For methods that end with k-means on the rows of ``embedding_``."""

    embedding_: FloatArray
    n_clusters: int
    auto_starts = 20
    _n_starts: Callable[[], int]  # of the estimator

    def relabel(self, random_state: Seed = None) -> IntArray:
        """Return the labels of another rounding of the same ``embedding_``.

        k-means depends on its random starts: studies report the mean over many
        roundings.

        Parameters
        ----------
        random_state : int, RandomState or None, default=None
            Seed for the starts of k-means.

        Returns
        -------
        labels : ndarray of int, shape (n,)
        """
        check_is_fitted(self)
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        rng = np.random.default_rng(seed)
        return kmeans_labels(
            self.embedding_, self.n_clusters, rng, n_init=self._n_starts()
        ).labels


def _renumbered(run: Run, shares: FloatArray) -> Run:
    """Return the run with its clusters in canonical order."""
    order = canonical_order(run.labels, shares)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    P = run.membership
    return replace(
        run,
        labels=place[run.labels],
        membership=None if P is None else np.ascontiguousarray(P[:, order]),
        columns={
            name: np.ascontiguousarray(A[..., order]) for name, A in run.columns.items()
        },
    )
