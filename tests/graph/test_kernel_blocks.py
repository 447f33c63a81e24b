"""The kernel in blocks is the kernel."""

import numpy as np
import pytest
from scipy import sparse

from lordclust.graph import kernel_blocks, self_tuning_kernel
from lordclust.graph.kernel_blocks import KernelBlocks

RNG = np.random.default_rng(0)
CLOUD = RNG.standard_normal((100, 5))
SAMPLES = {
    "cloud": CLOUD,
    "far": CLOUD + 1000,
    "integers": RNG.integers(0, 3, (100, 2)),
    "copies": np.repeat(RNG.standard_normal((10, 3)), 10, axis=0),
    "sparse": sparse.csr_array(RNG.random((100, 30)) * (RNG.random((100, 30)) < 0.2)),
    "tiny": 1e-200 * CLOUD,
    "two": np.array([[0.0], [1.0]]),
}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(kernel_blocks, "TILE_ROWS", 7)
    monkeypatch.setattr(kernel_blocks, "TILE_COLS", 20)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("part", [1.0, 0.3, 0.0])
def test_products(name, part):
    X = SAMPLES[name]
    n = X.shape[0]
    S, K = self_tuning_kernel(X), KernelBlocks(X)
    T = RNG.standard_normal((4, n)) * (RNG.random(n) < part)
    assert K.shape == S.shape
    np.testing.assert_array_equal(K.diagonal(), np.diag(S))
    for weights in (T, sparse.csr_array(T)):
        product = weights @ K
        assert product.dtype == np.float64
        np.testing.assert_allclose(product, T @ S, rtol=0, atol=1e-5)


def test_double_where_single_cannot_tell_samples_apart():
    near = CLOUD.copy()
    near[:50] += 1e4
    assert KernelBlocks(CLOUD).dtype == np.float32
    K = KernelBlocks(near)
    assert K.dtype == np.float64
    np.testing.assert_allclose(np.eye(100) @ K, self_tuning_kernel(near), atol=1e-7)


def test_diagonal_is_exact():
    assert (np.diag(np.eye(100) @ KernelBlocks(CLOUD)) == 1).all()


def test_equal_samples_are_refused():
    with pytest.raises(ValueError, match="at least two different samples"):
        KernelBlocks(np.ones((5, 2)))
