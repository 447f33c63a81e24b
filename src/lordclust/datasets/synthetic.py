"""Random samples and graphs with known classes."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray, Graph, IntArray, Seed

#: The paper's four Gaussians: means, and the standard deviation of each coordinate.
MEANS = np.array([[-2.0, 2.0], [2.0, 2.0], [-2.0, -2.0], [2.0, -2.0]])
DEVIATIONS = np.array([0.5, 1.0, 1.0, 1.5])

_COUNTS = (
    (50, 50, 50, 50),
    (40, 50, 50, 60),
    (30, 45, 55, 70),
    (20, 40, 60, 80),
    (10, 30, 60, 100),
)
#: The paper's five mixtures of 200 samples by name.
MIXTURES: dict[str, tuple[int, ...]] = {
    "synthetic-" + "-".join(map(str, counts)): counts for counts in _COUNTS
}


def four_gaussians(
    counts: Sequence[int] = (50, 50, 50, 50), *, random_state: Seed = 0
) -> tuple[FloatArray, IntArray]:
    """Draw the paper's synthetic samples from four isotropic Gaussians in the plane.

    The means are (-2, 2), (2, 2), (-2, -2), (2, -2), the variances 0.25, 1, 1, 2.25.

    Parameters
    ----------
    counts : sequence of 4 int, default=(50, 50, 50, 50)
        Number of samples of each Gaussian.
    random_state : int, RandomState or None, default=0
        Seed or generator of the draw.

    Returns
    -------
    X : ndarray, shape (sum(counts), 2)
    y : ndarray of int, shape (sum(counts),)

    Examples
    --------
    >>> X, y = four_gaussians([20, 40, 60, 80])
    >>> X.shape
    (200, 2)
    """
    sizes = _check_sizes(counts, "counts")
    if len(sizes) != len(MEANS):
        raise ValueError(
            f"counts must hold 4 numbers, one for each Gaussian, got {len(sizes)}. "
            "Use 0 to leave one out."
        )
    y = np.repeat(np.arange(len(sizes)), sizes)
    noise = _generator(random_state).standard_normal((len(y), 2))
    return MEANS[y] + DEVIATIONS[y, None] * noise, y


def block_graph(
    sizes: Sequence[int], p_in: float, p_out: float, *, random_state: Seed = 0
) -> tuple[Graph, IntArray]:
    """Draw a stochastic block model: a graph with two probabilities of edges.

    Parameters
    ----------
    sizes : sequence of int
        Number of vertices of each block.
    p_in, p_out : float
        Probability of an edge within a block and between two blocks.
    random_state : int, RandomState or None, default=0
        Seed or generator of the draw.

    Returns
    -------
    S : scipy.sparse.csr_array of float64, shape (n, n)
        1 for an edge; symmetric, without loops.
    y : ndarray of int, shape (n,)
        The block of each vertex.

    Examples
    --------
    >>> S, y = block_graph([2, 2], p_in=1.0, p_out=0.0)
    >>> S.toarray().astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 0]])
    """
    for name, p in (("p_in", p_in), ("p_out", p_out)):
        if not 0.0 <= p <= 1.0:
            raise ValueError(
                f"{name} must be a probability in [0, 1], got {p}. Use 0.1 for example."
            )
    blocks = _check_sizes(sizes, "sizes")
    y = np.repeat(np.arange(len(blocks)), blocks)
    rng = _generator(random_state)
    # Row by row, so that no n x n matrix of probabilities is needed.
    neighbours = []
    for i in range(len(y)):
        chance = np.where(y[i + 1 :] == y[i], p_in, p_out)
        drawn = rng.random_sample(len(chance)) < chance
        neighbours.append(i + 1 + np.flatnonzero(drawn))
    row = np.repeat(np.arange(len(y)), [len(found) for found in neighbours])
    col = np.concatenate(neighbours)
    upper = sparse.coo_array((np.ones(len(row)), (row, col)), shape=(len(y), len(y)))
    return sparse.csr_array(upper + upper.T), y


def _generator(random_state: Seed) -> np.random.RandomState:
    """Return the generator for a seed, as scikit-learn does."""
    from sklearn.utils import check_random_state

    rng: np.random.RandomState = check_random_state(random_state)
    return rng


def _check_sizes(sizes: Sequence[int], name: str) -> IntArray:
    """Return nonnegative integer sizes, not all zero."""
    found: IntArray = np.asarray(sizes)
    integers = found.ndim == 1 and found.size and found.dtype.kind in "iu"
    if not integers or found.min() < 0 or found.sum() == 0:
        raise ValueError(
            f"{name} must be a list of nonnegative integers, not all 0, got {sizes!r}. "
            "Pass one number per group."
        )
    return found
