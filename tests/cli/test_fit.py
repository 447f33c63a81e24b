import csv
import json
import re
import signal

import numpy as np
import pytest

from lordclust import BLoRD, LoRD, metrics, tau_path
from lordclust.cli.exits import plain_errors
from lordclust.cli.progress import FitProgress
from models import PAPER

COLUMNS = ("--label-column", "class")


def table(text):
    return list(csv.DictReader(text.splitlines()))


def test_labels_are_those_of_the_estimator(run, points, rows):
    result = run(
        "fit", points, "-k", 3, *COLUMNS, "--tau", 0.3, "--proportions", "equal"
    )
    assert result.exit_code == 0, result.stderr
    lines, given = table(result.stdout), rows(points)
    X = np.array([[float(row["x"]), float(row["y"])] for row in given])
    model = PAPER(3, tau=0.3).fit(X)
    assert list(lines[0]) == ["name", "label", "probability", "uncertainty"]
    assert [row["name"] for row in lines] == [row["name"] for row in given]
    assert [int(row["label"]) for row in lines] == model.labels_.tolist()
    own = model.membership_[np.arange(len(X)), model.labels_]
    assert [float(row["probability"]) for row in lines] == own.round(6).tolist()
    unsure = model.uncertainty_.round(6).tolist()
    assert [float(row["uncertainty"]) for row in lines] == unsure


def test_output_letter_by_letter(run, tmp_path):
    path = tmp_path / "six.tsv"
    path.write_text('who\tx\nAda\t0\nBo\t1\n"C""c"\t2\nD,d\t7\nEve\t8\nF\t9\n')
    result = run("fit", path, "-k", 2, "--tau", 1, "--proportions", "equal", "-q")
    assert result.stderr == ""
    assert result.stdout == (
        "who,label,probability,uncertainty\n"
        "Ada,0,1.0,0.0\n"
        "Bo,0,1.0,0.0\n"
        '"C""c",0,1.0,0.0\n'
        '"D,d",1,1.0,0.0\n'
        "Eve,1,1.0,0.0\n"
        "F,1,1.0,0.0\n"
    )


def shop(tmp_path):
    """Write samples with a column of each kind; return the file."""
    path = tmp_path / "shop.csv"
    rows = [f"c{i},{i % 10 + 90 * (i // 10)},{i // 10},{i % 2}" for i in range(20)]
    path.write_text("who,age,member,kind\n" + "\n".join(rows) + "\n")
    return path, ("fit", path, "-k", 2, "--label-column", "kind", "--scale", "zscore")


def test_profiles_are_in_the_units_of_the_input(run, tmp_path, rows):
    _, fit = shop(tmp_path)
    result = run(*fit, "--profiles", "-", "--names", "Young, Old")
    assert result.exit_code == 0, result.stderr
    assert "Old (10 samples, 50%)" in result.stdout
    assert "age     94.5  (all: 49.5, " in result.stdout
    assert "member  100%  (all: 50%, much higher)" in result.stdout
    assert "label" not in result.stdout
    out = tmp_path / "profiles.csv"
    result = run(*fit, "--profiles", out, "--method", "sc")
    assert list(table(result.stdout)[0]) == ["who", "label"]
    found = {(row["label"], row["feature"]): float(row["mean"]) for row in rows(out)}
    assert found["0", "age"] == 4.5
    assert found["1", "member"] == 1


def test_names_and_columns_stand_beside_the_labels(run, tmp_path, rows):
    path, fit = shop(tmp_path)
    out, model = tmp_path / "labels.csv", tmp_path / "m.lord"
    names = ("--names", "Young,Old", "--join")
    result = run(*fit, "-o", out, "--model", model, *names)
    assert result.exit_code == 0, result.stderr
    lines = rows(out)
    own = ["who", "label", "name", "probability", "uncertainty"]
    assert list(lines[0]) == [*own, "age", "member", "kind"]
    for line, given in zip(lines, rows(path), strict=True):
        assert {name: line[name] for name in given} == given
        assert line["name"] == ["Young", "Old"][int(line["label"])]
    page = tmp_path / "r.html"
    result = run("report", model, "-o", page, "--title", "My <shop>")
    assert result.exit_code == 0, result.stderr
    text = page.read_text()
    assert "<h1>My &lt;shop&gt;</h1>" in text
    assert "94.5 <small>all: 49.5</small>" in text  # not scaled
    assert '"names":["Young","Old"]' in text
    result = run("report", model, "-o", page, "--force", "--names", "a")
    assert "names must be 2 different names" in result.stderr
    again = table(run("predict", model, path, "--columns", "age,member").stdout)
    assert [line["name"] for line in again] == [line["name"] for line in lines]


