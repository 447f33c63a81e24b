"""The algorithm, to be read first: accelerated projected gradient ascent.

An iteration is a gradient step from an extrapolated point, then Newton steps for the
projection onto Omega(mu). The loop sees k + k^2 numbers per pass over the rows, never
V: what passes over the rows, on one machine or many, in NumPy or on a GPU, is behind
:class:`Rows`. Decisions are taken by the functions of rules.py.
:func:`lordclust.solver.kernels.advance` is the compiled form of :class:`Ascent`.
"""

from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from lordclust._core.typing import FloatArray, Graph
from lordclust.solver import rules
from lordclust.solver.engine import Callback, Engine, Progress
from lordclust.solver.omega import Omega
from lordclust.solver.projection import project_newton
from lordclust.solver.rules import CONVERGED, EXHAUSTED, MANY, RUNNING, STRICT


class Step(NamedTuple):
    """A gradient step U = W + length (S W + tilt W - W gram); gram is LoRD's."""

    length: float
    tilt: float
    gram: FloatArray | None = None


class Sums(NamedTuple):
    """What a pass over the rows returns, V its result and q the weights.

    Attributes
    ----------
    columns : ndarray of shape (k,)
        sum_i q_i V_i.
    dual : float
        sum_i q_i (|V_i|^2 / 2 + b_i mass_i).
    moved : float
        Weighted |V - W|^2, if it was to be measured.
    quad, norm2 : float
        <V, S V> and |V|^2 of the V that the gradient step began with.
    hessian : ndarray of shape (k, k)
        Of the dual, in its upper triangle, if it was requested.
    """

    columns: FloatArray
    dual: float
    moved: float
    quad: float
    norm2: float
    hessian: FloatArray


class Rows(Protocol):
    """V by rows, the one before it, and passes over them."""

    n: int
    #: Relative rounding error of the objective.
    rounding: float

    def put(self, V: FloatArray) -> None:
        """Take V as the current iterate and as the one before; row roots from 0."""

    def get(self) -> FloatArray:
        """Return the current iterate."""

    def sweep(
        self,
        a: FloatArray,
        theta: float,
        step: Step | None,
        measure: bool,
        curved: bool,
    ) -> Sums:
        """Step from W = V + theta (V - V_before), or not; find the rows for a; sum.

        Without a step the last one's U is used again.
        """

    def accept(self) -> None:
        """Take the rows that the last sweep found as the current iterate."""

    def go_back(self) -> None:
        """Return to the iterate before the current one."""

    def gram(self, theta: float) -> tuple[FloatArray, FloatArray]:
        """Return V'QV and W'QW."""

    def columns(self) -> FloatArray:
        """Return sum_i q_i V_i of the current iterate."""

    def mark(self) -> None:
        """Remember the current iterate."""

    def change(self) -> float:
        """Return the relative change of V since the mark."""

    def leave_saddle(self) -> bool:
        """Leave the point that all paths begin with; return whether V was there."""


