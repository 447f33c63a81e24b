import csv
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.cli.compare import _shortened
from lordclust.cli.summary import modularity
from lordclust.registry import METHODS

COLUMNS = ("--label-column", "class")


def table(text):
    return list(csv.DictReader(text.splitlines()))


def test_one_line_per_method(run, points):
    result = run("compare", points, "-k", 3, *COLUMNS, "--methods", "blord,sc,gmm")
    assert result.exit_code == 0, result.stderr
    lines = table(result.stdout)
    assert [row["method"] for row in lines] == ["blord", "sc", "gmm"]
    for row in lines:
        assert sum(map(int, row["sizes"].split())) == 45
        assert float(row["acc"]) > 0.9
        assert 0.3 < float(row["silhouette"]) < 1
        assert 0.3 < float(row["modularity"]) < 1
        assert float(row["seconds"]) >= 0
        assert row["note"] == ""


def test_the_recommendation_with_classes(run, tmp_path):
    rng = np.random.default_rng(0)
    t = rng.uniform(0, np.pi, 120)
    upper = np.repeat([0, 1], 60)
    moons = np.stack([np.cos(t) + upper, np.where(upper, 0.4 - np.sin(t), np.sin(t))])
    lines = [f"{x:.6f},{y:.6f},{c}" for x, y, c in zip(*moons, upper, strict=True)]
    (tmp_path / "moons.csv").write_text("x,y,class\n" + "\n".join(lines))
    result = run("compare", tmp_path / "moons.csv", "-k", 2, *COLUMNS, "--methods",
                 "gmm,blord")  # fmt: skip
    gmm, blord = table(result.stdout)
    assert "objective" not in blord
    assert float(blord["ari"]) == 1 > float(gmm["ari"])
    assert (blord["rank"], gmm["rank"]) == ("1", "2")
    assert "Recommended: blord, with the highest ACC, 1.000; next: gmm, 0." in (
        result.stderr
    )


def test_the_recommendation_without_classes(run, points):
    given = ("--columns", "x,y", "--methods", "blord,ncut")
    result = run("compare", points, "-k", 3, *given)
    blord, ncut = table(result.stdout)
    assert float(blord["evidence"]) >= float(ncut["evidence"]) - 1e-9
    assert "acc" not in blord
    assert "with the highest evidence, " in result.stderr
    assert "Recommended" not in run("compare", points, "-k", 3, *given, "-q").stderr


def test_several_seeds(run, points):
    result = run("compare", points, "-k", 3, *COLUMNS, "--methods", "gmm,ncut",
                 "--seeds", 3, "--json")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    gmm, ncut = json.loads(result.stdout)["methods"]
    assert gmm["acc_sd"] >= 0
    assert ncut["evidence_sd"] == 0


def test_several_files_have_ranks_and_numbers_of_their_own(run, points, tmp_path):
    lines = points.read_text().splitlines()
    two = tmp_path / "two.csv"
    two.write_text("\n".join([lines[0], *lines[1:31]]))
    result = run("compare", points, two, "-k", "auto", *COLUMNS, "--methods",
                 "blord,ncut", "--json")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["n_clusters"] == [3, 2]
    assert [row["input"] for row in document["methods"]] == [
        str(points), str(points), str(two), str(two)
    ]  # fmt: skip
    assert set(document["mean_ranks"]) == {"blord", "ncut"}
    told = "Recommended: blord or ncut, with the best mean rank by ACC over 2 files: "
    assert told in result.stderr
    assert all(
        row["evidence"] == round(row["evidence"], 6) for row in document["methods"]
    )
    result = run("compare", points, two, "-k", 3, "--report", tmp_path / "x.html")
    assert result.exit_code == 2
    assert "--report shows one INPUT, got 2." in result.stderr


def test_a_suggested_number_of_clusters(run, points):
    result = run("compare", points, "-k", "auto", "--columns", "x,y", "--json",
                 "--methods", "ncut")  # fmt: skip
    assert json.loads(result.stdout)["n_clusters"] == [3]


def test_rows_for_a_terminal():
    row = {"acc": 0.5, "acc_sd": 0.25, "nmi": 0.1, "nmi_sd": 0.0, "sizes": "9 8 7 6"}
    short = {"acc": "0.500 ± 0.250", "nmi": 0.1, "sizes": "9 .. 6"}
    assert _shortened(row, "acc") == short


