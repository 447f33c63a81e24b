"""Models as files: they answer as before, in every bit, or are refused."""

import json
import stat
import zipfile
from contextlib import suppress
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from lordclust import BLoRD, LoRD
from lordclust.files import InputError, read_archive, write_archive
from lordclust.graph import KNNGraph
from lordclust.methods import KKM, BalancedKMeans
from lordclust.methods._saving import load_model
from models import PAPER

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(12, 3)), RNG.normal(size=(8, 3)) + 3])
NEW = RNG.normal(size=(7, 3)) + 1
SIMILAR = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))


def same(a, b):
    """Tell whether two values are equal in type and in every bit."""
    if sparse.issparse(a):
        return all(same(getattr(a, p), getattr(b, p)) for p in ("data", "indices"))
    if isinstance(a, np.ndarray) and a.dtype != object:
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and np.all(a == b)


def assert_equal(model, again, new=NEW):
    assert set(vars(model)) <= set(vars(again))
    for name in vars(model):
        if name.endswith("_") and name != "selection_":
            assert same(getattr(model, name), getattr(again, name)), name
    for ask in ("predict", "predict_proba", "assign"):
        assert same(getattr(model, ask)(new), getattr(again, ask)(new))
    assert same(model.uncertainty_, again.uncertainty_)
    assert model.block_diagonality() == again.block_diagonality()
    for p, q in zip(model.confusable_pairs(), again.confusable_pairs(), strict=True):
        assert p[:3] == q[:3]
        assert same(p.samples, q.samples)


def agreements_equal(model, again):
    one, two = model.agreement(2), again.agreement(2)
    return same(one.labels, two.labels) and same(one.objectives, two.objectives)


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "proportions": st.sampled_from(
            [[0.6, 0.4], (0.6, 0.4), np.array([0.3, 0.7]), (None, 1.0),
             ([0.2, 0.8], np.inf)]
        ),
        "rounding": st.sampled_from(["argmax", "exact"]),
        "affinity": st.sampled_from(["knn", KNNGraph(4, metric="cityblock")]),
        "start": st.sampled_from(["path", "random"]),
        "n_init": st.sampled_from([2, np.int64(1)]),
        "random_state": st.integers(0, 9),
        "n_jobs": st.just(1),
        "dtype": st.sampled_from(["float32", "float64"]),
    },
)  # fmt: skip


@settings(max_examples=25)
@given(
    st.sampled_from([LoRD, PAPER, BLoRD]), SETTINGS, st.booleans(),
    st.sampled_from(["float64", "float32", "sparse", "frame"]),
)  # fmt: skip
def test_round_trip(tmp_path_factory, Model, parameters, graph, kind):
    path = tmp_path_factory.mktemp("m") / "m.lord"
    if Model is BLoRD:
        parameters.pop("start", None)
    model = Model(2, **parameters)
    data, new = X, NEW
    if kind == "sparse":
        data, new = sparse.csr_array(X), sparse.csr_array(NEW)
    elif kind == "frame":
        pandas = pytest.importorskip("pandas")
        data, new = (pandas.DataFrame(A, columns=["a", "b", "c"]) for A in (X, NEW))
    else:
        data, new = X.astype(kind), NEW.astype(kind)
    model.fit(data)
    model.save(path, graph=graph)
    again = type(model).load(path)
    assert repr(again.get_params()) == repr(model.get_params()).replace(
        "np.int64(1)", "1"
    )
    if not graph:
        del model.affinity_matrix_
    if Model is not LoRD and not graph:
        del model._problem
    assert_equal(model, again, new)
    if Model is not LoRD and graph:
        assert agreements_equal(model, again)


@pytest.mark.parametrize("Model", [LoRD, BLoRD])
@pytest.mark.parametrize("proba_top", [None, 1])
def test_single_precision(tmp_path, Model, proba_top):
    model = Model(2, dtype="float32", proba_top=proba_top).fit(X)
    model.save(tmp_path / "m.lord")
    again = Model.load(tmp_path / "m.lord")
    assert again.membership_.dtype == np.float32
    assert_equal(model, again, NEW)


