"""Users learn that kernels are compiled, and the time it takes is kept apart."""

import io
import logging
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from lordclust import BLoRD
from lordclust._core import compiling
from lordclust._core.jit import njit
from lordclust.cli import fitting

FIT = """
import sys
sys.ps1 = "> "
from lordclust.solver.projection import project_omega
project_omega([[1.0, 0.0], [0.0, 1.0]], [0.5**0.5, 0.5**0.5])
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(compiling, "CLOCK", compiling.Clock())
    return compiling.CLOCK


def test_a_terminal_shows_one_line(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    clock.begin()
    clock.begin()
    clock.end()
    clock.end()
    clock.begin()
    clock.end()
    assert sys.stderr.getvalue() == f"lordclust: {compiling.NOTICE}\n"
    assert clock.seconds > 0


@pytest.mark.parametrize("stderr", [None, io.StringIO()])
def test_a_script_shows_nothing(clock, monkeypatch, stderr):
    monkeypatch.setattr(sys, "stderr", stderr)
    clock.begin()
    assert stderr is None or stderr.getvalue() == ""


def test_something_small_leaves_the_notice_to_others(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with clock.silently():
        clock.begin()
        clock.end()
    assert sys.stderr.getvalue() == ""
    assert not clock.noticed


def test_a_log_that_is_read_takes_its_place(clock, monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with caplog.at_level(logging.INFO, logger="lordclust"):
        clock.begin()
    assert caplog.messages == [compiling.NOTICE]
    assert sys.stderr.getvalue() == ""


def test_an_empty_cache_and_a_full_one(tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for wanted in (f"lordclust: {compiling.NOTICE}\n", ""):
        run = subprocess.run(
            [sys.executable, "-c", FIT],
            env=env, capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
        assert run.stderr == wanted


def test_code_of_others_is_not_ours(clock):
    @njit
    def twice(x):
        return 2 * x

    assert twice(2.0) == 4.0
    assert clock.seconds == compiling.CLOCK.seconds == 0.0


def test_the_time_of_a_fit_is_without_compilation(monkeypatch):
    def fit(self, X):
        fitting.CLOCK.seconds += 1000.0
        return self

    monkeypatch.setattr(BLoRD, "fit", fit)
    samples = SimpleNamespace(X=np.zeros((2, 2)), weight=None, known=None)
    fitted = fitting.fit_model(BLoRD(2), samples)
    assert -1001 < fitted.seconds < -999
