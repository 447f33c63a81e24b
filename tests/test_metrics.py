from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lordclust import metrics
from lordclust.metrics import (
    METRICS,
    accuracy,
    calibration_error,
    f1,
    imbalance_rate,
    nmi,
    precision_recall,
    purity,
    reliability,
)

PAIRS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=25
)
BOTH = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


def split(pairs):
    return [t for t, _ in pairs], [p for _, p in pairs]


def slow_pairs(true, pred):
    both = same_true = same_pred = 0
    for a, b in combinations(range(len(true)), 2):
        both += true[a] == true[b] and pred[a] == pred[b]
        same_true += true[a] == true[b]
        same_pred += pred[a] == pred[b]
    return both, same_true, same_pred


def slow_accuracy(true, pred):
    names = list(range(max(*true, *pred) + 1))
    hits = (
        sum(way[p] == t for t, p in zip(true, pred, strict=True))
        for way in permutations(names)
    )
    return max(hits) / len(true)


@given(PAIRS)
def test_f1_counts_pairs(pairs):
    true, pred = split(pairs)
    both, same_true, same_pred = slow_pairs(true, pred)
    total = same_true + same_pred
    assert f1(true, pred) == (2 * both / total if total else 1.0)
    precision, recall = precision_recall(true, pred)
    assert precision == (both / same_pred if same_pred else 1.0)
    assert recall == (both / same_true if same_true else 1.0)


@given(PAIRS)
def test_accuracy_is_the_best_renaming(pairs):
    true, pred = split(pairs)
    assert accuracy(true, pred) == pytest.approx(slow_accuracy(true, pred))


@given(PAIRS)
def test_purity_takes_the_largest_class(pairs):
    true, pred = split(pairs)
    clusters = {c: [t for t, p in pairs if p == c] for c in set(pred)}
    largest = sum(max(c.count(t) for t in c) for c in clusters.values())
    assert purity(true, pred) == largest / len(true)


@given(PAIRS, st.permutations(range(5)))
def test_names_do_not_matter(pairs, names):
    true, pred = split(pairs)
    text = [f"class {t}" for t in true]
    renamed = [(names[p], "tuple") for p in pred]
    for metric in METRICS.values():
        assert metric(text, renamed) == pytest.approx(metric(true, pred), abs=1e-12)


@BOTH
@given(pairs=PAIRS)
def test_in_the_unit_interval_and_best_for_equal_labels(metric, pairs):
    true, pred = split(pairs)
    assert -1e-12 <= metric(true, pred) <= 1 + 1e-12
    assert metric(true, true) == pytest.approx(1.0)


