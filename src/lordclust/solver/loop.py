"""The accelerated ascent over any kind of rows.

The outer loop sees k + k^2 numbers a pass and never V: it takes the decisions of
:func:`lordclust.solver.kernels.advance`, in the same order. What passes over the rows,
on one machine or many, in NumPy or on a GPU, is behind :class:`Rows`.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from lordclust._core.typing import FloatArray, Graph
from lordclust.solver.engine import Callback, Progress
from lordclust.solver.kernels import (
    CALM,
    CONVERGED,
    EXHAUSTED,
    MEASURE_EVERY,
    RUNNING,
    STRICT,
)
from lordclust.solver.omega import Omega
from lordclust.solver.projection import project_newton


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
        Of the dual, in its upper triangle, if it was asked for.
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
    #: Relative error of the objective: of a product S V in single precision, say.
    noise: float

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
        """Take up the iterate before the current one again."""

    def gram(self, theta: float) -> tuple[FloatArray, FloatArray]:
        """Return V'QV and W'QW."""

    def columns(self) -> FloatArray:
        """Return sum_i q_i V_i of the current iterate."""

    def mark(self) -> None:
        """Remember the current iterate."""

    def change(self) -> float:
        """Return the relative change of V since the mark."""

    def leave_saddle(self) -> bool:
        """Leave the point that all paths begin with; tell whether V was there."""


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
        LoRD (the quartic term) in place of B-LoRD.
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
        """Take V as the current iterate, rows of known clusters as they must be."""
        self.rows.put(self.omega.with_known(V))
        self._forget()

    def get(self) -> FloatArray:
        """Return the current iterate."""
        return self.rows.get()

    def projected(self) -> FloatArray:
        """Return the current iterate, projected once more."""
        return project_newton(self.get(), self.omega)[0]

    def _forget(self) -> None:
        """Forget what belonged to another iterate."""
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
        """Mix some of a random point into a V that has collapsed to 1 mu'/n."""
        if self.rows.leave_saddle():
            self._forget()

    # -- the ascent ---------------------------------------------------------------

    def aim(self, step: float, tilt: float = 0.0) -> None:
        """Set the step length and gamma; momentum and counters start afresh."""
        # Multipliers scale with the step: keep them a good start.
        if self.step > 0:
            self.a = self.a * (step / self.step)
        self.step, self.tilt = step, tilt
        self.ease = self.omega.ease(step)
        self.penalty = 0.0
        if not self.omega.exact:
            self.penalty = self._price(self.rows.columns() - self.omega.mu)
        self._restart()

    def _price(self, off: FloatArray) -> float:
        """Return what columns pay that are off by so much."""
        return self.omega.price * float((off**2).sum())

    def progress(self) -> Progress:
        """Return where the ascent stands."""
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
        """Run until the residual is at most ``tol``; return where, and if it is.

        A callback, called after each iteration, stops the run by returning True.
        """
        while self.status == RUNNING:
            self._iterate(tol, max_iter)
            if callback is not None and callback(self.progress()):
                break
        return self.progress(), self.converged

    def _iterate(self, tol: float, max_iter: int) -> None:
        """Take one step, or find that there is none to take."""
        verify = self.verify
        if self.iteration >= max_iter and not verify:
            self.status = EXHAUSTED
            return
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.momentum**2))
        grown = 1.0 if self.residual > CALM else float(grown)
        theta = 0.0 if verify else (self.momentum - 1.0) / grown
        due = self.iteration % MEASURE_EVERY == MEASURE_EVERY - 1
        measure = verify or due
        sums = self._gradient_sweep(theta, measure)
        if sums is None:
            return
        norm2, loose = sums.norm2, max(STRICT, min(1e-4, 0.01 * self.residual))
        sums = self._finish_projection(
            sums, theta, STRICT if measure else loose, measure
        )
        if measure:
            self.residual = float(np.sqrt(sums.moved / norm2))
            if verify and self.residual <= tol:
                self.status = CONVERGED
                return
            self.verify = self.residual <= tol and not verify
        self._accept(sums, theta, grown)

    def _gradient_sweep(self, theta: float, measure: bool) -> Sums | None:
        """Step, sum and judge the current V; None if it was given up for the last."""
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
        objective = sums.quad + self.tilt * sums.norm2 - quartic - self.penalty
        self._history[self.iteration :] = [objective]
        objective -= self.slack
        floor = self.objective - self.rows.noise * abs(self.objective)
        if objective < floor and self.theta > 0.0:
            self.rows.go_back()
            self.momentum, self.theta, self.verify = 1.0, 0.0, False
            self._history[self.iteration :] = [self.objective]
            return None
        self.objective = objective
        return sums

    def _accept(self, sums: Sums, theta: float, grown: float) -> None:
        """Go on to the projected V, and note what is off in its columns."""
        self.rows.accept()
        self._product_known = False
        self.iteration += 1
        self.theta, self.momentum = theta, grown
        # ``columns`` holds F by now, see _closed.
        if self.omega.exact:
            self.slack = float(2.0 / self.step * (self.a @ sums.columns))
        else:
            self.penalty = self._price(sums.columns + self.ease * self.a)

    # -- the projection -----------------------------------------------------------

    def _closed(self, sums: Sums, a: FloatArray) -> Sums:
        """Return the sums with F in place of the columns, and the whole dual value.

        F = V'1 - mu - ease a, where ease = 0 keeps the columns to mu, and more lets
        them give way at a price.
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
        final ``a``, closed. Where H is costly it is kept while the error falls
        tenfold in a step.
        """
        sums = self._closed(sums, self.a)
        error = self._error(sums)
        matrix = sums.hessian
        cheap = float(np.trace(matrix)) < self.n
        if cheap:  # the compiled loop says why
            tol = max(STRICT, tol * min(1.0, 10.0 * self.k / np.sqrt(2.0 * self.n)))
        fresh, curved = True, cheap
        scale = self.n / self.k
        for _ in range(100):
            if not error > tol:
                break
            before, value = error, sums.dual
            if fresh:
                damping = scale * (1e-12 + 0.01 * min(1.0, error)) + self.ease
                matrix = _symmetric(sums.hessian) + damping * np.eye(self.k)
            d = np.linalg.solve(matrix, sums.columns)
            slope = float(d @ sums.columns)
            sums, error = self._search(sums, d, theta, tol, measure, curved)
            fresh, curved = curved, cheap or error > 0.1 * before
            flat = slope < 4e-16 * abs(value)
            if error > 0.5 * before and (error < 1e-9 or flat):
                break  # rounding: no further digit is to be had
        return sums

    def _search(
        self,
        sums: Sums,
        d: FloatArray,
        theta: float,
        tol: float,
        measure: bool,
        curved: bool,
    ) -> tuple[Sums, float]:
        """Move the multipliers along d, as far as the dual falls enough."""
        value, slope, start = sums.dual, float(d @ sums.columns), self.a
        length = 1.0
        for _ in range(40):
            self.a = start + length * d
            sums = self.rows.sweep(self.a, theta, None, measure, curved)
            self.passes += 1
            sums = self._closed(sums, self.a)
            error = self._error(sums)
            enough = value - 1e-4 * length * slope + 1e-13 * abs(value)
            if error <= tol or sums.dual <= enough:
                break
            length *= 0.5
        return sums, error

    # -- where it stands ----------------------------------------------------------

    def settle(self) -> None:
        """Make V feasible to rounding also when the ascent was cut short.

        A step of length 0 and a projection: for columns that are kept to mu.
        """
        if self.converged or not self.omega.exact:
            return
        self.a = np.zeros(self.k)
        sums = self.rows.sweep(self.a, 0.0, Step(0.0, 0.0), False, True)
        self._finish_projection(sums, 0.0, STRICT, False)
        self.rows.accept()
        self._product_known = False

    def measured(self) -> float:
        """Return <V, SV> + tilt |V|^2 less the price of columns, measured anew."""
        sums = self.rows.sweep(self.a, 0.0, Step(self.step, self.tilt), False, False)
        self._product_known = True
        objective = sums.quad + self.tilt * sums.norm2
        if not self.omega.exact:
            objective -= self._price(self.rows.columns() - self.omega.mu)
        return objective


def _symmetric(H: Any) -> FloatArray:
    """Return the whole of a symmetric matrix that is given by its upper triangle."""
    upper = np.triu(H)
    return np.asarray(upper + np.triu(H, 1).T)