def test_similarities_have_profiles_but_no_columns(run, tmp_path):
    path = tmp_path / "edges.csv"
    near = [[int(i // 4 == j // 4) for j in range(8)] for i in range(8)]
    path.write_text("\n".join(",".join(map(str, row)) for row in near))
    fit = ("fit", path, "-k", 2, "--precomputed", "--header", "no")
    result = run(*fit, "--profiles", "-")
    assert result.exit_code == 0, result.stderr
    assert "Segment 1 (4 samples, 50%)\n  typical: " in result.stdout
    result = run(*fit, "--join")
    assert result.exit_code == 2
    assert "--join is for tables of features" in result.stderr


def test_no_column_hides_another(run, points, tmp_path):
    text = points.read_text().replace("x,", "probability,", 1)
    points.write_text(text)
    result = run("fit", points, "-k", 2, *COLUMNS, "--names", "a,b", "--join")
    own = ["name", "label", "segment", "probability", "uncertainty"]
    assert list(table(result.stdout)[0])[:5] == own
    assert "probability_input" in table(result.stdout)[0]


def test_tau_and_shares_are_chosen_unless_given(run, points):
    result = run("fit", points, "-k", 3, *COLUMNS, "--json")
    facts = json.loads(result.stdout)
    assert facts["parameters"]["tau"] == facts["parameters"]["proportions"] == "auto"
    assert sum(facts["sizes"]) == facts["input"]["n_samples"] == 45
    assert "(calibrated without labels)" in result.stderr


def test_json_describes_the_run(run, points, tmp_path, rows):
    out, facts = tmp_path / "labels.csv", tmp_path / "facts.json"
    arguments = ("--tau", 0.5, "--proportions", "0.2,0.3,0.5", "--seed", 3)
    result = run(
        "fit", points, "-k", 3, *COLUMNS, *arguments, "-o", out, "--json", facts
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    document = json.loads(facts.read_text())
    assert (document["tau"], document["seed"], document["converged"]) == (0.5, 3, True)
    assert sorted(document["proportions"]) == pytest.approx([0.2, 0.3, 0.5])
    assert document["input"] == {
        "source": str(points),
        "n_samples": 45,
        "n_features": 2,
        "precomputed": False,
        "scale": "none",
        "columns": ["x", "y"],
        "missing": "error",
    }
    labels = [int(row["label"]) for row in rows(out)]
    assert document["sizes"] == np.bincount(labels, minlength=3).tolist()
    assert document["acc"] == metrics.accuracy(
        [r["class"] for r in rows(points)], labels
    )
    assert {"lordclust", "python", "numpy", "numba"} <= set(document["versions"])


def test_probabilities_meet_the_shares(run, points, tmp_path, rows):
    out, proba = tmp_path / "labels.csv", tmp_path / "p.csv"
    run("fit", points, "-k", 3, *COLUMNS, "--tau", 0.2, "--proportions", "0.5,0.3,0.2",
        "-o", out, "--proba", proba)  # fmt: skip
    P = np.array([[float(row[f"p{j}"]) for j in range(3)] for row in rows(proba)])
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=2e-6)
    np.testing.assert_allclose(P.mean(axis=0), [0.5, 0.3, 0.2], atol=1e-6)


def test_sizes_are_met_to_the_sample(run, points, tmp_path):
    sizes = tmp_path / "sizes.txt"
    sizes.write_text("20\n15\n10\n")
    for given in ("20,15,10", sizes):
        result = run(
            "fit", points, "-k", 3, *COLUMNS, "--cluster-sizes", given, "--tau", 1
        )
        labels = [int(row["label"]) for row in table(result.stdout)]
        assert np.bincount(labels).tolist() == [20, 15, 10]


def test_sizes_within_bounds(run, points):
    for low, high in ((12, 16), (0.3, "15,16,17")):
        result = run(
            "fit", points, "-k", 3, *COLUMNS, "--size-min", low, "--size-max", high
        )
        sizes = np.bincount([int(row["label"]) for row in table(result.stdout)])
        assert sizes.min() >= 12
        assert sizes.max() <= 17
    result = run("fit", points, "-k", 3, *COLUMNS, "--size-max", 15, "--json")
    assert json.loads(result.stdout)["sizes"] == [15, 15, 15]


def test_soft_shares_are_a_soft_constraint(run, points):
    arguments = ("fit", points, "-k", 3, *COLUMNS, "--tau", 0.5, "--json")
    result = run(*arguments, "--proportions", "0.5,0.3,0.2", "--strength", 0.1)
    document = json.loads(result.stdout)
    assert document["parameters"]["proportions"] == [[0.5, 0.3, 0.2], 0.1]
    assert max(document["proportions"]) < 0.499


def test_weights_and_known_labels_come_from_columns(run, points, rows):
    given = rows(points)
    X = np.array([[float(row["x"]), float(row["y"])] for row in given])
    weight = np.arange(1.0, 46.0)
    known = np.where(np.arange(45) % 5 == 0, np.repeat([2, 0, 1], 15), -1)
    with open(points, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "known", "y", "w"])
        for x, k, w in zip(X, known, weight, strict=True):
            writer.writerow(
                [repr(float(x[0])), k if k >= 0 else "", repr(float(x[1])), w]
            )
    columns = ("--weight-column", "w", "--known-labels", "known")
    result = run("fit", points, "-k", 3, "--tau", 1, "--strength", 1, *columns)
    assert result.exit_code == 0, result.stderr
    lines = table(result.stdout)
    model = BLoRD(3, proportions=(None, 1.0), tau=1.0)
    model.fit(X, sample_weight=weight, known_labels=known)
    assert [int(row["label"]) for row in lines] == model.labels_.tolist()
    assert [row["id"] for row in lines] == [str(i) for i in range(45)]


def test_scaling_changes_what_is_near(run, points):
    common = ("fit", points, "-k", 3, *COLUMNS, "--tau", 0.3, "--proportions", "equal")
    plain, scaled = (run(*common, "--scale", s).stdout for s in ("none", "zscore"))
    assert plain != scaled


def test_other_methods_give_labels_only(run, points):
    result = run("fit", points, "-k", 3, *COLUMNS, "--method", "sc")
    assert list(table(result.stdout)[0]) == ["name", "label"]
    assert result.stderr.startswith("sc: 45 samples x 2 features")


def test_empty_classes_are_not_scored(run, points):
    text = points.read_text().replace(",a\n", ",\n")
    points.write_text(text)
    common = ("fit", points, "-k", 3, *COLUMNS, "--method", "sc", "--json")
    assert json.loads(run(*common).stdout)["acc"] == 1
    points.write_text(text.replace(",b\n", ",\n").replace(",c\n", ",\n"))
    assert "acc" not in json.loads(run(*common).stdout)


def test_an_id_column_never_hides_another(run, points):
    points.write_text(points.read_text().replace("name,x", "label,x"))
    lines = table(run("fit", points, "-k", 3, *COLUMNS, "--method", "sc").stdout)
    assert list(lines[0]) == ["id", "label"]
    assert lines[44]["id"] == "s44"


def test_quiet_is_silent(run, points, tmp_path):
    out = tmp_path / "labels.csv"
    result = run("fit", points, "-k", 3, *COLUMNS, "--method", "sc", "-q", "-o", out)
    assert (result.stdout, result.stderr) == ("", "")
    assert out.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-k", "3", "--tau", "2"], 2, "from 0 (soft) to 1 (hard)"),
        (["-k", "3", "--method", "blrd"], 2, "Did you mean 'blord'?"),
        (["-k", "3", "--method", "sc", "--tau", "1"], 2, "method sc has no --tau"),
        (["-k", "3", "--cluster-sizes", "1.5,2"], 2, "whole numbers"),
        (["-k", "3", "--size-max", "few"], 2, "list of numbers"),
        (["-k", "3", "--size-max", "9"], 3, "3 clusters hold at most 27"),
        (["-k", "3", "--method", "sc", "--size-min", "9"], 2, "sc has no --size-min"),
        (["-k", "3", "--proportions", "auto", "--strength", "1"], 2, "--strength"),
        (["-k", "3", "--neighbors", "5", "--precomputed"], 2, "--neighbors"),
        (["-k", "3", "--jobs", "0"], 2, "--jobs"),
        (["-k", "3", "--precomputed", "--scale", "minmax"], 2, "is for features"),
        (["-k", "3", "-o", "labels.docx"], 2, "must end with one of .csv"),
        (["-k", "3", "--json", "--proba", "-"], 2, "both go to stdout"),
        (["-k", "3", "--names", "a,b"], 2, "--names must be 3 different names"),
        (["-k", "auto", "--names", "a,b"], 2, "--names needs a number of clusters"),
        (["-k", "3", "--profiles", "p.html"], 2, "must end with one of"),
        (["-k", "3", "--proportions", "0.5,0.5"], 3, "n_clusters=3 numbers"),
        (["-k", "99"], 3, "from 1 to n_samples=45"),
        (["-k", "3", "--columns", "x,z"], 3, "'z'"),
        (["-k", "3", "--weight-column", "w"], 3, "no numeric column 'w'"),
        (["-k", "3", "-o", "no/such/folder.csv"], 1, "there is no folder"),
    ],
)
def test_mistakes_are_one_sentence_with_a_code(run, points, arguments, code, words):
    result = run("fit", points, *COLUMNS, *arguments)
    assert result.exit_code == code, result.stderr
    assert words in result.stderr
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_file_that_is_not_there(run, tmp_path):
    result = run("fit", tmp_path / "none.csv", "-k", 3)
    assert result.exit_code == 3
    assert "none.csv" in result.stderr


