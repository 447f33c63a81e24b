"""Links between samples, from files of pairs of ids."""

import json

import pytest


def write(path, *lines):
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def fit(run, points, tmp_path):
    def call(*more):
        out = tmp_path / "labels.csv"
        usual = ("-k", 3, "--label-column", "class", "-o", out, "--force")
        return run("fit", points, *usual, *more), out

    return call


def labels(rows, out):
    return {row["name"]: row["label"] for row in rows(out)}


def test_links_by_id_and_how_many_are_met(fit, rows, tmp_path):
    must = write(tmp_path / "must.csv", "first,second", "s0,s20", "s1,s21")
    cannot = write(tmp_path / "cannot.tsv", "s0\ts1")
    result, out = fit("--must-link", must, "--cannot-link", cannot, "--links", "hard")
    assert result.exit_code == 0, result.stderr
    found = labels(rows, out)
    assert found["s0"] == found["s20"] != found["s1"] == found["s21"]
    assert "3 of 3 links are met\n" in result.stderr


def test_broken_links_are_named(fit, tmp_path):
    trio = write(tmp_path / "trio.csv", *(f"s0,s{i}" for i in range(15, 25)))
    apart = write(tmp_path / "apart.csv", *(f"s{i},s{i + 15}" for i in range(30)))
    facts = tmp_path / "facts.json"
    result, _ = fit("--must-link", trio, "--json", facts)
    assert "of 10 links are met" in result.stderr
    result, _ = fit("--cannot-link", apart, "--json", facts)
    document = json.loads(facts.read_text())
    assert document["n_links"] == 30
    broken = len(document["broken_links"])
    assert f"{30 - broken} of 30 links are met" in result.stderr


def test_broken_links_in_words():
    from types import SimpleNamespace

    import numpy as np

    from lordclust.cli.links import Pairs, kept

    samples = SimpleNamespace(ids=np.array(list("abcdefgh")))
    pairs = Pairs(np.array([[i, 7] for i in range(7)]))
    model = SimpleNamespace(broken_links_=pairs.must[:1])
    assert kept(model, pairs, samples) == (
        "6 of 7 links are met; broken: a and h. To meet all, use --links hard"
    )
    model = SimpleNamespace(broken_links_=pairs.must[:6])
    assert "e and h, .... To" in kept(model, pairs, samples)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["s0,s1", "s0,s99"], "'s99' is not the id of a sample. Ids are those in the"),
        (["s0,s1", "s0"], "line 2 must be two ids, separated by a comma, got 's0'."),
        (None, "No such file or directory. Pass a csv file of pairs of ids."),
    ],
)
def test_a_bad_file_is_explained(fit, tmp_path, lines, message):
    file = tmp_path / "pairs.csv"
    if lines is not None:
        write(file, *lines)
    result, _ = fit("--must-link", file)
    assert result.exit_code == 3
    assert message in result.stderr


def test_ids_that_are_not_unique(run, tmp_path):
    table = write(tmp_path / "x.csv", "name,x", *(f"s{i % 9},{i}" for i in range(10)))
    pairs = write(tmp_path / "pairs.csv", "s0,s1")
    result = run("fit", table, "-k", 2, "--id-column", "name", "--must-link", pairs)
    assert result.exit_code == 3
    assert "is the id of several samples" in result.stderr


def test_methods_without_links(fit, tmp_path):
    pairs = write(tmp_path / "pairs.csv", "s0,s1")
    for more in (("--must-link", pairs), ("--links", "hard")):
        result, _ = fit("--method", "sc", *more)
        assert result.exit_code == 2
        assert f"has no {more[0]}. Leave it out." in result.stderr
