"""B-LoRD where most rows of V have few positive entries: only these are kept.

From the labels of another clustering, and for tau where samples are certain of their
clusters, a row of V has one to three positive entries. Time and memory then follow
these entries and not n k. The iterations are those of
:class:`lordclust.solver.loop.Ascent`, and nothing is left out: an entry that is absent
becomes positive as soon as the projection makes it so, see sparse_kernels.py.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.solver import rules
from lordclust.solver import sparse_kernels as kernels
from lordclust.solver.engine import Callback, Progress, csr_parts
from lordclust.solver.loop import Ascent, Step, Sums
from lordclust.solver.omega import Omega
from lordclust.solver.sparse_kernels import Fixed, Place, Table

#: Below this many rows a second thread costs more than it saves.
THREADS_FROM = 10_000
#: Mean entries of a row of V, S V or U above which dense arrays are faster: a fraction
#: of k, but at least and at most so many.
FRACTION, FEW, MANY = 0.2, 8, 32
#: Relative error of a single entry of a row up to which it counts as the whole row.
WHOLE = 1e-12
#: Space of a part of a table: its first, in entries per row, and its growth.
SPACE, GROWTH = 0.25, 1.5
#: Relative error of a column sum in a V that is returned, and steps to get there; the
#: error above which exact multipliers are improved further, and how often.
FEASIBLE, SETTLING, SHARP, SHARPENINGS = 1e-12, 5, 3e-13, 5
#: Conjugate gradients: their finest relative accuracy, the error below which it is
#: used, and steps at most.
FINEST, NEAR, CG_STEPS = 1e-10, 1e-5, 1000


class TooDenseError(Exception):
    """Rows have too many entries to be kept as such; the iterate is not changed."""


class Layer(NamedTuple):
    """An iterate: the columns of hard rows, and the entries of the others."""

    hard: IntArray
    entries: Table


class Hessian(NamedTuple):
    """The entries of H above the diagonal, their rows and columns, and the diagonal."""

    firsts: IntArray
    seconds: IntArray
    values: FloatArray
    diagonal: FloatArray


def make_table(n: int, sizes: IntArray, dtype: Any, pairs: bool) -> Table:
    """Return a table without entries, with room for ``sizes`` of them in each block.

    An entry has one value, or two.
    """
    base = np.concatenate([[0], np.cumsum(sizes)])
    return Table(
        base,
        np.zeros(n, np.int64),
        np.zeros(n, np.int32),
        np.empty(base[-1], np.int32),
        np.empty(base[-1], dtype),
        np.empty(base[-1] if pairs else 0, dtype),
    )


def entries_of(table: Table, count: IntArray) -> IntArray:
    """Return where the entries of a table are, row by row."""
    ends = np.cumsum(count)
    shift = np.repeat(table.start - (ends - count), count)
    return np.asarray(np.arange(len(shift)) + shift)


class SparseRows:
    """The rows of one machine by their entries: see :class:`loop.Rows`.

    Parameters
    ----------
    S : csr_array of shape (n, n)
        Symmetric similarity.
    omega : Omega
        The set; the values of V mu must be equal.
    dtype : float64 or float32
        Type of S and of all entries; arithmetic is float64.
    limit : float
        Mean entries of a row above which :class:`TooDenseError` is raised.
    """

    def __init__(self, S: Graph, omega: Omega, dtype: Any, limit: float) -> None:
        self.n, self.k = omega.shape
        self.omega, self.dtype, self.limit = omega, np.dtype(dtype), limit
        if np.ptp(omega.mass) > 0:
            raise ValueError("The masses of the rows must be equal for sparse rows.")
        single = self.dtype == np.float32
        self.rounding = rules.ROUNDING_SINGLE_V if single else rules.ROUNDING
        # The number of blocks depends on n alone, so sums do not depend on threads.
        n_blocks = min(64, max(1, self.n // 512))
        self.n_blocks = n_blocks
        first = np.linspace(0, self.n, n_blocks + 1).astype(np.int64)
        indptr, indices, data, _ = csr_parts(sp.csr_array(S), self.dtype)
        if not omega.equal:
            data = data * omega.weight[indices].astype(self.dtype)
        none = np.zeros(0, np.int64)
        unit = float(omega.mass[0])
        self.fixed = Fixed(
            indptr, indices, data, omega.mu, unit / omega.mu, unit, omega.weight,
            none if omega.known is None else omega.known.astype(np.int64), first,
        )  # fmt: skip
        self.pool: ThreadPoolExecutor | None = None
        self.n_threads = 1
        self.parts = np.zeros((n_blocks, self.k + kernels.SUMS))
        self.need = np.zeros(n_blocks, np.int64)
        self.b = np.zeros(self.n)
        self.single: IntArray = np.empty(self.n, np.int32)
        self.stale = np.ones(self.n, np.uint8)
        self._allocate()

    def _allocate(self) -> None:
        """Make the tables: three iterates, two products, and the points to project."""
        sizes = (SPACE * np.diff(self.fixed.first)).astype(np.int64) + 64

        def table(pairs: bool) -> Table:
            return make_table(self.n, sizes, self.dtype, pairs)

        # Now, before, and space for the next.
        self.V = [Layer(np.empty(self.n, np.int32), table(False)) for _ in range(3)]
        # V and S Q V, now and before; U and W.
        self.SV, self.U = [table(True), table(True)], table(True)

    def _call(self, kernel: Callable[..., Any], *args: Any) -> None:
        """Call a kernel for all blocks, in as many threads as there are."""
        T, B = self.n_threads, self.n_blocks
        if self.pool is None or T == 1:
            kernel(*args, (0, B))
            return
        parts = [(t * B // T, (t + 1) * B // T) for t in range(T)]
        futures = [self.pool.submit(kernel, *args, part) for part in parts]
        for future in futures:
            future.result()

    def _grown(self, table: Table) -> Table | None:
        """Return a larger table if the last pass needed one."""
        need = self.need
        if need.sum() > self.limit * self.n:
            raise TooDenseError
        if np.all(need <= np.diff(table.base)):
            return None
        sizes = np.maximum(np.diff(table.base), (GROWTH * need).astype(np.int64))
        return make_table(self.n, sizes, self.dtype, len(table.others) > 0)

    # -- the iterate --------------------------------------------------------------

    def put(self, V: Any) -> None:
        """Take V, a csr_array or labels, as the current iterate; row roots from 0."""
        hard, table = self.V[0]
        if sp.issparse(V):
            table = self._put_entries(V, hard)
        else:
            hard[:] = V
            table.count[:] = 0
        if self.omega.known is not None:
            held = self.omega.known >= 0
            hard[held] = self.omega.known[held]
            table.count[held] = 0
        self.V[0] = Layer(hard, table)
        self.stale[:] = 1
        self.product_known = False
        self.b[:] = 0.0

    def _put_entries(self, V: Any, hard: IntArray) -> Table:
        """Set the columns of hard rows; return the entries of all others."""
        V = sp.csr_array(V, dtype=np.float64, copy=True)
        V.sum_duplicates()
        V.eliminate_zeros()
        count = np.diff(V.indptr)
        single = np.flatnonzero(count == 1)
        at = V.indptr[single]
        top = self.fixed.top[V.indices[at]]
        whole = np.abs(V.data[at] - top) <= WHOLE * top
        hard[:] = -1
        hard[single[whole]] = V.indices[at[whole]]
        return Table(
            V.indptr[self.fixed.first].astype(np.int64),
            V.indptr[:-1].astype(np.int64),
            np.where(hard >= 0, 0, count).astype(np.int32),
            V.indices.astype(np.int32),
            V.data.astype(self.dtype),
            np.empty(0, self.dtype),
        )

    def get(self) -> Any:
        """Return the current iterate as a csr_array."""
        hard, table = self.V[0]
        is_hard = hard >= 0
        count = np.where(is_hard, 1, table.count)
        indptr = np.concatenate([[0], np.cumsum(count)])
        columns = np.empty(indptr[-1], np.int32)
        values = np.empty(indptr[-1], self.dtype)
        rows, places = np.flatnonzero(is_hard), indptr[:-1][is_hard]
        columns[places] = hard[rows]
        values[places] = self.fixed.top[hard[rows]]
        at = entries_of(table, table.count * ~is_hard)
        others = np.repeat(~is_hard, count)
        columns[others], values[others] = table.columns[at], table.values[at]
        V = sp.csr_array((values, columns, indptr), shape=(self.n, self.k))
        V.sort_indices()
        return V

    def accept(self) -> None:
        """Take the rows that the last sweep found as the current iterate."""
        if self.n_entries > self.limit * self.n:
            raise TooDenseError
        free, table = self.V[2]
        self.stale[:] = 0
        while True:
            self._call(
                kernels.keep_rows, self.fixed, self.U, self.place, self.b, self.single,
                table, self.V[0].hard, self.stale, self.need,
            )  # fmt: skip
            grown = self._grown(table)
            if grown is None:
                break
            table = grown
        self.V = [Layer(self.single, table), *self.V[:2]]
        self.single = free
        self.SV.reverse()
        self.product_known = False

    def go_back(self) -> None:
        """Return to the iterate before the current one."""
        self.V[:2] = self.V[1], self.V[0]
        self.SV.reverse()

    def gram(self, theta: float) -> tuple[FloatArray, FloatArray]:
        """Refuse: V'QV is for LoRD, whose V is not sparse."""
        raise NotImplementedError

    def columns(self) -> FloatArray:
        """Return sum_i q_i V_i of the current iterate."""
        return np.asarray(self.get().T @ self.omega.weight)

    def mark(self) -> None:
        """Remember the current iterate."""
        self._marked = self.get()

    def change(self) -> float:
        """Return the relative change of V since the mark."""
        V = self.get()
        moved = self._norm2(V - self._marked)
        return float(np.sqrt(moved / self._norm2(V)))

    def _norm2(self, V: Any) -> float:
        return float((V.power(2).T @ self.omega.weight).sum())

    def leave_saddle(self) -> bool:
        """Do nothing: 1 mu'/n is not sparse."""
        return False

    # -- a pass -------------------------------------------------------------------

    def sweep(
        self,
        a: FloatArray,
        theta: float,
        step: Step | None,
        measure: bool,
        curved: bool,
    ) -> Sums:
        """Step from W, or not; find the rows for a; sum."""
        if step is not None:
            self._multiply()
            self._take_step(theta, step)
        ratio = -a / self.omega.mu
        order = np.argsort(-ratio, kind="stable")
        self.place = Place(a, order, ratio[order])
        self._call(
            kernels.find_rows, self.fixed, self.U, self.place, self.b, self.single,
            measure, self.parts,
        )  # fmt: skip
        total = self.parts[0].copy()
        for part in self.parts[1:]:
            total += part
        sums = total[self.k :]
        self.trace = float(sums[kernels.TRACE])
        self.n_pairs, self.n_entries = sums[kernels.PAIRS], sums[kernels.ENTRIES]
        return Sums(
            total[: self.k],
            float(sums[kernels.DUAL]),
            float(sums[kernels.MOVED]),
            float(sums[kernels.QUAD]),
            float(sums[kernels.NORM2]),
            np.zeros((0, 0)),
        )

    def _multiply(self) -> None:
        """Compute S Q V, unless it is known."""
        while not self.product_known:
            self._call(
                kernels.multiply, self.fixed, self.V[0].entries, self.V[0].hard,
                self.SV[1], self.stale, self.SV[0], self.need,
            )  # fmt: skip
            grown = self._grown(self.SV[0])
            self.product_known = grown is None
            self.SV[0] = grown or self.SV[0]

    def _take_step(self, theta: float, step: Step) -> None:
        """Set U to the gradient step from W."""
        keep = 1.0 + step.length * step.tilt
        while True:
            self._call(
                kernels.take_step, self.fixed, *self.SV, self.U, float(theta), keep,
                float(step.length), self.parts, self.need,
            )  # fmt: skip
            grown = self._grown(self.U)
            if grown is None:
                return
            self.U = grown

    def hessian(self) -> Hessian:
        """Return H at the last sweep."""
        mu, k = self.omega.mu, self.k
        if self.n_entries > 2 * self.limit * self.n:  # H would take long
            raise TooDenseError
        distinct = min(k * (k - 1) // 2, int(self.n_pairs))
        size = 2 << max(4, distinct.bit_length())
        direct = k * k <= 4 * size
        keys = np.full(0 if direct else size, -1)
        sums = np.zeros(k * k if direct else size)
        kernels.add_pairs(
            self.fixed, self.U, self.place, self.b, self.single, keys, sums
        )
        used = np.flatnonzero(sums)
        firsts, seconds = np.divmod(used if direct else keys[used], k)
        values = -sums[used]
        # H mu = 0 determines the diagonal.
        diagonal = np.bincount(firsts, values * mu[seconds], k)
        diagonal += np.bincount(seconds, values * mu[firsts], k)
        return Hessian(firsts, seconds, values, -diagonal / mu)


class SparseEngine(Ascent):
    """Solve max <V, SV> + tilt |V|^2 over Omega(mu), keeping the entries of V only.

    The same problem, the same iterations and the same methods as
    :class:`lordclust.solver.engine.Engine`, except that :meth:`put` takes labels or a
    csr_array and :meth:`get` returns one. If rows have too many entries on the way, a
    run ends with ``dense`` set, and V, not changed since the last iteration, is where
    the other engine can go on.

    Parameters
    ----------
    S : csr_array of shape (n, n)
        Symmetric similarity, already checked.
    omega : Omega
        The set: mu, the masses of the rows (equal), and their weights.
    n_threads : int
        Threads; the result does not depend on it.
    dtype : float64 or float32
        Type of S and of all entries; arithmetic is float64.
    limit : float, optional
        Mean entries of a row above which a run ends; by default the number above which
        dense arrays are faster.

    Attributes
    ----------
    dense : bool
        Whether the last run ended because of too many entries.
    """

    rows: SparseRows

    def __init__(
        self,
        S: Graph,
        omega: Omega,
        *,
        n_threads: int = 1,
        dtype: Any = np.float64,
        limit: float | None = None,
    ) -> None:
        if limit is None:
            limit = min(MANY, max(FEW, FRACTION * len(omega.mu)))
        rows = SparseRows(S, omega, dtype, limit)
        super().__init__(rows, omega, S)
        if self.n >= THREADS_FROM:
            rows.n_threads = min(n_threads, rows.n_blocks)
        self.dense = False

    def put(self, V: Any) -> None:
        """Take V as the current iterate: a csr_array, an array, or labels."""
        if not sp.issparse(V):
            V = np.asarray(V)
            if V.ndim == 1:
                self._check_labels(V)
            else:
                V = sp.csr_array(V)
        if sp.issparse(V) and V.shape != (self.n, self.k):
            raise ValueError(
                f"V must have shape {(self.n, self.k)}, samples by clusters, got "
                f"{V.shape}."
            )
        self.rows.put(V)
        self._forget()

    def _check_labels(self, labels: IntArray) -> None:
        """Raise ValueError if these are not n labels from 0 to k - 1."""
        whole = labels.shape == (self.n,) and labels.dtype.kind in "iu"
        if not whole or labels.min() < 0 or labels.max() >= self.k:
            raise ValueError(
                f"labels must be {self.n} integers from 0 to {self.k - 1}, got shape "
                f"{labels.shape} of {labels.dtype}."
            )

    def get_dense(self) -> FloatArray:
        """Return the current iterate as an array of shape (n, k)."""
        return np.asarray(self.rows.get().toarray())

    def run(
        self, tol: float, max_iter: int, callback: Callback | None = None
    ) -> tuple[Progress, bool]:
        """Run until the residual is at most ``tol``; return progress and convergence.

        A callback, called after each iteration, stops the run by returning True.
        """
        self.dense = False
        with ThreadPoolExecutor(self.rows.n_threads) as pool:
            self.rows.pool = pool
            try:
                super().run(tol, max_iter, callback)
                self.settle()
            except TooDenseError:
                self.dense = True
            finally:
                self.rows.pool = None
        return self.progress(), self.converged

    # -- the end ------------------------------------------------------------------

    def settle(self) -> None:
        """Make V feasible to rounding if it is not: after a run that ended early.

        One more step, without momentum, and an exact projection; if Newton steps get
        stuck before the last digits, another one. To project V itself would be a bad
        idea: all of its zeros are about to become positive. In single precision V
        cannot be feasible.
        """
        for _ in range(SETTLING if self.omega.exact else 0):
            if self.rows.rounding > rules.ROUNDING or self.column_error() <= FEASIBLE:
                break
            self._exact_step(measure=False)
            self.rows.accept()
            self._product_known = False

    def certificate(self) -> float:
        """Return |V - proj(V + step gradient)| / |V| at the current V, over all n k."""
        sums, norm2 = self._exact_step(measure=True)
        return float(np.sqrt(sums.moved / norm2))

    def _exact_step(self, *, measure: bool) -> tuple[Sums, float]:
        """Take a step from V, not yet accepted, and project it exactly."""
        step = Step(self.step, self.tilt)
        sums = self.rows.sweep(self.a, 0.0, step, measure, True)
        norm2 = sums.norm2
        self._product_known = True
        self.passes += 1
        return self._finish_projection(sums, 0.0, rules.STRICT, measure), norm2

    def column_error(self) -> float:
        """Return the largest relative error of a column sum of V."""
        off = np.abs(self.rows.columns() - self.omega.mu)
        return float((off / self.omega.mu).max())

    def projected(self) -> Any:
        """Return the current iterate, which a run leaves feasible."""
        return self.get()

    # -- Newton steps -------------------------------------------------------------

    def _finish_projection(
        self, sums: Sums, theta: float, tol: float, measure: bool
    ) -> Sums:
        """Find the column multipliers, and continue if they must be exact and are not.

        If few rows are mixed, a step may make one more row mixed and the error larger,
        too little for the dual value to show. From there one more step is exact.
        """
        sums = super()._finish_projection(sums, theta, tol, measure)
        least, best = self._error(sums), self.a
        for _ in range(SHARPENINGS if tol <= rules.STRICT else 0):
            if least <= SHARP:
                break
            sums = self._again(theta, measure)
            sums = super()._finish_projection(sums, theta, tol, measure)
            error = self._error(sums)
            if error < least:
                least, best = error, self.a
        if best is not self.a:
            self.a = best
            sums = self._closed(self._again(theta, measure), best)
        return sums

    def _again(self, theta: float, measure: bool) -> Sums:
        """Return the sums at the multipliers, computed again."""
        self.passes += 1
        return self.rows.sweep(self.a, theta, None, measure, True)

    def _trace(self, sums: Sums) -> float:
        """Return the trace of H, which a pass adds up without H."""
        return self.rows.trace

    def _hessian(self, sums: Sums) -> Hessian:
        """Return H at the last sweep."""
        return self.rows.hessian()

    def _direction(
        self, H: Any, damping: float, F: FloatArray, error: float
    ) -> FloatArray:
        """Return the d with (H + damping I) d = F, by conjugate gradients."""
        diagonal = np.maximum(H.diagonal, 0.0) + damping
        accuracy = rules.cg_accuracy(error)
        if error < NEAR:  # the last digits: a product costs less than another pass
            accuracy = max(rules.STRICT / error, FINEST)
        return np.asarray(
            kernels.conjugate_gradients(*H[:3], diagonal, F, accuracy, CG_STEPS)
        )
