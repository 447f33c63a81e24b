"""The default on workers: the seeds, the judge and the result of one machine."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from lordclust import BLoRD as LocalBLoRD
from lordclust._core import memory
from lordclust.choose.evidence import principal_components
from lordclust.distributed import BLoRD, _crew, _driver
from lordclust.distributed._graph import GraphBuilder
from lordclust.graph import KNNGraph
from lordclust.rounding.labels import lloyd_labels


def uneven_blobs():
    """Three Gaussians of 20, 200 and 400 samples, 8 standard deviations apart."""
    y = np.repeat([0, 1, 2], [20, 200, 400])
    centres = 8 * np.array([[0, 0], [1, 0], [0.5, 0.75**0.5]])
    return centres[y] + np.random.default_rng(0).standard_normal((620, 2)), y


SETS = {
    "moons": (make_moons(400, noise=0.05, random_state=0), 0.98),
    "circles": (make_circles(400, factor=0.5, noise=0.04, random_state=0), 0.98),
    "uneven blobs": (uneven_blobs(), 0.99),
    "iris": (load_iris(return_X_y=True), 0.75),
}


def assert_same(ours, local):
    np.testing.assert_array_equal(ours.gather().labels_, local.labels_)
    np.testing.assert_allclose(ours.membership_, local.membership_, atol=1e-6)
    assert ours.objective_ == pytest.approx(local.objective_, rel=1e-8)
    assert ours.n_iter_ == local.n_iter_
    assert ours.gamma_ == pytest.approx(local.gamma_)
    np.testing.assert_array_equal(ours.sizes_, local.sizes_)
    np.testing.assert_allclose(ours.proportions_, local.proportions_)


# -- the same answer --------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
def test_the_default_is_that_of_one_machine(client, name):
    (X, y), least = SETS[name]
    k = int(y.max()) + 1
    ours = BLoRD(k, client=client).fit(np.array_split(X, 5))
    local = LocalBLoRD(k).fit(X)
    assert_same(ours, local)
    assert adjusted_rand_score(y, ours.labels_) >= least
    assert ours.selection_.sources == local.selection_.sources
    np.testing.assert_allclose(
        ours.selection_.evidence, local.selection_.evidence, rtol=1e-6
    )


@pytest.mark.parametrize(
    "options",
    [
        {"tau": 0.3},
        {"proportions": [0.5, 0.3, 0.2]},
        {"tau": 0.5, "proportions": "equal", "n_init": 2, "max_iter": 3},
        {"tau": "blocks", "proportions": (None, 1.0), "n_init": 1, "max_iter": 3},
    ],
    ids=["tau", "shares", "both", "soft"],
)
@pytest.mark.filterwarnings("ignore:BLoRD stopped")
def test_given_parameters_mean_the_same(client, options):
    X = load_iris().data
    ours = BLoRD(3, client=client, **options).fit(np.array_split(X, 4))
    local = LocalBLoRD(3, n_jobs=1, **options).fit(X)
    assert_same(ours, local)
    np.testing.assert_allclose(ours.all_objectives_, local.all_objectives_, rtol=1e-8)


def test_a_graph_with_a_large_diagonal(client):
    """One machine solves S - cI; the workers keep S."""
    S = KNNGraph().build(load_iris().data) + sp.diags_array(np.full(150, 1e4))
    options = {"affinity": "precomputed", "tau": 0.9}
    ours = BLoRD(3, client=client, **options).fit([S[:60], S[60:]])
    local = LocalBLoRD(3, **options).fit(S)
    np.testing.assert_array_equal(ours.gather().labels_, local.labels_)
    np.testing.assert_allclose(ours.membership_, local.membership_, atol=1e-6)
    assert ours.gamma_ == pytest.approx(local.gamma_)


@pytest.mark.parametrize(
    ("affinity", "outliers"),
    [("knn", 0.05), ("knn", "mask"), ("precomputed", "auto"), ("precomputed", "mask")],
)
def test_outliers_are_those_of_one_machine(client, affinity, outliers):
    X, _ = uneven_blobs()
    X[[3, 100, 101, 400]] += 60 * np.array([[1, 0], [0, 1], [-1, 1], [1, 1]])
    if outliers == "mask":
        outliers = np.arange(620) < 110  # of one block nothing is left
    data = X if affinity == "knn" else KNNGraph().build(X)
    blocks = [data[:100], data[100:260], data[260:]]
    options = {"affinity": affinity, "outliers": outliers}
    ours = BLoRD(3, client=client, **options).fit(blocks)
    local = LocalBLoRD(3, **options).fit(data)
    assert (local.labels_ == -1).sum() >= 4
    assert ours.labels_.chunks == ((100, 160, 360),)
    assert_same(ours, local)


def test_no_outliers_are_left_out_of_files(client, tmp_path):
    X, _ = uneven_blobs()
    files = [str(tmp_path / f"{i}.npy") for i in range(2)]
    for file, part in zip(files, np.split(X, [300]), strict=True):
        np.save(file, part)
    ours = BLoRD(3, client=client, outliers=0.0).fit(files)
    assert_same(ours, LocalBLoRD(3).fit(X))


@pytest.mark.filterwarnings("ignore:BLoRD stopped")
def test_a_whole_path_meets_given_shares(client):
    options = {"tau": 0.1, "proportions": "equal", "start": "path", "max_iter": 5}
    ours = BLoRD(3, client=client, **options).fit([load_iris().data])
    assert ours.gather().sizes_.tolist() == [50, 50, 50]
    assert np.bincount(ours.labels_).tolist() == [50, 50, 50]
    np.testing.assert_allclose(ours.membership_.mean(axis=0), 1 / 3)


# -- what the workers compute for the driver --------------------------------------


@pytest.fixture
def data(client):
    X = load_digits().data[:300]
    build = GraphBuilder(KNNGraph(), keep=True)
    sources = [_crew.InMemory(x) for x in np.split(X, [70, 111, 250])]
    crew = _crew.Crew(client, sources, graph=False, build=build)
    crew.number(np.array([1.0]))
    yield X, _driver.WorkerData(crew, build.origin)
    crew.close()


def test_the_driver_receives_what_one_machine_computes(data):
    X, ours = data
    graph = KNNGraph()
    gap = abs(ours.graph() - graph.build(X))
    assert gap.max() < 1e-12
    np.testing.assert_allclose(ours.scales(), graph.scales_, rtol=1e-12)
    labels = np.arange(300) % 5
    centres = np.array([X[labels == j].mean(axis=0) for j in range(5)])
    np.testing.assert_array_equal(ours.centres(labels, 5), lloyd_labels(X, centres, 10))


@pytest.mark.parametrize("largest", [1500, 20], ids=["matrix", "products"])
def test_principal_components(monkeypatch, data, largest):
    monkeypatch.setattr(_driver, "COVARIANCE_UP_TO", largest)
    X, ours = data
    Z, local = ours.scores(6), principal_components(X, np.ones(300), 6)
    # In another unit, and up to signs.
    scale = np.abs(Z).max() / np.abs(local).max()
    np.testing.assert_allclose(np.abs(Z), scale * np.abs(local), atol=1e-6)


# -- what cannot be ---------------------------------------------------------------


@pytest.mark.parametrize("affinity", ["knn", "precomputed"])
def test_too_little_memory_is_told_at_once(monkeypatch, client, affinity):
    monkeypatch.setattr(memory, "free", lambda: memory.Available(1000, "a test"))
    with pytest.raises(MemoryError, match=r"driver of BLoRD.*start=.path"):
        BLoRD(2, client=client, affinity=affinity).fit([np.eye(40)])


def test_too_little_memory_to_find_outliers_is_told_at_once(monkeypatch, client):
    monkeypatch.setattr(memory, "free", lambda: memory.Available(1000, "a test"))
    with pytest.raises(MemoryError, match=r"Finding outliers.*outliers=None"):
        BLoRD(2, client=client, outliers=0.1).fit([np.eye(40)])
