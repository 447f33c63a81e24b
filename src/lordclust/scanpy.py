"""B-LoRD for single cells, in scanpy's manner: reads and writes an AnnData object.

>>> from lordclust.scanpy import tl_lord  # then: tl_lord(adata, 10)
"""

from typing import Any

import numpy as np

from lordclust._core.validation import refuse_both
from lordclust.methods.lord import BLoRD


def tl_lord(
    adata: Any,
    n_clusters: int,
    *,
    tau: Any = "auto",
    proportions: Any = "auto",
    key_added: str = "lord",
    neighbors_key: str | None = None,
    obsp: str | None = None,
    use_rep: str | None = None,
    random_state: Any = 0,
    rng: Any = None,
    copy: bool = False,
    **kwargs: Any,
) -> Any:
    """Cluster cells, each with its probabilities.

    The graph is that of ``scanpy.pp.neighbors``, unless another one or a
    representation is named.

    Parameters
    ----------
    adata : AnnData
        With n cells.
    n_clusters : int
        Number of clusters; with ``proportions="auto"`` the largest number.
    tau, proportions
        As in :class:`lordclust.BLoRD`. Cell types are seldom of equal share, so that
        both are chosen from the data by default.
    key_added : str, default="lord"
        Where to write, see Returns.
    neighbors_key : str, optional
        Take the connectivities of ``adata.uns[neighbors_key]``; by default of
        ``adata.uns["neighbors"]``.
    obsp : str, optional
        Take ``adata.obsp[obsp]`` as the graph.
    use_rep : str, optional
        Build the graph of nearest neighbours of ``adata.obsm[use_rep]``, or of
        ``adata.X`` for "X".
    random_state : int, RandomState or None, default=0
        For the starts.
    rng : int or numpy.random.Generator, optional
        The same in the words of newer versions of scanpy; instead of random_state.
    copy : bool, default=False
        Leave ``adata`` as it is and return a changed copy.
    **kwargs
        Further parameters of :class:`lordclust.BLoRD`, such as ``n_jobs``.

    Returns
    -------
    adata : AnnData or None
        A copy if asked for. It, or the object given, has

        - ``obs[key_added]``: the clusters, as categories "0", "1", ...
        - ``obsm["X_" + key_added + "_proba"]``: their probabilities, (n, n_clusters)
        - ``uns[key_added]``: the parameters, and the tau, proportions and objective
          of the result

    Notes
    -----
    ``scanpy.pl.umap(adata, color="lord")`` colours cells by cluster. For how sure each
    is: ``adata.obs["sure"] = adata.obsm["X_lord_proba"].max(axis=1)``.
    """
    if obsp is not None:
        refuse_both(use_rep, "use_rep", "obsp")
        refuse_both(neighbors_key, "neighbors_key", "obsp")
    if rng is not None:
        random_state = _seed(rng)
    adata = adata.copy() if copy else adata
    if use_rep is not None:
        data, source = _representation(adata, use_rep), {"use_rep": use_rep}
    else:
        name = _connectivities(adata, neighbors_key) if obsp is None else obsp
        data, source = _pairs(adata, name), {"obsp": name}
        kwargs = kwargs | {"affinity": "precomputed"}
    asked = {"tau": tau, "proportions": proportions, "random_state": random_state}
    model = BLoRD(n_clusters, **asked, **kwargs).fit(data)
    params = {"n_clusters": n_clusters, **asked, **source, **kwargs}
    _write(adata, key_added, model, params)
    return adata if copy else None


def _seed(rng: Any) -> int:
    """Return a seed from a generator, or the seed given."""
    return int(np.random.default_rng(rng).integers(np.iinfo(np.int32).max))


def _write(adata: Any, key: str, model: BLoRD, params: dict[str, Any]) -> None:
    """Write a fitted model where scanpy's users look for it."""
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


def _plain(value: Any) -> Any:
    """Return a parameter as something that an h5ad file can hold."""
    if isinstance(value, str | bool | int | float | np.generic):
        return value
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return repr(value)


def _connectivities(adata: Any, neighbors_key: str | None) -> str:
    """Return the name of the graph that scanpy.pp.neighbors wrote."""
    key = "neighbors" if neighbors_key is None else neighbors_key
    if key not in adata.uns:
        raise ValueError(
            f"adata.uns has no {key!r}, so there is no graph of the cells. Run "
            "scanpy.pp.neighbors(adata) first, or pass obsp or use_rep."
        )
    return str(adata.uns[key].get("connectivities_key", "connectivities"))


def _pairs(adata: Any, name: str) -> Any:
    """Return a graph of the cells."""
    if name not in adata.obsp:
        raise ValueError(
            f"adata.obsp has no {name!r}, only {_listed(adata.obsp)}. Run "
            "scanpy.pp.neighbors(adata) first, or name another graph."
        )
    return adata.obsp[name]


def _representation(adata: Any, name: str) -> Any:
    """Return features of the cells."""
    if name == "X":
        return adata.X
    if name not in adata.obsm:
        raise ValueError(
            f"adata.obsm has no {name!r}, only {_listed(adata.obsm)}. Pass one of "
            'these as use_rep, or "X" for adata.X.'
        )
    return adata.obsm[name]


def _listed(names: Any) -> str:
    """Return names as text."""
    return ", ".join(repr(name) for name in names) or "nothing"
