"""The search by cells and neighbours of neighbours."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust._core import memory
from lordclust._core.keys import sample_keys
from lordclust.graph import KNNGraph, _cells, _cells_kernels, knn
from lordclust.graph.euclidean import euclidean


def hard_points(n, d=24):
    """One Gaussian: neighbours are scattered over many cells."""
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


@pytest.fixture
def few_cells(monkeypatch):
    """So that a few thousand points are not all compared at once."""
    monkeypatch.setattr(_cells, "FEWEST", 4)
    monkeypatch.setattr(_cells, "MISSED", 20.0)
    monkeypatch.setattr(_cells, "SMALLEST", 24)


@pytest.fixture
def search(few_cells):
    space = euclidean(hard_points(3000))
    keys = sample_keys(space.base)
    truth = _cells.Truth.of(space, np.arange(0, 3000, 6), 10)
    with ThreadPoolExecutor(2) as pool:
        yield _cells._Search(space, truth, keys, 18, pool, 2, None)


def squared(points, i, j):
    gap = points[i].astype(np.float64) - points[j]
    return (gap**2).sum(axis=-1)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=20).filter(any),
    st.integers(1, 15),
)
def test_starts_cover_all_and_cut_what_is_large(sizes, largest):
    starts = _cells._starts(np.array(sizes), largest)
    assert starts[0] == 0
    assert starts[-1] == sum(sizes)
    assert np.diff(starts).min() > 0
    assert np.diff(starts).max() <= largest
    assert set(np.cumsum(sizes)) <= set(starts.tolist())


def test_cells_hold_every_point_once_and_near_ones():
    X = hard_points(2000)
    with ThreadPoolExecutor(2) as pool:
        order, starts = _cells.cut_into_cells(X, sample_keys(X), pool)
    assert np.array_equal(np.sort(order), np.arange(2000))
    spread = [X[order[a:b]].var(axis=0).sum() for a, b in pairwise(starts)]
    assert np.mean(spread) < 0.9 * X.var(axis=0).sum()


def test_a_crowd_of_copies_does_not_make_a_large_cell():
    X = hard_points(4000)
    X[:3000] = X[0]
    with ThreadPoolExecutor(2) as pool:
        starts = _cells.cut_into_cells(X, sample_keys(X), pool).starts
    assert np.diff(starts).max() <= 2 * _cells.SMALLEST


def test_points_are_compared_with_the_cells_nearest_to_them(search, monkeypatch):
    monkeypatch.setattr(_cells, "AROUND", 100)
    search.compare(3)
    starts = search.cells.starts
    own = np.searchsorted(starts, np.arange(3000), side="right") - 1
    for i in range(0, 3000, 300):
        gap = ((search.points[i] - search.centres) ** 2).sum(axis=1)
        near = {*np.argsort(gap)[:3], own[i]}
        others = np.concatenate([np.arange(starts[c], starts[c + 1]) for c in near])
        others = others[others != i]
        best = others[np.argsort(squared(search.points, i, others))[:18]]
        assert set(search.who[i]) == set(best)


def test_as_many_cells_as_hold_a_share_of_the_neighbours(search):
    starts = search.cells.starts
    own = np.searchsorted(starts, search.place, side="right") - 1
    for share in (0.3, 0.8):
        found = []
        for i, true in zip(search.truth.sample, search.truth.neighbours, strict=True):
            gap = ((search.points[search.place[i]] - search.centres) ** 2).sum(axis=1)
            near = np.argsort(gap)[: search.width(share)]
            found.append(np.isin(own[true], near).mean())
        assert share <= np.mean(found) < share + 0.1


def test_the_estimate_is_not_about_the_first_centres(monkeypatch, few_cells):
    """These have more of their neighbours in their own cell than others."""
    monkeypatch.setattr(_cells, "ROUNDS", 0)
    monkeypatch.setattr(_cells, "SIZE", 0.1)
    X = hard_points(6000)
    index, _, estimate = knn.find_nearest(X, 10, search="cells", recall=0.8)
    exact = knn.nearest(X, 10)[0]
    true = np.mean(
        [len(set(a) & set(b)) / 10 for a, b in zip(index, exact, strict=True)]
    )
    assert true < 0.95
    assert abs(estimate - true) < 0.03


def test_rounds_only_ever_add_and_keep_lists_whole(search):
    search.compare(4)
    before, found = search.best.copy(), [search.recall()]
    for _ in range(3):
        search.extend()
        assert np.all(search.best <= before)
        assert np.all(np.diff(search.best, axis=1) >= 0)
        before = search.best.copy()
        found.append(search.recall())
    assert found == sorted(found)
    assert found[-1] > found[0] + 0.2
    for i in range(0, 3000, 100):
        assert i not in search.who[i]
        assert len(set(search.who[i])) == 18
        d = squared(search.points, i, search.who[i])
        np.testing.assert_allclose(search.best[i], d, rtol=1e-4)


def test_a_round_introduces_all_neighbours_of_a_point_to_each_other(search):
    search.compare(4)
    who = search.who.copy()
    near = np.empty((3000, 18 + _cells.REVERSE), np.int32)
    news, count = np.empty(near.shape, bool), np.empty(3000, np.int32)
    fresh = np.ones(who.shape, bool)
    _cells_kernels.list_neighbours(who, fresh, (0, 3000), near, news, count)
    groups = [{f, *near[f, : count[f]]} for f in range(3000)]
    search.extend()
    for i in (0, 777, 2999):
        met = set(who[i]).union(*(group for group in groups if i in group)) - {i}
        met = np.array(sorted(met))
        best = met[np.argsort(squared(search.points, i, met))[:18]]
        assert set(search.who[i]) == set(best)


def test_points_without_candidates_are_compared_with_all(search):
    search.compare(4)
    search.who[:7] = -1
    index, d = search.result()
    own = search.cells.order[:7]
    exact, away = knn.nearest(hard_points(3000), 10)
    np.testing.assert_array_equal(index[own], exact[own])
    np.testing.assert_allclose(d[own], away[own])


def test_lists_hold_neighbours_and_reverse_neighbours():
    who = np.array([[1, 2], [0, 2], [1, -1], [0, 1]], np.int32)
    fresh = np.array([[1, 0], [0, 0], [0, 0], [1, 0]], bool)
    near, count = np.full((4, 4), -1, np.int32), np.empty(4, np.int32)
    news = np.zeros((4, 4), bool)
    for part in ((0, 1), (1, 4)):
        _cells_kernels.list_neighbours(who, fresh, part, near, news, count)
    found = [near[i, : count[i]].tolist() for i in range(4)]
    assert found == [[1, 2, 3], [0, 2, 3], [1, 0], [0, 1]]
    assert news[0, :3].tolist() == [True, False, True]


def test_more_cells_are_taken_when_rounds_do_not_find_enough(monkeypatch, few_cells):
    monkeypatch.setattr(_cells, "ROUNDS", 0)
    widths = []
    compare = _cells._Search.compare
    monkeypatch.setattr(
        _cells._Search,
        "compare",
        lambda self, width: (widths.append(width), compare(self, width))[1],
    )
    monkeypatch.setattr(_cells._Search, "width", lambda self, share: 4)
    X = hard_points(2000)
    index, _, recall = knn.find_nearest(X, 10, search="cells", recall=1.0)
    assert widths[1] == 2 * widths[0]
    assert len(widths) > 2
    assert recall == 1.0  # all cells with all
    np.testing.assert_array_equal(index, knn.nearest(X, 10)[0])


def test_a_recall_out_of_reach_is_reported(monkeypatch, few_cells):
    monkeypatch.setattr(_cells, "ROUNDS", 0)
    monkeypatch.setattr(_cells._Search, "recall", lambda self: 0.5)
    with pytest.warns(UserWarning, match=r"found 50\.0% of the nearest.*recall=0\.9"):
        knn.find_nearest(hard_points(500), 5, search="cells", recall=0.9)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_change_no_bit(few_cells, n_threads):
    space = euclidean(hard_points(4000))
    options = {"target": 0.95, "n_threads": n_threads}
    index, d, recall = _cells.nearest(space, 10, 8, **options)
    same = _cells.nearest(space, 10, 8, target=0.95, n_threads=2)
    assert index.tobytes() == same[0].tobytes()
    assert d.tobytes() == same[1].tobytes()
    assert recall == same[2]


def test_far_groups_keep_their_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 16)) * 1e3
    X = np.repeat(X, 60, axis=0) + rng.normal(size=(1200, 16))
    index, _, recall = knn.find_nearest(X, 8, search="cells")
    assert recall > 0.99
    assert np.mean(index == knn.nearest(X, 8)[0]) > 0.99


def test_what_does_not_fit_is_refused_before_the_search(monkeypatch):
    room = memory.Available(50 * 400, "for a test")
    monkeypatch.setattr(memory, "free", lambda: room)
    with pytest.raises(
        memory.NotEnoughMemoryError, match="search for 5 neighbours of 400"
    ):
        knn.find_nearest(hard_points(400), 5, search="cells")


def test_the_order_of_the_samples_does_not_matter():
    X = np.random.default_rng(0).normal(size=(3000, 40))
    order = np.random.default_rng(1).permutation(len(X))
    one = KNNGraph(search="cells", recall=0.5).build(X)
    two = KNNGraph(search="cells", recall=0.5).build(X[order])
    assert (one[order][:, order] != two).nnz == 0
