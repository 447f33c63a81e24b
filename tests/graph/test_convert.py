"""Graphs of other libraries become the S that fit takes."""

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.graph import NamedGraph, from_igraph, from_networkx
from models import PAPER

EDGES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(0.1, 9)), min_size=1
)
KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


@pytest.mark.parametrize("kind", KINDS)
@given(edges=EDGES)
def test_networkx_agrees_with_its_own_matrix(kind, edges):
    G = kind()
    G.add_nodes_from(range(6))
    G.add_weighted_edges_from(edges)
    S, nodes = from_networkx(G)
    A = nx.to_numpy_array(G, nodelist=nodes)  # adds up parallel edges
    np.testing.assert_allclose(S.toarray(), (A + A.T) / 2)


@pytest.mark.parametrize("directed", [False, True])
@given(edges=EDGES)
def test_igraph_and_networkx_agree(directed, edges):
    G = (nx.MultiDiGraph if directed else nx.MultiGraph)()
    G.add_nodes_from(range(6))
    G.add_weighted_edges_from(edges)
    pairs = [(a, b) for a, b, _ in edges]
    other = igraph.Graph(6, pairs, directed=directed)
    other.es["weight"] = [w for _, _, w in edges]
    S, nodes = from_igraph(other)
    assert nodes == list(range(6))
    np.testing.assert_allclose(S.toarray(), from_networkx(G).S.toarray())


def test_edges_without_weight_weigh_one():
    G = nx.Graph([("a", "b", {"weight": 3.0}), ("b", "c"), ("c", "c")])
    S, nodes = from_networkx(G)
    assert nodes == ["a", "b", "c"]
    np.testing.assert_array_equal(S.toarray(), [[0, 3, 0], [3, 0, 1], [0, 1, 1]])
    ones = from_networkx(G, weight=None).S.toarray()
    np.testing.assert_array_equal(ones, [[0, 1, 0], [1, 0, 1], [0, 1, 1]])


def test_igraph_names_its_nodes():
    G = igraph.Graph.TupleList([("x", "y"), ("y", "z")])
    S, nodes = from_igraph(G)
    assert nodes == ["x", "y", "z"]
    np.testing.assert_array_equal(S.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_labels_find_their_way_back():
    G = nx.relabel_nodes(nx.barbell_graph(5, 0), lambda i: f"node {9 - i}")
    graph = from_networkx(G)
    model = PAPER(2, affinity="precomputed").fit(graph.S)
    labels = graph.by_node(model.labels_)
    assert set(labels) == set(G)
    same = {frozenset(n for n in G if labels[n] == j) for j in (0, 1)}
    halves = {frozenset(f"node {i}" for i in half) for half in (range(5), range(5, 10))}
    assert same == halves
    nx.set_node_attributes(G, labels, "cluster")
    assert type(G.nodes["node 0"]["cluster"]) is int
    assert len(graph.by_node(model.membership_)["node 3"]) == 2


@pytest.mark.parametrize("convert", [from_networkx, from_igraph])
def test_a_matrix_is_refused(convert):
    with pytest.raises(TypeError, match=r"G must be an? \w+ graph, got ndarray"):
        convert(np.eye(3))


@pytest.mark.parametrize("weight", ["heavy", None])
def test_weights_that_are_no_numbers_are_refused(weight):
    G = nx.Graph([("a", "b", {"weight": weight})])
    with pytest.raises(ValueError, match=f"got {weight!r} for the edge from 'a'"):
        from_networkx(G)


def test_infinite_weights_and_empty_graphs_are_refused():
    with pytest.raises(ValueError, match="G must be finite"):
        from_networkx(nx.Graph([(0, 1, {"weight": np.inf})]))
    with pytest.raises(ValueError, match="G must have nodes, got an empty graph"):
        from_networkx(nx.Graph())
    with pytest.raises(
        ValueError, match="values must have one entry for each of the 2"
    ):
        NamedGraph(None, ["a", "b"]).by_node([1, 2, 3])