class Ascent:
    """Solve max <V, SV> + tilt |V|^2 - quartic |V'V|^2 / 2 over Omega(mu).

    The same problem, the same iterations and the same methods as
    :class:`lordclust.solver.engine.Engine`, for rows that are kept elsewhere.

    Parameters
    ----------
    rows : Rows
        Where V is kept.
    omega : Omega
        The set.
    S : ndarray or csr_array of shape (n, n), optional
        The similarity, where one machine holds it.
    lord : bool
        LoRD (the quartic term) instead of B-LoRD.
    """

    def __init__(
        self, rows: Rows, omega: Omega, S: Graph = None, *, lord: bool = False
    ) -> None:
        self.n, self.k = omega.shape
        self.rows, self.omega, self.S, self.lord = rows, omega, S, lord
        self.step = self.tilt = 0.0
        self._forget()

    # -- the iterate --------------------------------------------------------------

    def put(self, V: FloatArray) -> None:
        """Take V as the current iterate, with the rows of known clusters corrected."""
        self.rows.put(self.omega.with_known(V))
        self._forget()

    def get(self) -> FloatArray:
        """Return the current iterate."""
        return self.rows.get()

    def projected(self) -> FloatArray:
        """Return the current iterate, projected once more."""
        return project_newton(self.get(), self.omega)[0]

    def _forget(self) -> None:
        """Reset what belonged to another iterate."""
        self.a = np.zeros(self.k)
        self._product_known = False
        self._restart()

    def _restart(self) -> None:
        """Set momentum and counters back."""
        self.momentum, self.theta = 1.0, 0.0
        self.slack, self.residual, self.objective = 0.0, 1.0, -np.inf
        self.iteration = self.passes = 0
        self.verify, self.status = False, RUNNING
        self._history: list[float] = []

    def mark(self) -> None:
        """Remember the current iterate."""
        self.rows.mark()

    def change(self) -> float:
        """Return the relative change of V since the mark."""
        return self.rows.change()

    def leave_saddle(self) -> None:
        """Mix a random point into a V that has collapsed to 1 mu'/n."""
        if self.rows.leave_saddle():
            self._forget()

    # -- the ascent ---------------------------------------------------------------

    def aim(self, step: float, tilt: float = 0.0) -> None:
        """Set the step length and gamma; reset momentum and counters."""
        # Multipliers scale with the step: scaled, they remain a good start.
        if self.step > 0:
            self.a = self.a * (step / self.step)
        self.step, self.tilt = step, tilt
        self.ease = self.omega.ease(step)
        self.penalty = 0.0
        if not self.omega.exact:
            self.penalty = self._penalty(self.rows.columns() - self.omega.mu)
        self._restart()

    def _penalty(self, off: FloatArray) -> float:
        """Return the penalty of columns that deviate from mu by ``off``."""
        return float(rules.column_penalty(self.omega.price, off).sum())

    def progress(self) -> Progress:
        """Return the iteration, objective and residual."""
        return Progress(self.iteration, self.objective, self.residual)

    @property
    def converged(self) -> bool:
        """Whether the last run reached its tolerance."""
        return self.status == CONVERGED

    def history(self) -> FloatArray:
        """Return the objective of each iteration of the last run."""
        return np.array(self._history[: self.iteration + 1])

    def run(
        self, tol: float, max_iter: int, callback: Callback | None = None
    ) -> tuple[Progress, bool]:
        """Run until the residual is at most ``tol``; return progress and convergence.

        A callback, called after each iteration, stops the run by returning True.
        """
        while self.status == RUNNING:
            self._iterate(tol, max_iter)
            if callback is not None and callback(self.progress()):
                break
        return self.progress(), self.converged

    def _iterate(self, tol: float, max_iter: int) -> None:
        """Take one step, or end the run."""
        verify = self.verify
        if rules.is_exhausted(self.iteration, max_iter, verify):
            self.status = EXHAUSTED
            return
        grown = rules.next_momentum(self.momentum, self.residual)
        theta = rules.extrapolation(self.momentum, grown, verify)
        measure = rules.is_measured(self.iteration, verify)
        sums = self._gradient_sweep(theta, measure)
        if sums is None:
            return
        norm2 = sums.norm2
        near = rules.projection_tolerance(self.residual, measure)
        sums = self._finish_projection(sums, theta, near, measure)
        if measure:
            self.residual = float(np.sqrt(sums.moved / norm2))
            if rules.is_verified(self.residual, tol, verify):
                self.status = CONVERGED
                return
            self.verify = rules.must_verify(self.residual, tol, verify)
        self._accept(sums, theta, grown)

    def _gradient_sweep(self, theta: float, measure: bool) -> Sums | None:
        """Step and sum; None if V got worse, and the V before it is restored."""
        fresh = not self._product_known or self.objective == -np.inf
        gram, quartic = None, 0.0
        if self.lord:
            own, gram = self.rows.gram(theta)
            quartic = 0.5 * float((own**2).sum())
        step = Step(self.step, self.tilt, gram)
        sums = self.rows.sweep(self.a, theta, step, measure, True)
        self._product_known = True
        self.passes += 1
        if not fresh:
            return sums
        objective = rules.objective(
            sums.quad, sums.norm2, self.tilt, quartic, self.penalty
        )
        self._history[self.iteration :] = [objective]
        objective -= self.slack
        if rules.has_fallen(objective, self.objective, self.rows.rounding, self.theta):
            self.rows.go_back()
            self.momentum, self.theta, self.verify = 1.0, 0.0, False
            self._history[self.iteration :] = [self.objective]
            return None
        self.objective = objective
        return sums

    def _accept(self, sums: Sums, theta: float, grown: float) -> None:
        """Accept the projected V, and record the error of its columns."""
        self.rows.accept()
        self._product_known = False
        self.iteration += 1
        self.theta, self.momentum = theta, grown
        # ``columns`` holds F by now, see _closed.
        if self.omega.exact:
            slack = rules.column_slack(self.a, self.step, sums.columns)
            self.slack = float(slack.sum())
        else:
            self.penalty = self._penalty(sums.columns + self.ease * self.a)

    # -- the projection -----------------------------------------------------------

    def _closed(self, sums: Sums, a: FloatArray) -> Sums:
        """Return the sums with F in place of the columns, and the complete dual value.

        F = V'1 - mu - ease a: with ease = 0 the columns must equal mu, with more they
        are a soft constraint.
        """
        mu, ease = self.omega.mu, self.ease
        return sums._replace(
            columns=sums.columns - mu - ease * a,
            dual=sums.dual + float(a @ (mu + 0.5 * ease * a)),
        )

    def _error(self, sums: Sums) -> float:
        """Return max_j |F_j| / mu_j."""
        return float((np.abs(sums.columns) / self.omega.mu).max())

    def _finish_projection(
        self, sums: Sums, theta: float, tol: float, measure: bool
    ) -> Sums:
        """Newton steps on the column multipliers until the marginals agree to ``tol``.

        Starts after a sweep at ``a`` with its sums; returns those of the sweep at the
        final ``a``, closed. Where H is costly it is kept while each step reduces the
        error tenfold.
        """
        sums = self._closed(sums, self.a)
        error = self._error(sums)
        many, cheap = self.k > MANY, rules.is_cheap(self._trace(sums), self.n)
        if cheap:
            tol = rules.cheap_tolerance(tol, self.n, self.k)
        H, damping = None, 0.0
        fresh, curved = True, many or cheap
        for _ in range(rules.NEWTON_STEPS):
            if not error > tol:
                break
            before, value = error, sums.dual
            if fresh:
                H = self._hessian(sums)
                damping = rules.damping(error, self.n / self.k, self.ease)
            d = self._direction(H, damping, sums.columns, error)
            slope = float(d @ sums.columns)
            sums, error = self._search(sums, d, theta, tol, measure, curved)
            fresh, curved = curved, many or cheap or rules.must_renew(error, before)
            if rules.is_at_rounding(error, before, slope, value):
                break
        return sums

    def _trace(self, sums: Sums) -> float:
        """Return the trace of H."""
        return float(np.trace(sums.hessian))

    def _hessian(self, sums: Sums) -> Any:
        """Return H in the form that :meth:`_direction` needs."""
        return _symmetric(sums.hessian)

    def _direction(
        self, H: Any, damping: float, F: FloatArray, error: float
    ) -> FloatArray:
        """Return the d with (H + damping I) d = F."""
        if self.k > MANY:
            return _conjugate_gradients(H, damping, F, rules.cg_accuracy(error))
        return np.linalg.solve(H + damping * np.eye(self.k), F)

    def _search(
        self,
        sums: Sums,
        d: FloatArray,
        theta: float,
        tol: float,
        measure: bool,
        curved: bool,
    ) -> tuple[Sums, float]:
        """Move the multipliers along d, halving until the dual decreases enough."""
        value, slope, start = sums.dual, float(d @ sums.columns), self.a
        length = 1.0
        for _ in range(rules.HALVINGS):
            self.a = start + length * d
            sums = self.rows.sweep(self.a, theta, None, measure, curved)
            self.passes += 1
            sums = self._closed(sums, self.a)
            error = self._error(sums)
            if error <= tol or rules.falls_enough(sums.dual, value, length, slope):
                break
            length *= 0.5
        return sums, error

    # -- the end ------------------------------------------------------------------

    def settle(self) -> None:
        """Make V feasible to rounding if the ascent ended early.

        A step of length 0 and a projection, where the columns must equal mu.
        """
        if self.converged or not self.omega.exact:
            return
        self.a = np.zeros(self.k)
        sums = self.rows.sweep(self.a, 0.0, Step(0.0, 0.0), False, True)
        self._finish_projection(sums, 0.0, STRICT, False)
        self.rows.accept()
        self._product_known = False

    def measured(self) -> float:
        """Return <V, SV> + tilt |V|^2 - penalty, computed again."""
        sums = self.rows.sweep(self.a, 0.0, Step(self.step, self.tilt), False, False)
        self._product_known = True
        objective = sums.quad + self.tilt * sums.norm2
        if not self.omega.exact:
            objective -= self._penalty(self.rows.columns() - self.omega.mu)
        return objective


#: What paths and descents work with, wherever rows are; they use the same methods.
Solver: TypeAlias = Engine | Ascent


def _symmetric(H: FloatArray) -> FloatArray:
    """Return a symmetric matrix that is given by its upper triangle."""
    return np.asarray(np.triu(H) + np.triu(H, 1).T)


def _conjugate_gradients(
    H: FloatArray, damping: float, F: FloatArray, accuracy: float
) -> FloatArray:
    """Solve (H + damping I) d = F to a relative accuracy, scaled by the diagonal."""
    diagonal = np.maximum(np.diag(H), 0.0) + damping
    d, r, p = np.zeros_like(F), F, F / diagonal
    start = rho = float(r @ p)
    for _ in range(rules.CG_STEPS):
        if not rules.cg_continues(rho, start, accuracy):
            break
        image = H @ p + damping * p
        curvature = float(p @ image)
        if not curvature > 0.0:
            break
        length, before = rho / curvature, rho
        d, r = d + length * p, r - length * image
        rho = float(r @ (r / diagonal))
        p = r / diagonal + rho / before * p
    return d
