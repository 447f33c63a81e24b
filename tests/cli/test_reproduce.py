"""``lordclust reproduce`` as a user has it: small runs, real files."""

import csv
import json

from click.testing import CliRunner

from lordclust.cli.app import main

SMALL = ["--only", "synthetic-20-40-60-80", "--methods", "gmm", "--restarts", "2"]


def call(*args):
    return CliRunner().invoke(main, ["reproduce", *map(str, args)])


def test_a_table_is_printed_and_written(tmp_path):
    result = call("table-synthetic", *SMALL, "--jobs", 1, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Four Gaussians: Accuracy (ACC)" in result.stdout
    assert "gmm, true shares" in result.stdout
    assert f"wrote {tmp_path / 'results.json'}" in result.stderr
    with open(tmp_path / "table-synthetic-1.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["paper"] for row in rows} == {"0.78", "0.835"}
    assert json.loads((tmp_path / "results.json").read_text())["finished"] == 20


def test_the_second_time_nothing_is_run(tmp_path):
    for _ in range(2):
        assert (
            call("table-synthetic", *SMALL, "--jobs", 1, "-o", tmp_path).exit_code == 0
        )
    assert len((tmp_path / "cells.jsonl").read_text().splitlines()) == 20


def test_a_figure_is_drawn(tmp_path):
    small = ["--only", "synthetic-20-40-60-80", "--methods", "lord", "--restarts", "1"]
    result = call("fig-synthetic", *small, "--jobs", 1, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "fig-synthetic.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_one_sentence(tmp_path):
    for args, part in (
        (["table-ac"], "table-acc"),
        (["table-acc", "--only", "wines"], "wine"),
        (["table-acc", "--methods", "kmeans"], "kkm"),
        (["table-synthetic", "--only", "wine"], "have no part"),
    ):
        result = call(*args, "-o", tmp_path / "out")
        assert result.exit_code == 3, result.output
        assert part in result.stderr
        assert "Traceback" not in result.output
        assert not (tmp_path / "out").exists()


def test_data_that_cannot_be_had_is_said_first(tmp_path, monkeypatch):
    monkeypatch.setenv("LORDCLUST_DATA", str(tmp_path))
    result = call("table-acc", "--only", "yale", "-o", tmp_path / "out")
    assert result.exit_code == 3
    assert "yale" in result.stderr
    assert not (tmp_path / "out").exists()
