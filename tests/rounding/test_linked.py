"""Labels that meet all links: as good as all others on small cases."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lordclust.rounding.linked import linked_labels
from lordclust.rounding.transport import Bounds
from strategies import generators

NONE = np.empty((0, 2), dtype=int)


def total(P, labels):
    return P[np.arange(len(P)), labels].sum()


def meets(labels, must, cannot):
    a, b = labels[must.T], labels[cannot.T]
    return bool((a[0] == a[1]).all() and (b[0] != b[1]).all())


def all_labels(n, k, must, cannot, bounds):
    """All labellings that meet the links and bounds."""
    every = (np.array(one) for one in product(range(k), repeat=n))
    return [y for y in every if meets(y, must, cannot) and bounds.hold(y)]


@st.composite
def problems(draw):
    rng, n, k = draw(generators()), draw(st.integers(3, 6)), draw(st.integers(2, 3))
    hidden = rng.integers(0, k, n)
    pairs = rng.permutation([[i, j] for i in range(n) for j in range(i)])
    pairs = pairs[: draw(st.integers(1, 6))]
    alike = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    return rng.dirichlet(np.ones(k), n), hidden, pairs[alike], pairs[~alike]


@given(problems())
def test_no_labels_that_meet_the_links_are_better(problem):
    P, _, must, cannot = problem
    n, k = P.shape
    free = Bounds(np.zeros(k, dtype=int), np.full(k, n))
    every = all_labels(n, k, must, cannot, free)
    best = max(every, key=lambda labels: total(P, labels))
    assume(len(np.unique(best)) == k)  # otherwise no cluster may become empty
    labels = linked_labels(P, P.argmax(axis=1), must, cannot)
    assert meets(labels, must, cannot)
    assert total(P, labels) == pytest.approx(total(P, best))


@given(problems())
def test_links_and_sizes_are_met_if_possible(problem):
    P, hidden, must, cannot = problem
    sizes = np.bincount(hidden, minlength=P.shape[1])
    bounds = Bounds(sizes, sizes)
    labels = linked_labels(P, P.argmax(axis=1), must, cannot, bounds)
    assert meets(labels, must, cannot)
    assert bounds.hold(labels)


@given(problems())
def test_impossible_links_raise_and_possible_ones_do_not(problem):
    P, _, must, cannot = problem
    n, k = P.shape
    bounds = Bounds(np.zeros(k, dtype=int), np.full(k, -(-n // k)))
    if all_labels(n, k, must, cannot, bounds):
        labels = linked_labels(P, P.argmax(axis=1), must, cannot, bounds)
        assert meets(labels, must, cannot)
        assert bounds.hold(labels)
    else:
        with pytest.raises(ValueError, match="link"):
            linked_labels(P, P.argmax(axis=1), must, cannot, bounds)


@given(problems())
def test_labels_that_meet_their_links_stay(problem):
    P, hidden, must, cannot = problem
    np.testing.assert_array_equal(linked_labels(P, hidden, must, cannot), hidden)


@given(problems())
def test_known_labels_stay(problem):
    P, hidden, must, cannot = problem
    known = np.where(np.arange(len(P)) % 2 == 0, hidden, -1)
    start = np.where(known >= 0, known, P.argmax(axis=1))
    sizes = np.bincount(hidden, minlength=P.shape[1])
    # Without bounds no cluster may become empty: possible if all have members.
    for bounds in (Bounds(sizes, sizes), *([None] if sizes.min() > 0 else [])):
        labels = linked_labels(P, start, must, cannot, bounds, known)
        np.testing.assert_array_equal(labels[known >= 0], known[known >= 0])
        assert meets(labels, must, cannot)


def test_many_links_among_many_samples():
    rng = np.random.default_rng(0)
    n, k = 3000, 8
    hidden = rng.integers(0, k, n)
    P = rng.dirichlet(np.ones(k), n) + 2 * np.eye(k)[hidden]
    P /= P.sum(axis=1, keepdims=True)
    pairs = rng.integers(0, n, (4000, 2))
    alike = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    must, cannot = pairs[alike], pairs[~alike]
    must = must[must[:, 0] != must[:, 1]]
    sizes = np.bincount(hidden, minlength=k)
    for bounds in (None, Bounds(sizes - 5, sizes + 5)):
        labels = linked_labels(P, P.argmax(axis=1), must, cannot, bounds)
        assert meets(labels, must, cannot)
        assert (labels == hidden).mean() > 0.95


@pytest.mark.parametrize(
    ("must", "cannot", "high", "match"),
    [
        (NONE, [[0, 1], [1, 2], [0, 2]], 6, r"separates 3 samples .*\(0, 1, 2\)"),
        ([[0, 3]], [[3, 1], [1, 2], [0, 2]], 6, "separates 3 samples"),
        ([[0, 1], [1, 2], [2, 5]], NONE, 3, r"4 samples, \(0, 1, 2, 5\).*at most 3"),
        (
            [[0, 1], [2, 3], [4, 5]], NONE, 3,
            "No labels with 2 clusters were found that meet all links and sizes",
        ),
        (
            NONE, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [4, 5]], 6,
            r"all links and sizes of \(0, 1, 2, 3, 4\)",
        ),
    ],
)  # fmt: skip
def test_contradictions_are_named(must, cannot, high, match):
    P = np.full((6, 2), 0.5)
    bounds = Bounds(np.zeros(2, dtype=int), np.full(2, high))
    with pytest.raises(ValueError, match=match):
        linked_labels(P, np.zeros(6, int), np.array(must), np.array(cannot), bounds)


def test_no_cluster_becomes_empty():
    # Sample 0 alone is in cluster 1; joined with sample 1, another one must go there.
    P = np.array([[0.4, 0.6], [0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    labels = linked_labels(P, P.argmax(axis=1), np.array([[0, 1]]), NONE)
    np.testing.assert_array_equal(labels, [0, 0, 0, 1])
