"""Labels of exactly the sizes asked for, of the largest total membership."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import eye_array, kron, vstack
from sklearn.datasets import make_blobs

from lordclust import BLoRD, LoRD
from lordclust.graph import KNNGraph
from lordclust.methods._rounding import Demands, numbered
from lordclust.rounding.labels import canonical_order
from lordclust.rounding.transport import Bounds, assign_sizes, sizes_from
from lordclust.solver.omega import Omega
from models import GIVEN, MODELS
from strategies import generators

X, _ = make_blobs(60, centers=3, cluster_std=3.0, random_state=0)
S = KNNGraph().build(X)


def total(P, labels):
    return P[np.arange(len(P)), labels].sum()


def rounded(P, shares, exact=True):
    """Order of the clusters and labels, samples of equal weight."""
    return numbered(P, shares, Omega.of(np.sqrt(shares), len(P)), exact)


def largest_total(P, sizes):
    """The linear program over all ways to share the samples out."""
    n, k = P.shape
    rows = kron(eye_array(n), np.ones((1, k)))
    columns = kron(np.ones((1, n)), eye_array(k))
    b = np.concatenate([np.ones(n), sizes])
    return -linprog(-P.ravel(), A_eq=vstack([rows, columns]), b_eq=b).fun


@st.composite
def memberships(draw, max_n=25, max_k=5):
    """Memberships, soft to hard, and shares: equal, uneven or some equal."""
    n = draw(st.integers(1, max_n))
    k = draw(st.integers(1, min(n, max_k)))
    rng = draw(generators())
    P = rng.dirichlet(np.full(k, draw(st.sampled_from([0.05, 0.5, 5.0]))), n)
    shares = {
        "equal": np.ones(k),
        "uneven": rng.dirichlet(np.ones(k)) + 1e-3,
        "groups": rng.integers(1, 3, k).astype(float),
    }[draw(st.sampled_from(["equal", "uneven", "groups"]))]
    return P, shares / shares.sum()


@given(memberships())
def test_counts_are_met_and_no_labels_with_them_have_more_membership(case):
    P, shares = case
    order, labels = rounded(P, shares)
    sizes = np.bincount(labels, minlength=len(shares))
    np.testing.assert_array_equal(np.sort(order), np.arange(len(shares)))
    np.testing.assert_array_equal(shares[order], shares)
    np.testing.assert_array_equal(sizes, sizes_from(shares, len(P)))
    best = largest_total(P[:, order], sizes)
    assert total(P[:, order], labels) == pytest.approx(best, abs=1e-7)


@given(memberships())
def test_numbering_is_canonical(case):
    P, shares = case
    _, labels = rounded(P, shares)
    order = canonical_order(labels, shares)
    np.testing.assert_array_equal(order, np.arange(len(shares)))


@given(memberships(), generators())
def test_order_of_equal_clusters_does_not_matter(case, rng):
    P, _ = case
    k = P.shape[1]
    shares = np.full(k, 1 / k)
    _, labels = rounded(P, shares)
    _, again = rounded(P[:, rng.permutation(k)], shares)
    np.testing.assert_array_equal(again, labels)


@given(memberships())
def test_argmax_stays_where_it_has_the_sizes(case):
    P, _ = case
    found = np.bincount(P.argmax(axis=1), minlength=P.shape[1])
    P = P[:, found > 0]  # shares are positive
    shares = found[found > 0] / len(P)
    order, labels = rounded(P, shares, exact=False)
    exact_order, exact = rounded(P, shares)
    np.testing.assert_array_equal(exact_order, order)
    np.testing.assert_array_equal(exact, labels)


@MODELS
@settings(max_examples=10)
@given(generators())
def test_a_fit_meets_the_sizes(Model, rng):
    sizes = 1 + np.bincount(rng.integers(0, 4, 56), minlength=4)
    model = Model(4, affinity="precomputed", cluster_sizes=sizes).fit(S)
    np.testing.assert_array_equal(model.sizes_, sizes)
    np.testing.assert_array_equal(np.bincount(model.labels_), sizes)
    P = model.membership_
    np.testing.assert_allclose(P.mean(axis=0), sizes / 60, atol=1e-7)
    np.testing.assert_allclose(model.proportions_, sizes / 60)
    if Model is not BLoRD:  # whose labels have the most evidence
        best = largest_total(P, sizes)
        assert total(P, model.labels_) == pytest.approx(best, abs=1e-6)


@MODELS
def test_sizes_given_as_shares_or_as_numbers(Model):
    by_sizes = Model(3, cluster_sizes=[30, 12, 18]).fit(X)
    by_shares = Model(3, proportions=[0.5, 0.2, 0.3], rounding="exact").fit(X)
    np.testing.assert_array_equal(by_sizes.sizes_, [30, 12, 18])
    np.testing.assert_array_equal(by_sizes.labels_, by_shares.labels_)
    explicit = Model(3, cluster_sizes=(30, 12, 18), rounding="exact").fit(X)
    np.testing.assert_array_equal(explicit.labels_, by_sizes.labels_)


@GIVEN
@pytest.mark.parametrize("rounding", [None, "argmax", "exact"])
def test_rounding_changes_labels_alone(Model, rounding):
    options = {} if Model is LoRD else {"tau": 0.2}
    model = Model(7, rounding=rounding, **options).fit(X)
    plain = Model(7, **options).fit(X)
    assert model.objective_ == plain.objective_
    np.testing.assert_array_equal(
        np.sort(model.membership_, axis=1), np.sort(plain.membership_, axis=1)
    )
    if rounding == "exact":  # 60 = 7 * 8 + 4
        np.testing.assert_array_equal(model.sizes_, [9, 9, 9, 9, 8, 8, 8])
        assert not np.array_equal(plain.sizes_, model.sizes_)
    else:
        np.testing.assert_array_equal(model.labels_, plain.labels_)


@GIVEN
def test_samples_are_counted_whatever_their_weights(Model):
    weight = np.r_[np.full(30, 5.0), np.ones(25), np.zeros(5)]
    model = Model(3, rounding="exact").fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.sizes_, [20, 20, 20])


@MODELS
def test_known_labels_stay(Model):
    known = np.full(60, -1)
    known[:30] = np.arange(30) % 3  # whatever they are
    model = Model(3, cluster_sizes=[12, 33, 15]).fit(X, known_labels=known)
    np.testing.assert_array_equal(model.sizes_, [12, 33, 15])
    np.testing.assert_array_equal(model.labels_[:30], known[:30])


@GIVEN
def test_more_known_samples_than_places(Model):
    known = np.r_[np.zeros(25, int), np.full(35, -1)]
    light = np.r_[np.full(25, 0.1), np.ones(35)]  # so that their share has room
    model = Model(3, rounding="exact")
    with pytest.raises(ValueError, match=r"assign 25 samples to cluster 0.*is 20"):
        model.fit(X, sample_weight=light, known_labels=known)


@MODELS
def test_soft_shares_are_met_as_they_were_reached(Model):
    model = Model(3, proportions=([0.6, 0.2, 0.2], 1.0), rounding="exact").fit(X)
    assert np.abs(model.proportions_ - [0.6, 0.2, 0.2]).max() > 0.01
    sizes = sizes_from(model.proportions_, 60)
    np.testing.assert_array_equal(model.sizes_, sizes)


def test_many_samples():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(10), 70_000)
    shares = np.arange(1, 11) / 55
    order, labels = rounded(P, shares)
    np.testing.assert_array_equal(order, np.arange(10))
    np.testing.assert_array_equal(np.bincount(labels), sizes_from(shares, 70_000))
    # No exchange of two samples gains: a necessary condition that needs no oracle.
    worth = np.full((10, 10), -np.inf)
    for j in range(10):
        mine = P[labels == j]
        worth[j] = (mine - mine[:, [j]]).max(axis=0)
    assert (worth + worth.T).max() <= 1e-12


def test_k_is_one_or_n():
    assert BLoRD(1, cluster_sizes=[60], tau=1.0).fit(X).sizes_ == [60]
    model = BLoRD(12, rounding="exact", tau=1.0, proportions="equal").fit(X[:12])
    np.testing.assert_array_equal(np.sort(model.labels_), np.arange(12))


BAD = {
    "too few": ([30, 20, 9], "cluster_sizes must sum to the number of samples, 60"),
    "negative": ([61, -2, 1], "cluster_sizes must not be negative, got -2 at pos"),
    "floats": ([20.0, 20.0, 20.0], "cluster_sizes must be integers, got float64"),
    "shares": ([0.5, 0.25, 0.25], "cluster_sizes must be integers"),
    "count": ([30, 30], "cluster_sizes must hold n_clusters=3 numbers"),
    "number": (21, "cluster_sizes=21 times 3 clusters is 63, but there are 60"),
    "zero": ([30, 0, 30], "got 0 at position 1. Lower n_clusters"),
    "ragged": ([[1], [2, 3], 4], "cluster_sizes must be an array of numbers"),
}


@MODELS
@pytest.mark.parametrize(("sizes", "message"), BAD.values(), ids=BAD)
def test_bad_sizes(Model, sizes, message):
    with pytest.raises(ValueError, match=message):
        Model(3, cluster_sizes=sizes).fit(X)


@MODELS
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounding": "exactly"}, "Unknown rounding 'exactly'. Did you mean 'exact'"),
        ({"rounding": True}, "Unknown rounding True"),
        (
            {"cluster_sizes": [20, 20, 20], "proportions": [0.4, 0.3, 0.3]},
            "proportions and cluster_sizes were both given",
        ),
        (
            {"cluster_sizes": [20, 20, 20], "rounding": "argmax"},
            "cluster_sizes require exact rounding, got rounding='argmax'",
        ),
    ],
)
def test_contradictions(Model, settings, message):
    with pytest.raises(ValueError, match=message):
        Model(3, **settings).fit(X)


# -- bounds on the sizes --


@given(generators(), st.integers(2, 5))
def test_bounded_labels_have_the_largest_total_of_all_sizes_within(rng, k):
    n = 12
    P = rng.dirichlet(np.full(k, 0.5), n)
    bounds = Bounds(np.full(k, 1), np.full(k, -(-n // k) + 1))
    omega = Omega.of(np.full(k, k**-0.5), n)
    order, labels = numbered(
        P, omega.mu**2, omega, exact=False, demands=Demands(bounds)
    )
    assert bounds.hold(labels)
    sizes = np.bincount(labels, minlength=k)
    assert (np.diff(sizes) <= 0).all()  # numbered by size
    least = -assign_cost(-P, bounds)
    assert total(P[:, order], labels) == pytest.approx(least)


def assign_cost(cost, bounds):
    labels = assign_sizes(cost, bounds)
    return cost[np.arange(len(cost)), labels].sum()


@MODELS
@pytest.mark.parametrize("bounds", [(15, 22), (0.25, None), (None, 0.4)])
def test_sizes_are_within_bounds(Model, bounds):
    low, high = bounds
    sizes = Model(3, size_min=low, size_max=high).fit(X).sizes_
    assert sizes.min() >= (15 if low else 1)
    assert sizes.max() <= {None: 60, 22: 22, 0.4: 24}[high]


@pytest.mark.parametrize("tau", ["auto", 0.3])
def test_automatic_shares_are_those_of_labels_within_the_bounds(tau):
    free = BLoRD(3, tau=tau).fit(X)
    high = free.sizes_.max() - 3
    model = BLoRD(3, tau=tau, size_max=high).fit(X)
    assert model.sizes_.max() == high
    np.testing.assert_allclose(60 * model.proportions_.max(), high)
    np.testing.assert_allclose(model.membership_.mean(axis=0), model.proportions_)


def test_bounds_that_hold_anyway_change_nothing():
    free = BLoRD(3).fit(X)
    model = BLoRD(3, size_min=1, size_max=59).fit(X)
    np.testing.assert_array_equal(model.labels_, free.labels_)
    np.testing.assert_array_equal(model.membership_, free.membership_)


@MODELS
def test_different_bounds_keep_their_order(Model):
    sizes = Model(3, size_min=[10, 25, 15], size_max=[14, 30, 24]).fit(X).sizes_
    assert (sizes >= [10, 25, 15]).all()
    assert (sizes <= [14, 30, 24]).all()


@MODELS
def test_known_labels_hold_within_bounds(Model):
    known = np.full(60, -1)
    known[:20] = np.arange(20) % 2
    model = Model(3, size_max=[12, 30, 30]).fit(X, known_labels=known)
    np.testing.assert_array_equal(model.labels_[:20], known[:20])
    assert model.sizes_[0] <= 12
    with pytest.raises(
        ValueError, match="assign 10 samples to cluster 0, whose size_m"
    ):
        Model(3, size_max=[9, 30, 30]).fit(X, known_labels=known)


@MODELS
@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"size_min": 21}, "3 clusters hold at least 63. Lower it"),
        ({"size_max": 19}, "3 clusters hold at most 57. Raise it"),
        ({"size_min": 20, "size_max": 10}, "must not exceed size_max, got 20 and 10"),
        ({"size_max": 0}, "must not exceed size_max, got 1 and 0"),
        (
            {"size_max": 30, "cluster_sizes": np.array([20, 20, 20])},
            "cannot be combined with cluster_sizes",
        ),
        ({"size_max": 30, "rounding": "exact"}, "got rounding='exact'"),
    ],
)
def test_bounds_that_no_labels_can_meet(Model, settings, match):
    with pytest.raises(ValueError, match=match):
        Model(3, **settings).fit(X)


def test_the_chosen_number_of_clusters_must_suit_the_bounds():
    assert BLoRD(None, size_min=2).fit(X).sizes_.min() >= 2
    with pytest.raises(ValueError, match="size_min does not suit 60 samples"):
        BLoRD(None, size_min=40).fit(X)


@pytest.mark.parametrize(
    ("bounds", "counts"),
    [
        ({"size_min": 5, "size_max": 6}, [10, 11, 12]),
        ({"size_max": 2}, [30]),
        ({"size_min": 0.3}, [2, 3]),
        ({"size_max": [30, 20, 10]}, [3]),
    ],
)
def test_a_number_of_clusters_is_chosen_that_the_bounds_allow(bounds, counts):
    """The suggested number was refused if clusters of these sizes need another one."""
    model = BLoRD(None, **bounds).fit(X)
    assert model.suggestion_.ks.tolist() == counts
    assert model.n_clusters_ in counts


def test_bounds_that_no_number_of_clusters_meets():
    with pytest.raises(ValueError, match="5 clusters hold at most 55, and 6 at least"):
        BLoRD(None, size_min=11, size_max=11).fit(X)


def test_agreement_compares_labels_within_bounds():
    model = BLoRD(3, tau=0.3, proportions="equal", size_min=15, size_max=22).fit(X)
    found = model.agreement(2)
    assert all(np.bincount(labels).max() <= 22 for labels in found.labels)


def test_a_batch_is_assigned_within_bounds():
    model = BLoRD(3).fit(X)
    batch = X[model.labels_ == 0][:9]
    assert np.bincount(model.assign(batch, size_max=4), minlength=3).max() == 4
    assert np.bincount(model.assign(batch, size_min=0.3), minlength=3).min() == 3
    free = model.assign(batch, size_max=9)
    np.testing.assert_array_equal(free, model.predict(batch))
    with pytest.raises(ValueError, match="proportions and size_min or size_max were"):
        model.assign(batch, size_max=4, proportions=[0.5, 0.3, 0.2])
    with pytest.raises(ValueError, match="3 clusters hold at most 6"):
        model.assign(batch, size_max=2)
