"""Pairs of clusters that share samples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lordclust.rounding.confusion import confusable_pairs
from strategies import generators


def by_definition(P, w, a, b):
    both = w @ np.minimum(P[:, a], P[:, b])
    return both / min(w @ P[:, a], w @ P[:, b])


@given(generators(), st.integers(2, 6))
def test_dense_and_sparse_agree_with_the_definition(rng, k):
    P = rng.dirichlet(np.full(k, 0.3), 40)
    P[P < 0.05] = 0
    w = rng.uniform(0.5, 2, 40)
    dense = confusable_pairs(P, w, 3)
    shares = [pair.share for pair in dense]
    assert shares == sorted(shares, reverse=True)
    found = {(p.a, p.b): p for p in dense}
    for p in confusable_pairs(sparse.csr_array(P), w, 3):
        same = found.pop((p.a, p.b))
        np.testing.assert_allclose(p.share, same.share)
        np.testing.assert_allclose(p.share, by_definition(P, w, p.a, p.b))
        np.testing.assert_array_equal(p.samples, same.samples)
        least = np.minimum(P[:, p.a], P[:, p.b])
        assert least[p.samples[0]] == least.max()
    assert not found


def test_certain_samples_are_not_shared():
    P = np.eye(3)[[0, 1, 2, 0]]
    assert confusable_pairs(P, np.ones(4)) == []
    assert confusable_pairs(sparse.csr_array(P), np.ones(4)) == []
    named = confusable_pairs(np.full((4, 2), 0.5), np.ones(4))[0]
    assert named.share == 1.0
    assert len(named.samples) == 0