def test_similarities(tmp_path):
    for S in (SIMILAR, sparse.csr_array(np.where(SIMILAR > 1e-3, SIMILAR, 0))):
        model = PAPER(2, affinity="precomputed", tau=0.5).fit(S)
        model.save(tmp_path / "m.lord", force=True)
        again = BLoRD.load(tmp_path / "m.lord")
        assert_equal(model, again, S[:5])
        assert agreements_equal(model, again)


def test_choice_weights_known_labels_and_links(tmp_path):
    path = tmp_path / "m.lord"
    model = BLoRD(3, tau="auto", proportions="auto").fit(
        X, sample_weight=RNG.random(20) + 0.5, must_link=[[0, 1]], cannot_link=[[0, 19]]
    )
    model.save(path)
    again = BLoRD.load(path)
    assert_equal(model, again)
    assert agreements_equal(model, again)
    assert again.selection_.table() == model.selection_.table()
    one, two = model.selection_, again.selection_
    assert all(same(getattr(one, f.name), getattr(two, f.name)) for f in fields(one))
    known = np.full(20, -1)
    known[[3, 15]] = 1, 0
    for model in (PAPER(2), BLoRD(2)):
        model.fit(X, known_labels=known).save(path, force=True)
        assert_equal(model, BLoRD.load(path))
        assert agreements_equal(model, BLoRD.load(path))


