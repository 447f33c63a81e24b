"""B-LoRD reads and writes an AnnData object as scanpy's own tools do."""

import anndata
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from lordclust import BLoRD
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.scanpy import tl_lord
from models import PAPER

X, Y = make_blobs([40, 25, 15], n_features=6, cluster_std=1.5, random_state=2)


@pytest.fixture
def cells():
    adata = anndata.AnnData(X.copy())
    adata.obsm["X_pca"] = X[:, :4].copy()
    adata.obsp["connectivities"] = KNNGraph(10)(X)
    adata.obsp["mine"] = KNNGraph(6)(X)
    adata.uns["neighbors"] = {"connectivities_key": "connectivities"}
    adata.uns["few"] = {"connectivities_key": "mine"}
    return adata


def test_writes_what_the_model_says(cells):
    assert tl_lord(cells, 3, tau=0.3, proportions=[0.5, 0.3, 0.2]) is None
    S = cells.obsp["connectivities"]
    model = BLoRD(
        3, tau=0.3, proportions=[0.5, 0.3, 0.2], affinity="precomputed", random_state=0
    ).fit(S)
    assert isinstance(cells.obs["lord"].dtype, pd.CategoricalDtype)
    assert list(cells.obs["lord"].cat.categories) == ["0", "1", "2"]
    np.testing.assert_array_equal(cells.obs["lord"].astype(int), model.labels_)
    np.testing.assert_array_equal(cells.obsm["X_lord_proba"], model.membership_)
    assert cells.uns["lord"]["tau"] == 0.3
    assert cells.uns["lord"]["params"]["obsp"] == "connectivities"
    np.testing.assert_array_equal(
        cells.uns["lord"]["params"]["proportions"], [0.5, 0.3, 0.2]
    )


def test_finds_the_clusters_and_their_shares(cells):
    tl_lord(cells, 3)
    assert accuracy(Y, cells.obs["lord"].to_numpy()) > 0.95


@pytest.mark.parametrize(
    ("given", "data", "source"),
    [
        ({"neighbors_key": "few"}, lambda c: c.obsp["mine"], {"obsp": "mine"}),
        ({"obsp": "mine"}, lambda c: c.obsp["mine"], {"obsp": "mine"}),
        ({"use_rep": "X_pca"}, lambda c: c.obsm["X_pca"], {"use_rep": "X_pca"}),
        ({"use_rep": "X"}, lambda c: c.X, {"use_rep": "X"}),
    ],
)
def test_other_graphs_and_features(cells, given, data, source):
    tl_lord(cells, 3, tau=1.0, proportions=None, key_added="mine", **given)
    affinity = "knn" if "use_rep" in given else "precomputed"
    model = PAPER(3, affinity=affinity, random_state=0).fit(data(cells))
    np.testing.assert_array_equal(cells.obsm["X_mine_proba"], model.membership_)
    assert source.items() <= cells.uns["mine"]["params"].items()
    assert None not in cells.uns["mine"]["params"].values()  # h5ad has no None


def test_a_generator_in_place_of_the_seed(cells):
    for rng in (7, np.random.default_rng(7)):
        tl_lord(cells, 3, tau=0.5, proportions=None, rng=rng, key_added="a")
        seed = int(np.random.default_rng(7).integers(np.iinfo(np.int32).max))
        assert cells.uns["a"]["params"]["random_state"] == seed


def test_a_copy_leaves_the_cells_alone(cells):
    changed = tl_lord(cells, 3, tau=1.0, proportions=None, copy=True)
    assert "lord" in changed.obs
    assert "lord" not in cells.obs
    assert "lord" not in cells.uns
    assert "X_lord_proba" not in cells.obsm


def test_objects_among_the_parameters_become_text(cells):
    tl_lord(cells, 3, tau=1.0, use_rep="X", affinity=KNNGraph(7), n_jobs=1)
    params = cells.uns["lord"]["params"]
    assert "KNNGraph" in params["affinity"]
    assert params["n_jobs"] == 1


def test_what_is_missing_is_said(cells):
    with pytest.raises(ValueError, match=r"adata.obsm has no 'X_umap', only 'X_pca'"):
        tl_lord(cells, 3, use_rep="X_umap")
    with pytest.raises(ValueError, match=r"adata.obsp has no 'far', only 'connec"):
        tl_lord(cells, 3, obsp="far")
    with pytest.raises(ValueError, match="use_rep and obsp were both given"):
        tl_lord(cells, 3, obsp="mine", use_rep="X")
    del cells.uns["neighbors"]
    with pytest.raises(ValueError, match=r"Run scanpy.pp.neighbors\(adata\) first"):
        tl_lord(cells, 3)


def test_survives_a_file(tmp_path):
    adata = anndata.AnnData(X.copy())
    adata.uns["neighbors"] = {"connectivities_key": "connectivities"}
    adata.obsp["connectivities"] = KNNGraph(10)(X)
    tl_lord(adata, 3)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert list(again.obs["lord"]) == list(adata.obs["lord"])
    np.testing.assert_array_equal(
        again.obsm["X_lord_proba"], adata.obsm["X_lord_proba"]
    )
    assert again.uns["lord"]["params"]["tau"] == "auto"