def test_files_are_replaced_only_by_force(run, points, tmp_path):
    out, facts = tmp_path / "labels.csv", tmp_path / "facts.json"
    facts.write_text("old")
    arguments = ("fit", points, "-k", 3, *COLUMNS, "--method", "sc", "-o", out)
    result = run(*arguments, "--json", facts)
    assert result.exit_code == 1
    assert "--force" in result.stderr
    assert not out.exists()
    assert facts.read_text() == "old"
    assert run(*arguments, "--json", facts, "--force").exit_code == 0
    assert json.loads(facts.read_text())["method"] == "sc"


def test_the_input_is_never_an_output(run, points):
    before = points.read_text()
    for option in ("-o", "--json"):
        result = run("fit", points, "-k", 3, option, points, "--force")
        assert result.exit_code == 2
        assert "is also the input" in result.stderr
    assert points.read_text() == before


def test_all_files_or_none(run, points, tmp_path, monkeypatch):
    def broken(document):
        raise OSError(28, "No space left on device", "facts.json")

    monkeypatch.setattr("lordclust.cli.summary.to_json", broken)
    before = sorted(p.name for p in tmp_path.iterdir())
    result = run("fit", points, "-k", 3, *COLUMNS, "--method", "sc",
                 "-o", tmp_path / "a.csv", "--json", tmp_path / "b.json")  # fmt: skip
    assert result.exit_code == 1
    assert "No space left" in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_strict_writes_nothing_without_convergence(run, points, tmp_path, monkeypatch):
    hurried = LoRD(3, max_iter=1, tol=1e-15)
    monkeypatch.setattr("lordclust.registry.make_method", lambda *_, **__: hurried)
    arguments = ("fit", points, "-k", 3, *COLUMNS, "--method", "lord")
    result = run(*arguments, "--strict", "-o", tmp_path / "a.csv")
    assert result.exit_code == 4
    assert "max_iter" in result.stderr
    assert not (tmp_path / "a.csv").exists()
    result = run(*arguments, "-o", tmp_path / "a.csv")
    assert result.exit_code == 0
    assert "Warning: LoRD stopped" in result.stderr


