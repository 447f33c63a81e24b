"""What LoRD and B-LoRD share: input, starts, restarts, and what a fit leaves."""

import warnings
from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from lordclust._core.memory import check_memory, solver_advice, solver_bytes
from lordclust._core.threads import count_threads
from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.validation import (
    check_choice,
    check_count,
    check_dtype,
    check_known_labels,
    check_n_clusters,
    check_positive,
    check_proportions,
    check_room,
    check_weights,
    in_dtype,
    is_auto,
    refuse_both,
    split_proportions,
)
from lordclust.methods import _callbacks as callbacks
from lordclust.methods._answers import ProbabilityAnswers
from lordclust.methods._saving import SavedModel
from lordclust.methods._wishes import Links, check_links, roomy_shares
from lordclust.result import SolverResult
from lordclust.rounding.labels import (
    canonical_order,
    labels_from,
    membership_from,
    reordered,
    row_entropy,
    top_entries,
)
from lordclust.rounding.transport import assign_sizes, check_sizes, whole_sizes
from lordclust.solver.arrays import array_ascent, from_tensor, load_torch
from lordclust.solver.checkpoint import (
    Checkpoint,
    check_place,
    fingerprint,
    places,
)
from lordclust.solver.engine import Engine, Solver
from lordclust.solver.omega import Omega
from lordclust.solver.start import given_start, random_start

ALGORITHMS = ("fast", "paper")
STARTS = ("path", "random")
ROUNDINGS = ("argmax", "exact")


class Wish(NamedTuple):
    """What a user asks for."""

    omega: Omega
    shares: FloatArray
    links: Links
    checkpoint: Any = None