def test_labels_of_another_clustering(tmp_path):
    path = tmp_path / "m.lord"
    model = BLoRD.from_labels(X, np.arange(20) // 12)
    model.save(path)
    again = BLoRD.load(path)
    assert_equal(model, again)
    assert same(again.start, model.start)
    assert same(again.fit(X).membership_, model.membership_)


def test_saved_again_it_is_the_same_file(tmp_path):
    PAPER(2, tau=0.3).fit(X).save(tmp_path / "a.lord", extras={"scale": "zscore"})
    again = BLoRD.load(tmp_path / "a.lord")
    assert again.extras_ == {"scale": "zscore"}
    again.save(tmp_path / "b.lord")
    assert (tmp_path / "a.lord").read_bytes() == (tmp_path / "b.lord").read_bytes()
    assert type(load_model(tmp_path / "b.lord")) is BLoRD


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    model = LoRD(2).fit(X)
    model.save(tmp_path / "m.lord", graph=False)
    again = LoRD.load(tmp_path / "m.lord").fit(X)
    assert same(again.membership_, model.membership_)
    assert type(load_model(tmp_path / "m.lord")) is LoRD


def test_without_the_graph_it_is_said(tmp_path):
    PAPER(2).fit(X).save(tmp_path / "m.lord", graph=False)
    again = BLoRD.load(tmp_path / "m.lord")
    assert not hasattr(again, "affinity_matrix_")
    with pytest.raises(AttributeError, match="was saved with graph=False"):
        again.agreement()


def test_without_the_samples_it_is_said(tmp_path):
    model = BLoRD(2).fit(X)
    model.save(tmp_path / "all.lord")
    model.save(tmp_path / "less.lord", samples=False)
    assert not any(
        n.startswith("samples") for n in read_archive(tmp_path / "less.lord")[1]
    )
    again = BLoRD.load(tmp_path / "less.lord")
    assert same(model.labels_, again.labels_)
    assert agreements_equal(model, again)
    for ask in ("predict", "predict_proba", "assign", "transform"):
        with pytest.raises(ValueError, match="was saved with samples=False"):
            getattr(again, ask)(NEW)
    again.save(tmp_path / "again.lord")
    assert (tmp_path / "again.lord").read_bytes() == (
        tmp_path / "less.lord"
    ).read_bytes()
    assert same(again.fit(X).predict(NEW), model.predict(NEW))


def test_only_the_owner_reads_samples(tmp_path):
    (tmp_path / "plain").write_text("")
    usual = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    similar = PAPER(2, affinity="precomputed").fit(SIMILAR)
    for name, model, options, mode in (
        ("samples", PAPER(2).fit(X), {}, 0o600),
        ("sparse", PAPER(2).fit(sparse.csr_array(X)), {}, 0o600),
        ("less", PAPER(2).fit(X), {"samples": False}, usual),
        ("similar", similar, {}, usual),
    ):
        model.save(tmp_path / name, **options)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode, name


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "m.lord"
    with pytest.raises(NotFittedError):
        PAPER(2).save(path)
    with pytest.raises(TypeError) as caught:
        PAPER(2, affinity=lambda X: SIMILAR).fit(X).save(path)
    assert str(caught.value) == (
        "affinity cannot be saved, got function: a model file holds numbers and "
        'text, no code. Instead, fit with a KNNGraph, or with affinity="precomputed" '
        "on S."
    )
    rng = np.random.RandomState(0)
    model = PAPER(2, random_state=rng).fit(X)
    with pytest.raises(TypeError, match="random_state cannot be saved"):
        model.save(path)
    model.set_params(random_state=None).save(path)
    with pytest.raises(InputError, match="this file exists already"):
        model.save(path)
    model.set_params(tol=-1)
    with pytest.raises(ValueError, match="tol must be"):
        model.save(path, force=True)
    assert list(tmp_path.iterdir()) == [path]


def test_of_another_class_or_version(tmp_path):
    path = tmp_path / "m.lord"
    PAPER(2).fit(X).save(path)
    with pytest.raises(InputError) as caught:
        LoRD.load(path)
    assert str(caught.value) == (
        f"{path}: it holds a model of class 'BLoRD', not LoRD. Load it with that class."
    )
    document, arrays = read_archive(path)
    document["version"] = 3
    write_archive(path, document, arrays, force=True)
    with pytest.raises(InputError, match=r"version 3\. Update"):
        BLoRD.load(path)


def test_there_are_no_pickles_inside(tmp_path):
    PAPER(2, tau="auto").fit(X).save(tmp_path / "m.lord")
    with zipfile.ZipFile(tmp_path / "m.lord") as archive:
        json.loads(archive.read("document.json"))
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as file:
                    assert np.load(file, allow_pickle=False).dtype.kind in "biuf"


SMALL = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "m.lord"
    PAPER(2).fit(SMALL).save(path)
    return path.read_bytes()


def loads_equal(path, content):
    """Tell whether a damaged file still gives the model; it may only be refused."""
    path.write_bytes(content)
    with suppress(InputError):
        model = BLoRD.load(path)
        assert_equal(
            PAPER(2).fit(SMALL),
            model,
            SMALL,
        )
        return True
    return False


def test_cut_anywhere(tmp_path, small):
    path = tmp_path / "m.lord"
    assert loads_equal(path, small)
    size = len(small)  # the last bytes tell where everything is
    for end in (*range(0, size, 7), *range(size - 200, size)):
        assert not loads_equal(path, small[:end]), end


@settings(max_examples=150)
@given(st.data())
def test_flipped_bytes(tmp_path_factory, small, data):
    content = bytearray(small)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(small) - 1))
        content[at] ^= data.draw(st.integers(1, 255))
    loads_equal(tmp_path_factory.mktemp("m") / "m.lord", bytes(content))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False,
    allow_infinity=False) | st.sampled_from(["", "labels_", "x", "precomputed"]),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["array", "csr", "tuple", "KNNGraph", "float"]),
                      inner, max_size=1),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=120)
@given(st.data())
def test_forged_documents(tmp_path_factory, small, data):
    path = tmp_path_factory.mktemp("m") / "m.lord"
    path.write_bytes(small)
    document, arrays = read_archive(path)
    part = data.draw(st.sampled_from(["parameters", "fitted"]))
    key = data.draw(st.sampled_from(sorted(document[part])))
    document[part][key] = data.draw(JUNK)
    write_archive(path, document, arrays, force=True)
    with suppress(InputError):
        model = BLoRD.load(path)
        assert model.membership_.shape == (6, 2)
        assert len(model.labels_) == 6


