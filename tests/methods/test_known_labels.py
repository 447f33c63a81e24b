"""Known labels and links between samples, as users give them."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from lordclust import BLoRD, tau_path
from lordclust.graph import KNNGraph
from lordclust.solver.links import Links, check_links
from models import GIVEN, MODELS, PAPER

X, Y = make_blobs(120, centers=4, cluster_std=1.5, random_state=3)
S = KNNGraph().build(X)


def some_known(y, per_cluster, seed=0):
    rng = np.random.default_rng(seed)
    known = np.full(len(y), -1)
    for j in np.unique(y):
        known[rng.choice(np.flatnonzero(y == j), per_cluster, replace=False)] = j
    return known


@GIVEN
@pytest.mark.parametrize("start", ["auto", "path", "random"])
def test_known_labels_are_kept(Model, start):
    known = some_known(Y, 3)
    model = Model(4, start=start, n_init=1, random_state=0).fit(X, known_labels=known)
    has = known >= 0
    np.testing.assert_array_equal(model.labels_[has], known[has])
    np.testing.assert_array_equal(model.membership_[has], np.eye(4)[known[has]])
    np.testing.assert_allclose(model.membership_.mean(axis=0), 0.25, atol=1e-12)
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1, atol=1e-12)
    assert model.converged_


def test_the_default_keeps_known_labels():
    known = some_known(Y, 3)
    w = np.random.default_rng(0).random(120) + 0.1
    w[5], known[5] = 0, Y[5]
    for weight in (None, w):
        model = BLoRD(4).fit(X, sample_weight=weight, known_labels=known)
        has = known >= 0
        np.testing.assert_array_equal(model.labels_[has], known[has])
        np.testing.assert_allclose(
            model.membership_[has], np.eye(4)[known[has]], atol=1e-6
        )
        means = np.average(model.membership_, axis=0, weights=weight)
        np.testing.assert_allclose(means, model.proportions_, atol=1e-9)
        assert (model.labels_ == Y).mean() > 0.95


def test_known_labels_of_the_default_may_be_many():
    """More than an equal share, and of all samples of a cluster."""
    known = np.where(np.isin(Y, [1, 2]), 3 - Y, -1)
    model = BLoRD(4).fit(X, known_labels=known)
    np.testing.assert_array_equal(model.labels_[known >= 0], known[known >= 0])
    assert model.sizes_.min() > 0


@MODELS
def test_a_cluster_has_the_name_its_known_samples_have(Model):
    for names in ([0, 1, 2, 3], [3, 1, 0, 2]):
        y = np.array(names)[Y]
        model = Model(4).fit(X, known_labels=some_known(y, 3))
        assert (model.labels_ == y).mean() > 0.9


@MODELS
def test_nothing_known_is_no_known_labels(Model):
    plain = Model(4).fit(X)
    none = Model(4).fit(X, known_labels=np.full(120, -1))
    np.testing.assert_array_equal(none.V_, plain.V_)


def test_more_known_labels_help():
    data, y = make_blobs(200, centers=4, cluster_std=3.5, random_state=1)
    right = []
    for per_cluster in (1, 10, 30):
        known = some_known(y, per_cluster)
        labels = PAPER(4).fit(data, known_labels=known).labels_
        right.append((labels == y)[known < 0].mean())
    assert right[0] < right[1] < right[2]


def test_known_labels_guide_the_default():
    """The moons touch; three samples of each show what the clusters are."""
    data, y = make_moons(400, noise=0.16, random_state=0)
    plain = BLoRD(2).fit(data)
    assert adjusted_rand_score(y, plain.labels_) < 0.7
    model = BLoRD(2).fit(data, known_labels=some_known(y, 3))
    assert np.mean(model.labels_ == y) > 0.92


def test_one_known_sample_outweighs_the_usual_numbering():
    plain = PAPER(4).fit(X)
    known = np.full(120, -1)
    known[0] = (plain.labels_[0] + 1) % 4
    model = PAPER(4).fit(X, known_labels=known)
    assert model.labels_[0] == known[0]


def test_known_labels_with_weights_and_zero_weights():
    w = np.random.default_rng(0).random(120)
    w[5] = 0
    known = some_known(Y, 2)
    known[5] = Y[5]
    model = PAPER(4).fit(X, sample_weight=w, known_labels=known)
    np.testing.assert_array_equal(model.labels_[known >= 0], known[known >= 0])
    np.testing.assert_allclose(w @ model.membership_ / w.sum(), 0.25, atol=1e-12)


def test_a_full_cluster_takes_no_other_sample():
    known = np.where(Y == 2, 2, -1)
    shares = np.bincount(Y) / 120
    model = BLoRD(4, proportions=shares, tau=1.0).fit(X, known_labels=known)
    assert model.converged_
    np.testing.assert_allclose(model.membership_[:, 2], Y == 2, atol=1e-12)


def test_exact_sizes_keep_known_labels():
    known = some_known(Y, 5)
    sizes = [50, 10, 30, 30]
    model = BLoRD(4, cluster_sizes=sizes, tau=1.0).fit(X, known_labels=known)
    np.testing.assert_array_equal(model.sizes_, sizes)
    np.testing.assert_array_equal(model.labels_[known >= 0], known[known >= 0])


def test_known_labels_without_the_number_of_clusters():
    known = np.full(120, -1)
    known[[Y.argmin(), Y.argmax()]] = [1, 0]
    model = BLoRD(None).fit(X, known_labels=known)
    np.testing.assert_array_equal(model.labels_[[Y.argmin(), Y.argmax()]], [1, 0])
    known[5] = 50
    with pytest.raises(ValueError, match="known_labels must be from 0 to n_clusters-1"):
        BLoRD(None).fit(X, known_labels=known)


def test_the_path_knows_them_too():
    known = some_known(Y, 3)
    path = tau_path(S, 4, known_labels=known)
    model = PAPER(4, affinity="precomputed").fit(S, known_labels=known)
    np.testing.assert_array_equal(path.labels[-1], model.labels_)
    np.testing.assert_array_equal(
        path.labels[:, known >= 0], [known[known >= 0]] * len(path.taus)
    )


BAD_LABELS = {
    "shape": ([0, 1], ValueError, r"must hold n_samples=120 numbers, got shape \(2,\)"),
    "floats": (np.zeros(120), TypeError, "must hold integers, got float64"),
    "too large": (np.full(120, 4), ValueError, "got 4 at position 0"),
    "too small": (np.full(120, -2), ValueError, "got -2 at position 0"),
    "too many": (
        np.where(np.arange(120) < 31, 1, -1),
        ValueError,
        r"share of 0.2583 of the samples to cluster 1, more than its proportion 0.25",
    ),
}


@GIVEN
@pytest.mark.parametrize("case", BAD_LABELS.values(), ids=BAD_LABELS)
def test_bad_known_labels(Model, case):
    known, error, match = case
    with pytest.raises(error, match=match):
        Model(4).fit(X, known_labels=known)
    with pytest.raises(error, match=match):
        tau_path(S, 4, known_labels=known)


@GIVEN
def test_the_papers_algorithm_refuses_known_labels(Model):
    with pytest.raises(ValueError, match='algorithm="paper" requires no known labels'):
        Model(4, algorithm="paper").fit(X, known_labels=some_known(Y, 1))


# -- links ------------------------------------------------------------------------


def some_pairs(y, count, same, seed=0):
    pairs = np.random.default_rng(seed).integers(0, len(y), (50 * count, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pairs[(y[pairs[:, 0]] == y[pairs[:, 1]]) == same][:count]


@MODELS
@pytest.mark.filterwarnings("ignore:Labels break")
def test_links_hold(Model):
    data, y = make_blobs(200, centers=4, cluster_std=3.0, random_state=1)
    must, cannot = some_pairs(y, 40, True), some_pairs(y, 40, False)
    plain = Model(4).fit(data)
    model = Model(4).fit(data, must_link=must, cannot_link=cannot)

    def held(labels):
        same = labels[must[:, 0]] == labels[must[:, 1]]
        apart = labels[cannot[:, 0]] != labels[cannot[:, 1]]
        return (same.sum() + apart.sum()) / 80

    assert held(plain.labels_) < 0.9
    assert held(model.labels_) >= 0.95
    # The graph that was asked for is the one that is kept.
    np.testing.assert_array_equal(
        model.affinity_matrix_.toarray(), plain.affinity_matrix_.toarray()
    )


@MODELS
def test_dense_links_are_sparse_links(Model):
    must, cannot = some_pairs(Y, 5, True), some_pairs(Y, 5, False)
    links = {"must_link": must, "cannot_link": cannot}
    lean = Model(4, affinity="precomputed").fit(S, **links)
    full = Model(4, affinity="precomputed").fit(S.toarray(), **links)
    np.testing.assert_allclose(full.membership_, lean.membership_, atol=1e-6)


def test_edges_by_hand():
    A = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])
    links = Links(np.array([[0, 2], [2, 0]]), np.array([[1, 2]]))
    # Degrees 2, 6, 4, at least their median 4.
    wanted = [[0, 2, 4], [2, 0, -5], [4, -5, 0]]
    np.testing.assert_allclose(links.added_to(A), wanted)
    empty = np.empty((0, 2), dtype=int)
    assert check_links(empty, empty, None, 3) is None


@pytest.mark.parametrize(
    ("must", "cannot", "known", "match"),
    [
        ([[0, 1], [1, 2]], [[2, 0]], None, "separates samples 2 and 0, but must_link"),
        ([[0, 1], [1, 2]], None, [0, -1, 1, -1], "connects samples 0 and 2.* 0 and 1"),
        (None, [[0, 3]], [1, -1, -1, 1], "samples 0 and 3, but known_labels"),
        (
            [[0, 1]],
            [[1, 3]],
            [1, -1, -1, 1],
            "samples 1 and 3, but known_labels",
        ),
    ],
)
def test_contradictions(must, cannot, known, match):
    known = None if known is None else np.array(known)
    with pytest.raises(ValueError, match=match):
        check_links(must, cannot, known, 4)


def test_what_is_no_contradiction():
    links = check_links([[0, 1], [2, 3]], [[1, 2]], np.array([0, -1, 1, -1]), 4)
    np.testing.assert_array_equal(links.must, [[0, 1], [2, 3]])
    np.testing.assert_array_equal(links.cannot, [[1, 2]])
    assert check_links(None, [], None, 4) is None


@MODELS
@pytest.mark.parametrize(
    ("pairs", "match"),
    [
        ([0, 1], r"shape \(m, 2\), got int64 of shape \(2,\)"),
        ([[0, 1, 2]], r"got int64 of shape \(1, 3\)"),
        ([[0.0, 1.0]], "got float64"),
        ([[0, 120]], r"from 0 to 119, got \(0, 120\)"),
        ([[-1, 3]], r"got \(-1, 3\)"),
        ([[3, 3]], r"two different samples from 0 to 119, got \(3, 3\)"),
    ],
)
def test_bad_pairs(Model, pairs, match):
    for name in ("must_link", "cannot_link"):
        with pytest.raises(ValueError, match=f"{name} must hold pairs.*{match}"):
            Model(4).fit(X, **{name: pairs})


# -- hard links --


def some_links(count=60, seed=0):
    """Pairs of samples with a random label each: many contradict the graph."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 4, len(X))
    pairs = rng.integers(0, len(X), (count, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    alike = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    return {"must_link": pairs[alike], "cannot_link": pairs[~alike]}


def broken(labels, links):
    a, b = labels[links["must_link"].T], labels[links["cannot_link"].T]
    return np.concatenate(
        [links["must_link"][a[0] != a[1]], links["cannot_link"][b[0] == b[1]]]
    )


@MODELS
@pytest.mark.filterwarnings("ignore:Labels break")
def test_broken_links_are_listed(Model):
    links = some_links()
    model = Model(4).fit(X, **links)
    np.testing.assert_array_equal(model.broken_links_, broken(model.labels_, links))
    assert Model(4).fit(X).broken_links_.shape == (0, 2)


@MODELS
def test_broken_links_are_a_warning(Model):
    trio = [[0, 1], [1, 2], [0, 2]]  # apart, in two clusters
    with pytest.warns(UserWarning, match="Labels break 1 link, see broken_links_"):
        model = Model(2).fit(X, cannot_link=trio)
    assert len(model.broken_links_) == 1


@MODELS
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"proportions": [0.4, 0.3, 0.2, 0.1]},
        {"cluster_sizes": [30, 30, 30, 30]},
        {"size_min": 25, "size_max": 35},
    ],
)
def test_hard_links_are_all_met(Model, settings):
    links = some_links(40)
    model = Model(4, links="hard", **settings).fit(X, **links)
    assert len(model.broken_links_) == 0
    assert len(broken(model.labels_, links)) == 0
    free = Model(4, **settings).fit(X)
    if settings:
        assert model.sizes_.min() >= min(free.sizes_.min(), 25)
    if "proportions" in settings:
        assert model.sizes_.tolist() == [48, 36, 24, 12]
    if "cluster_sizes" in settings:
        assert model.sizes_.tolist() == [30, 30, 30, 30]
    if "size_max" in settings:
        assert model.sizes_.max() <= 35


