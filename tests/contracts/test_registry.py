"""What every method promises, whatever it does inside."""

import stat
import zipfile
from functools import cache, partial
from importlib.metadata import EntryPoint
from inspect import cleandoc, signature

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

import lordclust
from lordclust import list_methods, load_model, make_method, methods, register_method
from lordclust import registry as registry_module
from lordclust.cli.app import main
from lordclust.graph import KNNGraph, self_tuning_kernel
from lordclust.methods._docstrings import ENTRY
from lordclust.metrics import accuracy
from lordclust.registry import CONSTRAINTS, GROUP, METHODS, STATUSES

X, TRUTH = make_blobs(
    [16, 16, 16], centers=[[0, 0], [9, 0], [0, 9]], cluster_std=0.7, random_state=3
)
GRAPH = KNNGraph(6).build(X)
FEATURES = [name for name, method in METHODS.items() if method.takes == "features"]
GRAPHS = [name for name in METHODS if name not in FEATURES]
QUICK = {"s3nmf": {"n_members": 3, "n_rounds": 2, "max_iter": 3000}}


def similarity(name):
    return self_tuning_kernel(X) if METHODS[name].takes == "kernel" else GRAPH


def build(name, k=3, **params):
    return make_method(name, n_clusters=k, random_state=0, **params)


@cache
def fitted(name):
    """The model of X, for tests that do not change it."""
    return build(name).fit(X)


def on_graph(name, S, k=3):
    return build(name, k, affinity="precomputed").fit(S)


every = pytest.mark.parametrize("name", list_methods())
graphs = pytest.mark.parametrize("name", GRAPHS)


def test_names():
    names = (
        "lord blord kkm gkkm sc ncut sr dbsc directsc symnmf phals s3nmf gwl nlr dcd "
        "sdp dsn sds dvd dsni dsdc gmm balanced_kmeans"
    )
    assert " ".join(list_methods()) == names
    assert "make_method" in lordclust.__all__


@every
def test_constraints_are_those_of_kernel_k_means(name):
    method = METHODS[name]
    assert set(method.keeps + method.partly) <= set(CONSTRAINTS)
    assert not set(method.keeps) & set(method.partly)


@every
def test_line(name):
    method = METHODS[name]
    assert method.status in STATUSES
    assert method.takes in ("graph", "kernel", "features")
    assert getattr(methods, method.class_name) is method.load()
    doc = method.load().__doc__
    assert "References" in doc
    assert "Examples" in doc
    assert ("reconstruction" in doc.lower()) == (method.status == "reconstruction")


@every
def test_the_docstring_has_a_text_for_every_parameter(name):
    kind = METHODS[name].load()
    assert kind.__doc__ == cleandoc(kind.__doc__)
    described = {
        one for entry in ENTRY.finditer(kind.__doc__) for one in entry[1].split(", ")
    }
    assert set(signature(kind).parameters) <= described
    assert {"labels_", "sizes_", "objective_"} <= described


def test_unknown_name():
    with pytest.raises(ValueError, match=r"Unknown method 'blrod'\. Did you mean 'bl"):
        make_method("blrod")


@pytest.mark.parametrize("home", [KMeans, "sklearn.cluster:KMeans"])
def test_a_method_of_another_package(registry, home):
    register_method("kmeans", home, title="Lloyd's", source="Lloyd", takes="features")
    assert list_methods()[-1] == "kmeans"
    assert registry["kmeans"].class_name == "KMeans"
    model = make_method("kmeans", n_clusters=3, random_state=0).fit(X)
    assert accuracy(TRUTH, model.labels_) == 1


def test_the_title_is_the_first_line_of_the_docstring(registry):
    register_method("kmeans", KMeans)
    assert registry["kmeans"].title == "K-Means clustering."


def test_an_existing_name_is_replaced_on_request_only(registry):
    with pytest.raises(ValueError, match="'sc' exists already"):
        register_method("sc", KMeans)
    assert registry["sc"].load() is methods.SC
    register_method("sc", KMeans, replace=True)
    assert registry["sc"].load() is KMeans
    assert methods.SC.__name__ == "SC"  # ours stays where it is


@pytest.mark.parametrize("name", ["", "K Means", "KMeans", "2means", "_k", "k-m", 3])
def test_bad_names(registry, name):
    with pytest.raises(ValueError, match="name must be lower-case letters, digits"):
        register_method(name, KMeans)


@pytest.mark.parametrize("home", ["sklearn.cluster", "a:b:c", ":KMeans", "a b:C", ""])
def test_bad_homes(registry, home):
    with pytest.raises(ValueError, match=r'a class or "package\.module:Class", got'):
        register_method("other", home)


@pytest.mark.parametrize("kind", [dict, PCA, KMeans(), None])
def test_what_is_not_a_clusterer(registry, kind):
    with pytest.raises(TypeError, match="'other' must be a scikit-learn clusterer"):
        register_method("other", kind)


def test_a_clusterer_takes_n_clusters(registry):
    with pytest.raises(TypeError, match="n_clusters, but DBSCAN does not"):
        register_method("dbscan", DBSCAN)


