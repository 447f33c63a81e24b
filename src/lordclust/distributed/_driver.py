"""The driver's part: seeds, candidates and the judge, on the collected graph."""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust._core.validation import check_similarity
from lordclust.choose.elliptical import affordable
from lordclust.choose.evidence import COVARIANCE_UP_TO, N_COMPONENTS
from lordclust.distributed._crew import Crew, LostError, again
from lordclust.distributed._rows import WorkerAscent, WorkerRows
from lordclust.distributed._samples import Origin, Tally
from lordclust.methods._choosing import choose_partition
from lordclust.methods._descents import solve_from_starts
from lordclust.methods._request import FitRequest, Samples
from lordclust.methods.lord import BLoRD
from lordclust.result import SolverResult
from lordclust.solver.omega import make_omega
from lordclust.solver.path import solve_at
from lordclust.solver.problem import Problem
from lordclust.solver.seeds import LLOYD, Seeds
from lordclust.solver.solve import Limits, result_of
from lordclust.solver.start import hard_start

#: Change of the centres, relative to the variance, at which k-means stops.
CENTRES_TOL = 1e-4
#: Names of shares that are equal, or equal to begin with.
EVEN = ("auto", "equal")


class WorkerData:
    """Samples and graph of a crew, as far as the driver needs them.

    After a loss a request is repeated: all answers are sums, or blocks, in the order of
    the blocks, so that they are the same bit for bit.
    """

    def __init__(self, crew: Crew, origin: Origin | None) -> None:
        self.crew, self._origin = crew, origin

    @property
    def origin(self) -> Origin:
        """Unit and mean of the samples."""
        assert self._origin is not None  # for mypy  # nosec B101
        return self._origin

    def recover(self) -> None:
        """Replace lost workers."""
        while True:
            try:
                return self.crew.replace_lost()
            except LostError:
                continue

    @again
    def graph(self) -> Graph:
        """Return S."""
        data, indices, counts = zip(*self.crew.by_block("lend_graph"), strict=True)
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        parts = np.concatenate(data), np.concatenate(indices), indptr
        return sp.csr_array(parts, shape=(self.crew.n, self.crew.n))

    @again
    def scales(self) -> FloatArray:
        """Return the local scales of all samples."""
        return np.concatenate(self.crew.by_block("lend_scales"))

    @again
    def scores(self, count: int) -> FloatArray:
        """Return the samples along their leading principal axes."""
        d = len(self.origin.mean)
        count = min(count, N_COMPONENTS, d)
        if d <= COVARIANCE_UP_TO:
            axes = eigh(self._covariance(), subset_by_index=[d - count, d - 1])[1]
        else:
            product = LinearOperator((d, d), matvec=self._covariance, dtype=np.float64)
            start = np.random.default_rng(0).standard_normal(d)
            axes = eigsh(product, count, v0=start)[1]
        axes = np.ascontiguousarray(axes[:, ::-1])
        return np.concatenate(self.crew.by_block("scores", self.origin, axes))

    def _covariance(self, b: FloatArray | None = None) -> FloatArray:
        """Return n times the covariance of the samples, or its product with b."""
        parts = self.crew.by_block("covariance", self.origin, b)
        return np.asarray(np.sum(parts, axis=0))

    @again
    def centres(self, labels: IntArray, k: int) -> IntArray:
        """Return the labels of k-means from given ones: those of scikit-learn's."""
        pieces = self.crew.dealt(labels)
        every = [(piece, self.origin, k) for piece in pieces]
        total = _total(self.crew.in_order(self.crew.ask_each("adopt", every)))
        centres = total.sums / total.counts[:, None]
        tol = CENTRES_TOL * total.squares / self.crew.n / centres.shape[1]
        for _ in range(LLOYD):
            total = self._assigned(centres)
            # A cluster that is left without samples keeps its centre.
            size = np.maximum(total.counts, 1)[:, None]
            new = np.where(total.counts[:, None] > 0, total.sums / size, centres)
            change, centres = float(((new - centres) ** 2).sum()), new
            if total.moved == 0 or change <= tol:
                break
        if total.moved:
            self._assigned(centres)
        return np.concatenate(self.crew.by_block("assigned"))

    def _assigned(self, centres: FloatArray) -> Tally:
        return _total(self.crew.by_block("assign", self.origin, centres))


def _total(parts: list[Tally]) -> Tally:
    """Return the sum of all blocks."""
    return Tally(*(np.sum(column, axis=0) for column in zip(*parts, strict=True)))


class WorkerSeeds(Seeds):
    """Seeds of a graph whose features are on workers; X is only their scores."""

    def __init__(self, data: WorkerData, *args: Any) -> None:
        super().__init__(*args)
        self.data = data

    def from_centres(self, labels: IntArray) -> IntArray | None:
        """Return labels of nearest centres by k-means, from labels if all are used."""
        used = np.bincount(labels, minlength=self.k).min() > 0
        return self.data.centres(labels, self.k) if used else None


class Driver(BLoRD):
    """:class:`lordclust.BLoRD` whose rows are on workers.

    Seeds, candidates and the judge are those of one machine. V is solved on workers:
    the paths of given tau and shares, and the last problem of a choice.
    """

    def fit_on(self, crew: Crew, origin: Origin | None) -> WorkerRows:
        """Fit to the samples or the graph of a crew; return the rows on workers."""
        data = WorkerData(crew, origin)
        k: Any = self.n_clusters  # not None here
        given = self.proportions
        given = None if isinstance(given, str) and given in EVEN else given
        omega, shares = make_omega(crew.n, k, given)
        S, X, scales = data.graph(), None, None
        if self._is_precomputed():
            S = check_similarity(S)
        elif any(self._automatic()):
            X, scales = data.scores(max(k, affordable(crew.n, k))), data.scales()
        self.rows = WorkerRows(crew, omega.mu)
        self._seeds_from = partial(WorkerSeeds, data)
        exact = self._rounds_exactly(omega)
        request = FitRequest(
            Samples(X, omega.weight > 0), omega, shares, exact, scales=scales
        )
        problem = self.problem_class.of(S, omega)
        solve = choose_partition if any(self._automatic()) else solve_from_starts
        self._keep(solve(self, problem, request), S, request)
        low, high = problem.spectrum
        self.eigenvalues_ = low + problem.shift, high + problem.shift
        return self.rows

    def _make_solver(self, problem: Problem, **_: object) -> WorkerAscent:
        self.rows.set_shares(problem.omega.mu)
        return WorkerAscent(self.rows, problem.omega, shift=problem.shift)

    def _solve_from_labels(
        self, problem: Problem, labels: IntArray, t: float, limits: Limits, **_: object
    ) -> SolverResult:
        solver = self._make_solver(problem)
        solver.put(hard_start(labels, problem.omega))
        solve_at(solver, problem, t, limits)
        return result_of(solver, problem, t)


# Warnings name the class.
Driver.__name__ = "BLoRD"
