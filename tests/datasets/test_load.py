import os
import socket
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from lordclust.datasets import CATALOG, Dataset, list_datasets, load
from lordclust.datasets.load import SOURCES

BUNDLED = ["digits", "iris", "wine", "breast_cancer"]
IN_FOLDER = [e.name for e in CATALOG.values() if "folder" in e.sources]
FOLDER = os.environ.get("LORDCLUST_DATA")
needs_folder = pytest.mark.skipif(
    not FOLDER, reason="LORDCLUST_DATA does not name a folder of data sets"
)


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("LORDCLUST_DATA", raising=False)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("LORDCLUST_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_network(monkeypatch):
    def fail(**_):
        raise URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)


def fake_openml(monkeypatch, name, n_classes=None):
    """Answer with numbered rows and text labels that go round the classes."""
    entry, requested = CATALOG[name], {}
    X = np.broadcast_to(np.linspace(-1, 1, entry.n)[:, None], (entry.n, entry.d))
    y = np.array(list("badcfehgji"))[np.arange(entry.n) % (n_classes or entry.k)]

    def fetch(**options):
        requested.update(options, timeout=socket.getdefaulttimeout())
        return X, y

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return requested


@pytest.mark.usefixtures("no_folder")
@pytest.mark.parametrize("name", BUNDLED)
def test_bundled(name):
    data = load(name)
    entry = CATALOG[name]
    assert data.X.shape == (entry.n, entry.d)
    assert data.n_clusters == entry.k == len(np.unique(data.y))
    assert data.name == name


def test_unpacks_into_two():
    X, y = load("iris")
    assert len(X) == len(y) == 150


def test_is_frozen():
    with pytest.raises(AttributeError):
        load("iris").name = "other"


def test_list_and_catalog_agree():
    assert list_datasets() == list(CATALOG)
    codes = [e.code for e in CATALOG.values() if e.code]
    assert codes == [f"D{i}" for i in range(1, 13)]
    for entry in CATALOG.values():
        assert entry.preparation in ("raw", "minmax", "colmax")
        assert all(s.partition(":")[0] in SOURCES for s in entry.sources)


def test_unknown_name():
    text = r"Unknown data set 'minst'\. Did you mean 'mnist'\? Known: yale, orl"
    with pytest.raises(ValueError, match=text):
        load("minst")


class TestPreparation:
    X = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, 8.0]], dtype=np.float32)

    def prepared(self, preparation):
        return Dataset(self.X, np.arange(2), "t", "T", 2, preparation).prepared()

    def test_raw(self):
        assert self.prepared("raw") is self.X

    def test_minmax(self):
        np.testing.assert_array_equal(self.prepared("minmax"), [[0, 0, 0], [1, 0, 1]])

    def test_colmax(self):
        expected = [[1 / 3, 1, 1 / 4], [1, 1, 1]]
        np.testing.assert_allclose(self.prepared("colmax"), expected)

    def test_a_column_of_zeros_stays(self):
        data = Dataset(np.zeros((2, 1)), np.arange(2), "t", "T", 2, "colmax")
        np.testing.assert_array_equal(data.prepared(), np.zeros((2, 1)))


