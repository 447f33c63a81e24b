import csv

import numpy as np
import pytest
from sklearn.cluster import KMeans

from lordclust import register_method
from models import PAPER

COLUMNS = ("--label-column", "class")


def table(text):
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture
def model(run, points, tmp_path):
    """A model of scaled features, saved by the command."""
    path = tmp_path / "m.lord"
    options = ("-k", 3, "--tau", 0.4, "--proportions", "equal", "--scale", "zscore")
    files = ("-o", tmp_path / "old.csv", "--model", path)
    result = run("fit", points, *COLUMNS, *options, *files)
    assert result.exit_code == 0, result.stderr
    return path


def test_fitted_samples_keep_labels_and_probabilities(run, model, points, tmp_path):
    result = run("predict", model, points)
    assert result.exit_code == 0, result.stderr
    assert table(result.stdout) == table((tmp_path / "old.csv").read_text())


def test_new_samples_are_scaled_as_the_fitted_ones_were(run, model, points, rows):
    X = np.array([[float(row["x"]), float(row["y"])] for row in rows(points)])
    shift, width = X.mean(axis=0), X.std(axis=0)
    fitted = PAPER(3, tau=0.4).fit((X - shift) / width)
    new = X[::4] + 0.3
    points.with_name("new.csv").write_text(
        "y,extra,x\n" + "".join(f"{y!r},9,{x!r}\n" for x, y in new.tolist())
    )  # other columns and another order do not matter
    result = run("predict", model, points.with_name("new.csv"))
    lines = table(result.stdout)
    P = fitted.predict_proba((new - shift) / width)
    assert [int(row["label"]) for row in lines] == P.argmax(axis=1).tolist()
    np.testing.assert_allclose(
        [float(row["probability"]) for row in lines], P.max(axis=1), atol=1e-6
    )
    assert [row["id"] for row in lines] == [str(i) for i in range(len(new))]


def test_a_batch_meets_sizes(run, model, points, tmp_path, rows):
    out, proba = tmp_path / "new.csv", tmp_path / "p.csv"
    arguments = ("--cluster-sizes", "25,20,0", "-o", out, "--proba", proba)
    result = run("predict", model, points, *COLUMNS, *arguments)
    assert result.exit_code == 0, result.stderr
    labels = [int(row["label"]) for row in rows(out)]
    assert np.bincount(labels, minlength=3).tolist() == [25, 20, 0]
    P = np.array([[float(row[f"p{j}"]) for j in range(3)] for row in rows(proba)])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert "clusters of 25, 20, 0 samples, ACC 0." in result.stderr


@pytest.mark.parametrize(
    ("shares", "sizes"), [("model", [15, 15, 15]), ("0.2,0.4,0.4", [9, 18, 18])]
)
def test_a_batch_meets_shares(run, model, points, shares, sizes):
    result = run("predict", model, points, "--proportions", shares)
    labels = [int(row["label"]) for row in table(result.stdout)]
    assert np.bincount(labels, minlength=3).tolist() == sizes


def test_missing_columns_are_named(run, model, points):
    points.write_text(points.read_text().replace("name,x,y", "name,x,z"))
    result = run("predict", model, points)
    assert result.exit_code == 3
    assert "'y'" in result.stderr


def test_another_number_of_features_is_refused(run, model, points):
    result = run("predict", model, points, "--columns", "x")
    assert result.exit_code == 3
    assert "1 features, but the model was fitted to 2" in result.stderr


def test_similarities_to_the_fitted_samples(run, tmp_path):
    S = np.kron(np.eye(2), np.ones((4, 4)))
    np.save(tmp_path / "S.npy", S)
    arguments = ("--precomputed", "--proportions", "equal", "--tau", 1)
    path = tmp_path / "m.lord"
    result = run("fit", tmp_path / "S.npy", "-k", 2, *arguments, "--model", path)
    assert result.exit_code == 0, result.stderr
    np.save(tmp_path / "new.npy", S[[7, 0]])
    labels = [
        row["label"] for row in table(run("predict", path, tmp_path / "new.npy").stdout)
    ]
    assert labels == ["1", "0"]


def test_other_files_are_refused(run, points):
    result = run("predict", points, points)
    assert result.exit_code == 3
    assert "points.csv" in result.stderr
    assert "Traceback" not in result.stderr


def test_other_methods(run, points, tmp_path):
    model = tmp_path / "m.lord"
    options = (*COLUMNS, "-k", 3, "--method", "sc", "--model", model, "--quiet")
    fitted = run("fit", points, *options)
    assert fitted.exit_code == 0, fitted.stderr
    result = run("predict", model, points, "--quiet")
    assert result.stdout == fitted.stdout
    for options, message in (
        (("--proba", tmp_path / "p.csv"), "SC computes no probabilities"),
        (("--proportions", "model"), "SC cannot meet --proportions"),
    ):
        result = run("predict", model, points, *options)
        assert result.exit_code == 3
        assert message in result.stderr
    page = tmp_path / "r.html"
    result = run("report", model, "-o", page)
    assert result.exit_code == 0, result.stderr
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_balanced_k_means_meets_sizes_of_a_batch(run, points, tmp_path):
    model = tmp_path / "m.lord"
    options = (*COLUMNS, "-k", 3, "--method", "balanced_kmeans", "--model", model)
    assert run("fit", points, *options).exit_code == 0
    result = run("predict", model, points, "--cluster-sizes", "25,20,0")
    labels = [int(row["label"]) for row in table(result.stdout)]
    assert np.bincount(labels, minlength=3).tolist() == [25, 20, 0]


