"""Hypothesis strategies: proportions, matrices, feasible V, graphs and labels."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from lordclust.solver.start import sinkhorn_start

#: From far below the natural size 1/n of V to where few digits are left of it.
EXPONENTS = range(-6, 10)


class Case(NamedTuple):
    """A matrix to project and where to."""

    U: np.ndarray
    mu: np.ndarray
    rng: np.random.Generator


def generators():
    """Random generators; what they draw is decided by the seed alone."""
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def mus(draw, k):
    """Square roots of k proportions: equal, uneven, or down to 1e-4."""
    rng = draw(generators())
    shares = {
        "equal": np.ones(k),
        "uneven": rng.dirichlet(np.ones(k)) + 1e-3,
        "wild": 10.0 ** rng.uniform(-4, 0, k),
    }[draw(st.sampled_from(["equal", "uneven", "wild"]))]
    return np.sqrt(shares / shares.sum())


@st.composite
def labels(draw, n, k):
    """Labels of n samples; some of the k clusters may be empty."""
    return draw(generators()).integers(0, k, n)


@st.composite
def matrices(draw, n, k, exponents=EXPONENTS):
    """U of many kinds at a scale of 10^exponent."""
    rng = draw(generators())
    scale = 10.0 ** draw(st.sampled_from(list(exponents)))
    U = {
        "normal": lambda: rng.standard_normal((n, k)),
        "vertex": lambda: np.eye(k)[rng.integers(0, k, n)],
        "ties": lambda: rng.integers(-2, 3, (n, k)).astype(float),
        "heavy": lambda: rng.standard_t(2, (n, k)),
        "zero": lambda: np.zeros((n, k)),
    }[draw(st.sampled_from(["normal", "normal", "vertex", "ties", "heavy", "zero"]))]()
    return scale * U


@st.composite
def cases(draw, max_n=40, max_k=8, exponents=EXPONENTS):
    """A matrix, where to project it, and a generator for more."""
    n = draw(st.integers(1, max_n))
    k = draw(st.integers(1, min(n, max_k)))
    return Case(draw(matrices(n, k, exponents)), draw(mus(k)), draw(generators()))


def random_feasible(rng, n, mu, *, sharpness=1.0, sample_weight=None):
    """A point of Omega(mu); a large sharpness takes it close to the boundary."""
    U = rng.random((n, len(mu))) ** sharpness + 1e-9
    return sinkhorn_start(U, mu, sample_weight=sample_weight, max_iter=20000)


@st.composite
def feasible(draw, max_n=40, max_k=6):
    """A feasible V and its mu."""
    n = draw(st.integers(1, max_n))
    k = draw(st.integers(1, min(n, max_k)))
    mu = draw(mus(k))
    sharpness = draw(st.sampled_from([0.2, 1.0, 3.0]))
    return random_feasible(draw(generators()), n, mu, sharpness=sharpness), mu


def random_graph(rng, n, density=0.3, *, sparse=False):
    """A symmetric nonnegative graph with an empty diagonal."""
    S = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    S = S + S.T
    return sp.csr_array(S) if sparse else S


@st.composite
def graphs(draw, min_n=2, max_n=40, sparse=None):
    """Small symmetric graphs, dense and sparse."""
    n = draw(st.integers(min_n, max_n))
    density = draw(st.sampled_from([0.1, 0.5, 1.0]))
    sparse = draw(st.booleans()) if sparse is None else sparse
    return random_graph(draw(generators()), n, density, sparse=sparse)


def block_graph(rng, sizes, *, inside=0.5, between=0.02, sparse=True):
    """A graph with blocks of the given sizes, and its labels."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(y[:, None] == y, inside, between)
    S = np.triu((rng.random(chance.shape) < chance) * rng.random(chance.shape), 1)
    S = S + S.T
    return (sp.csr_array(S) if sparse else S), y