class TestFolder:
    def test_images_become_rows_and_labels_start_at_zero(self, folder):
        X = np.arange(24, dtype=np.uint8).reshape(3, 2, 4)
        np.savez(folder / "orl.npz", X=X, y=np.array([1, 7, 1]))
        data = load("orl")
        assert data.X.shape == (3, 8)
        assert data.X.dtype == np.uint8
        np.testing.assert_array_equal(data.y, [0, 1, 0])
        assert data.n_clusters == 2

    def test_comes_before_scikit_learn(self, folder):
        np.savez(folder / "wine.npz", X=np.ones((2, 3)), y=np.arange(2))
        assert load("wine").X.shape == (2, 3)

    def test_missing_array(self, folder):
        np.savez(folder / "orl.npz", X=np.ones((2, 2)))
        with pytest.raises(ValueError, match=r"orl\.npz must be an \.npz file with"):
            load("orl")

    def test_objects_are_not_unpickled(self, folder):
        np.savez(folder / "orl.npz", X=np.array([{}, {}]), y=np.arange(2))
        with pytest.raises(ValueError, match="pickled Python objects"):
            load("orl")

    def test_not_a_data_file(self, folder):
        (folder / "orl.npz").write_text("hello")
        with pytest.raises(ValueError, match="plain arrays X and y"):
            load("orl")

    def test_lengths_differ(self, folder):
        np.savez(folder / "orl.npz", X=np.ones((2, 2)), y=np.arange(3))
        with pytest.raises(ValueError, match=r"got shapes \(2, 2\) and \(3,\)"):
            load("orl")

    def test_missing_file(self, folder):
        text = (
            r"'orl' was not found\. Set LORDCLUST_DATA to a folder that holds orl\.npz"
        )
        with pytest.raises(FileNotFoundError, match=text):
            load("orl")
        with pytest.raises(FileNotFoundError, match="does not contain it"):
            load("orl")


@pytest.mark.usefixtures("no_folder")
class TestNetwork:
    @pytest.mark.usefixtures("no_network")
    @pytest.mark.parametrize("name", ["mnist", "yeast", "usps"])
    def test_without_network(self, name):
        text = rf"holds {name}\.npz .*it is not set\), or connect .*no route to host"
        with pytest.raises(FileNotFoundError, match=text):
            load(name)

    @pytest.mark.usefixtures("no_network")
    def test_part_without_network_names_itself(self):
        text = r"holds mnist2000\.npz .*it is a part of mnist"
        with pytest.raises(FileNotFoundError, match=text):
            load("mnist2000")

    def test_no_source(self):
        with pytest.raises(FileNotFoundError, match="it is not set"):
            load("coil100")

    def test_openml_labels_and_timeout(self, monkeypatch):
        before = socket.getdefaulttimeout()
        requested = fake_openml(monkeypatch, "yeast")
        np.testing.assert_array_equal(load("yeast").y[:4], [1, 0, 3, 2])
        assert requested["data_id"] == 181
        assert requested["timeout"] is not None
        assert socket.getdefaulttimeout() == before

    def test_another_data_set_is_refused(self, monkeypatch):
        fake_openml(monkeypatch, "yeast", n_classes=3)
        text = r"must have \(1484, 8, 10\) samples.*'yeast', got \(1484, 8, 3\)"
        with pytest.raises(ValueError, match=text):
            load("yeast")

    def test_first_2000(self, monkeypatch):
        fake_openml(monkeypatch, "mnist")
        data = load("mnist2000")
        assert data.X.shape == (2000, 784)
        assert data.X.max() < -0.9

    def test_usps_is_mapped_to_unit_grey_and_cut(self, monkeypatch):
        fake_openml(monkeypatch, "usps")
        data = load("usps1000")
        assert (data.X.min(), len(data.X)) == (0.0, 1000)
        np.testing.assert_array_equal(np.bincount(data.y), 100)
        assert np.all(np.diff(data.X[:, 0]) > 0)


@needs_folder
class TestRealFiles:
    @pytest.mark.parametrize("name", IN_FOLDER)
    def test_shapes(self, name):
        data, entry = load(name), CATALOG[name]
        assert data.X.shape == (entry.n, entry.d)
        assert data.n_clusters == entry.k
        assert data.y.min() == 0

    def test_wine_is_the_wine_of_scikit_learn(self):
        X, y = sklearn.datasets.load_wine(return_X_y=True)
        data = load("wine")
        np.testing.assert_array_equal(data.X, X.astype(np.float32))
        np.testing.assert_array_equal(data.y, y)

    def test_parts(self):
        mnist, part = load("mnist"), load("mnist2000")
        np.testing.assert_array_equal(part.X, mnist.X[:2000])
        rows = SOURCES["part-of"](CATALOG["usps1000"], "usps")
        np.testing.assert_array_equal(rows[0], load("usps1000").X)