def test_a_batch_meets_bounds(run, model, points):
    def sizes(*options):
        result = run("predict", model, points, *COLUMNS, *options)
        assert result.exit_code == 0, result.stderr
        labels = [int(row["label"]) for row in table(result.stdout)]
        return np.bincount(labels, minlength=3).tolist()

    assert sizes("--cluster-sizes", 15) == [15, 15, 15]
    assert min(sizes("--size-min", 14)) >= 14
    assert max(sizes("--size-max", 0.4)) <= 18
    assert sizes("--size-min", 15, "--size-max", 15) == [15, 15, 15]
    result = run("predict", model, points, *COLUMNS, "--size-max", 10)
    assert result.exit_code == 3
    assert "size_max does not suit 45 samples" in result.stderr


def test_a_column_that_the_model_needs_is_missing(run, model, points):
    text = points.read_text()
    points.write_text(text.replace(text.split(",")[1], "other", 1))
    result = run("predict", model, points)
    assert result.exit_code == 3
    assert "which the model was fitted to. Add it, or fit" in result.stderr


def test_classes_that_are_not_ours_cannot_be_saved(run, points, tmp_path, registry):
    register_method("kmeans", KMeans)
    result = run(
        "fit", points, "-k", 3, "--method", "kmeans", "--model", tmp_path / "m.lord"
    )
    assert result.exit_code == 2
    assert "cannot be saved" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--proportions", "model", "--cluster-sizes", 15),
        ("--proportions", "model", "--size-max", 15),
        ("--cluster-sizes", 15, "--size-min", 15),
        ("--outliers", "--size-min", 15),
    ],
)
def test_shares_and_sizes_exclude_each_other(run, model, points, options):
    result = run("predict", model, points, *options)
    assert result.exit_code == 2
    assert "cannot be combined" in result.stderr


def test_report_of_a_model(run, model, points, tmp_path):
    plain, named = tmp_path / "plain.html", tmp_path / "named.html"
    assert run("report", model, "-o", plain).exit_code == 0
    result = run("report", model, points, *COLUMNS, "-o", named)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == f"wrote {named}\n"
    assert '"s44"' in named.read_text()
    assert '"s44"' not in plain.read_text()
    assert "<html" in plain.read_text()


def test_report_of_too_many_samples_explains_the_missing_slider(
    run, model, tmp_path, monkeypatch
):
    monkeypatch.setattr("lordclust.report.inline.SLIDER_UP_TO", 10)
    assert run("report", model, "-o", tmp_path / "r.html").exit_code == 0
    page = (tmp_path / "r.html").read_text()
    assert "none above 10 probabilities" in page


def test_report_needs_the_samples_of_the_model(run, model, points, tmp_path):
    short = tmp_path / "short.csv"
    short.write_text("".join(points.read_text().splitlines(keepends=True)[:10]))
    result = run("report", model, short, "-o", tmp_path / "r.html")
    assert result.exit_code == 3
    assert "9 samples, but the model was fitted to 45" in result.stderr
    assert not (tmp_path / "r.html").exists()


def test_report_of_a_fit_and_of_a_comparison(run, points, tmp_path):
    page = tmp_path / "fit.html"
    common = (points, "-k", 3, *COLUMNS)
    result = run(
        "fit", *common, "--tau", 0.4, "--report", page, "-o", tmp_path / "a.csv"
    )
    assert result.exit_code == 0, result.stderr
    assert '"s44"' in page.read_text()
    page = tmp_path / "compare.html"
    result = run("compare", *common, "--methods", "blord,sc", "--report", page)
    assert result.exit_code == 0, result.stderr
    assert "silhouette" in page.read_text()


def test_outliers_of_a_fit_and_of_new_samples(run, points, rows, tmp_path):
    files = ("-o", tmp_path / "old.csv", "--model", tmp_path / "m.lord")
    named = ("--names", "a,b,c", "--report", tmp_path / "r.html")
    result = run("fit", points, *COLUMNS, "-k", 3, "--outliers", 0.1, *files, *named)
    assert result.exit_code == 0, result.stderr
    old = rows(tmp_path / "old.csv")
    out = [row for row in old if row["label"] == "-1"]
    assert len(out) == round(0.1 * len(old))
    assert {(row["segment"], float(row["probability"])) for row in out} == {
        ("outlier", 0)
    }
    assert f", {len(out)} outliers" in result.stderr
    again = run("predict", tmp_path / "m.lord", points, "--outliers")
    assert [row["label"] for row in table(again.stdout)] == [r["label"] for r in old]
    assert f", {len(out)} outliers" in again.stderr
    both = ("--outliers", "--cluster-sizes", "1,2,3")
    assert run("predict", tmp_path / "m.lord", points, *both).exit_code == 2
    wrong = run("fit", points, "-k", 3, "--outliers", "many")
    assert "'many' is neither a share" in wrong.stderr


def test_ids_of_new_samples_are_in_the_column_of_the_fit(run, points, rows, tmp_path):
    lines = points.read_text().splitlines()
    numbered = [lines[0].replace("name", "Kundennr")]
    numbered += [f"{7 * i},{line.split(',', 1)[1]}" for i, line in enumerate(lines[1:])]
    points.write_text("\n".join(numbered))
    model = tmp_path / "numbers.lord"
    fitted = run("fit", points, "-k", 3, "--drop", "class", "--model", model)
    assert fitted.exit_code == 0, fitted.stderr
    few = tmp_path / "few.csv"  # too few to recognise the ids, which may also repeat
    few.write_text("\n".join([numbered[0], *numbered[1:4], numbered[1]]))
    for command in ("predict", "refit"):
        found = table(
            run(command, model, few, *("-k", 2)[: 2 * (command == "refit")]).stdout
        )
        assert [row["Kundennr"] for row in found] == ["0", "7", "14", "0"]
    few.write_text("x,y\n1,2\n")
    assert table(run("predict", model, few).stdout)[0]["id"] == "0"
