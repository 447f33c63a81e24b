"""MatrixMarket as scipy writes it, and damaged files."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import io as scipy_io
from scipy import sparse

from lordclust.files.error import ContentError
from lordclust.files.matrix_market import read_mtx

KINDS = {"general": 0, "symmetric": 1, "skew-symmetric": -1}


def written(matrix, **how):
    buffer = io.BytesIO()
    scipy_io.mmwrite(buffer, matrix, **how)
    return buffer.getvalue()


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("symmetry", KINDS)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_what_scipy_writes(symmetry, whole, as_sparse):
    rng = np.random.default_rng(0)
    for n, m in [(1, 1), (2, 5), (4, 3), (5, 5)]:
        X = np.round(3 * rng.standard_normal((n, m)), 2)
        if sign := KINDS[symmetry]:
            X = X[: min(n, m), : min(n, m)]
            X = X + sign * X.T
        X = X.astype(int) if whole else X
        content = written(sparse.coo_array(X) if as_sparse else X, symmetry=symmetry)
        found = read_mtx(content)
        assert sparse.issparse(found) == as_sparse
        assert dense(found).tolist() == X.tolist()


def test_a_pattern_is_ones():
    text = b"%%MatrixMarket MATRIX coordinate pattern symmetric\n%c\n\n2 2 1\n2 1"
    assert dense(read_mtx(text)).tolist() == [[0, 1], [1, 0]]


def test_the_same_entry_twice_is_added():
    text = b"%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 2\n1 1 3\n"
    assert dense(read_mtx(text)).tolist() == [[5]]


@pytest.mark.parametrize(
    ("head", "body", "hint"),
    [
        ("array real general", "2 2\n1\n2\n3\n", "claims 4 entries, but holds 3"),
        ("array real general", "2 1\n1\n2\n3\n", "claims 2 entries, but holds 3"),
        ("array real general", "2 1\n1 2\n", "line 1 after the size has 2 words"),
        ("array real symmetric", "2 3\n1\n", "is not square"),
        ("array real general", "2 1 7\n1\n2\n", "no line with the size"),
        ("array real general", "9999999999999999 1\n1\n", "no line with the size"),
        ("array pattern general", "1 1\n1_0\n", "not all numbers"),
        ("coordinate real general", "2 2 1\n0 1 1\n", "entry 1 is not in a matrix"),
        ("coordinate real general", "2 2 1\n1.5 1 1\n", "entry 1 is not in a matrix"),
        ("coordinate real general", "2 2 1\nnan 1 1\n", "entry 1 is not in a matrix"),
        (
            "coordinate complex general",
            "1 1 1\n1 1 1 1\n",
            "of kind coordinate complex",
        ),
        ("coordinate real hermitian", "1 1 1\n1 1 1\n", "of kind coordinate real herm"),
    ],
)
def test_damaged_files(head, body, hint):
    with pytest.raises(ContentError, match=hint):
        read_mtx(f"%%MatrixMarket matrix {head}\n{body}".encode())


@given(st.binary(max_size=60), st.integers(0, 90), st.sampled_from([2, 3]))
def test_any_bytes_give_a_matrix_or_a_sentence(noise, at, skipped):
    # scipy's reader ended the process on files like these.
    sound = written(sparse.coo_array(np.eye(3)))
    content = sound[:at] + noise + sound[at + skipped * len(noise) :]
    message = "."
    try:
        assert dense(read_mtx(content)).ndim == 2
    except ContentError as error:
        message = str(error)
    assert message.endswith(".")
