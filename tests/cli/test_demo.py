import csv
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from lordclust.cli import demo
from lordclust.cli.app import main
from lordclust.cli.demo import FILES


@pytest.fixture(scope="module")
def computed():
    return demo.run_demo(demo.load_digits())


@pytest.fixture
def run(computed, monkeypatch):
    """The command; what it computes is computed once for all tests."""
    monkeypatch.setattr(demo, "warm_up", lambda data: None)
    monkeypatch.setattr(demo, "run_demo", lambda data: computed)
    return lambda *arguments: CliRunner().invoke(main, ["demo", *map(str, arguments)])


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_warm_up_fits_every_method():
    demo.warm_up(demo.load_digits())


def test_prints_tables_and_files(run, tmp_path):
    result = run("--output", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for word in ("method", "seconds", "acc", "nmi", "purity", "smallest", "largest"):
        assert word in result.stdout
    for method in ("B-LoRD, equal shares", "LoRD", "SpectralClustering", "KMeans"):
        assert method in result.stdout
    assert "certainty" in result.stdout
    written = [x for x in result.stderr.splitlines() if x.startswith("wrote ")]
    assert written == [f"wrote {tmp_path / 'out' / name}" for name in FILES]


def test_tables_fit_80_columns(run, tmp_path):
    lines = run("--output", tmp_path).stdout.splitlines()
    assert max(map(len, lines)) <= 80


def test_files_parse_and_probabilities_sum_to_one(run, tmp_path, computed):
    run("--output", tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(FILES)
    labels = read(tmp_path / "labels.csv")
    members = read(tmp_path / "membership.csv")
    P = np.array([[float(row[f"p{j}"]) for j in range(10)] for row in members])
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-8)
    label = np.array([int(row["label"]) for row in labels])
    np.testing.assert_allclose(P.mean(axis=0), np.bincount(label) / len(P), atol=1e-8)
    assert np.mean(label == P.argmax(axis=1)) > 0.97  # the others are in doubt
    best = [float(row["probability"]) for row in labels]
    np.testing.assert_allclose(best, P[np.arange(len(P)), label])
    assert [int(row["digit"]) for row in labels] == computed.data.y.tolist()


def test_path_file_goes_from_soft_to_hard(run, tmp_path):
    run("--output", tmp_path)
    rows = read(tmp_path / "path.csv")
    tau = [float(row["tau"]) for row in rows]
    certainty = [float(row["certainty"]) for row in rows]
    assert tau == sorted(tau)
    assert tau[-1] == 1
    assert certainty[0] < 0.5 < 0.95 < certainty[-1]


def test_picture_is_a_png(run, tmp_path):
    run("--output", tmp_path)
    picture = (tmp_path / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 300_000


def test_finds_the_digits(computed):
    ours = [s for s in computed.scores if "LoRD" in s["method"]]
    assert len(ours) == 3
    assert min(s["acc"] for s in ours) > 0.9


def test_without_matplotlib_says_how_to_get_it(run, tmp_path, monkeypatch):
    for name in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("--output", tmp_path)
    assert result.exit_code == 0
    assert 'pip install "lordclust[plot]"' in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(FILES[:3])


def test_files_are_replaced_only_by_force(run, tmp_path):
    (tmp_path / "labels.csv").write_text("years of work")
    (tmp_path / "thesis.txt").write_text("more of it")
    result = run("--output", tmp_path)
    assert result.exit_code == 1
    assert "labels.csv: this file exists already" in result.stderr
    assert len(list(tmp_path.iterdir())) == 2
    assert run("--output", tmp_path, "--force").exit_code == 0
    assert (tmp_path / "labels.csv").read_text().startswith("id,label")
    assert (tmp_path / "thesis.txt").read_text() == "more of it"


def test_a_file_in_place_of_the_folder_is_a_usage_error(run, tmp_path):
    path = tmp_path / "out"
    path.write_text("a file")
    assert run("--output", path).exit_code == 2