class DoublyStochasticClusterer(
    callbacks.CallbackSupportMixin, SavedModel, ProbabilityAnswers
):
    """Base of the two models over Omega(mu)."""

    nonnegative = False

    # Parameters, set by the subclasses' constructors.
    proportions: Any
    cluster_sizes: Any
    rounding: str | None
    affinity: Any
    start: Any
    n_init: Any
    max_iter: int
    tol: float
    algorithm: str
    random_state: Any
    n_jobs: int | None
    device: str | None
    proba_top: int | None
    dtype: Any

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        known_labels: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse of shape (n, d), or (n, n) if precomputed
            Samples, or their similarities with ``affinity="precomputed"``.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            Weights of the samples, P(x_i) up to a factor; equal by default. Weight 2
            is the sample twice. A sample of weight 0 influences nobody, but gets a
            membership from those it is similar to.
        known_labels : array-like of int, shape (n,), optional
            Clusters of samples, from 0 to n_clusters-1, -1 where unknown. Their
            memberships are fixed, and pull those of other samples. Cluster j is then
            the one you call j; only clusters without known samples are numbered
            by size.
        must_link, cannot_link : array-like of int, shape (m, 2), optional
            Pairs of samples that belong together, and pairs that do not: edges of
            weight +w and -w in S, w as much as all neighbours of the two samples.
            Strong wishes, not constraints: all but a few are met.
        checkpoint : str or Path, optional
            A file that is rewritten after each tau of the path (each step, for
            LoRD). If the process ends before the fit does, in whatever way, the same
            fit goes on after the last finished one and ends in the same bits. A file
            of another problem is refused. It stays when the fit is done; several
            paths (``n_init``) have files of their own, with .2, .3 and so on at the
            end. The graph is built again: build it beforehand if that takes long.
            Not a parameter of the constructor, as a file belongs to one fit: copies
            of a model (in a grid search, say) would write to the same one.

        Returns
        -------
        self : object
        """
        X = self._check_X(X)
        n = X.shape[0]
        k = check_n_clusters(self.n_clusters, n)
        self._check_parameters()
        p = check_weights(sample_weight, n)
        known = check_known_labels(known_labels, n, k)
        shares, strength = self._shares(k, n, known, p)
        omega = Omega.of(np.sqrt(shares), n, p, known=known, strength=strength)
        if omega.exact:
            check_room(known, shares, omega.weight / n)
        links = check_links(must_link, cannot_link, known, n)
        self._check_algorithm(omega)
        self._check_checkpoint(checkpoint)
        self._check_memory(X, omega)
        S, found = self._work(X, Wish(omega, shares, links, checkpoint))
        return self._keep_result(found[0], X, S, *found[1:])

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
        """Cluster the samples and return ``labels_``."""
        return self.fit(X, y, **kwargs).labels_

    def fit_transform(self, X: Any, y: Any = None, **kwargs: Any) -> Any:
        """Cluster the samples and return ``membership_``."""
        return self.fit(X, y, **kwargs).membership_

    @callbacks.with_callbacks
    def _work(
        self, X: Any, wish: Wish
    ) -> tuple[Graph, tuple[SolverResult, FloatArray, Omega]]:
        """Build the graph and solve; callbacks hear of each part."""
        callbacks.begin(self)
        S = in_dtype(self._read(X), self.dtype)
        callbacks.step(self, "graph")
        found = self._solve(X, S, wish)
        callbacks.end(self)
        return S, found

    def _solve(
        self, X: Any, S: Graph, wish: Wish
    ) -> tuple[SolverResult, FloatArray, Omega]:
        """Return the result kept, and the shares and the set it is for."""
        results = self._descend(S, wish.omega, wish.links, wish.checkpoint)
        self.all_objectives_ = np.array([r.objective for r in results])
        return self._choose(results), wish.shares, wish.omega

    # -- what a subclass adds -----------------------------------------------------

    @abstractmethod
    def _descend(
        self, S: Graph, omega: Omega, links: Links, checkpoint: Any = None
    ) -> list[SolverResult]:
        """Return one result for each start."""

    def _choose(self, results: list[SolverResult]) -> SolverResult:
        """Return the result with the best objective."""
        choose = max if self.maximises else min
        return choose(results, key=lambda r: r.objective)

    # -- shared steps of fit ------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse what no fit can use."""
        self._check_rounding()
        check_choice(self.algorithm, ALGORITHMS, "algorithm")
        if isinstance(self.start, str):
            check_choice(self.start, STARTS, "start")
        if not isinstance(self.n_init, str) or self.n_init != "auto":
            check_count(self.n_init, "n_init")
        check_count(self.max_iter, "max_iter")
        check_positive(self.tol, "tol")
        count_threads(self.n_jobs)
        if self.device is not None:
            load_torch(self.device)  # before the graph is built
            if self.algorithm == "paper":
                raise ValueError(
                    f'algorithm="paper" runs on NumPy, got device={self.device!r}. '
                    'Leave device out, or use algorithm="fast".'
                )
        if self.proba_top is not None:
            check_count(self.proba_top, "proba_top")
        check_dtype(self.dtype)

    def _check_rounding(self) -> None:
        """Refuse an unknown rounding, and sizes that something else contradicts."""
        if self.rounding is not None:
            check_choice(self.rounding, ROUNDINGS, "rounding")
        if self.cluster_sizes is None:
            return
        refuse_both(self.proportions, "proportions", "cluster_sizes")
        if self.rounding == "argmax":
            raise ValueError(
                "cluster_sizes need exact rounding, got rounding='argmax'. Leave "
                "rounding out, or pass proportions, which argmax meets nearly."
            )

    def _shares(
        self, k: int, n: int, known: IntArray | None, p: FloatArray | None
    ) -> tuple[FloatArray, float]:
        """Return the shares asked for, as such or as sizes, and how firmly."""
        if is_auto(self.proportions):
            return check_proportions(roomy_shares(known, k, p), k), np.inf
        if self.cluster_sizes is None:
            prior, strength = split_proportions(self.proportions)
            return check_proportions(prior, k), strength
        sizes = check_sizes(self.cluster_sizes, k, n, name="cluster_sizes")
        if sizes.min() == 0:
            raise ValueError(
                f"cluster_sizes must be positive, got 0 at position {sizes.argmin()}. "
                "Lower n_clusters to leave out an empty cluster."
            )
        return check_proportions(sizes / n, k), np.inf

    def _rounds_exactly(self) -> bool:
        """Tell whether labels meet the shares, not only nearly."""
        return self.rounding == "exact" or self.cluster_sizes is not None

    def _check_algorithm(self, omega: Omega) -> None:
        """Refuse what the paper's algorithm was not made for."""
        if self.algorithm != "paper":
            return
        for needed, fine, got in (
            ("equal weights", omega.equal, "a sample_weight that is not constant"),
            ("no known labels", omega.known is None, "known_labels"),
            ("exact proportions", omega.exact, f"a strength of {omega.strength:g}"),
        ):
            if not fine:
                raise ValueError(
                    f'algorithm="paper" needs {needed}, got {got}. Use '
                    'algorithm="fast".'
                )

    def _check_checkpoint(self, checkpoint: Any) -> None:
        """Refuse a checkpoint of what is not a path, or that cannot be written."""
        if checkpoint is None:
            return
        check_place(checkpoint)
        if not self._uses_path():
            raise ValueError(
                "checkpoint keeps a path, but "
                f"start={self.start if isinstance(self.start, str) else 'an array'!r} "
                f'and algorithm={self.algorithm!r} follow none. Use start="path" and '
                'algorithm="fast", or leave checkpoint out.'
            )
        if self.device is not None:
            raise ValueError(
                "checkpoint keeps a path of the compiled solver, but "
                f"device={self.device!r} is asked for. Leave one of them out."
            )

    def _check_memory(self, X: Any, omega: Omega) -> None:
        """Refuse, before the graph is built, what cannot fit into memory."""
        if self.device is not None or self.algorithm == "paper":
            return
        n, k = omega.shape
        paths = min(count_threads(self.n_jobs), self._count_starts(omega))
        single = check_dtype(self.dtype) == np.float32
        needed = solver_bytes(n, k, self._fewest_edges(X), 4 if single else 8, paths)
        check_memory(
            needed,
            f"{type(self).__name__} of {n} samples and {k} clusters",
            solver_advice(single=single, paths=paths),
        )

    def _fewest_edges(self, X: Any) -> int:
        """Return how many entries S has at least."""
        if self._is_precomputed():
            return int(X.nnz) if sp.issparse(X) else 0  # a dense one is not copied
        n = X.shape[0]
        # The default graph joins each sample to its floor(log2 n) + 1 neighbours.
        return n * min(n.bit_length(), n - 1) if _is_knn(self.affinity) else 0

    def _check_X(self, X: Any, *, reset: bool = True) -> Any:
        return super()._check_X(from_tensor(X), reset=reset)

    def _engine(
        self, S: Graph, omega: Omega, threads: int, *, lord: bool = False
    ) -> Solver:
        """Return the compiled solver, or the one for the device asked for."""
        if self.device is None:
            return Engine(S, omega, lord=lord, n_threads=threads, dtype=self.dtype)
        single = check_dtype(self.dtype) == np.float32
        return array_ascent(S, omega, device=self.device, single=single, lord=lord)

    def _uses_path(self) -> bool:
        """Tell whether the starts are paths: not in the paper's algorithm."""
        path = isinstance(self.start, str) and self.start == "path"
        return path and self.algorithm == "fast"

    def _count_starts(self, omega: Omega) -> int:
        """Return how many starts there are."""
        if not isinstance(self.start, str):
            return 1
        if not isinstance(self.n_init, str):
            return int(self.n_init)
        # Which cluster gets which share depends on where a path begins.
        paths = 1 if np.ptp(omega.mu) == 0 or not omega.exact else 5
        return paths if self._uses_path() else 10

    def _starts(self, omega: Omega) -> list[FloatArray]:
        """Return the V that the descents (or their paths) begin with."""
        if not isinstance(self.start, str):
            return [given_start(self.start, omega)]
        count = self._count_starts(omega)
        # A path without random_state is the same every time.
        fixed = self._uses_path() and self.random_state is None
        rng = check_random_state(0 if fixed else self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=count)
        return [random_start(omega, np.random.default_rng(s)) for s in seeds]

    def _saves(
        self, checkpoint: Any, starts: list[Any], S: Graph, omega: Omega, *more: Any
    ) -> list[Checkpoint | None]:
        """Return the checkpoint of each start, or None for each."""
        if checkpoint is None:
            return [None] * len(starts)
        limits = float(self.tol), self.max_iter, str(np.dtype(self.dtype))
        same = type(self).__name__, S, omega, *limits, *more
        return [
            Checkpoint(place, fingerprint(V, *same))
            for place, V in zip(places(checkpoint, len(starts)), starts, strict=True)
        ]

    def _run_all(self, task: Any, starts: list[Any], gain: float) -> list[SolverResult]:
        """Run a task for each start: one after the other, or side by side.

        Starts that have not begun when a callback has enough are left out; ``gain``
        is what callbacks are told of each.
        """
        threads = count_threads(self.n_jobs)
        at_once = min(threads, len(starts))
        each, enough = (threads if at_once == 1 else 1), Event()

        def run(start: Any) -> SolverResult | None:
            if enough.is_set():
                return None
            result: SolverResult = task(start, each)
            if callbacks.step(self, "start", gain):
                enough.set()
            return result

        if at_once == 1:
            return [r for r in map(run, starts) if r is not None]
        with ThreadPoolExecutor(at_once) as pool:
            return [r for r in pool.map(run, starts) if r is not None]

    def _keep_result(
        self,
        result: SolverResult,
        X: Any,
        S: Graph,
        shares: FloatArray,
        omega: Omega,
    ) -> Self:
        """Set the fitted attributes, clusters in canonical order."""
        P = membership_from(result.V, omega.mu)
        if not omega.exact:
            shares = omega.weight @ P / len(P)
        order, self.labels_ = numbered(P, shares, omega, self._rounds_exactly())
        self._norm2 = omega.norm2(result.V)
        self._keep_memberships(result.V, P, order, omega)
        self.proportions_ = shares[order]
        self.sizes_ = np.bincount(self.labels_, minlength=len(shares))
        self.objective_ = result.objective
        self.residual_ = result.residual
        self.n_iter_ = max(1, result.n_iter)
        self.converged_ = result.converged
        self.history_ = result.history
        self.affinity_matrix_ = S
        self._weight = omega.weight
        self._extension = None if self._is_precomputed() else self._make_extension(X)
        self._warn_if_unfinished(result)
        return self

    def _keep_memberships(
        self, V: FloatArray, P: FloatArray, order: IntArray, omega: Omega
    ) -> None:
        """Set ``membership_`` and ``V_``: all of them, or the largest of each row."""
        self.__dict__.pop("_nats", None)
        if self.proba_top is None:
            # In place: with the two of them, nothing else of n x k is needed.
            self.V_ = reordered(np.ascontiguousarray(V), order, omega.weight)
            self.membership_ = reordered(P, order)
            return
        self._nats = row_entropy(P)
        self.membership_ = top_entries(P, self.proba_top)
        M = self.membership_
        i, j = np.repeat(np.arange(len(P)), np.diff(M.indptr)), M.indices
        V_ = M.copy()
        # As much larger than in V as the membership is than in P.
        V_.data[:] = omega.weight[i] * V[i, j] * (M.data / P[i, j])
        self.membership_, self.V_ = M[:, order], V_[:, order]
        self.membership_.sort_indices()
        self.V_.sort_indices()

    def _warn_if_unfinished(self, result: SolverResult) -> None:
        """Warn if a descent ended before its tolerance."""
        if not result.converged:
            warnings.warn(
                f"{type(self).__name__} stopped at max_iter={self.max_iter}, residual "
                f"{result.residual:.1e} > tol={self.tol:.1e}. Raise max_iter or "
                "loosen tol.",
                ConvergenceWarning,
                stacklevel=4,
            )


