import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from lordclust.graph import (
    ComponentReport,
    KNNGraph,
    component_report,
    gaussian_kernel,
    linear_kernel,
    scale_to_unit_sum,
    self_tuning_kernel,
    symmetrize,
)
from lordclust.graph.kernel import local_scales, typical_scale

X = np.random.default_rng(0).normal(size=(60, 5))
KERNELS = pytest.mark.parametrize(
    "kernel", [gaussian_kernel, self_tuning_kernel, linear_kernel]
)


@KERNELS
def test_symmetric_in_every_bit(kernel):
    S = kernel(X)
    assert S.dtype == np.float64
    np.testing.assert_array_equal(S, S.T)


@KERNELS
def test_sparse_samples(kernel):
    np.testing.assert_allclose(kernel(sparse.csr_array(X)), kernel(X), rtol=1e-9)


def test_linear_kernel():
    np.testing.assert_allclose(linear_kernel(X), X @ X.T, atol=1e-14)


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_products_beyond_the_largest_number_are_refused(make):
    with pytest.raises(ValueError, match="Divide X by its largest entry"):
        linear_kernel(make([[1e308, 1.0], [-1e308, 2.0]]))


@pytest.mark.parametrize(
    ("S", "hint"),
    [
        (np.array([["a", "b"], ["c", "d"]]), "must hold real numbers"),
        (np.ones(3), "must be a square matrix"),
        (np.float64(2.0), "must be a square matrix"),
    ],
)
def test_what_is_no_matrix_is_not_made_symmetric(S, hint):
    with pytest.raises(ValueError, match=hint):
        symmetrize(S)


def test_a_sum_beyond_the_largest_number_is_refused():
    with pytest.raises(ValueError, match="positive and finite sum"):
        scale_to_unit_sum(np.full((2, 2), 1e308))


def test_gaussian_kernel_with_a_bandwidth():
    expected = np.exp(-cdist(X, X, "sqeuclidean") / (2 * 1.7**2))
    np.testing.assert_allclose(gaussian_kernel(X, 1.7), expected, rtol=1e-12)


def test_a_bandwidth_that_vanishes_beside_the_samples():
    far = np.array([[-1e308], [0.0], [5e307]])
    np.testing.assert_array_equal(gaussian_kernel(far, 1e-300), np.eye(3))


def test_samples_whose_sum_is_no_number():
    large = 1e307 * np.random.default_rng(21).standard_normal((21, 20))
    S = KNNGraph(5).build(large)
    np.testing.assert_array_equal(S.toarray(), KNNGraph(5).build(large / 2).toarray())


def test_gaussian_kernel_takes_the_median_distance():
    width = np.median(cdist(X, X)[np.triu_indices(len(X), 1)])
    np.testing.assert_allclose(
        gaussian_kernel(X), gaussian_kernel(X, width), rtol=1e-10
    )


def test_gaussian_kernel_ignores_copies_in_the_median():
    S = gaussian_kernel(np.vstack([np.repeat(X[:1], 50, axis=0), X[1:3]]))
    assert 0.1 < S[0, -1] < 1
    assert S[0, 1] == 1


def test_self_tuning_kernel():
    d = cdist(X, X)
    sigma = np.sort(d, axis=1)[:, 7]
    expected = np.exp(-(d**2) / np.outer(sigma, sigma))
    np.testing.assert_allclose(self_tuning_kernel(X), expected, rtol=1e-11)


def test_self_tuning_kernel_joins_copies():
    S = self_tuning_kernel(np.vstack([np.repeat(X[:1], 20, axis=0), X]))
    np.testing.assert_array_equal(S[:20, :20], 1.0)
    assert np.isfinite(S).all()


@pytest.mark.parametrize("kernel", [gaussian_kernel, self_tuning_kernel])
@pytest.mark.parametrize("power", [-500, 500])
def test_the_unit_of_x_does_not_matter(kernel, power):
    np.testing.assert_array_equal(kernel(np.ldexp(X, power)), kernel(X))
    assert (np.diag(kernel(X)) == 1).all()


@pytest.mark.parametrize("bandwidth", [0, -1, np.inf, np.nan, "wide"])
def test_bad_bandwidth(bandwidth):
    with pytest.raises(ValueError, match="bandwidth must be a positive number, got"):
        gaussian_kernel(X, bandwidth)


def test_equal_samples():
    same = np.full((4, 2), 0.1)
    with pytest.raises(ValueError, match="all samples in X are equal"):
        gaussian_kernel(same)
    with pytest.raises(ValueError, match="all 4 rows are equal"):
        self_tuning_kernel(same)
    np.testing.assert_array_equal(gaussian_kernel(same, 1.0), 1.0)


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csc_matrix])
class TestNormalize:
    def test_symmetrize(self, make):
        S = make([[1.0, 4.0], [0.0, 2.0]])
        found = symmetrize(S)
        dense = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(dense, [[1, 2], [2, 2]])
        assert not sparse.issparse(found) or found.format == "csr"

    def test_scale_to_unit_sum(self, make):
        assert scale_to_unit_sum(make([[1.0, 4.0], [4.0, 2.0]])).sum() == 1.0

    @pytest.mark.parametrize("value", [0.0, -1.0])
    def test_scale_needs_a_positive_sum(self, make, value):
        S = make([[0.0, value], [value, 0.0]])
        with pytest.raises(ValueError, match="S must have a positive"):
            scale_to_unit_sum(S)

    def test_component_report(self, make):
        S = np.zeros((6, 6))
        S[0, 1] = S[1, 0] = S[2, 3] = S[3, 2] = 1.0
        S[4, 4] = 2.0
        assert component_report(make(S)) == ComponentReport(4, n_isolated=2)


def test_stored_zeros_are_no_edges():
    S = sparse.csr_array(np.ones((2, 2)))
    S.data[:] = 0
    assert component_report(S) == ComponentReport(2, 2)


def test_scales_at_both_ends_of_double_precision():
    huge, tiny = np.full(2, 1.5e308), np.array([0.0, 5e-324])
    largest, least = typical_scale(huge, huge), typical_scale(tiny, tiny)
    np.testing.assert_array_equal(local_scales(huge, largest), huge)  # no warning
    assert (local_scales(tiny, least) > 0).all()  # 1e-3 of it underflows
