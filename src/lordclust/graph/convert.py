"""Graphs of networkx and igraph as similarities, and values back to their nodes."""

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from lordclust._core.typing import Graph
from lordclust._core.validation import check_similarity, to_array
from lordclust.graph.normalize import symmetrize


class NamedGraph(NamedTuple):
    """A similarity and the names of its rows; unpacks as ``S, nodes``.

    Attributes
    ----------
    S : csr_array of shape (n, n)
        Symmetric weights of the edges.
    nodes : list of hashable
        What each row stands for.
    """

    S: Graph
    nodes: list[Any]

    def by_node(self, values: Any) -> dict[Any, Any]:
        """Return a value for each node, such as its label.

        Parameters
        ----------
        values : array-like of shape (n, ...)
            A value, or a row of values, for each row of S.

        Returns
        -------
        values : dict
            In the form that ``networkx.set_node_attributes`` takes; numbers are
            Python's own, rows of numbers lists.

        Examples
        --------
        >>> NamedGraph(None, ["a", "b"]).by_node([1, 0])
        {'a': 1, 'b': 0}
        """
        found = to_array(values, "values")
        if found.ndim == 0 or len(found) != len(self.nodes):
            raise ValueError(
                f"values must hold one for each of the {len(self.nodes)} nodes, got "
                f"shape {found.shape}. Pass for example labels_ of the fitted model."
            )
        return dict(zip(self.nodes, found.tolist(), strict=True))


def from_networkx(G: Any, *, weight: str | None = "weight") -> NamedGraph:
    """Return the similarity of a networkx graph.

    Parameters
    ----------
    G : networkx Graph, DiGraph, MultiGraph or MultiDiGraph
        Parallel edges are added up; the two directions of a directed graph are
        averaged.
    weight : str or None, default="weight"
        The attribute that holds the weights; an edge without it weighs 1. None: all
        edges weigh 1.

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
            'similarities to fit itself, with affinity="precomputed".'
        )
    nodes = list(G.nodes)
    edges = G.edges(data=weight, default=1) if weight else _unit(G.edges())
    return _named(nodes, edges, G.is_directed())


def from_igraph(G: Any, *, weight: str | None = "weight") -> NamedGraph:
    """Return the similarity of an igraph graph.

    Parameters
    ----------
    G : igraph.Graph
        Parallel edges are added up; the two directions of a directed graph are
        averaged.
    weight : str or None, default="weight"
        The attribute that holds the weights. If edges have no such attribute, or for
        None, all weigh 1.

    Returns
    -------
    graph : NamedGraph
        ``S, nodes``, nodes by their attribute "name" if they have it, else by number.

    Notes
    -----
    ``g.vs["cluster"] = model.labels_`` takes labels back: rows are in igraph's order.
    """
    if not all(hasattr(G, name) for name in ("vs", "es", "is_directed")):
        raise TypeError(
            f"G must be an igraph graph, got {type(G).__name__}. Pass a matrix of "
            'similarities to fit itself, with affinity="precomputed".'
        )
    named = "name" in G.vs.attributes()
    numbers = range(G.vcount())
    weighted = weight is not None and weight in G.es.attributes()
    weights = G.es[weight] if weighted else [1] * G.ecount()
    edges = [(*ends, w) for ends, w in zip(G.get_edgelist(), weights, strict=True)]
    S = _named(list(numbers), edges, G.is_directed()).S
    return NamedGraph(S, list(G.vs["name"]) if named else list(numbers))


def _unit(edges: Iterable[tuple[Any, ...]]) -> list[tuple[Any, Any, int]]:
    """Return edges of weight 1."""
    return [(edge[0], edge[1], 1) for edge in edges]


def _named(
    nodes: list[Hashable], edges: Iterable[tuple[Any, Any, Any]], directed: bool
) -> NamedGraph:
    """Return the graph of these edges."""
    if not nodes:
        raise ValueError("G must have nodes, got an empty graph. Add nodes and edges.")
    place = {node: i for i, node in enumerate(nodes)}
    rows, columns, weights = [], [], []
    for a, b, w in edges:
        rows.append(place[a])
        columns.append(place[b])
        weights.append(_number(w, a, b))
    shape = (len(nodes), len(nodes))
    W = sparse.csr_array((np.array(weights, float), (rows, columns)), shape=shape)
    if directed:
        return NamedGraph(check_similarity(symmetrize(W), name="G"), nodes)
    # Each edge was counted once; loops stay on the diagonal as they are.
    S = W + W.T - sparse.diags_array(W.diagonal())
    return NamedGraph(check_similarity(S, name="G"), nodes)


def _number(w: Any, a: Any, b: Any) -> float:
    """Return the weight of an edge as a number."""
    try:
        return float(w)
    except (TypeError, ValueError):
        raise ValueError(
            f"Weights of edges must be numbers, got {w!r} for the edge from {a!r} to "
            f"{b!r}. Name another attribute, or pass weight=None to count edges."
        ) from None
