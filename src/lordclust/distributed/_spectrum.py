"""The ends of the spectrum of an S in blocks on workers."""

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from lordclust._core.typing import FloatArray
from lordclust.distributed._crew import Crew
from lordclust.solver.spectrum import DENSE_EIGEN, Spectrum, round_to_30_bits

#: Up to this many samples the driver holds vectors, and finds the numbers that one
#: machine finds; beyond, vectors stay on the workers.
VECTORS_UP_TO = 1_000_000
#: Steps of Lanczos' method on the workers, and its tolerance.
MOST_STEPS, TOL = 200, 1e-3


def times(crew: Crew, x: FloatArray) -> FloatArray:
    """Return S x."""
    crew.ask_each("hold_vector", [(pieces,) for pieces in crew.dealt(np.ravel(x))])
    return np.concatenate(crew.by_block("times"))


def check_symmetric(crew: Crew) -> None:
    """Raise an error if x'(S y) and y'(S x) differ for random x and y."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, crew.n))
    Sx, Sy = times(crew, x), times(crew, y)
    gap, scale = abs(x @ Sy - y @ Sx), np.abs(x) @ np.abs(Sy) + np.abs(y) @ np.abs(Sx)
    if gap > 1e-8 * scale:
        raise ValueError(
            f"S must be symmetric, but x'Sy and y'Sx differ by {gap:.1e} for random x "
            "and y. Use (S + S.T) / 2."
        )


def spectrum(crew: Crew) -> Spectrum:
    """Return the ends of the spectrum of S, as one machine would."""
    n = crew.n
    if n <= DENSE_EIGEN:
        values = np.linalg.eigvalsh(np.stack([times(crew, e) for e in np.eye(n)]))
        return Spectrum(float(values[0]), float(values[-1]))
    if n > VECTORS_UP_TO:
        return lanczos(crew)
    operator = LinearOperator((n, n), matvec=lambda x: times(crew, x), dtype=np.float64)
    start = np.random.default_rng(0).random(n) + 0.1
    try:
        low, high = eigsh(
            operator, 2, which="BE", tol=1e-3, v0=start, return_eigenvectors=False
        )
    except (ArpackError, ArpackNoConvergence):
        return lanczos(crew)
    low, high = round_to_30_bits(min(low, high)), round_to_30_bits(max(low, high))
    return Spectrum(low, high)


def lanczos(crew: Crew, tol: float = TOL, most: int = MOST_STEPS) -> Spectrum:
    """Return the ends by Lanczos' method, with vectors on the workers.

    Three vectors per worker, two numbers per step. Without orthogonalisation inner
    values are found repeatedly, which does not affect the ends. They are moved outwards
    by the bound of their error.
    """
    beta = float(np.sqrt(sum(crew.by_block("lanczos_begin"))))
    diagonal: list[float] = []
    beside: list[float] = []
    low = high = radius = 0.0
    for step in range(min(most, crew.n)):
        crew.ask("lanczos_turn", beta)
        alpha = sum(crew.by_block("lanczos_times", beta if step else 0.0))
        diagonal.append(alpha)
        beta = float(np.sqrt(sum(crew.by_block("lanczos_part", alpha))))
        values, vectors = eigh_tridiagonal(diagonal, beside)
        low, high = float(values[0]), float(values[-1])
        radius = beta * float(np.abs(vectors[-1, [0, -1]]).max())
        if radius <= tol * (high - low) or beta <= 1e-12 * max(abs(low), abs(high)):
            break
        beside.append(beta)
    return Spectrum(low - radius, high + radius)