def _is_knn(affinity: Any) -> bool:
    """Tell whether S is the default graph of neighbours."""
    return isinstance(affinity, str) and affinity == "knn"


def numbered(
    P: FloatArray, shares: FloatArray, omega: Omega, exact: bool
) -> tuple[IntArray, IntArray]:
    """Return the canonical order of the clusters, and labels numbered by it.

    Parameters
    ----------
    P : ndarray of shape (n, k)
        Memberships, clusters in any order.
    shares : ndarray of shape (k,)
        What exact labels are to meet, if ``omega`` keeps memberships to them too;
        otherwise they meet the shares of P.
    omega : Omega
        Clusters of equal mu may change places, unless they have known samples. A
        sample without weight has no say in the order.
    exact : bool
        Labels with n * shares samples a cluster, rounded to whole numbers, of the
        largest total membership; otherwise the most probable cluster of each.

    Returns
    -------
    order : ndarray of int, shape (k,)
        Columns of P, in canonical order.
    labels : ndarray of int, shape (n,)
        Places in ``order``.
    """
    heavy, alike = omega.weight > 0, omega.open_clusters()
    labels = labels_from(P)
    order = canonical_order(labels[heavy], omega.mu, alike)
    if not exact:
        return order, np.argsort(order)[labels]
    # If sizes cannot be equal, the clusters that come first have a sample more.
    shares = shares if omega.exact else omega.weight @ P[:, order] / len(P)
    sizes = whole_sizes(shares, len(P))
    cost = -P[:, order]
    if omega.known is not None:
        _check_places(omega.known, sizes)
        cost[omega.known >= 0] *= len(P)  # no gain of others is worth a known label
    labels = assign_sizes(cost, sizes)
    again = canonical_order(labels[heavy], omega.mu, alike)
    return order[again], np.argsort(again)[labels]


def _check_places(known: IntArray, sizes: IntArray) -> None:
    """Refuse more known samples in a cluster than exact rounding gives it."""
    taken = np.bincount(known[known >= 0], minlength=len(sizes))
    worst = int((taken - sizes).argmax())
    if taken[worst] > sizes[worst]:
        raise ValueError(
            f"known_labels put {taken[worst]} samples into cluster {worst}, which has "
            f"{sizes[worst]} places by exact rounding. Give it a larger size or "
            'proportion, or use rounding="argmax".'
        )
