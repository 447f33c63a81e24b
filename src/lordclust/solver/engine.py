"""The compiled solver with its memory: allocated once per fit, run for many tau."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lordclust._core.typing import FloatArray, Graph, IntArray
from lordclust.rounding.subspace import renumbering
from lordclust.solver import kernels, rules
from lordclust.solver.kernels import Shared, Work
from lordclust.solver.lanes import ATOMIC, LANES
from lordclust.solver.omega import Omega
from lordclust.solver.start import off_saddle

#: Below this many rows a second thread costs more than it saves. Until it has begun,
#: one thread alone computes so many entries of V.
THREADS_FROM, ALONE = 2000, 400_000
#: Memory for sums by block: for LoRD with many clusters it bounds their number.
SUMS_BYTES = 256 * 2**20
#: Seconds after which a compiled call returns to Python (Ctrl-C, callbacks).
PATIENCE = 0.2


@dataclass(frozen=True)
class Progress:
    """What a callback sees between two compiled calls."""

    n_iter: int
    objective: float
    residual: float


Callback = Callable[[Progress], Any]


def to_tiles(M: FloatArray, n_tiles: int) -> FloatArray:
    """Return the rows of M in tiles of 16, zeros where rows are missing."""
    n, k = M.shape
    padded = np.zeros((n_tiles * LANES, k), M.dtype)
    padded[:n] = M
    return padded.reshape(n_tiles, LANES, k).transpose(0, 2, 1)


def from_tiles(tiles: FloatArray, n: int) -> FloatArray:
    """Return the first n rows kept in tiles."""
    rows = tiles.transpose(0, 2, 1).reshape(-1, tiles.shape[1])
    return np.ascontiguousarray(rows[:n])


def csr_parts(S: Graph, dtype: Any = np.float64) -> tuple[Any, Any, Any, Any]:
    """Return indptr, indices, data and the dense form; unused arrays are empty."""
    if not sp.issparse(S):
        empty = np.zeros(0, np.int32)
        dense = np.require(S, dtype, ["C", "W"])
        return np.zeros(0, np.int64), empty, np.zeros(0, dtype), dense
    S = sp.csr_array(S)
    small = S.nnz < np.iinfo(np.int32).max
    return (
        S.indptr.astype(np.int64),
        # To numba a read-only array has a type of its own, and would be compiled again.
        np.require(S.indices, np.int32 if small else np.int64, ["C", "W"]),
        np.require(S.data, dtype, ["C", "W"]),
        np.zeros((0, 0), dtype),
    )


def count_sums(k: int, hessian_size: int, lord: bool) -> int:
    """Return how many sums a block has; LoRD adds two Gram matrices."""
    return k + kernels.HESSIAN + hessian_size + (2 * k * k if lord else 0)


def allocate(
    parts: tuple[Any, Any, Any, Any],
    mu: FloatArray,
    mass: FloatArray,
    weight: FloatArray,
    known: IntArray,
    *,
    n_rows: int,
    block_starts: IntArray,
    hessian_size: int,
    solves: bool = True,
    lord: bool = False,
    dtype: Any = np.float64,
) -> Shared:
    """Make every array the kernels use.

    ``parts`` are those of S; masses, weights and known labels are in tiles;
    ``block_starts`` are the first tiles of the blocks of sums, and the number of tiles;
    ``n_rows`` counts the rows of V that S is multiplied by; ``hessian_size`` counts the
    numbers of H that are kept.
    """
    n_tiles, k = len(mass), len(mu)
    memory = np.zeros(11)
    memory[kernels.QUARTIC] = float(lord)
    width = -(-k // kernels.PAD) * kernels.PAD
    return Shared(
        *parts,
        mu=np.ascontiguousarray(mu, dtype=np.float64),
        mass=mass,
        weight=weight,
        known=known,
        # The iterate, the one before it, and space for the next.
        V=np.zeros((3 if solves else 1, n_tiles, k, LANES), dtype),
        SV=np.zeros((2 if solves else 0, n_tiles, k, LANES), dtype),
        U=np.zeros((n_tiles, k, LANES), dtype),
        # Row multipliers; rows without mass stay at a b that keeps them empty.
        b=np.where(mass > 0, 0.0, 1e300),
        # Q V by rows, twice: one is read by the product while one is written.
        rows=np.zeros((2, n_rows, width), dtype),
        a=np.zeros(k),
        # Sums by block, twice: one is read while one is written.
        parts=np.zeros((2, len(block_starts) - 1, count_sums(k, hessian_size, lord))),
        block_starts=block_starts,
        hessian_size=hessian_size,
        # Two counters, each on a cache line of its own.
        sync=np.zeros(16, np.int64),
        memory=memory,
        slots=np.zeros(11, np.int64),
        history=np.zeros(1),
    )


def work_of(s: Shared) -> Work:
    """Make the arrays that one thread uses alone."""
    k, size = len(s.mu), s.parts.shape[2]
    full = s.hessian_size == k * k
    has_grams = size > k + kernels.HESSIAN + s.hessian_size
    return Work(
        total=np.zeros(size),
        a=np.zeros(k),
        memory=np.zeros_like(s.memory),
        slots=np.zeros_like(s.slots),
        # The next a, the Newton step, and three vectors of conjugate gradients.
        steps=np.zeros((5, k)),
        factor=np.zeros((k if full else 0, k)),
        gram=np.zeros((k if has_grams else 0, k)),
        # Slopes, masks (or W) and the new V of a tile; its product by rows.
        lanes=np.zeros((2 * k + 1, LANES)),
        product=np.zeros((LANES, s.rows.shape[2])),
        active=np.zeros(k, np.int64),
    )


class Engine:
    """Solve max <V, SV> + tilt |V|^2 - quartic |V'V|^2 / 2 over Omega(mu).

    Row i of V counts by its weight q_i in each sum over rows: <V, SV> is
    sum_ij q_i q_j S_ij <V_i, V_j>, |V|^2 is sum_i q_i |V_i|^2, V'V is V'QV.

    Parameters
    ----------
    S : ndarray or csr_array of shape (n, n)
        Symmetric similarity, already checked; None if only projections are needed.
    omega : Omega
        The set: mu, the masses of the rows, and their weights.
    lord : bool
        LoRD (the quartic term) instead of B-LoRD.
    n_threads : int
        Threads; the result does not depend on it.
    dtype : float64 or float32
        Type of S and of all n x k arrays; arithmetic is float64.
    """

    def __init__(
        self,
        S: Graph,
        omega: Omega,
        *,
        lord: bool = False,
        n_threads: int = 1,
        dtype: Any = np.float64,
    ) -> None:
        self.n, self.k = omega.shape
        self.omega, self.S, self.dtype = omega, S, np.dtype(dtype)
        self.order = renumbering(S)
        if self.order is not None:
            S = S[self.order][:, self.order]
        n_tiles = -(-self.n // LANES)
        # The number of blocks depends on n alone, so sums do not depend on threads.
        hessian_size = self.k if self.k > rules.MANY else self.k**2
        sums = 16 * count_sums(self.k, hessian_size, lord)
        n_blocks = min(64, max(1, self.n // 512), max(1, SUMS_BYTES // sums))
        threaded = ATOMIC and self.n >= THREADS_FROM
        self.n_threads = min(n_threads, n_blocks) if threaded else 1
        known = np.zeros((0, LANES), np.int64)  # no tiles if no label is known
        if omega.known is not None:  # missing rows become 0, so count from 1
            known = self._tiled(omega.known + 1, n_tiles) - 1
        self.shared = allocate(
            csr_parts(sp.csr_array((self.n, self.n)) if S is None else S, self.dtype),
            omega.mu,
            self._tiled(omega.mass, n_tiles),
            self._tiled(omega.weight, n_tiles),
            known,
            n_rows=self.n,
            block_starts=np.linspace(0, n_tiles, n_blocks + 1).astype(np.int64),
            hessian_size=hessian_size,
            solves=S is not None,
            lord=lord,
            dtype=self.dtype,
        )
        s = self.shared
        #: What the kernels have code of their own for, None where it is not needed.
        self._kinds = (
            s.dense if len(s.dense) else None,
            s.known if len(s.known) else None,
            True if self.k > rules.MANY else None,
            True if lord else None,
        )
        self.work = [work_of(s) for _ in range(self.n_threads)]
        self._seconds_per_step = 1e-3
        #: Whether the last run reached its tolerance, and its passes over the rows.
        self.converged, self.passes = False, 0

    def _tiled(self, x: Any, n_tiles: int) -> Any:
        """Return one number per row in tiles of 16, zeros where rows are missing."""
        x = x if self.order is None else x[self.order]
        return to_tiles(x[:, None], n_tiles)[:, 0].copy()

    # -- projection ---------------------------------------------------------------

    def _project(self) -> None:
        """Project U, from the multipliers a and b, into the layer for the next V."""
        kernels.advance(self.shared, self.work[0], *self._kinds, 0, 1, 0, 0, 0.0)

    def project(
        self, U: FloatArray, start: FloatArray | None = None, ease: float = 0.0
    ) -> FloatArray:
        """Project U onto Omega(mu); with ease > 0 the columns are a soft constraint."""
        s = self.shared
        s.memory[kernels.EASE] = ease
        s.U[:] = to_tiles(U, len(s.U))
        s.b[s.mass > 0] = 0.0
        s.a[:] = 0.0 if start is None else start
        s.slots[:] = 0
        self._project()
        self.passes = int(s.slots[kernels.SWEEPS])
        return from_tiles(s.V[0], self.n)

    # -- descent ------------------------------------------------------------------

    def put(self, V: FloatArray) -> None:
        """Take V as the current iterate, with the rows of known clusters corrected."""
        s, slots = self.shared, self.shared.slots
        V = V if self.omega.known is None else self.omega.with_known(V)
        if self.order is not None:
            V = V[self.order]
        slots[:] = 0
        slots[kernels.NOW], slots[kernels.BEFORE], slots[kernels.SPARE] = 0, 1, 2
        slots[kernels.SV_NOW], slots[kernels.SV_BEFORE] = 0, 1
        s.V[0] = s.V[1] = to_tiles(V, len(s.U))
        s.rows[0, :, : self.k] = from_tiles(s.V[0] * s.weight[:, None], self.n)
        s.b[s.mass > 0] = 0.0
        s.a[:] = 0.0

    def get(self) -> FloatArray:
        """Return the current iterate in the caller's order."""
        return self._by_rows(self.shared.V[self.shared.slots[kernels.NOW]])

    def projected(self) -> FloatArray:
        """Return the current iterate, projected once more; the iterate is not changed.

        Uses U and the layer for the next V, which are free at the end of a run.
        """
        s = self.shared
        kept = s.a.copy(), s.b.copy(), s.slots.copy()
        s.U[:] = s.V[s.slots[kernels.NOW]]
        s.b[s.mass > 0] = 0.0
        s.a[:] = 0.0
        self._project()
        s.a[:], s.b[:], s.slots[:] = kept
        return self._by_rows(s.V[s.slots[kernels.SPARE]])

    def _by_rows(self, tiles: FloatArray) -> FloatArray:
        """Return rows kept in tiles in the caller's order."""
        if self.order is None:
            return from_tiles(tiles, self.n)
        V = np.empty((self.n, self.k), tiles.dtype)
        kernels.scatter_rows(tiles, self.order, V)
        return V

    def mark(self) -> None:
        """Remember the current iterate, its rows times the roots of their weights."""
        s = self.shared
        self._marked = s.V[s.slots[kernels.NOW]] * np.sqrt(s.weight)[:, None]

    def change(self) -> float:
        """Return the relative change of V since the mark, and set the mark again."""
        before = self._marked
        self.mark()
        V = self._marked
        return float(np.linalg.norm(V - before) / np.linalg.norm(V))

    def leave_saddle(self) -> None:
        """Mix a random point into a V that has collapsed to 1 mu'/n."""
        # V mu = mass in each row, so that |V - mass mu'|^2 = |V|^2 - |mass|^2: often
        # |V|^2 alone shows that V has not collapsed.
        s = self.shared
        now = s.V[s.slots[kernels.NOW]]
        norm2 = np.einsum("tkl,tkl,tl->", now, now, s.weight)
        level = float((s.weight * s.mass**2).sum())
        if self.omega.known is None and norm2 > (1 + 1e-6) * level:
            return
        V = off_saddle(self.get(), self.omega)
        if V is not None:
            self.put(V)

    def aim(self, step: float, tilt: float = 0.0) -> None:
        """Set the step length and gamma; reset momentum and counters."""
        memory, slots = self.shared.memory, self.shared.slots
        # Multipliers scale with the step: scaled, they remain a good start.
        if memory[kernels.STEP] > 0:
            self.shared.a[:] *= step / memory[kernels.STEP]
        memory[kernels.STEP], memory[kernels.TILT] = step, tilt
        memory[kernels.PRICE], memory[kernels.EASE] = np.inf, 0.0
        memory[kernels.PENALTY] = 0.0
        if not self.omega.exact:
            memory[kernels.PRICE] = self.omega.price
            memory[kernels.EASE] = self.omega.ease(step)
            memory[kernels.PENALTY] = self.omega.penalty(self.get())
        memory[kernels.MOMENTUM], memory[kernels.THETA] = 1.0, 0.0
        memory[kernels.SLACK], memory[kernels.RESIDUAL] = 0.0, 1.0
        memory[kernels.OBJECTIVE] = -np.inf
        slots[kernels.ITERATION] = slots[kernels.SWEEPS] = slots[kernels.VERIFY] = 0
        slots[kernels.STATUS] = rules.RUNNING
        self.converged, self.passes = False, 0

    def progress(self) -> Progress:
        """Return the iteration, objective and residual."""
        memory, slots = self.shared.memory, self.shared.slots
        return Progress(
            int(slots[kernels.ITERATION]),
            float(memory[kernels.OBJECTIVE]),
            float(memory[kernels.RESIDUAL]),
        )

    def run(
        self, tol: float, max_iter: int, callback: Callback | None = None
    ) -> tuple[Progress, bool]:
        """Run until the residual is at most ``tol``; return progress and convergence.

        A callback that returns True stops the run. Compiled calls return every
        fraction of a second, so that Ctrl-C works.
        """
        s, T = self.shared, self.n_threads
        if len(s.history) < max_iter + 2:
            self.shared = s = s._replace(history=np.zeros(max_iter + 2))
        with ThreadPoolExecutor(T) as pool:
            while s.slots[kernels.STATUS] == rules.RUNNING:
                steps = max(1, int(PATIENCE / self._seconds_per_step))
                before, start = int(s.slots[kernels.ITERATION]), time.perf_counter()
                alone = ALONE // (self.n * self.k) - before
                n_used = 1 if alone > 0 else T
                steps = steps if n_used == T else min(steps, alone)
                shares: list[Any] = [
                    (s, self.work[i], *self._kinds, i, n_used, steps, max_iter, tol)
                    for i in range(n_used)
                ]
                if n_used == 1:
                    kernels.advance(*shares[0])
                else:
                    for done in [pool.submit(kernels.advance, *one) for one in shares]:
                        done.result()
                taken = max(1, int(s.slots[kernels.ITERATION]) - before)
                self._seconds_per_step = (time.perf_counter() - start) / taken
                if callback is not None and callback(self.progress()):
                    break
        self.converged = bool(s.slots[kernels.STATUS] == rules.CONVERGED)
        self.passes = int(s.slots[kernels.SWEEPS])
        return self.progress(), self.converged

    @property
    def step(self) -> float:
        """The step length."""
        return float(self.shared.memory[kernels.STEP])

    def history(self) -> FloatArray:
        """Return the objective of each iteration of the last run."""
        n_iter = int(self.shared.slots[kernels.ITERATION])
        return np.array(self.shared.history[: n_iter + 1])
