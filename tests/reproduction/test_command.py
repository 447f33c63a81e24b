"""``python -m reproduction`` as a user has it: small runs, real files."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reproduction.command import reproduce
from reproduction.items import ITEMS

SMALL = ["--only", "synthetic-20-40-60-80", "--methods", "gmm", "--restarts", "2"]


def call(*args):
    return CliRunner().invoke(reproduce, list(map(str, args)))


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


def test_the_figure_of_the_models_needs_no_runs(tmp_path):
    result = call("fig-models", "--jobs", 1, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "fig-models.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_one_sentence(tmp_path):
    for args, part in (
        (["table-ac"], "table-acc"),
        (["table-acc", "--only", "wines"], "wine"),
        (["table-acc", "--methods", "kmeans"], "kkm"),
        (["table-synthetic", "--only", "wine"], "are not part of"),
    ):
        result = call(*args, "-o", tmp_path / "out")
        assert result.exit_code == 3, result.output
        assert part in result.stderr
        assert "Traceback" not in result.output
        assert not (tmp_path / "out").exists()


def test_missing_data_are_reported_first(tmp_path, monkeypatch):
    monkeypatch.setenv("LORDCLUST_DATA", str(tmp_path))
    result = call("table-acc", "--only", "yale", "-o", tmp_path / "out")
    assert result.exit_code == 3
    assert "yale" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX")
def test_cells_that_do_not_fit_on_the_disk_are_named_and_the_others_kept(tmp_path):
    code = (
        "import resource; from reproduction.__main__ import run; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); run()"
    )
    words = "table-synthetic --only synthetic-50-50-50-50 --methods gmm --restarts 1"
    command = [sys.executable, "-c", code, *words.split(), "--jobs", "1", "-o", "out"]
    result = run_in(tmp_path, command)
    assert result.returncode == 1, result.stderr
    cells = tmp_path / "out" / "cells.jsonl"
    assert "out/cells.jsonl: it could not be written (File too large)" in result.stderr
    lines = cells.read_bytes().splitlines(keepends=True)
    assert 1 <= len(lines) < 20
    assert all(line.endswith(b"\n") and json.loads(line) for line in lines)


def run_in(folder, command):
    """Run a command in a folder from which the repository's packages are found."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env)


def test_it_runs_as_a_module(tmp_path):
    command = [sys.executable, "-m", "reproduction"]
    result = run_in(tmp_path, [*command, "--help"])
    assert result.returncode == 0
    assert "Usage: python -m reproduction [OPTIONS] NAME...|all" in result.stdout
    assert set(ITEMS) <= set(result.stdout.split())
    result = run_in(tmp_path, [*command, "table-acc", "--only", "wines"])
    assert result.returncode == 3
    assert result.stderr.startswith("Error: ")


def test_ctrl_c_while_it_is_loaded(tmp_path):
    code = (
        "import signal, sys, reproduction.__main__ as main; "
        "class_ = type('F', (), {'find_spec': lambda *a: signal.raise_signal(2)}); "
        "sys.meta_path.insert(0, class_); sys.argv[1:] = ['all']; main.run()"
    )
    result = run_in(tmp_path, [sys.executable, "-c", code])
    assert result.returncode == 130
    assert result.stderr == "\nInterrupted. Nothing was written.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_ctrl_c_keeps_the_finished_cells_and_the_same_command_continues(tmp_path):
    words = ["table-synthetic", "--methods", "gmm", "--jobs", "1", "-o", "out", "-q"]
    command = [sys.executable, "-c", INTERRUPTED, *words]
    result = run_in(tmp_path, command)
    assert result.returncode == 130, result.stderr
    assert "Interrupted. 3 of 100 runs are finished and kept in out" in result.stderr
    assert "Traceback" not in result.stderr
    again = run_in(tmp_path, command)
    assert "Interrupted. 6 of 100 runs are finished" in again.stderr
    assert len((tmp_path / "out" / "cells.jsonl").read_text().splitlines()) == 6


#: Ctrl-C after the third cell.
INTERRUPTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
from reproduction import store
from reproduction.__main__ import run
append, done = store.Writer.append, []
def interrupting(self, cell, record):
    append(self, cell, record)
    done.append(cell)
    if len(done) == 3:
        signal.raise_signal(signal.SIGINT)
store.Writer.append = interrupting
run()
"""
