"""Graphs as lists of edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.files import InputError, read


def graph(tmp_path, text, name="g.edges"):
    path = tmp_path / name
    path.write_text(text)
    return read(path, precomputed=True)


def test_by_hand(tmp_path):
    text = "# friends\nbo ann 2\n% more\nann bo 3\n\nann cy\ncy cy 0.5\n"
    for name in ("g.edges", "g.edgelist", "g.txt"):
        loaded = graph(tmp_path, text, name)
        assert loaded.ids == ["bo", "ann", "cy"]
        assert loaded.X.toarray().tolist() == [[0, 3, 0], [3, 0, 1], [0, 1, 0.5]]


def test_ids_with_spaces(tmp_path):
    loaded = graph(tmp_path, "New York\tBad Ems\t2\n")
    assert loaded.ids == ["New York", "Bad Ems"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# nothing\n", "there are no edges. Write lines 'a b weight'."),
        (
            "a b 1\nc\n",
            "line 2 has 1 words, but an edge has 2 or 3: 'a b' or 'a b weight'. Use "
            "tabs if ids contain spaces.",
        ),
        (
            "a b x\n",
            "a weight must be a finite number, got 'x' in line 1. Correct it.",
        ),
        (
            "a b nan\n",
            "a weight must be a finite number, got 'nan' in line 1. Correct it.",
        ),
        (
            "a b 1\nb a 2\nc a\na b 5\n",
            "the edge from 'a' to 'b' is in line 1 and again in line 4. Add their "
            "weights or leave one out.",
        ),
        (
            "a a\na a\n",
            "the edge from 'a' to 'a' is in line 1 and again in line 2. Add their "
            "weights or leave one out.",
        ),
    ],
)
def test_sentences(tmp_path, text, expected):
    with pytest.raises(InputError) as caught:
        graph(tmp_path, text)
    assert str(caught.value) == f"{tmp_path / 'g.edges'}: {expected}"


EDGES = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 5)),
    st.integers(-9, 9).map(float),
    min_size=1,
)


@given(EDGES)
def test_a_slow_reading_agrees(tmp_path_factory, edges):
    text = "".join(f"v{a} v{b} {w!r}\n" for (a, b), w in edges.items())
    loaded = graph(tmp_path_factory.mktemp("g"), text)
    order = list(dict.fromkeys(v for pair in edges for v in pair))
    assert loaded.ids == [f"v{v}" for v in order]
    for i, a in enumerate(order):
        for j, b in enumerate(order):
            given = [edges[p] for p in ((a, b), (b, a)) if p in edges]
            assert loaded.X[i, j] == max(given, default=0.0)
    assert np.array_equal(loaded.X.toarray(), loaded.X.toarray().T)


def test_edges_have_no_labels(tmp_path):
    """They were requested and silently left out. Found by fuzzing."""
    path = tmp_path / "graph.edges"
    path.write_text("a b\nb c\n")
    with pytest.raises(InputError, match="no column of labels, got label_column="):
        read(path, label_column="kind")
