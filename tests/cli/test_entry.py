"""Streams that the shell has closed, filled or limited, and signals that it ignores."""

import os
import pty
import shlex
import signal
import subprocess
import sys
import time

import pytest

from lordclust.cli import exits

COMMAND = shlex.join([sys.executable, "-m", "lordclust"])
CLOSED = (
    "Error: standard output: it could not be written (Bad file descriptor). "
    "Check where it goes to, or pass the name of a file.\n"
)
FULL = CLOSED.replace("Bad file descriptor", "No space left on device")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")


def sh(words, folder, **settings):
    """Run the command in a shell; return its exit code, stdout and stderr."""
    done = subprocess.run(
        f"{COMMAND} {words}", shell=True, capture_output=True, cwd=folder, **settings
    )
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.parametrize("words", ["list", "--help", "fit points.csv -k 3"])
def test_stdout_that_cannot_be_written(points, words):
    assert sh(f"{words} >&-", points.parent) == (1, b"", CLOSED)
    if words == "--help":
        assert sh(f"{words} > /dev/full", points.parent) == (1, b"", FULL)


def test_streams_that_are_not_needed(points):
    words = "fit points.csv -k 3 --label-column class --method sc --force -o labels.csv"
    for streams in ("<&- >&- 2>&-", "2>/dev/full"):
        assert sh(f"{words} {streams}", points.parent) == (0, b"", "")
        assert (points.parent / "labels.csv").read_text().startswith("name,label\n")
        (points.parent / "labels.csv").unlink()


def test_errors_do_not_go_to_stdout_instead(tmp_path):
    assert sh("fit none.csv -k 3 2>&-", tmp_path) == (3, b"", "")
    assert sh("fit --none 2>/dev/full", tmp_path) == (2, b"", "")


def test_stdin_that_is_closed(tmp_path):
    code, _, text = sh("fit - -k 3 <&-", tmp_path)
    assert code == 3
    assert text.startswith("Error: standard input: it cannot be opened (Bad file desc")


def test_results_are_utf8_in_any_locale(tmp_path):
    (tmp_path / "t.csv").write_text("name,x\n\u00e4,0.5\n\u4e2d,0.6\nc,9.5\n", "utf-8")
    env = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    code, out, _ = sh("fit t.csv -k 2 --method kkm", tmp_path, env=env)
    assert code == 0
    assert out.decode().startswith("name,label\n\u00e4,")
    code, _, text = sh("fit \u00e4.csv -k 2", tmp_path, env=env)
    assert (code, text.count("\n")) == (3, 1)


def test_a_ctrl_c_that_the_shell_ignores(points):
    words = "fit points.csv -k 3 --label-column class --method sc -o labels.csv"
    command = f"trap '' INT; exec {COMMAND} {words}"
    with subprocess.Popen(
        command, shell=True, cwd=points.parent, stderr=subprocess.PIPE
    ) as process:
        time.sleep(0.1)  # for the trap
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        text = process.stderr.read().decode()
    assert process.returncode == 0, text
    assert text.endswith("wrote labels.csv\n")


def test_an_ignored_ctrl_c_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with exits.interruptible():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("option", ["-o out.csv", "--model m.lord", "--checkpoint c"])
def test_a_link_to_itself(run, points, monkeypatch, option):
    monkeypatch.chdir(points.parent)
    flag, name = option.split()
    os.symlink(name, name)
    words = ("-k", 3, "--tau", 1, "--proportions", "equal", flag, name)
    result = run("fit", "points.csv", *words)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {name}: this is a link to itself or to")
    result = run("fit", name, "-k", 3, "--format", "csv")
    assert result.exit_code == 3
    assert result.stderr == (
        f"Error: {name}: it cannot be opened (Too many levels of symbolic links). "
        "Check the name.\n"
    )


ESCAPES = "\x1b]0;owned\x07\x9b31m"
SHOWN = r"\x1b]0;owned\x07\x9b31m"


def at_terminal(arguments, folder):
    """Return all that a terminal receives from a command."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lordclust", *arguments]
    env = os.environ | {"TERM": "dumb", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=folder,
        env=env,
    ):  # fmt: skip
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux: the other side has closed
                part = b""
            text += part
            if not part:
                break
    os.close(ours)
    return text.decode()


def test_names_do_nothing_to_a_terminal(tmp_path):
    name = f"t{ESCAPES}.csv"
    lines = [f"{ESCAPES}{i},{i % 2}.5,{i}" for i in range(6)]
    (tmp_path / name).write_text("\n".join(["name,x,y", *lines, ""]), encoding="utf-8")
    words = ("fit", name, "-k", "2", "--method", "kkm")
    shown = at_terminal(words, tmp_path)
    assert f"{SHOWN}0,0\r\n" in shown
    written = at_terminal((*words, "-o", f"o{ESCAPES}.csv"), tmp_path)
    assert f"wrote o{SHOWN}.csv" in written
    assert ESCAPES in (tmp_path / f"o{ESCAPES}.csv").read_text(encoding="utf-8")
    for text in (shown, written):
        assert not any(c in text for c in ("\x1b]", "\x07", "\x9b"))


@pytest.mark.parametrize(
    "words",
    [
        ("fit", ESCAPES, "-k", "2"),
        ("fit", "points.csv", f"--{ESCAPES}"),
        ("fit", "points.csv", "-k", ESCAPES),
        ("fit", "points.csv", "-k", "3", "-o", f"{ESCAPES}.txt"),
        ("fit", "points.csv", "-k", "3", "-o", f"{ESCAPES}/out.csv"),
        (ESCAPES,),
    ],
)
def test_arguments_do_nothing_to_a_terminal(run, points, monkeypatch, words):
    monkeypatch.chdir(points.parent)
    result = run(*words)
    assert result.exit_code in (1, 2, 3)
    assert "owned" in result.stderr
    assert result.stderr.replace("\n", "").isprintable()


def test_warnings_do_nothing_to_a_terminal(capsys):
    from lordclust.cli.app import _show_warning

    _show_warning(UserWarning(f"{ESCAPES}\nnext"))
    assert capsys.readouterr().err == f"Warning: {SHOWN}\nnext\n"


def test_a_table_at_a_terminal_shows_escapes(capsys):
    from lordclust.cli.tables import draw

    draw([{"method": "sc", "note": ESCAPES}])
    assert SHOWN in capsys.readouterr().out
