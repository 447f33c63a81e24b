"""Tables out, and files that appear complete or not at all."""

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from lordclust.files import (
    InputError,
    all_or_none,
    atomic_file,
    read,
    write_archive,
    write_table,
)
from lordclust.files.atomic import check_target
from lordclust.files.error import WriteError

COLUMNS = {"x": np.array([1.5, -0.0]), "label": np.array([1, 0])}


def test_text(tmp_path, capsys):
    path = tmp_path / "t.csv"
    write_table(path, {"id": ["=1+2", 'a"b'], **COLUMNS, "sure": [True, False]})
    assert path.read_text() == ('id,x,label,sure\n=1+2,1.5,1,1\n"a""b",-0.0,0,0\n')
    write_table("-", COLUMNS, format="tsv")
    assert capsys.readouterr().out == "x\tlabel\n1.5\t1\n-0.0\t0\n"


def test_single_precision_says_every_bit(tmp_path):
    path = tmp_path / "t.csv"
    x = np.array([0.1], dtype=np.float32)
    write_table(path, {"x": x})
    assert read(path).X.astype(np.float32) == x


def test_arrays(tmp_path):
    write_table(tmp_path / "t.npy", COLUMNS)
    assert np.load(tmp_path / "t.npy").tolist() == [[1.5, 1], [-0.0, 0]]
    write_table(tmp_path / "one.npy", {"label": [1, 0]})
    assert np.load(tmp_path / "one.npy").tolist() == [1, 0]
    write_table(tmp_path / "t.npz", {"file": ["a", "b"], **COLUMNS})
    with np.load(tmp_path / "t.npz", allow_pickle=False) as loaded:
        assert loaded["file"].tolist() == ["a", "b"]
        assert loaded["x"].tolist() == [1.5, -0.0]
    with pytest.raises(InputError, match="npy holds numbers only, but column 'id'"):
        write_table(tmp_path / "bad.npy", {"id": ["a"]})
    assert not (tmp_path / "bad.npy").exists()


