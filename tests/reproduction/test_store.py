import json
import os
import signal
import subprocess
import sys
import time

import pytest

from reproduction.store import Cell, Store

A = Cell("scores", "sc", "wine")
B = Cell("scores", "sc", "wine", 1, {"tau": 0.5})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells.jsonl")


def test_nothing_yet(store):
    assert store.records() == {}


def test_appended_cells_are_read(store):
    store.append(A, {"acc": 0.5})
    store.append(B, {"acc": 0.75})
    found = Store(store.path).records()
    assert [found[c.key]["acc"] for c in (A, B)] == [0.5, 0.75]


@pytest.mark.parametrize("lost", range(1, 60))
def test_a_torn_line_costs_one_cell(store, lost):
    store.append(A, {"acc": 0.5})
    complete = len(store.path.read_bytes())
    store.append(B, {"acc": 0.75})
    size = len(store.path.read_bytes())
    with open(store.path, "r+b") as file:
        file.truncate(max(complete, size - lost))
    assert set(store.records()) == {A.key}
    store.append(B, {"acc": 0.75})
    assert set(store.records()) == {A.key, B.key}
    for line in store.path.read_text().splitlines():
        json.loads(line)


def test_a_cell_counts_once(store):
    store.append(A, {"acc": 0.5})
    store.append(A, {"acc": 0.6})
    assert [r["acc"] for r in store.records().values()] == [0.5]


def test_other_lines_are_ignored(store):
    store.path.write_bytes(b'not json\n[1]\n{"no": "key"}\n\xff\xfe\n')
    store.append(A, {"acc": 0.5})
    assert set(store.records()) == {A.key}


def test_two_writers_are_refused(store):
    with (
        store.writing(),
        pytest.raises(ValueError, match="in use by another run"),
        Store(store.path).writing(),
    ):
        pass


def test_a_full_disk_leaves_what_was_there(store, monkeypatch):
    store.append(A, {"acc": 0.5})
    before = store.path.read_bytes()

    def no_room(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OSError, match="No space"):
        store.append(B, {"acc": 0.75})
    assert store.path.read_bytes() == before


def test_key_does_not_depend_on_the_order_of_settings():
    one = Cell("scores", "a", "b", 0, {"x": 1, "y": 2})
    other = Cell("scores", "a", "b", 0, {"y": 2, "x": 1})
    assert one.key == other.key
    others = (Cell("scores", "sc", "ecoli"), Cell("grid", "sc", "wine"))
    assert len({A.key, B.key, *(cell.key for cell in others)}) == 4


RUN = """
import sys
from pathlib import Path
from reproduction.plan import Plan
from reproduction.runner import run_cells
cells = [c for c in Plan(restarts=300).entry("symnmf", "iris")]
run_cells(cells, Path(sys.argv[1]))
"""


def test_kill_9_loses_at_most_the_cell_in_progress(store):
    """Killed twice while it runs; the third run ends, and each cell is there once."""
    command = [sys.executable, "-c", RUN, str(store.path)]
    for _ in range(2):
        before = len(store.records())
        process = subprocess.Popen(command)
        while len(store.records()) < before + 3 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert len(store.records()) >= min(before + 3, 50)
    subprocess.run(command, check=True)
    lines = [json.loads(line) for line in store.path.read_text().splitlines()]
    assert sorted(line["seed"] for line in lines) == list(range(50))
    assert len({line["key"] for line in lines}) == len(lines)
    assert {"facts", "finished", "seconds"} <= set(lines[0])
