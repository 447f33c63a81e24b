import csv

import numpy as np

from lordclust import metrics, tau_path
from lordclust.graph import KNNGraph

COLUMNS = ("--label-column", "class")


def table(text):
    return list(csv.DictReader(text.splitlines()))


def test_rows_are_those_of_the_path(run, points, rows):
    result = run("path", points, "-k", 3, *COLUMNS, "--taus", "0.1,0.3,1")
    assert result.exit_code == 0, result.stderr
    lines, given = table(result.stdout), rows(points)
    X = np.array([[float(row["x"]), float(row["y"])] for row in given])
    path = tau_path(KNNGraph().build(X), 3, taus=[0.1, 0.3, 1])
    assert [float(row["tau"]) for row in lines] == [0.1, 0.3, 1.0]
    assert [float(row["objective"]) for row in lines] == path.objectives.tolist()
    classes = [row["class"] for row in given]
    for row, labels in zip(lines, path.labels, strict=True):
        sizes = [int(row[f"size{j}"]) for j in range(3)]
        assert sizes == np.bincount(labels, minlength=3).tolist()
        assert float(row["acc"]) == metrics.accuracy(classes, labels)


def test_entropy_falls_from_soft_to_hard(run, points):
    lines = table(run("path", points, "-k", 3, *COLUMNS).stdout)
    entropy = [float(row["entropy"]) for row in lines]
    assert 1 >= entropy[0] > 0.2 > 0.05 > entropy[-1] >= 0


def test_labels_at_every_tau(run, points, tmp_path, rows):
    out, labels = tmp_path / "path.csv", tmp_path / "labels.csv"
    result = run("path", points, "-k", 3, *COLUMNS, "--taus", "0.5:1:0.25", "-o", out,
                 "--labels", labels)  # fmt: skip
    assert result.stdout == ""
    assert result.stderr == f"wrote {out}\nwrote {labels}\n"
    lines = rows(labels)
    assert list(lines[0]) == ["name", "tau=0.5", "tau=0.75", "tau=1"]
    assert len(lines) == 45
    sizes = np.bincount([int(row["tau=1"]) for row in lines], minlength=3)
    last = rows(out)[-1]
    assert sizes.tolist() == [int(last[f"size{j}"]) for j in range(3)]


def test_a_graph_as_edges(run, tmp_path):
    edges = tmp_path / "two.edges"
    edges.write_text("a b\nb c\na c\nx y\ny z\nx z\nc x 0.1\n")
    out = tmp_path / "path.csv"
    arguments = ("--precomputed", "--taus", "1", "--labels", "-", "-o", out)
    result = run("path", edges, "-k", 2, *arguments)
    assert result.exit_code == 0, result.stderr
    of = {row["id"]: row["tau=1"] for row in table(result.stdout)}
    assert of["a"] == of["b"] == of["c"] != of["x"] == of["y"] == of["z"]


def test_shares_cannot_be_chosen_on_a_path(run, points):
    result = run("path", points, "-k", 3, *COLUMNS, "--proportions", "auto")
    assert result.exit_code == 2
    assert "or equal" in result.stderr