def test_by_hand_on_six_samples():
    true, pred = list("aaabbb"), [0, 0, 1, 1, 1, 1]
    assert accuracy(true, pred) == 5 / 6
    assert purity(true, pred) == 5 / 6
    assert precision_recall(true, pred) == (4 / 7, 4 / 6)  # 1 + 3 of 1 + 6 and 3 + 3
    assert f1(true, pred) == 8 / 13
    assert nmi([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(0.0, abs=1e-12)


def test_more_clusters_than_classes_and_the_other_way_round():
    assert accuracy([0, 0, 0, 0], [0, 1, 2, 3]) == 0.25
    assert accuracy([0, 1, 2, 3], [0, 0, 0, 0]) == 0.25
    assert purity([0, 0, 0, 0], [0, 1, 2, 3]) == 1.0


def test_many_clusters_need_no_square_table():
    n = 200_000
    labels = np.arange(n)
    assert f1(labels, labels[::-1]) == 1.0
    assert purity(labels, labels) == 1.0


def test_pair_counts_are_exact_for_many_samples():
    n = 3_000_000
    assert f1(np.zeros(n, dtype=np.int8), np.zeros(n)) == 1.0
    assert metrics._pair_counts(np.zeros(n), np.zeros(n))[0] == n * (n - 1) // 2


def test_one_and_the_text_one_are_two_labels():
    assert accuracy([0, 0, 1], [1, "1", None]) == 2 / 3


def test_arrays_of_text_and_of_objects():
    true = np.array(["x", "y", "x"])
    assert accuracy(true, np.array([1, "b", 1], dtype=object)) == 1.0


@BOTH
def test_refusals(metric):
    with pytest.raises(ValueError, match="same length, got 2 and 3"):
        metric([0, 1], [0, 1, 2])
    with pytest.raises(ValueError, match="y_true must not be empty"):
        metric([], [])
    with pytest.raises(ValueError, match=r"y_pred must be a sequence.*shape \(2, 1\)"):
        metric([0, 1], np.zeros((2, 1)))
    with pytest.raises(ValueError, match="y_true must be a sequence of labels"):
        metric("ab", [0, 1])


class TestImbalanceRate:
    @pytest.mark.parametrize(
        ("counts", "paper"),
        [
            ([50, 50, 50, 50], 0),
            ([40, 50, 50, 60], 0.0073),
            ([30, 45, 55, 70], 0.0315),
            ([20, 40, 60, 80], 0.0768),
            ([10, 30, 60, 100], 0.1761),
        ],
    )
    def test_paper_values(self, counts, paper):
        y = np.repeat(list("abcd"), counts)
        assert imbalance_rate(y) == pytest.approx(paper, abs=5.1e-5)
        assert imbalance_rate(proportions=counts) == pytest.approx(imbalance_rate(y))

    def test_ends(self):
        assert imbalance_rate([1, 1, 1]) == 0.0
        assert imbalance_rate(proportions=[1.0, 0.0]) == 1.0

    def test_one_of_the_two(self):
        with pytest.raises(TypeError, match="got neither"):
            imbalance_rate()
        with pytest.raises(TypeError, match="got both"):
            imbalance_rate([0, 1], proportions=[0.5, 0.5])

    @pytest.mark.parametrize("bad", [[], [-1, 2], [np.nan, 1], [[1, 2]]])
    def test_bad_proportions(self, bad):
        with pytest.raises(ValueError, match="list of nonnegative numbers"):
            imbalance_rate(proportions=bad)

    def test_zero_proportions(self):
        with pytest.raises(ValueError, match="positive sum, got only zeros"):
            imbalance_rate(proportions=[0, 0])


# -- calibration ----------------------------------------------------------------


def slow_calibration_error(y, P, bins):
    best = P.argmax(axis=1)
    ways = permutations(range(max(P.shape[1], y.max() + 1)))
    match = max(ways, key=lambda way: np.sum(np.array(way)[best] == y))
    right, total = np.array(match)[best] == y, 0.0
    for low in range(bins):
        top = P.max(axis=1) * bins
        inside = (top >= low) & ((top < low + 1) | (low == bins - 1))
        if inside.any():
            gap = right[inside].mean() - P.max(axis=1)[inside].mean()
            total += inside.mean() * abs(gap)
    return total


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 4))
def test_calibration_error_compares_certainty_and_accuracy(seed, n, k):
    rng = np.random.default_rng(seed)
    P, y = rng.dirichlet(np.ones(k), n), rng.integers(0, 3, n)
    found = reliability(y, P)
    right, certain = (
        np.nansum(values * found.weight) for values in (found.accuracy, found.certainty)
    )
    assert right == pytest.approx(accuracy(y, P.argmax(axis=1)))
    assert certain == pytest.approx(P.max(axis=1).mean())
    assert abs(right - certain) - 1e-12 <= found.error <= 1


def test_calibration_error_agrees_with_a_slow_one():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [50, 30, 20])
    P = rng.dirichlet(np.ones(3), 100) + 0.5 * np.eye(3)[y]
    P /= P.sum(axis=1, keepdims=True)
    names = np.array([2, 0, 1])
    for bins in (1, 7, 10):
        slow = slow_calibration_error(y, P[:, names], bins)
        assert calibration_error(y, P[:, names], bins=bins) == pytest.approx(slow)


def test_exact_posteriors_are_calibrated():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.5, 0.5, 0.5], 20_000)
    y = (P.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    assert calibration_error(y, P) < 0.01
    assert calibration_error(y, np.eye(3)[P.argmax(axis=1)]) > 0.15


def test_certain_and_right_is_best_and_certain_and_wrong_is_worst():
    assert calibration_error(["a", "b", "b"], np.eye(2)[[1, 0, 0]]) == 0
    assert calibration_error(list(range(4)), np.ones((4, 1))) == 0.75


def test_sparse_probabilities_are_accepted():
    P = np.array([[0.75, 0.25], [0.0, 1.0]])
    assert calibration_error([0, 1], sparse.csr_array(P)) == calibration_error(
        [0, 1], P
    )


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ([0.5, 0.5], "P must have a row for each sample"),
        ([[0.5, 0.2], [0.5, 0.5]], "rows that sum to 1, got a row that sums to 0.7"),
        ([[1.5, -0.5], [0.5, 0.5]], "or a negative entry"),
        ([[1.0, 0.0]], "same length, got 2 and 1"),
    ],
)
def test_what_are_not_probabilities_is_refused(P, message):
    with pytest.raises(ValueError, match=message):
        calibration_error([0, 1], P)


@pytest.mark.parametrize("bins", [0, 2.5, True])
def test_the_number_of_bins_is_checked(bins):
    with pytest.raises(ValueError, match="bins must be a positive integer"):
        calibration_error([0, 1], np.eye(2), bins=bins)
