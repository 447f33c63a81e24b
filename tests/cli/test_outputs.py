import os
import signal
import threading

import click
import pytest

from lordclust.cli.exits import Failure, stopping, working
from lordclust.cli.outputs import Outputs
from lordclust.cli.tables import check_formats, write_file


def write(outputs, then):
    """Write a file, and then something happens before it has its name."""
    with outputs.together() as names:
        names["--a"].write_text("ours")
        then()


def test_files_appear_together(tmp_path):
    outputs = Outputs(
        {"--a": str(tmp_path / "a.csv"), "--b": str(tmp_path / "b.csv"), "--c": None},
        (),
        force=False,
    )
    with outputs.together() as names:
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
    with outputs.together() as names:
        names["--a"].write_text("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"


def test_a_device_is_written_to():
    outputs = Outputs({"--a": os.devnull}, (), force=False)
    with outputs.together() as names:
        names["--a"].write_text("gone")
    assert not os.path.isfile(os.devnull)


def test_a_pipe_gets_csv(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    outputs = Outputs({"--a": str(pipe)}, (), force=False)
    check_formats(outputs, "--a")
    with outputs.together() as names:
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


def test_the_first_interrupt_ends_the_work_and_handlers_come_back():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), working():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_first_interrupt_asks_to_stop(capsys):
    before = signal.getsignal(signal.SIGINT)
    with stopping("a note") as asked:
        assert not asked.is_set()
        signal.raise_signal(signal.SIGINT)
        assert asked.is_set()
    assert "a note" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_interrupts_while_files_are_written_leave_nothing(tmp_path):
    outputs = Outputs({"--a": str(tmp_path / "a.csv")}, (), force=False)
    with pytest.raises(KeyboardInterrupt), working():
        write(outputs, lambda: signal.raise_signal(signal.SIGINT))
    assert list(tmp_path.iterdir()) == []
