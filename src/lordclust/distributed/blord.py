"""B-LoRD for samples, or similarities, in blocks of rows on many machines."""

import os
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lordclust._core.typing import FloatArray
from lordclust._core.validation import (
    check_count,
    check_n_clusters,
    check_positive,
    check_proportions,
    check_tau,
    split_proportions,
    unknown_name,
)
from lordclust._core.warn import warn_user
from lordclust.distributed._crew import (
    POLL,
    Computed,
    Crew,
    GoneError,
    InMemory,
    LostError,
    OnDisk,
)
from lordclust.distributed._graph import GraphBuilder
from lordclust.distributed._keeper import LOST
from lordclust.distributed._rows import WorkerAscent, WorkerRows
from lordclust.distributed._spectrum import check_symmetric, spectrum
from lordclust.graph import KNNGraph
from lordclust.rounding.labels import order_by_size
from lordclust.solver.omega import Omega
from lordclust.solver.path import walk
from lordclust.solver.problem import BLoRDProblem
from lordclust.solver.solve import Limits
from lordclust.solver.start import count_starts, start_seeds
from lordclust.solver.tau_rules import tau_for_samples

#: How often a fit is started again when too many workers were lost to continue.
TRIES = 3


class BLoRD(BaseEstimator):
    """Block-diagonal low-rank doubly stochastic clustering, on many machines.

    Solves the problem of :class:`lordclust.BLoRD`,

        max Tr(V'SV) + gamma ||V||_F^2   over   V >= 0,  V'1 = mu,  V mu = 1/n

    for X or S in blocks of rows on the workers of a dask cluster. S and V stay there:
    a Newton step of the projection brings k + k^2 numbers to the driver, and workers
    send each other only the rows of V that their rows of S refer to. The iterations
    are those of one machine, and so are the results, to rounding. A worker may be
    lost: its blocks are read (or built) again by others, and the fit continues from the
    last tau with the same result.

    Up to 20,000 samples the local solver also lets coarse paths from other starts
    compete at tau = 0.4. They need S on one machine, and are left out here.

    Unlike :class:`lordclust.BLoRD` it does not choose the shares: the defaults are
    those of the paper, equal shares at tau = 1, and memberships are those of B-LoRD.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    tau : float or "n", default=1.0
        From soft (0) to hard (1), or the rule min(2 n^-0.24, 1).
    proportions : array-like of shape (n_clusters,) or (prior, strength), optional
        Shares of the clusters, as in :class:`lordclust.BLoRD`.
    affinity : {"knn", "precomputed"} or KNNGraph, default="knn"
        The graph of nearest neighbours of X, found block against block, with the
        edges of ``KNNGraph().build(X)``; or X is S itself.
    n_init : int or "auto", default="auto"
        Number of paths; the best objective is kept. "auto": 1, or 5 if unequal shares
        are given.
    max_iter : int, default=4000
        Maximum number of iterations for each tau of the path.
    tol : float, default=1e-4
        Residual ||V - P(V - grad/L)||_F / ||V||_F at which a descent stops.
    random_state : int, RandomState or None, default=None
        Seed for the random starts. Without it the result is the same every time.
    client : distributed.Client, optional
        The client of the cluster; by default the current one.

    Attributes
    ----------
    labels_ : dask array of int, shape (n,)
        The most probable cluster of each sample, by blocks on the workers.
    membership_ : dask array of shape (n, k)
        P(y_i = j | x_i), by blocks on the workers.
    proportions_, sizes_ : ndarray of shape (k,)
        The shares, and how many samples have each label.
    objective_, residual_, n_iter_, converged_, history_
        Result of the best path, and the objective at each iteration of its last tau.
    tau_, gamma_, eigenvalues_
        The tau used, its gamma, and the extreme eigenvalues of S.
    blocks_ : ndarray of int, shape (n_blocks,)
        Number of entries of S in each block.
    losses_ : int
        Number of times that workers were lost.
    traffic_ : Traffic
        Steps, passes and bytes moved, between workers and to the driver.

    Examples
    --------
    >>> from distributed import Client
    >>> model = BLoRD(10, tau=0.5)
    >>> model.fit(["x-0.npy", "x-1.npy"]).gather().labels_  # doctest: +SKIP
    array([3, 1, 1, ..., 0, 2, 2])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        tau: Any = 1.0,
        proportions: Any = None,
        affinity: Any = "knn",
        n_init: Any = "auto",
        max_iter: int = 4000,
        tol: float = 1e-4,
        random_state: Any = None,
        client: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.tau = tau
        self.proportions = proportions
        self.affinity = affinity
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.client = client

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : dask array, list of paths, or list of arrays
            Blocks of rows of the samples, or of S with ``affinity="precomputed"``:
            the chunks of a dask array, ``.npy`` files (``.npz`` by
            ``scipy.sparse.save_npz`` for S) that all workers can read, or arrays and
            sparse matrices in memory.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        client = find_client(self.client)
        sources = find_sources(X, client)
        for _ in range(TRIES):
            try:
                return self._fit(client, sources)
            except (GoneError, LostError):
                continue
        raise RuntimeError(
            f"Workers were lost in all {TRIES} attempts. Check the logs of the workers."
        )

    def _check_parameters(self) -> None:
        """Raise an error for parameters that no fit can use."""
        if isinstance(self.tau, str):
            if self.tau != "n":
                raise unknown_name("tau rule", self.tau, ["n"])
        else:
            check_tau(self.tau)
        if not isinstance(self.affinity, KNNGraph) and self.affinity not in (
            "knn",
            "precomputed",
        ):
            raise unknown_name("affinity", self.affinity, ["knn", "precomputed"])
        if self.n_init != "auto":
            check_count(self.n_init, "n_init")
        check_count(self.max_iter, "max_iter")
        check_positive(self.tol, "tol")

    def _fit(self, client: Any, sources: list[Any]) -> Self:
        """Solve on the workers, and leave the results there."""
        graph = isinstance(self.affinity, str) and self.affinity == "precomputed"
        build = None
        if not graph:
            knn = self.affinity if isinstance(self.affinity, KNNGraph) else KNNGraph()
            build = GraphBuilder(knn)
        crew = Crew(client, sources, graph=graph, build=build)
        try:
            k = check_n_clusters(self.n_clusters, crew.n)
            prior, strength = split_proportions(self.proportions)
            shares = check_proportions(prior, k)
            crew.number(np.sqrt(shares))
            if graph:
                check_symmetric(crew)
            # Without arrays of n numbers.
            mass, ones = (np.broadcast_to(x, crew.n) for x in (1 / crew.n, 1.0))
            omega = Omega(np.sqrt(shares), mass, ones, strength=strength)
            problem = BLoRDProblem.posed(None, omega, spectrum(crew))
            solver = WorkerAscent(WorkerRows(crew, omega.mu), problem.omega)
            crew.ask("spent")  # by the graph and the spectrum: not counted
            self._solve(solver, problem)
            self._keep_answers(solver, shares)
            return self
        finally:
            crew.close()

    def _solve(self, solver: WorkerAscent, problem: BLoRDProblem) -> None:
        """Follow the paths of the local solver, and keep the best of their ends."""
        tau = tau_for_samples(solver.n) if self.tau == "n" else float(self.tau)
        self.tau_, self.gamma_ = tau, problem.tilt(tau)
        self.eigenvalues_ = tuple(problem.spectrum)
        count, best = count_starts(self.n_init, problem.omega), -np.inf
        seed_of_all = 0 if self.random_state is None else self.random_state
        for seed in start_seeds(count, seed_of_all):
            solver.put_random(seed)
            for _ in walk(solver, problem, tau, Limits(self.tol, self.max_iter)):
                pass
            objective = solver.finish()
            if objective <= best:
                continue
            best, solver.rows.best = objective, solver.rows.stamp
            progress = solver.progress()
            self.objective_, self.residual_ = objective, progress.residual
            self.n_iter_ = max(1, progress.n_iter)
            self.converged_, self.history_ = solver.converged, solver.history()
        if solver.rows.best != solver.rows.stamp:
            solver.rows.go_to_best()

    def _keep_answers(self, engine: WorkerAscent, shares: FloatArray) -> None:
        """Set the fitted attributes, clusters in canonical order."""
        crew, rows, mu = engine.rows.crew, engine.rows, engine.omega.mu
        if not engine.omega.exact:
            shares = mu * rows.columns()
        sizes, firsts = rows.sizes()
        order = order_by_size(sizes, firsts, mu)
        P, y = self._kept = rows.memberships(order)
        m, k = np.diff(crew.starts).tolist(), len(mu)
        self.membership_ = _joined(P, [(x, k) for x in m], np.float64)
        self.labels_ = _joined(y, [(x,) for x in m], np.int64)
        self.sizes_, self.proportions_ = sizes[order], shares[order]
        counts = {b: c for one in crew.ask("stored") for b, c in one.items()}
        self.blocks_ = np.array([counts[b] for b in range(len(counts))])
        self.losses_, self.traffic_ = crew.losses, rows.traffic()
        if not self.converged_:
            warn_user(
                f"BLoRD stopped at max_iter={self.max_iter}, residual "
                f"{self.residual_:.1e} > tol={self.tol:.1e}. Raise max_iter or loosen "
                "tol.",
                ConvergenceWarning,
            )

    def gather(self) -> Self:
        """Convert ``labels_`` and ``membership_`` to local NumPy arrays.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, "labels_")
        client = find_client(self.client)
        for name in ("labels_", "membership_"):
            value = getattr(self, name)
            if not isinstance(value, np.ndarray):
                setattr(self, name, self._fetched(client.compute(value)))
        return self

    def _fetched(self, future: Any) -> Any:
        """Return a result of the workers; raise an error if it was lost."""
        while True:
            try:
                return future.result(timeout=POLL)
            except TimeoutError:
                parts = [part for kind in self._kept for part in kind]
                if any(part.status != "finished" for part in parts):
                    raise RuntimeError(LOST) from None