@pytest.mark.parametrize(
    ("name", "change", "hint"),
    [
        ("labels_", lambda a: a + 5, "labels_ are not clusters"),
        ("_weight", lambda a: 0 * a, "no sample has a weight"),
        ("membership_", lambda a: a * np.nan, "membership_ is float64"),
        ("V_", lambda a: a[:-1], "V_ is float64 of shape"),
        ("samples", lambda a: a[:-1], "samples are of shape"),
        ("affinity_matrix_.indices", lambda a: a + 99, "parts are inconsistent"),
        # SciPy takes these for an array without entries, and then follows them.
        ("affinity_matrix_.indptr", lambda a: a * (a < a[-1]), "indptr must be a non"),
        ("affinity_matrix_.indptr", lambda a: np.r_[a[:-1], -1], "indptr must be a n"),
        ("problem.mass", lambda a: -a, "the rows are not those of samples"),
        # With this one, agreement() never came to an end.
        ("problem.mass", lambda a: a + 2**31 * (a == a[0]), "the rows are not those"),
        ("problem.mu", lambda a: -a, "the shares are not those of clusters"),
        ("problem.mu", lambda a: 2 * a, "the squares of mu are not shares of 1"),
        ("problem.weight", lambda a: 2 * a, "the weights are not those of samples"),
        ("affinity_matrix_.data", lambda a: a * np.inf, "S must be finite"),
        ("problem.weight", lambda a: 0 * a, "the weights are not those of samples"),
        ("membership_", lambda a: 2 * a, "membership_ are not shares of 1"),
        ("proportions_", lambda a: a[::-1] - 1, "proportions_ are not shares of 1"),
        ("V_", lambda a: a.astype("f2"), "V_ is float16"),
        ("affinity_matrix_.data", lambda a: a.astype("f2"), "the graph is float16"),
    ],
)
def test_forged_arrays(tmp_path, small, name, change, hint):
    path = tmp_path / "m.lord"
    path.write_bytes(small)
    document, arrays = read_archive(path)
    arrays[name] = change(arrays[name])
    write_archive(path, document, arrays, force=True)
    with pytest.raises(InputError, match=hint):
        BLoRD.load(path)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"best": 10**6}, "best is 1000000"),
        ({"best": None}, "best is None"),
        ({"sources": ["cut"]}, "rounds is int64"),
        ({"sources": [1]}, "sources|rounds"),
        ({"taus": {"array": "labels_"}}, "taus is int64"),
        ({"sizes": None}, "NoneType"),
    ],
)
def test_forged_selections(tmp_path, change, hint):
    path = tmp_path / "m.lord"
    PAPER(2, tau="auto").fit(SMALL).save(path)
    document, arrays = read_archive(path)
    document["fitted"]["selection_"] |= change
    write_archive(path, document, arrays, force=True)
    with pytest.raises(InputError, match=hint):
        BLoRD.load(path)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"spectrum": [1.0, -1.0]}, "the spectrum is"),
        ({"spectrum": [0.0, {"float": "inf"}]}, "the spectrum is"),
        ({"spectrum": [None, 1.0]}, "the spectrum is"),
        ({"tau": 7.0}, "tau must be a number in"),
    ],
)
def test_forged_problems(tmp_path, small, change, hint):
    path = tmp_path / "m.lord"
    path.write_bytes(small)
    document, arrays = read_archive(path)
    document["fitted"]["problem"] |= change
    write_archive(path, document, arrays, force=True)
    with pytest.raises(InputError, match=hint):
        BLoRD.load(path)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("n_jobs", 0, "n_jobs must be an integer other than 0"),
        ("n_jobs", "1e400", "n_jobs must be an integer other than 0"),
        ("n_jobs", 1.5, "n_jobs must be an integer other than 0"),
        ("metric", {"KNNGraph": {}}, "metric is not a name"),
    ],
)
def test_forged_parameters(tmp_path, small, name, value, hint):
    path = tmp_path / "m.lord"
    path.write_bytes(small)
    document, arrays = read_archive(path)
    document["parameters"][name] = value
    write_archive(path, document, arrays, force=True)
    with pytest.raises(InputError, match=hint):
        BLoRD.load(path)


