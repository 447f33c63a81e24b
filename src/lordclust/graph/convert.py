"""Convert graphs of networkx and igraph, and map values back to their nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import ArrayLike, Graph
from lordclust._core.validation import check_similarity, to_array
from lordclust.graph.normalize import symmetrize

if TYPE_CHECKING:
    import igraph
    import networkx


class NamedGraph(NamedTuple):
    """A similarity and its nodes; unpacks as ``S, nodes``.

    Attributes
    ----------
    S : csr_array of shape (n, n)
        Symmetric weights of the edges.
    nodes : list of hashable
        The node of each row.
    """

    S: Graph
    nodes: list[Hashable]

    def by_node(self, values: ArrayLike) -> dict[Hashable, object]:
        """Return the value of each node, such as its label.

        Parameters
        ----------
        values : array-like of shape (n, ...)
            A value, or a row of values, for each row of S.

        Returns
        -------
        values : dict
            As ``networkx.set_node_attributes`` expects it; numbers become Python
            numbers, rows become lists.

        Examples
        --------
        >>> NamedGraph(None, ["a", "b"]).by_node([1, 0])
        {'a': 1, 'b': 0}
        """
        found = to_array(values, "values")
        if found.ndim == 0 or len(found) != len(self.nodes):
            raise ValueError(
                f"values must have one entry for each of the {len(self.nodes)} nodes, "
                f"got shape {found.shape}. Pass for example model.labels_."
            )
        return dict(zip(self.nodes, found.tolist(), strict=True))


def from_networkx(G: networkx.Graph, *, weight: str | None = "weight") -> NamedGraph:
    """Return the similarity of a networkx graph.

    Parameters
    ----------
    G : networkx Graph, DiGraph, MultiGraph or MultiDiGraph
        Parallel edges are added up; the two directions of a directed graph are
        averaged.
    weight : str or None, default="weight"
        The attribute that holds the weights; an edge without it has weight 1. None:
        all edges have weight 1.

    Returns
    -------
    graph : NamedGraph
        ``S, nodes``; fit it with ``affinity="precomputed"``.

    Examples
    --------
    >>> import networkx as nx
    >>> from lordclust import BLoRD
    >>> from lordclust.graph import from_networkx
    >>> graph = from_networkx(nx.barbell_graph(4, 0))
    >>> model = BLoRD(2, affinity="precomputed").fit(graph.S)
    >>> graph.by_node(model.labels_)
    {0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 1, 7: 1}
    """
    if not all(hasattr(G, name) for name in ("nodes", "edges", "is_directed")):
        raise TypeError(
            f"G must be a networkx graph, got {type(G).__name__}. Pass a matrix of "
            'similarities directly to fit, with affinity="precomputed".'
        )
    edges = G.edges(data=weight, default=1) if weight else G.edges()
    return _named(list(G.nodes), edges, G.is_directed())


def from_igraph(G: igraph.Graph, *, weight: str | None = "weight") -> NamedGraph:
    """Return the similarity of an igraph graph.

    Parameters
    ----------
    G : igraph.Graph
        Parallel edges are added up; the two directions of a directed graph are
        averaged.
    weight : str or None, default="weight"
        The attribute that holds the weights. If edges have no such attribute, or for
        None, all have weight 1.

    Returns
    -------
    graph : NamedGraph
        ``S, nodes``; nodes are given by their attribute "name" if it exists, otherwise
        by number.

    Notes
    -----
    ``g.vs["cluster"] = model.labels_`` sets the labels: rows are in igraph's order.
    """
    if not all(hasattr(G, name) for name in ("vs", "es", "is_directed")):
        raise TypeError(
            f"G must be an igraph graph, got {type(G).__name__}. Pass a matrix of "
            'similarities directly to fit, with affinity="precomputed".'
        )
    numbers: list[Hashable] = list(range(G.vcount()))
    edges = G.get_edgelist()
    if weight is not None and weight in G.es.attributes():
        edges = [(*e, w) for e, w in zip(edges, G.es[weight], strict=True)]
    graph = _named(numbers, edges, G.is_directed())
    if "name" in G.vs.attributes():
        return graph._replace(nodes=list(G.vs["name"]))
    return graph


def _named(
    nodes: list[Hashable], edges: Iterable[tuple[object, ...]], directed: bool
) -> NamedGraph:
    """Return the graph of edges (node, node, weight); missing weights are 1."""
    if not nodes:
        raise ValueError("G must have nodes, got an empty graph. Add nodes and edges.")
    place = {node: i for i, node in enumerate(nodes)}
    rows, columns, weights = [], [], []
    for a, b, *w in edges:
        rows.append(place[a])
        columns.append(place[b])
        weights.append(_number(w[0], a, b) if w else 1.0)
    shape = (len(nodes), len(nodes))
    W = sparse.csr_array((np.array(weights, float), (rows, columns)), shape=shape)
    if directed:
        return NamedGraph(check_similarity(symmetrize(W), name="G"), nodes)
    # Each edge was counted once; self-loops stay on the diagonal unchanged.
    S = W + W.T - sparse.diags_array(W.diagonal())
    return NamedGraph(check_similarity(S, name="G"), nodes)


def _number(w: object, a: object, b: object) -> float:
    """Return the weight of an edge as a number."""
    try:
        return float(w)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(
            f"Edge weights must be numbers, got {w!r} for the edge from {a!r} to "
            f"{b!r}. Pass another attribute as weight, or weight=None to count edges."
        ) from None
