"""The decisions of the algorithm, each in one place.

Two loops take them: :class:`lordclust.solver.loop.Ascent`, in Python, and
:func:`lordclust.solver.kernels.advance`, which compiles these functions. To change the
algorithm, change a rule or constant here. A rule is plain arithmetic on numbers and
calls no other rule; the comments of docs/solver.md give the reasons at length.
"""

from math import sqrt
from typing import TypeVar

from lordclust._core.typing import FloatArray

#: A number, or one for each column.
Columns = TypeVar("Columns", float, FloatArray)

# Values of the status of a run.
RUNNING, CONVERGED, EXHAUSTED = range(3)

#: Above this many clusters the Newton system is solved by conjugate gradients. The
#: compiled loop then never forms H, which is k x k.
MANY = 64

# -- the outer loop ---------------------------------------------------------------

#: Relative error of the column sums in a V that may be returned.
STRICT = 1e-13
#: Largest relative error of the column sums in any V, and its ratio to the residual.
LOOSEST, LOOSE_RATIO = 1e-4, 0.01
#: Iterations between two measurements of the residual.
MEASURE_EVERY = 4
#: Residual below which momentum is used: earlier, it leads to worse optima.
CALM = 1e-2
#: Relative rounding error of the objective: in double precision, with V in single
#: precision, and with products S V in single precision.
ROUNDING, ROUNDING_SINGLE_V, ROUNDING_SINGLE_PRODUCT = 1e-13, 1e-9, 1e-6


def is_exhausted(iteration: int, max_iter: int, verify: bool) -> bool:
    """Return whether the limit is reached; a verification may still follow."""
    return iteration >= max_iter and not verify


def objective(
    quad: float, norm2: float, tilt: float, quartic: float, penalty: float
) -> float:
    """Return <V, SV> + tilt |V|^2 - quartic - penalty."""
    return quad + tilt * norm2 - quartic - penalty


def next_momentum(momentum: float, residual: float) -> float:
    """Return Nesterov's next momentum; 1 while V still moves a lot."""
    grown = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
    return 1.0 if residual > CALM else grown


def extrapolation(momentum: float, grown: float, verify: bool) -> float:
    """Return theta of W = V + theta (V - V_before); a verification starts from V."""
    return 0.0 if verify else (momentum - 1.0) / grown


def is_measured(iteration: int, verify: bool) -> bool:
    """Return whether this iteration measures the residual."""
    return verify or iteration % MEASURE_EVERY == MEASURE_EVERY - 1


def projection_tolerance(residual: float, measure: bool) -> float:
    """Return how exact the projection must be: STRICT where the residual is measured.

    In between a projection may be off by a fraction of the residual.
    """
    loose = max(STRICT, min(LOOSEST, LOOSE_RATIO * residual))
    return STRICT if measure else loose


def has_fallen(objective: float, before: float, rounding: float, theta: float) -> bool:
    """Return whether momentum (theta > 0) has made the objective worse: a restart."""
    floor = before - rounding * abs(before)
    return objective < floor and theta > 0.0


def is_verified(residual: float, tol: float, verify: bool) -> bool:
    """Return whether a step without momentum confirms that the run has converged."""
    return verify and residual <= tol


def must_verify(residual: float, tol: float, verify: bool) -> bool:
    """Return whether the next step, without momentum, must confirm convergence."""
    return residual <= tol and not verify


def column_slack(a: Columns, step: float, off: Columns) -> Columns:
    """Return what a column's error adds to the objective.

    An error of the column sum by ``off`` is worth 2 a / step per unit.
    """
    return 2.0 * a / step * off


def column_penalty(price: float, off: Columns) -> Columns:
    """Return the penalty of a column sum that deviates from mu by ``off``."""
    return price * off * off


# -- Newton steps on the column multipliers ---------------------------------------

#: Newton steps of one projection, halvings of one step, and products with H for one
#: step by conjugate gradients, at most.
NEWTON_STEPS, HALVINGS, CG_STEPS = 100, 40, 100
#: Damping as a multiple of n / k: at the least, and per unit of error.
DAMPING_LEAST, DAMPING_RATIO = 1e-12, 0.01
#: Relative accuracy of conjugate gradients: from, to, and per unit of error.
CG_FINEST, CG_COARSEST, CG_RATIO = 1e-6, 0.05, 10.0
#: Armijo's constant, and the rounding error of the dual value.
ARMIJO, DUAL_ROUNDING = 1e-4, 1e-13
#: H is kept while a step reduces the error by this factor.
KEEP_BELOW = 0.1
#: A step that leaves more than half of the error is the last where the error is below
#: LAST_DIGITS, or the predicted decrease is below EPSILON times the dual value.
LAST_DIGITS, EPSILON = 1e-9, 4e-16


def is_cheap(trace: float, n: int) -> bool:
    """Return whether few rows are mixed, so that H costs next to nothing."""
    return trace < n


def cheap_tolerance(tol: float, n: int, k: int) -> float:
    """Return the tolerance of a projection where few rows are mixed.

    These few rows, in the worst case one, compensate the error of the columns: a step
    of sqrt(2 n) / k times the relative error.
    """
    return max(STRICT, tol * min(1.0, 10.0 * k / sqrt(2.0 * n)))


def damping(error: float, scale: float, ease: float) -> float:
    """Return what is added to the diagonal of H; ``scale`` is n / k."""
    return scale * (DAMPING_LEAST + DAMPING_RATIO * min(1.0, error)) + ease


def cg_accuracy(error: float) -> float:
    """Return the relative accuracy to which conjugate gradients solve."""
    return max(CG_FINEST, min(CG_COARSEST, CG_RATIO * error))


def cg_continues(rho: float, start: float, accuracy: float) -> bool:
    """Return whether the squared residual ``rho`` is still too large."""
    return rho > accuracy * accuracy * start


def falls_enough(dual: float, value: float, length: float, slope: float) -> bool:
    """Return whether a step of this length reduces the dual value enough (Armijo)."""
    return dual <= value - ARMIJO * length * slope + DUAL_ROUNDING * abs(value)


def must_renew(error: float, before: float) -> bool:
    """Return whether H is to be computed again: the last step did not gain a digit."""
    return error > KEEP_BELOW * before


def is_at_rounding(error: float, before: float, slope: float, value: float) -> bool:
    """Return whether rounding prevents any further digit."""
    small = error < LAST_DIGITS or slope < EPSILON * abs(value)
    return error > 0.5 * before and small


# -- row roots --------------------------------------------------------------------

#: Newton steps of a row's root, at most; its relative errors, of the sum and of b.
ROOT_STEPS, ROOT_ERROR, ROOT_EPSILON = 200, 1e-13, 4e-16
