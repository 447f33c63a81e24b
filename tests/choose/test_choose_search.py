"""Choosing labels, tau and shares without knowing any of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

from lordclust import BLoRD, LoRD
from lordclust.choose.evidence import Evidence, Score
from lordclust.choose.search import (
    APART,
    LEADERS,
    SEEDS,
    WITHIN,
    Candidate,
    Search,
    _leaders,
    cell_of,
    choose,
    keeps_pieces,
)
from lordclust.choose.search import given as given_labels
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.rounding.linkage import Reach
from lordclust.solver.omega import Omega, make_omega
from lordclust.solver.seeds import Seeds
from lordclust.solver.solve import Limits
from lordclust.solver.start import hard_start
from oracles import off_omega
from problems import blord_problem
from strategies import block_graph, generators, labels

IRIS = load_iris()
WINE = load_wine().data / load_wine().data.std(axis=0)


def unequal(seed=0, sizes=(150, 60, 30), apart=7.0):
    """Return Gaussians at the corners of a triangle, some sigma apart."""
    centres = apart * np.array([[0, 0], [1, 0], [0.5, 0.75**0.5]])[: len(sizes)]
    return make_blobs(list(sizes), centers=centres, random_state=seed)


def same_partition(a, b):
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.fixture(scope="module")
def chosen():
    X, y = unequal()
    return BLoRD(3).fit(X), X, y


def test_the_best_partitions_that_differ_are_followed():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)

    def candidate(labels, evidence, *, allowed=True):
        score = Score(0.0, 0.0, evidence / 2, 0.0, 0.0)
        return Candidate(0, "cut", 1.0, labels, score, np.array([50.0, 50.0]), allowed)

    nearly = np.where(np.arange(100) < 2, 1, y)
    others = [rng.permutation(y) for _ in range(4)]
    best, *_, second, third, _ = found = [
        candidate(y, 9.0), candidate(nearly, 8.0), candidate(1 - y, 7.0),
        candidate(others[0], 20.0, allowed=False),
        *(candidate(other, 6.0 - i) for i, other in enumerate(others[1:])),
    ]  # fmt: skip
    leaders = _leaders(found[::-1], [], LEADERS)
    assert [one.evidence for one in leaders] == [
        one.evidence for one in (best, second, third)
    ]
    assert len(leaders) == LEADERS
    assert _leaders(found, [best, third], LEADERS) == [second]
    assert _leaders(found, [], 1) == [best]
    assert np.mean(nearly != y) < APART


def test_a_partition_that_is_not_the_best_is_improved_too():
    X, _ = make_blobs(400, 6, centers=6, cluster_std=4.0, random_state=1)
    found = BLoRD(6).fit(X).selection_
    first = [i for i, turn in enumerate(found.rounds) if turn == 1]
    assert len(first) > len(WITHIN)  # more than one path


# -- clear cases --------------------------------------------------------------------

CLEAR = {
    "951 and 49": ((951, 49), 50),
    "970 and 30": ((970, 30), 50),
    "20, 200 and 400": ((20, 200, 400), 8),
    "20, 200 and 400 far apart": ((20, 200, 400), 800),
    "5, 50 and 500": ((5, 50, 500), 12),
    "10, 100 and 1000": ((10, 100, 1000), 12),
    "8 of 400": ((392, 8), 12),
    "equal": ((100, 100, 100), 8),
}


@pytest.mark.filterwarnings("ignore::lordclust.graph.ScaleWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("sizes", "apart"), CLEAR.values(), ids=CLEAR)
def test_clear_clusters_of_any_sizes(sizes, apart, seed):
    X, y = unequal(seed, sizes, apart)
    model = BLoRD(len(sizes)).fit(X)
    assert adjusted_rand_score(y, model.labels_) >= 0.98
    if apart > 8:
        np.testing.assert_array_equal(model.sizes_, sorted(sizes, reverse=True))


@pytest.mark.parametrize("seed", [0, 3])
def test_a_cluster_of_five_samples(seed):
    """The graph connects them to others: each has more neighbours than they are.

    Only single linkage proposes them (seed 3), and only the graph tells that they
    should not take three samples from others (seed 0).
    """
    y = np.repeat([0, 1, 2], [5, 50, 500])
    noise = np.random.default_rng(seed).standard_normal((555, 2))
    X = 12.0 * np.array([[0, 0], [1, 0], [0, 1]])[y] + noise
    assert adjusted_rand_score(y, BLoRD(3).fit_predict(X)) == 1


@pytest.mark.parametrize("seed", range(4))
def test_outliers_of_one_gaussian_are_no_cluster(seed):
    X = np.random.default_rng(seed).standard_normal((600, 5))
    assert BLoRD(2).fit(X).sizes_.min() > 100


def test_a_partition_in_doubt_shows_it():
    X = np.random.default_rng(0).standard_normal((600, 20))
    doubtful, clear = BLoRD(3).fit(X), BLoRD(3).fit(unequal()[0])
    assert repr(doubtful) == "BLoRD(n_clusters=3)  # stability 63%: others are as good"
    assert repr(clear) == "BLoRD(n_clusters=3)"


def test_clusters_that_overlap_somewhat():
    """At 5 sigma, a few of the 1000 samples are on the other side.

    With the true densities known, the mean would be 0.98.
    """
    found = []
    for seed in range(4):
        X, y = unequal(seed, (900, 100), 5.0)
        found.append(adjusted_rand_score(y, BLoRD(2).fit(X).labels_))
    assert min(found) > 0.92
    assert np.mean(found) > 0.95


def test_shares_of_clear_clusters_are_found(chosen):
    model, _, y = chosen
    assert accuracy(y, model.labels_) == 1.0
    np.testing.assert_array_equal(model.sizes_, [150, 60, 30])
    np.testing.assert_allclose(model.proportions_, [0.625, 0.25, 0.125])


def test_the_graph_alone_is_enough(chosen):
    model, _, y = chosen
    alone = BLoRD(3, affinity="precomputed").fit(model.affinity_matrix_)
    assert accuracy(y, alone.labels_) == 1.0
    np.testing.assert_array_equal(alone.selection_.features, 0.0)


def test_tau_alone_leaves_the_shares():
    model = BLoRD(3, proportions="equal").fit(IRIS.data)
    np.testing.assert_allclose(model.membership_.mean(axis=0), 1 / 3, atol=1e-9)
    np.testing.assert_array_equal(model.sizes_, 50)
    assert set(model.selection_.rounds) == {0}
    assert accuracy(IRIS.target, model.labels_) > 0.8


def test_shares_alone_leave_tau():
    X, _ = unequal()
    model = BLoRD(3, tau=0.4).fit(X)
    assert model.tau_ == 0.4
    np.testing.assert_allclose(model.proportions_, [0.625, 0.25, 0.125])
    np.testing.assert_array_equal(model.sizes_, [150, 60, 30])


@pytest.mark.parametrize(
    "shares", [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [1 / 3, 1 / 3, 1 / 3]]
)
@pytest.mark.parametrize("tau", ["auto", 0.3, 1.0])
def test_given_shares_are_met_exactly(shares, tau):
    model = BLoRD(3, tau=tau, proportions=shares).fit(IRIS.data)
    np.testing.assert_array_equal(model.sizes_, np.multiply(shares, 150).round())
    np.testing.assert_allclose(model.membership_.mean(axis=0), shares, atol=1e-9)


# -- what always holds ----------------------------------------------------------------


def test_the_record_holds_what_was_weighed(chosen):
    X = WINE
    model = BLoRD(3).fit(X)
    s = model.selection_
    m = len(s.taus)
    columns = s.rounds, s.sources, s.surprise, s.balance, s.features, s.sizes
    assert all(len(x) == m for x in columns)
    np.testing.assert_array_equal(s.sizes.sum(axis=1), len(X))
    wanted = 4.5 * s.balance + 2 * s.features - np.log(s.surprise + 2)
    np.testing.assert_allclose(s.evidence, wanted)
    np.testing.assert_array_equal(model.sizes_, s.sizes[s.best])
    named = [name for name in SEEDS if name in s.sources]
    assert "gaps" not in named  # it would have outliers as a cluster
    assert named == s.sources[: len(named)]
    assert "Selection of" in repr(s)
    assert s.table(1).count("\n") == 1
    assert s.table().splitlines()[1].startswith("->")
    graph = KNNGraph()
    reach = Reach.of(graph.build(X), graph.scales_)
    again = Evidence(model.affinity_matrix_, 3, X, reach=reach).score(model.labels_)
    assert again.total == s.evidence[s.best]
    pieces = Seeds(model.affinity_matrix_, 3).pieces
    assert keeps_pieces(model.labels_, pieces)


@pytest.mark.parametrize("k", [2, 3, 5, 9])
def test_no_cluster_is_empty(k):
    """Whatever the data have to say about so many clusters."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((60, 2)), rng.random((60, 2)) + 30])
    model = BLoRD(k).fit(X)
    assert model.sizes_.min() > 0
    np.testing.assert_allclose(model.membership_.mean(axis=0), model.proportions_)
    assert list(model.sizes_) == sorted(model.sizes_, reverse=True)
    assert model.predict_proba(X[:3]).shape == (3, k)
    assert np.all(np.isfinite(model.uncertainty_))
    assert model.agreement(2).share.min() >= 0