@pytest.mark.parametrize(
    ("name", "columns", "hint"),
    [
        ("t.docx", {"x": [1]}, "the suffix 'docx' is not a format that can be written"),
        ("t.csv", {"x": [1], "y": [1, 2]}, "must have equal lengths"),
        ("t.csv", {"x": [[1]]}, "must have equal lengths"),
        ("t.csv", {}, "must have equal lengths"),
        ("t.csv", {"x": ["\ud800"]}, "cannot be written as UTF-8. Rename it."),
        ("no/t.csv", {"x": [1]}, "Create it first."),
    ],
)
def test_sentences(tmp_path, name, columns, hint):
    with pytest.raises(InputError) as caught:
        write_table(tmp_path / name, columns)
    assert hint in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_unless_forced(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("mine")
    with pytest.raises(InputError) as caught:
        write_table(path, COLUMNS)
    assert str(caught.value) == (
        f"{path}: this file exists already. Pass another name, or replace it with "
        "force=True."
    )
    assert path.read_text() == "mine"
    write_table(path, COLUMNS, force=True)
    assert read(path).names == ["x", "label"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [None, "mine"])
def test_a_failure_leaves_what_was_there(tmp_path, error, before):
    path = tmp_path / "t.txt"
    if before:
        path.write_text(before)

    def write():
        with atomic_file(path, force=True, text=True) as file:
            file.write("half")
            raise error

    with pytest.raises(error):
        write()
    assert [p.read_text() for p in tmp_path.iterdir()] == ([before] if before else [])


def test_nothing_shows_before_the_end(tmp_path):
    path = tmp_path / "t.bin"
    with atomic_file(path) as file:
        file.write(b"some")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"some"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_written_before_the_names_is_complete_at_once(tmp_path):
    record, path = tmp_path / "record", tmp_path / "t.txt"
    record.write_text("earlier")

    def before(hidden):
        with atomic_file(record, force=True, text=True) as file:
            file.write("this run")
            file.flush()
            assert record.read_text() == "earlier"
        assert record.read_text() == "this run"
        assert not path.exists()

    with all_or_none(before), atomic_file(path, text=True) as file:
        file.write("all")
    assert sorted(p.read_text() for p in tmp_path.iterdir()) == ["all", "this run"]


def test_a_file_that_comes_meanwhile_is_kept(tmp_path):
    path = tmp_path / "t.txt"

    def write():
        with atomic_file(path, text=True) as file:
            path.write_text("theirs")
            file.write("mine")

    with pytest.raises(InputError, match="exists already"):
        write()
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_files_have_the_usual_rights(tmp_path):
    (tmp_path / "plain").write_text("")
    with atomic_file(tmp_path / "ours"):
        pass
    modes = {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_replaced_file_keeps_its_rights(tmp_path):
    path = tmp_path / "t.txt"
    for mode in (0o600, 0o640, 0o444, 0o755):
        path.unlink(missing_ok=True)
        path.write_text("old")
        path.chmod(mode)
        with atomic_file(path, force=True, text=True) as file:
            (hidden,) = tmp_path.glob(".lordclust-*")
            assert stat.S_IMODE(hidden.stat().st_mode) == mode
            file.write("new")
        assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (mode, "new")


def test_a_private_file(tmp_path):
    with atomic_file(tmp_path / "t", private=True):
        (hidden,) = tmp_path.iterdir()
        assert stat.S_IMODE(hidden.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "t").stat().st_mode) == 0o600


def test_of_two_writers_one_wins(tmp_path, monkeypatch):
    """The other file appears between the last check and the new name."""
    path = tmp_path / "t.txt"
    link = os.link

    def late(source, target):
        path.write_text("theirs")
        return link(source, target)

    def write_both():
        with all_or_none():
            for name in ("a.txt", "t.txt"):
                with atomic_file(tmp_path / name, text=True) as file:
                    file.write("mine")

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(InputError, match="exists already"):
        write_both()
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_many_writers_at_once(tmp_path):
    def write(i):
        try:
            with atomic_file(tmp_path / "t.txt", text=True) as file:
                file.write(str(i))
        except InputError:
            return None
        return i

    with ThreadPoolExecutor(8) as pool:
        (winner,) = (i for i in pool.map(write, range(40)) if i is not None)
    assert (tmp_path / "t.txt").read_text() == str(winner)


def test_a_file_system_without_links(tmp_path, monkeypatch):
    def unsupported(source, target):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    with atomic_file(tmp_path / "t.txt", text=True) as file:
        file.write("all")
    assert (tmp_path / "t.txt").read_text() == "all"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("to", ["nowhere", "link"])
def test_links_to_nowhere_are_refused(tmp_path, to, force):
    link = tmp_path / "link"
    link.symlink_to(to)
    with (
        pytest.raises(InputError, match="a link to itself or to a file"),
        atomic_file(link, force=force),
    ):
        pass
    assert list(tmp_path.iterdir()) == [link]


def test_a_link_stays_one(tmp_path):
    (tmp_path / "real").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("real")
    with atomic_file(link, force=True, text=True) as file:
        file.write("new")
    assert link.is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_devices_are_written_to():
    with atomic_file(os.devnull, text=True) as file:
        file.write("gone")
    assert os.path.exists(os.devnull)


def test_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match="this is a folder"):
        check_target(tmp_path)


def test_several_files_appear_together(tmp_path):
    with all_or_none():
        write_table(tmp_path / "a.csv", COLUMNS)
        write_archive(tmp_path / "b.lord", {"k": 2}, {"x": np.arange(3)})
        hidden = [p.name for p in tmp_path.iterdir()]
    assert all(name.startswith(".lordclust-") for name in hidden)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "b.lord"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_if_one_fails_none_appears(tmp_path, error):
    (tmp_path / "a.csv").write_text("mine")

    def write():
        with all_or_none():
            write_table(tmp_path / "a.csv", COLUMNS, force=True)
            with atomic_file(tmp_path / "b.txt", text=True) as file:
                file.write("half")
                raise error

    with pytest.raises(error):
        write()
    assert [p.read_text() for p in tmp_path.iterdir()] == ["mine"]


def test_an_incomplete_file_never_appears(tmp_path):
    """Not even if the caller ignores its error and writes the others."""
    with all_or_none():
        with suppress(ZeroDivisionError), atomic_file(tmp_path / "a.txt") as file:
            file.write(b"half")
            _ = 1 / 0
        write_table(tmp_path / "b.csv", COLUMNS)
    assert [p.name for p in tmp_path.iterdir()] == ["b.csv"]


def test_a_full_device_is_named(tmp_path):
    def write():
        with atomic_file("/dev/full", text=True) as file:
            file.write("x")

    with pytest.raises(WriteError, match=r"/dev/full: it could not .*No space left"):
        write()
