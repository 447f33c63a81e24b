"""The S that a learned Z is compared with: its diagonal and its scale."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from lordclust.methods import DSN
from lordclust.methods._solvers.learned import prepare
from strategies import graphs

PAIR = np.array([[7.0, 2.0], [2.0, 0.0]])


@pytest.mark.parametrize(
    ("normalize", "diagonal", "expected"),
    [
        (None, "zero", [[0, 2], [2, 0]]),
        (None, "one", [[7, 2], [2, 7]]),
        (None, "auto", [[0, 2], [2, 0]]),
        ("sym", "zero", [[0, 1], [1, 0]]),
        ("sym", "one", [[7 / 9, 2 / 9], [2 / 9, 7 / 9]]),
        ("sym", "auto", [[7 / 9, 2 / 9], [2 / 9, 7 / 9]]),
        ("sum", "one", [[7 / 9, 2 / 9], [2 / 9, 7 / 9]]),
    ],
)
def test_by_hand(normalize, diagonal, expected):
    np.testing.assert_allclose(prepare(PAIR, normalize, diagonal), expected)


@given(graphs())
def test_normalised(S):
    A = prepare(S, "sym")
    np.testing.assert_array_equal(A, A.T)
    eigenvalues = np.linalg.eigvalsh(A)
    assert eigenvalues[-1] == pytest.approx(1)  # 1 with sqrt(degrees)
    assert eigenvalues[0] >= -1 - 1e-12
    assert prepare(S, "sum").sum() == pytest.approx(len(A))


@pytest.mark.parametrize("normalize", ["sym", "sum"])
@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_scale_does_not_matter(scale, normalize):
    S = np.array([[0.0, 0.5, 0.2], [0.5, 0.0, 0.1], [0.2, 0.1, 0.0]])
    for diagonal in ("one", "zero"):
        expected = prepare(S, normalize, diagonal)
        np.testing.assert_allclose(prepare(scale * S, normalize, diagonal), expected)


def test_isolated_samples():
    S = np.zeros((3, 3))
    S[0, 1] = S[1, 0] = 1
    np.testing.assert_allclose(prepare(S, "sym")[2], [0, 0, 1])
    np.testing.assert_allclose(prepare(S, "sym", "zero")[2], 0)


@pytest.mark.parametrize("normalize", ["sym", "sum", None])
def test_no_similarity_at_all(normalize):
    S = np.zeros((3, 3))
    np.testing.assert_array_equal(prepare(S, normalize, "one"), np.eye(3))
    np.testing.assert_array_equal(prepare(S, normalize, "zero"), S)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_copy_in_double_precision(make):
    S = make(PAIR.astype(np.float32))
    before = S.copy()
    A = prepare(S, "sym")
    assert A.dtype == np.float64
    assert abs(S - before).max() == 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"normalize": "row"}, "Unknown normalize 'row'"),
        ({"normalize": True}, "Unknown normalize True"),
        ({"diagonal": None}, "Unknown diagonal None"),
    ],
)
def test_refusals(params, message):
    with pytest.raises(ValueError, match=message):
        DSN(2, affinity="precomputed", **params).fit(PAIR)
