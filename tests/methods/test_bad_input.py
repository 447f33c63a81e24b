"""What cannot be clustered is refused in one sentence; what is odd but legal is not."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from lordclust import BLoRD, LoRD
from lordclust.graph import KNNGraph
from lordclust.methods import BalancedKMeans
from models import GIVEN, MODELS, PAPER

X, _ = make_blobs(40, centers=3, random_state=0)
S = KNNGraph().build(X)


def spoiled(A, value, where=(3, 2)):
    A = np.array(A.toarray() if sparse.issparse(A) else A)
    A[where] = value
    return A


def assert_refused(model, data, error, match, **kwargs):
    with pytest.raises(error, match=match):
        model.fit(data, **kwargs)
    left = {a for a in vars(model) if a.endswith("_") and not a.startswith("_")}
    assert left <= {"n_features_in_", "recall_"}  # of the input, not of the fit


BAD_DATA = {
    "nan": (spoiled(X, np.nan, (3, 1)), "NaN"),
    "inf": (spoiled(X, np.inf, (3, 1)), "infinity"),
    "1-D": (X[:, 0], "2D array"),
    "3-D": (X[:, :, None], "dim"),
    "empty": (X[:0], "0 sample"),
    "one": (X[:1], "1 sample"),
    "no features": (X[:, :0], "0 feature"),
    "text": (np.full((40, 2), "a"), "string|convert|numeric"),
    "complex": (X + 1j, "Complex data not supported"),
    "all equal": (np.ones((40, 2)), "all 40 rows are equal"),
    "all equal, sparse": (sparse.csr_array(np.ones((40, 2))), "rows are equal"),
}


@MODELS
@pytest.mark.parametrize(("data", "match"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_samples(Model, data, match):
    assert_refused(Model(3), data, ValueError, match)


BAD_S = {
    "nan": (spoiled(S, np.nan), "NaN"),
    "nan, sparse": (sparse.csr_array(spoiled(S, np.nan)), "NaN"),
    "inf": (spoiled(S, -np.inf), "infinity"),
    "asymmetric": (spoiled(S, 7.0), r"must be symmetric: max\|S - S.T\| = "),
    "asymmetric, sparse": (sparse.csr_array(spoiled(S, 7.0)), "must be symmetric"),
    "wide": (S.toarray()[:30], r"must be a square matrix, got shape \(30, 40\)"),
    "tall": (sparse.csr_array(S[:, :30]), "must be a square matrix"),
}


@MODELS
@pytest.mark.parametrize(("data", "match"), BAD_S.values(), ids=BAD_S)
def test_bad_similarities(Model, data, match):
    assert_refused(Model(3, affinity="precomputed"), data, ValueError, match)


@MODELS
@pytest.mark.parametrize("power", [1, 2])
def test_distances_are_not_similarities(Model, power):
    D = np.linalg.norm(X[:, None] - X, axis=2) ** power
    model = Model(3, affinity="precomputed")
    assert_refused(model, D, ValueError, "X holds distances, not similarities")
    model.set_params(affinity=KNNGraph(metric="precomputed")).fit(D)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("cells", ["abcd", ["1.5", "2", "x", "3"]])
def test_a_column_of_text_is_named(kind, cells):
    library = pytest.importorskip(kind)
    frame = library.DataFrame({"age": [1.0, 2, 3, 4], "town": list(cells)})
    with pytest.raises(ValueError, match=r"The column 'town' of X holds '[ax]', but f"):
        BLoRD(2).fit(frame)


@pytest.mark.parametrize("columns", [["since", "age"], ["since"]])
def test_a_column_of_dates_is_named(columns):
    pandas = pytest.importorskip("pandas")
    days = np.arange(19_000, 19_004).astype("datetime64[D]")
    frame = pandas.DataFrame({"since": days, "age": [1.0, 2, 3, 4]})[columns]
    with pytest.raises(ValueError, match="The column 'since' of X holds dates or time"):
        BLoRD(2).fit(frame)


BAD_PARAMETERS = [
    ({"n_clusters": 0}, ValueError, "n_clusters must be an integer from 1 to"),
    ({"n_clusters": -2}, ValueError, "n_clusters must be an integer from 1 to"),
    ({"n_clusters": 41}, ValueError, "n_samples=40, got 41"),
    ({"n_clusters": 3.0}, TypeError, r"n_clusters must be an integer.*got 3\.0"),
    ({"n_clusters": "3"}, TypeError, "n_clusters must be an integer.*got '3'"),
    ({"proportions": [0.5, 0.5]}, ValueError, "proportions must hold n_clusters=3"),
    ({"proportions": [0.5, 0.5, 0]}, ValueError, "contain 0 at position 2"),
    ({"proportions": [1.5, -1, 0.5]}, ValueError, "contain -1 at position 1"),
    ({"proportions": [0.5, 0.5, 0.5]}, ValueError, "must sum to 1, got a sum of 1.5"),
    ({"proportions": [0.5, 0.5, np.nan]}, ValueError, "proportions must be finite"),
    ({"cluster_sizes": 13}, ValueError, "=13 times 3 clusters is 39, but there are 40"),
    ({"affinity": "kn"}, ValueError, "Unknown affinity 'kn'. Did you mean 'knn'"),
    ({"affinity": KNNGraph}, TypeError, "Pass an object, not its class"),
    ({"affinity": 3}, TypeError, "affinity must be one of"),
    ({"affinity": KNNGraph(40)}, ValueError, "n_neighbors must be from 1 to 39"),
    ({"affinity": lambda X: X}, ValueError, "must be a square matrix"),
    ({"affinity": lambda X: np.eye(7)}, ValueError, r"^S must|affinity"),
    ({"start": "pth"}, ValueError, "Unknown start 'pth'. Did you mean 'path'"),
    ({"algorithm": "papr"}, ValueError, "Unknown algorithm.*Did you mean 'paper'"),
    ({"tol": 0}, ValueError, "tol must be a finite number above 0, got 0"),
    ({"tol": -1e-4}, ValueError, "tol must be a finite number above 0"),
    ({"tol": np.nan}, ValueError, "tol must be a finite number above 0, got nan"),
    ({"tol": "small"}, TypeError, "tol must be a number above 0"),
    ({"max_iter": 0}, ValueError, "max_iter must be a positive integer, got 0"),
    ({"max_iter": 2.5}, ValueError, "max_iter must be a positive integer"),
    ({"n_init": 0}, ValueError, "n_init must be a positive integer, got 0"),
    ({"n_init": "many"}, ValueError, "n_init must be a positive integer"),
    ({"random_state": "a"}, ValueError, "cannot be used to seed"),
    ({"n_jobs": 0}, ValueError, "n_jobs must be an integer other than 0, got 0"),
    ({"n_jobs": "2"}, ValueError, "n_jobs must be an integer other than 0"),
]


@MODELS
@pytest.mark.parametrize(("settings", "error", "match"), BAD_PARAMETERS)
def test_bad_parameters(Model, settings, error, match):
    model = Model(**{"n_clusters": 3, **settings})
    assert_refused(model, X, error, match)


def test_missing_values_have_a_metric():
    samples = spoiled(X, np.nan, (3, 1))
    with pytest.raises(ValueError, match=r'Imputer, or pass metric="nan_euclidean"\.$'):
        BLoRD(3).fit(samples)
    with pytest.raises(ValueError, match=r"Imputer\.$"):
        BalancedKMeans(3).fit(samples)
    assert BLoRD(3, metric="nan_euclidean").fit(samples).sizes_.sum() == len(X)


@MODELS
@pytest.mark.parametrize("shares", [[50, 30, 20], [5, 3, 2], [50.5, 49, 0.5]])
def test_percentages_and_counts_are_divided_by_their_sum(Model, shares):
    found = Model(3, proportions=shares).fit(X).proportions_
    np.testing.assert_allclose(found, np.array(shares) / sum(shares))


@MODELS
def test_one_size_for_all_clusters(Model):
    assert list(Model(4, cluster_sizes=10).fit(X).sizes_) == [10, 10, 10, 10]


BAD_STARTS = [
    (np.ones((3, 40)), r"start must be .* shape \(40, 3\)"),
    (np.full((40, 3), np.nan), "start must be a finite array"),
    (None, "start must be"),
]


@GIVEN
@pytest.mark.parametrize(("start", "match"), BAD_STARTS)
def test_bad_starts(Model, start, match):
    assert_refused(Model(3, start=start), X, ValueError, match)


def labelled(*changes):
    """Return labels of three clusters, some of them changed."""
    y = np.arange(40) % 3
    for place, label in changes:
        y[place] = label
    return y


@pytest.mark.parametrize(
    ("start", "match"),
    [
        (None, "start='an array'"),
        (np.ones((40, 3)), "compare many starts, got start='an array'"),
        ("path", "compare many starts, got start='path'"),
        ("random", "compare many starts, got start='random'"),
        (labelled()[:39], "start must hold 40 labels from 0 to 2, or -1 if unknown"),
        (labelled().astype(float), "start must hold 40 labels.* got float64"),
        (labelled((3, 3)), "start must hold 40 labels"),
        (labelled((3, -2)), "start must hold 40 labels"),
        (labelled((np.s_[1::3], 0)), "start has no sample with label 1"),
    ],
)
def test_bad_starts_of_the_default(start, match):
    assert_refused(BLoRD(3, start=start), X, ValueError, match)


def test_lord_needs_a_number_of_clusters():
    assert_refused(LoRD(None), X, TypeError, "LoRD needs n_clusters, got None")


@pytest.mark.parametrize(
    ("tau", "error", "match"),
    [
        (-0.1, ValueError, r"tau must be a number in \[0, 1\], got -0.1"),
        (1.1, ValueError, "tau must be a number"),
        (np.nan, ValueError, "tau must be a number"),
        (None, TypeError, "tau must be a number.*got None"),
        (True, TypeError, "tau must be a number"),
        ("bloks", ValueError, "Unknown tau rule 'bloks'. Did you mean 'blocks'"),
    ],
)
def test_bad_tau(tau, error, match):
    assert_refused(PAPER(3, tau=tau), X, error, match)


@MODELS
@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (np.ones(5), "sample_weight must hold n_samples=40 numbers"),
        (np.ones((40, 1)), "sample_weight must hold n_samples=40 numbers"),
        (spoiled(np.ones(40), -1, 3), "nonnegative, got -1 at position 3"),
        (spoiled(np.ones(40), np.nan, 3), "sample_weight must be finite"),
        (spoiled(np.ones(40), np.inf, 3), "sample_weight must be finite"),
        (np.zeros(40), "sample_weight must have a positive sum"),
    ],
)
def test_bad_weights(Model, weight, match):
    assert_refused(Model(3), X, ValueError, match, sample_weight=weight)


@MODELS
def test_methods_before_and_after_a_failed_fit(Model):
    from sklearn.exceptions import NotFittedError

    model = Model(0)
    with pytest.raises(ValueError):
        model.fit(X)
    for call in (
        lambda: model.transform(X),
        lambda: model.pair_probability(0, 1),
        model.block_diagonality,
    ):
        with pytest.raises(NotFittedError):
            call()


@MODELS
def test_bad_samples_to_transform(Model):
    model = Model(3).fit(X)
    with pytest.raises(ValueError, match=r"3 features.*expecting 2"):
        model.transform(np.ones((4, 3)))
    with pytest.raises(ValueError, match="NaN"):
        model.transform([[np.nan, 1.0]])
    precomputed = Model(3, affinity="precomputed").fit(S)
    with pytest.raises(ValueError, match=r"7 features.*expecting 40"):
        precomputed.transform(np.ones((4, 7)))


@pytest.mark.parametrize("matrix", [np.zeros((12, 12)), -np.ones((12, 12))])
def test_lord_needs_a_positive_sum(matrix):
    model = LoRD(3, affinity="precomputed")
    assert_refused(model, matrix, ValueError, "S must have a positive and finite sum")


# -- odd but legal ----------------------------------------------------------------


def blocks(*sizes, between=0.0):
    label = np.repeat(np.arange(len(sizes)), sizes)
    S = np.where(label[:, None] == label, 1.0, between)
    np.fill_diagonal(S, 0.0)
    return S


def assert_sound(model):
    P, k = model.membership_, len(model.proportions_)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(P.mean(axis=0), model.proportions_, atol=1e-8)
    assert np.isfinite(model.objective_)
    assert model.converged_
    assert model.sizes_.shape == (k,)
    assert model.sizes_.sum() == len(P)


@MODELS
def test_copies_without_a_scale(Model):
    data = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], 20, axis=0)
    model = Model(3).fit(data)
    assert_sound(model)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], 20))
    P = model.transform(data)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(P.argmax(axis=1), model.labels_)


@MODELS
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_isolated_vertices(Model, form):
    matrix = blocks(10, 10, 10, between=0.05)
    matrix[[4, 17]] = matrix[:, [4, 17]] = 0
    model = Model(3, affinity="precomputed").fit(form(matrix))
    assert_sound(model)
    rest = np.delete(np.arange(30), [4, 17])
    truth = np.repeat([0, 1, 2], 10)[rest]
    found = model.labels_[rest]
    for j in range(3):
        assert len(set(found[truth == j])) == 1
    assert len(set(found)) == 3


@MODELS
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("sizes", [(6, 6, 6, 6, 6, 6), (18, 18)])
def test_disconnected_graphs(Model, form, sizes):
    model = Model(3, affinity="precomputed").fit(form(blocks(*sizes)))
    assert_sound(model)


@MODELS
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_components_are_found(Model, form):
    model = Model(3, affinity="precomputed").fit(form(blocks(12, 12, 12)))
    assert_sound(model)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], 12))
    hard = np.eye(3)[model.labels_]
    np.testing.assert_allclose(model.membership_, hard, atol=1e-3)


@pytest.mark.parametrize("n", [12, 60])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("tau", ["auto", "n", "blocks", 0.0, 0.3])
def test_no_similarity_at_all(n, form, tau):
    model = PAPER(3, tau=tau, affinity="precomputed").fit(form(np.zeros((n, n))))
    assert_sound(model)
    assert model.gamma_ == pytest.approx(0, abs=1e-12)


@MODELS
@pytest.mark.parametrize("n", [12, 60])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_identity(Model, n, form):
    assert_sound(Model(3, affinity="precomputed").fit(form(np.eye(n))))


@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_huge_diagonal(shift):
    # gamma takes a multiple of the identity out again: the problem is the same.
    matrix = blocks(10, 10, 10, between=0.05)
    plain = PAPER(3, tau=0.7, affinity="precomputed").fit(matrix)
    moved = PAPER(3, tau=0.7, affinity="precomputed").fit(matrix + shift * np.eye(30))
    assert_sound(moved)
    np.testing.assert_allclose(moved.membership_, plain.membership_, atol=1e-3)


@MODELS
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_unit_of_the_similarity(Model, scale):
    matrix = blocks(10, 10, 10, between=0.05)
    plain = Model(3, affinity="precomputed").fit(matrix)
    other = Model(3, affinity="precomputed").fit(scale * matrix)
    assert_sound(other)
    np.testing.assert_allclose(other.membership_, plain.membership_, atol=1e-6)


@MODELS
def test_one_feature(Model):
    rng = np.random.default_rng(0)
    data = (np.repeat([0.0, 5.0, 10.0], 12) + rng.random(36))[:, None]
    model = Model(3).fit(data)
    assert_sound(model)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], 12))


@MODELS
@pytest.mark.parametrize(
    ("n", "k"), [(2, 1), (2, 2), (3, 2), (5, 5), (40, 1), (40, 40)]
)
def test_few_samples_or_many_clusters(Model, n, k):
    model = Model(k).fit(X[:n])
    assert_sound(model)
    if k == 1:
        assert not model.labels_.any()
        np.testing.assert_array_equal(model.membership_, 1.0)


def test_softest_tau_gives_the_proportions():
    shares = [0.5, 0.3, 0.2]
    model = BLoRD(3, tau=0.0, proportions=shares, tol=1e-8).fit(X)
    assert_sound(model)
    np.testing.assert_allclose(model.membership_, np.tile(shares, (40, 1)), atol=1e-5)


@pytest.mark.parametrize("kind", [list, np.array])
def test_texts_are_not_samples(kind):
    with pytest.raises(ValueError, match="got texts such as 'a parcel'"):
        BLoRD(2).fit(kind(["a parcel", "an invoice", "a refund"]))
