"""The command as users run it: pipes, terminals and Ctrl-C."""

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

COLUMNS = ("--label-column", "class")


class Terminal:
    """A command whose stderr is a terminal; what it shows is collected."""

    def __init__(self, *arguments, cwd):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "lordclust", *map(str, arguments)]
        env = os.environ | {"TERM": "xterm", "COLUMNS": "80", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
            cwd=cwd, env=env,
        )  # fmt: skip
        os.close(theirs)
        self.ours, self.text, self.news = ours, "", threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while True:
            try:
                part = os.read(self.ours, 4096)
            except OSError:  # Linux: the other side has closed
                part = b""
            with self.news:
                self.text += part.decode(errors="replace")
                self.ended = not part
                self.news.notify_all()
            if not part:
                return

    def wait_for(self, pattern, seconds=60):
        with self.news:
            seen = self.news.wait_for(lambda: re.search(pattern, self.text), seconds)
        assert seen, self.text

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        out, _ = self.process.communicate(timeout=60)
        with self.news:
            self.news.wait_for(lambda: self.ended, 10)
        os.close(self.ours)
        return self.process.returncode, out.decode(), self.text


@pytest.fixture
def many(tmp_path):
    """A file that takes a while."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "many.npy", rng.normal(size=(800, 5)))
    return tmp_path / "many.npy"


def test_stdin_to_stdout_without_a_terminal(shell, points):
    result = shell("fit", "-", "-k", "3", *COLUMNS, "--method", "sc",
                   stdin=points.read_bytes())  # fmt: skip
    assert result.returncode == 0, result.stderr
    lines = list(csv.DictReader(result.stdout.decode().splitlines()))
    assert len(lines) == 45
    assert b"\x1b" not in result.stdout + result.stderr
    assert result.stderr.decode().splitlines()[0].startswith("sc: 45 samples")


def test_bad_input_has_its_code_and_no_traceback(shell, points):
    points.write_text("a,b\n1,2\n3,\n")
    result = shell("fit", points, "-k", 2)
    assert result.returncode == 3
    text = result.stderr.decode()
    assert text.startswith("Error: ")
    assert text.count("\n") == 1


def test_a_closed_pipe_is_silent():
    command = [sys.executable, "-m", "lordclust", "list"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as one:
        one.stdout.close()
        assert one.stderr.read() == b""


def test_ctrl_c_on_a_path_keeps_what_is_solved(many, tmp_path, rows):
    files = ("-o", "path.csv", "--labels", "labels.csv")
    arguments = ("path", many, "-k", 8, "--taus", "0.01:1:0.0001", *files)
    terminal = Terminal(*arguments, cwd=tmp_path)
    terminal.wait_for(r"tau 0\.(0[1-9]|[1-9])")
    terminal.interrupt()
    code, out, text = terminal.end()
    assert code == 130, text
    assert out == ""
    assert "press Ctrl-C again to stop at once" in text
    assert "Interrupted at tau 0." in text
    taus = [row["tau"] for row in rows(tmp_path / "path.csv")]
    assert 1 <= len(taus) < 9000
    assert len(rows(tmp_path / "labels.csv")[0]) == 1 + len(taus)


def test_ctrl_c_on_a_fit_keeps_the_best_result_so_far(tmp_path, rows):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "many.npy", rng.normal(size=(3000, 5)))
    files = ("-o", "labels.csv", "--json", "facts.json")
    terminal = Terminal("fit", "many.npy", "-k", 20, *files, cwd=tmp_path)
    terminal.wait_for(r"Fitting BLoRD to 3000 samples[^\r\n]*\d:\d\d:\d\d")  # time left
    terminal.interrupt()
    code, out, text = terminal.end()
    assert code == 130, text
    assert out == ""
    assert "Stopping with the result so far" in text
    assert "Interrupted; the best result so far has been kept." in text
    assert len(rows(tmp_path / "labels.csv")) == 3000
    assert json.loads((tmp_path / "facts.json").read_text())["interrupted"] is True
    assert len(list(tmp_path.iterdir())) == 3


def test_ctrl_c_twice_stops_at_once_and_writes_nothing(many, tmp_path):
    terminal = Terminal("fit", many, "-k", 20, "-o", "labels.csv", cwd=tmp_path)
    terminal.wait_for("Fitting BLoRD")
    terminal.interrupt()
    terminal.interrupt()
    code, out, text = terminal.end()
    assert code == 130, text
    assert out == ""
    assert "Traceback" not in text
    assert [p.name for p in tmp_path.iterdir()] == ["many.npy"]
