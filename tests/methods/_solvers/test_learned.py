"""The S that a learned Z is compared with: its diagonal and its scale."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from lordclust.methods import DSN, DSNI, DvD
from lordclust.methods._solvers.learned import prepare
from lordclust.metrics import accuracy
from strategies import block_graph, graphs

BLOCKS, _ = block_graph(np.random.default_rng(0), [12, 15, 18], between=0.05)
WITH_ADMM = pytest.mark.parametrize("method", [DSNI, DvD])
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


# -- the estimators -------------------------------------------------------------------


def learned(method, S, k=3):
    return method(k, affinity="precomputed", random_state=0).fit(S)


@WITH_ADMM
def test_scale_of_S(method):
    plain = learned(method, BLOCKS).affinity_matrix_
    for scale in (1e-12, 1e12):
        Z = learned(method, scale * BLOCKS).affinity_matrix_
        np.testing.assert_allclose(Z, plain, atol=1e-6)


@WITH_ADMM
def test_sparse_is_dense(method):
    one, other = learned(method, BLOCKS), learned(method, BLOCKS.toarray())
    np.testing.assert_allclose(one.affinity_matrix_, other.affinity_matrix_, atol=1e-9)


@WITH_ADMM
def test_isolated_samples_are_clusters(method):
    blocks = sp.block_diag([np.ones((6, 6)), np.ones((6, 6)), np.zeros((2, 2))])
    model = learned(method, sp.csr_array(blocks), 4)
    assert np.isfinite(model.embedding_).all()
    assert accuracy(np.repeat([0, 1, 2, 3], [6, 6, 1, 1]), model.labels_) == 1
