"""B-LoRD reads and writes an AnnData object as scanpy's own tools do."""

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score as ari

from lordclust import BLoRD
from lordclust.graph import KNNGraph
from lordclust.metrics import accuracy
from lordclust.tl import _count, lord
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
    assert lord(cells, 3, tau=0.3, proportions=[0.5, 0.3, 0.2]) is None
    S = cells.obsp["connectivities"]
    model = BLoRD(
        3, tau=0.3, proportions=[0.5, 0.3, 0.2], affinity="precomputed", random_state=0
    ).fit(S)
    assert isinstance(cells.obs["lord"].dtype, pd.CategoricalDtype)
    assert list(cells.obs["lord"].cat.categories) == ["0", "1", "2"]
    np.testing.assert_array_equal(cells.obs["lord"].astype(int), model.labels_)
    np.testing.assert_allclose(cells.obsm["lord_proba"], model.membership_)
    assert cells.uns["lord"]["tau"] == 0.3
    assert cells.uns["lord"]["params"]["obsp"] == "connectivities"
    np.testing.assert_array_equal(
        cells.uns["lord"]["params"]["proportions"], [0.5, 0.3, 0.2]
    )


@pytest.mark.parametrize("k", [2, 5])
def test_by_default_the_clusters_are_those_of_blord(cells, k):
    for data, given in (
        (cells.obsp["connectivities"], {"affinity": "precomputed"}),
        (cells.obsm["X_pca"], {}),
    ):
        model = BLoRD(k, random_state=0, **given).fit(data)
        lord(cells, k, use_rep=None if given else "X_pca")
        np.testing.assert_array_equal(cells.obs["lord"].astype(int), model.labels_)
        np.testing.assert_allclose(cells.obsm["lord_proba"], model.membership_)


def test_finds_the_clusters_and_their_shares(cells):
    lord(cells, 3)
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
    lord(cells, 3, tau=1.0, proportions=None, key_added="mine", **given)
    affinity = "knn" if "use_rep" in given else "precomputed"
    model = PAPER(3, affinity=affinity, random_state=0).fit(data(cells))
    np.testing.assert_allclose(cells.obsm["mine_proba"], model.membership_)
    assert source.items() <= cells.uns["mine"]["params"].items()
    assert None not in cells.uns["mine"]["params"].values()  # h5ad has no None


def test_probabilities_are_named(cells):
    cells.obs_names = [f"cell{i}" for i in range(80)]
    lord(cells, 3)
    proba = cells.obsm["lord_proba"]
    assert list(proba.columns) == list(cells.obs["lord"].cat.categories)
    assert list(proba.index) == list(cells.obs_names)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    doubt = cells.obs["lord_uncertainty"]
    assert doubt.between(0, 1).all()
    assert doubt.corr(1 - proba.max(axis=1)) > 0.8


def test_a_number_of_clusters_from_the_graph_or_a_resolution(cells):
    for name in ("connectivities", None):
        graph = {"use_rep": "X"} if name is None else {"obsp": name}
        lord(cells, **graph)
        assert cells.obs["lord"].nunique() == 3
        lord(cells, resolution=1, **graph)
        assert cells.obs["lord"].nunique() == 3
    S = cells.obsp["connectivities"]
    counts = [_count(S, "precomputed", r) for r in (1e-6, 0.1, 0.5, 1, 3, 10, 1e6)]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] == 40  # half of the cells
    for wrong, error in ((0, ValueError), ("fine", TypeError)):
        with pytest.raises(error, match="resolution must be a"):
            lord(cells, resolution=wrong)
    with pytest.raises(ValueError, match="n_clusters and resolution were both given"):
        lord(cells, 3, resolution=1.0)