@pytest.mark.parametrize("what", ["takes", "status"])
def test_unknown_facts(registry, what):
    with pytest.raises(ValueError, match=f"Unknown {what} 'graphs'"):
        register_method("other", KMeans, **{what: "graphs"})
    assert "other" not in registry


def test_a_named_class_is_checked_when_it_is_loaded(registry):
    register_method("other", "sklearn.decomposition:PCA")
    with pytest.raises(TypeError, match="'other' must be a scikit-learn clusterer"):
        make_method("other")


@pytest.fixture
def installed(registry, monkeypatch):
    """Pretend that a package with these entry points is installed."""

    def install(**homes):
        found = [EntryPoint(name, home, GROUP) for name, home in homes.items()]
        monkeypatch.setattr(registry_module, "entry_points", lambda group: found)
        monkeypatch.setattr(registry, "_complete", False)

    return install


def test_entry_points_are_read_when_they_are_needed(installed, registry):
    installed(kmeans="sklearn.cluster:KMeans")
    make_method("blord")
    assert not registry._complete
    assert make_method("kmeans", n_clusters=2).n_clusters == 2
    line = registry["kmeans"]
    assert (line.source, line.takes) == ("sklearn", "features")
    assert list_methods()[-1] == "kmeans"


@pytest.mark.parametrize(
    ("home", "reason"),
    [
        ("no_such_package:Class", "No module named 'no_such_package'"),
        ("sklearn.cluster:KMean", "module 'sklearn.cluster' has no attribute 'KMean'"),
        ("sklearn.decomposition:PCA", "The method 'other' must be a scikit-learn"),
    ],
)
def test_a_broken_entry_point_is_left_out_with_a_warning(installed, home, reason):
    installed(other=home, kmeans="sklearn.cluster:KMeans")
    with pytest.warns(UserWarning, match="'other' of the package .* left out") as told:
        assert list_methods()[-1] == "kmeans"
    assert reason in str(told[0].message)
    assert len(told) == 1


def test_an_entry_point_replaces_nothing(installed):
    installed(sc="sklearn.cluster:KMeans")
    with pytest.warns(UserWarning, match="left out: The method 'sc' exists already"):
        list_methods()
    assert type(make_method("sc")) is methods.SC


def test_the_command_line_knows_methods_of_other_packages(installed, tmp_path):
    installed(kmeans="sklearn.cluster:KMeans")
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    run = partial(CliRunner().invoke, main, catch_exceptions=False)
    listed = run(["list"]).stdout.splitlines()
    assert listed[-1].startswith("kmeans,K-Means clustering.,features,sklearn")
    x = [str(tmp_path / "x.csv"), "-k", "3", "--quiet"]
    table = run(["compare", *x, "--methods", "sc,kmeans"]).stdout
    assert table.count("16 16 16") == 2
    labels = run(["fit", *x, "--method", "kmeans", "--strict"]).stdout.splitlines()
    assert {line.partition(",")[2] for line in labels[1:]} == {"0", "1", "2"}


@pytest.mark.filterwarnings("default")
def test_the_command_line_warns_of_a_broken_entry_point_in_a_sentence(installed):
    installed(other="no_such_package:Class")
    done = CliRunner().invoke(main, ["list"])
    assert done.exit_code == 0
    assert done.stderr == (
        "Warning: The method 'other' of the package no_such_package is left out: "
        "No module named 'no_such_package'\n"
    )


@every
def test_attributes(name):
    model = fitted(name)
    n = len(X)
    assert model.labels_.shape == (n,)
    assert model.labels_.dtype.kind == "i"
    assert set(np.unique(model.labels_)) == {0, 1, 2}
    assert np.isfinite(model.objective_)
    assert model.n_iter_ >= 1
    assert isinstance(model.converged_, bool)
    assert model.objective_ in model.all_objectives_
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()  # the largest first
    best = (
        model.all_objectives_.max() if model.maximises else model.all_objectives_.min()
    )
    assert model.objective_ == best
    if hasattr(model, "membership_"):
        assert model.membership_.shape == (n, 3)
        assert model.membership_.min() >= 0
        np.testing.assert_allclose(model.membership_.sum(axis=1), 1, atol=1e-9)
    if name in GRAPHS:
        assert model.affinity_matrix_.shape == (n, n)


@every
def test_blobs_are_found(name):
    assert accuracy(TRUTH, fitted(name).labels_) == 1


@every
def test_new_samples(name, tmp_path):
    model = fitted(name)
    new = X + 0.05
    assert model.sizes_.tolist() == [16, 16, 16]
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(new), model.labels_)
    np.testing.assert_array_equal(model.predict(new[7:8]), model.labels_[7:8])
    assert 0.6 < model.score(new) < 2 / 3
    path = tmp_path / "model.lord"
    model.save(path)
    again = load_model(path)
    assert type(again) is type(model)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert set(vars(model)) <= set(vars(again))
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert again.score(new) == model.score(new)
    model.save(path, samples=False, graph=False, force=True)
    again = load_model(path)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert not hasattr(again, "affinity_matrix_")
    with zipfile.ZipFile(path) as archive:
        assert not any("samples" in part for part in archive.namelist())


