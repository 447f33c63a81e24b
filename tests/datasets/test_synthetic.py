import numpy as np
import pytest

from lordclust.datasets import block_graph, four_gaussians, load
from lordclust.datasets.synthetic import MIXTURES


@pytest.mark.parametrize(("name", "counts"), MIXTURES.items())
def test_the_papers_mixtures(name, counts):
    X, y = load(name)
    assert X.shape == (200, 2)
    np.testing.assert_array_equal(np.bincount(y), counts)


def test_names():
    assert "synthetic-20-40-60-80" in MIXTURES
    assert len(MIXTURES) == 5


def test_means_and_variances():
    X, y = four_gaussians([20_000] * 4, random_state=1)
    means = [[-2, 2], [2, 2], [-2, -2], [2, -2]]
    for c, variance in enumerate([0.25, 1, 1, 2.25]):
        cov = np.cov(X[y == c].T)
        np.testing.assert_allclose(X[y == c].mean(axis=0), means[c], atol=0.05)
        np.testing.assert_allclose(cov, variance * np.eye(2), atol=0.1)


def test_seed_decides():
    first, second = four_gaussians(random_state=3)[0], four_gaussians(random_state=3)[0]
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, four_gaussians(random_state=4)[0])


@pytest.mark.parametrize("counts", [[1.5, 2, 3, 4], [-1, 2, 3, 4], [0, 0, 0, 0], []])
def test_bad_counts(counts):
    with pytest.raises(ValueError, match="counts must be a list of nonnegative"):
        four_gaussians(counts)


def test_wrong_number_of_counts():
    with pytest.raises(ValueError, match=r"counts must hold 4 numbers.*got 3"):
        four_gaussians([1, 2, 3])


def test_block_graph_has_the_requested_densities():
    S, y = block_graph([100, 150], p_in=0.5, p_out=0.1, random_state=0)
    dense = S.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    assert set(np.unique(dense)) == {0.0, 1.0}
    assert np.diag(dense).sum() == 0
    same = y[:, None] == y[None, :]
    off = ~np.eye(250, dtype=bool)
    assert dense[same & off].mean() == pytest.approx(0.5, abs=0.03)
    assert dense[~same].mean() == pytest.approx(0.1, abs=0.03)


def test_block_graph_seed_and_single_vertex():
    first, second = block_graph([9, 9], 0.5, 0.1), block_graph([9, 9], 0.5, 0.1)
    np.testing.assert_array_equal(first[0].toarray(), second[0].toarray())
    assert block_graph([1], 1.0, 1.0)[0].shape == (1, 1)


def test_block_graph_refusals():
    with pytest.raises(ValueError, match=r"p_out must be a probability.*got 1.5"):
        block_graph([2, 2], 0.5, 1.5)
    with pytest.raises(ValueError, match="sizes must be a list of nonnegative"):
        block_graph([], 0.5, 0.1)