def test_restricted_to_some_categories(cells):
    cells.obs["type"] = pd.Categorical(np.array(["T", "B", "NK"])[Y])
    lord(cells, 2, restrict_to=("type", ["T"]))
    found, proba = cells.obs["lord_R"], cells.obsm["lord_R_proba"]
    assert list(found.cat.categories) == ["B", "NK", "T,0", "T,1"]
    assert (found[Y == 0].str.startswith("T,")).all()
    assert (found[Y == 1] == "B").all()
    assert (proba.loc[(Y == 1), "B"] == 1).all()
    assert list(proba.columns) == list(found.cat.categories)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (cells.obs["lord_R_uncertainty"][Y > 0] == 0).all()
    with pytest.raises(
        ValueError, match=r"Unknown category of adata.obs\['type'\] 'D'"
    ):
        lord(cells, 2, restrict_to=("type", ["D"]))
    with pytest.raises(
        ValueError, match=r"the column 'kind', which adata.obs does not"
    ):
        lord(cells, 2, restrict_to=("kind", ["B"]))
    for wrong in ("type", ("type", "T")):
        with pytest.raises(ValueError, match="restrict_to must be a column and a list"):
            lord(cells, 2, restrict_to=wrong)


def test_outliers_stay_without_a_category(cells):
    """They became a category "nan" where another one was divided."""
    lord(cells, 3, outliers=0.05)
    missing = cells.obs["lord"].isna()
    lord(cells, 2, restrict_to=("lord", ["0"]))
    assert list(cells.obs["lord_R"].cat.categories) == ["1", "2", "0,0", "0,1"]
    assert (cells.obs["lord_R"].isna() == missing).all()
    assert (cells.obs["lord_R_uncertainty"].isna() == missing).all()


def test_given_sizes_are_met(cells):
    lord(cells, 3, cluster_sizes=[30, 30, 20])
    assert list(cells.obs["lord"].value_counts().sort_index()) == [30, 30, 20]
    lord(cells, 3, size_min=20)
    assert cells.obs["lord"].value_counts().min() >= 20


def test_a_given_adjacency(cells):
    lord(cells, 3, obsp="mine")
    lord(cells, 3, adjacency=cells.obsp["mine"], key_added="given")
    assert list(cells.obs["lord"]) == list(cells.obs["given"])


def test_the_largest_cluster_is_the_first():
    S = sparse.block_diag([np.ones((m, m)) for m in (10, 30, 20)]) + 0.001 * np.eye(60)
    adata = anndata.AnnData(np.zeros((60, 1)))
    lord(adata, 3, adjacency=sparse.csr_array(S))
    counts = adata.obs["lord"].value_counts(sort=False)
    assert counts.to_dict() == {"0": 30, "1": 20, "2": 10}


def test_clusters_without_cells_are_left_out_and_named():
    S = sparse.csr_array(np.kron(np.eye(3), np.ones((5, 5))))
    few = anndata.AnnData(np.zeros((15, 1)))
    prior = np.array([0.34, 0.33, 0.32, 0.01])
    with pytest.warns(UserWarning, match="3 of 4 clusters have cells"):
        lord(few, 4, adjacency=S, tau=1.0, proportions=prior, rounding="argmax")
    assert list(few.obs["lord"].cat.categories) == ["0", "1", "2"]
    assert few.obsm["lord_proba"].shape == (15, 3)


@pytest.mark.parametrize("sizes", [[60, 4, 3], [30, 25, 5, 2], [90, 8, 7, 6, 5]])
@pytest.mark.parametrize("more", [0, 1, 3])
def test_no_cluster_joins_islands(sizes, more):
    rng = np.random.default_rng(len(sizes) + more)
    block = [KNNGraph(min(5, m - 1))(rng.normal(size=(m, 3))) for m in sizes]
    S = sparse.block_diag(block, format="csr")
    adata = anndata.AnnData(np.zeros((sum(sizes), 1)))
    count = connected_components(S)[0]
    lord(adata, count + more, adjacency=S)
    islands = pd.Series(connected_components(S)[1], index=adata.obs_names)
    assert islands.groupby(adata.obs["lord"], observed=True).nunique().max() == 1


