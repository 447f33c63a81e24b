import os
import signal
import threading

import click
import pytest

from lordclust.cli.exits import Failure, Interrupts, interruptible
from lordclust.cli.outputs import Outputs
from lordclust.cli.tables import check_formats, write_file


def write(outputs, then, interrupts=None):
    """Write a file, and then something happens before it has its name."""
    with outputs.together(interrupts or Interrupts()) as names:
        names["--a"].write_text("ours")
        then()


def test_files_appear_together(tmp_path):
    outputs = Outputs(
        {"--a": str(tmp_path / "a.csv"), "--b": str(tmp_path / "b.csv"), "--c": None},
        (),
        force=False,
    )
    with outputs.together(Interrupts()) as names:
        assert {name.suffix for name in names.values()} == {".csv"}
        for option, name in names.items():
            name.write_text(option)
            assert name.parent == tmp_path
        assert not (tmp_path / "a.csv").exists()
    assert (tmp_path / "a.csv").read_text() == "--a"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_an_error_leaves_nothing(tmp_path):
    outputs = Outputs({"--a": str(tmp_path / "a.csv")}, (), force=False)
    with pytest.raises(ZeroDivisionError):
        write(outputs, lambda: 1 / 0)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_came_meanwhile_is_kept(tmp_path):
    outputs = Outputs({"--a": str(tmp_path / "a.csv")}, (), force=False)
    with pytest.raises(Failure, match="--force"):
        write(outputs, lambda: (tmp_path / "a.csv").write_text("theirs"))
    assert (tmp_path / "a.csv").read_text() == "theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    outputs = Outputs({"--a": str(tmp_path / "link.csv")}, (), force=True)
    with outputs.together(Interrupts()) as names:
        names["--a"].write_text("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_a_device_is_written_to():
    outputs = Outputs({"--a": os.devnull}, (), force=False)
    with outputs.together(Interrupts()) as names:
        names["--a"].write_text("gone")
    assert not os.path.isfile(os.devnull)


def test_a_pipe_gets_csv(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    outputs = Outputs({"--a": str(pipe)}, (), force=False)
    check_formats(outputs, "--a")
    with outputs.together(Interrupts()) as names:
        write_file(names["--a"], {"id": ["a"], "label": [0]})
    reader.join(10)
    assert read == ["id,label\na,0\n"]


def test_a_full_disk_is_one_sentence():
    outputs = Outputs({"--a": "/dev/full"}, (), force=False)
    with pytest.raises(Failure, match="No space left on device"):
        write(outputs, lambda: None)


def test_two_options_may_not_share_a_file(tmp_path):
    same = str(tmp_path / "a.csv")
    with pytest.raises(click.UsageError, match="is also --a"):
        Outputs({"--a": same, "--b": same}, (), force=True)


def test_a_folder_is_no_file(tmp_path):
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
    assert "Ctrl-C again stops at once" in capsys.readouterr().err


def test_once_there_is_a_result_ctrl_c_asks_to_stop(capsys, ended):
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as interrupts:
        interrupts.keep("a note")
        assert not interrupts.asked
        press()
        assert interrupts.asked
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
    assert interrupts.asked
    assert ended == []
    assert (tmp_path / "a.csv").read_text() == "ours"
    assert "Ctrl-C again stops and writes nothing" in capsys.readouterr().err


def test_ctrl_c_twice_while_files_are_written_leaves_nothing(tmp_path, ended):
    outputs = Outputs({"--a": str(tmp_path / "a.csv")}, (), force=False)
    with pytest.raises(KeyboardInterrupt), interruptible() as interrupts:
        write(outputs, lambda: (press(), press()), interrupts)
    assert ended == []
    assert list(tmp_path.iterdir()) == []


def test_a_long_name_has_room_for_a_temporary_one(tmp_path):
    path = tmp_path / ("é" * 125 + ".csv")  # 254 bytes, of 255 that a name may have
    write(Outputs({"--a": str(path)}, (), force=False), lambda: None)
    assert path.read_text() == "ours"


def test_what_is_left_out_is_not_waited_for(tmp_path):
    targets = {"--a": str(tmp_path / "a.csv"), "--b": str(tmp_path / "b.html")}
    outputs = Outputs(targets, (), force=False)
    outputs.leave_out("--b")
    write(outputs, lambda: None)
    assert "--b" not in outputs
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