def test_hard_links_leave_labels_that_meet_them():
    soft = BLoRD(4).fit(X)
    pairs = np.random.default_rng(0).integers(0, len(X), (30, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    alike = soft.labels_[pairs[:, 0]] == soft.labels_[pairs[:, 1]]
    links = {"must_link": pairs[alike], "cannot_link": pairs[~alike]}
    soft = BLoRD(4).fit(X, **links)
    assert len(soft.broken_links_) == 0
    hard = BLoRD(4, links="hard").fit(X, **links)
    np.testing.assert_array_equal(hard.labels_, soft.labels_)


def test_automatic_shares_are_those_of_hard_links():
    model = BLoRD(4, links="hard").fit(X, **some_links(40))
    np.testing.assert_allclose(len(X) * model.proportions_, model.sizes_)


@MODELS
def test_hard_links_that_contradict_each_other_are_named_before_the_graph(Model):
    def build(X):
        raise AssertionError("the graph was built")

    four = [[i, j] for i in range(4) for j in range(i)]
    with pytest.raises(ValueError, match=r"separates 4 samples .*\(0, 1, 2, 3\)"):
        Model(3, links="hard", affinity=build).fit(X, cannot_link=four)
    chain = [[i, i + 1] for i in range(45)]
    sizes = {"cluster_sizes": [40, 40, 40]}
    with pytest.raises(ValueError, match=r"connects 46 samples, .*holds at most 40"):
        Model(3, links="hard", affinity=build, **sizes).fit(X, must_link=chain)
    with pytest.raises(ValueError, match="Unknown links 'strict'"):
        Model(3, links="strict").fit(X)


def test_known_labels_and_hard_links_hold_together():
    known = np.full(len(X), -1)
    known[:8] = np.arange(8) % 4
    links = {"must_link": np.array([[0, 20]]), "cannot_link": np.array([[1, 21]])}
    model = BLoRD(4, links="hard").fit(X, known_labels=known, **links)
    np.testing.assert_array_equal(model.labels_[:8], known[:8])
    assert model.labels_[20] == 0
    assert model.labels_[21] != 1


def test_broken_links_are_saved(tmp_path):
    model = BLoRD(4).fit(X, **some_links())
    model.save(tmp_path / "m.lord")
    again = BLoRD.load(tmp_path / "m.lord")
    np.testing.assert_array_equal(again.broken_links_, model.broken_links_)