def test_as_good_as_leiden_on_blood_cells():
    sc = pytest.importorskip("scanpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata = sc.datasets.pbmc68k_reduced()
        types, scores = adata.obs["bulk_labels"], []
        for resolution, k in ((0.3, 7), (0.45, 8), (1.0, 12), (2.0, 15)):
            sc.tl.leiden(
                adata, resolution, flavor="igraph", n_iterations=2, directed=False
            )
            assert adata.obs["leiden"].nunique() == k
            lord(adata, k)
            scores.append([ari(types, adata.obs[key]) for key in ("lord", "leiden")])
    ours, theirs = np.array(scores).T
    assert (ours > theirs - 0.002).all()  # 3 of 700 cells
    assert ours.mean() > theirs.mean() + 0.01
    lord(adata)
    assert adata.obs["lord"].nunique() == 7


def test_a_generator_in_place_of_the_seed(cells):
    for rng in (7, np.random.default_rng(7)):
        lord(cells, 3, tau=0.5, proportions=None, rng=rng, key_added="a")
        seed = int(np.random.default_rng(7).integers(np.iinfo(np.int32).max))
        assert cells.uns["a"]["params"]["random_state"] == seed


def test_a_copy_leaves_the_cells_alone(cells):
    changed = lord(cells, 3, tau=1.0, proportions=None, copy=True)
    assert "lord" in changed.obs
    assert "lord" not in cells.obs
    assert "lord" not in cells.uns
    assert "lord_proba" not in cells.obsm


def test_objects_among_the_parameters_become_text(cells):
    lord(cells, 3, tau=1.0, use_rep="X", affinity=KNNGraph(7), n_jobs=1)
    params = cells.uns["lord"]["params"]
    assert "KNNGraph" in params["affinity"]
    assert params["n_jobs"] == 1


def test_what_is_missing_is_said(cells):
    with pytest.raises(ValueError, match=r"adata.obsm has no 'X_umap', only 'X_pca'"):
        lord(cells, 3, use_rep="X_umap")
    with pytest.raises(ValueError, match=r"adata.obsp has no 'far', only 'connec"):
        lord(cells, 3, obsp="far")
    with pytest.raises(ValueError, match="use_rep and obsp were both given"):
        lord(cells, 3, obsp="mine", use_rep="X")
    del cells.uns["neighbors"]
    with pytest.raises(ValueError, match=r"Run scanpy.pp.neighbors\(adata\) first"):
        lord(cells, 3)


def test_survives_a_file(tmp_path):
    adata = anndata.AnnData(X.copy())
    adata.uns["neighbors"] = {"connectivities_key": "connectivities"}
    adata.obsp["connectivities"] = KNNGraph(10)(X)
    lord(adata, 3)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert list(again.obs["lord"]) == list(adata.obs["lord"])
    pd.testing.assert_frame_equal(again.obsm["lord_proba"], adata.obsm["lord_proba"])
    assert again.uns["lord"]["params"]["tau"] == "auto"


def test_outliers_are_missing(cells):
    lord(cells, 3, outliers=0.1)
    assert cells.obs["lord"].isna().sum() == round(0.1 * len(X))
    assert list(cells.obs["lord"].cat.categories) == ["0", "1", "2"]


def test_clusters_are_numbered_by_size(cells):
    lord(cells, 3)
    sizes = cells.obs["lord"].value_counts(sort=False)
    assert list(sizes.index) == ["0", "1", "2"]
    assert list(sizes) == sorted(sizes, reverse=True)
    top = cells.obsm["lord_proba"].idxmax(axis=1)
    assert (top == cells.obs["lord"].astype(str)).mean() > 0.95


def test_a_parameter_of_leiden_is_refused(cells):
    with pytest.raises(TypeError, match="no parameter 'directed'"):
        lord(cells, 3, directed=False)


@pytest.mark.parametrize("name", ["distances", "few_distances"])
def test_distances_are_not_a_graph(cells, name):
    """The advice was to make them symmetric, and far cells became neighbours."""
    cells.obsp[name] = cells.obsp["connectivities"]
    with pytest.raises(ValueError, match=r"names distances.*Pass obsp='connectiv"):
        lord(cells, 3, obsp=name)
