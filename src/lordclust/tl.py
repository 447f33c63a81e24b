"""B-LoRD for single cells, as one of scanpy's tools: reads and writes AnnData objects.

>>> import lordclust  # then: lordclust.tl.lord(adata)
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lordclust._core.typing import ArrayLike, Graph, IntArray, Samples
from lordclust._core.validation import (
    check_not_both,
    check_positive,
    check_similarity,
    unknown_name,
)
from lordclust._core.warn import warn_user
from lordclust.choose.n_clusters import GAP, best_n_clusters
from lordclust.graph import make_affinity
from lordclust.methods.lord import BLoRD
from lordclust.rounding.spectral import normalized_eigenvectors
from lordclust.solver.seeds import without_negative

if TYPE_CHECKING:
    from anndata import AnnData
    from pandas import Series

__all__ = ["lord"]

#: Largest number of clusters that a resolution leads to.
MOST = 100
#: Parameters of scanpy's Leiden and Louvain that have no meaning here.
NOT_HERE = "directed, use_weights, n_iterations, partition_type and flavor"


def lord(
    adata: "AnnData",
    n_clusters: int | None = None,
    resolution: float | None = None,
    *,
    restrict_to: tuple[str, Sequence[str]] | None = None,
    key_added: str = "lord",
    adjacency: Graph | None = None,
    neighbors_key: str | None = None,
    obsp: str | None = None,
    use_rep: str | None = None,
    tau: float | str = "auto",
    proportions: ArrayLike | str = "auto",
    random_state: int | np.random.RandomState | None = 0,
    rng: int | np.random.Generator | None = None,
    copy: bool = False,
    **kwargs: Any,
) -> "AnnData | None":
    """Cluster cells, and compute the cluster probabilities of each cell.

    The graph is that of ``scanpy.pp.neighbors``, unless another graph or a
    representation is given.

    Parameters
    ----------
    adata : AnnData
        The data of n cells.
    n_clusters : int, optional
        Number of clusters; by default that of :func:`lordclust.suggest_k`.
    resolution : float, optional
        Instead of ``n_clusters``: 1 for the suggested number, more for more clusters,
        less for fewer, up to 100; see Notes.
    restrict_to : (str, sequence of str), optional
        A column of ``adata.obs`` and some of its categories: only these cells are
        clustered, and the others keep their category.
    key_added : str, default="lord"
        Name of the results, see Returns. With ``restrict_to`` the default is "lord_R".
    adjacency : sparse or array-like of shape (n, n), optional
        The graph.
    neighbors_key : str, optional
        Use the connectivities of ``adata.uns[neighbors_key]``; by default those of
        ``adata.uns["neighbors"]``.
    obsp : str, optional
        Use ``adata.obsp[obsp]`` as the graph.
    use_rep : str, optional
        Build the graph of nearest neighbours of ``adata.obsm[use_rep]``, or of
        ``adata.X`` for "X".
    tau, proportions
        As in :class:`lordclust.BLoRD`, by default chosen.
    random_state : int, RandomState or None, default=0
        Seed of the starts.
    rng : int or numpy.random.Generator, optional
        The same in newer versions of scanpy; replaces random_state.
    copy : bool, default=False
        Leave ``adata`` unchanged and return a copy.
    **kwargs
        Further parameters of :class:`lordclust.BLoRD`, such as ``n_jobs``.

    Returns
    -------
    adata : AnnData or None
        A copy if ``copy=True``. The copy, or ``adata`` itself, has

        - ``obs[key_added]``: the clusters, as categories "0", "1", ..., the largest
          first unless shares are given; missing (grey in scanpy's plots) for
          ``outliers``; with ``restrict_to``, "B,0", "B,1", ...
          for the new clusters of category "B"
        - ``obs[key_added + "_uncertainty"]``: the entropy of the probabilities of each
          cell, from 0 (certain) to 1 (all clusters are equally probable)
        - ``obsm[key_added + "_proba"]``: the probabilities, a DataFrame with a row for
          each cell and a column for each cluster
        - ``uns[key_added]``: the parameters, and the tau, proportions and objective
          of the result

    Notes
    -----
    The clusters are those of ``BLoRD(n_clusters, affinity="precomputed",
    random_state=0)`` on the graph, or of ``BLoRD(n_clusters, random_state=0)`` with
    ``use_rep``. By default no cluster joins islands (connected components) of the
    graph, unless there are more islands than clusters. A cluster without cells is left
    out, with a warning.

    A random walk on the graph leaves parts of it at rates that are the eigenvalues
    l_1 <= l_2 <= ... of I - D^-1/2 S D^-1/2. ``resolution`` is a rate: the number of
    clusters is the number of eigenvalues up to ``resolution`` times that between l_k
    and l_(k+1), where k is the suggested number. The higher it is, the more clusters.

    Examples
    --------
    >>> import anndata, lordclust
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs([50, 30, 20], n_features=5, random_state=0)
    >>> adata = anndata.AnnData(X)
    >>> lordclust.tl.lord(adata, use_rep="X")
    >>> adata.obs["lord"].value_counts().to_dict()
    {'0': 50, '1': 30, '2': 20}
    """
    if resolution is not None:
        check_not_both(n_clusters, "n_clusters", "resolution")
    if rng is not None:
        random_state = int(np.random.default_rng(rng).integers(2**31 - 1))
    _check_names(kwargs)
    adata = adata.copy() if copy else adata
    data, source = _data(adata, adjacency, neighbors_key, obsp, use_rep)
    cells = _restricted(adata, restrict_to)
    if restrict_to is not None:
        data = data[cells] if use_rep is not None else data[cells][:, cells]
        source |= {"restrict_to": [restrict_to[0], *restrict_to[1]]}
        key_added = "lord_R" if key_added == "lord" else key_added
    given: dict[str, Any] = {"tau": tau, "proportions": proportions}
    given |= {"random_state": random_state, **kwargs}
    if use_rep is None:
        given["affinity"] = "precomputed"
    if n_clusters is None:
        n_clusters = _count(data, given.get("affinity", "knn"), resolution)
    model = BLoRD(n_clusters, **given).fit(data)
    params = {"n_clusters": n_clusters, "resolution": resolution, **given, **source}
    _write(adata, key_added, model, params, cells, restrict_to)
    return adata if copy else None


def _check_names(kwargs: dict[str, Any]) -> None:
    """Raise an error for parameters that BLoRD does not have."""
    for name in kwargs.keys() - BLoRD().get_params().keys():
        raise TypeError(
            f"tl.lord has no parameter {name!r}. Leave it out: besides its own, it "
            f"takes the parameters of BLoRD. {NOT_HERE} of scanpy's tools have no "
            "meaning here."
        )


def _data(
    adata: "AnnData",
    adjacency: Graph | None,
    neighbors_key: str | None,
    obsp: str | None,
    use_rep: str | None,
) -> tuple[Samples, dict[str, object]]:
    """Return the graph or the features of all cells, and where they are from."""
    sources = {
        "adjacency": adjacency,
        "neighbors_key": neighbors_key,
        "obsp": obsp,
        "use_rep": use_rep,
    }
    named = [name for name, value in sources.items() if value is not None]
    if len(named) > 1:
        check_not_both(sources[named[1]], named[1], named[0])
    if use_rep is not None:
        data = adata.X if use_rep == "X" else _entry(adata, "obsm", use_rep)
        return np.asarray(data) if hasattr(data, "columns") else data, {
            "use_rep": use_rep
        }
    if adjacency is not None:
        return check_similarity(adjacency, name="adjacency"), {"adjacency": "given"}
    if obsp is not None and obsp.endswith("distances"):
        raise ValueError(
            f"obsp={obsp!r} names distances, but the graph has similarities. Pass "
            "obsp='connectivities', or leave it out."
        )
    name = _connectivities(adata, neighbors_key) if obsp is None else obsp
    return _entry(adata, "obsp", name), {"obsp": name}


def _restricted(
    adata: "AnnData", restrict_to: tuple[str, Sequence[str]] | None
) -> IntArray:
    """Return the rows of the cells that are clustered."""
    if restrict_to is None:
        return np.arange(adata.n_obs)
    if isinstance(restrict_to, str) or isinstance(restrict_to[-1], str):
        raise ValueError(
            "restrict_to must be a column and a list of its categories, such as "
            f"('leiden', ['0']), got {restrict_to!r}."
        )
    key, names = restrict_to
    if key not in adata.obs:
        raise ValueError(
            f"restrict_to names the column {key!r}, which adata.obs does not have. "
            f"It has {', '.join(map(str, adata.obs)) or 'none'}."
        )
    found = _categories(adata, key)
    for name in names:
        if name not in set(found):
            known = sorted(set(found.dropna()))
            raise unknown_name(f"category of adata.obs[{key!r}]", name, known)
    return np.flatnonzero(found.isin(list(names)))


def _categories(adata: "AnnData", key: str) -> "Series[Any]":
    """Return a column of categories as text, None where it is missing."""
    found = adata.obs[key]
    return found.astype(str).astype(object).where(found.notna(), None)


def _count(data: Samples, affinity: Any, resolution: float | None) -> int:
    """Return the suggested number of clusters, or that at a resolution."""
    is_graph = isinstance(affinity, str) and affinity == "precomputed"
    S, n = make_affinity(affinity, data), data.shape[0]
    found = best_n_clusters(S, None if is_graph else data, np.ones(n))
    if resolution is None:
        return found.best_k
    check_positive(resolution, "resolution")
    rates, k = found.eigenvalues + GAP, min(found.best_k, len(found.eigenvalues) - 1)
    highest = resolution * np.sqrt(rates[k - 1] * rates[k])
    if highest >= rates[-1]:
        most = max(2, min(MOST, n // 2))
        rates = 1 - normalized_eigenvectors(without_negative(S), most).values + GAP
    return max(1, int((rates <= highest).sum()))


def _write(
    adata: "AnnData",
    key: str,
    model: BLoRD,
    params: dict[str, Any],
    cells: IntArray,
    restrict_to: tuple[str, Sequence[str]] | None,
) -> None:
    """Write a fitted model where scanpy's users expect it."""
    import pandas as pd

    filled = np.flatnonzero(model.sizes_ > 0)
    if len(filled) < params["n_clusters"]:
        warn_user(
            f"{len(filled)} of {params['n_clusters']} clusters have cells; the others "
            "are left out. Lower n_clusters, or use a graph with fewer neighbours.",
            UserWarning,
        )
    P = model.membership_[:, filled]
    P = P.toarray() if hasattr(P, "toarray") else P
    names = [str(j) for j in range(len(filled))]
    labels = pd.Series("", index=adata.obs_names, dtype=object)
    others: list[str] = []
    if restrict_to is not None:
        column, old = restrict_to
        names = [f"{'-'.join(old)},{name}" for name in names]
        labels = _categories(adata, column)
        others = sorted(set(labels.dropna()) - set(old))
    place = np.empty(len(model.sizes_) + 1, dtype=int)
    place[filled], place[-1] = np.arange(len(filled)), -1
    found = place[model.labels_]
    labels.iloc[cells] = np.array([*names, None], dtype=object)[found]
    proba = pd.DataFrame(0.0, index=adata.obs_names, columns=[*others, *names])
    for name in others:
        proba[name] = (labels == name).astype(float)
    proba.iloc[cells, len(others) :] = P / P.sum(axis=1, keepdims=True)
    doubt = np.where(labels.isna(), np.nan, 0.0)
    doubt[cells] = model.uncertainty_
    adata.obs[key] = pd.Categorical(labels, categories=list(proba.columns))
    adata.obs[f"{key}_uncertainty"] = doubt
    adata.obsm[f"{key}_proba"] = proba
    adata.uns[key] = {
        "params": {name: _plain(v) for name, v in params.items() if v is not None},
        "tau": model.tau_,
        "proportions": model.proportions_[filled],
        "objective": model.objective_,
    }


def _plain(value: object) -> object:
    """Return a parameter as a value that an h5ad file can hold."""
    if isinstance(value, str | bool | int | float | np.generic):
        return value
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return repr(value)


def _connectivities(adata: "AnnData", neighbors_key: str | None) -> str:
    """Return the name of the graph that scanpy.pp.neighbors wrote."""
    key = "neighbors" if neighbors_key is None else neighbors_key
    if key not in adata.uns:
        raise ValueError(
            f"adata.uns has no {key!r}, so there is no graph of the cells. Run "
            "scanpy.pp.neighbors(adata) first, or pass obsp or use_rep."
        )
    return str(adata.uns[key].get("connectivities_key", "connectivities"))


def _entry(adata: "AnnData", field: str, name: str) -> Samples | Graph:
    """Return a graph of the cells (from obsp) or their features (from obsm)."""
    entries = getattr(adata, field)
    if name not in entries:
        known = ", ".join(repr(entry) for entry in entries) or "nothing"
        advice = {
            "obsp": "Run scanpy.pp.neighbors(adata) first, or pass another name.",
            "obsm": 'Pass one of these as use_rep, or "X" for adata.X.',
        }
        raise ValueError(
            f"adata.{field} has no {name!r}, only {known}. {advice[field]}"
        )
    return entries[name]
