"""Problems of a given S, without any preparation of it, and their solutions."""

from lordclust.solver.problem import BLoRDProblem, LoRDProblem
from lordclust.solver.solve import Limits, make_solver, solve
from lordclust.solver.spectrum import find_spectrum


def blord_problem(S, omega):
    return BLoRDProblem.posed(S, omega, find_spectrum(S, omega.weight))


def lord_problem(S, omega):
    """Return LoRD for an S whose entries sum to 1."""
    return LoRDProblem.posed(S, omega, find_spectrum(S, omega.weight))


def solved(problem, t, V, *, tol=1e-4, max_iter=4000, n_threads=1, callback=None):
    """Return the result of one descent from V."""
    solver = make_solver(problem, n_threads=n_threads)
    solver.put(V)
    return solve(solver, problem, t, Limits(tol, max_iter), callback)
