import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from lordclust._core.validation import (
    check_indices,
    check_n_clusters,
    check_proportions,
    check_similarity,
    check_tau,
    check_weights,
    missing_extra,
    unknown_name,
)

S4 = np.array(
    [[0, 1, 0, 2], [1, 0, 3, 0], [0, 3, 0, 0], [2, 0, 0, 5]], dtype=np.float64
)
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr"]


class TestSimilarityIsAccepted:
    @pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float64, object])
    def test_dense_numbers_become_float64(self, dtype):
        S = check_similarity(S4.astype(dtype))
        assert S.dtype == np.float64
        assert S.flags.c_contiguous
        np.testing.assert_array_equal(S, S4.astype(dtype).astype(float))

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_float32_stays(self, make):
        assert check_similarity(make(S4.astype(np.float32))).dtype == np.float32

    @pytest.mark.parametrize("fmt", FORMATS)
    @pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
    def test_sparse_formats_become_canonical_csr(self, fmt, make):
        S = check_similarity(make(S4).asformat(fmt))
        assert isinstance(S, sparse.csr_array)
        assert S.has_canonical_format
        np.testing.assert_array_equal(S.toarray(), S4)

    def test_lists_and_fortran_order(self):
        assert check_similarity(S4.tolist()).dtype == np.float64
        assert check_similarity(np.asfortranarray(S4)).flags.c_contiguous

    def test_wide_indices_are_narrowed_without_touching_the_input(self):
        S = sparse.csr_array(S4)
        S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
        checked = check_similarity(S)
        assert checked.indices.dtype == checked.indptr.dtype == np.int32
        assert S.indices.dtype == np.int64

    def test_duplicates_are_summed_in_a_copy(self):
        indices, data = np.array([1, 1, 0]), np.array([1.0, 2.0, 3.0])
        S = sparse.csr_array((data, indices, np.array([0, 2, 3])), shape=(2, 2))
        np.testing.assert_array_equal(check_similarity(S).toarray(), [[0, 3], [3, 0]])
        np.testing.assert_array_equal(data, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(indices, [1, 1, 0])
        assert S.nnz == 3

    def test_unsorted_indices_are_sorted_in_a_copy(self):
        indices = np.array([1, 0, 0])
        S = sparse.csr_array((np.ones(3), indices, np.array([0, 2, 3])), shape=(2, 2))
        assert check_similarity(S).has_sorted_indices
        np.testing.assert_array_equal(indices, [1, 0, 0])

    def test_nothing_is_copied_without_need(self):
        S = sparse.csr_array(S4)
        assert check_similarity(S4) is S4
        assert np.shares_memory(check_similarity(S).data, S.data)

    @pytest.mark.parametrize("make", [np.array, sparse.csr_array])
    def test_rounding_asymmetry_is_averaged(self, make):
        S = S4.copy()
        S[0, 1] += 1e-9
        before = S.copy()
        fixed = check_similarity(make(S))
        dense = fixed.toarray() if sparse.issparse(fixed) else fixed
        np.testing.assert_array_equal(dense, dense.T)
        assert dense[0, 1] == pytest.approx(1 + 5e-10, abs=1e-15)
        np.testing.assert_array_equal(S, before)

    def test_float32_rounding_is_not_refused(self):
        S = S4.astype(np.float32)
        S[0, 1] = np.nextafter(S[0, 1], np.float32(2))
        fixed = check_similarity(S)
        assert fixed.dtype == np.float32
        np.testing.assert_array_equal(fixed, fixed.T)

    def test_zero_and_single_vertex(self):
        assert check_similarity(np.zeros((3, 3))).sum() == 0
        assert check_similarity(sparse.csr_array((3, 3))).nnz == 0
        assert check_similarity([[2]]).shape == (1, 1)

    def test_large_asymmetry_is_found_in_any_block(self):
        S = np.zeros((600, 600))
        S[599, 3] = 1.0
        with pytest.raises(ValueError, match="must be symmetric"):
            check_similarity(S)


class TestSimilarityIsRefused:
    @pytest.mark.parametrize("make", [np.array, sparse.csr_array])
    def test_asymmetric(self, make):
        S = make([[0.0, 1.0], [1.032, 0.0]])
        text = (
            r"S must be symmetric: max\|S - S\.T\| = 3\.2e-02\. Use \(S \+ S\.T\) / 2, "
            r'or pass X with affinity="knn"\.'
        )
        with pytest.raises(ValueError, match=text):
            check_similarity(S)

    @pytest.mark.parametrize("make", [np.array, sparse.csr_array])
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, make, bad):
        S = make([[0.0, bad], [bad, 0.0]])
        with pytest.raises(ValueError, match=r"K must be finite.*NaN or infinity in 2"):
            check_similarity(S, name="K")

    @pytest.mark.parametrize("make", [np.array, sparse.csr_array])
    def test_complex(self, make):
        with pytest.raises(ValueError, match=r"Complex data not supported: S must be"):
            check_similarity(make(S4 + 0j))

    @pytest.mark.parametrize(
        "S", [np.zeros((2, 3)), sparse.csr_array((2, 3)), np.zeros(4), 3.0, [[[1.0]]]]
    )
    def test_not_square(self, S):
        with pytest.raises(ValueError, match=r"S must be a square matrix, got shape"):
            check_similarity(S)

    def test_empty(self):
        with pytest.raises(ValueError, match=r"S must not be empty.*\(0, 0\)"):
            check_similarity(np.zeros((0, 0)))

    @pytest.mark.parametrize("dtype", [str, bytes, object])
    def test_text(self, dtype):
        S = np.array([["0", "1"], ["1", "0"]], dtype=dtype)
        with pytest.raises(ValueError, match="S must hold real numbers, got"):
            check_similarity(S)

    def test_objects(self):
        S = np.array([[None, {}], [{}, None]], dtype=object)
        with pytest.raises(ValueError, match="real numbers, got other objects"):
            check_similarity(S)

    def test_ragged(self):
        with pytest.raises(ValueError, match="rows of different lengths"):
            check_similarity([[1, 2], [3]])

    @pytest.mark.parametrize("make", [np.array, sparse.csr_array])
    def test_negative_when_told_so(self, make):
        S = make([[0.0, -0.5], [-0.5, 0.0]])
        check_similarity(S)
        text = r"S must be nonnegative for SymNMF, got a smallest entry of -0\.5"
        with pytest.raises(ValueError, match=text):
            check_similarity(S, nonnegative="SymNMF")
        with pytest.raises(ValueError, match="S must be nonnegative, got"):
            check_similarity(S, nonnegative=True)

    def test_sparse_indices_out_of_range(self):
        S = sparse.csr_array(S4)
        S.indices[0] = 99
        with pytest.raises(ValueError, match="ind"):
            check_similarity(S)


