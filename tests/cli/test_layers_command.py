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