def press(*_):
    signal.raise_signal(signal.SIGINT)


def pressing(call, number):
    """Return a function that presses Ctrl-C after a call."""
    calls = []

    def wrapped(*arguments):
        answer = call(*arguments)
        calls.append(arguments)
        if len(calls) == number:
            press()
        return answer

    return wrapped


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tau", 1, "--proportions", "equal"),
        ("--tau", 1, "--proportions", "0.2,0.3,0.5", "--jobs", 2),
        ("--jobs", 2),
        ("--method", "symnmf"),
    ],
)
def test_interrupted_it_keeps_the_best_so_far(
    run, points, tmp_path, rows, monkeypatch, arguments
):
    # The first part is the graph; when the second is heard there is a result.
    monkeypatch.setattr(FitProgress, "part", pressing(FitProgress.part, 2))
    names = {n: tmp_path / n for n in ("labels.csv", "facts.json", "page.html")}
    out, facts, page = names.values()
    files = ("-o", out, "--json", facts, "--report", page)
    result = run("fit", points, "-k", 3, *COLUMNS, *arguments, *files)
    assert result.exit_code == 130, result.stderr
    assert result.stderr.endswith(
        "Interrupted; the best result so far has been kept.\n"
    )
    assert len(rows(out)) == 45
    assert json.loads(facts.read_text())["interrupted"] is True
    assert "best result so far" in page.read_text()


