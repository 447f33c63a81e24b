"""The fuzzer itself: it finds failures and survives them, and finds none here."""

import json
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import strategies as st

from qa.fuzz import page
from qa.fuzz.__main__ import main
from qa.fuzz.case import decoded, encoded
from qa.fuzz.outcome import Outcome, require, require_refusal
from qa.fuzz.session import Session, Tally
from qa.fuzz.supervisor import Supervisor
from qa.fuzz.targets import TARGETS

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="limits of time need POSIX signals"
)
#: A target that ends in every possible way.
ODD = """
import os, signal
from qa.fuzz.outcome import Outcome
SECONDS = 0.5
def prepare(): pass
def make(rng): return {"number": rng.randrange(10), "bytes": b"\\xff"}
def check(case):
    if case["number"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    while case["number"] == 5:
        pass
    if case["number"] == 7:
        raise RuntimeError("seven")
    return Outcome("all", "done")
"""


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "guided"])
def test_some_inputs_of_each_target(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([name, "--inputs", "15", "--seconds", "60", "--seed", "99"]) == 0
    assert f"{name}: " in capsys.readouterr().out


def test_deaths_hangs_and_errors_are_found_and_survived(tmp_path, monkeypatch):
    (tmp_path / "odd_target.py").write_text(ODD)
    monkeypatch.syspath_prepend(str(tmp_path))
    tally = Supervisor("odd_target", 60, 60.0, 0).run()
    kinds = {where.split()[0] for where in tally.failures}
    assert tally.done == 60
    assert kinds == {"exit", "Hang", "RuntimeError"}
    assert tally.outcomes[Outcome("all", "failed")] == tally.n_failures
    for where, failure in tally.failures.items():
        number = {"exit": 3, "Hang": 5, "RuntimeError": 7}[where.split()[0]]
        assert failure["input"] == {"number": number, "bytes": b"\xff"}


def checked(check, cases):
    session = Session(SimpleNamespace(SECONDS=5.0, check=check, cases=lambda: cases))
    for _ in session.generate(50, seed=0):
        pass
    return session.tally


def test_the_smallest_input_of_a_place_is_kept():
    def check(case):
        require(len(case) < 3, "texts are short", case)
        return Outcome("all", "done")

    tally = checked(check, st.text("ab", max_size=9))
    (failure,) = tally.failures.values()
    assert len(failure["input"]) == 3
    assert tally.outcomes[Outcome("all", "done")] + failure["count"] == tally.done == 50


def test_a_crash_is_not_a_refusal():
    with pytest.raises(IndexError):
        require_refusal(caught(lambda: [][1]))
    with pytest.raises(ValueError, match="invalid literal"):
        require_refusal(caught(lambda: int("x")))


def caught(call):
    try:
        call()
    except Exception as error:
        return error


def test_inputs_are_the_same_after_json():
    case = {"a": [1, 2.5, None, "é"], "b": b"\x00\xff"}
    assert decoded(encoded(case)) == case


def test_a_failure_can_be_run_again(tmp_path, capsys):
    path = tmp_path / "failure.json"
    line = {"line": ["list", "no"], "input": {"base64": ""}}
    path.write_text(json.dumps({"target": "commands", "input": line}))
    assert main(["--replay", str(path)]) == 0
    assert capsys.readouterr().out


def test_a_campaign_is_recorded_and_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "RESULTS", tmp_path / "results.json")
    tally = Tally(3, Counter({Outcome("csv", "read"): 2, Outcome("csv", "refused"): 1}))
    page.Record("readers", 0, resume=False).write(page.row("readers", tally, 1.5))
    record = page.Record("readers", 0, resume=True)
    assert record.done == 3
    for _ in range(2):  # what a run wrote before is replaced, not added
        record.write(page.row("readers", tally, 2.0))
    row = json.loads(page.RESULTS.read_text())["readers"]
    assert (row["inputs"], row["seconds"], row["failures"]) == (6, 3.5, 0)
    assert row["outcomes"] == {"csv": {"read": 4, "refused": 2}}
    assert page.Record("readers", 0, resume=False).done == 0


def test_the_page_shows_the_results():
    results = json.loads(page.RESULTS.read_text())
    assert page.results_text(results) in page.PAGE.read_text(encoding="utf-8")
    assert sum(row["inputs"] for row in results.values()) >= 100_000
    assert set(results) == set(TARGETS)
