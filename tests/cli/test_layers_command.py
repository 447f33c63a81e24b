import re

import numpy as np
import pytest

from lordclust import layers


def test_levels_of_a_file(run, points, rows, tmp_path):
    out = tmp_path / "levels.csv"
    given = ("--label-column", "class", "--k-max", 4)
    result = run("layers", points, *given, "-o", out)
    assert result.exit_code == 0, result.stderr
    X = [[float(row["x"]), float(row["y"])] for row in rows(points)]
    found = layers(X, 4)
    assert str(found) in result.stderr
    for k in range(1, 5):
        levels = [int(row[f"k={k}"]) for row in rows(out)]
        assert levels == found.at(k).tolist()
    assert run("layers", points, *given, "-o", out).exit_code != 0  # it exists


def test_report_of_a_file(run, points, rows, tmp_path):
    out, page = tmp_path / "levels.csv", tmp_path / "page.html"
    given = ("--label-column", "class", "--scale", "zscore", "--k-max", 4, "-o", out)
    result = run("layers", points, *given, "--report", page, "--title", "Three")
    assert result.exit_code == 0, result.stderr
    text = page.read_text(encoding="utf-8")
    assert "<h1>Three</h1>" in text
    assert '"levels":[1,2,3,4]' in text
    assert "Recommended: 3." in text
    rows_of = [float(row["x"]) for row in rows(points)]
    means = re.findall(r">x</th>.*?<small>all: ([\d.]+)<", text)
    assert float(means[0]) == pytest.approx(np.mean(rows_of), abs=0.005)  # not scaled
    result = run("layers", points, *given, "--report", "-", "--force")
    assert "--report needs a file" in result.stderr