def _joined(parts: list[Any], shapes: list[tuple[int, ...]], dtype: Any) -> Any:
    """Return futures of blocks of rows as one dask array."""
    import dask.array as da
    from dask import delayed

    blocks = zip(parts, shapes, strict=True)
    return da.concatenate(
        [da.from_delayed(delayed(part), shape, dtype) for part, shape in blocks]
    )


def find_client(client: Any) -> Any:
    """Return the given client, or the current one."""
    import distributed

    if client is not None:
        return client
    try:
        return distributed.get_client()
    except ValueError:
        raise ValueError(
            "There is no dask client. Pass client=distributed.Client(...) with the "
            "address of a scheduler."
        ) from None


def find_sources(X: Any, client: Any) -> list[Any]:
    """Return the sources of the blocks of rows."""
    if hasattr(X, "to_delayed") and hasattr(X, "rechunk"):
        chunks = X.rechunk({1: -1}).to_delayed().ravel()
        return [Computed(future) for future in client.compute(list(chunks))]
    if not isinstance(X, list | tuple) or not X or isinstance(X[0], list | tuple):
        raise ValueError(
            f"X must consist of blocks of rows, got {type(X).__name__}. Pass a dask "
            "array, a list of files, or a list of arrays. For one array in memory use "
            "lordclust.BLoRD."
        )
    if all(isinstance(part, str | os.PathLike) for part in X):
        return [OnDisk(os.fspath(part)) for part in X]
    return [InMemory(part) for part in X]
