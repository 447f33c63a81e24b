"""The problem that is solved: created once per fit, and passed to everything.

A problem consists of the similarity S (links added), the feasible set Omega (shares,
weights, known rows, strength) and the spectrum of S. Solvers, paths, the choice of
shares and tau, checkpoints and model files use it unchanged; nothing else scales S,
adds links or computes a spectrum.

Both models are a family over one parameter t in [0, 1], which a path follows: for
B-LoRD t is tau; for LoRD t = 1 is LoRD itself, and smaller t add a tilt that makes the
problem concave at t = 0.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from lordclust._core.typing import FloatArray, Graph
from lordclust.graph.normalize import scale_to_unit_sum
from lordclust.solver import objective
from lordclust.solver.links import Links
from lordclust.solver.omega import Omega
from lordclust.solver.spectrum import Spectrum, find_spectrum, remove_constant_diagonal


@dataclass(frozen=True)
class Problem(ABC):
    """S, the set Omega, and the spectrum of S.

    Attributes
    ----------
    S : ndarray or csr_array of shape (n, n)
        The similarity, as prepared for the solver. None if no machine holds all of it.
    omega : Omega
        The feasible set of V, with a penalty in the units of S.
    spectrum : Spectrum
        Extreme eigenvalues of S, with the weights of the samples.
    shift : float
        The constant diagonal that was removed from the user's S.
    """

    S: Graph
    omega: Omega
    spectrum: Spectrum
    shift: float = 0.0

    #: Whether this is LoRD, which has a quartic term, or B-LoRD.
    lord: ClassVar[bool]
    #: 1 if the objective is minimised, -1 if it is maximised.
    sign: ClassVar[int]
    #: The format of the name of a stop on a path.
    stop_name: ClassVar[str]
    #: The solver steps from V to V - step * gradient / factor.
    factor: ClassVar[int]

    @classmethod
    def of(cls, S: Graph, omega: Omega, links: Links | None = None) -> Self:
        """Return the problem for a user's S, which is not changed."""
        S, shift = cls._prepared(S, omega.weight)
        S = S if links is None else links.added_to(S)
        return cls.posed(S, omega, find_spectrum(S, omega.weight), shift)

    @classmethod
    def posed(
        cls, S: Graph, omega: Omega, spectrum: Spectrum, shift: float = 0.0
    ) -> Self:
        """Return the problem for a prepared S whose spectrum is known."""
        return cls(S, replace(omega, width=spectrum.width), spectrum, shift)

    @staticmethod
    @abstractmethod
    def _prepared(S: Graph, weight: FloatArray) -> tuple[Graph, float]:
        """Return S as the solver needs it, and the constant taken off its diagonal."""

    @abstractmethod
    def tilt(self, t: float) -> float:
        """Return the coefficient of ||V||_F^2 in the objective of the solver."""

    @abstractmethod
    def step(self, t: float) -> float:
        """Return the step length on a path."""

    def first_step(self, t: float) -> float:
        """Return the step length from a start that is not on a path."""
        return self.step(t)

    @abstractmethod
    def lipschitz(self, t: float) -> float:
        """Return the paper's Lipschitz constant of the gradient."""

    @abstractmethod
    def value(self, V: FloatArray, t: float) -> float:
        """Return the objective of the model, with the penalty of soft shares."""

    @abstractmethod
    def gradient(self, V: FloatArray, t: float) -> FloatArray:
        """Return the gradient of the function to minimise, in the metric of weights."""


class LoRDProblem(Problem):
    """min ||S - VV'||_F^2 over Omega(mu), where the entries of S sum to 1."""

    lord, sign, factor, stop_name = True, 1, 4, "step {:.2f}"

    @staticmethod
    def _prepared(S: Graph, weight: FloatArray) -> tuple[Graph, float]:
        return scale_to_unit_sum(S, None if np.all(weight == 1) else weight), 0.0

    def tilt(self, t: float) -> float:
        """Return -lambda_max(S) (1 - t): 0 for LoRD itself."""
        return -self.spectrum.high * (1 - t)

    def step(self, t: float) -> float:
        """Return the step length for the curvature at this tilt."""
        return objective.lord_step(self.spectrum, self.omega.bound, self.tilt(t))

    def lipschitz(self, t: float) -> float:
        """Return the paper's L_1."""
        return objective.lord_lipschitz(self.spectrum, self.omega.mass.max())

    def value(self, V: FloatArray, t: float) -> float:
        """Return ||S - VV'||_F^2 plus the penalty."""
        fit = objective.lord_objective(self.S, V, self.omega.weight)
        return fit + 2 * self.omega.penalty(V)

    def gradient(self, V: FloatArray, t: float) -> FloatArray:
        """Return 4 (VV' - S) QV."""
        return objective.lord_gradient(self.S, V, self.omega.weight)

    def history(self, V: FloatArray, values: FloatArray) -> FloatArray:
        """Return |S|^2 - 2 h for values h = <V, SV> - |V'V|^2 / 2 of the solver."""
        QV = self.omega.weighted(V)
        norm2 = objective.lord_objective(self.S, V, self.omega.weight)
        norm2 += 2 * float((QV * (self.S @ QV)).sum())
        norm2 -= float(((QV.T @ V) ** 2).sum())
        return np.asarray(norm2 - 2 * values)


class BLoRDProblem(Problem):
    """max Tr(V'SV) + gamma(tau) ||V||_F^2 over Omega(mu)."""

    lord, sign, factor, stop_name = False, -1, 2, "tau {:.3f}"

    _prepared = staticmethod(remove_constant_diagonal)

    def tilt(self, t: float) -> float:
        """Return gamma(tau) for the prepared S."""
        return self.spectrum.gamma(t)

    def tau_of(self, gamma: float) -> float:
        """Return the tau of a gamma for the user's S; raise an error outside [0, 1]."""
        low, high = (value + self.shift for value in self.spectrum)
        tau = (gamma + high) / self.spectrum.width
        if not -1e-9 <= tau <= 1 + 1e-9:
            raise ValueError(
                f"gamma must be from {-high:.6g} to {-low:.6g}, minus the largest and "
                f"the smallest eigenvalue of S, got {gamma:g}. Pass tau from 0 to 1 to "
                "be independent of the scale of S."
            )
        return float(min(max(tau, 0.0), 1.0))

    def step(self, t: float) -> float:
        """Return the step length for the curvature at this tau."""
        return objective.blord_step(self.spectrum, t)

    def first_step(self, t: float) -> float:
        """Return the paper's step: a longer one is worse from a random start."""
        return 2 / self.lipschitz(t)

    def lipschitz(self, t: float) -> float:
        """Return the paper's L_2."""
        return objective.blord_lipschitz(self.spectrum, self.tilt(t))

    def value(self, V: FloatArray, t: float) -> float:
        """Return Tr(V'QSQV) + gamma Tr(V'QV) minus the penalty."""
        fit = objective.blord_objective(self.S, V, self.tilt(t), self.omega.weight)
        return fit - self.omega.penalty(V)

    def gradient(self, V: FloatArray, t: float) -> FloatArray:
        """Return -2 (SQV + gamma V)."""
        return objective.blord_gradient(self.S, V, self.tilt(t), self.omega.weight)