def test_a_failed_method_has_a_note_and_others_continue(run, tmp_path):
    S = np.kron(np.eye(2), np.ones((4, 4)))
    np.save(tmp_path / "S.npy", S)
    out = tmp_path / "table.csv"
    result = run("compare", tmp_path / "S.npy", "-k", 2, "--precomputed",
                 "--methods", "gmm,lord", "-o", out)  # fmt: skip
    assert result.exit_code == 0, result.stderr
    gmm, lord = table(out.read_text())
    assert gmm["note"] == "gmm needs features, but INPUT contains similarities."
    assert gmm["sizes"] == ""
    assert lord["sizes"] == "4 4"
    assert "acc" not in lord


def test_if_all_fail_the_exit_code_is_1(run, tmp_path):
    np.save(tmp_path / "S.npy", np.eye(4))
    result = run("compare", tmp_path / "S.npy", "-k", 2, "--precomputed", "--json",
                 "--methods", "gmm")  # fmt: skip
    assert result.exit_code == 1
    assert json.loads(result.stdout)["methods"][0]["sizes"] is None
    assert "All methods failed" in result.stderr


def test_if_all_fail_the_table_is_written_and_no_page(run, tmp_path):
    np.save(tmp_path / "S.npy", np.eye(4))
    out, page = tmp_path / "table.csv", tmp_path / "page.html"
    result = run("compare", tmp_path / "S.npy", "-k", 2, "--precomputed",
                 "--methods", "gmm", "-o", out, "--report", page)  # fmt: skip
    assert result.exit_code == 1
    assert result.stderr == (
        f"wrote {out}\nError: All methods failed; the table states why.\n"
    )
    assert table(out.read_text())[0]["note"].startswith("gmm needs features")
    assert not page.exists()


@pytest.mark.parametrize("error", [ImportError("pip install it"), RuntimeError("odd")])
def test_whatever_fails_in_a_method_stays_in_its_line(run, points, monkeypatch, error):
    from lordclust.methods import NCut

    def fit(self, X):
        raise error

    monkeypatch.setattr(NCut, "fit", fit)
    result = run("compare", points, "-k", 3, *COLUMNS, "--methods", "ncut,sc")
    assert result.exit_code == 0, result.stderr
    failed, fine = table(result.stdout)
    assert failed["note"] == str(error)
    assert fine["note"] == ""


def test_unknown_methods_are_refused_before_anything_is_read(run):
    result = run("compare", "none.csv", "-k", 3, "--methods", "blord,scc")
    assert result.exit_code == 2
    assert "Did you mean 'sc'?" in result.stderr


def test_interrupted_it_keeps_what_is_finished(run, points, monkeypatch):
    from lordclust.cli import fitting

    fit = fitting.fit_model

    def interrupted(model, samples):
        if type(model).__name__ == "NCut":
            raise KeyboardInterrupt
        return fit(model, samples)

    monkeypatch.setattr(fitting, "fit_model", interrupted)
    result = run("compare", points, "-k", 3, *COLUMNS, "--methods", "sc,ncut,kkm")
    assert result.exit_code == 130
    assert [row["method"] for row in table(result.stdout)] == ["sc"]
    assert "Finished and kept: sc." in result.stderr


@given(st.integers(2, 6), st.integers(2, 6))
def test_modularity_of_equal_cliques(k, size):
    S = np.kron(np.eye(k), np.ones((size, size)) - np.eye(size))
    labels = np.repeat(np.arange(k), size)
    assert modularity(S, labels) == pytest.approx(1 - 1 / k)
    assert modularity(S, np.zeros_like(labels)) == pytest.approx(0)
    assert modularity(0 * S, labels) is None


def test_list_is_the_registry(run):
    lines = table(run("list").stdout)
    assert [row["name"] for row in lines] == list(METHODS)
    assert [row["title"] for row in lines] == [m.title for m in METHODS.values()]
    assert json.loads(run("list", "methods", "--json").stdout) == lines


def test_list_of_data_sets(run):
    lines = {row["name"]: row for row in table(run("list", "datasets").stdout)}
    assert lines["iris"]["samples"] == "150"
    assert lines["iris"]["classes"] == "3"
