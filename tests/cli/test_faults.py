"""Full disks, too little memory and Ctrl-C at odd moments."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from lordclust._core import memory
from lordclust.cli.exits import Interrupts
from lordclust.files import atomic_file
from lordclust.files.error import WriteError
from qa.faults.__main__ import read
from qa.faults.disk import Disk
from qa.faults.page import PAGE, with_tables
from qa.faults.runs import Moment
from qa.faults.runs import run as strike
from qa.faults.strikes import Campaign
from qa.faults.targets import TARGETS, check_file

COLUMNS = ("--label-column", "class")
LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="files are watched by inotify"
)
LIMITED = (
    "import resource, sys; from lordclust.cli.entry import run; "
    "size = int(sys.argv.pop(1)); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)); run()"
)


def test_strikes_know_the_record_of_a_run(tmp_path):
    record = tmp_path / "run.ckpt.outputs"
    record.write_text("{}")
    assert check_file(record) == ""
    record.write_text("")
    assert check_file(record) != ""


@pytest.fixture
def limited(tmp_path):
    """The command in a process with a limit on the size of files."""

    def call(size, *arguments):
        command = [sys.executable, "-c", LIMITED, str(size), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    return call


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("-o", "labels.csv", "--model", "m.lord", "--json", "facts.json"), "m.lord"),
        (("-o", "labels.csv", "--report", "page.html"), "page.html"),
        (("-o", "labels.csv", "--checkpoint", "run.ckpt"), "run.ckpt"),
    ],
)
def test_a_full_disk_is_one_sentence(limited, points, tmp_path, arguments, named):
    files = {name: f"the earlier {name}" for name in arguments[1::2]}
    files.pop("run.ckpt", None)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    options = ("--tau", 0.3, "--proportions", "equal", "--force")
    result = limited(3500, "fit", points, "-k", 3, *COLUMNS, *options, *arguments)
    assert result.returncode == 1, result.stderr
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert f"{named}: it could not be written (File too large)" in last
    assert "Traceback" not in result.stderr
    left = {p.name: p.read_text() for p in tmp_path.iterdir() if p != points}
    assert left == files


@pytest.mark.parametrize("verb", ["fit", "path"])
def test_a_folder_that_is_a_file(run, points, verb):
    out = points / "labels.csv"
    result = run(verb, points, "-k", 3, *COLUMNS, "-o", out)
    assert result.exit_code == 1
    assert "there is no folder" in result.stderr


def test_too_little_memory_is_one_sentence(run, points, monkeypatch):
    room = memory.Available(1000, "for a test")
    monkeypatch.setattr(memory, "free", lambda: room)
    monkeypatch.setattr("lordclust.methods._request.LITTLE", 0)
    result = run("fit", points, "-k", 3, *COLUMNS)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: BLoRD of 45 samples and 3 clusters needs")
    assert result.stderr.count("\n") == 1


def test_a_write_error_is_raised_as_such(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    target = tmp_path / "note.txt"
    target.write_text("mine")
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(WriteError, match="it could not be written"):
            _fill(target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [p.name for p in tmp_path.iterdir()] == ["note.txt"]
    assert target.read_text() == "mine"


def _fill(target):
    with atomic_file(target, force=True) as file:
        file.write(bytes(1000))


def test_the_second_ctrl_c_leaves_no_part_of_a_file(tmp_path, monkeypatch):
    """As when a checkpoint is being written."""
    left = []
    monkeypatch.setattr(os, "_exit", lambda code: left.append(list(tmp_path.iterdir())))
    interrupts = Interrupts()
    interrupts.keep()
    interrupts.handle(signal.SIGINT, None)
    with suppress(KeyboardInterrupt), atomic_file(tmp_path / "run.ckpt") as file:
        file.write(b"half")
        assert len(list(tmp_path.iterdir())) == 1
        interrupts.handle(signal.SIGINT, None)
    assert left == [[]]  # when the process ended


def test_ctrl_c_while_the_command_is_loaded(tmp_path):
    """The first line of lordclust has run, and little more."""
    code = (
        "import signal, sys, lordclust.cli.entry as e; "
        "class_ = type('F', (), {'find_spec': lambda *a: signal.raise_signal(2)}); "
        "sys.meta_path.insert(0, class_); sys.argv[1:] = ['list']; e.run()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert result.returncode == 130
    assert result.stderr == b"\nInterrupted. Nothing was written.\n"


# -- the campaign itself --------------------------------------------------------------


@LINUX
def test_a_short_campaign_finds_nothing(tmp_path):
    command = [sys.executable, "-c", SHORT, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(result.stdout)
    assert found["faults"] == []
    assert found["strikes"] == 3


#: In a process without threads: the campaign forks.
SHORT = """
import json, sys
from pathlib import Path
from qa.faults.strikes import Campaign
from qa.faults.targets import TARGETS, check_file
campaign = Campaign(TARGETS[0], Path(sys.argv[1]), 9, 0)
print(json.dumps(campaign.run(3)))
"""


def test_a_campaign_sees_what_is_wrong(tmp_path):
    """Files that are cut, and results that differ."""
    campaign = Campaign(TARGETS[0], tmp_path, signal.SIGKILL, 0)
    campaign.work = tmp_path
    for name in ("labels.csv", "m.lord", "facts.json"):
        (tmp_path / name).write_text('{"cut')
    campaign.earlier = campaign.undisturbed = dict.fromkeys(TARGETS[0].outputs)
    outcome = type("Outcome", (), {"struck": True, "stderr": "", "code": -9})
    campaign._look(outcome, Moment(0.0, event=1))
    text = " ".join(campaign.faults)
    for name in ("labels.csv", "m.lord", "facts.json"):
        assert f"incomplete: {name}" in text
        assert f"{name} is neither the earlier nor the final one" in text


@LINUX
def test_a_run_is_struck_at_a_file_event(tmp_path):
    """The process group dies at the first sign of a file."""
    start = time.perf_counter()
    (tmp_path / "here").mkdir()
    TARGETS[0].prepare(tmp_path / "here" / "work")
    outcome = strike(
        TARGETS[0].arguments, tmp_path / "here" / "work", Moment(0, 1, fresh=True)
    )
    assert (outcome.struck, outcome.code) == (True, -signal.SIGKILL)
    assert time.perf_counter() - start < 120


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not os.path.ismount("/proc"),
    reason="only root can mount a small file system",
)
def test_a_really_full_disk():
    command = [sys.executable, "-c", FULL]
    result = subprocess.run(command, capture_output=True, text=True)
    if "mount" in result.stderr and result.returncode:
        pytest.skip("this root may not mount")
    found = json.loads(result.stdout)
    assert found["faults"] == []
    assert found["refused"] > 0


FULL = """
import json
from qa.faults.disk import Disk
from qa.faults.targets import TARGETS, check_file
print(json.dumps(Disk(TARGETS[3]).full((0,))))
"""


def test_the_page_is_made_from_the_results():
    text, results = PAGE.read_text(), read()
    assert text == with_tables(text, results)
    assert Disk(TARGETS[0]).target.arguments[-1] == "--force"