class TestProportions:
    def test_none_is_uniform(self):
        np.testing.assert_array_equal(check_proportions(None, 4), np.full(4, 0.25))

    @given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
    def test_any_shares_sum_to_one(self, raw):
        shares = np.array(raw) / sum(raw)
        assert check_proportions(shares, len(raw)).sum() == pytest.approx(1, abs=1e-15)

    def test_rounding_of_the_sum_is_removed(self):
        assert check_proportions([0.3333333] * 3, 3).sum() == pytest.approx(
            1, abs=1e-15
        )

    @pytest.mark.parametrize(
        ("proportions", "text"),
        [
            ([0.5, 0.5], r"must hold n_clusters=3 numbers, got shape \(2,\)"),
            ([[0.2, 0.3, 0.5]], r"got shape \(1, 3\)"),
            ([0.5, np.nan, 0.5], "proportions must be finite"),
            ([0.5, 0.5, 0.0], r"contain 0 at position 2\. Lower n_clusters"),
            ([0.7, 0.5, -0.2], r"contain -0\.2 at position 2"),
            ([0.3, 0.3, 0.3], r"sum to 1, got a sum of 0\.9\. Divide them by"),
            (["a", "b", "c"], "proportions must hold real numbers"),
        ],
    )
    def test_refused(self, proportions, text):
        with pytest.raises(ValueError, match=text):
            check_proportions(proportions, 3)


class TestScalars:
    @pytest.mark.parametrize("value", [1, 5, np.int32(3), np.uint8(2)])
    def test_n_clusters(self, value):
        found = check_n_clusters(value, 5)
        assert found == value
        assert type(found) is int

    @pytest.mark.parametrize("value", [0, 6, -1])
    def test_n_clusters_out_of_range(self, value):
        with pytest.raises(ValueError, match=f"n_samples=5, got {value}"):
            check_n_clusters(value, 5)

    @pytest.mark.parametrize("value", [True, 2.0, "3", None])
    def test_n_clusters_not_an_integer(self, value):
        with pytest.raises(TypeError, match="n_clusters must be an integer from 1 to"):
            check_n_clusters(value, 5)

    @pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.25)])
    def test_tau(self, value):
        assert check_tau(value) == value

    @pytest.mark.parametrize("value", [-0.1, 1.1, np.nan, np.inf])
    def test_tau_out_of_range(self, value):
        with pytest.raises(ValueError, match=r"tau must be a number in \[0, 1\], got"):
            check_tau(value)

    @pytest.mark.parametrize("value", ["0.5", None, True, np.bool_(True), 1j])
    def test_tau_not_a_number(self, value):
        with pytest.raises(TypeError, match=r"tau must be a number in \[0, 1\], got"):
            check_tau(value)


class TestWeights:
    def test_none(self):
        assert check_weights(None, 3) is None

    def test_shares(self):
        np.testing.assert_array_equal(check_weights([0, 1, 3], 3), [0, 0.25, 0.75])

    def test_huge(self):
        np.testing.assert_array_equal(check_weights([1e308, 1e308], 2), [0.5, 0.5])

    @pytest.mark.parametrize(
        ("weights", "text"),
        [
            ([1, 2], r"sample_weight must hold n_samples=3 numbers, got shape \(2,\)"),
            ([1, np.inf, 1], "sample_weight must be finite"),
            ([1, -2, 1], r"nonnegative, got -2 at position 1"),
            ([0, 0, 0], "positive sum, got only zeros"),
        ],
    )
    def test_refused(self, weights, text):
        with pytest.raises(ValueError, match=text):
            check_weights(weights, 3)


def test_missing_extra_gives_the_line_to_run():
    error = missing_extra("matplotlib", "plot")
    assert isinstance(error, ImportError)
    assert 'pip install "lordclust[plot]"' in str(error)


def test_unknown_name():
    error = unknown_name("method", "spectal", ["lord", "spectral"])
    assert str(error) == (
        "Unknown method 'spectal'. Did you mean 'spectral'? Known: lord, spectral."
    )
    assert "Did you mean" not in str(unknown_name("method", "xyz", ["lord"]))


@pytest.mark.parametrize("last", [0, -1, -(2**31)])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array])
def test_rows_that_end_nowhere_are_refused(make, last):
    # SciPy's own check takes them for an array without entries.
    ends = np.array([0, 2, 10**6, last], dtype=np.int32)
    X = make((np.ones(4), np.zeros(4, np.int32), ends), shape=(3, 3))
    with pytest.raises(ValueError, match="indptr must be a non-decreasing sequence"):
        check_indices(X)
