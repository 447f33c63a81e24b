"""Killed runs resume with the same command, and write the same files."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from lordclust.cli.progress import Display, FitProgress
from lordclust.solver import checkpoint as module

COLUMNS = ("--label-column", "class")
FIT = ("--tau", 1, "--proportions", "equal")
UNEVEN = ("--tau", 1, "--proportions", "0.2,0.3,0.5")  # five paths


class KilledError(BaseException):
    """As if the process had ended."""


@pytest.fixture
def killed(run, monkeypatch):
    """Run a command that is killed after this many checkpoints."""

    def call(count, *arguments):
        calls = []

        def write(*given, **settings):
            if len(calls) == count:
                raise KilledError
            calls.append(given)
            return original(*given, **settings)

        original = module.write_archive
        with monkeypatch.context() as patch:
            patch.setattr(module, "write_archive", write)
            with pytest.raises(KilledError):
                run(*arguments)

    return call


def without_seconds(path):
    """Return what is in a file, but for how long things took."""
    return re.sub(rb'"seconds": [0-9.]+', b"", path.read_bytes())


@pytest.mark.parametrize("options", [FIT, UNEVEN, ("--method", "lord")])
def test_a_fit_goes_on_and_writes_the_same_files(
    run, killed, points, tmp_path, monkeypatch, options
):
    def command(folder, *more):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        names = ("-o", "l.csv", "--proba", "p.csv", "--model", "m.lord", "--json", "j")
        return ("fit", points, "-k", 3, *COLUMNS, *options, *names, "--jobs", 1, *more)

    # With a checkpoint, the whole path is followed.
    assert run(*command("whole", "--checkpoint", "run.ckpt")).exit_code == 0
    whole = {p.name: without_seconds(p) for p in (tmp_path / "whole").iterdir()}
    again = command("killed", "--checkpoint", "run.ckpt")
    killed(4, *again)
    assert [p.name for p in (tmp_path / "killed").iterdir()] == ["run.ckpt"]
    result = run(*again)
    assert result.exit_code == 0, result.stderr
    unit = "step" if "lord" in options else "tau"
    assert re.search(
        rf"^resumed at {unit} 0\.\d\d, from run.ckpt$", result.stderr, re.M
    )
    resumed = {p.name: without_seconds(p) for p in (tmp_path / "killed").iterdir()}
    assert resumed == whole  # and the checkpoint is gone


def test_a_path_goes_on_and_writes_the_same_files(run, killed, points, tmp_path):
    out, labels, file = (tmp_path / n for n in ("path.csv", "l.csv", "run.ckpt"))
    arguments = ("path", points, "-k", 3, *COLUMNS, "--taus", "0.1:1:0.1")
    files = ("-o", out, "--labels", labels)
    run(*arguments, *files)
    whole = out.read_bytes(), labels.read_bytes()
    out.unlink()
    labels.unlink()
    killed(3, *arguments, *files, "--checkpoint", file)
    assert not out.exists()
    result = run(*arguments, *files, "--checkpoint", file)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("resumed at tau 0.40, from run.ckpt\n")
    assert (out.read_bytes(), labels.read_bytes()) == whole
    assert not file.exists()


def test_killed_for_good_it_goes_on(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "many.npy", rng.normal(size=(300, 5)))
    words = "path many.npy -k 8 --taus 0.02:1:0.02 --jobs 1 -o path.csv"
    words += " --checkpoint run.ckpt"
    command = [sys.executable, "-m", "lordclust", *words.split()]
    settings = {"cwd": tmp_path, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **settings, start_new_session=True) as process:
        while not (tmp_path / "run.ckpt").exists():
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    assert not (tmp_path / "path.csv").exists()
    result = subprocess.run(command, **settings, check=True)
    assert b"resumed at tau 0." in result.stderr
    resumed = (tmp_path / "path.csv").read_bytes()
    subprocess.run([*command[:-2], "--force"], **settings, check=True)
    assert (tmp_path / "path.csv").read_bytes() == resumed
    assert not (tmp_path / "run.ckpt").exists()


def pressing(call, number):
    """Return a function that presses Ctrl-C after a call."""
    calls = []

    def wrapped(*arguments):
        answer = call(*arguments)
        calls.append(arguments)
        if len(calls) == number:
            signal.raise_signal(signal.SIGINT)
        return answer

    return wrapped


@pytest.mark.parametrize("verb", ["fit", "path"])
def test_after_ctrl_c_the_same_command_goes_on(
    run, points, tmp_path, monkeypatch, verb
):
    out, file = tmp_path / "out.csv", tmp_path / "run.ckpt"
    options = FIT if verb == "fit" else ()
    arguments = (verb, points, "-k", 3, *COLUMNS, *options, "-o", out)
    run(*arguments)
    whole = out.read_bytes()
    out.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(FitProgress, "part", pressing(FitProgress.part, 4))
        patch.setattr(Display, "at", pressing(Display.at, 6))
        result = run(*arguments, "--checkpoint", file)
    assert result.exit_code == 130
    assert result.stderr.endswith(f" Run the same command to resume from {file}.\n")
    assert out.exists()  # what there was; it is the run's own, and needs no --force
    result = run(*arguments, "--checkpoint", file)
    assert result.exit_code == 0, result.stderr
    assert "resumed at tau" in result.stderr
    assert out.read_bytes() == whole
    assert not file.exists()


def test_what_was_there_before_the_run_needs_force(run, killed, points, tmp_path):
    out, file = tmp_path / "out.csv", tmp_path / "run.ckpt"
    arguments = ("fit", points, "-k", 3, *COLUMNS, *FIT, "--checkpoint", file)
    killed(2, *arguments, "-o", out)
    out.write_text("mine")  # after the run began: no clock tells whose it is
    result = run(*arguments, "-o", out)
    assert result.exit_code == 1
    assert "--force" in result.stderr
    assert out.read_text() == "mine"
    assert file.exists()
    assert run(*arguments, "-o", out, "--force").exit_code == 0


def test_a_finished_checkpoint_gives_the_result_again(run, points, tmp_path):
    """As after a kill between the last tau and the files."""
    from lordclust.graph import KNNGraph
    from lordclust.solver.tau_path import tau_path

    X = np.loadtxt(points, delimiter=",", skiprows=1, usecols=(1, 2))
    file = tmp_path / "run.ckpt"
    tau_path(KNNGraph().build(X), 3, keep="all", checkpoint=file)
    result = run("path", points, "-k", 3, *COLUMNS, "--checkpoint", file)
    assert result.stderr == "resumed at the end, from run.ckpt\n"
    assert result.stdout == run("path", points, "-k", 3, *COLUMNS).stdout


def test_strict_keeps_the_checkpoint(run, points, tmp_path, monkeypatch):
    from lordclust import LoRD

    hurried = LoRD(3, max_iter=1, tol=1e-15)
    monkeypatch.setattr("lordclust.registry.make_method", lambda *_, **__: hurried)
    file, out = tmp_path / "run.ckpt", tmp_path / "labels.csv"
    arguments = ("fit", points, "-k", 3, *COLUMNS, "--method", "lord", "-o", out)
    result = run(*arguments, "--strict", "--checkpoint", file)
    assert result.exit_code == 4
    assert file.exists()
    assert run(*arguments, "--checkpoint", file).exit_code == 0
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--checkpoint", "c"], 2, "--tau auto and --proportions auto"),
        (["--checkpoint", "c", "--tau", "1"], 2, "but --proportions auto"),
        (["--checkpoint", "c", "--method", "sc"], 2, "sc has no path"),
        (["--checkpoint", "-", "--method", "lord"], 2, "needs a file, not stdout"),
        (["--checkpoint", "points.csv", "--method", "lord"], 2, "is also the input"),
        (["--checkpoint", "l.csv", "-o", "l.csv", "--method", "lord"], 2, "also"),
        (["--checkpoint", "no/c", "--method", "lord"], 1, "there is no folder"),
        (["--checkpoint", ".", "--method", "lord"], 1, "this is a folder"),
        (
            ["--checkpoint", "bad", "--method", "lord"],
            3,
            "it is not a checkpoint",
        ),
    ],
)
def test_mistakes_are_one_sentence(run, points, monkeypatch, arguments, code, words):
    monkeypatch.chdir(points.parent)
    (points.parent / "bad").write_text("nothing of ours")
    before = sorted(points.parent.iterdir())
    result = run("fit", "points.csv", "-k", "3", *COLUMNS, *arguments)
    assert result.exit_code == code, result.stderr
    assert words in result.stderr
    assert result.stderr.strip().splitlines()[-1].startswith("Error: ")
    assert sorted(points.parent.iterdir()) == before


def test_a_checkpoint_of_another_problem_is_refused(run, killed, points, tmp_path):
    file = tmp_path / "run.ckpt"
    arguments = ("fit", points, *COLUMNS, *FIT, "--checkpoint", file)
    killed(2, *arguments, "-k", 3)
    before = file.read_bytes()
    result = run(*arguments, "-k", 4)
    assert result.exit_code == 3
    assert "belongs to another problem" in result.stderr
    assert "resumed" not in result.stderr
    assert file.read_bytes() == before


def test_a_file_in_place_of_the_result_needs_force(run, points, tmp_path, monkeypatch):
    out, file = tmp_path / "out.csv", tmp_path / "run.ckpt"
    arguments = ("fit", points, "-k", 3, *COLUMNS, *FIT, "--checkpoint", file)
    with monkeypatch.context() as patch:
        patch.setattr(FitProgress, "part", pressing(FitProgress.part, 4))
        assert run(*arguments, "-o", out).exit_code == 130
    os.utime(file, (1e9, 1e9))
    time = out.stat().st_mtime_ns
    mine = "m" * out.stat().st_size
    other = tmp_path / "other"
    other.write_text(mine)
    os.utime(other, ns=(time, time))
    other.replace(out)
    result = run(*arguments, "-o", out)
    assert (result.exit_code, out.read_text()) == (1, mine)
    assert "--force" in result.stderr
    assert run(*arguments, "-o", out, "--force").exit_code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "points.csv"]


def test_a_damaged_record_means_force(run, points, tmp_path, monkeypatch):
    out, file = tmp_path / "out.csv", tmp_path / "run.ckpt"
    arguments = ("fit", points, "-k", 3, *COLUMNS, *FIT, "--checkpoint", file)
    with monkeypatch.context() as patch:
        patch.setattr(FitProgress, "part", pressing(FitProgress.part, 4))
        assert run(*arguments, "-o", out).exit_code == 130
    for record in ("", "[", "[]", "{}", '{"a": 1}', "[" * 10**5):
        (tmp_path / "run.ckpt.outputs").write_text(record)
        assert run(*arguments, "-o", out).exit_code == 1


def test_a_kill_while_the_record_is_written(run, points, tmp_path, monkeypatch):
    out, file = tmp_path / "out.csv", tmp_path / "run.ckpt"
    arguments = ("fit", points, "-k", 3, *COLUMNS, *FIT, "--checkpoint", file)
    replace = os.replace

    def killed_at_the_record(hidden, path):
        if path.name.endswith(".outputs"):
            raise KilledError
        replace(hidden, path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed_at_the_record)
        with pytest.raises(KilledError):
            run(*arguments, "-o", out)
    assert not out.exists()
    assert run(*arguments, "-o", out).exit_code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "points.csv"]


def test_another_file_in_place_of_the_record_is_kept(run, points, tmp_path):
    file, record = tmp_path / "run.ckpt", tmp_path / "run.ckpt.outputs"
    arguments = ("fit", points, "-k", 3, *COLUMNS, *FIT, "--checkpoint", file)
    record.write_text("mine")
    result = run(*arguments)
    assert (result.exit_code, record.read_text()) == (1, "mine")
    assert "this is not the record of a run" in result.stderr
    record.unlink()
    record.symlink_to("elsewhere")
    assert run(*arguments).exit_code == 1
    assert not (tmp_path / "elsewhere").exists()


def test_a_checkpoint_holds_no_time(killed, points, tmp_path):
    file = tmp_path / "run.ckpt"
    killed(2, "fit", points, "-k", 3, *COLUMNS, *FIT, "--checkpoint", file)
    assert module.exists(file)
    document, _ = module.read_archive(file)
    assert set(document) == {
        "format", "version", "library", "problem", "arrays",
    }  # fmt: skip
    assert json.dumps(document)
