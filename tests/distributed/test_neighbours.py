"""Neighbours block against block, without a cluster."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from lordclust.distributed import _neighbours as neighbours
from lordclust.graph.kernel import unit_scale

RNG = np.random.default_rng(0)
CASES = {
    "random": RNG.random((120, 5)),
    "far": 1e8 + RNG.random((80, 3)),
    "line": np.repeat(np.arange(6.0), 12)[:, None],
    "crowd": np.vstack([np.zeros((40, 3)), RNG.random((50, 3))]),
    "small blocks": RNG.random((20, 2)),
}


def by_differences(X, count):
    """Return the nearest others, the first in X of those equally near."""
    gap = (X[:, None, :] - X) * unit_scale(X)
    d = np.sqrt(np.einsum("ijk,ijk->ij", gap, gap))
    np.fill_diagonal(d, np.inf)
    order = np.argsort(d, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(d, order, 1)


@pytest.mark.parametrize("name", CASES)
def test_blocks_find_the_neighbours_of_the_whole(name):
    X, count = CASES[name], 6
    unit = unit_scale(X)
    cuts = [0, 4, len(X) // 3, len(X) // 2, len(X)]
    index, d = by_differences(X, count)
    for x, y in pairwise(cuts):
        near = neighbours.Nearest(X[x:y], count, unit)
        for low, high in pairwise(cuts):
            near.offer(X[low:high], low, unit * X.mean(axis=0), x == low)
        np.testing.assert_array_equal(near.index, index[x:y])
        np.testing.assert_allclose(near.distance, d[x:y], rtol=1e-14)


def test_edges_of_all_blocks_join_to_the_union():
    beside = (RNG.random((30, 30)) < 0.1) * (1 - np.eye(30))
    W = sp.csr_array(RNG.random((30, 30)) * beside)
    cuts = [0, 7, 20, 30]
    blocks = {x: sp.csr_array(W[x:y]) for x, y in pairwise(cuts)}
    joined = []
    for x, y in pairwise(cuts):
        edges = [neighbours.edges_into(B, first, x, y) for first, B in blocks.items()]
        joined.append(neighbours.joined(blocks[x], edges, x, 1.0))
    known = W.maximum(W.T) + sp.eye_array(30)
    np.testing.assert_array_equal(sp.vstack(joined).toarray(), known.toarray())