@given(generators(), st.integers(1, 5), st.integers(2, 5))
def test_pieces_of_a_graph_are_never_mixed(rng, count, k):
    S, _ = block_graph(rng, rng.integers(5, 12, count), inside=0.9, between=0)
    model = BLoRD(k, affinity="precomputed", tol=1e-2).fit(S)
    pieces = Seeds(S, k).pieces
    assert keeps_pieces(model.labels_, pieces)
    if len(np.unique(pieces)) == k and pieces.min() >= 0:
        assert same_partition(model.labels_, pieces)


DATA = {
    "unequal": unequal(1, (80, 40, 20), 4.0)[0],
    "wine": WINE,
    "noise": np.random.default_rng(0).standard_normal((150, 4)),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("X", DATA.values(), ids=DATA)
def test_a_permutation_of_the_rows_permutes_the_labels(X, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    plain, mixed = BLoRD(3).fit(X), BLoRD(3).fit(X[order])
    assert same_partition(plain.labels_[order], mixed.labels_)
    best = [model.selection_.evidence.max() for model in (plain, mixed)]
    assert best[0] == pytest.approx(best[1], rel=1e-6)


def test_the_same_every_time_and_for_any_threads():
    X, _ = unequal(0, (80, 40, 20), 4.0)
    one, two, again = (BLoRD(3, n_jobs=jobs).fit(X) for jobs in (1, 2, 2))
    for other in (two, again):
        np.testing.assert_array_equal(other.membership_, one.membership_)
        np.testing.assert_array_equal(other.labels_, one.labels_)
        np.testing.assert_array_equal(
            other.selection_.evidence, one.selection_.evidence
        )
        assert other.selection_.sources == one.selection_.sources


def test_known_labels_keep_their_names():
    X, y = unequal()
    known = np.full(len(y), -1)
    known[:200:9] = 2 - y[:200:9]
    model = BLoRD(3).fit(X, known_labels=known)
    np.testing.assert_array_equal(model.labels_, 2 - y)


def test_known_labels_may_be_more_than_an_equal_share():
    X, y = unequal()
    known = np.where(y == 0, 0, -1)
    model = BLoRD(3).fit(X, known_labels=known)
    assert np.all(model.labels_[y == 0] == 0)


def test_weights_weigh_in_the_sizes():
    X, _ = unequal()
    w = np.ones(len(X))
    w[:7] = 2.0
    model = BLoRD(3).fit(X, sample_weight=w)
    np.testing.assert_allclose(model.selection_.sizes.sum(axis=1), len(X))
    means = w @ model.membership_ / w.sum()
    np.testing.assert_allclose(means, model.proportions_, atol=1e-9)
    np.testing.assert_allclose(means, np.bincount(model.labels_, w) / w.sum())


def test_soft_shares_are_reached_as_far_as_they_should():
    X, y = unequal()
    exact = BLoRD(3, proportions=([0.2, 0.4, 0.4], np.inf)).fit(X)
    np.testing.assert_allclose(exact.proportions_, [0.2, 0.4, 0.4])
    free = BLoRD(3, proportions=([0.2, 0.4, 0.4], 0.01)).fit(X)
    assert accuracy(y, free.labels_) > 0.97
    np.testing.assert_allclose(free.proportions_, free.membership_.mean(axis=0))
    np.testing.assert_allclose(free.proportions_, free.sizes_ / 240, atol=1e-9)


# -- labels of another clustering ---------------------------------------------------


def test_labels_are_kept_with_their_names():
    y = (IRIS.target + 1) % 3
    model = BLoRD.from_labels(IRIS.data, y)
    assert type(model) is BLoRD
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_allclose(model.proportions_, 1 / 3)
    np.testing.assert_allclose(model.membership_.mean(axis=0), 1 / 3, atol=1e-9)
    np.testing.assert_array_equal(BLoRD(3, start=y.tolist()).fit(IRIS.data).labels_, y)
    assert model.selection_.sources == ["given"]
    assert model.predict(IRIS.data[:5]).tolist() == y[:5].tolist()


def test_labels_may_be_of_any_sizes():
    y = np.repeat([2, 0, 1], [100, 49, 1])
    model = BLoRD.from_labels(IRIS.data, y)
    np.testing.assert_array_equal(model.labels_, y)
    np.testing.assert_array_equal(model.sizes_, [49, 1, 100])
    np.testing.assert_allclose(model.membership_.mean(axis=0), model.proportions_)


def test_samples_without_a_label_get_that_of_their_neighbours():
    X, y = unequal()
    partly = y.copy()
    partly[::3] = -1
    model = BLoRD.from_labels(X, partly)
    np.testing.assert_array_equal(model.labels_, y)


def test_labels_on_a_graph():
    S = KNNGraph().build(IRIS.data)
    model = BLoRD.from_labels(S, IRIS.target, affinity="precomputed", tol=1e-3)
    np.testing.assert_array_equal(model.labels_, IRIS.target)
    assert model.tol == 1e-3


def test_labels_and_given_shares():
    """Labels are where the search begins; the shares are met."""
    model = BLoRD(3, start=IRIS.target, proportions=[0.2, 0.3, 0.5]).fit(IRIS.data)
    np.testing.assert_array_equal(model.sizes_, [30, 45, 75])


def test_labels_of_one_cluster():
    model = BLoRD.from_labels(IRIS.data, np.zeros(150, int))
    np.testing.assert_array_equal(model.labels_, 0)
    np.testing.assert_allclose(model.membership_, 1.0)


# -- parts ----------------------------------------------------------------------------


def setting(X, k, **settings):
    """Return a problem of equal shares and a search."""
    S = KNNGraph().build(X)
    omega, _ = make_omega(len(X), k, None, None, None, auto=True)
    search = Search(
        Evidence(S, k, X), Seeds(S, k, X), [0], Limits(1e-3, 1000), **settings
    )
    return blord_problem(S, omega), search


@given(labels(12, 3), labels(12, 4))
def test_pieces_are_kept_unless_some_are_joined_and_others_cut(y, pieces):
    pieces = pieces - 1  # -1 has no edges
    linked = pieces >= 0
    cut = any(len(set(y[pieces == p])) > 1 for p in set(pieces[linked]))
    joined = any(len(set(pieces[linked & (y == j)])) > 1 for j in set(y))
    assert keeps_pieces(y, pieces) == (not (cut and joined))


@given(generators(), st.booleans())
def test_the_cell_of_labels_holds_them(rng, weighted):
    y = rng.permutation(np.concatenate([np.arange(3), rng.integers(0, 3, 17)]))
    w = rng.random(20) + 0.1 if weighted else np.ones(20)
    S = rng.random((20, 20))
    omega, _ = make_omega(20, 3, None, w, None, auto=True)
    cell = cell_of(y, blord_problem(S + S.T, omega))
    p = w / w.sum()
    np.testing.assert_allclose(cell.omega.mu**2, np.bincount(y, p))
    V = cell.omega.weighted(hard_start(y, cell.omega))
    assert off_omega(V, cell.omega.mu, p) < 1e-12
    np.testing.assert_array_equal(V.argmax(axis=1), y)
    assert np.count_nonzero(V) == 20


def test_the_best_of_all_is_chosen():
    problem, search = setting(WINE, 3)
    best, record = choose(problem, search, shares=True)
    assert isinstance(best, Candidate)
    assert best.merit == max(one.merit for one in search.found)
    assert search.found[record.best] is best
    assert set(record.sources) >= {"cut", "from the cut", "from the mixture"}
    assert sum(search.done) <= 1 + 1e-9


def test_a_clear_cut_needs_no_path():
    X, y = unequal(0, (40, 30, 20), 100.0)
    problem, search = setting(X, 3)
    best, record = choose(problem, search, shares=True)
    assert record.sources == ["cut"]
    assert same_partition(best.labels, y)


def test_a_large_problem_follows_fewer_paths(monkeypatch):
    monkeypatch.setattr("lordclust.choose.search.LARGE", 0)
    problem, search = setting(WINE, 3)
    _, record = choose(problem, search, shares=True)
    sources = {
        x for x, turn in zip(record.sources, record.rounds, strict=True) if turn == 0
    }
    assert len([x for x in sources if x in {f"within {s}" for s in SEEDS}]) == 2
    late = np.array([x.startswith("from the") for x in record.sources])
    assert record.taus[late].max() == 0.4
    assert sources.isdisjoint({"from the mixture", "sized cut"})


def test_of_the_paths_of_a_large_problem_the_best_objective_counts(monkeypatch):
    monkeypatch.setattr("lordclust.choose.search.LARGE", 0)
    monkeypatch.setattr("lordclust.choose.search.SHORT_FROM", 0)  # groups of samples
    X = np.random.default_rng(0).standard_normal((300, 5))  # several optima
    problem, search = setting(X, 4)
    choose(problem, search, shares=True)
    late = [one.tau for one in search.found if one.source == "from the seeds"]
    # One at each tau, not one from the cut and one from the tree.
    assert sorted(late) == [0.2, 0.3, 0.4]
    assert {len(one.labels) for one in search.found} == {len(X)}


def test_given_shares_have_no_seeds():
    problem, search = setting(WINE, 3)
    _, record = choose(problem, search, shares=False)
    assert not set(record.sources) & set(SEEDS)
    assert set(record.rounds) == {0}


def test_a_stop_keeps_the_best_so_far():
    for count in (1, 4):
        heard = []

        def enough(name, part, heard=heard, count=count):
            heard.append(part)
            return len(heard) >= count

        problem, search = setting(WINE, 3, notify=enough)
        best, record = choose(problem, search, shares=True)
        solved = [name for name in record.sources if name not in SEEDS]
        assert len(solved) == len(heard) == count
        assert best.merit == max(one.merit for one in search.found)


def test_given_labels_are_the_only_candidate():
    problem, search = setting(WINE, 3)
    y = np.arange(len(WINE)) % 3
    best, record = given_labels(search, problem.omega, y)
    np.testing.assert_array_equal(best.labels, y)
    assert record.sources == ["given"]
    assert record.best == 0


def test_known_labels_come_first():
    problem, search = setting(WINE, 3)
    known = np.full(len(WINE), -1)
    known[:3] = 2, 1, 0
    omega = Omega(**{**vars(problem.omega), "known": known})
    best, _ = choose(replace(problem, omega=omega), search, shares=True)
    np.testing.assert_array_equal(best.labels[:3], [2, 1, 0])


# -- refusals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"start": "random"}, "got start='random' and algorithm='fast'"),
        ({"start": "path"}, "got start='path' and algorithm='fast'"),
        ({"algorithm": "paper"}, "algorithm='paper'"),
        ({"start": np.ones((150, 3))}, "an array"),
    ],
)
@pytest.mark.parametrize("given", [{}, {"tau": 0.3}, {"proportions": "equal"}])
def test_refuses_what_has_no_choice(settings, match, given):
    with pytest.raises(ValueError, match=match):
        BLoRD(3, **given, **settings).fit(IRIS.data)


