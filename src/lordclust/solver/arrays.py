"""Rows in plain arrays: of NumPy, or of PyTorch on any of its devices.

One small layer, ``ArrayKit``, defines how arrays are created, read and multiplied
by S. Everything else uses operations with the same names in both libraries.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from lordclust._core.typing import FloatArray, Graph
from lordclust._core.validation import missing_extra, unknown_name
from lordclust.solver import rules
from lordclust.solver.loop import Ascent, Step, Sums
from lordclust.solver.omega import Omega
from lordclust.solver.start import off_saddle

#: Devices that the solver is run on.
DEVICES = ("cpu", "cuda")


class NumpyKit:
    """NumPy and SciPy: what the solver needs beyond operators and methods.

    ``single`` keeps S, and multiplies by it, in float32: S takes most of the memory and
    time. V, its sums and the projection are in float64 either way.
    """

    def __init__(self, single: bool = False) -> None:
        self.single = single
        self._dtype = np.float32 if single else np.float64

    def array(self, x: Any) -> Any:
        """Return numbers in float64."""
        return np.asarray(x, dtype=np.float64)

    def graph(self, S: Graph) -> Any:
        """Return S in the working type."""
        if sp.issparse(S):
            return sp.csr_array(S).astype(self._dtype)
        return np.asarray(S, dtype=self._dtype)

    def multiply(self, S: Any, V: Any) -> Any:
        """Return S V."""
        return self.array(S @ V.astype(self._dtype))

    def numbers(self, x: Any) -> FloatArray:
        """Return the array."""
        return np.asarray(x)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """Choose x or y in each place."""
        return np.where(condition, x, y)

    def row_max(self, x: Any) -> Any:
        """Return the largest entry of each row."""
        return x.max(axis=1)


class TorchKit:
    """PyTorch on a device, with the same methods."""

    def __init__(self, device: str, single: bool = False) -> None:
        self.torch = load_torch(device)
        self.device, self.single = device, single
        self._dtype = self.torch.float32 if single else self.torch.float64

    def array(self, x: Any) -> Any:
        """Return numbers in float64, on the device."""
        if is_tensor(x):
            return x.to(self.torch.float64)
        x = np.array(x, dtype=np.float64)  # a copy: tensors must be writeable
        return self.torch.as_tensor(x, device=self.device)

    def graph(self, S: Graph) -> Any:
        """Return S as a dense or CSR tensor of the working type."""
        if not sp.issparse(S):
            return self.array(S).to(self._dtype)
        S = sp.csr_array(S)
        parts = (S.indptr.astype(np.int64), S.indices.astype(np.int64), S.data)
        with _quiet():
            return self.torch.sparse_csr_tensor(
                *(self.torch.as_tensor(np.array(x)) for x in parts),
                size=S.shape,
                dtype=self._dtype,
                device=self.device,
            )

    def multiply(self, S: Any, V: Any) -> Any:
        """Return S V."""
        return self.array(S @ V.to(self._dtype))

    def numbers(self, x: Any) -> FloatArray:
        """Return a tensor as a NumPy array."""
        return np.asarray(x.cpu().numpy())

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """Choose x or y in each place."""
        return self.torch.where(condition, x, y)

    def row_max(self, x: Any) -> Any:
        """Return the largest entry of each row."""
        return x.amax(dim=1)


ArrayKit: TypeAlias = NumpyKit | TorchKit


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop PyTorch's warning that its CSR tensors are in beta state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def load_torch(device: str) -> Any:
    """Return PyTorch, if it is installed and has the device."""
    if device not in DEVICES:
        raise unknown_name("device", device, DEVICES)
    try:
        import torch
    except ImportError:
        raise missing_extra("torch", "torch") from None
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            'device="cuda" requires a CUDA device, but PyTorch sees none here. Use '
            'device="cpu", or leave it out for the compiled solver.'
        )
    return torch


def is_tensor(x: Any) -> bool:
    """Return whether x is a tensor of PyTorch, without importing it."""
    return type(x).__module__.partition(".")[0] == "torch"


def from_tensor(x: Any) -> Any:
    """Return a dense tensor as an array, a sparse one as csr_array."""
    if not is_tensor(x):
        return x
    x = x.detach().cpu()
    if str(x.layout) == "torch.strided":
        return x.numpy()
    with _quiet():
        x = x.to_sparse_csr()
    parts = (x.values(), x.col_indices(), x.crow_indices())
    return sp.csr_array(tuple(p.numpy() for p in parts), shape=tuple(x.shape))


class Found(NamedTuple):
    """Rows for given multipliers: V, b, and what the Hessian needs."""

    V: Any
    b: Any
    slope: Any


class ArrayRows:
    """The rows of one machine, in arrays: see :class:`lordclust.solver.loop.Rows`.

    Parameters
    ----------
    S : ndarray or csr_array of shape (n, n)
        Symmetric similarity.
    omega : Omega
        The set.
    kit : ArrayKit
        Which arrays.
    """

    def __init__(self, S: Graph, omega: Omega, kit: ArrayKit) -> None:
        self.n, self.k = omega.shape
        self.omega, self.kit = omega, kit
        self.rounding = rules.ROUNDING_SINGLE_PRODUCT if kit.single else rules.ROUNDING
        self.S = kit.graph(S)
        self.mu, self.mass = kit.array(omega.mu), kit.array(omega.mass)
        self.weight = kit.array(omega.weight)[:, None]
        self.held = self._others(kit)
        self._marked: Any = None

    def _others(self, kit: ArrayKit) -> Any:
        """Return where rows of known clusters have no entry, or None."""
        if self.omega.known is None:
            return None
        known = self.omega.known[:, None]
        return kit.array((known >= 0) & (known != np.arange(self.k))) > 0

    # -- the iterate --------------------------------------------------------------

    def put(self, V: FloatArray) -> None:
        """Take V as the current iterate and as the one before; row roots from 0."""
        self.V = self.V_before = self.kit.array(V)
        self.SV: Any = None
        self.SV_before: Any = None
        self.b = 0.0 * self.mass

    def get(self) -> FloatArray:
        """Return the current iterate."""
        return self.kit.numbers(self.V)

    def accept(self) -> None:
        """Take the rows that the last sweep found as the current iterate."""
        self.V, self.V_before = self.V_next, self.V
        self.SV, self.SV_before = None, self.SV

    def go_back(self) -> None:
        """Return to the iterate before the current one."""
        self.V, self.V_before = self.V_before, self.V
        self.SV, self.SV_before = self.SV_before, self.SV

    def mark(self) -> None:
        """Remember the current iterate."""
        self._marked = self.V

    def change(self) -> float:
        """Return the relative change of V since the mark."""
        moved, norm2 = self._norm2(self.V - self._marked), self._norm2(self.V)
        return float(np.sqrt(moved / norm2))

    def leave_saddle(self) -> bool:
        """Leave the point that all paths begin with; return whether V was there."""
        V = off_saddle(self.get(), self.omega)
        if V is not None:
            self.put(V)
        return V is not None

    # -- sums ---------------------------------------------------------------------

    def _total(self, x: Any) -> float:
        """Return the weighted sum of all entries."""
        return float((x * self.weight).sum())

    def _norm2(self, V: Any) -> float:
        return self._total(V * V)

    def _columns(self, V: Any) -> FloatArray:
        return self.kit.numbers((V * self.weight).sum(axis=0))

    def columns(self) -> FloatArray:
        """Return sum_i q_i V_i of the current iterate."""
        return self._columns(self.V)

    def gram(self, theta: float) -> tuple[FloatArray, FloatArray]:
        """Return V'QV and W'QW."""
        V, W = self.V, self._ahead(theta)
        own, ahead = (V * self.weight).T @ V, (W * self.weight).T @ W
        return self.kit.numbers(own), self.kit.numbers(ahead)

    def _ahead(self, theta: float) -> Any:
        """Return W = V + theta (V - V_before)."""
        return self.V + theta * (self.V - self.V_before)

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
        quad = norm2 = moved = 0.0
        if step is not None:
            quad, norm2 = self._take_step(theta, step)
        found = self._roots(self.U - self.kit.array(a))
        V, self.b, self.V_next = found.V, found.b, found.V
        if measure:
            moved = self._norm2(V - self._ahead(theta))
        dual = self._norm2(V) / 2 + self._total((self.b * self.mass)[:, None])
        hessian = self._hessian(found) if curved else np.zeros((self.k, self.k))
        return Sums(self._columns(V), dual, moved, quad, norm2, hessian)

    def _take_step(self, theta: float, step: Step) -> tuple[float, float]:
        """Set U to the gradient step from W; return <V, SV> and |V|^2.

        The product is linear, so that S W follows from S V and S V_before.
        """
        if self.SV is None:
            self.SV = self.kit.multiply(self.S, self.V * self.weight)
        before = self.SV if self.SV_before is None else self.SV_before
        W = self._ahead(theta)
        SW = self.SV + theta * (self.SV - before)
        U = W * (1.0 + step.length * step.tilt) + SW * step.length
        if step.gram is not None:
            U = U - W @ self.kit.array(step.length * step.gram)
        if self.held is not None:
            # In place of minus infinity, which would lead to nan.
            U = self.kit.where(self.held, self.kit.array(-1e300), U)
        self.U = U
        return self._total(self.V * self.SV), self._norm2(self.V)

    def _roots(self, U: Any) -> Found:
        """Solve sum_j mu_j max(U_j - b mu_j, 0) = mass for the b of each row.

        Newton's method on convex piecewise linear functions: finite, and from the
        old b mostly one step. All rows continue until the last has converged.
        """
        mu, mass, b = self.mu, self.mass, self.b
        for _ in range(rules.ROOT_STEPS):
            x = U - b[:, None] * mu
            V = x.clip(min=0.0)
            slope = ((x > 0) * (mu * mu)).sum(axis=1)
            excess = V @ mu - mass
            move = excess / slope.clip(min=1e-300)
            off = abs(excess) > rules.ROOT_ERROR * mass
            off = off & (abs(move) > rules.ROOT_EPSILON * abs(b))
            if not bool(off.any()):
                break
            b, lost = b + move, slope == 0
            if bool(lost.any()):  # rows without a positive entry: b below the root
                low = self.kit.row_max(U / mu - mass[:, None] / (mu * mu))
                b = self.kit.where(lost, low, b)
        return Found(V, b, slope)

    def _hessian(self, found: Found) -> FloatArray:
        """Return sum_i q_i [diag(m_i) - (m_i o mu)(m_i o mu)' / (m_i . mu^2)].

        m_i marks the positive entries of a row. A row with one adds nothing.
        """
        member = found.V > 0
        mixed = member.sum(axis=1) > 1
        member, q = member[mixed], self.weight[mixed]
        diagonal = self.kit.numbers((member * q).sum(axis=0))
        part = member * self.mu
        outer = self.kit.numbers((part * (q / found.slope[mixed][:, None])).T @ part)
        return np.asarray(np.diag(diagonal) - outer)


def array_ascent(
    S: Graph,
    omega: Omega,
    *,
    device: str | None = None,
    single: bool = False,
    lord: bool = False,
) -> Ascent:
    """Return a solver in plain arrays: of NumPy, or of PyTorch on a device.

    With ``single``, S and its products are float32.
    """
    kit: ArrayKit = NumpyKit(single) if device is None else TorchKit(device, single)
    return Ascent(ArrayRows(S, omega, kit), omega, S, lord=lord)
