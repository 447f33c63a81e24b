import csv
import json


def test_a_line_for_each_number_and_a_recommendation(run, points):
    result = run("suggest", points, "--label-column", "class", "--max-clusters", 6)
    assert result.exit_code == 0, result.stderr
    lines = list(csv.DictReader(result.stdout.splitlines()))
    assert [row["k"] for row in lines] == ["2", "3", "4", "5", "6"]
    assert [row["k"] for row in lines if row["note"] == "recommended"] == ["3"]
    for row in lines:
        parts = float(row["gap"]) + float(row["separation"]) + float(row["fit"])
        assert abs(parts - float(row["score"])) < 0.01
    assert "Recommended: 3 clusters; " in result.stderr
    assert f"Next, with the same options: lordclust fit {points} -k 3" in result.stderr


def test_as_json_and_for_similarities(run, tmp_path):
    import numpy as np

    np.save(tmp_path / "S.npy", np.kron(np.eye(4), np.ones((5, 5))))
    result = run("suggest", tmp_path / "S.npy", "--precomputed", "--json")
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["best_k"] == 4
    assert len(document["scores"]) == 9
    assert document["runner_up"] != 4


def test_options_about_shares_are_refused(run, points):
    """They would have no effect."""
    for option in ("--outliers", "--tau", "--proportions"):
        assert run("suggest", points, option, "0.1").exit_code == 2