def test_known_labels_of_another_type(tmp_path):
    # The solver would be compiled anew for them, which takes half a minute.
    path = tmp_path / "m.lord"
    PAPER(2).fit(SMALL, known_labels=[0, -1, -1, -1, -1, 1]).save(path)
    document, arrays = read_archive(path)
    arrays["problem.known"] = arrays["problem.known"].astype("i4")
    write_archive(path, document, arrays, force=True)
    with pytest.raises(InputError, match="known labels are not clusters"):
        BLoRD.load(path)


@pytest.mark.parametrize("change", [{"strength": "x"}, {"width": -1.0}])
def test_forged_sets(tmp_path, small, change):
    path = tmp_path / "m.lord"
    path.write_bytes(small)
    document, arrays = read_archive(path)
    document["fitted"]["problem"]["omega"] |= change
    write_archive(path, document, arrays, force=True)
    with pytest.raises(InputError, match=next(iter(change))):
        BLoRD.load(path)


def test_a_choice_does_not_outlive_its_fit():
    model = PAPER(2, tau="auto").fit(SMALL)
    assert hasattr(model, "selection_")
    assert not hasattr(model.set_params(tau=0.5).fit(SMALL), "selection_")


def test_a_graph_with_impossible_settings_is_refused(tmp_path):
    path = tmp_path / "model.lord"
    PAPER(2, affinity=KNNGraph(3)).fit(np.arange(8.0)[:, None]).save(path)
    document, arrays = read_archive(path)
    document["parameters"]["affinity"]["KNNGraph"]["n_neighbors"] = -1
    write_archive(path, document, arrays, force=True)
    with pytest.raises(InputError, match="n_neighbors must be a positive integer"):
        BLoRD.load(path)


# -- other methods ------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"labels_": np.full(20, 10**15)},
        {"labels_": -np.ones(20, dtype=int)},
        {"labels_": np.zeros(20)},
        {"sizes_": np.array([1, 19])},
        {"samples": np.ones((20, 2))},
        {"samples": np.full((20, 3), np.nan)},
        {"cluster_centers_": np.ones((2, 5))},
    ],
)
def test_damaged_files_of_other_methods(tmp_path, change):
    BalancedKMeans(2, random_state=0).fit(X).save(tmp_path / "a.lord")
    document, arrays = read_archive(tmp_path / "a.lord")
    write_archive(tmp_path / "b.lord", document, arrays | change)
    with pytest.raises(InputError, match="its parts are inconsistent"):
        load_model(tmp_path / "b.lord")


@pytest.mark.parametrize("name", ["predict", "_check_X", "x y_", "recall", ""])
def test_only_fitted_attributes_are_set(tmp_path, name):
    BalancedKMeans(2, random_state=0).fit(X).save(tmp_path / "a.lord")
    document, arrays = read_archive(tmp_path / "a.lord")
    document["fitted"][name] = 1
    write_archive(tmp_path / "b.lord", document, arrays)
    with pytest.raises(InputError, match="is not a fitted attribute"):
        load_model(tmp_path / "b.lord")


def test_weights_of_kernel_k_means_are_kept(tmp_path):
    weight = np.where(np.arange(20) % 3 > 0, 1.0, 0.0)
    model = KKM(2, random_state=0).fit(X, sample_weight=weight)
    model.save(tmp_path / "m.lord")
    again = load_model(tmp_path / "m.lord")
    assert same(again._weight, model._weight)
    assert same(again.predict(NEW), model.predict(NEW))
