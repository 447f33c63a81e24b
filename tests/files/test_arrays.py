"""Arrays in files: honest ones come back, others get a sentence."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import io as scipy_io
from scipy import sparse

from lordclust.files import InputError, read
from lordclust.files.arrays import npy_bytes, read_npy

X = np.arange(6.0).reshape(3, 2)


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?", ">f8"])
@pytest.mark.parametrize("order", "CF")
def test_npy(tmp_path, dtype, order):
    path = tmp_path / "x.npy"
    A = np.asarray(X.astype(dtype), order=order)
    np.save(path, A)
    loaded = read(path).X
    assert loaded.dtype == np.float64
    assert loaded.flags.c_contiguous
    np.testing.assert_array_equal(loaded, A)


def test_labels_in_a_column_of_npy(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, X)
    loaded = read(path, label_column=1)
    assert loaded.labels.tolist() == [1, 3, 5]
    assert loaded.X.tolist() == [[0], [2], [4]]
    assert read(path, columns="1").X.tolist() == [[1], [3], [5]]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    path = tmp_path / "x.npz"
    save(path, X=X, y=[1, 0, 1], names=["a", "b", "c"])
    loaded = read(path, label_column="y", id_column="names")
    np.testing.assert_array_equal(loaded.X, X)
    assert loaded.labels.tolist() == [1, 0, 1]
    assert loaded.ids == ["a", "b", "c"]
    save(path, data=X, y=[1, 0, 1])
    assert read(path, label_column="y").X.tolist() == X.tolist()
    assert refused(path) == (
        "there is no array 'X'; the arrays are: data, y. Select one with "
        'columns="array:NAME".'
    )
    assert read(path, columns="array:data").X.tolist() == X.tolist()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_npz(tmp_path, kind):
    path = tmp_path / "x.npz"
    sparse.save_npz(path, sparse.csr_array(X).asformat(kind))
    loaded = read(path).X
    assert sparse.issparse(loaded)
    assert loaded.toarray().tolist() == X.tolist()


def test_sparse_npz_with_wild_indices(tmp_path):
    path = tmp_path / "x.npz"
    parts = {"data": [1.0], "indices": [7], "indptr": [0, 1], "shape": [1, 2]}
    np.savez(path, format=b"csr", **parts)
    assert "cannot be read as npz" in refused(path)
    parts["shape"] = [2**40, 2]
    np.savez(path, format=b"csr", **parts)
    assert "not plausible" in refused(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("matrix", [X, sparse.coo_array(X)], ids=["dense", "sparse"])
def test_mtx(tmp_path, matrix, packed):
    plain = tmp_path / "x.mtx"
    scipy_io.mmwrite(plain, matrix)
    path = plain
    if packed:
        path = tmp_path / "y.mtx.gz"
        path.write_bytes(gzip.compress(plain.read_bytes()))
    loaded = read(path).X
    assert sparse.issparse(loaded) == sparse.issparse(matrix)
    dense = loaded.toarray() if sparse.issparse(loaded) else loaded
    assert dense.tolist() == X.tolist()


def test_symmetric_mtx_is_a_graph(tmp_path):
    path = tmp_path / "s.mtx"
    S = sparse.coo_array(np.array([[0, 2.0], [2.0, 0]]))
    scipy_io.mmwrite(path, S, symmetry="symmetric")
    assert read(path, precomputed=True).X.toarray().tolist() == [[0, 2], [2, 0]]


def test_mat(tmp_path):
    path = tmp_path / "x.mat"
    cell = np.array([[1, "a"]], dtype=object)
    scipy_io.savemat(path, {"X": X, "y": [1, 2, 1], "c": cell})
    loaded = read(path, label_column="y")
    assert loaded.X.tolist() == X.tolist()
    assert loaded.labels.tolist() == [1, 2, 1]
    assert "there is no array 'c'" in refused(path, columns="array:c")
    path.write_bytes(b"MATLAB 7.3 MAT-file" + b" " * 600)
    assert refused(path) == (
        "its MATLAB version is 7.3, but only versions up to 7 can be read. Save "
        "it in MATLAB with save(name, '-v7')."
    )


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


def test_pickles_are_not_run(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.array([[Trap()]], dtype=object), allow_pickle=True)
    assert refused(path) == (
        "it holds pickled Python objects, which could run any code. Save plain arrays "
        "of numbers or text."
    )
    path = tmp_path / "x.npz"
    np.savez(path, X=np.array([[Trap()]], dtype=object))
    assert "pickled Python objects" in refused(path)


@pytest.mark.parametrize("shape", [(10**12, 10**6), (-1, 2), (2**63, 2), (4, 2)])
def test_claimed_shapes(tmp_path, shape):
    path = tmp_path / "x.npy"
    stream = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, head)
    path.write_bytes(stream.getvalue() + bytes(48))
    assert "It is truncated or damaged" in refused(path)


@pytest.mark.parametrize(
    ("array", "hint"),
    [
        (np.ones(3), "the data have shape (3,)"),
        (np.ones((2, 2, 2)), "Reshape them with X.reshape(len(X), -1)."),
        (np.ones((0, 2)), "the data have shape (0, 2)"),
        (np.array([["a"]]), "the data are of type <U1"),
        (np.array([[1j]]), "the data are of type complex128"),
        (
            np.array([[1.0, np.nan], [np.inf, 0]]),
            "missing or infinite in 2 of 4 entries, the first in row 0, column 1",
        ),
    ],
)
def test_arrays_that_are_not_samples(tmp_path, array, hint):
    path = tmp_path / "x.npy"
    np.save(path, array)
    assert hint in refused(path)


def test_similarities_are_square(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, X)
    assert "must be a square matrix, got shape (3, 2)" in refused(
        path, precomputed=True
    )


def test_zip_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr("lordclust.files.error.ROOM", 1000)
    path = tmp_path / "x.npz"
    np.savez_compressed(path, X=np.zeros((1000, 1000)))
    assert "more than the" in refused(path)


def test_a_member_that_lies_about_its_size(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, X=X)
    content = path.read_bytes().replace(
        (176).to_bytes(4, "little"), (2**31).to_bytes(4, "little")
    )
    path.write_bytes(content)
    assert refused(path)


@pytest.mark.parametrize(
    ("head", "hint"),
    [
        ("", "no line with the size"),
        ("9999999999 3 1\n1 1 1\n", "not plausible"),
        ("3 3 999999\n1 1 1\n", "it claims 999999 entries"),
        ("2 2 1\n7 7 1\n", "entry 1 is not in a matrix of shape (2, 2)"),
        ("2 2 1\n1 1 x\n", "its entries are not all numbers"),
    ],
)
def test_damaged_mtx(tmp_path, head, hint):
    path = tmp_path / "x.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n" + head)
    assert hint in refused(path)


def files_of(folder):
    """Return a small honest file of each binary kind."""
    np.savez(folder / "x.npz", X=X)
    np.save(folder / "x.npy", X)
    scipy_io.savemat(folder / "x.mat", {"X": X}, do_compression=True)
    scipy_io.mmwrite(folder / "x.mtx", sparse.coo_array(X))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("kind", ["npz", "npy", "mat", "mtx"])
@given(data=st.data())
def test_damaged_files_give_numbers_or_a_sentence(tmp_path_factory, kind, data):
    folder = tmp_path_factory.mktemp("f")
    path = next(p for p in files_of(folder) if p.suffix == f".{kind}")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(
            st.integers(1, 255)
        )
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    message = ""
    try:
        assert np.isfinite(read(path).X.sum())
    except InputError as error:
        message = str(error)
    assert not message or message.startswith(f"{path}: ")


def test_npy_in_memory():
    for array in (X, np.array(["a", "bc"]), np.array(3)):
        assert np.array_equal(read_npy(npy_bytes(array)), array)
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        npy_bytes(np.array([None]))


def test_members_beside_arrays(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, X=X)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("notes.txt", "hello")
    assert read(path).X.tolist() == X.tolist()
