"""B-LoRD for samples, or similarities, in blocks of rows on many machines."""

import os
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lordclust._core.memory import check_memory, solver_bytes
from lordclust._core.validation import (
    check_n_clusters,
    check_proportions,
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
from lordclust.distributed._driver import EVEN, Driver
from lordclust.distributed._graph import GraphBuilder
from lordclust.distributed._keeper import LOST
from lordclust.distributed._rows import WorkerAscent, WorkerRows
from lordclust.distributed._spectrum import check_symmetric, spectrum
from lordclust.graph import KNNGraph
from lordclust.methods._left_out import leave_out, put_back
from lordclust.methods._request import Samples
from lordclust.methods._rounding import numbered
from lordclust.rounding.labels import membership_from, order_by_size
from lordclust.solver.omega import Omega
from lordclust.solver.path import walk
from lordclust.solver.problem import BLoRDProblem
from lordclust.solver.solve import Limits
from lordclust.solver.start import count_starts, start_seeds
from lordclust.solver.tau_rules import tau_for_samples

#: How often a fit is started again when too many workers were lost to continue.
TRIES = 3
STARTS = ("auto", "path")
#: Copies of S on the driver: its blocks as they arrive, and S itself.
COPIES = 2


#: What a fit on the driver found, and its result keeps.
FOUND = (
    "sizes_", "proportions_", "objective_", "residual_", "n_iter_", "converged_",
    "history_", "all_objectives_", "tau_", "gamma_", "eigenvalues_", "selection_",
)  # fmt: skip


@dataclass(eq=False, repr=False)
class BLoRD(BaseEstimator):
    """Block-diagonal low-rank doubly stochastic clustering, on many machines.

    The model of :class:`lordclust.BLoRD`, for X or S in blocks of rows on the workers
    of a dask cluster, with the same defaults and the same results up to rounding
    (unless samples have more copies than neighbours):

        max Tr(V'SV) + gamma ||V||_F^2   over   V >= 0,  V'1 = mu,  V mu = 1/n

    Workers build the graph, block against block, and solve the problem: a Newton step
    of the projection brings k + k^2 numbers to the driver, and workers send each other
    only the rows of V that their rows of S refer to. A worker may be lost: its blocks
    are read (or built) again by others, and the fit continues with the same result.

    What the driver holds depends on ``start``. "auto" collects S (12 bytes for each
    entry), the leading principal components of X, and some n x k arrays: from these
    the driver computes seeds, compares candidates and calibrates, as one machine does.
    If they do not fit in its memory, an error is raised before the graph is built. With
    "path" S and V never leave the workers.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.
    tau : float or {"auto", "n", "blocks"}, default="auto"
        As in :class:`lordclust.BLoRD`.
    proportions : "auto", "equal", array-like or (prior, strength), default="auto"
        As in :class:`lordclust.BLoRD`.
    rounding : {"argmax", "exact"}, optional
        As in :class:`lordclust.BLoRD`: by default labels have exactly the shares that
        are given. For "exact" the driver collects the memberships.
    outliers : float, "auto" or array-like of bool, shape (n,), optional
        As in :class:`lordclust.BLoRD`: samples with label -1. The driver collects X, or
        S, to find them.
    affinity : {"knn", "precomputed"} or KNNGraph, default="knn"
        The graph of nearest neighbours of X, found block against block, with the
        edges of ``KNNGraph(search="exact").build(X)``; or X is S itself.
    start : {"auto", "path"}, default="auto"
        For given tau and proportions. "auto": short paths in tau from what the graph
        suggests. "path": follow the solution from tau = 0.02 up to ``tau``, which takes
        longer. Up to 20,000 samples the local solver also lets coarse paths from other
        starts compete at tau = 0.4; they need S on one machine, and are left out here.
    n_init : int or "auto", default="auto"
        Number of starts; the best objective is kept. "auto": up to 4 short paths, or 1
        path (5 if unequal shares are given).
    max_iter : int, default=4000
        Maximum number of iterations of each descent.
    tol : float, default=1e-4
        Residual ||V - P(V - grad/L)||_F / ||V||_F at which a descent stops.
    random_state : int, RandomState or None, default=None
        Seed for the random starts. Without it the result is the same every time.
    client : distributed.Client, optional
        The client of the cluster; by default the current one.

    Attributes
    ----------
    labels_ : dask array of int, shape (n,)
        The cluster of each sample, by blocks on the workers.
    membership_ : dask array of shape (n, k)
        P(y_i = j | x_i), by blocks on the workers; calibrated with ``tau="auto"``.
    proportions_, sizes_ : ndarray of shape (k,)
        The shares, and how many samples have each label.
    objective_, residual_, n_iter_, converged_, history_
        Result of the best descent, and the objective at each iteration of its last tau.
    all_objectives_ : ndarray
        Final objective of every start.
    tau_, gamma_, eigenvalues_
        The tau used, its gamma, and the extreme eigenvalues of S.
    selection_ : Selection
        With "auto": all candidates with their evidence and sizes.
    blocks_ : ndarray of int, shape (n_blocks,)
        Number of entries of S in each block.
    losses_ : int
        Number of times that workers were lost.
    traffic_ : Traffic
        Steps, passes and bytes moved, between workers and to the driver.

    Examples
    --------
    >>> from distributed import Client
    >>> model = BLoRD(10)
    >>> model.fit(["x-0.npy", "x-1.npy"]).gather().labels_  # doctest: +SKIP
    array([3, 1, 1, ..., 0, 2, 2])
    """

    n_clusters: int = 8
    _: KW_ONLY
    tau: Any = "auto"
    proportions: Any = "auto"
    rounding: str | None = None
    outliers: Any = None
    affinity: Any = "knn"
    start: str = "auto"
    n_init: Any = "auto"
    max_iter: int = 4000
    tol: float = 1e-4
    random_state: Any = None
    client: Any = None

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
        driver = self._checked_driver()
        client = find_client(self.client)
        check_workers(client)
        sources = find_sources(X, client)
        if self.outliers is not None:
            return self._fit_without_outliers(client, sources, driver)
        return self._try_to_fit(client, sources, driver)

    def _fit_without_outliers(
        self, client: Any, sources: list[Any], driver: Driver
    ) -> Self:
        """Fit to the other samples, and put the outliers back, on the driver."""
        parts = collected(sources, client)
        stack = sp.vstack if sp.issparse(parts[0]) else np.vstack
        X = driver._check_X(stack(parts))
        every = Samples(X, np.ones(X.shape[0], dtype=bool))
        samples, kept, out = leave_out(driver, every)
        ends = np.cumsum([part.shape[0] for part in parts])
        bounds = [0, *np.searchsorted(np.flatnonzero(kept), ends).tolist()]
        blocks = [InMemory(samples.X[a:b]) for a, b in pairwise(bounds) if a < b]
        self._try_to_fit(client, blocks, driver)
        if samples is every:
            return self
        if not driver._is_precomputed():
            driver._samples = samples.X  # it had their principal components
        put_back(driver, every, kept, out)
        self.sizes_ = driver.sizes_
        self._kept = tuple(
            client.scatter(np.split(answer, ends[:-1]))
            for answer in (driver.membership_, driver.labels_)
        )
        self._join([part.shape[0] for part in parts])
        return self

    def _try_to_fit(self, client: Any, sources: list[Any], driver: Driver) -> Self:
        """Fit to blocks of rows, again if too many workers were lost."""
        for _ in range(TRIES):
            try:
                return self._fit(client, sources, driver)
            except (GoneError, LostError):
                continue
        raise RuntimeError(
            f"Workers were lost in all {TRIES} attempts. Check the logs of the workers."
        )

    def _checked_driver(self) -> Driver:
        """Return the model of one machine; raise an error for wrong parameters."""
        if not isinstance(self.affinity, KNNGraph) and self.affinity not in (
            "knn",
            "precomputed",
        ):
            raise unknown_name("affinity", self.affinity, ["knn", "precomputed"])
        if not isinstance(self.start, str) or self.start not in STARTS:
            raise unknown_name("start", self.start, STARTS)
        shared = self.get_params(deep=False)
        del shared["client"]
        driver = Driver(**shared)
        driver._check_parameters()
        if self.start == "path" and self.outliers is not None:
            raise ValueError(
                'outliers need X, or S, on the driver, got start="path". Use '
                'start="auto", or remove the outliers from X beforehand.'
            )
        if self.start == "path" and self.tau == "blocks":
            raise ValueError(
                'tau="blocks" needs S on one machine, got start="path". Use '
                'start="auto", or tau="n".'
            )
        if not any(driver._automatic()):
            driver.n_jobs = 1  # the workers follow one path at a time
        return driver

    def _fit(self, client: Any, sources: list[Any], driver: Driver) -> Self:
        """Solve on the workers, and leave the results there."""
        whole = self.start == "path"
        graph = isinstance(self.affinity, str) and self.affinity == "precomputed"
        build = None
        if not graph:
            knn = self.affinity if isinstance(self.affinity, KNNGraph) else KNNGraph()
            build = GraphBuilder(knn, keep=any(driver._automatic()))
            if not whole:
                build.check = self._check_memory
        crew = Crew(client, sources, graph=graph, build=build)
        try:
            k = check_n_clusters(self.n_clusters, crew.n)
            crew.number(np.full(k, k**-0.5))
            if graph and whole:
                check_symmetric(crew)
            elif graph:
                self._check_memory(crew.n, sum(self._count_entries(crew)))
            if whole:
                self._follow_path(crew, driver)
            else:
                self._collect(crew, driver, None if build is None else build.origin)
            self.blocks_ = self._count_entries(crew)
            self.losses_ = crew.losses
            return self
        finally:
            crew.close()

    def _check_memory(self, n: int, entries: int) -> None:
        """Raise an error if S and the solver do not fit in the driver's memory."""
        k = check_n_clusters(self.n_clusters, n)
        check_memory(
            solver_bytes(n, k, COPIES * entries),
            f"The driver of BLoRD, for {n} samples and {k} clusters,",
            'Pass tau, proportions, start="path" and rounding="argmax", which leave S '
            "and V on the workers.",
        )

    def _count_entries(self, crew: Crew) -> Any:
        """Return the number of entries of S in each block."""
        counts = {b: c for one in crew.ask("stored") for b, c in one.items()}
        return np.array([counts[b] for b in range(len(counts))])

    # -- with S on the driver -----------------------------------------------------

    def _collect(self, crew: Crew, driver: Driver, origin: Any) -> None:
        """Choose on the driver, solve on the workers, and set the attributes."""
        rows = driver.fit_on(crew, origin)
        self.__dict__.pop("selection_", None)  # of an earlier fit
        for name in FOUND:
            if hasattr(driver, name):
                setattr(self, name, getattr(driver, name))
        self._kept = rows.hand_out(driver.membership_, driver.labels_)
        self._join_rows(rows)

    def _join_rows(self, rows: WorkerRows) -> None:
        """Set the attributes of the rows that a fit leaves on the workers."""
        self.traffic_ = rows.traffic()
        self._join(np.diff(rows.crew.starts).tolist())

    def _join(self, m: list[int]) -> None:
        """Set the attributes that are blocks on the workers, of m rows each."""
        P, y = self._kept
        k = len(self.sizes_)
        self.membership_ = _joined(P, [(x, k) for x in m], np.float64)
        self.labels_ = _joined(y, [(x,) for x in m], np.int64)

    # -- with S on the workers alone ----------------------------------------------

    def _follow_path(self, crew: Crew, driver: Driver) -> None:
        """Follow the paths of the local solver, and keep the best of their ends."""
        given, k = self.proportions, len(crew.mu)
        given = None if isinstance(given, str) and given in EVEN else given
        prior, strength = split_proportions(given)
        shares = check_proportions(prior, k)
        # Without arrays of n numbers.
        mass, ones = (np.broadcast_to(x, crew.n) for x in (1 / crew.n, 1.0))
        omega = Omega(np.sqrt(shares), mass, ones, strength=strength)
        problem = BLoRDProblem.posed(None, omega, spectrum(crew))
        rows = WorkerRows(crew, omega.mu)
        rows.set_shares(omega.mu)
        solver = WorkerAscent(rows, problem.omega)
        crew.ask("spent")  # by the graph and the spectrum: not counted
        exact = driver._rounds_exactly(omega)
        if exact:
            check_memory(
                4.0 * 8 * crew.n * k,
                f"Exact rounding of {crew.n} samples and {k} clusters on the driver",
                'Pass rounding="argmax".',
            )
        self._solve(solver, problem)
        self._keep_answers(solver, shares, exact)

    def _solve(self, solver: WorkerAscent, problem: BLoRDProblem) -> None:
        """Set the results of the path with the best objective; go to its end."""
        tau = tau_for_samples(solver.n) if self.tau == "n" else float(self.tau)
        self.tau_, self.gamma_ = tau, problem.tilt(tau)
        self.eigenvalues_ = tuple(problem.spectrum)
        count, best = count_starts(self.n_init, problem.omega), -np.inf
        seed_of_all = 0 if self.random_state is None else self.random_state
        objectives = []
        for seed in start_seeds(count, seed_of_all):
            solver.put_random(seed)
            for _ in walk(solver, problem, tau, Limits(self.tol, self.max_iter)):
                pass
            objective = solver.finish()
            objectives.append(objective)
            if objective <= best:
                continue
            best, solver.rows.best = objective, solver.rows.stamp
            progress = solver.progress()
            self.objective_, self.residual_ = objective, progress.residual
            self.n_iter_ = max(1, progress.n_iter)
            self.converged_, self.history_ = solver.converged, solver.history()
        self.all_objectives_ = np.array(objectives)
        if solver.rows.best != solver.rows.stamp:
            solver.rows.go_to_best()

    def _keep_answers(self, engine: WorkerAscent, shares: Any, exact: bool) -> None:
        """Set the fitted attributes, clusters in canonical order."""
        rows, omega = engine.rows, engine.omega
        sizes: Any
        if not omega.exact:
            shares = omega.mu * rows.columns()
        if exact:
            P = membership_from(rows.get(), omega.mu)
            order, labels = numbered(P, shares, omega, exact)
            sizes = np.bincount(labels, minlength=rows.k)
            self._kept = rows.hand_out(P[:, order], labels)
        else:
            sizes, firsts = rows.sizes()
            order = order_by_size(sizes, firsts, omega.mu)
            sizes = sizes[order]
            self._kept = rows.answers(order)
        self.__dict__.pop("selection_", None)  # of an earlier fit
        self.sizes_, self.proportions_ = sizes, shares[order]
        self._join_rows(rows)
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


def collected(sources: list[Any], client: Any) -> list[Any]:
    """Return all blocks of rows, on the driver."""
    first = sources[0].content(client)
    stored = first.data if sp.issparse(first) else first
    check_memory(
        float(COPIES * len(sources) * np.asarray(stored).nbytes),
        "Finding outliers on the driver of BLoRD",
        "Remove the outliers from X beforehand, and pass outliers=None.",
    )
    return [first, *(source.content(client) for source in sources[1:])]


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

    if client is None:
        try:
            return distributed.get_client()
        except ValueError:
            raise ValueError(
                "There is no dask client. Pass client=distributed.Client(...) with the "
                "address of a scheduler."
            ) from None
    if not isinstance(client, distributed.Client) or client.status != "running":
        raise ValueError(
            f"client must be a connected distributed.Client, got {client!r}. Pass "
            "client=distributed.Client(...) with the address of a scheduler."
        )
    return client


def check_workers(client: Any) -> None:
    """Raise an error if there are no workers, or they could not stay for a fit."""
    import distributed
    from distributed.threadpoolexecutor import thread_state

    count = len(client.nthreads())
    # Workers keep their blocks, but no task runs on them between two requests.
    adaptive: Any = getattr(client.cluster, "_adaptive", None)
    adapts = getattr(adaptive, "periodic_callback", None) is not None
    if adapts and adaptive.minimum < max(count, 1):
        raise ValueError(
            "A fit needs workers that stay until it ends, got a cluster that may go "
            f"down to {adaptive.minimum} of {count} workers. Call "
            "cluster.adapt(minimum=n, maximum=n) with their number."
        )
    if count == 0:
        raise ValueError("The cluster has no workers. Start some: cluster.scale(n).")
    try:
        threads = distributed.get_worker().state.nthreads
    except ValueError:  # not in a task
        return
    if threads < 2 and getattr(thread_state, "proceed", True):  # it did not secede
        raise ValueError(
            "fit was called in a task that holds the only thread of its worker, which "
            "fit itself needs. Call it outside of tasks or with "
            "distributed.worker_client(), or start workers with 2 threads."
        )


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
