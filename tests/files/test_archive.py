"""Archives of arrays: what is written is read, what is damaged is refused."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.files import InputError, read_archive, write_archive

ARRAYS = {
    "x": np.arange(6.0).reshape(3, 2),
    "f": np.asfortranarray(np.ones((2, 3), dtype=np.float32)),
    "i": np.array([1, -2], dtype=np.int32),
    "none": np.empty((0, 4)),
    "b": np.array([True]),
}


def test_round_trip(tmp_path):
    path = tmp_path / "a.lord"
    write_archive(path, {"k": 2, "text": "\u00e4"}, ARRAYS)
    document, arrays = read_archive(path)
    assert (document["k"], document["text"]) == (2, "\u00e4")
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].flags.writeable
        assert arrays[name].tolist() == array.tolist()


def test_the_same_content_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_archive(tmp_path / name, {"k": 2}, ARRAYS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_packs_too_well_is_stored_plain(tmp_path, monkeypatch):
    path = tmp_path / "a.lord"
    zeros = {"x": np.zeros(500_000)}
    write_archive(path, {}, zeros)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr("lordclust.files.error.ROOM", 1000)
    with pytest.raises(InputError, match="more than the"):
        read_archive(path)
    write_archive(path, {}, zeros, force=True)
    assert read_archive(path)[1]["x"].size == 500_000


def test_only_numbers(tmp_path):
    with pytest.raises(TypeError, match="holds numbers, not object"):
        write_archive(tmp_path / "a", {}, {"x": np.array([None])})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_archive(tmp_path / "a", {"x": float("nan")}, {})
    assert list(tmp_path.iterdir()) == []


def forged(path, document, members):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("document.json", document)
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(InputError) as caught:
        read_archive(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("document", "members", "hint"),
    [
        ("[]", {}, "list indices"),
        ("{}", {}, "'arrays'"),
        ("{" * 100_000, {}, "damaged"),
        ("[" * 100_000, {}, "damaged"),
        ('{"arrays": {}}', {"x.npy": b""}, "differ from its list"),
        ('{"arrays": {"x": 1}}', {}, "differ from its list"),
        ('{"arrays": {"../x": 1}}', {"../x.npy": b""}, "is called '../x'"),
        ('{"arrays": {"x": 1}}', {"x.npy": b""}, "does not begin like a numpy array"),
    ],
)
def test_forged(tmp_path, document, members, hint):
    assert hint in forged(tmp_path / "a.lord", document, members)


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_packings(tmp_path, packing):
    path = tmp_path / "a.lord"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("document.json", '{"arrays": {}}')
    with pytest.raises(InputError, match="compressed in a way that numpy does not use"):
        read_archive(path)


def test_an_array_of_another_shape(tmp_path):
    path = tmp_path / "a.lord"
    write_archive(path, {}, {"x": np.zeros(3)})
    with zipfile.ZipFile(path) as archive:
        content = archive.read("x.npy")
    document = json.dumps({"arrays": {"x": ["float64", [4]]}})
    assert "is not of the type and shape listed" in forged(
        path, document, {"x.npy": content}
    )


def test_not_an_archive(tmp_path):
    path = tmp_path / "a.lord"
    path.write_text("hello")
    with pytest.raises(InputError) as caught:
        read_archive(path)
    assert str(caught.value) == (
        f"{path}: it is not a model file, or damaged or truncated (File is not a "
        "zip file). Save the model again."
    )
    with pytest.raises(InputError, match="No such file"):
        read_archive(tmp_path / "none.lord")


@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("a") / "a.lord"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_archive(path)
