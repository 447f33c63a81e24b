import os
import signal
import threading

import click
import pytest

from lordclust.cli import tables
from lordclust.cli.exits import Failure, Interrupts, interruptible
from lordclust.cli.outputs import Outputs
from lordclust.files import atomic_file


def write(outputs, then=lambda: None, interrupts=None):
    """Write every file, and then something happens before they have their names."""

    def writer(file, force):
        with atomic_file(file, force, text=True) as out:
            out.write("ours")
        then()

    outputs.write(dict.fromkeys(outputs.files, writer), interrupts or Interrupts())


def test_files_appear_together(tmp_path):
    targets = {"--a": tmp_path / "a.csv", "--b": tmp_path / "b.csv"}
    outputs = Outputs(
        {option: str(path) for option, path in targets.items()} | {"--c": None},
        (),
        force=False,
    )
    write(outputs, lambda: [check_hidden(p) for p in tmp_path.iterdir()])
    assert {p.read_text() for p in targets.values()} == {"ours"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def check_hidden(path):
    assert path.name.startswith(".lordclust-")


def test_an_error_leaves_nothing(tmp_path):
    outputs = Outputs({"--a": str(tmp_path / "a.csv")}, (), force=False)
    with pytest.raises(ZeroDivisionError):
        write(outputs, lambda: 1 / 0)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_came_meanwhile_is_kept(tmp_path):
    targets = {"--a": str(tmp_path / "a.csv"), "--b": str(tmp_path / "b.csv")}
    outputs = Outputs(targets, (), force=False)
    with pytest.raises(Failure, match="force=True"):
        write(outputs, lambda: (tmp_path / "b.csv").write_text("theirs"))
    assert (tmp_path / "b.csv").read_text() == "theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["b.csv"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write(Outputs({"--a": str(tmp_path / "link.csv")}, (), force=True))
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "ours"


def test_a_device_is_written_to():
    write(Outputs({"--a": os.devnull}, (), force=False))
    assert not os.path.isfile(os.devnull)


def test_a_pipe_gets_csv(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    outputs = Outputs({"--a": str(pipe)}, (), force=False)
    tables.check_formats(outputs, "--a")

    def writer(file, force):
        tables.write(file, {"id": ["a"], "label": [0]}, force)

    outputs.write({"--a": writer}, Interrupts())
    reader.join(10)
    assert read == ["id,label\na,0\n"]


def test_a_full_disk_is_one_sentence():
    outputs = Outputs({"--a": "/dev/full"}, (), force=False)
    with pytest.raises(Failure, match="No space left on device"):
        write(outputs)


def test_two_options_may_not_share_a_file(tmp_path):
    same = str(tmp_path / "a.csv")
    with pytest.raises(click.UsageError, match="is also --a"):
        Outputs({"--a": same, "--b": same}, (), force=True)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(Failure, match="folder"):
        Outputs({"--a": str(tmp_path)}, (), force=True)


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def ended(monkeypatch):
    """Exit codes with which the process would have ended."""
    codes = []
    monkeypatch.setattr(os, "_exit", codes.append)
    return codes


def test_before_there_is_a_result_ctrl_c_ends_the_work(capsys):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruptible():
        press()
    assert signal.getsignal(signal.SIGINT) is before
    assert "press Ctrl-C again to stop at once" in capsys.readouterr().err


def test_once_there_is_a_result_ctrl_c_requests_a_stop(capsys, ended):
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as interrupts:
        interrupts.keep("a note")
        assert not interrupts.requested
        press()
        assert interrupts.requested
        assert ended == []
        with pytest.raises(KeyboardInterrupt):
            press()  # the process would be gone
        assert ended == [130]
    assert capsys.readouterr().err.count("a note") == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_files_are_written_waits_for_them(tmp_path, capsys, ended):
    outputs = Outputs({"--a": str(tmp_path / "a.csv")}, (), force=False)
    with interruptible() as interrupts:
        write(outputs, press, interrupts)
    assert interrupts.requested
    assert ended == []
    assert (tmp_path / "a.csv").read_text() == "ours"
    assert "press Ctrl-C again to stop and write nothing" in capsys.readouterr().err


def test_ctrl_c_twice_while_files_are_written_leaves_nothing(tmp_path, ended):
    outputs = Outputs({"--a": str(tmp_path / "a.csv")}, (), force=False)
    with pytest.raises(KeyboardInterrupt), interruptible() as interrupts:
        write(outputs, lambda: (press(), press()), interrupts)
    assert ended == []
    assert list(tmp_path.iterdir()) == []


def test_a_long_name_has_room_for_a_temporary_one(tmp_path):
    path = tmp_path / ("é" * 125 + ".csv")  # 254 bytes, of 255 that a name may have
    write(Outputs({"--a": str(path)}, (), force=False))
    assert path.read_text() == "ours"


def test_what_is_left_out_is_not_waited_for(tmp_path):
    targets = {"--a": str(tmp_path / "a.csv"), "--b": str(tmp_path / "b.html")}
    outputs = Outputs(targets, (), force=False)
    outputs.leave_out("--b")
    write(outputs)
    assert "--b" not in outputs
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
