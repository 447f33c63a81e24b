"""B-LoRD for single cells, compatible with scanpy: reads and writes AnnData objects.

>>> from lordclust.scanpy import tl_lord  # then: tl_lord(adata, 10)
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from lordclust._core.typing import ArrayLike, Graph, Samples
from lordclust._core.validation import check_not_both
from lordclust.methods.lord import BLoRD

if TYPE_CHECKING:
    from anndata import AnnData


def tl_lord(
    adata: "AnnData",
    n_clusters: int,
    *,
    tau: float | str = "auto",
    proportions: ArrayLike | str = "auto",
    key_added: str = "lord",
    neighbors_key: str | None = None,
    obsp: str | None = None,
    use_rep: str | None = None,
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
    n_clusters : int
        Number of clusters.
    tau, proportions
        As in :class:`lordclust.BLoRD`. Cell types seldom have equal shares, so both
        are chosen from the data by default.
    key_added : str, default="lord"
        Name of the results, see Returns.
    neighbors_key : str, optional
        Use the connectivities of ``adata.uns[neighbors_key]``; by default those of
        ``adata.uns["neighbors"]``.
    obsp : str, optional
        Use ``adata.obsp[obsp]`` as the graph.
    use_rep : str, optional
        Build the graph of nearest neighbours of ``adata.obsm[use_rep]``, or of
        ``adata.X`` for "X".
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

        - ``obs[key_added]``: the clusters, as categories "0", "1", ...
        - ``obsm["X_" + key_added + "_proba"]``: their probabilities, (n, n_clusters)
        - ``uns[key_added]``: the parameters, and the tau, proportions and objective
          of the result

    Notes
    -----
    ``scanpy.pl.umap(adata, color="lord")`` colours cells by cluster. For their
    certainty: ``adata.obs["certainty"] = adata.obsm["X_lord_proba"].max(axis=1)``.
    """
    if obsp is not None:
        check_not_both(use_rep, "use_rep", "obsp")
        check_not_both(neighbors_key, "neighbors_key", "obsp")
    if rng is not None:
        random_state = int(np.random.default_rng(rng).integers(2**31 - 1))
    adata = adata.copy() if copy else adata
    if use_rep is not None:
        source = {"use_rep": use_rep}
        data = adata.X if use_rep == "X" else _entry(adata, "obsm", use_rep)
    else:
        name = _connectivities(adata, neighbors_key) if obsp is None else obsp
        data, source = _entry(adata, "obsp", name), {"obsp": name}
        kwargs = kwargs | {"affinity": "precomputed"}
    given: dict[str, Any] = {"tau": tau, "proportions": proportions}
    given["random_state"] = random_state
    model = BLoRD(n_clusters, **given, **kwargs).fit(data)
    params = {"n_clusters": n_clusters, **given, **source, **kwargs}
    _write(adata, key_added, model, params)
    return adata if copy else None


def _write(adata: "AnnData", key: str, model: BLoRD, params: dict[str, object]) -> None:
    """Write a fitted model where scanpy's users expect it."""
    import pandas as pd

    names = [str(j) for j in range(len(model.sizes_)) if model.sizes_[j] > 0]
    labels = model.labels_.astype(str)
    adata.obs[key] = pd.Categorical(labels, categories=names)
    adata.obsm[f"X_{key}_proba"] = model.membership_
    adata.uns[key] = {
        "params": {name: _plain(v) for name, v in params.items() if v is not None},
        "tau": model.tau_,
        "proportions": model.proportions_,
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