@graphs
def test_rows_of_similarities_vote(name, tmp_path):
    S = similarity(name)
    model = on_graph(name, S)
    np.testing.assert_array_equal(model.predict(S), model.labels_)
    assert model.score(S) == pytest.approx(model.score(sparse.csr_array(S)))
    model.save(tmp_path / "model.lord")
    again = type(model).load(tmp_path / "model.lord")
    np.testing.assert_array_equal(again.predict(S[:5]), model.labels_[:5])


@every
def test_shared_parameters(name):
    model = build(name)
    assert model.n_init == "auto"
    assert model.verbose == 0
    with pytest.raises(ValueError, match="n_init must be a positive integer, got 0"):
        model.set_params(n_init=0).fit(X)


@every
def test_verbose_prints_the_steps(name, capsys):
    build(name, n_init=1, verbose=1, **QUICK.get(name, {})).fit(X)
    lines = capsys.readouterr().out.splitlines()
    who = METHODS[name].class_name
    assert lines[0] == f"[{who}] graph"
    assert len(lines) > 1
    assert all(line.startswith(f"[{who}] ") for line in lines)


@pytest.mark.parametrize("name", ["blord", "sc", "kkm", "directsc", "dsdc", "gmm"])
@pytest.mark.filterwarnings("ignore:The graph has 3 connected:UserWarning")
def test_a_grid_search_needs_no_scoring(name):
    rows = np.random.default_rng(0).permutation(len(X))
    found = GridSearchCV(build(name), {"n_clusters": [2, 3]}, cv=2).fit(X[rows])
    assert found.best_params_ == {"n_clusters": 3}
    assert found.best_score_ > 0.6


def test_a_grid_search_on_similarities():
    rows = np.random.default_rng(0).permutation(len(X))
    S = self_tuning_kernel(X[rows])
    model = build("sc", affinity="precomputed")
    found = GridSearchCV(model, {"n_clusters": [2, 3]}, cv=2).fit(S)
    assert found.best_params_ == {"n_clusters": 3}


@every
def test_same_seed_same_result(name):
    first = fitted(name)
    second = clone(first).fit(X)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.all_objectives_, second.all_objectives_)


@every
def test_one_cluster(name):
    model = build(name, k=1).fit(X)
    assert (model.labels_ == 0).all()
    assert np.isfinite(model.objective_)


@graphs
def test_sparse_is_dense(name):
    S = similarity(name)
    dense = S.toarray() if sparse.issparse(S) else S
    a = on_graph(name, dense)
    b = on_graph(name, sparse.csr_array(dense))
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=1e-6, atol=1e-9)


@graphs
def test_order_of_samples_does_not_matter(name):
    S = similarity(name)
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = S[order][:, order]
    a, b = on_graph(name, S).labels_, on_graph(name, shuffled).labels_
    assert accuracy(a[order], b) == 1


@every
def test_copies_of_samples(name):
    if name in FEATURES:
        labels = build(name).fit_predict(np.vstack([X, X]))
    else:
        S = similarity(name)
        both = np.kron(np.ones((2, 2)), S.toarray() if sparse.issparse(S) else S)
        labels = on_graph(name, both).labels_
    assert accuracy(np.tile(TRUTH, 2), labels) == 1


@every
def test_copies_in_the_features_do_no_harm(name):
    # Edges of weight 1 between twins can change the best partition, nothing more.
    model = build(name).fit(np.vstack([X, X]))
    assert set(np.unique(model.labels_)) == {0, 1, 2}
    assert np.isfinite(model.objective_)


@graphs
def test_components_are_found(name):
    blocks = [np.ones((m, m)) - np.eye(m) for m in (6, 6, 6)]
    S = sparse.block_diag(blocks, format="csr")
    if METHODS[name].takes == "kernel":
        S = S + sparse.eye_array(18)
    labels = on_graph(name, S).labels_
    assert accuracy(np.repeat([0, 1, 2], 6), labels) == 1


@graphs
def test_input_is_left_alone(name):
    S = similarity(name).copy()
    before = S.copy()
    on_graph(name, S)
    assert abs(S - before).max() == 0


@graphs
def test_negative_similarities(name):
    S = np.array(sparse.csr_array(similarity(name)).toarray())
    S[0, 1] = S[1, 0] = -1.0
    model = build(name, affinity="precomputed")
    if model.nonnegative:
        who = type(model).__name__
        with pytest.raises(ValueError, match=f"S must be nonnegative for {who}"):
            model.fit(S)
    else:
        model.fit(S)


@every
@pytest.mark.parametrize("k", [0, 49, 2.5, "3"])
def test_impossible_k(name, k):
    with pytest.raises((ValueError, TypeError), match="n_clusters must be"):
        build(name, k=k).fit(X)


@every
def test_too_large_is_refused_before_the_work(name):
    model = build(name)
    if "max_dense" not in model.get_params():
        pytest.skip("holds no n x n matrix")
    with pytest.raises(ValueError, match="takes at most max_dense=40 samples, got 48"):
        model.set_params(max_dense=40).fit(X)
