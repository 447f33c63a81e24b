"""The paper's two rules for tau."""

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from lordclust._core.typing import Graph
from lordclust.solver.spectrum import DENSE_EIGEN


def tau_for_samples(n: int) -> float:
    """Return min(2 n^-0.24, 1), the paper's first rule."""
    return float(min(2 * n**-0.24, 1.0))


def tau_from_blocks(S: Graph, n_clusters: int) -> float:
    """Return min(0.34 exp(50 b - 0.03 log n), 1), the paper's second rule.

    b = (sum of the k smallest eigenvalues of the Laplacian of S) / (its trace). The
    paper's formula uses the largest, but its table of values, and its meaning (0 for a
    graph of k blocks), require the smallest.
    """
    n = S.shape[0]
    degrees = np.asarray(S.sum(axis=1)).ravel()
    trace = float(degrees.sum() - S.diagonal().sum())
    if trace <= 0:
        return 1.0
    laplacian = sp.diags_array(degrees) - sp.csr_array(S)
    if n_clusters >= n - 1 or n <= DENSE_EIGEN:
        low = np.linalg.eigvalsh(laplacian.toarray())[:n_clusters]
    else:
        # The largest of c I - L: Lanczos finds that end, without a factorisation.
        shift = 2 * float(degrees.max())
        flipped = shift * sp.eye_array(n) - laplacian
        start = np.random.default_rng(0).standard_normal(n)
        low = shift - eigsh(
            flipped, n_clusters, which="LA", v0=start, return_eigenvectors=False,
            tol=1e-6, ncv=min(n, max(2 * n_clusters + 20, 40)),
        )  # fmt: skip
    b = max(0.0, float(low.sum()) / trace)
    return float(min(0.34 * math.exp(min(50 * b, 700) - 0.03 * math.log(n)), 1.0))


#: The rules that ``tau="name"`` selects, as functions of S and the number of clusters.
TAU_RULES: dict[str, Callable[[Graph, int], float]] = {
    "n": lambda S, n_clusters: tau_for_samples(S.shape[0]),
    "blocks": tau_from_blocks,
}