def test_lord_cannot_choose():
    with pytest.raises(ValueError, match="LoRD does not support proportions"):
        LoRD(3, proportions="auto").fit(IRIS.data)


def test_sizes_take_the_place_of_automatic_shares():
    model = BLoRD(3, cluster_sizes=[50, 60, 40]).fit(IRIS.data)
    np.testing.assert_array_equal(model.sizes_, [50, 60, 40])


def test_sizes_and_shares_contradict_each_other():
    with pytest.raises(ValueError, match="cluster_sizes"):
        BLoRD(3, proportions="equal", cluster_sizes=[50, 50, 50]).fit(IRIS.data)


def test_exact_rounding_meets_the_shares_chosen(chosen):
    _, X, _ = chosen
    model = BLoRD(3, rounding="exact").fit(X)
    np.testing.assert_array_equal(model.sizes_, [150, 60, 30])


def test_pieces_of_the_graph_are_joined_by_evidence():
    """Three tight groups whose graph falls apart into five pieces."""
    rng = np.random.default_rng(1)
    i = np.arange(120)
    g = i % 3
    columns = (
        15000 * g + rng.normal(0, 800, 120), 10 * g + rng.integers(4, size=120),
        365 * g + i % 28,
    )  # fmt: skip
    X = np.column_stack([(x - x.mean()) / x.std() for x in columns])
    model = BLoRD(3).fit(X)
    pieces = connected_components(model.affinity_matrix_)[0]
    assert pieces == 5  # otherwise this tests nothing
    assert adjusted_rand_score(g, model.labels_) == 1