def test_interrupted_before_there_is_a_result_it_writes_nothing(
    run, points, tmp_path, monkeypatch
):
    monkeypatch.setattr(FitProgress, "part", pressing(FitProgress.part, 1))
    before = sorted(tmp_path.iterdir())
    result = run("fit", points, "-k", 3, *COLUMNS, "-o", tmp_path / "labels.csv")
    assert result.exit_code == 130
    assert result.stderr.endswith("Interrupted. Nothing was written.\n")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_interrupted_while_it_draws_it_keeps_the_whole_result(
    run, points, tmp_path, rows, monkeypatch, verb
):
    def path(*arguments, callback, **settings):
        return tau_path(*arguments, callback=pressing(callback, 2), **settings)

    monkeypatch.setattr("lordclust.report.inline.tau_path", path)
    out, page = tmp_path / "labels.csv", tmp_path / "page.html"
    options = ("--methods", "blord,sc") if verb == "compare" else ()
    files = ("-o", out, "--report", page)
    result = run(verb, points, "-k", 3, *COLUMNS, *options, *files)
    assert result.exit_code == 130, result.stderr
    assert "the result was complete and has been kept" in result.stderr
    assert len(rows(out)) == (45 if verb == "fit" else 2)
    assert "<html" in page.read_text()


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("LORDCLUST_DEBUG", "1")
    with pytest.raises(ValueError, match="plain"), plain_errors():
        raise ValueError("plain")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ValueError("too big"), 3, "too big"),
        (MemoryError(), 1, "memory"),
        (OSError(13, "Permission denied", "a.csv"), 1, "a.csv: Permission denied."),
        (ImportError("pip install x"), 1, "pip install x"),
        (KeyboardInterrupt(), 130, "Nothing was written"),
        (RuntimeError("odd"), 1, "LORDCLUST_DEBUG=1"),
    ],
)
def test_every_error_has_a_code(monkeypatch, error, code, words):
    import click

    monkeypatch.delenv("LORDCLUST_DEBUG", raising=False)
    with pytest.raises(click.ClickException) as caught, plain_errors():
        raise error
    assert caught.value.exit_code == code
    assert words in caught.value.message


def test_what_was_decided_about_the_columns_is_printed(run, points, tmp_path):
    path = tmp_path / "t.csv"
    lines = points.read_text().splitlines()[1:]
    numbered = [f"{i},{line.split(',', 1)[1]}" for i, line in enumerate(lines)]
    path.write_text("\n".join(["customer_id,0,1,class", *numbered]) + "\n")
    options = (path, "-k", 3, "--label-column", "class")
    done = run("fit", *options)
    assert done.exit_code == 0
    assert "45 samples x 2 features" in done.stderr
    assert (
        f"{path}: column 'customer_id' looks like ids and is used as such"
        in done.stderr
    )
    assert f"{path}: the first line is read as a header" in done.stderr
    assert done.stdout.startswith("customer_id,label,")
    done = run("fit", *options, "--id-column", "none", "--header", "yes", "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("id,label,")
    assert run("fit", *options, "--header", "no").exit_code == 3


def test_messages_name_options(run, tmp_path):
    table = tmp_path / "x.csv"
    table.write_text("0,1\n1,0\n1,1\n")
    result = run("fit", table, "-k", 2)
    assert result.exit_code == 3
    assert "Pass --header yes or --header no.\n" in result.stderr


def test_a_list_of_edges_is_a_graph(run, tmp_path):
    edges, features = tmp_path / "g.edges", tmp_path / "X.mtx"
    edges.write_text("a b\nb c\nc a\nd e\ne f\nf d\n")
    plain, told = (run("fit", edges, "-k", 2, *o) for o in ((), ("--precomputed",)))
    assert plain.exit_code == 0, plain.stderr
    assert plain.stdout == told.stdout
    result = run("fit", edges, "-k", 2, "--method", "gmm")
    assert result.exit_code == 2
    assert "gmm needs features, but INPUT contains similarities" in result.stderr
    head = "%%MatrixMarket matrix coordinate real general\n6 2 6\n"
    features.write_text(head + "".join(f"{i} {1 + i % 2} {i}\n" for i in range(1, 7)))
    assert run("fit", features, "-k", 2).exit_code == 0
    result = run("fit", features, "-k", 2, "--method", "gmm")
    assert result.exit_code == 3
    assert "its features are sparse, but GMM needs dense ones" in result.stderr


@pytest.mark.parametrize(
    "given", [("--method", "sc"), ("--cluster-sizes", 10), ("--proportions", "equal")]
)
def test_where_the_number_of_clusters_is_needed(run, points, given):
    result = run("fit", points, *COLUMNS, *given)
    assert result.exit_code == 2
    assert "Pass the number of clusters, -k: only `lordclust fit`" in result.stderr


def test_bounds_alone_lead_to_a_number_of_clusters(run, points):
    """The suggested number was refused, though other numbers suit the bounds."""
    result = run("fit", points, *COLUMNS, "--size-min", 0.09, "--size-max", 0.12)
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^(9|10|11) clusters of ", result.stderr, re.M)
