"""Refit in the shell: as in Python, with the columns prepared as for the model."""

import csv
import json

import numpy as np
import pytest

from lordclust import BLoRD, load_model

CENTRES = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])


def write(path, X, first=0):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "x", "y"])
        for i, row in enumerate(X.tolist(), first):
            writer.writerow([f"s{i}", *map(repr, row)])
    return path


@pytest.fixture
def months(run, tmp_path):
    """A model of three blobs, the samples of that month, and those of a fourth."""
    rng = np.random.default_rng(0)
    y = np.repeat(range(4), [30, 25, 20, 40])
    X = (CENTRES[y] + rng.normal(size=(len(y), 2))) * [1, 1000]
    may, model = write(tmp_path / "may.csv", X[y < 3]), tmp_path / "may.lord"
    given = ("-k", 3, "--names", "a,b,c", "-o", tmp_path / "may-labels.csv")
    result = run("fit", may, *given, "--model", model)
    assert result.exit_code == 0, result.stderr
    return model, X, y


def test_clusters_keep_their_numbers_and_names(run, rows, months, tmp_path):
    model, X, y = months
    june = write(tmp_path / "june.csv", X[::-1])
    out, new, facts = (
        tmp_path / n for n in ("june.csv.out.csv", "june.lord", "f.json")
    )
    given = ("-k", 4, "-o", out, "--model", new, "--json", facts, "--join")
    result = run("refit", model, june, *given)
    assert result.exit_code == 0, result.stderr
    found = rows(out)
    assert [int(row["label"]) for row in found] == y[::-1].tolist()
    assert [row["name"] for row in found[:2]] == ["s0", "s1"]
    assert float(found[0]["y"]) == X[-1, 1]  # of the input, not scaled
    assert {row["segment"] for row in found} == {"a", "b", "c", "Segment 3"}
    before = [int(row["before"]) for row in found]
    assert before[-75:] == y[:75][::-1].tolist()
    # The same as in Python, with the scales of the first month.
    old = load_model(model)
    scaling = old.extras_["preparation"]
    assert scaling["scale"] == "zscore"
    Z = (X[::-1] - scaling["shift"]) / scaling["width"]
    change = old.refit(Z, n_clusters=4).change_
    assert str(change) in result.stderr
    assert json.loads(facts.read_text())["n_moved"] == len(change.moved)
    again = load_model(new)
    assert again.extras_["preparation"] == scaling
    assert again.extras_["clusters"] == ["a", "b", "c", "Segment 3"]
    third = run("refit", new, june, "-q", "-o", tmp_path / "third.csv")
    assert third.exit_code == 0, third.stderr
    labels = [row["label"] for row in rows(tmp_path / "third.csv")]
    assert labels == [row["label"] for row in found]


def test_new_samples_join_those_of_the_model(run, rows, months, tmp_path):
    model, X, y = months
    fresh = np.vstack([X[y == 3], CENTRES[[1, 2]] * [1, 1000]])
    file = write(tmp_path / "new.csv", fresh, 75)
    out, new, page = (tmp_path / n for n in ("new-labels.csv", "new.lord", "p.html"))
    given = ("--add", "-k", 4, "-o", out, "--model", new, "--report", page)
    result = run("refit", model, file, *given)
    assert result.exit_code == 0, result.stderr
    found = rows(out)
    assert [row["name"] for row in found] == [f"s{i}" for i in range(75, 117)]
    assert [int(row["label"]) for row in found] == [3] * 40 + [1, 2]
    assert {row["before"] for row in found} == {"-1"}
    assert "0 of 75 samples that were in a cluster changed it" in result.stderr
    assert "cluster 3: new, 40 now" in result.stderr
    assert load_model(new).sizes_.tolist() == [30, 26, 21, 40]
    assert '"fitted 0"' in page.read_text(encoding="utf-8")


def test_weights_and_outliers_of_the_model_are_kept(run, months, tmp_path):
    _, X, y = months
    model = tmp_path / "python.lord"
    weight = np.random.default_rng(0).uniform(1, 2, 75)
    X = X / [1, 1000]
    BLoRD(3, outliers=0.04).fit(X[y < 3], sample_weight=weight).save(model)
    file, new = write(tmp_path / "new.csv", X[y == 0]), tmp_path / "new.lord"
    result = run(
        "refit", model, file, "--add", "-o", tmp_path / "l.csv", "--model", new
    )
    assert result.exit_code == 0, result.stderr
    assert "fitted with sample weights; those of" in result.stderr
    again = load_model(new)
    inside = again.labels_ >= 0
    assert inside.sum() == 101  # 4 % of 105 are left out
    both = np.flatnonzero(inside[:75] & (load_model(model).labels_ >= 0))
    part = again._weight[both] / weight[both]
    np.testing.assert_allclose(part, part[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", 0), "'0' is neither a whole number of at least 1 nor auto."),
        (("--names", "a,b"), "--names must be 3 different names"),
        (("-k", "auto", "--names", "a,b"), "--names needs a number of clusters"),
        (("--cluster-sizes", "1,2,3"), "cluster_sizes must sum to"),
        (("--model", "-", "-o", "x.csv"), "--model and --report need a file"),
    ],
)
def test_wrong_options(run, months, tmp_path, options, message):
    model, _, _ = months
    result = run("refit", model, tmp_path / "may.csv", *options)
    assert result.exit_code in (2, 3)
    assert message in result.stderr


def test_models_that_cannot_be_compared(run, months, tmp_path):
    _, X, y = months
    may = tmp_path / "may.csv"
    run("fit", may, "-k", 3, "--method", "sc", "-q", "--model", tmp_path / "sc.lord")
    result = run("refit", tmp_path / "sc.lord", may)
    assert "SC cannot keep the numbers of its clusters" in result.stderr
    S = BLoRD(3).fit(X[y < 3] / [1, 1000]).affinity_matrix_
    BLoRD(3, affinity="precomputed").fit(S).save(tmp_path / "s.lord")
    result = run("refit", tmp_path / "s.lord", may)
    assert result.exit_code == 3
    assert "it contains no samples" in result.stderr
