"""Parquet and h5ad, and the messages if their libraries are missing."""

import sys

import anndata
import numpy as np
import pytest
from scipy import sparse

from lordclust.files import InputError, read, write_table

X = np.arange(6.0).reshape(3, 2)


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [("pyarrow", "x.parquet", "parquet"), ("anndata", "x.h5ad", "anndata")],
)
def test_what_to_install(tmp_path, monkeypatch, package, name, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as caught:
        read(tmp_path / name)
    assert str(caught.value) == (
        f'{package} is not installed. Run: pip install "lordclust[{extra}]"'
    )


class TestParquet:
    def test_round_trip(self, tmp_path):
        path = tmp_path / "x.parquet"
        columns = {"id": ["a", "b", "c"], "x": X[:, 0], "y": [1, 2, 3], "c": [1, 1, 0]}
        write_table(path, columns)
        loaded = read(path, label_column="c")
        assert (loaded.ids, loaded.id_name) == (["a", "b", "c"], "id")
        assert loaded.names == ["x", "y"]
        assert loaded.X.tolist() == [[0, 1], [2, 2], [4, 3]]
        assert loaded.labels.tolist() == [1, 1, 0]
        assert read(path, columns="y").X.tolist() == [[1], [2], [3]]

    def test_a_first_column_called_id(self, tmp_path):
        path = tmp_path / "x.parquet"
        write_table(path, {"id": [7, 8], "x": [1.0, 2.0]})
        loaded = read(path)
        assert (loaded.ids, loaded.names) == (["7", "8"], ["x"])

    def test_text_and_missing_values(self, tmp_path):
        path = tmp_path / "x.parquet"
        write_table(path, {"x": [1.0, 2.0], "city": ["Bern", "Bern"]})
        assert read(path).names == ["x"]
        message = refused(path, columns="city")
        assert message.startswith("column 'city' holds text, 'Bern' in row 0")
        write_table(path, {"x": [1.0, np.nan]}, force=True)
        assert "missing or infinite in 1 of 2 entries" in refused(path)

    def test_bombs(self, tmp_path, monkeypatch):
        monkeypatch.setattr("lordclust.files.error.ROOM", 1000)
        path = tmp_path / "x.parquet"
        write_table(path, {"x": np.zeros(1_000_000)})
        assert refused(path).startswith("it unpacks to more than the 0 MB")

    @pytest.mark.parametrize("cut", [0, 4, 100, -1])
    def test_cut(self, tmp_path, cut):
        path = tmp_path / "x.parquet"
        write_table(path, {"x": [1.0, 2.0]})
        path.write_bytes(path.read_bytes()[:cut])
        assert "cannot be read as parquet" in refused(path)


class TestH5ad:
    @pytest.fixture
    def path(self, tmp_path):
        data = anndata.AnnData(sparse.csr_matrix(X))
        data.obs_names = ["c1", "c2", "c3"]
        data.var_names = ["g1", "g2"]
        data.obs["kind"] = ["t", "b", "t"]
        data.obsm["X_pca"] = 2 * X
        data.obsp["connectivities"] = sparse.csr_matrix(np.eye(3))
        data.write_h5ad(tmp_path / "x.h5ad")
        return tmp_path / "x.h5ad"

    def test_samples(self, path):
        loaded = read(path, label_column="kind")
        assert loaded.X.toarray().tolist() == X.tolist()
        assert (loaded.ids, loaded.names) == (["c1", "c2", "c3"], ["g1", "g2"])
        assert loaded.labels.tolist() == ["t", "b", "t"]
        assert read(path, columns="g2").X.toarray().tolist() == [[1], [3], [5]]

    def test_other_matrices(self, path):
        assert read(path, columns="obsm:X_pca").X.tolist() == (2 * X).tolist()
        S = read(path, precomputed=True).X
        assert S.toarray().tolist() == np.eye(3).tolist()
        assert refused(path, columns="obsm:X_umap") == (
            "there is no obsm entry 'X_umap'; there are: X_pca. Select one with "
            'columns="obsm:NAME".'
        )

    @pytest.mark.parametrize("cut", [0, 8, 1000, -1])
    def test_cut(self, path, cut):
        path.write_bytes(path.read_bytes()[:cut])
        assert "It is truncated, damaged or of another format" in refused(path)

    def test_bombs(self, path, monkeypatch):
        import h5py

        monkeypatch.setattr("lordclust.files.error.ROOM", 1000)
        with h5py.File(path, "a") as file:
            file.create_dataset("bomb", (10**6, 10**6), "f8", chunks=(100, 100))
        assert refused(path).startswith("it unpacks to more than the")

    def test_a_pipe(self, path):
        with pytest.raises(InputError, match="h5ad cannot be piped"):
            read("-", format="h5ad")
