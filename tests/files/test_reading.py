"""One door for all formats."""

import pickle

import pytest

from lordclust.files import InputError, Table, read, reading


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value).removeprefix(f"{path}: ")


def test_names_that_say_nothing(tmp_path):
    assert refused(tmp_path / "x.doc") == (
        "the suffix 'doc' is not a known format. Pass the format: one of csv, tsv, "
        "parquet, xlsx, npy, npz, mtx, mat, h5ad, edges."
    )
    with pytest.raises(ValueError, match=r"Unknown format 'cvs'\. Did you mean 'csv'"):
        read(tmp_path / "x.doc", format="cvs")


@pytest.mark.parametrize("name", ["no.csv", "no.npz", "no.csv.gz", "no.mat"])
def test_files_that_are_not_there(tmp_path, name):
    assert refused(tmp_path / name) == (
        "it cannot be opened (No such file or directory). Check the name."
    )


def test_a_folder(tmp_path):
    (tmp_path / "x.csv").mkdir()
    assert "Is a directory" in refused(tmp_path / "x.csv")


def test_the_format_may_be_named(tmp_path):
    path = tmp_path / "x.dat"
    path.write_text("a\tb\n1\t2\n")
    loaded = read(path, format="tsv")
    assert loaded.names == ["a", "b"]
    assert repr(loaded) == f"Table of 1 samples, 2 features (from {path})"


def test_another_format_than_its_name(tmp_path):
    path = tmp_path / "x.npz"
    path.write_text("a,b\n1,2\n")
    assert refused(path) == (
        "it cannot be read as npz (File is not a zip file). It is truncated, damaged "
        "or of another format: write it again, or pass the format."
    )


def test_errors_travel_between_processes():
    error = pickle.loads(pickle.dumps(InputError("-", "no.")))
    assert (str(error), error.path) == ("standard input: no.", "-")


def test_as_many_labels_as_samples(tmp_path):
    import numpy as np

    np.savez(tmp_path / "x.npz", X=np.ones((3, 2)), y=[1, 2])
    assert refused(tmp_path / "x.npz", label_column="y") == (
        "there are 2 labels for 3 samples. Pass one for each."
    )


def test_public_names():
    import lordclust.files as room

    for name in room.__all__:
        assert getattr(room, name) is not None
    assert dir(room) == room.__all__ == sorted(room.__all__)
    assert room.Table is Table
    with pytest.raises(AttributeError, match="no attribute 'write'"):
        _ = room.write


def test_a_lack_of_memory_is_not_damage(tmp_path, monkeypatch):
    def fail(source, options):
        raise MemoryError

    monkeypatch.setitem(reading.READERS, "csv", fail)
    with pytest.raises(InputError, match="takes more memory than is available"):
        read(tmp_path / "t.csv")
